"""RoBERTa with pre-norm layers, as fairseq's `--encoder-normalize-before` trains it.

The one pre-norm encoder of `transformers`: models with segments and with BERT's vocabulary are written as one, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab import recipe
from bertlab.model.interop.architectures.bert import Bert
from bertlab.model.interop.architectures.roberta import ACTIVATION, Roberta

if TYPE_CHECKING:
    from bertlab.model.heads import PretrainingModel


class RobertaPreLayerNorm(Roberta):
    """RoBERTa, each sub-layer on its normalised input."""

    kind = "roberta-prelayernorm"
    title = "RoBERTa-PreLayerNorm"
    norm_position: ClassVar[recipe.NormPosition] = "pre"
    decoder = ""
    names: ClassVar[Mapping[str, str]] = {
        **Roberta.names,
        ".attention_norm.": ".attention.LayerNorm.",
        ".mlp_norm.": ".intermediate.LayerNorm.",
        "encoder.final_norm.": "{base}.LayerNorm.",
    }

    def holds(self, model: recipe.Model, causal: bool) -> bool:
        """Such models are BERT's in pre-norm with RoBERTa's activation, not left to right."""
        return Bert.holds(self, model, causal) and model.activation == ACTIVATION and not causal

    def name(self, model: PretrainingModel) -> str:
        """The class of a masked LM."""
        return "RobertaPreLayerNormForMaskedLM"

    def described(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of positions and pre-norm."""
        return {**super().described(config), "norm_position": "pre"}

    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Models are as RoBERTa's, with padding of any id."""
        return {**super().fixed(config), "pad_token_id": self.pad}
