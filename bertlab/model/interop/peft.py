"""LoRA adapters in the format of `peft` (`bertlab export --adapter`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop.architectures.base import Architecture
from bertlab.model.interop.huggingface import published, task_class
from bertlab.model.sharing import further_names
from bertlab.store import writes
from bertlab.text.tokenizers.base import TrainedTokenizer

PREFIX = "base_model.model."
"""What `peft` puts before the names of a model's tensors."""
_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"


@dataclass(frozen=True)
class LowRankChange:
    """What was added to a weight matrix: alpha / rank times B A."""

    weight: str
    """The name of the parameter."""
    matrix: int | None
    """The number of the matrix in it, where several are one below another; None for all of it."""
    down: Tensor
    """A, (rank, columns)."""
    up: Tensor
    """B, (rows, rank)."""
    alpha: float
    """The factor of the change times the rank."""


def write(
    directory: Path,
    trained: Mapping[str, Tensor],
    changes: Sequence[LowRankChange],
    pretrained: PretrainingModel,
    described: recipe.BackboneConfig,
    tokenizer: TrainedTokenizer,
    head: str,
) -> str:
    """Writes the adapter that `peft` puts on the exported model of `pretrained`; returns the name of its class, which
    ends with `head`, such as `TokenClassification`.

    `trained` are all tensors that training changed, by name: the `changes` of weight matrices, and those of the head,
    which replace the ones of the exported model. A matrix that layers share is changed in each layer that has it there.

    Raises `BadInput` if no class of `transformers` computes what the model does, on what is exported of `pretrained`.
    """
    from safetensors.torch import save

    architecture, model, name = task_class(pretrained, described, tokenizer, head)
    if architecture.task_config(head) or architecture.task_tensors(pretrained.encoder):
        advice = "leave out --adapter"
        raise BadInput(f"{name} has more between encoder and head than the exported pre-training: {advice}")
    owners = further_names(pretrained) if model != described.declared else {}  # which layers of `model` do not share
    tensors, replaced = dict[str, Tensor](), dict[str, None]()
    for change in changes:
        for ours in (change.weight, *(name for name, owner in owners.items() if owner == change.weight)):
            tensors |= _low_rank(architecture, ours, change, model.heads)
    changed = [name.removesuffix(_DOWN) for name in tensors if name.endswith(_DOWN)]
    for ours, value in trained.items():
        if not ours.startswith("encoder."):
            names = architecture.renamed(ours, architecture.heads[head])
            tensors |= published(architecture, names, value, model.heads)
            replaced |= {name.rpartition(".")[0]: None for name in names}
    config = {
        "peft_type": "LORA",
        "r": changes[0].down.shape[0],
        "lora_alpha": changes[0].alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": changed,
        "modules_to_save": [*replaced],
        "inference_mode": True,
    }
    whole = {f"{PREFIX}{name}": value.contiguous() for name, value in tensors.items()}
    writes.write(directory, "adapter_model.safetensors", save(whole, metadata={"format": "pt"}))
    writes.write(directory, "adapter_config.json", json.dumps(config, indent=2) + "\n")
    return name


def _low_rank(architecture: Architecture[Any], ours: str, change: LowRankChange, heads: int) -> dict[str, Tensor]:
    """A change of the parameter `ours` as tensors of `peft`. Raises `BadInput` for one that published models lack."""
    weights, tensors = architecture.parameter(ours), dict[str, Tensor]()
    if not weights:
        raise BadInput(f"transformers has no place for {ours}: use the model with `bertlab predict`")
    weights = weights if change.matrix is None else [weights[change.matrix]]
    for weight, rows in zip(weights, change.up.chunk(len(weights)), strict=True):
        name, up = weight.removesuffix(".weight"), published(architecture, [weight], rows, heads)[weight]
        tensors |= {f"{name}{_DOWN}": change.down.clone(), f"{name}{_UP}": up.clone()}
    return tensors
