"""T5 Table 11: in which proportions should one model learn text and all tasks?

| mixture                 |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:------------------------|------:|-------:|------:|----------:|------:|------:|------:|
| pre-trained, fine-tuned | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| equal                   | 76.13 |  19.02 | 76.51 |     63.37 | 23.89 | 34.31 | 26.78 |
| K = 2^16                | 80.45 |  19.04 | 77.25 |     69.95 | 24.35 | 34.99 | 27.10 |
| K = 2^17                | 81.56 |  19.12 | 77.00 |     67.91 | 24.36 | 35.00 | 27.25 |
| K = 2^18                | 81.67 |  19.07 | 78.17 |     67.94 | 24.57 | 35.19 | 27.39 |
| K = 2^19                | 81.42 |  19.24 | 79.78 |     67.30 | 25.21 | 36.30 | 27.76 |
| K = 2^20                | 80.80 |  19.24 | 80.36 |     67.38 | 25.66 | 36.93 | 27.68 |
| K = 2^21                | 79.83 |  18.79 | 79.50 |     65.10 | 25.82 | 37.22 | 27.13 |
| T = 2                   | 81.90 |  19.28 | 79.42 |     69.92 | 25.42 | 36.72 | 27.20 |
| T = 4                   | 80.56 |  19.22 | 77.99 |     69.54 | 25.04 | 35.82 | 27.45 |
| T = 8                   | 77.21 |  19.10 | 77.14 |     66.07 | 24.55 | 35.35 | 27.17 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. All but the first row are trained on text and tasks
together, and not fine-tuned: rates are equal, or as the numbers of examples up to the limit K, or these to the power of 1/T.
Run it: `bertlab ablate mixing`.
"""

from typing import Any

from bertlab import (
    Claim,
    Equal,
    MultiTask,
    NoTuning,
    Proportional,
    RelativeSchedule,
    Study,
    Temperature,
    Variant,
    table,
)
from bertlab.lab.papers import (
    T5_BASE,
    T5_BASELINE,
    T5_COLUMNS,
    T5_DENOISES,
    T5_MIXED,
    T5_MIXED_AT_SCALE,
    T5_MIXED_NOTES,
    T5_MIXED_UNLIKE,
    T5_TASKS,
    T5_TEXT,
)

MIXED: dict[str, Any] = T5_DENOISES | {"relative": RelativeSchedule(steps=1.5), "adaptation": NoTuning()}
TUNED = "pre-trained, fine-tuned"

study = Study(
    name="mixing",
    question="In which proportions should one model learn text and all tasks?",
    source="Raffel et al. 2020, Table 11",
    baseline=TUNED,
    variants=[
        Variant(TUNED, **T5_DENOISES),
        Variant("equal", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Equal())),
        Variant("K = 2^16", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Proportional(limit=1 << 16))),
        Variant("K = 2^17", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Proportional(limit=1 << 17))),
        Variant("K = 2^18", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Proportional(limit=1 << 18))),
        Variant("K = 2^19", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Proportional(limit=1 << 19))),
        Variant("K = 2^20", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Proportional(limit=1 << 20))),
        Variant("K = 2^21", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Proportional(limit=1 << 21))),
        Variant("T = 2", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Temperature(limit=1 << 21, t=2))),
        Variant("T = 4", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Temperature(limit=1 << 21, t=4))),
        Variant("T = 8", **MIXED, multitask=MultiTask(tasks=T5_MIXED, mixing=Temperature(limit=1 << 21, t=8))),
    ],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        TUNED: T5_BASELINE,
        "equal": (76.13, 19.02, 76.51, 63.37, 23.89, 34.31, 26.78),
        "K = 2^16": (80.45, 19.04, 77.25, 69.95, 24.35, 34.99, 27.10),
        "K = 2^17": (81.56, 19.12, 77.00, 67.91, 24.36, 35.00, 27.25),
        "K = 2^18": (81.67, 19.07, 78.17, 67.94, 24.57, 35.19, 27.39),
        "K = 2^19": (81.42, 19.24, 79.78, 67.30, 25.21, 36.30, 27.76),
        "K = 2^20": (80.80, 19.24, 80.36, 67.38, 25.66, 36.93, 27.68),
        "K = 2^21": (79.83, 18.79, 79.50, 65.10, 25.82, 37.22, 27.13),
        "T = 2": (81.90, 19.28, 79.42, 69.92, 25.42, 36.72, 27.20),
        "T = 4": (80.56, 19.22, 77.99, 69.54, 25.04, 35.82, 27.45),
        "T = 8": (77.21, 19.10, 77.14, 66.07, 24.55, 35.35, 27.17),
    }),
    claims=[  # section 3.5.2
        *(
            Claim(f"Pre-training and fine-tuning is better than multi-task training (T = 2) on {on}", better=TUNED,
                  worse="T = 2", on=on)
            for on in ("GLUE", "SQuAD", "SuperGLUE", "EnDe", "EnFr")
        ),
        *(
            Claim(f"Equal mixing is much worse than T = 2 on {on}", better="T = 2", worse="equal", on=on)
            for on in ("GLUE", "SuperGLUE")
        ),
        *(
            Claim(f"A higher limit is better on {on} (2^21 against 2^16)", better="K = 2^21", worse="K = 2^16", on=on)
            for on in ("EnDe", "EnFr")
        ),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_MIXED_AT_SCALE,
    unlike=T5_MIXED_UNLIKE,
    notes=[
        *T5_MIXED_NOTES,
        "At micro and tiny, every task has more examples than the smallest limit, with which rates are equal. `bertlab show "
        "mixing` prints the rate of each task, and how often a training passes over it.",
    ],
)  # fmt: skip
