"""Checkpoints to and from the `transformers` format (`bertlab export`, `--from`); `architectures` has its models."""

import dataclasses
import json
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop.architectures import ARCHITECTURES, architecture_of
from bertlab.model.interop.architectures.base import Architecture
from bertlab.model.sharing import repeated
from bertlab.names import shown
from bertlab.recipe.backbones.base import Activation
from bertlab.text.tokenizers import base as tokenizers
from bertlab.text.tokenizers.added import load_object
from bertlab.text.tokenizers.base import TrainedTokenizer

_WEIGHTS = "model.safetensors"
_UNREAD = ("classifier.", "qa_outputs.", "sequence_summary.", "embeddings.position_ids")
"""Beginnings of tensors that are left out: heads of tasks, and the numbers of positions."""


def read(directory: Path, fresh: bool = False) -> tuple[recipe.Recipe, PretrainingModel, TrainedTokenizer]:
    """The model and tokenizer of a published checkpoint directory, and the recipe, as far as they determine it.

    An LM head that the checkpoint lacks has its initial values; with `fresh`, everything. The losses are those whose
    heads it has, and the LM's. Entries of the token table beyond the vocabulary, which pad some checkpoints, are left
    out. Raises `BadInput` for a file that is missing or damaged, and for a model that is not one of ours.
    """
    config = load_object(directory / "config.json")
    architecture, model = _model(config, directory)
    vocabulary, positions = config.get("vocab_size"), model.max_positions
    tokenizer = tokenizers.read(directory)
    if architecture.pad not in (None, tokenizer.pad):
        raise BadInput(
            f"the tokenizer of {directory} pads with the id {tokenizer.pad}, config.json says {architecture.pad}: they "
            "are not of one model"
        )
    for name, token in architecture.token_config(tokenizer).items():
        if config.get(name) not in (None, token, [token]):
            theirs = f"{directory / 'config.json'} has {name} {shown(config[name])}"
            raise BadInput(f"{theirs}: with this tokenizer, only models with {token} can be read")
    if type(vocabulary) is not int or not tokenizer.size <= vocabulary <= 10_000_000:
        raise BadInput(
            f"the tokenizer of {directory} has {tokenizer.size} entries, config.json says {shown(vocabulary)}: "
            "they are not of one model"
        )
    objective = architecture.objective(bool(config.get("is_decoder")))
    with torch.device("meta"):  # allocates nothing: first, the weights have to fit config.json
        shapes = PretrainingModel(model, vocabulary, positions, 0, objective)
    state = _state(directory / _WEIGHTS, shapes, architecture, model.heads)
    # A pooler that is not in it would pass for a pre-trained one: adapters would freeze it, and seeds share its draw.
    first, *others = objective
    objective = (first, *(loss for loss in others if any(name.startswith(f"{loss.head}.") for name in state)))
    ours = PretrainingModel(model, tokenizer.size, positions, 0, objective)
    if not fresh:
        for name in state.keys() & {"encoder.embeddings.tokens.weight", "encoder.output.weight", "lm_head.bias"}:
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
        names = {name for architecture in ARCHITECTURES.values() for name in architecture.parameter("lm_head.bias")}
        return not names.isdisjoint(weights.keys())


def write(
    directory: Path, model: PretrainingModel, described: recipe.BackboneConfig, tokenizer: TrainedTokenizer
) -> None:
    """Writes `model`, which `described` describes, as a checkpoint; `architecture_of` says as which.

    Raises `BadInput` if `directory` is not empty, or if no architecture of `transformers` computes what `model` does.
    """
    architecture, written = architecture_of(described, model.encoder.causal, tokenizer.pad)
    name = architecture.name(model)
    if not hasattr(model, architecture.lm_head):  # the losses have heads that published models lack
        name = f"{name.partition('For')[0]}Model"
    config = config_of(architecture, written, model.encoder, tokenizer) | {"architectures": [name]}
    tensors = architecture.derived(model.encoder)
    state = model.state_dict() if written == described.declared else repeated(model)
    for ours, value in state.items():
        # those of a head that published models lack have no names: SpanBERT's have none for span boundaries
        tensors |= published(architecture, architecture.parameter(ours), value, written.heads)
    write_files(directory, config, tensors, tokenizer, model.encoder.max_length, written.segments)


