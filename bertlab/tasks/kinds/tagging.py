"""Tagging of words, as in BERT section 5.3: the tag of a word is predicted at its first word piece."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import lexical
from bertlab.tasks.examples import Examples, Floats, Integers
from bertlab.tasks.kinds.base import LIKELIHOOD, Arrays, Options, Predicted, TaskKind
from bertlab.tasks.metrics import Labels, Metric, MetricOfMeans, f1_points, percentage, ratio
from bertlab.tasks.raw import RawExamples, Table, TaskData
from bertlab.tasks.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.text.tokenizers.base import TrainedTokenizer

CONTEXT = "context"
"""The option that neighbouring sentences of the document fill a sequence."""

_BIO = re.compile(r"O|[BI]-.+")


class Tagging(TaskKind):
    """A label for each word: entities, parts of speech or others."""

    name = "tagging"
    columns = range(1, 2)
    metrics = ("accuracy", "precision", "recall", "f1")
    setting = "tagging"
    options = (CONTEXT,)
    labelled = cased = tokenwise = True

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """The names of the task or of its source, else the tags in the data."""
        return task.labels or tables[0].names or label_names([self._tags(task, table) for table in tables])

    def text(self, task: Task, table: Table) -> tuple[list[list[str]], ...]:
        """Lists of words."""
        words, _ = sentences(table, task.text[0], task.label)
        return (words,)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[Integers]:
        """The tag of each word."""
        return numbers(self._tags(task, table, names), names, table.place)

    def _tags(self, task: Task, table: Table, names: tuple[str, ...] = ()) -> list[list[str]]:
        _, tags = sentences(table, task.text[0], task.label)
        return named(tags, names, table.where(task.label))

    def known(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Precision, recall and F1 are those of entities; other tags have accuracy only."""
        return self.metrics if not labels or is_bio(labels) else ("accuracy",)

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Examples:
        """[CLS] sentence [SEP]; a long sentence becomes several sequences."""
        return examples(raw, tokenizer, length, context=CONTEXT in options)

    def head(
        self, encoder: Backbone, pooler: Pooler, labels: Sequence[str], dropout: float, seed: int, options: Options = ()
    ) -> nn.Module:
        """One output per tag at every token."""
        from bertlab.model.heads import TaggingModel

        return TaggingModel(encoder, len(labels), dropout, seed)

    def logits(self, model: Any, batch: Mapping[str, Tensor]) -> Tensor:
        """(B, K, tags) at the words."""
        found: Tensor = model(batch["tokens"], batch["segments"], batch.get("lengths"), batch["positions"])
        return found

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Floats, threshold: float | None = None
    ) -> Predicted:
        """The most probable tag of each word."""
        found = super().predict(data, raw, examples, scores)
        return Predicted(arrays=found.arrays | {"sentence": examples.owners}, collapsed=found.collapsed)

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The most frequent tag of the training words."""
        return {**super().majority(data, raw, train, examples), "sentence": examples.owners}

    def lexical(self, train: RawExamples, evaluated: Sequence[RawExamples]) -> list[Arrays]:
        """A logistic regression on `lexical.windows`."""
        model = self.fit(lexical.windows(train.text[0]), np.concatenate(train.labels))
        return [
            {
                "prediction": model.predict(lexical.windows(raw.text[0])),
                "label": np.concatenate(raw.labels),
                "sentence": np.repeat(np.arange(len(raw)), [len(each) for each in raw.labels]),
            }
            for raw in evaluated
        ]

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Accuracy of words; micro-averaged precision, recall and F1 of entities. Sentences are the examples.

        Without `labels`, tags are in the order of `label_names`.
        """
        prediction, label, sentence = arrays["prediction"], arrays["label"], arrays["sentence"]
        if name == "accuracy":
            counts = _by_sentence(sentence, prediction == label, np.ones(len(label)))
            return MetricOfMeans(counts, percentage)
        return entities(name, prediction, label, sentence, labels or _usual(prediction, label))

    def likelihood(self, arrays: Arrays) -> Metric:
        """The mean log-likelihood of the right tags of words."""
        scores = arrays[LIKELIHOOD].astype(np.float64)
        return MetricOfMeans(_by_sentence(arrays["sentence"], scores, np.ones(len(scores))), ratio)

    def examples_of(self, arrays: Arrays) -> Integers:
        """The sentences with at least one word."""
        return np.unique(arrays["sentence"])


