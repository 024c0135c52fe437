"""ModernBERT: attention to all tokens and to windows in turn, GeGLU, and no biases but that of the output.

config.json has two ways to name rotary bases and kinds of layers: both are read, and the older is written, which
published checkpoints have. A masked LM has no pooler: fine-tuning starts with a new one.

Its classes for tasks have a layer and a normalisation above the encoder, which ours have not: they are written so that
they change nothing. Its classes for whole sequences normalise behind the activation, which nothing can undo.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab import recipe
from bertlab.model.interop.architectures.base import Architecture
from bertlab.recipe.objective import Loss
from bertlab.recipe.ranges import arm

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.heads import PretrainingModel

_TOO_MANY = 1_000
"""Layers of no model: their list might not fit into memory. The recipe refuses their number."""


class ModernBert(Architecture[recipe.ModernBert]):
    """Warner et al. 2024."""

    kind = "modernbert"
    title = "ModernBERT"
    model = recipe.ModernBert
    names: ClassVar[Mapping[str, str]] = {
        "encoder.embeddings.tokens.": "{base}.embeddings.tok_embeddings.",
        "encoder.embeddings.norm.": "{base}.embeddings.norm.",
        "encoder.layers.": "{base}.layers.",
        "encoder.final_norm.": "{base}.final_norm.",
        ".attention_norm.": ".attn_norm.",
        ".attention.qkv_proj.": ".attn.Wqkv.",
        ".attention.out_proj.": ".attn.Wo.",
        ".mlp.fc1.": ".mlp.Wi.",
        ".mlp.fc2.": ".mlp.Wo.",
        "lm_head.transform.": "head.dense.",
        "lm_head.norm.": "head.norm.",
        "lm_head.bias": "decoder.bias",
    }
    copies: ClassVar[Mapping[str, str]] = {"decoder.weight": "encoder.embeddings.tokens.weight"}
    heads: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "TokenClassification": {"output.": "classifier."},
        "QuestionAnswering": {"output.": "classifier."},
    }
    fields: ClassVar[Mapping[str, str]] = {
        "hidden_act": "hidden_activation",
        "hidden_dropout_prob": "mlp_dropout",
        "attention_probs_dropout_prob": "attention_dropout",
        "layer_norm_eps": "norm_eps",
    }
    usual: ClassVar[Mapping[str, Any]] = {
        "hidden_activation": "gelu",
        "mlp_dropout": 0.0,
        "norm_eps": 1e-5,
        "local_attention": 128,
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 160_000.0,
        "local_rope_theta": 10_000.0,
    }

    @property
    def base(self) -> str:
        """The tensors are named as in the classes of `transformers`."""
        return "model"

    def holds(self, model: recipe.ModernBert, causal: bool) -> bool:
        """All such models are held but left-to-right ones."""
        return not causal

    def name(self, model: PretrainingModel) -> str:
        """The class of a masked LM."""
        return "ModernBertForMaskedLM"

    def config(self, model: recipe.ModernBert) -> dict[str, Any]:
        """Biases, windows, rotary bases and which layers are global."""
        return {
            **_biases(model.activation),
            "embedding_dropout": model.dropout,
            "local_attention": model.window,
            "global_attn_every_n_layers": model.global_every,
            "global_rope_theta": model.global_base,
            "local_rope_theta": model.local_base,
            **dict.fromkeys(f"{token}_token_id" for token in ("bos", "eos", "cls", "sep")),  # else the published ones
        }

    def task_config(self, head: str) -> dict[str, Any]:
        """No activation above the encoder."""
        return {"classifier_activation": "linear"}

    def task_tensors(self, encoder: Any) -> dict[str, Tensor]:
        """A layer that undoes the gains of the last normalisation, which is then normalised already, and the same gains
        again; up to the small number that is added to the variance."""
        norm = encoder.final_norm
        return {"head.dense.weight": (1 / norm.weight).diag(), "head.norm.weight": norm.weight * (1 + norm.eps) ** 0.5}

    def described(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Windows, rotary bases and which layers are global."""
        bases = _bases(config)
        return {
            "window": config["local_attention"],
            "global_every": _global_every(config),
            "global_base": float(bases["full_attention"]),
            "local_base": float(bases["sliding_attention"]),
        }

    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Models have no bias but the output's, one rate of dropout, unscaled rotary positions, and layers in turn."""
        layers, every = config.get("num_hidden_layers"), _global_every(config)
        kinds = config.get("layer_types")
        if isinstance(layers, int) and layers < _TOO_MANY and isinstance(every, int) and every > 0:
            kinds = _layer_types(layers, every)
        return {
            **_biases(config["hidden_act"]),
            "embedding_dropout": config["hidden_dropout_prob"],
            "tie_word_embeddings": True,
            "is_decoder": False,
            "rope_scaling": None,
            "rope_parameters": _unscaled(config),
            "layer_types": kinds,
        }

    def objective(self, causal: bool) -> tuple[recipe.Loss, ...]:
        """The masked LM."""
        return (arm(Loss, "masked_lm")(),)


def _biases(activation: str) -> dict[str, Any]:
    """Which parts have biases, and the activation of the LM head, in config.json."""
    without = {f"{part}_bias": False for part in ("norm", "attention", "mlp", "classifier")}
    return {**without, "decoder_bias": True, "classifier_activation": activation}


def _bases(config: Mapping[str, Any]) -> dict[str, Any]:
    """The base of rotary positions of each kind of layer."""
    older = {"full_attention": "global_rope_theta", "sliding_attention": "local_rope_theta"}
    parameters = config.get("rope_parameters")
    by_kind = {kind: parameters.get(kind) if isinstance(parameters, dict) else None for kind in older}
    return {
        kind: (fields if isinstance(fields, dict) else {}).get("rope_theta", config[older[kind]])
        for kind, fields in by_kind.items()
    }


def _unscaled(config: Mapping[str, Any]) -> dict[str, Any]:
    """`rope_parameters` as far as it is given, without what changes the angles."""
    parameters, unscaled = config.get("rope_parameters"), {}
    for kind, base in _bases(config).items():
        if isinstance(parameters, dict) and kind in parameters:
            theirs = parameters[kind] if isinstance(parameters[kind], dict) else {}
            plain = {"rope_theta": base, "rope_type": "default"}
            unscaled[kind] = {name: value for name, value in plain.items() if name in theirs}
    return unscaled


def _layer_types(layers: int, every: int) -> list[str]:
    """The kind of each layer, the first of every `every` being global."""
    return ["sliding_attention" if layer % every else "full_attention" for layer in range(layers)]


def _global_every(config: Mapping[str, Any]) -> Any:
    """The distance of global layers that `layer_types` has, if it is that of some; else the older field."""
    kinds, older = config.get("layer_types"), config["global_attn_every_n_layers"]
    candidates = range(1, len(kinds) + 1) if isinstance(kinds, list) else ()
    fitting = [every for every in candidates if kinds == _layer_types(len(candidates), every)]
    return older if older in fitting or not fitting else fitting[0]