def write_task(
    directory: Path,
    length: int,
    model: nn.Module,
    pretrained: PretrainingModel,
    described: recipe.BackboneConfig,
    tokenizer: TrainedTokenizer,
    head: str,
    fields: Mapping[str, Any],
) -> str:
    """Writes the `model` of a task, an adapted `pretrained` one, as the class of its architecture for a `head`, such as
    `TokenClassification`; returns the name of the class. `fields` are those of config.json that the task adds, and
    `length` is that of the longest input.

    Raises `BadInput` if `directory` is not empty, or if no class of `transformers` computes what the model does.
    """
    encoder = pretrained.encoder
    architecture, written, name = task_class(pretrained, described, tokenizer, head)
    with torch.device("meta"):
        plain = described.new_encoder(len(encoder.output_embeddings), encoder.max_length, encoder.causal)
    inside = {f"encoder.{name}" for name in repeated(plain)}
    names = architecture.heads[head]
    state = model.state_dict() if written == described.declared else repeated(model)
    config = config_of(architecture, written, encoder, tokenizer) | architecture.task_config(head)
    tensors = architecture.derived(encoder) | architecture.task_tensors(encoder)
    for ours, value in state.items():
        theirs = architecture.parameter(ours) if ours in inside else architecture.renamed(ours, names)
        if not theirs or (ours.startswith("encoder.") and ours not in inside):
            raise BadInput(f"transformers has no place for {ours}, which the adaptation adds: use `bertlab predict`")
        tensors |= published(architecture, theirs, value, written.heads)
    write_files(
        directory, config | dict(fields) | {"architectures": [name]}, tensors, tokenizer, length, written.segments
    )
    return name


def config_of(
    architecture: Architecture[Any], written: Any, encoder: Any, tokenizer: TrainedTokenizer
) -> dict[str, Any]:
    """The fields of config.json, without the class."""
    config = {
        "model_type": architecture.kind,
        "vocab_size": len(encoder.output_embeddings),
        "hidden_size": written.hidden,
        "num_hidden_layers": written.layers,
        "num_attention_heads": written.heads,
        "intermediate_size": written.feedforward,
        "hidden_act": written.activation,
        "hidden_dropout_prob": written.dropout,
        "attention_probs_dropout_prob": written.dropout,
        "max_position_embeddings": architecture.first_position + encoder.max_length,
        "type_vocab_size": written.segments,
        "layer_norm_eps": written.layer_norm_eps,
        "initializer_range": written.init_std,
        "pad_token_id": tokenizer.pad,
        "tie_word_embeddings": True,
        "is_decoder": encoder.causal,
        **architecture.config(written),
        **architecture.token_config(tokenizer),
    }
    return {architecture.fields.get(name, name): value for name, value in config.items()}


def task_class(
    pretrained: PretrainingModel, described: recipe.BackboneConfig, tokenizer: TrainedTokenizer, head: str
) -> tuple[Architecture[Any], Any, str]:
    """The architecture of an adapted model, what it is there, and the name of its class for a `head`.

    Raises `BadInput` if no class of `transformers` computes what the model does.
    """
    causal = pretrained.encoder.causal
    architecture, written = architecture_of(described, causal, tokenizer.pad)
    name = f"{architecture.name(pretrained).rpartition('For')[0]}For{head}"
    if head not in architecture.heads or causal:
        differs = f" ({name} differs)" if head and not causal else ""
        raise BadInput(
            f"transformers has no class that computes what this model does{differs}: use it with `bertlab predict`"
        )
    return architecture, written, name


def published(architecture: Architecture[Any], names: list[str], value: Tensor, heads: int) -> dict[str, Tensor]:
    """A parameter of ours as the published tensors with these names."""
    parts = value.detach().float().cpu().chunk(len(names)) if names else ()
    return {name: architecture.published(name, part, heads) for name, part in zip(names, parts, strict=True)}


def write_files(
    directory: Path,
    config: dict[str, Any],
    tensors: dict[str, Tensor],
    tokenizer: TrainedTokenizer,
    length: int,
    segments: int,
) -> None:
    """Writes the files of a checkpoint. Raises `BadInput` if `directory` is not empty."""
    from safetensors.torch import save

    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise BadInput(f"{directory} exists: give a new directory to export to")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    tokenizer.write(directory, length, segments)
    whole = {name: value.detach().clone() for name, value in tensors.items()}
    # `save_file` reports a full disk as an error of its own, and only its owner can read its files.
    (directory / _WEIGHTS).write_bytes(save(whole, metadata={"format": "pt"}))


