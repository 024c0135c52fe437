"""Checkpoints to and from the `transformers` format: BERT, and RoFormer for rotary positions (`bertlab export`).

Only `BertForPreTraining` has a next-sentence head: in the others, pooler and classifier have BERT's names in the same
file, which `transformers` ignores and `read` loads. RoFormer rotates the pairs (2i, 2i + 1) of a head and we rotate
(i, i + d/2), so its query and key matrices are ours in another order.
"""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.layers import EPSILON, SEGMENTS, Rotary
from bertlab.names import shown
from bertlab.recipe.objective import bert
from bertlab.recipe.ranges import arm
from bertlab.text.tokenizers import base as tokenizers
from bertlab.text.tokenizers.base import TrainedTokenizer

_WEIGHTS = "model.safetensors"
_TYPES = {"learned": "bert", "rotary": "roformer"}
_ARCHITECTURES = {  # by positions, and whether the encoder is causal
    ("learned", False): "BertForPreTraining",
    ("learned", True): "BertLMHeadModel",
    ("rotary", False): "RoFormerForMaskedLM",
    ("rotary", True): "RoFormerForCausalLM",
}
_UNREAD = ("classifier.", "qa_outputs.", "sequence_summary.", "embeddings.position_ids")
"""Beginnings of tensors that are left out: heads of tasks, and the numbers of positions."""
_ANGLES = "roformer.encoder.embed_positions.weight"
"""The sines and cosines of rotary positions, which `transformers` keeps among the weights."""
_COPIES = {
    "cls.predictions.decoder.weight": "encoder.embeddings.tokens.weight",
    "cls.predictions.decoder.bias": "lm_head.bias",
}
"""Published tensors that are copies of our parameters."""
_FIXED = {"hidden_act": "gelu", "type_vocab_size": SEGMENTS}
"""Fields of config.json that are fixed here: a checkpoint with other values is another model."""
_NAMES = {
    "encoder.embeddings.tokens.": "{base}.embeddings.word_embeddings.",
    "encoder.embeddings.segments.": "{base}.embeddings.token_type_embeddings.",
    "encoder.embeddings.positions.": "{base}.embeddings.position_embeddings.",
    "encoder.embeddings.norm.": "{base}.embeddings.LayerNorm.",
    "encoder.layers.": "{base}.encoder.layer.",
    ".attention.qkv_proj.": ".attention.self.{each}.",
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
"""Parts of our parameters' names, and the published ones; `{each}` is query, key and value."""


def read(directory: Path, fresh: bool = False) -> tuple[recipe.Recipe, PretrainingModel, TrainedTokenizer]:
    """The model and tokenizer of a published checkpoint directory, and the recipe, as far as they determine it.

    Heads that the checkpoint lacks have their initial values; with `fresh`, everything. Entries of the token table
    beyond the vocabulary, which pad some checkpoints, are left out. Raises `BadInput` for a file that is missing or
    damaged, and for a model that is not one of ours.
    """
    config = tokenizers.load_object(directory / "config.json")
    model = _model(config, directory)
    vocabulary, positions = config.get("vocab_size"), model.max_positions
    tokenizer = tokenizers.read(directory)
    if type(vocabulary) is not int or not tokenizer.size <= vocabulary <= 10_000_000:
        raise BadInput(
            f"the tokenizer of {directory} has {tokenizer.size} entries, config.json says {shown(vocabulary)}: "
            "they are not of one model"
        )
    objective = (arm(recipe.Loss, "causal_lm")(),) if config.get("is_decoder") else bert()
    with torch.device("meta"):  # allocates nothing: first, the weights have to fit config.json
        shapes = PretrainingModel(model, vocabulary, positions, 0, objective)
    state = _state(directory / _WEIGHTS, shapes, model)
    ours = PretrainingModel(model, tokenizer.size, positions, 0, objective)
    if not fresh:
        for name in state.keys() & {"encoder.embeddings.tokens.weight", "lm_head.bias"}:
            state[name] = state[name][: tokenizer.size]
        ours.load_state_dict(state, strict=False)
    described = recipe.Recipe(
        tokenizer=dataclasses.replace(tokenizer.settings, given=f"sha256:{tokenizer.digest}"),
        objective=objective,
        model=model,
    )
    return described, ours, tokenizer


def predicts(directory: Path) -> bool:
    """Whether the weights of a checkpoint directory have a masked-LM head; a bare encoder has none."""
    with _opened(directory / _WEIGHTS) as weights:
        return not set(_names("lm_head.transform.weight", "")).isdisjoint(weights.keys())


def write(directory: Path, model: PretrainingModel, recipe: recipe.Model, tokenizer: TrainedTokenizer) -> None:
    """Writes `model`, whose recipe is `recipe`, as a checkpoint. Raises `BadInput` if `directory` is not empty."""
    from safetensors.torch import save

    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise BadInput(f"{directory} exists: give a new directory to export to")
    config = {
        "architectures": [_ARCHITECTURES[recipe.positions, model.encoder.causal]],
        "model_type": _TYPES[recipe.positions],
        "vocab_size": len(model.encoder.embeddings.tokens.weight),
        "hidden_size": recipe.hidden,
        "num_hidden_layers": recipe.layers,
        "num_attention_heads": recipe.heads,
        "intermediate_size": recipe.feedforward,
        "hidden_dropout_prob": recipe.dropout,
        "attention_probs_dropout_prob": recipe.dropout,
        "max_position_embeddings": model.encoder.max_positions,
        "initializer_range": recipe.init_std,
        "layer_norm_eps": EPSILON,
        "pad_token_id": tokenizer.pad,
        "tie_word_embeddings": True,
        "is_decoder": model.encoder.causal,
        **_FIXED,
        **({"rotary_value": False, "embedding_size": recipe.hidden} if recipe.positions == "rotary" else {}),
    }
    tensors = {}
    for ours, value in model.state_dict().items():
        names = _names(ours, _TYPES[recipe.positions])
        for name, part in zip(names, value.detach().float().cpu().chunk(len(names)), strict=True):
            if _rotated(name):  # from pairs (i, i + d/2) to (2i, 2i + 1)
                part = part.view(recipe.heads, 2, -1, *part.shape[1:]).transpose(1, 2).reshape(part.shape)
            tensors[name] = part.clone()
    if model.encoder.rotary is not None:
        tensors[_ANGLES] = _angles(model.encoder.rotary).cpu()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    tokenizer.write(directory, model.encoder.max_positions)
    # `save_file` reports a full disk as an error of its own, and only its owner can read its files.
    (directory / _WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))


