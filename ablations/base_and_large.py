"""BERT Tables 1 and 2: how much better is the large model? (GLUE test server; SQuAD 1.1 development set, single models)

|       | MNLI-m | MNLI-mm | QQP  | QNLI | SST-2 | CoLA | STS-B | MRPC | RTE  | Average | SQuAD 1.1 EM/F1 |
|:------|-------:|--------:|-----:|-----:|------:|-----:|------:|-----:|-----:|--------:|----------------:|
| base  |   84.6 |    83.4 | 71.2 | 90.5 |  93.5 | 52.1 |  85.8 | 88.9 | 66.4 |    79.6 |       80.8/88.5 |
| large |   86.7 |    85.9 | 72.1 | 92.7 |  94.9 | 60.5 |  86.5 | 89.3 | 70.1 |    82.1 |       84.1/90.9 |

QQP and MRPC are F1, CoLA is Matthews correlation, STS-B Spearman correlation, the others accuracy. Large has twice the
layers and 4/3 of the width; both models are rows of Table 6 too, and trained once for the study size. Run it:
`bertlab ablate base-and-large`.
"""

from bertlab import Claim, Measurement, Size, Study, Variant, table
from bertlab.lab.papers import (
    BERT_GLUE,
    BERT_GLUE_AVERAGE,
    BERT_GLUE_COLUMNS,
    BERT_GLUE_NOTE,
    BERT_GLUE_UNLIKE,
    GOOGLE_NOTE,
    SAME_RUNS_NOTE,
)

EXACT = "SQuAD 1.1 EM"
F1 = "SQuAD 1.1"

study = Study(
    name="base-and-large",
    question="How much better is the large model?",
    source="Devlin et al. 2019, Tables 1 and 2",
    baseline="base",
    variants=[
        Variant("base"),
        Variant("large", size=Size(layers=2, width=4 / 3)),
    ],
    measurements=[
        *BERT_GLUE,
        Measurement(EXACT, task="squad", metric="exact"),
        Measurement(F1, task="squad", metric="f1"),
    ],
    averages=[BERT_GLUE_AVERAGE],
    published=table((*BERT_GLUE_COLUMNS, EXACT, F1), {
        "base": (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6, 80.8, 88.5),
        "large": (86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1, 82.1, 84.1, 90.9),
    }),
    claims=[  # section 4.1
        Claim(f"Large is better than base on {on.name}", better="large", worse="base", on=on.name) for on in BERT_GLUE
    ],
    unlike=BERT_GLUE_UNLIKE,
    notes=[
        GOOGLE_NOTE,
        BERT_GLUE_NOTE,
        "Of the large model, the paper reports the best of several fine-tunings by the development set, since some fail on "
        "small tasks; on SQuAD 1.1 these are the values without TriviaQA.",
        SAME_RUNS_NOTE,
    ],
)  # fmt: skip
