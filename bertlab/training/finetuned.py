"""Fine-tuned models as a store keeps them: the tensors that differ from the pre-trained model, and what they are.

`task.safetensors` has the tensors, `task.json` the `Description`, with which the run needs nothing but its pre-trained
model. Adapters, low-rank changes and trained biases take their own size, a fine-tuned encoder that of all its weights.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.names import shown
from bertlab.progress import silent, stop_if_asked
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.store.run import CHANGES, Run
from bertlab.store.runs import Store
from bertlab.store.schema import Count, Hash, Id, Number, Percent, Texts, to_json
from bertlab.store.writes import write, write_json
from bertlab.tasks import kinds
from bertlab.tasks.data import group_numbers
from bertlab.tasks.examples import TaskBatch
from bertlab.tasks.kinds.base import TaskKind
from bertlab.tasks.task import RawExamples, Table, Task, columns_of
from bertlab.text.lines import Line
from bertlab.training.data import in_order
from bertlab.training.finetuning import Pretrained, in_order_of_targets, open_pretrained, prepare, weights_file
from bertlab.training.trainer import configure_process

T = TypeVar("T")
Row = Mapping[str, Any]
"""The value of each column by its name."""
Output = dict[str, Any]
"""What `TaskKind.outputs` says of a row."""
ROWS = 2048
"""Rows that are read, and divided into batches of similar length, together."""

BATCHES = 4
"""On the CPU, what is one batch of an evaluation is this many, whose activations stay in the cache, and widths are not
rounded: in fp32, no kernel is compiled for a new one. Together 1.4 times as fast (`benchmarks/predicting.py`)."""

DESCRIPTION = "task.json"
"""The file of a `Description`."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a fine-tuned model is."""

    pretrained: Id
    """The run of the pre-trained model."""
    milestone: Percent = 100
    """The percentage of the steps of the pre-training after which fine-tuning began."""
    weights: Hash
    """The SHA-256 of the file of its weights."""
    tokenizer: Hash
    """The SHA-256 of the file of its tokenizer."""
    task: str
    """The name of the task."""
    kind: str
    """The kind of the task."""
    text: Texts
    """What it reads of a row, as `Task.text`."""
    label: str
    """The column of the answers, as `Task.label`."""
    group: str = ""
    """The column of `Task.group` that the examples have; empty for none."""
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


