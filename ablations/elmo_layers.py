"""Which layers of ELMo a task reads, frozen and fine-tuned (Peters et al. 2018, section 5.1).

| variant                                       | what the BiLSTM of the task reads                             |
|:----------------------------------------------|:--------------------------------------------------------------|
| scalar mix                                    | embeddings and both layers with learned weights, all frozen   |
| embeddings, first layer, top layer            | one of the three levels, frozen                               |
| scalar mix, fine-tuned; top layer, fine-tuned | the same, with the language model trained on the task as well |

All rows share one pre-training of forward and backward LSTMs. The paper compares the mix with the top layer in its Table 2;
no figure of it could be verified, so the study shows measured values alone and makes no claim. Run it:
`bertlab ablate elmo-layers`.
"""

from typing import Any

from bertlab import BidirectionalLM, BiLSTM, ELMo, Measurement, Study, Variant
from bertlab.lab.papers import ELMO_NOTES, ELMO_SIZE, ELMO_UNLIKE

BILM: dict[str, Any] = {"model": BiLSTM(), "objective": (BidirectionalLM(),), "size": ELMO_SIZE}

study = Study(
    name="elmo-layers",
    question="Which layers of a bidirectional language model does a task need, and is it worth fine-tuning?",
    source="Peters et al. 2018, section 5.1",
    baseline="scalar mix",
    variants=[
        Variant("scalar mix", **BILM, adaptation=ELMo()),
        Variant("embeddings", **BILM, adaptation=ELMo(levels="embeddings")),
        Variant("first layer", **BILM, adaptation=ELMo(levels="first")),
        Variant("top layer", **BILM, adaptation=ELMo(levels="top")),
        Variant("scalar mix, fine-tuned", **BILM, adaptation=ELMo(frozen=False)),
        Variant("top layer, fine-tuned", **BILM, adaptation=ELMo(levels="top", frozen=False)),
    ],
    measurements=[
        Measurement("NER", task="conll2003", metric="f1"),
        Measurement("MNLI", task="mnli"),
        Measurement("SST-2", task="sst2"),
        Measurement("SQuAD 1.1", task="squad", metric="f1"),
    ],
    unlike=ELMO_UNLIKE,
    notes=ELMO_NOTES,
)
