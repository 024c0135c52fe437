"""BERT: learned positions.

Only `BertForPreTraining` has a next-sentence head. In the others, pooler and classifier have BERT's names in the same
file, which `transformers` ignores and `read` loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab import recipe
from bertlab.model.interop.architectures.base import Architecture

if TYPE_CHECKING:
    from bertlab.model.heads import PretrainingModel


class Bert(Architecture[recipe.Model]):
    """Google's BERT."""

    kind = "bert"
    title = "BERT"
    model = recipe.Model
    norm_position: ClassVar[recipe.NormPosition] = "post"
    """Where its layers normalise, all of them by LayerNorm."""
    names: ClassVar[Mapping[str, str]] = {
        "encoder.embeddings.tokens.": "{base}.embeddings.word_embeddings.",
        "encoder.embeddings.segments.": "{base}.embeddings.token_type_embeddings.",
        "encoder.embeddings.positions.": "{base}.embeddings.position_embeddings.",
        "encoder.embeddings.norm.": "{base}.embeddings.LayerNorm.",
        "encoder.layers.": "{base}.encoder.layer.",
        ".attention.qkv_proj.": ".attention.self.{projection}.",
        ".attention.out_proj.": ".attention.output.dense.",
        ".attention_norm.": ".attention.output.LayerNorm.",
        ".mlp.fc1.": ".intermediate.dense.",
        ".mlp.fc2.": ".output.dense.",
        ".mlp_norm.": ".output.LayerNorm.",
        "nsp_head.pooler.": "{base}.pooler.",
        "nsp_head.classifier.": "cls.seq_relationship.",
        "lm_head.transform.": "cls.predictions.transform.dense.",
        "lm_head.norm.": "cls.predictions.transform.LayerNorm.",
        "lm_head.bias": "cls.predictions.bias",
    }
    copies: ClassVar[Mapping[str, str]] = {
        "cls.predictions.decoder.weight": "encoder.embeddings.tokens.weight",
        "cls.predictions.decoder.bias": "lm_head.bias",
    }
    heads: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "SequenceClassification": {"pooler.": "{base}.pooler.", "output.": "classifier."},
        "MultipleChoice": {"pooler.": "{base}.pooler.", "output.": "classifier."},
        "TokenClassification": {"output.": "classifier."},
        "QuestionAnswering": {"output.": "qa_outputs."},
    }
    usual: ClassVar[Mapping[str, Any]] = {"hidden_act": "gelu", "hidden_dropout_prob": 0.1}
    decoder = "BertLMHeadModel"

    def holds(self, model: recipe.Model, causal: bool) -> bool:
        """Learned positions, and nothing shared or projected."""
        plain = model.sharing == "none" and not model.embedding_size
        return plain and model.positions == "learned" and self.normalises(model)

    def normalises(self, model: recipe.Model) -> bool:
        """Whether it has the normalisation of a model."""
        return (model.norm, model.norm_position) == ("layer", self.norm_position)

    def name(self, model: PretrainingModel) -> str:
        """The class for a left-to-right model, or for a masked one with or without a sentence task."""
        if model.encoder.causal:
            return "BertLMHeadModel"
        return "BertForPreTraining" if hasattr(model, "nsp_head") else "BertForMaskedLM"

    def described(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of positions and segments."""
        return {"positions": "learned", "segments": config.get("type_vocab_size", 2)}

    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Embeddings as wide as the layers, absolute positions."""
        decoder, width = bool(config.get("is_decoder")), config.get("hidden_size")
        return {"is_decoder": decoder, "position_embedding_type": "absolute", "embedding_size": width}
