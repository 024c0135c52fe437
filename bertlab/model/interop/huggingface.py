"""Checkpoints to and from the `transformers` format: BERT, and RoFormer for rotary positions (`bertlab export`).

A directory holds config.json, model.safetensors and the files of a tokenizer. Learned positions are a
`BertForPreTraining`, rotary ones a `RoFormerForMaskedLM`; left-to-right models are a `BertLMHeadModel` and a
`RoFormerForCausalLM`, decoders by their config. All but the first have no sentence relation: pooler and relation go
into the same file under BERT's names, which `transformers` passes over and `read` takes up. RoFormer turns the pairs
(2i, 2i + 1) of a head and we turn (i, i + d/2), so the rows of its query and key matrices are those of ours in another
order. Weights are read from safetensors alone; what has no place in the model is refused.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.layers import EPSILON, SEGMENTS
from bertlab.names import shown
from bertlab.recipe.objective import bert
from bertlab.recipe.ranges import arm
from bertlab.text.tokenizers import base as tokenizers
from bertlab.text.tokenizers.base import TrainedTokenizer

_WEIGHTS = "model.safetensors"
_ARCHITECTURES = {  # by positions, and whether the encoder is causal
    ("learned", False): "BertForPreTraining",
    ("learned", True): "BertLMHeadModel",
    ("rotary", False): "RoFormerForMaskedLM",
    ("rotary", True): "RoFormerForCausalLM",
}
_HEADS = ("classifier.", "qa_outputs.", "sequence_summary.")
"""What begins the names of heads that transformers adds to these encoders for tasks. They are not read."""
_MOST = {
    "vocab_size": 10_000_000,
    "hidden_size": 65_536,
    "num_hidden_layers": 200,
    "num_attention_heads": 65_536,
    "intermediate_size": 1_000_000,
    "max_position_embeddings": 1_000_000,
}
"""The numbers that config.json must have, and how large they can be."""
_FIXED = {"hidden_act": "gelu", "type_vocab_size": SEGMENTS}
"""What our encoder has no field for: a checkpoint that says otherwise is another model."""


def read(directory: Path, fresh: bool = False) -> tuple[recipe.Recipe, PretrainingModel, TrainedTokenizer]:
    """The model and tokenizer of a published checkpoint directory, and as much of a recipe as describes them.

    Heads that the checkpoint lacks (a bare encoder) start from their initial values; with `fresh`, everything. Rows of
    the token table behind the vocabulary, which some checkpoints are padded with, are left out. Raises `BadInput` when
    a file is missing, is not what it should be, or the model is not one of ours.
    """
    config = tokenizers.load_object(directory / "config.json")
    model = _model(config, directory)
    vocabulary, positions = int(config["vocab_size"]), int(config["max_position_embeddings"])
    tokenizer = tokenizers.read(directory)
    if tokenizer.size > vocabulary:
        raise BadInput(
            f"the tokenizer of {directory} has {tokenizer.size} entries, config.json says {vocabulary}: "
            "they are not of one model"
        )
    _check_sizes(directory / _WEIGHTS, model, vocabulary, positions)
    objective = (arm(recipe.Loss, "causal_lm")(),) if config.get("is_decoder") else bert()
    ours = PretrainingModel(model, tokenizer.size, positions, 0, objective)
    if not fresh:
        theirs = PretrainingModel(model, vocabulary, positions, 0, objective)
        _fill(theirs, _tensors(directory / _WEIGHTS), model, directory / _WEIGHTS)
        state = theirs.state_dict()
        for name in ("encoder.embeddings.tokens.weight", "lm_head.bias"):
            state[name] = state[name][: tokenizer.size]
        ours.load_state_dict(state)
    described = recipe.Recipe(
        tokenizer=dataclasses.replace(tokenizer.settings, given=f"sha256:{tokenizer.digest}"),
        objective=objective,
        model=model,
    )
    return described, ours, tokenizer


def predicts(directory: Path) -> bool:
    """Whether the weights of a checkpoint directory have a masked-LM head; a bare encoder has none."""
    from safetensors import safe_open

    with safe_open(directory / _WEIGHTS, framework="pt") as weights:
        return _OUTSIDE_LAYERS["lm_head.transform"] + ".weight" in weights.keys()  # noqa: SIM118, it is no mapping


def write(directory: Path, model: PretrainingModel, recipe: recipe.Model, tokenizer: TrainedTokenizer) -> None:
    """Writes `model`, which `recipe` describes, as a checkpoint directory. Raises `BadInput` if it is not empty."""
    from safetensors.torch import save

    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise BadInput(f"{directory} exists: give a new directory to export to")
    rotary = recipe.positions == "rotary"
    vocabulary, _ = model.encoder.embeddings.tokens.weight.shape
    config = {
        "architectures": [_ARCHITECTURES[recipe.positions, model.encoder.causal]],
        "model_type": "roformer" if rotary else "bert",
        "vocab_size": vocabulary,
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
        **({"rotary_value": False, "embedding_size": recipe.hidden} if rotary else {}),
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    tokenizer.write(directory, model.encoder.max_positions)
    # Not `save_file`: it tells of a full disk in an error of its own, and nobody else can read its files.
    (directory / _WEIGHTS).write_bytes(save(_published(model, recipe), metadata={"format": "pt"}))


def _model(config: dict[str, Any], directory: Path) -> recipe.Model:
    path = directory / "config.json"
    kind = config.get("model_type")
    if kind not in ("bert", "roformer"):
        raise BadInput(f"{path} is of a model of type {shown(kind)}: only bert and roformer checkpoints can be read")
    for name, most in _MOST.items():
        value = config.get(name)
        if type(value) is not int or not 1 <= value <= most:
            raise BadInput(f"{path} has {name} {shown(value)}: give a whole number from 1 to {most:,}")
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range"):
        value = config.get(name, 0.0)
        if type(value) not in (int, float) or not 0 <= value < 1:
            raise BadInput(f"{path} has {name} {shown(value)}: give a number from 0 to under 1")
    if not isinstance(config.get("is_decoder", False), bool):
        raise BadInput(f"{path} has is_decoder {shown(config['is_decoder'])}: give true or false")
    dropout = config.get("hidden_dropout_prob", 0.1)
    fixed = {
        **_FIXED,
        "attention_probs_dropout_prob": dropout,
        "layer_norm_eps": EPSILON,
        "rotary_value": False,
        "embedding_size": config["hidden_size"],
        "position_embedding_type": "absolute",
    }
    for name, ours in fixed.items():
        theirs = ours if config.get(name) is None else config[name]
        same = math.isclose(theirs, ours) if isinstance(ours, float) and isinstance(theirs, float) else theirs == ours
        if not same:
            raise BadInput(f"{path} has {name} {shown(theirs)}: only models with {ours} can be read")
    hidden = config["hidden_size"]
    deviation = config.get("initializer_range", 0.02)
    by_width = recipe.Model(hidden=hidden, heads=1, initialisation="width").init_std
    return recipe.Model(
        layers=config["num_hidden_layers"],
        hidden=hidden,
        heads=config["num_attention_heads"],
        intermediate=0 if config["intermediate_size"] == 4 * hidden else config["intermediate_size"],
        positions="rotary" if kind == "roformer" else "learned",
        max_positions=config["max_position_embeddings"],
        dropout=float(dropout),
        initialisation="width" if deviation != 0.02 and math.isclose(deviation, by_width) else "fixed",
    )


def _check_sizes(path: Path, model: recipe.Model, vocabulary: int, positions: int) -> None:
    """Raises `BadInput` if the sizes in config.json are not those of the weights: before any memory is asked for."""
    with _opened(path) as weights:
        names = list(weights.keys())
        layers = {int(found[1]) for name in names if (found := re.search(r"encoder\.layer\.(\d+)\.", name))}
        if layers != set(range(model.layers)):
            raise BadInput(f"{path} has {len(layers)} layers, config.json says {model.layers}: not of one model")
        for ending, shape in (
            ("embeddings.word_embeddings.weight", [vocabulary, model.hidden]),
            ("embeddings.position_embeddings.weight", [positions, model.hidden]),
            ("encoder.embed_positions.weight", [positions, model.hidden // model.heads]),
            ("encoder.layer.0.intermediate.dense.weight", [model.feedforward, model.hidden]),
        ):
            for name in (name for name in names if name.removeprefix("bert.").removeprefix("roformer.") == ending):
                found = weights.get_slice(name).get_shape()
                if found != shape:
                    raise BadInput(f"{path}: {name} is {tuple(found)}, which does not fit config.json: {tuple(shape)}")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The weights of a checkpoint, none of them read. Raises `BadInput` if it has none, or they are damaged."""
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


