"""ALBERT Table 8: does removing dropout from pre-training help? (ALBERT xxlarge, around 1M steps)

|                 | SQuAD 1.1 | SQuAD 2.0 | MNLI | SST-2 | RACE |  Avg |
|:----------------|----------:|----------:|-----:|------:|-----:|-----:|
| with dropout    | 94.7/89.2 | 89.6/86.9 | 90.0 |  96.3 | 85.7 | 90.4 |
| without dropout | 94.8/89.5 | 89.9/87.2 | 90.4 |  96.5 | 86.1 | 90.7 |

Development sets; SQuAD as F1/EM: the columns here are F1, the average counts both. The accuracy of the masked LM is a
curve in the paper (Figure 2b). Both variants are fine-tuned with the dropout of the scale. At small scales they are the
scale's model with a dropout of 0.1 and 0: at micro, tiny and mini, the one without dropout is the baseline of other
studies and trained once for all. Run it: `bertlab ablate dropout`.
"""

from bertlab import Claim, Measurement, Model, Study, Variant, table
from bertlab.lab.papers import (
    ALBERT,
    ALBERT_AVERAGE,
    ALBERT_COLUMNS,
    ALBERT_LOSSES,
    ALBERT_MODEL,
    ALBERT_NOTE,
    ALBERT_TASKS,
    ALBERT_XXLARGE_UNLIKE,
)

MLM = "MLM accuracy"
SQUAD, SQUAD_2, MNLI, SST2, RACE, _ = ALBERT_COLUMNS

study = Study(
    name="dropout",
    question="Does removing dropout from pre-training help?",
    source="Lan et al. 2020, Table 8",
    baseline="with dropout",
    variants=[
        Variant("with dropout", model=Model(dropout=0.1)),
        Variant("without dropout", model=Model(dropout=0.0)),
    ],
    measurements=[
        Measurement(MLM, metric="accuracy"),
        *ALBERT_TASKS,
    ],
    averages=[ALBERT_AVERAGE],
    published=table(ALBERT_COLUMNS, {
        "with dropout": (94.7, 89.6, 90.0, 96.3, 85.7, 90.4),
        "without dropout": (94.8, 89.9, 90.4, 96.5, 86.1, 90.7),
    }),
    claims=[
        # section 4.8
        Claim("Removing dropout improves the accuracy of the masked LM (Figure 2b)", better="without dropout",
              worse="with dropout", on=MLM),
        *(
            Claim(f"Removing dropout helps {on}", better="without dropout", worse="with dropout", on=on)
            for on in (SQUAD, SQUAD_2, MNLI, SST2, RACE)
        ),
    ],
    at_paper=ALBERT | ALBERT_LOSSES | ALBERT_MODEL | {
        # Table 1 and section 4.8
        "model.hidden": "4096",
        "model.heads": "64",
        "schedule.steps": "1000000",
        "schedule.warmup": "0.003125",
    },
    unlike=[
        *ALBERT_XXLARGE_UNLIKE,
        "text of Wikipedia and books (paper: not said, in a section on additional text)",
    ],
    notes=[
        ALBERT_NOTE,
        'The published values are an "intermediate evaluation at around 1M training steps"; here 1M steps are the whole '
        "schedule, with a warm-up of as many steps as in the paper's other experiments.",
        "The paper says of its largest models that they do not overfit their training data after 1M steps. A model that "
        "does overfit may need dropout.",
    ],
)  # fmt: skip
