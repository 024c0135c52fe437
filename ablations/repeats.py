"""T5 Table 9: how small may the text of a pre-training be that passes over it again and again?

| tokens of text | repeats |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:---------------|--------:|------:|-------:|------:|----------:|------:|------:|------:|
| full data set  |       0 | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| 2^29           |      64 | 82.87 |  19.19 | 80.97 |     72.03 | 26.83 | 39.74 | 27.63 |
| 2^27           |     256 | 82.62 |  19.20 | 79.78 |     69.97 | 27.02 | 39.71 | 27.33 |
| 2^25           |   1,024 | 79.55 |  18.57 | 76.27 |     64.76 | 26.38 | 39.56 | 26.80 |
| 2^23           |   4,096 | 76.34 |  18.33 | 70.92 |     59.29 | 26.37 | 38.84 | 25.81 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. All are pre-trained on 2^35 tokens. The loss on the
training text is in Figure 6. Run it: `bertlab ablate repeats`.
"""

from typing import Any

from bertlab import T5, Chunks, Claim, Inputs, Measurement, Needs, SpanCorruption, Study, Variant, WordPiece, table
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

READS: dict[str, Any] = {
    "model": T5(), "tokenizer": WordPiece(sentinels=100), "objective": (SpanCorruption(),)
}
ALL = "full data set"
SEEN = "training text"

LONG = Needs(steps=10_000)
"""With fewer, 4,096 repeats are of less than eight documents, the fewest that are read."""

study = Study(
    name="repeats",
    question="How small may a text be over which a pre-training passes again and again?",
    source="Raffel et al. 2020, Table 9",
    baseline=ALL,
    variants=[
        Variant(ALL, **READS, inputs=Inputs(format=Chunks())),
        Variant("64 repeats", **READS, inputs=Inputs(format=Chunks(), epochs=64)),
        Variant("256 repeats", **READS, inputs=Inputs(format=Chunks(), epochs=256)),
        Variant("1,024 repeats", **READS, inputs=Inputs(format=Chunks(), epochs=1024)),
        Variant("4,096 repeats", **READS, inputs=Inputs(format=Chunks(), epochs=4096)),
    ],
    measurements=[Measurement(SEEN, metric="training_loss"), *T5_TASKS],
    published=table(T5_COLUMNS, {
        ALL: T5_BASELINE,
        "64 repeats": (82.87, 19.19, 80.97, 72.03, 26.83, 39.74, 27.63),
        "256 repeats": (82.62, 19.20, 79.78, 69.97, 27.02, 39.71, 27.33),
        "1,024 repeats": (79.55, 18.57, 76.27, 64.76, 26.38, 39.56, 26.80),
        "4,096 repeats": (76.34, 18.33, 70.92, 59.29, 26.37, 38.84, 25.81),
    }),
    claims=[  # section 3.4.2
        *(
            Claim(f"1,024 repeats are worse than none on {on}", better=ALL, worse="1,024 repeats", on=on)
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
        *(
            Claim(f"4,096 repeats are worse than 1,024 on {on}", better="1,024 repeats", worse="4,096 repeats", on=on,
                  needs=LONG)
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
        *(
            Claim(f"A model memorises the text of {few}: its loss there is lower than with all text", better=few,
                  worse=ALL, on=SEEN)
            for few in ("256 repeats", "1,024 repeats")
        ),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=T5_UNLIKE,
    notes=[
        *T5_NOTES,
        "A repeat is a pass over the text: of each variant as many whole documents are read as its passes take, at least eight, by a "
        "hash of each, so that fewer are part of more. At micro 1,024 passes take about a dozen documents, and 4,096 would take three: "
        "that row then has the same text as eight documents give.",
        "The paper finds limited effects at 64 repeats, which has no claim here, as fine-tuning is not the paper's.",
        "The loss on the training text has hidden tokens drawn anew and no dropout; it is measured at the end on the documents that a "
        "variant read. Figure 6 has the curves of training itself, whose values the paper does not print.",
    ],
)  # fmt: skip
