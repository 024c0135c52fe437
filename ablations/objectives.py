"""T5 Table 4: which kind of objective should an encoder with a decoder be pre-trained with?

| objective                      |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:-------------------------------|------:|-------:|------:|----------:|------:|------:|------:|
| Prefix language modelling      | 80.69 |  18.94 | 77.99 |     65.27 | 26.86 | 39.73 | 27.49 |
| BERT-style                     | 82.96 |  19.17 | 80.65 |     69.85 | 26.78 | 40.03 | 27.41 |
| Deshuffling                    | 73.17 |  18.59 | 67.61 |     58.47 | 26.11 | 39.30 | 25.62 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. The targets of BERT-style and of deshuffling are the
whole text. Run it: `bertlab ablate objectives`.
"""

from bertlab import Claim, Deshuffling, PrefixLM, SpanCorruption, Study, Variant, table
from bertlab.lab.papers import (
    T5_AT_SCALE,
    T5_BASE,
    T5_BERT_STYLE,
    T5_COLUMNS,
    T5_NOTES,
    T5_READS,
    T5_TASKS,
    T5_TEXT,
    T5_UNLIKE,
)

PREFIX = "prefix language modelling"

study = Study(
    name="objectives",
    question="Should an encoder with a decoder continue texts, denoise them or order their words?",
    source="Raffel et al. 2020, Table 4",
    baseline="BERT-style",
    variants=[
        Variant(PREFIX, **T5_READS, objective=(PrefixLM(),)),
        Variant("BERT-style", **T5_READS, objective=(SpanCorruption(shown="mask", random=0.1, target="text"),)),
        Variant("deshuffling", **T5_READS, objective=(Deshuffling(),)),
    ],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        PREFIX: (80.69, 18.94, 77.99, 65.27, 26.86, 39.73, 27.49),
        "BERT-style": T5_BERT_STYLE,
        "deshuffling": (73.17, 18.59, 67.61, 58.47, 26.11, 39.30, 25.62),
    }),
    claims=[  # section 3.3.1
        *(
            Claim(f"The BERT-style objective is better than prefix language modelling on {on}", better="BERT-style",
                  worse=PREFIX, on=on)
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
        *(
            Claim(f"Deshuffling is considerably worse than the other two on {on}", better=(PREFIX, "BERT-style"),
                  worse="deshuffling", on=on)
            for on in T5_COLUMNS
        ),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=T5_UNLIKE,
    notes=[
        *T5_NOTES,
        "The paper finds prefix language modelling similar on translation, which has no claim: fine-tuning here is not the paper's.",
        "BERT-style hides 15 % of the tokens, of which a tenth are random tokens and none is itself. Its inputs show [MASK]s.",
        "The released code does not join documents for prefix language modelling and for deshuffling; here all objectives have the "
        "same sequences, across documents.",
    ],
)  # fmt: skip