def entities(metric: str, prediction: Labels, label: Labels, sentence: Labels, names: Sequence[str]) -> MetricOfMeans:
    """`precision`, `recall` or `f1` of entities in points, as in conlleval; arguments are BIO tags of words, (W,) each.

    An entity is right if its type, start and end are right. Words of a sentence are adjacent.
    """
    types = list(dict.fromkeys(name[2:] for name in names))
    of_type = np.array([types.index(name[2:]) for name in names])
    letter = np.array([name[0] for name in names])
    opens = np.diff(sentence, prepend=sentence[:1] - 1) != 0
    (guessed, one), (true, other) = (_spans(letter[tags], of_type[tags], opens) for tags in (prediction, label))
    right = guessed & true & (one == other).all(0)
    counts = _by_sentence(sentence, right, guessed, true)
    if metric == "f1":
        return MetricOfMeans(counts, f1_points)
    return MetricOfMeans(counts[:, [0, 1 if metric == "precision" else 2]], percentage)


def _spans(
    letter: npt.NDArray[np.str_], of_type: Labels, opens: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], Labels]:
    """Whether an entity starts at each word, (W,), and its end and type, (2, W); `opens`: whether a sentence starts."""
    inside = letter != "O"
    before = np.roll(inside, 1) & (np.roll(of_type, 1) == of_type) & ~opens  # the previous word has the same type
    starts = inside & ((letter == "B") | ~before)
    bounds = np.append(np.flatnonzero(starts | ~inside), len(letter))
    ends = bounds[np.searchsorted(bounds, np.arange(len(letter)), side="right")]
    return starts, np.stack([ends, of_type])


def _by_sentence(sentence: Labels, *counts: npt.NDArray[Any]) -> Floats:
    """Sums over the words of each sentence: K times (W,) -> (E, K)."""
    _, owner = np.unique(sentence, return_inverse=True)
    return np.stack([np.bincount(owner, each) for each in counts], -1)


def _usual(*tags: Labels) -> list[str]:
    """The order of tags in a task without names: O, then B and I of each type."""
    types = (max(int(each.max()) for each in tags) + 1) // 2
    return ["O", *(f"{position}-{each}" for each in range(types) for position in "BI")]


def is_bio(names: Iterable[str]) -> bool:
    """Whether tags mark entities: all are O, B-type or I-type, and not all are O."""
    names = set(names)
    return all(_BIO.fullmatch(name) for name in names) and names != {"O"}


def bio(tags: Sequence[str]) -> list[str]:
    """The tags of a sentence in BIO, where every entity starts with B; IOB1 starts them with I.

    As in conlleval, an I starts an entity at the start of a sentence, after O and after another type.
    """
    before = ["O", *tags]
    return [
        f"B{tag[1:]}" if tag[0] == "I" and last[1:] != tag[1:] else tag for last, tag in zip(before, tags, strict=False)
    ]


def sentences(table: Table, tokens: str, label: str) -> tuple[list[list[str]], list[list[Any]]]:
    """The columns `tokens` and `label` of a split: lists of words and equally long lists of tags.

    Splits the cells of tables at spaces. Raises `BadInput` that names the first malformed row.
    """
    words, tags = table.columns[tokens], table.columns[label]
    if {".csv", ".tsv"} & set(Path(table.place).suffixes):
        words, tags = ([cell.split() for cell in column] for column in (words, tags))
    for row, (sentence, marks) in enumerate(zip(words, tags, strict=True), start=1):
        if not isinstance(sentence, list) or not all(isinstance(word, str) for word in sentence):
            raise BadInput(f"{table.where(tokens)} row {row} is {shown(sentence)}: give a list of texts")
        if not isinstance(marks, list):
            raise BadInput(f"{table.where(label)} row {row} is {shown(marks)}: give a list of tags")
        if len(sentence) != len(marks):
            raise BadInput(
                f"{table.place} row {row} has {len(sentence)} tokens and {len(marks)} tags: give one tag per token"
            )
    if not any(words):
        raise BadInput(f"{table.place} has no words: a task needs at least one")
    return words, tags


def named(tags: Sequence[Sequence[Any]], names: tuple[str, ...], where: str) -> list[list[str]]:
    """The tags of each sentence of a split as names in BIO; integers, also as texts, index `names`.

    Raises `BadInput` that names the row of a tag that is neither in `names` nor an index, if `names` are given.
    """
    known: dict[Any, str] = dict(enumerate(names)) | {str(number): name for number, name in enumerate(names)}
    known |= {name: name for name in names}
    advice = f"give one of {', '.join(names)}" if names else "give tags as texts, or name the labels"
    found = []
    for row, sentence in enumerate(tags, start=1):
        for tag in sentence:
            text = isinstance(tag, str) and tag and not tag.isdecimal()
            if not (type(tag) in (int, str) and tag in known if names else text):
                raise BadInput(f"tag {shown(tag)} in {where} row {row}: {advice}")
        found.append([known.get(tag, tag) for tag in sentence])
    used = {tag for sentence in found for tag in sentence}
    if is_bio(used):
        return [bio(sentence) for sentence in found]
    if any(tag[:2] in ("B-", "I-") for tag in used):
        odd = min(tag for tag in used if not _BIO.fullmatch(tag))
        row = next(row for row, sentence in enumerate(found, start=1) if odd in sentence)
        raise BadInput(f"tag {shown(odd)} in {where} row {row}: give O, B-type and I-type only")
    return found


