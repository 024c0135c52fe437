"""The job that imports a published checkpoint."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput
from bertlab.lab.jobs.base import Pretrained, without_none
from bertlab.machine import Machine
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.progress import Progress
from bertlab.recipe import Recipe
from bertlab.recipe.identity import to_canonical
from bertlab.store.files import read_json
from bertlab.store.run import Run
from bertlab.store.runs import Store
from bertlab.store.writes import write_json


@dataclass(frozen=True)
class CheckpointImport(Pretrained, kinds=("import",)):
    """Imports a published checkpoint in the form of a pre-training."""

    checkpoint: Checkpoint
    fresh: bool = False
    """Whether to replace its weights by new ones, for the variant without pre-training."""
    kind = "import"
    preparation = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "published", self.checkpoint.name)

    @property
    def label(self) -> str:
        """The checkpoint's name."""
        return f"{self.checkpoint.name}-fresh" if self.fresh else self.checkpoint.name

    def definition(self) -> dict[str, Any]:
        """The data from which the id follows."""
        return {"checkpoint": self.checkpoint.content, **without_none(fresh=self.fresh or None)}

    @classmethod
    def of_run(cls, run: Run) -> CheckpointImport:
        """The import of a finished run, whose checkpoint may be a directory that is not known any more."""
        definition, result = run.definition(), run.result()
        checkpoint = Checkpoint(definition["checkpoint"], result.checkpoint, commit=result.commit)
        return cls(checkpoint, fresh=bool(definition.get("fresh")))

    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Reads the checkpoint, and writes weights, vocabulary and recipe into `work`."""
        from bertlab.model.interop import huggingface

        directory = self.checkpoint.fetch()
        recipe, model, tokenizer = huggingface.read(directory, fresh=self.fresh)
        tokenizer.save(work / recipe.tokenizer.file)
        model.save(work / "model.safetensors")
        record = read_json(work / "recipe.json", dict[str, Any])
        record["science"]["recipe"] = to_canonical(recipe)
        write_json(work, "recipe.json", record)
        return {
            "status": "done",
            "checkpoint": self.checkpoint.name,
            "content": self.checkpoint.content,
            **without_none(commit=self.checkpoint.commit or None),
            "fresh": self.fresh,
            "predicts": self.fresh or huggingface.predicts(directory),
            "parameters": sum(value.numel() for value in model.parameters()),
            "vocabulary": tokenizer.size,
        }

    def fitted(self, adaptation: Adaptation) -> Adaptation:
        """An adaptation as it is. Raises `BadInput` if it needs an LM head, and the checkpoint has none."""
        from bertlab.model.interop import huggingface

        if not adaptation.trains and not self.fresh and not huggingface.predicts(self.checkpoint.fetch()):
            raise BadInput(f"{self.label} was published without its LM head and scores no sentences: use another")
        return adaptation

    def read_recipe(self) -> Recipe:
        """The recipe, as far as the checkpoint's files determine it."""
        return _recipe(self.checkpoint)

    @property
    def cased(self) -> bool:
        """Whether its name does not say that it is uncased."""
        return "uncased" not in self.checkpoint.name

    def untrained(self) -> CheckpointImport:
        """The checkpoint with new weights."""
        if not self.checkpoint.reachable:
            raise BadInput(f"--random-init needs the files of '{self.label}': give its directory with --from")
        return dataclasses.replace(self, fresh=True)


@lru_cache(maxsize=4)
def _recipe(checkpoint: Checkpoint) -> Recipe:
    from bertlab.model.interop import huggingface

    recipe, _, _ = huggingface.read(checkpoint.fetch(), fresh=True)
    return recipe
