"""`bertlab generate`: the texts that a model with a decoder writes, to inspect it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bertlab.cli.complete import MODEL
from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, RUNS, STUDY_FILE, Names, argument, option
from bertlab.errors import BadInput
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from bertlab.arrays import Integer
    from bertlab.model.decoding import TextModel
    from bertlab.text.tokenizers.base import TrainedTokenizer

TEXTS = 32
"""Texts that are read together."""


def generate(
    run: str = argument(..., MODEL, "A finished pre-training, a measurement that keeps its model, or a checkpoint."),
    text: Names = argument(
        None, "TEXT", "Texts that it reads, with sentinels such as <extra_id_0> or not; without one, lines of input."
    ),
    beam: int = option(1, "N", "Beams of the search; 1: the most probable token at each step.", min=1, max=100),
    max_length: int = option(0, "N", "Tokens of a text at most; 0: as many as the model reads.", min=0, max=10_000),
    study: str = STUDY_FILE,
    runs: Path = RUNS,
    json: bool = JSON,
) -> None:
    """Print the texts that a model with a decoder, such as T5, writes for texts, each with its log-likelihood (nats).

    A fine-tuned model reads a text as its task has it. A pre-trained one reads a text with sentinels, and its spans are
    printed in their places. Without a TEXT, each line of standard input is one.

    Example: bertlab generate t5-baseline/baseline/0 "the old <extra_id_0> sat down"
    """
    writer = _opened(run, runs, study)
    texts = text or [*_lines()]
    batches = (texts[first : first + TEXTS] for first in range(0, len(texts), TEXTS))
    written = (one for batch in batches for one in writer.written(batch, beam, max_length))
    if json:
        print_json([*written])
        return
    for one in written:
        unfinished = "" if one["finished"] else ", without an end"
        figures = f"log-likelihood {one['log_likelihood']:.2f}, {pluralise(one['tokens'], 'token')}{unfinished}"
        say(f"{one['filled'] or one['text']} ({figures})")


def _lines() -> Iterator[str]:
    """The lines of standard input that have a text."""
    from bertlab.text import rows

    if sys.stdin is None:
        raise BadInput("standard input is closed: give a TEXT, or lines on standard input")
    with rows.reading("standard input"):
        text = sys.stdin.buffer.read().decode("utf-8-sig").replace("\r\n", "\n")
    return filter(str.strip, text.split("\n"))  # other ends of lines are in a text


@dataclass(frozen=True)
class _Writer:
    """A model that writes texts."""

    model: TextModel
    tokenizer: TrainedTokenizer
    first: list[int]
    """The ids in front of a text."""
    start: int
    """The id with which the decoder begins."""
    length: int
    """Tokens of a text that it reads, at most."""

    def written(self, texts: Sequence[str], beams: int, most: int) -> list[dict[str, Any]]:
        """The texts that it writes in at most `most` tokens, 0 for as many as it reads. Raises `BadInput` for a text
        that is too long or has a sentinel that the tokenizer lacks."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        from bertlab.model.streams import TensorBatch

        inputs = [torch.tensor(self._ids(text)) for text in texts]
        padded = pad_sequence(inputs, batch_first=True, padding_value=self.tokenizer.pad)
        batch = TensorBatch.of(padded, torch.tensor([*map(len, inputs)]))
        start, end = (torch.full((len(texts),), token) for token in (self.start, self.tokenizer.sep))
        with torch.inference_mode():
            outputs = self.model.generate(batch, start, end, most or self.length, beams)
            log_likelihood, counts = self.model.log_likelihood(batch, start, end, outputs)
        rows = [row[:count] for row, count in zip(outputs.numpy(), counts, strict=True)]
        return [
            {"log_likelihood": value, "tokens": len(row), **self._shown(text, row)}
            for text, row, value in zip(texts, rows, log_likelihood.tolist(), strict=True)
        ]

    def _ids(self, text: str) -> list[int]:
        """The ids of a text, with those of its sentinels."""
        from bertlab.text.tokenizers.base import SENTINEL

        marks, sentinels = [int(mark[10:-1]) for mark in SENTINEL.findall(text)], self.tokenizer.sentinels
        if marks and max(marks) >= len(sentinels):
            raise BadInput(f"<extra_id_{max(marks)}> is none of the model's {len(sentinels)} sentinels: leave it out")
        head, *others = self.tokenizer.encode_around(SENTINEL.split(text))
        ids = [*self.first, *head]
        for mark, part in zip(marks, others, strict=True):
            ids += [int(sentinels[mark]), *part]
        ids.append(self.tokenizer.sep)
        if len(ids) > self.length:
            raise BadInput(f"a text has {len(ids)} tokens, and the model reads {self.length}: shorten it")
        return ids

    def _shown(self, text: str, row: Integer) -> dict[str, Any]:
        """What it wrote behind a `text`: the words with their sentinels, and the text with these words in it."""
        import numpy as np

        from bertlab.text.tokenizers.base import SENTINEL

        finished = bool(len(row)) and row[-1] == self.tokenizer.sep
        row = row[:-1] if finished else row
        marks = np.flatnonzero(np.isin(row, self.tokenizer.sentinels))
        head, *spans = self.tokenizer.decode([part.tolist() for part in np.split(row, marks)])
        names = [self.tokenizer.vocabulary[row[mark]] for mark in marks]
        filled, words = "", dict(zip(names, spans, strict=True))
        if not words.keys().isdisjoint(mark[0] for mark in SENTINEL.finditer(text)):
            filled = SENTINEL.sub(lambda mark: words.get(mark[0], mark[0]), text)
        shown = [head, *(f"{name} {span}" for name, span in zip(names, spans, strict=True))]
        return {"text": " ".join(filter(None, map(str.strip, shown))), "filled": filled, "finished": bool(finished)}


def _opened(name: str, runs: Path, study: str) -> _Writer:
    """The model of a run or a checkpoint. Raises `BadInput` if it writes no texts."""
    from bertlab.lab import finetuned, pretrained, user_code
    from bertlab.lab.jobs.find import run_or_checkpoint
    from bertlab.machine import Machine
    from bertlab.model.decoding import TextModel
    from bertlab.store import lookup
    from bertlab.store.runs import Store
    from bertlab.tasks.kinds.generated import Generated

    store, machine = Store(runs), Machine(runs=runs)
    named = lookup.find_all(store, name)
    if any(run.holds_task_model for run in named) or (named and not any(run.holds_model for run in named)):
        adapted = finetuned.opened(store, name, study, user_code.OPTION, machine)
        if not isinstance(adapted.kind, Generated):
            raise BadInput(
                f"{name} was trained on {adapted.kind.name}, whose answers are no texts: use `bertlab predict`"
            )
        tokenizer, settings = adapted.pretrained.tokenizer, adapted.adaptation
        return _Writer(cast(TextModel, adapted.model), tokenizer, *settings.begins(tokenizer), settings.length)
    opened = pretrained.opened(name, run_or_checkpoint(name, store, machine, "RUN"), study)
    model, tokenizer = TextModel(opened.model.encoder, 0.0).eval(), opened.tokenizer
    front = [tokenizer.cls] * tokenizer.opened
    return _Writer(model, tokenizer, front, tokenizer.pad, opened.positions)
