"""ALBERT Table 6: which of two sizes is better after as much training time? (BERT large, ALBERT xxlarge)

| model          | steps | hours | SQuAD 1.1 | SQuAD 2.0 | MNLI | SST-2 | RACE |  Avg |
|:---------------|------:|------:|----------:|----------:|-----:|------:|-----:|-----:|
| BERT large     |  400K |    34 | 93.5/87.4 | 86.9/84.3 | 87.8 |  94.6 | 77.3 | 87.2 |
| ALBERT xxlarge |  125K |    32 | 94.0/88.1 | 88.3/85.3 | 87.8 |  95.4 | 82.5 | 88.7 |

Development sets; SQuAD as F1/EM: the columns here are F1, the average counts both. Sizes and steps are multiples of the
scale's, so that scale paper has these very rows; there ALBERT xxlarge is the row of Table 2, trained once for the study
depth-and-width too. `ablate` times steps of both models on this machine and gives ALBERT xxlarge as many as take the time
of BERT large's. Models too large for a trial of seconds keep the ratio of the steps above, 3.2 to 1, which gave both the
same time on the paper's hardware. Run it: `bertlab ablate equal-time`.
"""

from bertlab import Claim, Model, Needs, RelativeSchedule, Size, Study, Variant, table
from bertlab.lab.papers import (
    ALBERT,
    ALBERT_AVERAGE,
    ALBERT_COLUMNS,
    ALBERT_LOSSES,
    ALBERT_NOTE,
    ALBERT_TASKS,
    ALBERT_XXLARGE_UNLIKE,
)

MNLI = "MNLI"
RACE = "RACE"

study = Study(
    name="equal-time",
    question="Which of two sizes is better after as much training time?",
    source="Lan et al. 2020, Table 6",
    baseline="BERT large",
    variants=[
        Variant("BERT large"),
        Variant("ALBERT xxlarge", model=Model(sharing="all"), size=Size(layers=1 / 2, width=4, embeddings=1 / 32),
                relative=RelativeSchedule(steps=1 / 3.2, equal_time=True)),
    ],
    measurements=ALBERT_TASKS,
    averages=[ALBERT_AVERAGE],
    published=table(ALBERT_COLUMNS, {
        "BERT large": (93.5, 86.9, 87.8, 94.6, 77.3, 87.2),
        "ALBERT xxlarge": (94.0, 88.3, 87.8, 95.4, 82.5, 88.7),
    }),
    claims=[
        # section 4.7 names the average and RACE
        Claim("After as much time, ALBERT xxlarge is significantly better than BERT large on RACE",
              better="ALBERT xxlarge", worse="BERT large", on=RACE, needs=Needs(embeddings=64, layers=2)),
    ],
    at_paper=ALBERT | ALBERT_LOSSES | {
        "model.layers": "24",
        "model.hidden": "1024",
        "model.heads": "16",
        "schedule.steps": "400000",
    },
    unlike=ALBERT_XXLARGE_UNLIKE,
    notes=[
        "ALBERT's embeddings are 128 wide, and its layers share parameters: the claim is not tested where embeddings are narrower "
        "than 64 or there is one layer.",
        ALBERT_NOTE,
        "The warm-up is the same share of the steps of both, 3,125 of 125,000 as in the paper's other experiments; it does not "
        "print BERT large's.",
        "The paper's BERT large processes 3.17 times as much data in the same time as its ALBERT xxlarge.",
        "One peak learning rate serves both, as in the paper. At small scales, wide models may need a lower one.",
        "At a scale of two layers, as micro is, ALBERT xxlarge has one, so that no layers share parameters.",
    ],
)  # fmt: skip
