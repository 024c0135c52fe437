"""Checkpoints to and from the `transformers` format: BERT, and RoFormer for rotary positions (`bertlab export`).

A directory holds config.json, model.safetensors and vocab.txt. Learned positions are a `BertForPreTraining`, rotary
ones a `RoFormerForMaskedLM`; left-to-right models are a `BertLMHeadModel` and a `RoFormerForCausalLM`, decoders by
their config. All but the first have no sentence relation: pooler and relation go into the same file under BERT's names,
which `transformers` passes over and `read` takes up. RoFormer turns the pairs (2i, 2i + 1) of a head and we turn
(i, i + d/2), so the rows of its query and key matrices are those of ours in another order.
Weights are read from safetensors alone.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.files import digest
from bertlab.model.encoder import EPSILON, SEGMENTS
from bertlab.model.heads import PretrainingModel

if TYPE_CHECKING:
    from bertlab.text.tokenizer import WordPiece

_WEIGHTS = "model.safetensors"
_ARCHITECTURES = {  # by positions, and whether the encoder is causal
    ("learned", False): "BertForPreTraining",
    ("learned", True): "BertLMHeadModel",
    ("rotary", False): "RoFormerForMaskedLM",
    ("rotary", True): "RoFormerForCausalLM",
}
_FIXED = {"hidden_act": "gelu", "type_vocab_size": SEGMENTS}
"""What our encoder has no field for: a checkpoint that says otherwise is another model."""


def read(directory: Path, fresh: bool = False) -> tuple[recipe.Recipe, PretrainingModel, WordPiece]:
    """The model and tokenizer of a published checkpoint directory, and as much of a recipe as describes them.

    Heads that the checkpoint lacks (a bare encoder) start from their initial values; with `fresh`, everything. Rows of
    the token table behind the vocabulary, which some checkpoints are padded with, are left out. Raises `BadInput` when
    a file is missing, is not what it should be, or the model is not one of ours.
    """
    from bertlab.text.tokenizer import WordPiece

    config = _config(directory)
    model = _model(config, directory)
    vocabulary, positions = int(config["vocab_size"]), int(config["max_position_embeddings"])
    causal = bool(config.get("is_decoder"))
    given = directory / "vocab.txt"
    if not given.is_file():
        raise BadInput(f"{directory} has no vocab.txt: add the vocabulary that the checkpoint was trained with")
    tokenizer = WordPiece.load(given, _lowercase(directory))
    if tokenizer.size > vocabulary:
        raise BadInput(f"{given} has {tokenizer.size} entries, config.json says {vocabulary}: not of one model")
    ours = PretrainingModel(model, tokenizer.size, positions, seed=0, causal=causal)
    if not fresh:
        theirs = PretrainingModel(model, vocabulary, positions, seed=0, causal=causal)
        _fill(theirs, _tensors(directory), model, directory)
        state = theirs.state_dict()
        for name in ("encoder.embeddings.tokens.weight", "masked.bias"):
            state[name] = state[name][: tokenizer.size]
        ours.load_state_dict(state)
    described = recipe.Recipe(
        tokenizer=recipe.Tokenizer(lowercase=tokenizer.lowercase, given=f"sha256:{digest(given)}"),
        objective=recipe.Objective(kind="left-to-right" if causal else "masked", next_sentence=not causal),
        model=model,
    )
    return described, ours, tokenizer


def predicts(directory: Path) -> bool:
    """Whether the weights of a checkpoint directory have a masked-LM head; a bare encoder has none."""
    from safetensors import safe_open

    with safe_open(directory / _WEIGHTS, framework="pt") as weights:
        return _OUTSIDE_LAYERS["masked.transform"] + ".weight" in weights.keys()  # noqa: SIM118, it is no mapping


def write(directory: Path, model: PretrainingModel, recipe: recipe.Model, tokenizer: WordPiece) -> None:
    """Writes `model`, which `recipe` describes, as a checkpoint directory. Raises `BadInput` if it is not empty."""
    from safetensors.torch import save_file

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
        "max_position_embeddings": model.encoder.positions,
        "initializer_range": recipe.deviation,
        "layer_norm_eps": EPSILON,
        "pad_token_id": tokenizer.pad,
        "tie_word_embeddings": True,
        "is_decoder": model.encoder.causal,
        **_FIXED,
        **({"rotary_value": False, "embedding_size": recipe.hidden} if rotary else {}),
    }
    tokenization = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": tokenizer.lowercase,
        "model_max_length": model.encoder.positions,
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenization, indent=2) + "\n", encoding="utf-8")
    tokenizer.save(directory / "vocab.txt")
    save_file(_published(model, recipe), directory / _WEIGHTS, metadata={"format": "pt"})


def _config(directory: Path) -> dict[str, Any]:
    path = directory / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{directory} has no config.json: give a transformers checkpoint") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(config, dict):
        raise BadInput(f"{path} is not a JSON object: give a checkpoint directory in the transformers format")
    return config


def _model(config: dict[str, Any], directory: Path) -> recipe.Model:
    path = directory / "config.json"
    kind = config.get("model_type")
    if kind not in ("bert", "roformer"):
        raise BadInput(f"{path} is of a model of type '{kind}': only bert and roformer checkpoints can be read")
    needed = (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "max_position_embeddings",
    )  # fmt: skip
    for name in needed:
        if not isinstance(config.get(name), int) or config[name] < 1:
            raise BadInput(f"{path} has no {name}, a positive whole number: complete it")
    fixed = {
        **_FIXED, "layer_norm_eps": EPSILON, "rotary_value": False, "embedding_size": config["hidden_size"],
        "position_embedding_type": "absolute",
    }  # fmt: skip
    for name, ours in fixed.items():
        theirs = ours if config.get(name) is None else config[name]
        same = math.isclose(theirs, ours) if isinstance(ours, float) and isinstance(theirs, float) else theirs == ours
        if not same:
            raise BadInput(f"{path} has {name} {theirs}: only models with {ours} can be read")
    hidden = config["hidden_size"]
    deviation = config.get("initializer_range", 0.02)
    by_width = recipe.Model(hidden=hidden, heads=1, initialisation="width").deviation
    return recipe.Model(
        layers=config["num_hidden_layers"],
        hidden=hidden,
        heads=config["num_attention_heads"],
        intermediate=0 if config["intermediate_size"] == 4 * hidden else config["intermediate_size"],
        positions="rotary" if kind == "roformer" else "learned",
        max_positions=config["max_position_embeddings"],
        dropout=float(config.get("hidden_dropout_prob", 0.1)),
        initialisation="width" if deviation != 0.02 and math.isclose(deviation, by_width) else "fixed",
    )


def _lowercase(directory: Path) -> bool:
    try:
        said = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
        return bool(said.get("do_lower_case", True))
    except (OSError, ValueError, AttributeError):
        return True  # BERT's own default


def _tensors(directory: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = directory / _WEIGHTS
    if not path.is_file():
        if any(directory.glob("*.bin")):
            raise BadInput(f"{directory} has its weights in .bin only: weights must be safetensors, convert them first")
        raise BadInput(f"{directory} has no {_WEIGHTS}: weights must be safetensors, in one file")
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
    # Checkpoints converted from TensorFlow call LayerNorm's parameters gamma and beta.
    return {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): tensor.float()
        for name, tensor in tensors.items()
    }


_OUTSIDE_LAYERS = {
    "encoder.embeddings.tokens.weight": "{base}.embeddings.word_embeddings.weight",
    "encoder.embeddings.segments.weight": "{base}.embeddings.token_type_embeddings.weight",
    "encoder.embeddings.positions.weight": "{base}.embeddings.position_embeddings.weight",
    "encoder.embeddings.norm": "{base}.embeddings.LayerNorm",
    "pooler.dense": "{base}.pooler.dense",
    "masked.transform": "cls.predictions.transform.dense",
    "masked.norm": "cls.predictions.transform.LayerNorm",
    "masked.bias": "cls.predictions.bias",
    "relation": "cls.seq_relationship",
}
"""Our names, whole or up to `.weight` and `.bias`, and theirs."""
_IN_LAYER = {
    "attention_out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feedforward_in": "intermediate.dense",
    "feedforward_out": "output.dense",
    "feedforward_norm": "output.LayerNorm",
}


def _names(ours: str, base: str) -> list[str]:
    """The published names of what we call `ours`: three for the fused queries, keys and values, otherwise one."""
    if ours.startswith("encoder.layers."):
        _, _, layer, part, kind = ours.split(".")
        prefix = f"{base}.encoder.layer.{layer}"
        if part == "attention_in":
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


def _fill(model: PretrainingModel, tensors: dict[str, Tensor], described: recipe.Model, directory: Path) -> None:
    """Sets `model` from published `tensors`; parameters of heads that are not among them stay as they are."""
    rotary = described.positions == "rotary"
    base = "roformer" if rotary else "bert"
    bare = not any(name.startswith(f"{base}.") for name in tensors)  # an encoder saved without heads has no prefix
    state = model.state_dict()
    for ours, value in state.items():
        names = _names(ours, base)
        if bare:
            names = [name.removeprefix(f"{base}.") for name in names]
        missing = [name for name in names if name not in tensors]
        if missing:
            if ours.startswith("encoder."):
                raise BadInput(f"{directory / _WEIGHTS} lacks {missing[0]}: it is not the model of its config.json")
            continue
        parts = []
        for name in names:
            turned = rotary and ".self." in name and ".value." not in name
            parts.append(_from_interleaved(tensors[name], described.heads) if turned else tensors[name])
        joined = torch.cat(parts)
        if joined.shape != value.shape:
            raise BadInput(
                f"{directory / _WEIGHTS}: {names[0]} is {tuple(tensors[names[0]].shape)}, "
                "which does not fit config.json"
            )
        state[ours] = joined
    model.load_state_dict(state)
