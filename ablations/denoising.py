"""T5 Table 5: what should a denoising objective have to write?

| objective                |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:-------------------------|------:|-------:|------:|----------:|------:|------:|------:|
| BERT-style               | 82.96 |  19.17 | 80.65 |     69.85 | 26.78 | 40.03 | 27.41 |
| MASS-style               | 82.32 |  19.16 | 80.10 |     69.28 | 26.79 | 39.89 | 27.55 |
| replace corrupted spans  | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| drop corrupted tokens    | 84.44 |  19.31 | 80.52 |     68.67 | 27.07 | 39.76 | 27.82 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. The first two write the whole text, the others the
hidden tokens alone. Columns of tasks of GLUE and SuperGLUE are Table 16's. Run it: `bertlab ablate denoising`.
"""

from typing import Any

from bertlab import T5, Chunks, Claim, Inputs, SpanCorruption, Study, Variant, WordPiece, table
from bertlab.lab.papers import (
    T5_AT_SCALE,
    T5_BASE,
    T5_BASELINE,
    T5_BERT_STYLE,
    T5_COLUMNS,
    T5_GLUE_AVERAGE,
    T5_NOTES,
    T5_TASKS,
    T5_TEXT,
    T5_UNLIKE,
)

READS: dict[str, Any] = {"model": T5(), "inputs": Inputs(format=Chunks()), "tokenizer": WordPiece(sentinels=100)}
REPLACE = "replace corrupted spans"
DROP = "drop corrupted tokens"

study = Study(
    name="denoising",
    question="What should a denoising objective have to write?",
    source="Raffel et al. 2020, Table 5",
    baseline=REPLACE,
    variants=[
        Variant("BERT-style", **READS, objective=(SpanCorruption(shown="mask", random=0.1, target="text"),)),
        Variant("MASS-style", **READS, objective=(SpanCorruption(shown="mask", random=0.0, target="text"),)),
        Variant(REPLACE, **READS, objective=(SpanCorruption(shown="sentinels", random=0.0, target="spans"),)),
        Variant(DROP, **READS, objective=(SpanCorruption(shown="dropped", random=0.0, target="spans"),)),
    ],
    measurements=T5_TASKS,
    averages=[T5_GLUE_AVERAGE],
    published=table(T5_COLUMNS, {
        "BERT-style": T5_BERT_STYLE,
        "MASS-style": (47.01, 91.63, 92.53, 88.21, 88.58, 82.96, 90.02, 77.26,
                       19.16, 80.10, 75.08, 64.46, 66.71, 26.79, 39.89, 27.55, 82.32),
        REPLACE: T5_BASELINE,
        DROP: (60.04, 92.89, 92.79, 87.28, 88.56, 83.94, 90.74, 79.42,
               19.31, 80.52, 75.90, 65.06, 65.54, 27.07, 39.76, 27.82, 84.44),
    }),
    claims=[  # section 3.3.2
        Claim("Dropping corrupted tokens is better on CoLA", better=DROP, worse=REPLACE, on="CoLA"),
        Claim("Dropping corrupted tokens is worse on ReCoRD, of SuperGLUE", better=REPLACE, worse=DROP, on="ReCoRD"),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=T5_UNLIKE,
    notes=[
        *T5_NOTES,
        "The paper finds that dropping tokens is slightly better on GLUE, almost completely due to CoLA, and worse on SuperGLUE. "
        "That the others perform similarly has no claim: fine-tuning here is not the paper's.",
        "The paper prefers the last two for their shorter targets, which make training faster; it prints no speeds. A plan shows the "
        "operations of each variant, and `--json` its tokens per second.",
        "With dropped tokens nothing in the inputs says where they were, as in the paper.",
    ],
)  # fmt: skip