def _tensors(path: Path) -> dict[str, Tensor]:
    tensors = {}
    with _opened(path) as weights:
        for name in weights.keys():  # noqa: SIM118, it is no mapping
            tensor = weights.get_tensor(name)
            if tensor.dtype.is_floating_point:
                tensor = tensor.float()
                if not tensor.isfinite().all():
                    raise BadInput(f"{path}: {name} is not finite everywhere: give a checkpoint that was not damaged")
            # Checkpoints converted from TensorFlow call LayerNorm's parameters gamma and beta.
            name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
            tensors[name] = tensor
    return tensors


_OUTSIDE_LAYERS = {
    "encoder.embeddings.tokens.weight": "{base}.embeddings.word_embeddings.weight",
    "encoder.embeddings.segments.weight": "{base}.embeddings.token_type_embeddings.weight",
    "encoder.embeddings.positions.weight": "{base}.embeddings.position_embeddings.weight",
    "encoder.embeddings.norm": "{base}.embeddings.LayerNorm",
    "nsp_head.pooler.dense": "{base}.pooler.dense",
    "lm_head.transform": "cls.predictions.transform.dense",
    "lm_head.norm": "cls.predictions.transform.LayerNorm",
    "lm_head.bias": "cls.predictions.bias",
    "nsp_head.classifier": "cls.seq_relationship",
}
"""Our names, whole or up to `.weight` and `.bias`, and theirs."""
_IN_LAYER = {
    "attention.out_proj": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "mlp.fc1": "intermediate.dense",
    "mlp.fc2": "output.dense",
    "mlp_norm": "output.LayerNorm",
}


