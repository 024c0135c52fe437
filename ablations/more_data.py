"""ALBERT Table 7: does additional text help a base model? (ALBERT base, 125K steps)

| text               | SQuAD 1.1 | SQuAD 2.0 | MNLI | SST-2 | RACE |  Avg |
|:-------------------|----------:|----------:|-----:|------:|-----:|-----:|
| no additional text | 89.3/82.3 | 80.0/77.1 | 81.6 |  90.3 | 64.0 | 80.1 |
| additional text    | 88.8/81.7 | 79.1/76.3 | 82.4 |  92.8 | 66.0 | 80.8 |

Development sets; SQuAD as F1/EM: the columns here are F1, the average counts both. The accuracy of the masked LM is a curve
in the paper (Figure 2a). The first row is of Wikipedia and books, the second has the text of XLNet and RoBERTa too. Here the
first row has a tenth of the documents of the corpus, the second has all. Run it: `bertlab ablate more-data`.
"""

from bertlab import Claim, Inputs, Measurement, Needs, Study, Variant, table
from bertlab.lab.papers import (
    ALBERT,
    ALBERT_AVERAGE,
    ALBERT_COLUMNS,
    ALBERT_LOSSES,
    ALBERT_MODEL,
    ALBERT_NOTE,
    ALBERT_TASKS,
)

MLM = "MLM accuracy"
SST2, RACE = ALBERT_COLUMNS[3:5]

study = Study(
    name="more-data",
    question="Does additional text help a base model?",
    source="Lan et al. 2020, Table 7",
    baseline="no additional text",
    variants=[
        Variant("no additional text", inputs=Inputs(document_share=0.1)),
        Variant("additional text"),
    ],
    measurements=[
        Measurement(MLM, metric="accuracy"),
        *ALBERT_TASKS,
    ],
    averages=[ALBERT_AVERAGE],
    published=table(ALBERT_COLUMNS, {
        "no additional text": (89.3, 80.0, 81.6, 90.3, 64.0, 80.1),
        "additional text": (88.8, 79.1, 82.4, 92.8, 66.0, 80.8),
    }),
    claims=[
        # section 4.8
        Claim(f"Additional text improves {on}", better="additional text", worse="no additional text", on=on,
              needs=Needs(steps=10_000))
        for on in (MLM, SST2, RACE)
    ],
    at_paper=ALBERT | ALBERT_LOSSES | ALBERT_MODEL,
    unlike=[
        "a tenth of the text stands for Wikipedia and books, and the rest is of the same kind (paper: news, web pages, "
        "stories, which are far from SQuAD's Wikipedia)",
    ],
    notes=[
        "The claims are of 125,000 steps: with fewer than 10,000 they are not tested, as the first passes always add.",
        "In the paper additional text improves MNLI, too, and hurts SQuAD, for being of other kinds than Wikipedia. MNLI has no "
        "claim, as the paper prints 81.6 and 82.0 for the model without it; SQuAD has none, as the additional text here is of "
        "the same kind.",
        ALBERT_NOTE,
        "Less text in as many steps is more passes over it: where the steps do not get through a tenth of the text, as "
        "may be at small scales, the two variants differ in little but which documents they see.",
    ],
)  # fmt: skip
