"""Fine-tuned models as a store keeps them: the tensors that differ from the pre-trained model, and what they are.

`task.safetensors` has the tensors, `task.json` the `Description`, with which the run needs nothing but its pre-trained
model. Adapters, low-rank changes and trained biases take their own size, a fine-tuned encoder that of all its weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from bertlab.store.run import CHANGES
from bertlab.store.schema import Count, Hash, Id, Number, Percent, Texts, to_json
from bertlab.store.writes import write, write_json

DESCRIPTION = "task.json"
"""The file of a `Description`."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a fine-tuned model is."""

    pretrained: Id
    """The run of the pre-trained model."""
    milestone: Percent = 100
    """The percentage of the steps of the pre-training after which fine-tuning began."""
    tokenizer: Hash
    """The SHA-256 of the file of the tokenizer."""
    task: str
    """The name of the task."""
    kind: str
    """The kind of the task."""
    text: Texts
    """What it reads of a row, as `Task.text`."""
    label: str
    """The column of the answers, as `Task.label`."""
    labels: Texts = ()
    """The names of its labels."""
    settings: Mapping[str, Any]
    """All fields of the adaptation, with its kind and the length of sequences."""
    threshold: Number | None = None
    """The score above which a question is answered, where questions may have no answer."""
    seed: Count = 0
    """The pre-training seed."""
    finetune_seed: Count = 0


def save(work: Path, description: Description, changes: Mapping[str, Tensor]) -> None:
    """Writes a fine-tuned model into the directory of its run; the tensors also name the pre-trained model."""
    from safetensors.torch import save as serialised

    write(work, CHANGES, serialised(dict(changes), {"pretrained": description.pretrained}))
    write_json(work, DESCRIPTION, to_json(description))