def label_names(splits: Sequence[Sequence[Sequence[str]]]) -> tuple[str, ...]:
    """The tags of several splits in a fixed order: O first, then B and I of each type; others in alphabetical order."""
    used = {tag for split in splits for sentence in split for tag in sentence}
    if not is_bio(used):
        return tuple(sorted(used))
    types = sorted({tag[2:] for tag in used if tag != "O"})
    return ("O", *(f"{position}-{each}" for each in types for position in "BI"))


def numbers(tags: Sequence[Sequence[str]], names: tuple[str, ...], where: str) -> list[Integers]:
    """The tags of each sentence as integers; `BadInput` for a tag that is not in `names`, as a B tag from IOB1."""
    known = {name: number for number, name in enumerate(names)}
    missing = {tag for sentence in tags for tag in sentence} - known.keys()
    if missing:
        raise BadInput(f"{where} needs the tag '{min(missing)}' to open an entity: add it to the labels")
    return [np.array([known[tag] for tag in sentence], np.int64) for sentence in tags]


def documents(sentences: Sequence[Sequence[str]], groups: Integers | None) -> Integers:
    """(S,) the index of the document of each sentence: consecutive sentences of one group or, without groups, those
    between CoNLL's -DOCSTART- lines. Without either, the split is one document."""
    if groups is not None:
        new = np.diff(groups, prepend=groups[:1]) != 0
    else:
        start = np.array([list(sentence[:1]) == ["-DOCSTART-"] for sentence in sentences])
        new = start | np.insert(start, 0, False)[:-1]
    return np.cumsum(new)


def examples(raw: RawExamples, tokenizer: TrainedTokenizer, length: int, *, context: bool = False) -> Examples:
    """Encodes sentences as [CLS] pieces [SEP], with a target at the first piece of each word.

    A sentence longer than `length` tokens becomes several sequences, so that every word has one target, in order; only
    the end of a single word longer than a sequence is dropped. With `context`, the preceding and following pieces of
    the same document fill the remaining positions, half each if there are enough; they have no targets.
    """
    split = raw.split if context and raw.split is not None else raw
    indices = np.arange(len(raw)) if split is raw or raw.indices is None else raw.indices
    encoded = tokenizer.encode_words(split.text[0])
    text = np.concatenate([np.zeros(0, np.int32), *(np.asarray(pieces, np.int32) for pieces, _ in encoded)])
    bounds = np.cumsum([0, *(len(pieces) for pieces, _ in encoded)])
    of_document = documents(split.text[0], split.groups) if context else np.arange(len(split))
    first, last = (np.searchsorted(of_document, of_document[indices], side) for side in ("left", "right"))
    budget = length - 2
    sequences: list[Integers] = []
    positions: list[Integers] = []
    owners: list[int] = []
    for number, index in enumerate(indices):
        at = bounds[index]
        pieces, word_of = encoded[index]
        starts = np.flatnonzero(np.diff(np.asarray(word_of, np.int64), prepend=-1))
        ends = np.append(starts[1:], len(pieces))
        word = 0
        while word < len(starts):
            begin = int(starts[word])
            # As many whole words as fit; at least one, truncated if it is too long.
            after = max(word + 1, int(np.searchsorted(ends, begin + budget, side="right")))
            end = min(int(ends[after - 1]), begin + budget)
            room = budget - (end - begin) if context else 0
            before, behind = at + begin - bounds[first[number]], bounds[last[number]] - at - end
            left = min(before, max(room // 2, room - behind))
            right = min(behind, room - left)
            sequence = text[at + begin - left : at + end + right]
            sequences.append(np.concatenate([[tokenizer.cls], sequence, [tokenizer.sep]]).astype(np.int32))
            positions.append((starts[word:after] - begin + 1 + left).astype(np.int32))
            owners += [number] * (after - word)
            word = after
    return Examples(
        sequences=sequences,
        second_starts=np.array([len(sequence) for sequence in sequences], np.int32),
        positions=positions,
        targets=np.concatenate([np.zeros(0, np.int64), *raw.labels]),
        owners=np.array(owners, np.int64),
        pad=tokenizer.pad,
        raw_count=len(raw),
    )
