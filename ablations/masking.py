"""BERT Table 8: what to show the encoder in place of a token that it has to predict.

| [MASK] | same | random | MNLI fine-tuned | NER fine-tuned | NER feature-based |
|-------:|-----:|-------:|----------------:|---------------:|------------------:|
|    80  |  10  |   10   |            84.2 |           95.4 |              94.9 |
|   100  |   0  |    0   |            84.3 |           94.9 |              94.0 |
|    80  |   0  |   20   |            84.1 |           95.2 |              94.6 |
|    80  |  20  |    0   |            84.4 |           95.2 |              94.7 |
|     0  |  20  |   80   |            83.7 |           94.8 |              94.6 |
|     0  |   0  |  100   |            83.6 |           94.9 |              94.6 |

[MASK] never occurs in a task, so an encoder that saw nothing else in the predicted places may be lost there. The paper
finds fine-tuning robust, the feature-based approach hurt by [MASK] alone, and random tokens alone much worse than its
own mixture. Effects are half a point: expect `undecided` below several seeds. Run it: `bertlab ablate masking`.
"""

from bertlab import Claim, Corruption, Features, MaskedLM, Measurement, NextSentence, Study, Variant
from bertlab.lab.papers import GOOGLE_NOTE

MNLI = "MNLI fine-tuned"
NER = "NER fine-tuned"
FEATURES = "NER feature-based"

study = Study(
    name="masking",
    question="Does mixing [MASK] with random and unchanged tokens matter?",
    source="Devlin et al. 2019, Table 8",
    baseline="80/10/10",
    # Rows are named mask/keep/random, the order of the paper's columns.
    variants=[
        Variant("80/10/10", objective=(MaskedLM(corruption=Corruption(mask=0.8, keep=0.1, random=0.1)), NextSentence())),
        Variant("100/0/0", objective=(MaskedLM(corruption=Corruption(mask=1.0, keep=0.0, random=0.0)), NextSentence())),
        Variant("80/0/20", objective=(MaskedLM(corruption=Corruption(mask=0.8, keep=0.0, random=0.2)), NextSentence())),
        Variant("80/20/0", objective=(MaskedLM(corruption=Corruption(mask=0.8, keep=0.2, random=0.0)), NextSentence())),
        Variant("0/20/80", objective=(MaskedLM(corruption=Corruption(mask=0.0, keep=0.2, random=0.8)), NextSentence())),
        Variant("0/0/100", objective=(MaskedLM(corruption=Corruption(mask=0.0, keep=0.0, random=1.0)), NextSentence())),
    ],
    measurements=[
        Measurement(MNLI, task="mnli", metric="accuracy"),
        Measurement(NER, task="conll2003", metric="f1"),
        Measurement(FEATURES, task="conll2003", adaptation=Features(), metric="f1"),
    ],
    published={
        ("80/10/10", MNLI): 84.2, ("80/10/10", NER): 95.4, ("80/10/10", FEATURES): 94.9,
        ("100/0/0", MNLI): 84.3, ("100/0/0", NER): 94.9, ("100/0/0", FEATURES): 94.0,
        ("80/0/20", MNLI): 84.1, ("80/0/20", NER): 95.2, ("80/0/20", FEATURES): 94.6,
        ("80/20/0", MNLI): 84.4, ("80/20/0", NER): 95.2, ("80/20/0", FEATURES): 94.7,
        ("0/20/80", MNLI): 83.7, ("0/20/80", NER): 94.8, ("0/20/80", FEATURES): 94.6,
        ("0/0/100", MNLI): 83.6, ("0/0/100", NER): 94.9, ("0/0/100", FEATURES): 94.6,
    },
    claims=[
        Claim("100 % [MASK] hurts the feature-based approach", better="80/10/10", worse="100/0/0", on=FEATURES),
        *(  # section C.2 says so after a sentence on features, and names no task
            Claim(f"Random tokens alone are much worse than 80/10/10 {where}", better="80/10/10", worse="0/0/100", on=on)
            for where, on in (("on MNLI", MNLI), ("with features", FEATURES))
        ),
        *(
            Claim(f"Fine-tuning on {task} is robust to the masking", better="80/10/10", on=on, within=1.0,
                  worse=("100/0/0", "80/0/20", "80/20/0", "0/20/80", "0/0/100"))
            for task, on in (("MNLI", MNLI), ("NER", NER))
        ),
    ],
    notes=[
        GOOGLE_NOTE,
        "The published columns are development sets of MNLI and CoNLL-2003; NER fine-tuned is 95.4 in Table 8 and "
        "96.4 in Table 7 of the same paper, which does not explain the difference. The margin of one point is chosen here.",
    ],
)
