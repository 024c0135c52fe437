"""ALBERT: projected embeddings, and parameters shared by all layers or by none.

`transformers` always projects the embeddings, also those as wide as the layers, which ours (and Google's code) do not:
they are written with the identity, and read only with it. Its groups of layers are one for all layers or one for each.
The classifier of pairs of segments is written as `sop_classifier`, whichever sentence task trained it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab import recipe
from bertlab.model.interop.architectures.base import Architecture
from bertlab.model.interop.architectures.bert import Bert
from bertlab.recipe.ranges import arm

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.heads import PretrainingModel

_PROJECTION = "albert.encoder.embedding_hidden_mapping_in."
_LAYER = ".albert_layers.0."


class Albert(Architecture[recipe.Model]):
    """Google's ALBERT (Lan et al. 2020)."""

    kind = "albert"
    title = "ALBERT"
    model = recipe.Model
    names: ClassVar[Mapping[str, str]] = {
        **{ours: theirs for ours, theirs in Bert.names.items() if ours.startswith("encoder.embeddings.")},
        "encoder.embeddings.projection.": _PROJECTION,
        "encoder.layers.": "{base}.encoder.albert_layer_groups.",
        ".attention.qkv_proj.": f"{_LAYER}attention.{{projection}}.",
        ".attention.out_proj.": f"{_LAYER}attention.dense.",
        ".attention_norm.": f"{_LAYER}attention.LayerNorm.",
        ".mlp.fc1.": f"{_LAYER}ffn.",
        ".mlp.fc2.": f"{_LAYER}ffn_output.",
        ".mlp_norm.": f"{_LAYER}full_layer_layer_norm.",
        "nsp_head.pooler.dense.": "{base}.pooler.",
        "nsp_head.classifier.": "sop_classifier.classifier.",
        "lm_head.transform.": "predictions.dense.",
        "lm_head.norm.": "predictions.LayerNorm.",
        "lm_head.bias": "predictions.bias",
    }
    copies: ClassVar[Mapping[str, str]] = {
        "predictions.decoder.weight": "encoder.embeddings.tokens.weight",
        "predictions.decoder.bias": "lm_head.bias",
    }
    heads: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "SequenceClassification": {"pooler.dense.": "{base}.pooler.", "output.": "classifier."},
        "MultipleChoice": {"pooler.dense.": "{base}.pooler.", "output.": "classifier."},
        **{head: Bert.heads[head] for head in ("TokenClassification", "QuestionAnswering")},
    }
    usual: ClassVar[Mapping[str, Any]] = {
        "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "embedding_size": 128,
        "num_hidden_groups": 1,
    }

    def holds(self, model: recipe.Model, causal: bool) -> bool:
        """Learned positions, all parameters shared or none, not left to right."""
        usual = (model.positions, model.norm, model.norm_position) == ("learned", "layer", "post")
        return usual and model.sharing in ("none", "all") and not causal

    def name(self, model: PretrainingModel) -> str:
        """The class with a sentence task, or the one without."""
        return "AlbertForPreTraining" if hasattr(model, "nsp_head") else "AlbertForMaskedLM"

    def config(self, model: recipe.Model) -> dict[str, Any]:
        """The embeddings, and the groups of layers."""
        groups = 1 if model.sharing == "all" else model.layers
        return {"embedding_size": model.embedding_width, "num_hidden_groups": groups, "inner_group_num": 1}

    def described(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of positions, segments, embeddings and sharing."""
        size = config["embedding_size"]
        return {
            "positions": "learned",
            "segments": config.get("type_vocab_size", 2),
            "embedding_size": 0 if size == config.get("hidden_size") else size,
            "sharing": "none" if config["num_hidden_groups"] == config.get("num_hidden_layers") else "all",
        }

    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """One group of layers for all or one for each, of one layer; not left to right."""
        groups, layers = config["num_hidden_groups"], config.get("num_hidden_layers")
        return {"inner_group_num": 1, "num_hidden_groups": layers if groups == layers else 1, "is_decoder": False}

    def objective(self, causal: bool) -> tuple[recipe.Loss, ...]:
        """The masked LM and sentence order."""
        return (arm(recipe.Loss, "masked_lm")(), arm(recipe.Loss, "sentence_order")())

    def derived(self, encoder: Any) -> dict[str, Tensor]:
        """The identity in place of a projection."""
        import torch

        if encoder.embeddings.projection is not None:
            return {}
        width = encoder.hidden_size
        return {f"{_PROJECTION}weight": torch.eye(width), f"{_PROJECTION}bias": torch.zeros(width)}
