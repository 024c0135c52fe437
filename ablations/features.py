"""BERT Table 7: fine-tuning against frozen features, on named entities (F1 on CoNLL-2003).

| what the tagger is given | dev F1 | test F1 |
|:-------------------------|-------:|--------:|
| fine-tuning, all weights |   96.4 |    92.4 |
| embeddings               |   91.0 |         |
| second-to-last layer     |   95.6 |         |
| last layer               |   94.9 |         |
| weighted sum, last four  |   95.9 |         |
| concatenated, last four  |   96.1 |         |
| weighted sum, all layers |   95.5 |         |

All rows share one pre-training, and the dev and test columns come from the same training. Features are frozen under a
two-layer BiLSTM. The paper finds the last four layers side by side best, 0.3 points below fine-tuning. Run it:
`bertlab ablate features --finetune-seeds 5`.
"""

from bertlab import Claim, Features, FineTuning, Measurement, Study, Variant
from bertlab.lab.papers import CASED, GOOGLE_NOTE

DEV = "NER dev"
TEST = "NER test"

study = Study(
    name="features",
    question="Is the pre-trained encoder worth as much frozen as fine-tuned, and which layers hold it?",
    source="Devlin et al. 2019, Table 7",
    baseline="fine-tuning",
    variants=[
        Variant("fine-tuning", adaptation=FineTuning()),
        Variant("embeddings", adaptation=Features(layers="embeddings")),
        Variant("second-to-last", adaptation=Features(layers="second-to-last")),
        Variant("last", adaptation=Features(layers="last")),
        Variant("weighted sum, last four", adaptation=Features(layers="sum-last-four")),
        Variant("concatenated, last four", adaptation=Features(layers="concatenate-last-four")),
        Variant("weighted sum, all layers", adaptation=Features(layers="sum-all")),
    ],
    measurements=[
        Measurement(DEV, task="conll2003", metric="f1"),
        Measurement(TEST, task="conll2003", metric="f1", split="test"),
    ],
    published={
        ("fine-tuning", DEV): 96.4, ("fine-tuning", TEST): 92.4,
        ("embeddings", DEV): 91.0,
        ("second-to-last", DEV): 95.6,
        ("last", DEV): 94.9,
        ("weighted sum, last four", DEV): 95.9,
        ("concatenated, last four", DEV): 96.1,
        ("weighted sum, all layers", DEV): 95.5,
    },
    claims=[
        Claim("The last four layers side by side are the best frozen", better="concatenated, last four", on=DEV,
              worse=("embeddings", "second-to-last", "last", "weighted sum, last four", "weighted sum, all layers")),
        Claim("The last four layers side by side are within a point of fine-tuning", better="fine-tuning", worse="concatenated, last four", on=DEV,
              within=1.0),
    ],
    at_paper=CASED,  # section 5.3
    notes=[
        GOOGLE_NOTE,
        "On the test set the paper published fine-tuning only. The margin of one point is chosen here.",
    ],
)  # fmt: skip
