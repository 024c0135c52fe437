"""T5 Table 13: what should four times the computation be spent on?

| scaling                          |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:---------------------------------|------:|-------:|------:|----------:|------:|------:|------:|
| baseline                         | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| 1x size, 4x training steps       | 85.33 |  19.33 | 82.45 |     74.72 | 27.08 | 40.66 | 27.93 |
| 1x size, 4x batch size           | 84.60 |  19.42 | 82.52 |     74.64 | 27.07 | 40.60 | 27.84 |
| 2x size, 2x training steps       | 86.18 |  19.66 | 84.18 |     77.18 | 27.52 | 41.03 | 28.19 |
| 4x size, 1x training steps       | 85.91 |  19.73 | 83.86 |     78.04 | 27.47 | 40.71 | 28.10 |
| 4x ensembled                     | 84.77 |  20.10 | 83.09 |     71.74 | 28.05 | 40.53 | 28.57 |
| 4x ensembled, fine-tune only     | 84.05 |  19.57 | 82.36 |     71.55 | 27.55 | 40.22 | 28.09 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. For EnRo of "4x ensembled", Table 16 has 28.09. Run
it: `bertlab ablate scaling`.
"""

from bertlab import Claim, Ensemble, RelativeSchedule, Size, Study, Variant, table
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

STEPS = "1x size, 4x training steps"
BATCH = "1x size, 4x batch size"
BOTH = "2x size, 2x training steps"
SIZE = "4x size, 1x training steps"
APART = "4x ensembled"
TUNED = "4x ensembled, fine-tune only"

study = Study(
    name="scaling",
    question="What should four times the computation be spent on: steps, batches, size, or several models?",
    source="Raffel et al. 2020, Table 13",
    baseline="baseline",
    variants=[
        Variant("baseline", **T5_DENOISES),
        Variant(STEPS, **T5_DENOISES, relative=RelativeSchedule(steps=4)),
        Variant(BATCH, **T5_DENOISES, relative=RelativeSchedule(batch_size=4)),
        Variant(BOTH, **T5_DENOISES, size=Size(layers=4 / 3, width=4 / 3), relative=RelativeSchedule(steps=2)),
        Variant(SIZE, **T5_DENOISES, size=Size(layers=8 / 3, width=4 / 3)),
        Variant(APART, **T5_DENOISES, ensemble=Ensemble(of="pre-trainings")),
        Variant(TUNED, **T5_DENOISES, ensemble=Ensemble(of="fine-tunings")),
    ],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        "baseline": T5_BASELINE,
        STEPS: (85.33, 19.33, 82.45, 74.72, 27.08, 40.66, 27.93),
        BATCH: (84.60, 19.42, 82.52, 74.64, 27.07, 40.60, 27.84),
        BOTH: (86.18, 19.66, 84.18, 77.18, 27.52, 41.03, 28.19),
        SIZE: (85.91, 19.73, 83.86, 78.04, 27.47, 40.71, 28.10),
        APART: (84.77, 20.10, 83.09, 71.74, 28.05, 40.53, 28.57),
        TUNED: (84.05, 19.57, 82.36, 71.55, 27.55, 40.22, 28.09),
    }),
    claims=[  # section 3.6
        *(
            Claim(f"Four times the steps are better on {on}", better=STEPS, worse="baseline", on=on)
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
        *(
            Claim(f"A batch of four times the size is better on {on}", better=BATCH, worse="baseline", on=on)
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
        *(
            Claim(f"Size gives an additional bump over steps on {on}", better=SIZE, worse=STEPS, on=on)
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
        *(
            Claim(f"Four separate models together are better on {on} than one", better=APART, worse="baseline", on=on)
            for on in ("CNN/DM", "EnDe")
        ),
        *(
            Claim(f"Four fine-tunings of one pre-training together are better on {on} than one", better=TUNED,
                  worse="baseline", on=on)
            for on in ("GLUE", "SQuAD", "CNN/DM", "EnDe")
        ),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=[
        *T5_UNLIKE,
        "fine-tuning has the same steps and batches in all rows (paper: scaled as the pre-training is)",
    ],
    notes=[
        *T5_NOTES,
        "An ensemble has four members, each a fine-tuning, of a pre-training of its own or of one: the mean of their logits, before the "
        "softmax, says each token. Its first member is the baseline's run, so that both are compared with equal seeds.",
        "The larger models of the paper have 16 and 32 layers in each stack, of a width of 1,024; those of other scales have 4/3 and 8/3 "
        "of its layers, rounded, and 4/3 of its width.",
        "Ensembles have no claim on EnRo, for which the paper prints two numbers, and none on SuperGLUE, where it finds no gain.",
    ],
)  # fmt: skip
