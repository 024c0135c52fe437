"""RoFormer: rotary positions.

It rotates the pairs (2i, 2i + 1) of a head and we rotate (i, i + d/2), so its query and key matrices are ours in
another order. The sines and cosines are among its weights. `RoFormerForSequenceClassification` has GELU above [CLS], in
place of BERT's tanh.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab import recipe
from bertlab.model.interop.architectures.bert import Bert

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.heads import PretrainingModel

ANGLES = "roformer.encoder.embed_positions.weight"
"""The sines and cosines of rotary positions."""


class RoFormer(Bert):
    """BERT with rotary positions, whose embeddings may be projected (Su et al. 2021)."""

    kind = "roformer"
    title = "RoFormer"
    rounding = 0.01  # some have their angles in bf16
    decoder = ""
    heads: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "MultipleChoice": {"pooler.dense.": "sequence_summary.summary.", "output.": "classifier."},
        **{head: Bert.heads[head] for head in ("TokenClassification", "QuestionAnswering")},
    }
    names: ClassVar[Mapping[str, str]] = {"encoder.embeddings.projection.": "{base}.embeddings_project.", **Bert.names}

    def holds(self, model: recipe.Model, causal: bool) -> bool:
        """Rotary positions, and nothing shared."""
        return model.positions == "rotary" and model.sharing == "none" and self.normalises(model)

    def name(self, model: PretrainingModel) -> str:
        """The class for a left-to-right model, or for a masked one."""
        return "RoFormerForCausalLM" if model.encoder.causal else "RoFormerForMaskedLM"

    def config(self, model: recipe.Model) -> dict[str, Any]:
        """Values are not rotated."""
        return {"rotary_value": False, "embedding_size": model.embedding_width}

    def task_config(self, head: str) -> dict[str, Any]:
        """BERT's pooler, for multiple choice."""
        pooler = {"summary_type": "first", "summary_use_proj": True, "summary_activation": "tanh"}
        return pooler if head == "MultipleChoice" else {}

    def described(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of positions, embeddings and segments."""
        size = config.get("embedding_size") or 0
        width = 0 if size == config.get("hidden_size") else size
        return {**super().described(config), "positions": "rotary", "embedding_size": width}

    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Values are not rotated."""
        decoder = bool(config.get("is_decoder"))
        return {"is_decoder": decoder, "position_embedding_type": "absolute", "rotary_value": False}

    def derived(self, encoder: Any) -> dict[str, Tensor]:
        """Sines and cosines."""
        import torch

        from bertlab.model.encoder import frequencies
        from bertlab.model.positions import Rotary

        rotary = Rotary(frequencies(encoder.hidden_size // encoder.heads), encoder.max_length)
        return {ANGLES: torch.cat((rotary.sine, rotary.cosine), 1)}

    def published(self, name: str, value: Tensor, heads: int) -> Tensor:
        """Reorders pairs (i, i + d/2) to (2i, 2i + 1)."""
        if not _rotated(name):
            return value
        return value.view(heads, 2, -1, *value.shape[1:]).transpose(1, 2).reshape(value.shape)

    def ours(self, name: str, value: Tensor, heads: int) -> Tensor:
        """Reorders pairs (2i, 2i + 1) to (i, i + d/2)."""
        if not _rotated(name):
            return value
        return value.view(heads, -1, 2, *value.shape[1:]).transpose(1, 2).reshape(value.shape)


def _rotated(name: str) -> bool:
    """Whether a published tensor is a query or key matrix or bias."""
    return name.startswith("roformer.") and (".self.query." in name or ".self.key." in name)
