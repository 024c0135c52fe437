"""T5 Table 1: what does pre-training give a model that turns texts into texts?

| model                |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:---------------------|------:|-------:|------:|----------:|------:|------:|------:|
| baseline             | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| its spread           | 0.235 |  0.065 | 0.343 |     0.416 | 0.112 | 0.090 | 0.108 |
| without pre-training | 66.22 |  17.60 | 50.31 |     53.04 | 25.86 | 39.77 | 24.04 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. The second row has standard deviations of ten
baselines, each from a pre-training of its own. Run it, with as many seeds: `bertlab ablate t5-baseline --seeds 10`.
"""

from bertlab import Claim, PublishedTable, Schedule, Study, Variant, table
from bertlab.lab.papers import (
    T5_AT_SCALE,
    T5_BASE,
    T5_BASELINE,
    T5_COLUMNS,
    T5_DENOISES,
    T5_NOTES,
    T5_TASKS,
    T5_TEXT,
    T5_UNLIKE,
)

UNTRAINED = "without pre-training"

study = Study(
    name="t5-baseline",
    question="What does pre-training give a model that turns texts into texts?",
    source="Raffel et al. 2020, Table 1",
    baseline="baseline",
    variants=[Variant("baseline", **T5_DENOISES), Variant(UNTRAINED, **T5_DENOISES, schedule=Schedule(steps=0))],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        "baseline": T5_BASELINE,
        UNTRAINED: (66.22, 17.60, 50.31, 53.04, 25.86, 39.77, 24.04),
    }),
    related=[
        PublishedTable(
            "Standard deviations of ten baselines, points", source="Raffel et al. 2020, Table 1", columns=T5_COLUMNS,
            rows={"baseline": (0.235, 0.065, 0.343, 0.416, 0.112, 0.090, 0.108)},
        ),
    ],
    claims=[  # section 3.1.4
        Claim(f"Pre-training gives a significant gain on {on}", better="baseline", worse=UNTRAINED, on=on)
        for on in T5_COLUMNS if on != "EnFr"
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=T5_UNLIKE,
    notes=[
        *T5_NOTES,
        "The paper finds no gain on EnFr, its largest data set: 0.05 points, half a standard deviation.",
    ],
)  # fmt: skip
