"""ALBERT Table 2: which sizes are worth their compute, with and without parameters shared across layers?

| model          | L  | H    | E    | millions | SQuAD 1.1 | SQuAD 2.0 | MNLI | SST-2 | RACE |  Avg | speed |
|:---------------|---:|-----:|-----:|---------:|----------:|----------:|-----:|------:|-----:|-----:|------:|
| BERT base      | 12 |  768 |  768 |      108 | 90.4/83.2 | 80.4/77.6 | 84.5 |  92.8 | 68.2 | 82.3 |  4.7x |
| BERT large     | 24 | 1024 | 1024 |      334 | 92.2/85.5 | 85.0/82.2 | 86.6 |  93.0 | 73.9 | 85.2 |   1.0 |
| ALBERT base    | 12 |  768 |  128 |       12 | 89.3/82.3 | 80.0/77.1 | 81.6 |  90.3 | 64.0 | 80.1 |  5.6x |
| ALBERT large   | 24 | 1024 |  128 |       18 | 90.6/83.9 | 82.3/79.4 | 83.5 |  91.7 | 68.5 | 82.4 |  1.7x |
| ALBERT xlarge  | 24 | 2048 |  128 |       60 | 92.5/86.1 | 86.1/83.1 | 86.4 |  92.4 | 74.8 | 85.5 |  0.6x |
| ALBERT xxlarge | 12 | 4096 |  128 |      235 | 94.1/88.3 | 88.1/85.1 | 88.0 |  95.2 | 82.3 | 88.7 |  0.3x |

Development sets; SQuAD as F1/EM: the columns here are F1, the average counts both. Sizes are multiples of the scale's
model, so that scale paper has these very rows; heads are of one size. The base models are rows of Tables 3 and 4 too,
and trained once for the studies embedding-size and sharing. Speed is that of training, as a multiple of BERT large's:
`ablate` times steps of all rows in turn, and the report has a table of parameters and speeds. Run it: `bertlab ablate
depth-and-width`.
"""

from bertlab import Claim, Model, Needs, Size, Study, Variant, table
from bertlab.lab.papers import (
    ALBERT,
    ALBERT_AVERAGE,
    ALBERT_COLUMNS,
    ALBERT_LOSSES,
    ALBERT_NOTE,
    ALBERT_TASKS,
    ALBERT_XXLARGE_UNLIKE,
)

SQUAD, SQUAD_2, MNLI, SST2, RACE, _ = ALBERT_COLUMNS

study = Study(
    name="depth-and-width",
    question="Which sizes help, with and without parameters shared across layers?",
    source="Lan et al. 2020, Table 2",
    baseline="BERT base",
    variants=[
        Variant("BERT base"),
        Variant("BERT large", size=Size(layers=2, width=4 / 3)),
        Variant("ALBERT base", model=Model(sharing="all"), size=Size(embeddings=1 / 6)),
        Variant("ALBERT large", model=Model(sharing="all"), size=Size(layers=2, width=4 / 3, embeddings=1 / 8)),
        Variant("ALBERT xlarge", model=Model(sharing="all"), size=Size(layers=2, width=8 / 3, embeddings=1 / 16)),
        Variant("ALBERT xxlarge", model=Model(sharing="all"), size=Size(width=16 / 3, embeddings=1 / 32)),
    ],
    measurements=ALBERT_TASKS,
    averages=[ALBERT_AVERAGE],
    published=table(ALBERT_COLUMNS, {
        "BERT base": (90.4, 80.4, 84.5, 92.8, 68.2, 82.3),
        "BERT large": (92.2, 85.0, 86.6, 93.0, 73.9, 85.2),
        "ALBERT base": (89.3, 80.0, 81.6, 90.3, 64.0, 80.1),
        "ALBERT large": (90.6, 82.3, 83.5, 91.7, 68.5, 82.4),
        "ALBERT xlarge": (92.5, 86.1, 86.4, 92.4, 74.8, 85.5),
        "ALBERT xxlarge": (94.1, 88.1, 88.0, 95.2, 82.3, 88.7),
    }),
    speeds={
        "BERT base": 4.7,
        "BERT large": 1.0,
        "ALBERT base": 5.6,
        "ALBERT large": 1.7,
        "ALBERT xlarge": 0.6,
        "ALBERT xxlarge": 0.3,
    },
    claims=[
        Claim(f"ALBERT xxlarge achieves significant improvements over BERT large on {on}",  # section 4.3
              better="ALBERT xxlarge", worse="BERT large", on=on, needs=Needs(embeddings=64))
        for on in (SQUAD, SQUAD_2, MNLI, SST2, RACE)
    ],
    at_paper=ALBERT | ALBERT_LOSSES,
    unlike=ALBERT_XXLARGE_UNLIKE,
    notes=[
        "This is Table 2. The paper's own study of depth and width, from 1 to 48 layers and from 1024 to 6144 wide (appendix "
        "A.1, Tables 11 and 12), is not part of it.",
        "ALBERT's embeddings are 128 wide: the claims are not tested where a variant's are narrower than 64.",
        ALBERT_NOTE,
        "The paper prints 235 million parameters for xxlarge in its table and 233 in its text; the shape that it prints has 223 "
        "million here, and xlarge 59 in place of 60.",
        "By Table 13, the values of xxlarge in this table are those of 24 layers; those of 12 layers are in Table 6, and differ by "
        "at most 0.2 points.",
        "One peak learning rate serves all sizes, as in the paper. At small scales, wide models may need a lower one.",
    ],
)  # fmt: skip