def _model(config: dict[str, Any], directory: Path) -> recipe.Model:
    path = directory / "config.json"
    kind = config.get("model_type")
    if kind not in _TYPES.values():
        raise BadInput(f"{path} is of a model of type {shown(kind)}: only bert and roformer checkpoints can be read")
    hidden, dropout = config.get("hidden_size"), config.get("hidden_dropout_prob", 0.1)
    fixed = {
        **_FIXED,
        "attention_probs_dropout_prob": dropout,
        "layer_norm_eps": EPSILON,
        "rotary_value": False,
        "embedding_size": hidden,
        "is_decoder": bool(config.get("is_decoder")),
        "position_embedding_type": "absolute",
    }
    for name, ours in fixed.items():
        if config.get(name) not in (None, ours):
            raise BadInput(f"{path} has {name} {shown(config[name])}: only models with {ours} can be read")
    for name in ("intermediate_size", "max_position_embeddings"):
        if config.get(name) == 0:  # which stands for a default in our recipes
            raise BadInput(f"{path} has {name} 0: give 1 or more")
    try:
        model = recipe.Model(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            intermediate=0 if config["intermediate_size"] == 4 * config["hidden_size"] else config["intermediate_size"],
            positions="rotary" if kind == "roformer" else "learned",
            max_positions=config["max_position_embeddings"],
            dropout=float(dropout),
        )
    except (BadInput, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{path} is not the config of a model ({error}): fetch the checkpoint again") from None
    by_width = dataclasses.replace(model, initialisation="width")
    return by_width if config.get("initializer_range") == by_width.init_std != model.init_std else model


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The opened weights of a checkpoint. Raises `BadInput` if it has none, or if they are damaged."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        if any(path.parent.glob("*.bin")):
            raise BadInput(f"{path.parent} has its weights in .bin only: they must be safetensors, convert them first")
        raise BadInput(f"{path.parent} has no {path.name}: weights must be safetensors, in one file")
    try:
        with safe_open(path, framework="pt") as weights:
            yield weights
    except (OSError, SafetensorError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None


def _names(ours: str, base: str) -> list[str]:
    """The published names of our parameter: three for fused queries, keys and values, otherwise one."""
    for part, theirs in _NAMES.items():
        ours = ours.replace(part, theirs)
    return list(dict.fromkeys(ours.format(base=base, each=each) for each in ("query", "key", "value")))


def _angles(rotary: Rotary) -> Tensor:
    return torch.cat((rotary.sine, rotary.cosine), 1)


def _rotated(name: str) -> bool:
    """Whether a published tensor is a query or key matrix or bias of rotary positions."""
    return name.startswith("roformer.") and (".self.query." in name or ".self.key." in name)


def _state(path: Path, shapes: PretrainingModel, described: recipe.Model) -> dict[str, Tensor]:
    """The published tensors as our parameters, which have the shapes of `shapes`; heads may be missing.

    Raises `BadInput` for a tensor that is not finite or of another shape, that is missing or that would be lost.
    """
    base, state = _TYPES[described.positions], {}
    with _opened(path) as weights:
        # Checkpoints converted from TensorFlow call LayerNorm's parameters gamma and beta.
        found = {
            name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): name
            for name in weights.keys()  # noqa: SIM118, it is no mapping
        }
        if not any(name.startswith(f"{base}.") for name in found):  # an encoder saved without heads has no prefix
            found = {f"{base}.{name}": original for name, original in found.items()}
        for ours, value in shapes.state_dict().items():
            names = _names(ours, base)
            missing = [name for name in names if name not in found]
            if missing and ours.startswith("encoder."):
                raise BadInput(f"{path} lacks {missing[0]}: it is not the model of its config.json")
            if missing:
                continue
            parts, shape = [], [len(value) // len(names), *value.shape[1:]]
            for name in names:
                part = weights.get_tensor(found.pop(name))
                if list(part.shape) != shape:
                    raise BadInput(f"{path}: {name} is {[*part.shape]}, which does not fit config.json: {shape}")
                if not part.is_floating_point():
                    raise BadInput(f"{path}: {name} is {part.dtype}: weights must be floating-point numbers")
                if not part.isfinite().all():
                    raise BadInput(f"{path}: {name} is not finite everywhere: give a checkpoint that was not damaged")
                part = part.float()
                if _rotated(name):  # from pairs (2i, 2i + 1) to (i, i + d/2)
                    part = part.view(described.heads, -1, 2, *part.shape[1:]).transpose(1, 2).reshape(part.shape)
                parts.append(part)
            state[ours] = torch.cat(parts)
        copies = {name: state[ours] for name, ours in _COPIES.items() if ours in state}
        if described.positions == "rotary":
            copies[_ANGLES] = _angles(Rotary(shapes.encoder.max_positions, described.hidden // described.heads))
        for name, original in found.items():
            copy, there = copies.get(name), weights.get_tensor(original).float()
            tolerance = 0.01 if name == _ANGLES else 0.0  # some are in bf16
            copied = copy is not None and copy.shape == there.shape and torch.allclose(there, copy, 0, tolerance)
            if not copied and not name.removeprefix(f"{base}.").startswith(_UNREAD):
                raise BadInput(f"{path}: the model of config.json has no place for {name}: it is another model")
    return state
