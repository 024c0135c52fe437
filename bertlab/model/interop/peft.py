"""LoRA adapters in the format of `peft` (`bertlab export --adapter`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop.huggingface import published, task_class
from bertlab.store import writes
from bertlab.text.tokenizers.base import TrainedTokenizer

PREFIX = "base_model.model."
"""What `peft` puts before the names of a model's tensors."""


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
    which replace the ones of the exported model.

    Raises `BadInput` if no class of `transformers` computes what the model does.
    """
    from safetensors.torch import save

    architecture, model, name = task_class(pretrained, described, tokenizer, head)
    tensors, changed, replaced = dict[str, Tensor](), list[str](), dict[str, None]()
    for change in changes:
        weights = architecture.parameter(change.weight)
        if not weights:
            raise BadInput(f"transformers has no place for {change.weight}: use the model with `bertlab predict`")
        weights = weights if change.matrix is None else [weights[change.matrix]]
        for weight, rows in zip(weights, change.up.chunk(len(weights)), strict=True):
            changed.append(weight.removesuffix(".weight"))
            up = published(architecture, [weight], rows, model.heads)[weight]
            tensors |= {f"{changed[-1]}.lora_A.weight": change.down.clone(), f"{changed[-1]}.lora_B.weight": up}
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
