"""Coreference of a pronoun with one of two names or with neither, as in GAP (Webster et al. 2018).

It is a multiple choice, as in the other tasks with named candidates: [CLS] context [SEP] she means Ann [SEP] for both
names and for `neither`. The pronoun is marked in the context, `[ she ]`, as a text often has several.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bertlab.arrays import Float
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import marks
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import Options
from bertlab.tasks.kinds.multiple_choice import MultipleChoice
from bertlab.tasks.kinds.scoring import Arrays
from bertlab.tasks.metrics import Metric, MetricOfMeans, f1_points, percentage
from bertlab.tasks.task import RawExamples, Table, Task, columns_of
from bertlab.text.tokenizers.base import TrainedTokenizer

FEMININE = {"she": True, "her": True, "hers": True, "he": False, "him": False, "his": False}
"""Whether a pronoun is feminine, for all that GAP has."""
_MARKED = re.compile(rf"\[ ({'|'.join(FEMININE)}) \]", re.IGNORECASE)


class Coreference(MultipleChoice):
    """Whom a pronoun means: the first name, the second or neither."""

    name = "coreference"
    columns = range(5, 6)
    metrics: ClassVar[tuple[str, ...]] = ("f1", "f1_masculine", "f1_feminine", "bias")

    def label_columns(self, task: Task) -> tuple[str, ...]:
        """Two columns in braces, one a name."""
        columns = columns_of(task.label)
        if len(columns) != 2:
            raise BadInput(f"label {shown(task.label)}: give two columns in braces, such as '{{A-coref}} {{B-coref}}'")
        return columns

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """The first name, the second, neither."""
        return ("A", "B", "neither")

    def text(self, task: Task, table: Table) -> tuple[list[str], ...]:
        """The contexts with the pronoun marked, and what it may mean. Positions may be text, as in tables."""
        context, pronoun, offset, *names = task.text
        marked, pronouns = [], table.texts(pronoun)
        offsets = table.columns.get(offset) or table.texts(offset)
        for row, (text, word, at) in enumerate(zip(table.texts(context), pronouns, offsets, strict=True), start=1):
            if word.lower() not in FEMININE:
                raise BadInput(f"{table.where(pronoun)} row {row} is {shown(word)}: give one of {', '.join(FEMININE)}")
            begin = marks.number(at)
            end = begin + len(word)
            if begin < 0 or text[begin:end] != word:
                false = f"{shown(word)} does not start at {shown(at)} of the text"
                raise BadInput(f"{table.where(offset)} row {row}: {false}: give its position in characters")
            marked.append(marks.marked(text, begin, end))
        candidates = (*map(table.texts, names), ["neither"] * len(marked))
        meant = ([f"{word} means {name}" for word, name in zip(pronouns, column, strict=True)] for column in candidates)
        return (marked, *meant)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[int]:
        """0 or 1 for the name that the pronoun means, 2 for neither; tables have TRUE and FALSE as text."""
        columns = self.label_columns(task)
        indices = []
        for row, values in enumerate(zip(*map(table.columns.__getitem__, columns), strict=True), start=1):
            true = [{"true": True, "false": False}.get(str(value).lower()) for value in values]
            if None in true:
                at = true.index(None)
                raise BadInput(f"{table.where(columns[at])} row {row} is {shown(values[at])}: give true or false")
            if all(true):
                raise BadInput(f"{table.source} row {row} has {' and '.join(columns)} true: give one true at most")
            indices.append([*true, True].index(True))
        return indices

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Examples:
        """Encodes examples as multiple choice does.

        A long context keeps the tokens around the pronoun, half before and half after it, or more on one side if the
        other has less.
        """
        contexts, *endings = raw.text
        longest = np.max([[len(ids) for ids in tokenizer.encode(column)] for column in endings], axis=0)
        cut = []
        for text, (pieces, places), ending in zip(contexts, tokenizer.offsets(contexts), longest, strict=True):
            room, mark = max(1, length - 3 - int(ending)), _MARKED.search(text)
            centre = int(np.searchsorted([begin for begin, _ in places], mark.start(1))) if mark else 0
            begin = max(0, min(centre - room // 2, len(pieces) - room))
            nearest = places[begin : begin + room]
            cut.append(text[nearest[0][0] : nearest[-1][1]] if nearest else text)
        return super().encode(dataclasses.replace(raw, text=(cut, *endings)), tokenizer, length)

    def example_arrays(self, raw: RawExamples) -> Arrays:
        """Whether each pronoun is feminine."""
        feminine = np.array([FEMININE[text.partition(" ")[0].lower()] for text in raw.text[-1]], np.bool_)
        return {**super().example_arrays(raw), "feminine": feminine}

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """F1 of the two decisions for each pronoun, one a name, as GAP's scorer counts them: of all pronouns, of the
        masculine and of the feminine ones; the bias is 100 times feminine F1 divided by masculine F1."""
        predicted, true = (arrays[key][:, None] == np.arange(2) for key in ("prediction", "label"))
        counts = np.stack([(predicted & true).sum(1), predicted.sum(1), true.sum(1)], -1).astype(np.float64)
        if name == "f1":
            return MetricOfMeans(counts, f1_points)
        feminine = counts * arrays["feminine"][:, None]
        by_gender = {"f1_feminine": feminine, "f1_masculine": counts - feminine}
        if name in by_gender:
            return MetricOfMeans(by_gender[name], f1_points)
        if name != "bias":
            raise self.unscored(name)
        return MetricOfMeans(np.concatenate([*by_gender.values()], -1), _bias)


def _bias(means: Float) -> Float:
    """Feminine over masculine F1 in points, from the means that `f1_points` takes, feminine first; 0 if either is 0."""
    return percentage(np.stack([f1_points(means[..., :3]), f1_points(means[..., 3:])], -1))
