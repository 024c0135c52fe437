"""T5 Table 2: which structure should a model have that turns texts into texts, and which objective?

| structure, objective                | parameters | cost |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:------------------------------------|-----------:|-----:|------:|-------:|------:|----------:|------:|------:|------:|
| encoder-decoder, denoising          |         2P |    M | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| shared encoder-decoder, denoising   |          P |    M | 82.81 |  18.78 | 80.63 |     70.73 | 26.72 | 39.03 | 27.46 |
| 6-layer encoder-decoder, denoising  |          P |  M/2 | 80.88 |  18.97 | 77.59 |     68.42 | 26.38 | 38.40 | 26.95 |
| language model, denoising           |          P |    M | 74.70 |  17.93 | 61.14 |     55.02 | 25.09 | 35.28 | 25.86 |
| prefix LM, denoising                |          P |    M | 81.82 |  18.61 | 78.94 |     68.11 | 26.43 | 37.98 | 27.39 |
| encoder-decoder, LM                 |         2P |    M | 79.56 |  18.59 | 76.02 |     64.29 | 26.27 | 39.17 | 26.86 |
| shared encoder-decoder, LM          |          P |    M | 79.60 |  18.13 | 76.35 |     63.50 | 26.62 | 39.17 | 27.05 |
| 6-layer encoder-decoder, LM         |          P |  M/2 | 78.67 |  18.26 | 75.32 |     64.06 | 26.13 | 38.42 | 26.89 |
| language model, LM                  |          P |    M | 73.78 |  17.54 | 53.81 |     56.51 | 25.23 | 34.31 | 25.38 |
| prefix LM, LM                       |          P |    M | 79.68 |  17.84 | 76.87 |     64.86 | 26.28 | 37.51 | 26.76 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. P are the parameters of a stack of 12 layers without
embeddings and cross-attention, M the operations of such a stack on a sequence and its targets. `ablate` times steps of the
first five rows in turn, and the report has them beside the parameters. Run it: `bertlab ablate architectures`.
"""

from typing import Any

from bertlab import T5, Chunks, Claim, Inputs, PrefixLM, Size, SpanCorruption, Study, Variant, WordPiece, table
from bertlab.lab.papers import (
    T5_AT_SCALE,
    T5_BASE,
    T5_BASELINE,
    T5_COLUMNS,
    T5_NOTES,
    T5_TASKS,
    T5_TEXT,
    T5_UNLIKE,
)

READS: dict[str, Any] = {"inputs": Inputs(format=Chunks()), "tokenizer": WordPiece(sentinels=100)}
HIDDEN = {**READS, "objective": (SpanCorruption(),)}
REST = {**READS, "objective": (PrefixLM(),)}
BOTH, LEFT, PREFIX = T5(), T5(structure="decoder"), T5(structure="prefix-decoder")
BASELINE = "encoder-decoder, denoising"
SHARED = "shared encoder-decoder, denoising"
PREFIX_LM = "prefix LM, denoising"

study = Study(
    name="architectures",
    question="Which structure should a model have that turns texts into texts, and which objective?",
    source="Raffel et al. 2020, Table 2",
    baseline=BASELINE,
    variants=[
        Variant(BASELINE, **HIDDEN, model=BOTH),
        Variant(SHARED, **HIDDEN, model=T5(shared=True)),
        Variant("6-layer encoder-decoder, denoising", **HIDDEN, model=BOTH, size=Size(layers=0.5)),
        Variant("language model, denoising", **READS, model=LEFT, objective=(SpanCorruption(over_inputs=True),)),
        Variant(PREFIX_LM, **HIDDEN, model=PREFIX),
        Variant("encoder-decoder, LM", **REST, model=BOTH),
        Variant("shared encoder-decoder, LM", **REST, model=T5(shared=True)),
        Variant("6-layer encoder-decoder, LM", **REST, model=BOTH, size=Size(layers=0.5)),
        Variant("language model, LM", **READS, model=LEFT, objective=(PrefixLM(over_inputs=True),)),
        Variant("prefix LM, LM", **REST, model=PREFIX),
    ],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        BASELINE: T5_BASELINE,
        SHARED: (82.81, 18.78, 80.63, 70.73, 26.72, 39.03, 27.46),
        "6-layer encoder-decoder, denoising": (80.88, 18.97, 77.59, 68.42, 26.38, 38.40, 26.95),
        "language model, denoising": (74.70, 17.93, 61.14, 55.02, 25.09, 35.28, 25.86),
        PREFIX_LM: (81.82, 18.61, 78.94, 68.11, 26.43, 37.98, 27.39),
        "encoder-decoder, LM": (79.56, 18.59, 76.02, 64.29, 26.27, 39.17, 26.86),
        "shared encoder-decoder, LM": (79.60, 18.13, 76.35, 63.50, 26.62, 39.17, 27.05),
        "6-layer encoder-decoder, LM": (78.67, 18.26, 75.32, 64.06, 26.13, 38.42, 26.89),
        "language model, LM": (73.78, 17.54, 53.81, 56.51, 25.23, 34.31, 25.38),
        "prefix LM, LM": (79.68, 17.84, 76.87, 64.86, 26.28, 37.51, 26.76),
    }),
    speeds={
        BASELINE: 1, SHARED: None, "6-layer encoder-decoder, denoising": None, "language model, denoising": None, PREFIX_LM: None,
    },
    claims=[  # section 3.2.4
        *(
            Claim(f"{text} on {on}", better=BASELINE, worse=worse, on=on)
            for text, worse in {
                "The encoder-decoder is better with denoising than with a language-model objective": "encoder-decoder, LM",
                "With denoising, the encoder-decoder is better than the prefix LM": PREFIX_LM,
                "With denoising, the encoder-decoder is better than the language model": "language model, denoising",
                "Halving the layers significantly hurts": "6-layer encoder-decoder, denoising",
            }.items()
            for on in T5_COLUMNS
        ),
        *(
            Claim(f"{text} on {on}", better=better, worse=worse, on=on)
            for text, (better, worse) in {
                "The shared encoder-decoder outperforms the prefix LM": (SHARED, PREFIX_LM),
                "The prefix LM is better with denoising": (PREFIX_LM, "prefix LM, LM"),
            }.items()
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=[
        *T5_UNLIKE,
        "a decoder without an encoder is fine-tuned on answers alone (paper: the language model on inputs and answers)",
    ],
    notes=[
        *T5_NOTES,
        "The paper's table says that denoising is always better than an LM objective; by its own figures the language model is "
        "better with LM on SuperGLUE and EnDe, so that claims are on the encoder-decoder and on the prefix LM. That sharing "
        "performs nearly as well has no claim: fine-tuning here is not the paper's.",
        "The paper's costs are operations: an encoder-decoder of 12 + 12 layers has those of 12 layers that read inputs and "
        "targets in a row, M; with half of the layers it has M/2. The report has speeds as they are timed before training.",
        "A shared encoder-decoder shares self-attention and feed-forward networks; cross-attention, which the paper leaves out "
        "of P, is its own. Half of the layers are those of the scale's model.",
        "The LM objective is to write the rest of a text from a random place on; of a language model, the loss is on the tokens "
        "before that place too, with [SEP] between both (paper: whole texts without it). Denoising trains it on its inputs too "
        "(section 3.2.1).",
    ],
)  # fmt: skip