@dataclass(frozen=True, kw_only=True)
class Finetuned:
    """A fine-tuned model that answers rows of its task."""

    description: Description
    pretrained: Pretrained
    model: nn.Module
    """The module of `Adaptation.adapt`, trained, merged, and in evaluation mode."""
    adaptation: Adaptation
    kind: TaskKind
    machine: Machine

    def __call__(self, rows: Iterable[Row]) -> list[Output]:
        """What the model answers to rows of the columns that its task reads, see `columns`. Raises `BadInput` that
        names a row without them, from 1."""
        lines = ((number, _columns(number, row)) for number, row in enumerate(rows, start=1))
        return [output for _, output in self.outputs(lines, "row")]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads of a row: those of the text, and if it reads neighbours, that of the group."""
        grouped = [self.description.group] if self.description.group and self._context_rows else []
        return tuple(dict.fromkeys((*chain.from_iterable(map(columns_of, self.description.text)), *grouped)))

    @property
    def _context_rows(self) -> int:
        """How many rows before and after one it may read with it."""
        return self.kind.context_rows(self.adaptation.length, self.adaptation.options(self.kind))

    def outputs(
        self, lines: Iterable[Line], unit: str = "line", skip: Callable[[BadInput], object] | None = None
    ) -> Iterator[tuple[int, Output]]:
        """The number and the output of each row, in their order; holds `ROWS` of them at once, and neighbours that a
        kind of task reads.

        A row that cannot be read is given to `skip`, and its neighbours are then each other's; without that, raises its
        `BadInput`, which names the row as the `unit` of its number.
        """
        for window, inside in _windows(self._readable(lines, unit, skip), ROWS, self._context_rows):
            raw = self._examples([row for _, row in window], "").take(np.array(inside))
            yield from zip([window[index][0] for index in inside], self.answer(raw), strict=True)

    def answer(self, raw: RawExamples) -> list[Output]:
        """What it answers to examples, whose labels it does not read."""
        settings, tokenizer = self.adaptation, self.pretrained.tokenizer
        part = self.kind.encode(raw, tokenizer, settings.length, options=settings.options(self.kind))
        with torch.inference_mode():
            if on_cpu := not self.machine.gpus:
                part = dataclasses.replace(part, width_step=1)
            read = settings.inputs(self.pretrained.model, part, self.machine, silent)
            if on_cpu:
                read = dataclasses.replace(read, batch_tokens=max(1, read.batch_tokens // BATCHES))
            batches = [self._scores(batch) for batch in in_order(read)]
        scores = in_order_of_targets(part, read, batches)
        return self.kind.outputs(self.description.labels, raw, part, scores, self.description.threshold)

    def _scores(self, batch: TaskBatch) -> Tensor:
        stop_if_asked()
        batch = {name: value.to(self.machine.device) for name, value in batch.items()}
        logits = self.adaptation.logits(self.model, self.kind, batch)
        return self.kind.scores(self.model, batch, logits).float().cpu()

    def _readable(
        self, lines: Iterable[Line], unit: str, skip: Callable[[BadInput], object] | None
    ) -> Iterator[tuple[int, Row]]:
        """The numbers of the rows that can be read, and these."""
        remaining = iter(lines)
        while chunk := list(islice(remaining, ROWS)):
            yield from self._read(chunk, unit, skip).items()

    def _read(self, chunk: Sequence[Line], unit: str, skip: Callable[[BadInput], object] | None) -> dict[int, Row]:
        """The rows that can be read, by their numbers."""
        rows: dict[int, Row] = {number: row for number, row in chunk if not isinstance(row, BadInput)}
        if len(rows) == len(chunk):
            try:
                self._examples(list(rows.values()), "")
            except BadInput:  # of one row or several: which, each by itself says
                pass
            else:
                return rows
        for number, row in chunk:
            try:
                if isinstance(row, BadInput):
                    raise row
                self._examples([row], f"{unit} {number}")
            except BadInput as error:
                # a table of one row calls it the first one
                refused = BadInput(str(error).replace(" row 1 ", " ", 1))
                if skip is None:
                    raise refused from None
                skip(refused)
                rows.pop(number, None)
        return rows

    def _examples(self, rows: Sequence[Row], source: str) -> RawExamples:
        """Rows as examples, whose labels stand in for those that they do not have. Raises `BadInput`."""
        described = self.description
        task = Task(kind=described.kind, text=described.text, label=described.label, labels=described.labels)
        table = Table.of(rows, source, self.columns)
        text = self.kind.text(task, table)
        groups = group_numbers(table, described.group) if described.group in table.columns else None
        return RawExamples(text=text, labels=self.kind.blank(task, table, text), groups=groups)


def _columns(number: int, row: object) -> dict[str, Any]:
    """A row as a dictionary. Raises `BadInput` for what is none, such as the names that a DataFrame gives."""
    if not isinstance(row, Mapping):
        advice = 'such as [{"sentence": "fine"}], or table.to_dict("records") of a DataFrame'
        raise BadInput(f"row {number} is {shown(row)}: give rows that map columns to values, {advice}")
    return dict(row)


def _windows(rows: Iterable[T], size: int, reach: int) -> Iterator[tuple[list[T], range]]:
    """The rows in their order, `size` at a time with at most `reach` before and after them, and the indices of these
    `size`."""
    remaining, before = iter(rows), list[T]()
    ahead = list(islice(remaining, size + reach))
    while ahead:
        end = len(before) + min(size, len(ahead))
        window = before + ahead
        yield window, range(len(before), end)
        before = window[max(0, end - reach) : end]
        ahead = window[end:] + list(islice(remaining, size))


def hashes_of(pretraining: Run, milestone: int) -> dict[str, str]:
    """The SHA-256 of the files that a fine-tuning reads of a pre-training, by the fields of `Description`."""
    science, manifest = load(Recipe, pretraining.definition()["recipe"]), pretraining.manifest()
    files = {"weights": weights_file(science, milestone), "tokenizer": science.tokenizer.file}
    return {name: manifest[file].sha256 if file in manifest else "" for name, file in files.items()}


def open_finetuned(store: Store, run: Run, machine: Machine) -> Finetuned:
    """The fine-tuned model that a run keeps, with the pre-trained one that the store has.

    Raises `BadInput` if either is damaged, or the pre-trained one is missing or another one, and if the machine lacks
    its devices.
    """
    from safetensors.torch import load_file

    machine.check()
    configure_process(machine)
    run.verify()
    described = run.read(DESCRIPTION, Description)
    parent = store.get(described.pretrained)
    if parent is None:
        lacks = f"run {run.id} was fine-tuned from run {described.pretrained}, which '{store.root}' does not have"
        raise BadInput(f"{lacks}: give the store that has both, or join them with `bertlab merge`")
    parent.verify()
    adaptation, kind = load(Adaptation, described.settings), kinds.find(described.kind)
    opened = open_pretrained(parent.path, described.milestone)
    for name, sha256 in hashes_of(parent, described.milestone).items():
        if getattr(described, name) != sha256:
            other = f"run {run.id} was fine-tuned from run {parent.id} with another file of its {name}"
            raise BadInput(f"{other}: give the store in which it was trained, or train it again")
    opened, model = prepare(opened, adaptation, kind, described.labels, described.seed, described.finetune_seed)
    try:
        unexpected = model.load_state_dict(load_file(run.file(CHANGES)), strict=False).unexpected_keys
    except RuntimeError:  # a tensor of another shape
        unexpected = ["another shape"]
    if unexpected:
        raise BadInput(f"run {run.id} was fine-tuned by another version of bertlab: train it again")
    adaptation.merge(model)
    model.eval().to(machine.device)
    return Finetuned(
        description=described, pretrained=opened, model=model, adaptation=adaptation, kind=kind, machine=machine
    )
