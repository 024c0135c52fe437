"""The DataModules: batches of a pre-training, and of a task."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from lightning.pytorch import LightningDataModule

from bertlab.adaptation import Adaptation
from bertlab.adaptation.base import Inputs
from bertlab.errors import BadInput
from bertlab.inputs.batches import EVALUATION_SEQUENCES, Batches, Evaluation
from bertlab.inputs.streams import Arrays, Batch, Stream
from bertlab.model.streams import TensorBatch, TensorStream
from bertlab.recipe import Loss, Recipe
from bertlab.tasks import examples
from bertlab.tasks.examples import TaskBatch
from bertlab.text.tokens import TokenisedCorpus
from bertlab.training.process_group import SINGLE, ProcessGroup


@dataclass(frozen=True)
class MicroBatch:
    """A part of the batch of a step, as one process reads it."""

    sequences: TensorBatch
    counts: dict[str, float]
    """What the sum of each loss is divided by, by its kind: its predictions in the whole batch, the more the fewer
    sequences it has."""
    number: int  # from 0, over all processes
    last: bool  # the process has no other of the same step
    batch_tokens: int  # of the whole batch, padding included

    def to(self, device: torch.device | str) -> "MicroBatch":
        """The same part on a device."""
        return dataclasses.replace(self, sequences=self.sequences.to(device))


class PretrainingDataModule(LightningDataModule):
    """The training batches of a recipe, and held-out text for the fixed evaluations of its losses.

    Batch number s is a pure function of the recipe and s: training goes on from the Trainer's global step, and without
    a Trainer from step 0. Each process reads its own sequences of a batch.
    """

    def __init__(self, recipe: Recipe, corpus: TokenisedCorpus, *, micro_batch: int = 0, trimmed: bool = True) -> None:
        """`corpus` is what `bertlab.prepare_corpus` returns.

        `micro_batch` is the number of sequences that go through the model at once, 0 for all of a process: with it, the
        Trainer needs `accumulate_grad_batches=data.micro_batches(world_size)`. Where batches are counted by tokens,
        more sequences go through at once if they are short. Without `trimmed`, all batches have one shape.
        """
        super().__init__()
        self.recipe, self.corpus, self.micro_batch, self.trimmed = recipe.declared, corpus, micro_batch, trimmed
        self.batches = Batches(self.recipe, corpus, trimmed=trimmed)
        self.evaluations: list[Evaluation] = []

    def micro_batches(self, world_size: int = 1) -> int:
        """The micro-batches of each process in a step."""
        share = -(-max(stage.schedule.batch_size for stage, _ in self.recipe.stages) // world_size)
        return -(-share // self.micro_batch) if self.micro_batch else 1

    def setup(self, stage: str) -> None:
        """Draws the held-out sequences: those of milestones while training, all for `trainer.validate`."""
        final = stage == "validate"
        size = EVALUATION_SEQUENCES if final else EVALUATION_SEQUENCES // 4
        self.evaluations = []
        for loss in self.recipe.objective:
            self.evaluations += loss.evaluations(self.recipe, self.corpus, size, final)

    def train_dataloader(self) -> Iterable[MicroBatch]:
        """Batch after batch, from the step that the training has reached whenever it is read anew."""
        return Repeatable(self._micro_batches)

    def _micro_batches(self) -> Iterator[MicroBatch]:
        start, group = 0, SINGLE
        if self.trainer is not None:
            start, group = self.trainer.global_step, ProcessGroup(self.trainer.global_rank, self.trainer.world_size)
        count = self.micro_batches(group.world_size)
        for step in range(start, self.recipe.schedule.steps):
            batch = self.batches.batch(step)
            counts = {loss.kind: _count(loss, batch.arrays[loss.kind]) for loss in self.recipe.objective}
            for done, (number, begin, end) in enumerate(group.micro_batches(len(batch.tokens), count), start=1):
                part = self.tensors(batch.rows(slice(begin, end)))
                yield MicroBatch(part, counts, number, done == count, batch.tokens.size)

    def val_dataloader(self) -> Sequence[Iterable[TensorBatch]]:
        """The batches of each evaluation; every process reads all of them, and evaluates its own."""
        if not self.evaluations:  # read by itself
            self.setup("validate")
        return [Made(evaluation.batches, self.tensors) for evaluation in self.evaluations]

    def tensors(self, batch: Batch) -> TensorBatch:
        """A batch as tensors, with lengths also where no sequence has padding if batches have one shape."""
        return to_tensors(batch, always_lengths=not self.trimmed)


class Made:
    """What a function makes of each item, one after the other.

    No `DataLoader`: in its place a Trainer puts one that gives each process a part, and advises worker processes, which
    cost more than such a batch.
    """

    def __init__(self, items: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self.items, self.make = items, make

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return map(self.make, self.items)


class Repeatable:
    """What a function yields, from the beginning each time that it is read."""

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self.begin = begin

    def __iter__(self) -> Iterator[Any]:
        return self.begin()


def _count(loss: Loss, arrays: Arrays) -> float:
    """What a step divides the sum of a loss by: its predictions in a batch, the more the fewer sequences it has."""
    has = float(arrays["sequences"].mean()) if "sequences" in arrays else 1.0
    return loss.count(arrays) / has if has else math.inf


def to_tensors(batch: Batch, *, always_lengths: bool = False) -> TensorBatch:
    """What a model reads of a batch, as tensors; no lengths where no sequence has padding, unless `always_lengths`.

    A compiled model needs them: without lengths it would have another graph, and each process of a group another one.
    """

    def stream(numpy: Stream) -> TensorStream:
        padded = always_lengths or bool((numpy.lengths < numpy.tokens.shape[1]).any())
        return TensorStream(torch.from_numpy(numpy.tokens), torch.from_numpy(numpy.lengths) if padded else None)

    return TensorBatch(
        {name: stream(value) for name, value in batch.streams.items()},
        {
            kind: {name: torch.from_numpy(value) for name, value in added.items()}
            for kind, added in batch.arrays.items()
        },
        {name: torch.from_numpy(value) for name, value in batch.format.items() if value.ndim == 2},
    )


class TaskDataModule(LightningDataModule):
    """The examples of a task: epochs of training batches in a keyed order, and all examples to predict."""

    def __init__(
        self, train: Inputs, adaptation: Adaptation, key: Sequence[int | str], *, evaluation: Inputs | None = None
    ) -> None:
        """`key` orders the training examples; `evaluation` is what `trainer.validate` and `trainer.predict` read."""
        super().__init__()
        self.train, self.adaptation, self.key, self.evaluation = train, adaptation, tuple(key), evaluation
        self.steps = adaptation.steps(len(train.lengths))

    def train_dataloader(self) -> Iterable[TaskBatch]:
        """Epoch after epoch, each in its own order, from the step that the training has reached."""
        return Repeatable(self._epochs)

    def _epochs(self) -> Iterator[TaskBatch]:
        epoch, done = 0, 0
        start = 0 if self.trainer is None else self.trainer.global_step
        while done < self.steps:
            parts, mixing = self.train.parts, self.adaptation.mixing
            rows = examples.mixed(parts, mixing, epoch, *self.key) if parts is not None and mixing else None
            numbers = examples.epoch(self.train.lengths, self.adaptation.batch_size, *self.key, epoch, rows=rows)
            yield from map(self.train.build, numbers[max(0, start - done) : self.steps - done])
            done, epoch = done + len(numbers), epoch + 1

    def val_dataloader(self) -> Iterable[TaskBatch]:
        """The evaluation examples, the longest first."""
        if self.evaluation is None:
            raise BadInput("a TaskDataModule has no evaluation examples: pass evaluation=")
        return in_order(self.evaluation)

    predict_dataloader = val_dataloader

    def transfer_batch_to_device(self, batch: TaskBatch, device: torch.device, dataloader_idx: int) -> TaskBatch:
        """The batch itself on the CPU, where Lightning would copy each of its parts."""
        moved: TaskBatch = batch
        if device.type != "cpu":
            moved = super().transfer_batch_to_device(batch, device, dataloader_idx)
        return moved


def in_order(inputs: Inputs) -> Iterable[TaskBatch]:
    """Batches of all examples, the longest first, as `by_length` numbers them."""
    return Made(examples.by_length(inputs.lengths, inputs.batch_tokens), inputs.build)
