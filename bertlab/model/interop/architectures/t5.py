"""T5, versions 1.0 and 1.1: an encoder and a decoder, which begins with the padding token.

Its config.json says of version 1.1 that embeddings are not tied, or in newer files that the decoder's vectors are not
scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab import recipe
from bertlab.model.interop.architectures.base import Architecture
from bertlab.recipe.objective import Loss
from bertlab.recipe.ranges import arm

if TYPE_CHECKING:
    from bertlab.model.heads import PretrainingModel
    from bertlab.text.tokenizers.base import TrainedTokenizer

_PARTS = {"projection": ("q", "k", "v"), "gate": ("wi_0", "wi_1")}
"""What is one below another in a matrix of ours."""


class T5(Architecture[recipe.T5]):
    """Raffel et al. 2020."""

    kind = "t5"
    title = "T5"
    model = recipe.T5
    lm_head = "encoder"
    heads: ClassVar[Mapping[str, Mapping[str, str]]] = {"ConditionalGeneration": {}}
    names: ClassVar[Mapping[str, str]] = {
        "encoder.embeddings.tokens.": "shared.",
        "encoder.output.": "lm_head.",
        "encoder.decoder_layers.": "decoder.block.",
        "encoder.layers.": "encoder.block.",
        "encoder.relative_bias.table.": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.",
        "encoder.decoder_bias.table.": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.",
        "encoder.final_norm.": "encoder.final_layer_norm.",
        "encoder.decoder_norm.": "decoder.final_layer_norm.",
        ".cross_attention.qkv_proj.": ".layer.1.EncDecAttention.{projection}.",
        ".cross_attention.out_proj.": ".layer.1.EncDecAttention.o.",
        ".cross_norm.": ".layer.1.layer_norm.",
        ".attention.qkv_proj.": ".layer.0.SelfAttention.{projection}.",
        ".attention.out_proj.": ".layer.0.SelfAttention.o.",
        ".attention_norm.": ".layer.0.layer_norm.",
        ".mlp.gated.fc1.": ".layer.{mlp}.DenseReluDense.{gate}.",
        ".mlp.fc1.": ".layer.{mlp}.DenseReluDense.wi.",
        ".mlp.fc2.": ".layer.{mlp}.DenseReluDense.wo.",
        ".mlp_norm.": ".layer.{mlp}.layer_norm.",
    }
    copies: ClassVar[Mapping[str, str]] = {
        "encoder.embed_tokens.weight": "encoder.embeddings.tokens.weight",
        "decoder.embed_tokens.weight": "encoder.embeddings.tokens.weight",
        "lm_head.weight": "encoder.embeddings.tokens.weight",
    }
    unread = ("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.",)
    """Early checkpoints have it, and use it nowhere."""
    fields: ClassVar[Mapping[str, str]] = {
        "hidden_size": "d_model",
        "num_hidden_layers": "num_layers",
        "num_attention_heads": "num_heads",
        "intermediate_size": "d_ff",
        "hidden_dropout_prob": "dropout_rate",
        "attention_probs_dropout_prob": "dropout_rate",
        "layer_norm_eps": "layer_norm_epsilon",
    }
    usual: ClassVar[Mapping[str, Any]] = {
        "hidden_act": "gelu_new",
        "max_position_embeddings": 512,
        "dropout_rate": 0.1,
        "layer_norm_epsilon": 1e-6,
        "feed_forward_proj": "relu",
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
    }

    @property
    def base(self) -> str:
        """Names of tensors begin with the stack."""
        return "encoder"

    def holds(self, model: recipe.T5, causal: bool) -> bool:
        """All such models of an encoder and a decoder that share nothing."""
        return (
            model.structure == "encoder-decoder"
            and not model.shared
            and (not model.gated or model.activation == "gelu_new")
        )

    def name(self, model: PretrainingModel) -> str:
        """The class of encoder and decoder."""
        return "T5ForConditionalGeneration"

    def config(self, model: recipe.T5) -> dict[str, Any]:
        """The decoder, the feed-forward network and the buckets of distances."""
        return {
            "num_decoder_layers": model.decoder_depth,
            "d_kv": model.hidden // model.heads,
            "feed_forward_proj": "gated-gelu" if model.gated else "relu",
            "tie_word_embeddings": model.tied,
            "relative_attention_num_buckets": model.buckets,
            "relative_attention_max_distance": model.distance,
            "is_encoder_decoder": True,
        }

    def token_config(self, tokenizer: TrainedTokenizer) -> dict[str, Any]:
        """Where a decoder begins and ends."""
        return {"decoder_start_token_id": tokenizer.pad, "eos_token_id": tokenizer.sep}

    def described(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The decoder, the feed-forward network and the buckets of distances."""
        layers, tied = config.get("num_decoder_layers"), config.get("tie_word_embeddings", True)
        return {
            "decoder_layers": 0 if layers in (None, config["num_hidden_layers"]) else layers,
            "gated": config["feed_forward_proj"] == "gated-gelu",
            "tied": bool(tied and config.get("scale_decoder_outputs", True)),
            "buckets": config["relative_attention_num_buckets"],
            "distance": config["relative_attention_max_distance"],
        }

    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Heads that divide the width, ReLU or a gated GELU, and a decoder."""
        width, heads, form = config["hidden_size"], config["num_attention_heads"], config["feed_forward_proj"]
        divisible = isinstance(width, int) and isinstance(heads, int) and heads > 0
        return {
            "d_kv": width // heads if divisible else config.get("d_kv"),
            "feed_forward_proj": form if form in ("relu", "gated-gelu") else "relu",
            "is_encoder_decoder": True,
            "is_decoder": False,
        }

    def objective(self, causal: bool) -> tuple[recipe.Loss, ...]:
        """A loss that needs no sentinels, and whose head is the model's own output matrix."""
        return (arm(Loss, "prefix_lm")(),)

    def parameter(self, ours: str) -> list[str]:
        """The published names of our parameter: those of the matrices that it stacks."""
        if not ours.startswith("encoder."):
            return []
        mlp = 2 if ".decoder_layers." in ours else 1
        for part, theirs in self.names.items():
            ours = ours.replace(part, theirs)
        stacked = next((parts for part, parts in _PARTS.items() if f"{{{part}}}" in ours), ("",))
        return [ours.format(mlp=mlp, projection=part, gate=part) for part in stacked]
