"""Which layers of ELMo a task reads, frozen and fine-tuned (Peters et al. 2018, Table 2; development sets).

| variant                                       | what the BiLSTM of the task reads                             | SQuAD |
|:----------------------------------------------|:--------------------------------------------------------------|------:|
| scalar mix                                    | embeddings and both layers with learned weights, all frozen   |  85.2 |
| top layer                                     | one level, frozen                                             |  84.7 |
| embeddings, first layer                       | one level, frozen                                             |       |
| scalar mix, fine-tuned; top layer, fine-tuned | the same, with the language model trained on the task as well |       |

SQuAD 1.1 is F1. All rows share one pre-training of forward and backward LSTMs. Run it: `bertlab ablate elmo-layers`.
"""

from typing import Any

from bertlab import BidirectionalLM, BiLSTM, Claim, ELMo, Measurement, Study, Variant, table
from bertlab.lab.papers import ELMO_NOTES, ELMO_SIZE, ELMO_UNLIKE

SQUAD = "SQuAD 1.1"
BILM: dict[str, Any] = {"model": BiLSTM(), "objective": (BidirectionalLM(),), "size": ELMO_SIZE}

study = Study(
    name="elmo-layers",
    question="Which layers of a bidirectional language model does a task need, and is it worth fine-tuning?",
    source="Peters et al. 2018, Table 2",
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
        Measurement(SQUAD, task="squad", metric="f1"),
    ],
    published=table((SQUAD,), {"scalar mix": (85.2,), "top layer": (84.7,)}),
    claims=[
        # section 5.1
        Claim(f"All layers are better than the last one alone on {SQUAD}", better="scalar mix", worse="top layer", on=SQUAD),
    ],
    unlike=[*ELMO_UNLIKE, (SQUAD, "ELMo under a BiLSTM (paper: beside word vectors, under BiDAF)")],
    notes=[
        *ELMO_NOTES,
        "The weights of the layers have no penalty here. 85.2 is the paper's figure with a small one (0.001); with one of 1, which "
        "makes the weights equal, it has 85.0. Its other tasks, SNLI and semantic roles, are not measured here.",
    ],
)