def _model(config: dict[str, Any], directory: Path) -> tuple[Architecture[Any], recipe.TransformerConfig]:
    path = directory / "config.json"
    kind = config.get("model_type") or _kind_of(directory)
    architecture = ARCHITECTURES.get(kind) if isinstance(kind, str) else None
    if architecture is None:
        readable = ", ".join(ARCHITECTURES)
        raise BadInput(f"{path} is of a model of type {shown(kind)}: only {readable} checkpoints can be read")
    values = {**architecture.usual, **{name: value for name, value in config.items() if value is not None}}
    for name, theirs in architecture.fields.items():
        values[name] = values.get(theirs)
    pad = values.get("pad_token_id")
    architecture = architecture.padded(pad) if type(pad) is int else architecture
    dropout, activation = values["hidden_dropout_prob"], values["hidden_act"]
    fixed = {"attention_probs_dropout_prob": dropout, **architecture.fixed(values)}
    if activation not in (activations := typing.get_args(Activation)):
        theirs = architecture.fields.get("hidden_act", "hidden_act")
        raise BadInput(
            f"{path} has {theirs} {shown(activation)}: only models with {' or '.join(activations)} can be read"
        )
    for name, ours in fixed.items():
        if values.get(name) not in (None, ours):
            theirs = architecture.fields.get(name, name)
            only = ours if isinstance(ours, str) else shown(ours)
            raise BadInput(f"{path} has {theirs} {shown(values[name])}: only models with {only} can be read")
    for name in ("intermediate_size", "max_position_embeddings", "embedding_size"):
        if values.get(name) == 0:  # which stands for a default in our recipes
            raise BadInput(f"{path} has {name} 0: give 1 or more")
    try:
        model: recipe.TransformerConfig = architecture.model(
            layers=values["num_hidden_layers"],
            hidden=values["hidden_size"],
            heads=values["num_attention_heads"],
            intermediate=values["intermediate_size"],
            max_positions=values["max_position_embeddings"] - architecture.first_position,
            layer_norm_eps=float(values.get("layer_norm_eps", 1e-12)),
            dropout=float(dropout),
            activation=activation,
            **architecture.described(values),
        )
    except (BadInput, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{path} is not the config of a model ({error}): fetch the checkpoint again") from None
    by_default = dataclasses.replace(model, intermediate=0)
    model = by_default if by_default.feedforward == model.feedforward else model
    by_width = dataclasses.replace(model, initialisation="width")
    return architecture, by_width if values.get("initializer_range") == by_width.init_std != model.init_std else model


def _kind_of(directory: Path) -> str:
    """The type of a model by the names of its tensors, as early configs have none. Raises `BadInput` if they do not say
    it."""
    with _opened(directory / _WEIGHTS) as weights:
        names = list(weights.keys())
    for kind in ARCHITECTURES:
        if any(name.startswith(f"{kind.replace('-', '_')}.") for name in names):
            return kind
    raise BadInput(
        f'{directory / "config.json"} has no model_type, and the weights do not say it: add "model_type": "bert" if it '
        f"is a BERT (or {', '.join(sorted(ARCHITECTURES.keys() - {'bert'}))})"
    )


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


def _state(path: Path, shapes: PretrainingModel, architecture: Architecture[Any], heads: int) -> dict[str, Tensor]:
    """The published tensors as our parameters, which have the shapes of `shapes`; heads may be missing.

    Raises `BadInput` for a tensor that is not finite or of another shape, that is missing or that would be lost.
    """
    base, state = architecture.base, {}
    with _opened(path) as weights:
        # Checkpoints converted from TensorFlow call LayerNorm's parameters gamma and beta.
        originals = {
            name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): name
            for name in weights.keys()  # noqa: SIM118, it is no mapping
        }
        if not any(name.startswith(f"{base}.") for name in originals):  # an encoder saved without heads has no prefix
            originals = {f"{base}.{name}": original for name, original in originals.items()}
        for ours, value in shapes.state_dict().items():
            names = architecture.parameter(ours)
            missing = [name for name in names if name not in originals]
            if missing and ours.startswith("encoder."):
                raise BadInput(f"{path} lacks {missing[0]}: it is not the model of its config.json")
            if missing or not names:
                continue
            parts, shape = [], [len(value) // len(names), *value.shape[1:]]
            if ours == "encoder.embeddings.positions.weight":
                shape[0] += architecture.first_position
            for name in names:
                part = weights.get_tensor(originals.pop(name))
                if list(part.shape) != shape:
                    raise BadInput(f"{path}: {name} is {[*part.shape]}, which does not fit config.json: {shape}")
                if not part.is_floating_point():
                    raise BadInput(f"{path}: {name} is {part.dtype}: weights must be floating-point numbers")
                if not part.isfinite().all():
                    raise BadInput(f"{path}: {name} is not finite everywhere: give a checkpoint that was not damaged")
                parts.append(architecture.ours(name, part.float(), heads))
            state[ours] = torch.cat(parts)
        copies = {name: state[ours] for name, ours in architecture.copies.items() if ours in state}
        derived = architecture.derived(shapes.encoder)
        for name, original in originals.items():
            copy, there = {**copies, **derived}.get(name), weights.get_tensor(original).float()
            tolerance = architecture.rounding if name in derived else 0.0
            copied = copy is not None and copy.shape == there.shape and torch.allclose(there, copy, 0, tolerance)
            if not copied and not name.removeprefix(f"{base}.").startswith((*_UNREAD, *architecture.unread)):
                raise BadInput(f"{path}: the model of config.json has no place for {name}: it is another model")
    return state