def _names(ours: str, base: str) -> list[str]:
    """The published names of what we call `ours`: three for the fused queries, keys and values, otherwise one."""
    if ours.startswith("encoder.layers."):
        layer, _, name = ours.removeprefix("encoder.layers.").partition(".")
        part, _, kind = name.rpartition(".")
        prefix = f"{base}.encoder.layer.{layer}"
        if part == "attention.qkv_proj":
            return [f"{prefix}.attention.self.{each}.{kind}" for each in ("query", "key", "value")]
        return [f"{prefix}.{_IN_LAYER[part]}.{kind}"]
    stem, _, kind = ours.rpartition(".")
    theirs = _OUTSIDE_LAYERS.get(ours) or f"{_OUTSIDE_LAYERS[stem]}.{kind}"
    return [theirs.format(base=base)]


def _to_interleaved(x: Tensor, heads: int) -> Tensor:
    """Rows of a query or key matrix or bias, from pairs (i, i + d/2) to pairs (2i, 2i + 1)."""
    rows = len(x) // heads
    return x.view(heads, 2, rows // 2, -1).transpose(1, 2).reshape(x.shape)


def _from_interleaved(x: Tensor, heads: int) -> Tensor:
    """The inverse of `_to_interleaved`."""
    rows = len(x) // heads
    return x.view(heads, rows // 2, 2, -1).transpose(1, 2).reshape(x.shape)


def _published(model: PretrainingModel, described: recipe.Model) -> dict[str, Tensor]:
    rotary = described.positions == "rotary"
    base = "roformer" if rotary else "bert"
    tensors = {}
    for ours, value in model.state_dict().items():
        names = _names(ours, base)
        for name, part in zip(names, value.detach().float().cpu().chunk(len(names)), strict=True):
            turned = rotary and ".self." in name and ".value." not in name
            tensors[name] = (_to_interleaved(part, described.heads) if turned else part).clone()
    if model.encoder.rotary is not None:  # fixed numbers, which transformers keeps among the weights
        angles = model.encoder.rotary
        tensors["roformer.encoder.embed_positions.weight"] = torch.cat((angles.sine, angles.cosine), 1).cpu()
    return tensors


def _fill(model: PretrainingModel, tensors: dict[str, Tensor], described: recipe.Model, path: Path) -> None:
    """Sets `model` from published `tensors`; parameters of heads that are not among them stay as they are.

    Raises `BadInput` for a tensor of the encoder that is missing, and for one that no parameter takes up.
    """
    rotary = described.positions == "rotary"
    base = "roformer" if rotary else "bert"
    bare = not any(name.startswith(f"{base}.") for name in tensors)  # an encoder saved without heads has no prefix
    state = model.state_dict()
    unused = dict(tensors)
    for ours, value in state.items():
        names = _names(ours, base)
        if bare:
            names = [name.removeprefix(f"{base}.") for name in names]
        missing = [name for name in names if name not in tensors]
        if missing:
            if ours.startswith("encoder."):
                raise BadInput(f"{path} lacks {missing[0]}: it is not the model of its config.json")
            continue
        for name in names:
            if unused.pop(name).dtype != torch.float32:
                raise BadInput(f"{path}: {name} is {tensors[name].dtype}: weights must be floating-point numbers")
        parts = []
        for name in names:
            turned = rotary and ".self." in name and ".value." not in name
            parts.append(_from_interleaved(tensors[name], described.heads) if turned else tensors[name])
        if any(part.dim() != value.dim() for part in parts) or (joined := torch.cat(parts)).shape != value.shape:
            raise BadInput(f"{path}: {names[0]} is {tuple(tensors[names[0]].shape)}, which does not fit config.json")
        state[ours] = joined
    model.load_state_dict(state)
    for name, tensor in unused.items():
        _check_unused(name.removeprefix(f"{base}."), tensor, model, path)


def _check_unused(name: str, tensor: Tensor, model: PretrainingModel, path: Path) -> None:
    """Raises `BadInput` for a tensor that would be lost: neither a task's head nor a copy of what the model has."""
    copies: dict[str, Callable[[], Tensor]] = {
        "embeddings.position_ids": lambda: torch.arange(model.encoder.max_positions)[None],
        "cls.predictions.decoder.weight": lambda: model.encoder.embeddings.tokens.weight,
        "cls.predictions.decoder.bias": lambda: model.get_parameter("lm_head.bias"),
    }
    tolerance = 0.0
    if (angles := model.encoder.rotary) is not None and name == "encoder.embed_positions.weight":
        copies[name] = lambda: torch.cat((angles.sine, angles.cosine), 1)
        tolerance = 0.01  # they may have been saved in bf16
    if name.startswith(_HEADS):
        return
    if name not in copies:
        raise BadInput(f"{path}: the model of config.json has no place for {name}: it is not the model of its weights")
    ours = copies[name]().float()
    if tensor.shape != ours.shape or not torch.allclose(tensor.float(), ours, rtol=0, atol=tolerance):
        raise BadInput(f"{path}: {name} is not what it is in BERT, a copy: only tied and fixed ones can be read")
