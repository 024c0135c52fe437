"""T5 Table 8: which text should be pre-trained on?

| data set        |   size |  GLUE | CNN/DM | SQuAD | SuperGLUE |  EnDe |  EnFr |  EnRo |
|:----------------|-------:|------:|-------:|------:|----------:|------:|------:|------:|
| C4              | 745 GB | 83.28 |  19.24 | 80.88 |     71.36 | 26.98 | 39.82 | 27.65 |
| C4, unfiltered  | 6.1 TB | 81.46 |  19.14 | 78.78 |     68.04 | 26.55 | 39.34 | 27.21 |
| RealNews-like   |  35 GB | 83.83 |  19.23 | 80.39 |     72.38 | 26.75 | 39.90 | 27.48 |
| WebText-like    |  17 GB | 84.03 |  19.31 | 81.42 |     71.40 | 26.80 | 39.74 | 27.59 |
| Wikipedia       |  16 GB | 81.85 |  19.31 | 81.29 |     68.01 | 26.94 | 39.69 | 27.67 |
| Wikipedia + TBC |  20 GB | 83.65 |  19.28 | 82.08 |     73.24 | 26.77 | 39.63 | 27.57 |

Validation sets: CNN/DM is ROUGE-2, SQuAD exact match, translations BLEU. Name an encyclopedia, books and pages of the web in
this order: `bertlab ablate unlabeled-data --corpus wikipedia --corpus novels --corpus web`. On pages alone it compares the
first two rows, as with `--corpus microworld-pages`.
"""

from typing import Any

from bertlab import T5, Chunks, Claim, Inputs, PublishedTable, SpanCorruption, Study, Variant, WordPiece, table
from bertlab.lab.papers import (
    T5_AT_SCALE,
    T5_BASE,
    T5_BASELINE,
    T5_COLUMNS,
    T5_NOTES,
    T5_TASKS,
    T5_TEXT,
    T5_UNLIKE,
)

READS: dict[str, Any] = {"model": T5(), "tokenizer": WordPiece(sentinels=100), "objective": (SpanCorruption(),)}
C4 = "C4"
RAW = "C4, unfiltered"

study = Study(
    name="unlabeled-data",
    question="Which text should be pre-trained on: pages of the web, cleaned or as they are, an encyclopedia, books?",
    source="Raffel et al. 2020, Table 8",
    baseline=C4,
    variants=[
        Variant(C4, **READS, inputs=Inputs(format=Chunks(), corpora=-1), fields={"corpus.filter": "c4"}),
        Variant(RAW, **READS, inputs=Inputs(format=Chunks(), corpora=-1)),
        Variant("Wikipedia", **READS, inputs=Inputs(format=Chunks(), corpora=1)),
        Variant("Wikipedia + TBC", **READS, inputs=Inputs(format=Chunks(), corpora=2)),
    ],
    measurements=T5_TASKS,
    published=table(T5_COLUMNS, {
        C4: T5_BASELINE,
        RAW: (81.46, 19.14, 78.78, 68.04, 26.55, 39.34, 27.21),
        "Wikipedia": (81.85, 19.31, 81.29, 68.01, 26.94, 39.69, 27.67),
        "Wikipedia + TBC": (83.65, 19.28, 82.08, 73.24, 26.77, 39.63, 27.57),
    }),
    related=[
        PublishedTable(
            "T5 on two other parts of the web: news, and pages that Reddit links to",
            source="Raffel et al. 2020, Table 8",
            columns=T5_COLUMNS,
            rows={
                "RealNews-like": (83.83, 19.23, 80.39, 72.38, 26.75, 39.90, 27.48),
                "WebText-like": (84.03, 19.31, 81.42, 71.40, 26.80, 39.74, 27.59),
            },
        ),
    ],
    claims=[  # section 3.4.1
        *(
            Claim(f"Without the filter of C4, {on} degrades", better=C4, worse=RAW, on=on)
            for on in ("GLUE", "SQuAD", "SuperGLUE")
        ),
        *(
            Claim(f"Wikipedia and books give better {on} than C4", better="Wikipedia + TBC", worse=C4, on=on)
            for on in ("SuperGLUE", "SQuAD")
        ),
    ],
    text=T5_TEXT,
    at_paper=T5_BASE,
    at_scale=T5_AT_SCALE,
    unlike=[
        *T5_UNLIKE,
        "pages are those that --corpus names last (paper: 20 TB of one month's web), none is chosen by its language, and none left "
        "out for bad words without --bad-words",
        "each filter has a vocabulary and held-out documents of the text that it leaves (paper: one vocabulary for all)",
    ],
    notes=[
        *T5_NOTES,
        "All variants are trained for as many steps, so that a shorter text is passed over more often; with `--words` all have at most "
        "as many words.",
        "In the paper's Table 16, Wikipedia + TBC doubles the exact matches of MultiRC, of SuperGLUE, while its F1 falls by 14.5 points.",
        "Without an encyclopedia and books the last two rows are left out. `microworld-pages` is the synthetic text among menus, "
        "notices, cut lines and pages without text, a third of all words.",
    ],
)  # fmt: skip
