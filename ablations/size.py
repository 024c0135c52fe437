"""BERT Table 6: does a larger model help, even on small tasks? (development sets, means over five fine-tuning seeds)

|  L |    H |  A | LM perplexity | MNLI-m | MRPC | SST-2 |
|---:|-----:|---:|--------------:|-------:|-----:|------:|
|  3 |  768 | 12 |          5.84 |   77.9 | 79.8 |  88.4 |
|  6 |  768 |  3 |          5.24 |   80.6 | 82.2 |  90.7 |
|  6 |  768 | 12 |          4.68 |   81.9 | 84.8 |  91.3 |
| 12 |  768 | 12 |          3.99 |   84.4 | 86.7 |  92.9 |
| 12 | 1024 | 16 |          3.54 |   85.7 | 86.9 |  93.3 |
| 24 | 1024 | 16 |          3.23 |   86.6 | 87.8 |  93.7 |

Sizes are multiples of the scale's model (L layers, H wide, A heads), so that scale paper has these very rows. The paper
finds larger better on every task. Rows that coincide at a small scale are trained once. Run it: `bertlab ablate size`.
"""

from bertlab import Claim, Measurement, Size, Study, Variant, table
from bertlab.lab.papers import GOOGLE_NOTE

PERPLEXITY = "LM perplexity"
MNLI = "MNLI"
MRPC = "MRPC"
SST2 = "SST-2"

SIZES = ("L/4", "L/2, A/4", "L/2", "L, H (Base)", "L, 4/3 H", "2L, 4/3 H (Large)")

study = Study(
    name="size",
    question="Does a larger model help?",
    source="Devlin et al. 2019, Table 6",
    baseline="L, H (Base)",
    variants=[
        Variant("L/4", size=Size(layers=1 / 4)),
        Variant("L/2, A/4", size=Size(layers=1 / 2, heads=1 / 4)),
        Variant("L/2", size=Size(layers=1 / 2)),
        Variant("L, H (Base)"),
        Variant("L, 4/3 H", size=Size(width=4 / 3)),
        Variant("2L, 4/3 H (Large)", size=Size(layers=2, width=4 / 3)),
    ],
    measurements=[
        Measurement(PERPLEXITY, metric="perplexity"),
        Measurement(MNLI, task="mnli"),
        Measurement(MRPC, task="mrpc"),
        Measurement(SST2, task="sst2"),
    ],
    published=table((PERPLEXITY, MNLI, MRPC, SST2), {
        "L/4": (5.84, 77.9, 79.8, 88.4),
        "L/2, A/4": (5.24, 80.6, 82.2, 90.7),
        "L/2": (4.68, 81.9, 84.8, 91.3),
        "L, H (Base)": (3.99, 84.4, 86.7, 92.9),
        "L, 4/3 H": (3.54, 85.7, 86.9, 93.3),
        "2L, 4/3 H (Large)": (3.23, 86.6, 87.8, 93.7),
    }),
    claims=[Claim(f"Larger is better on {on}", rising=SIZES, on=on) for on in (PERPLEXITY, MNLI, MRPC, SST2)],
    notes=[
        GOOGLE_NOTE,
        "Perplexity is that of the masked LM on held-out text: lower is better, and the paper's text is another.",
    ],
)
