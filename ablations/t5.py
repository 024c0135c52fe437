"""T5 Table 15: what do the choices of all the comparisons add up to?

| model       |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:------------|------:|-------:|------:|----------:|------:|------:|------:|
| Baseline    | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| Baseline-1T | 84.80 |  19.62 | 83.01 |     73.90 | 27.46 | 40.30 | 28.34 |
| T5-Base     | 85.97 |  20.90 | 85.44 |     75.64 | 28.37 | 41.37 | 28.98 |

Validation sets: GLUE and SuperGLUE are averages, CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. The last two rows
are pre-trained on as many tokens, 32 times those of the first. Run it: `bertlab ablate t5`.
"""

from typing import Any

from bertlab import (
    Claim,
    FineTuning,
    MultiTask,
    Proportional,
    PublishedTable,
    RandomSpans,
    RelativeSchedule,
    SpanCorruption,
    Study,
    Tokens,
    Variant,
    table,
)
from bertlab.lab.papers import (
    T5_BASE,
    T5_BASELINE,
    T5_COLUMNS,
    T5_MIXED,
    T5_MIXED_AT_SCALE,
    T5_NOTES,
    T5_READS,
    T5_TASKS,
    T5_TEXT,
    T5_UNLIKE,
)

PLAIN: dict[str, Any] = {"objective": (SpanCorruption(selection=Tokens()),), "adaptation": FineTuning(beam_search=False)}
LONG = RelativeSchedule(batch_size=4, steps=2)
"""Eight times the tokens."""

study = Study(
    name="t5",
    question="What do the choices of T5's comparisons add up to, beside as much plain pre-training?",
    source="Raffel et al. 2020, Table 15",
    baseline="Baseline-1T",
    variants=[
        Variant("Baseline", **T5_READS, **PLAIN),
        Variant("Baseline-1T", **T5_READS, **PLAIN, relative=LONG),
        Variant("T5-Base", **T5_READS, objective=(SpanCorruption(selection=RandomSpans(mean=3)),), relative=LONG,
                multitask=MultiTask(tasks=T5_MIXED, mixing=Proportional(limit=1 << 19)), adaptation=FineTuning(beam_search=True)),
    ],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        "Baseline": T5_BASELINE,
        "Baseline-1T": (84.80, 19.62, 83.01, 73.90, 27.46, 40.30, 28.34),
        "T5-Base": (85.97, 20.90, 85.44, 75.64, 28.37, 41.37, 28.98),
    }),
    related=[
        PublishedTable(
            "T5's five sizes, 60 million to 11 billion parameters, pre-trained on 32 times the tokens; test sets, of SQuAD its "
            "validation set",
            source="Raffel et al. 2020, Table 14",
            columns=T5_COLUMNS,
            rows={
                "T5-Small": (77.4, 19.56, 79.10, 63.3, 26.7, 36.0, 26.8),
                "T5-Base": (82.7, 20.34, 85.44, 76.2, 30.9, 41.2, 28.0),
                "T5-Large": (86.4, 20.68, 86.66, 82.3, 32.0, 41.5, 28.1),
                "T5-3B": (88.5, 21.02, 88.53, 86.4, 31.8, 42.6, 28.2),
                "T5-11B": (90.3, 21.55, 91.26, 88.9, 32.1, 43.4, 28.1),
            },
        ),
    ],
    claims=[  # section 3.7
        Claim(f"The choices of T5 are better than as much plain pre-training on {on}", better="T5-Base", worse="Baseline-1T",
              on=on)
        for on in T5_COLUMNS
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_MIXED_AT_SCALE,
    unlike=[
        *T5_UNLIKE,
        "8 times the tokens, in batches of 4 times as many sequences (paper: 32 times, 16 times)",
        "T5-Base has the limit of 2^19 examples of the multi-task study (paper: not said here), and beam search on all tasks",
        "GLUE and SuperGLUE are each fine-tuned as one mixture in all rows (paper: T5-Base on each of their tasks alone)",
    ],
    notes=[
        *T5_NOTES,
        "Of T5-11B on SuperGLUE Table 14 prints 88.9, and its cells have the mean 89.25.",
    ],
)  # fmt: skip
