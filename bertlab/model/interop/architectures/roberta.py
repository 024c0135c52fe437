"""RoBERTa: learned positions and one token type.

Its positions are counted from the id of <pad> on, which is 1: rows of its position table up to that are unused here.
`RobertaForMaskedLM` has no pooler: fine-tuning starts with a new one, also where a checkpoint has one that its masked
LM never trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bertlab import recipe
from bertlab.model.interop.architectures.bert import Bert
from bertlab.recipe.ranges import arm

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.heads import PretrainingModel

_PAD = 1
ACTIVATION = "gelu"
"""That of its LM head, whatever the layers have."""
_POSITIONS = ".position_embeddings.weight"


class Roberta(Bert):
    """Liu et al. 2019."""

    kind = "roberta"
    title = "RoBERTa"
    names: ClassVar[Mapping[str, str]] = {
        **{ours: theirs for ours, theirs in Bert.names.items() if ours.startswith(("encoder.", "."))},
        "lm_head.transform.": "lm_head.dense.",
        "lm_head.norm.": "lm_head.layer_norm.",
        "lm_head.bias": "lm_head.bias",
    }
    copies: ClassVar[Mapping[str, str]] = {
        "lm_head.decoder.weight": "encoder.embeddings.tokens.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    }
    heads: ClassVar[Mapping[str, Mapping[str, str]]] = {
        **Bert.heads,
        "SequenceClassification": {"pooler.dense.": "classifier.dense.", "output.": "classifier.out_proj."},
    }
    unread: ClassVar[tuple[str, ...]] = ("pooler.",)
    decoder = "RobertaForCausalLM"

    def __init__(self, pad: int = _PAD) -> None:
        self.pad, self.first_position = pad, pad + 1

    def padded(self, pad: int) -> Self:
        """The architecture whose positions begin behind the id `pad`."""
        return type(self)(pad)

    def holds(self, model: recipe.Model, causal: bool) -> bool:
        """Such models are BERT's with one segment, RoBERTa's <pad> and its activation, not left to right."""
        alike = model.activation == ACTIVATION and self.pad == _PAD
        return super().holds(model, causal) and model.segments == 1 and not causal and alike

    def name(self, model: PretrainingModel) -> str:
        """The class of a masked LM."""
        return "RobertaForMaskedLM"

    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Models are as BERT's, not left to right, with positions behind <pad>."""
        return {**super().fixed(config), "is_decoder": False, "pad_token_id": _PAD, "hidden_act": ACTIVATION}

    def objective(self, causal: bool) -> tuple[recipe.Loss, ...]:
        """The masked LM."""
        return (arm(recipe.Loss, "masked_lm")(),)

    def published(self, name: str, value: Tensor, heads: int) -> Tensor:
        """The position table with its first rows, which are 0."""
        if not name.endswith(_POSITIONS):
            return value
        import torch

        return torch.cat((value.new_zeros(self.first_position, value.shape[1]), value))

    def ours(self, name: str, value: Tensor, heads: int) -> Tensor:
        """The position table without them."""
        return value[self.first_position :] if name.endswith(_POSITIONS) else value
