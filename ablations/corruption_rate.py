"""T5 Table 6: which share of the tokens should be hidden?

| corruption rate |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:----------------|------:|-------:|------:|----------:|------:|------:|------:|
| 10 %            | 82.82 |  19.00 | 80.38 |     69.55 | 26.87 | 39.28 | 27.44 |
| 15 %            | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| 25 %            | 83.00 |  19.54 | 80.96 |     70.48 | 27.04 | 39.83 | 27.47 |
| 50 %            | 81.27 |  19.32 | 79.80 |     70.33 | 27.01 | 39.90 | 27.49 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. Single tokens are hidden; neighbours among them are
one span. Run it: `bertlab ablate corruption-rate`.
"""

from typing import Any

from bertlab import T5, Chunks, Claim, Inputs, SpanCorruption, Study, Variant, WordPiece, table
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
    "model": T5(), "inputs": Inputs(format=Chunks()),
    "tokenizer": WordPiece(sentinels=300),  # half of 512 tokens may be as many spans
}  # fmt: skip

study = Study(
    name="corruption-rate",
    question="Which share of its tokens should T5 have to predict?",
    source="Raffel et al. 2020, Table 6",
    baseline="15 %",
    variants=[
        Variant("10 %", **READS, objective=(SpanCorruption(mask_prob=0.10),)),
        Variant("15 %", **READS, objective=(SpanCorruption(mask_prob=0.15),)),
        Variant("25 %", **READS, objective=(SpanCorruption(mask_prob=0.25),)),
        Variant("50 %", **READS, objective=(SpanCorruption(mask_prob=0.50),)),
    ],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        "10 %": (82.82, 19.00, 80.38, 69.55, 26.87, 39.28, 27.44),
        "15 %": T5_BASELINE,
        "25 %": (83.00, 19.54, 80.96, 70.48, 27.04, 39.83, 27.47),
        "50 %": (81.27, 19.32, 79.80, 70.33, 27.01, 39.90, 27.49),
    }),
    claims=[  # section 3.3.3
        *(
            Claim(f"A corruption rate of 50 % degrades {on}", better="15 %", worse="50 %", on=on)
            for on in ("GLUE", "SQuAD")
        ),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=T5_UNLIKE,
    notes=[
        *T5_NOTES,
        "That 25 % is similar to 15 % has no claim: fine-tuning here is not the paper's.",
        "A share of the tokens is hidden exactly (released code: each token with this probability).",
        "All rates have inputs of one length, and targets that grow with the rate: a step at 50 % takes longer.",
    ],
)  # fmt: skip
