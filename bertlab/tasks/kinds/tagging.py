"""Tagging of words, as in BERT section 5.3: the tag of a word is predicted at its first word piece."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bertlab.arrays import Array, Bool, Float, Integer
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import lexical
from bertlab.tasks.answers import reader, require_apart
from bertlab.tasks.examples import Examples, TaskBatch, sizes
from bertlab.tasks.kinds.base import Options, Predicted, TaskKind
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD, Arrays
from bertlab.tasks.metrics import Mean, Metric, MetricOfMeans, f1_points, percentage
from bertlab.tasks.task import RawExamples, Table, Task, TaskData

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.text.tokenizers.base import TrainedTokenizer

CONTEXT = "context"
"""The option that neighbouring sentences of the document fill a sequence."""
DOCUMENT_START = "-DOCSTART-"
"""The first word of a sentence that begins a document, in CoNLL's files."""

_BIO = re.compile(r"O|[BI]-.+")


class Tagging(TaskKind):
    """A label for each word: entities, parts of speech or others."""

    name = "tagging"
    columns = range(1, 2)
    metrics = ("accuracy", "precision", "recall", "f1")
    hub_task = "token-classification"
    published_head = "TokenClassification"
    settings_group = "tagging"
    options = (CONTEXT,)
    labelled = cased = per_token = True

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """The names of the task or of its source, else the tags in the data. Raises `BadInput` for entities whose type
        is spelled in two ways."""
        names = task.labels or tables[0].names
        if not names:
            names = label_names([named(task, table, ()) for table in tables])
            if is_bio(names):
                require_apart(names, tables[0].where(task.label))
        return names

    def text(self, task: Task, table: Table) -> tuple[list[list[str]], ...]:
        """Lists of words."""
        return (sentences(table, task.text[0]),)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[Integer]:
        """The tag of each word."""
        if not any(table.columns[task.text[0]]):
            raise BadInput(f"{table.source} has no words: a task needs at least one")
        number = {name: number for number, name in enumerate(names)}
        return [np.array([number[tag] for tag in tags], np.int64) for tags in named(task, table, names)]

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> list[Integer]:
        """The first tag for each word."""
        return [np.zeros(len(words), np.int64) for words in text[0]]

    def context_rows(self, length: int, options: Options) -> int:
        """The rows that fill a sequence if each has one token; 0 without a context."""
        return length if CONTEXT in options else 0

    def metrics_for_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Precision, recall and F1 are those of entities; other tags have accuracy only."""
        of_entities = () if not labels or is_bio(labels) else ("f1", "precision", "recall")
        return tuple(metric for metric in self.metrics if metric not in of_entities)

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Examples:
        """Encodes sentences as [CLS] pieces [SEP], with a target at the first piece of each word.

        A sentence longer than `length` tokens becomes several sequences; only the end of a single word longer than a
        sequence is dropped. With a context, the preceding and following pieces of the same document (consecutive
        sentences of one group, or the whole split) fill the remaining positions, half each; they have no targets.
        """
        context = CONTEXT in options
        split = raw.split if context and raw.split is not None else raw
        indices = np.arange(len(raw)) if split is raw or raw.indices is None else raw.indices
        encoded = tokenizer.encode_words(split.text[0])
        text = np.concatenate([np.zeros(0, np.int32), *(np.asarray(pieces, np.int32) for pieces, _ in encoded)])
        bounds = np.cumsum([0, *(len(pieces) for pieces, _ in encoded)])
        opens = np.array([words[:1] == [DOCUMENT_START] for words in split.text[0]], np.int64)
        groups = np.cumsum(opens) if split.groups is None else split.groups
        of_document = np.cumsum(np.diff(groups, prepend=groups[:1]) != 0) if context else np.arange(len(split))
        first, last = (np.searchsorted(of_document, of_document[indices], side) for side in ("left", "right"))
        budget = length - 2
        sequences: list[Integer] = []
        positions: list[Integer] = []
        example_index: list[int] = []
        for number, index in enumerate(indices):
            at = bounds[index]
            starts = np.flatnonzero(np.diff(np.asarray(encoded[index][1], np.int64), prepend=-1))
            for word, after, begin, end in _parts(starts, len(encoded[index][0]), budget):
                room = budget - (end - begin) if context else 0
                before, behind = at + begin - bounds[first[number]], bounds[last[number]] - at - end
                left = min(before, max(room // 2, room - behind))
                right = min(behind, room - left)
                sequence = text[at + begin - left : at + end + right]
                sequences.append(np.concatenate([[tokenizer.cls], sequence, [tokenizer.sep]]).astype(np.int32))
                positions.append((starts[word:after] - begin + 1 + left).astype(np.int32))
                example_index += [number] * (after - word)
        return Examples(
            sequences=sequences,
            segment_b_start=sizes(sequences),
            positions=positions,
            targets=np.concatenate([np.zeros(0, np.int64), *raw.labels]),
            example_index=np.array(example_index, np.int64),
            pad=tokenizer.pad,
            raw_count=len(raw),
        )

    def head(
        self, encoder: Backbone, pooler: Pooler, labels: Sequence[str], dropout: float, seed: int, options: Options = ()
    ) -> nn.Module:
        """One output per tag at every token."""
        from bertlab.model.heads import TaggingModel

        return TaggingModel(encoder, None, len(labels), dropout, seed)

    def logits(self, model: Any, batch: TaskBatch) -> Tensor:
        """(B, K, tags) at the words."""
        logits: Tensor = model(batch["inputs"], batch["positions"])
        return logits

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The most probable tag of each word, and the log-likelihood of the tags of each sentence."""
        predicted = super().predict(data, raw, examples, scores)
        (likelihood,) = _by_sentence(examples.example_index, predicted.arrays[LOG_LIKELIHOOD]).T
        return dataclasses.replace(predicted, arrays=predicted.arrays | {LOG_LIKELIHOOD: likelihood})

    def example_arrays(self, raw: RawExamples) -> Arrays:
        """The sentence of each word."""
        sentence = np.repeat(np.arange(len(raw)), [len(tags) for tags in raw.labels])
        return {**super().example_arrays(raw), "sentence": sentence}

    def outputs(
        self, labels: Sequence[str], raw: RawExamples, examples: Examples, scores: Float, threshold: float | None
    ) -> list[dict[str, Any]]:
        """The tag of each word, and its probability."""
        of_words = super().outputs(labels, raw, examples, scores, threshold)
        ends = np.cumsum([len(words) for words in raw.text[0]]).tolist()
        sentences = [of_words[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        return [
            {
                "tags": [word["label"] for word in sentence],
                "probabilities": [word["probabilities"][word["label"]] for word in sentence],
            }
            for sentence in sentences
        ]

    def lexical(self, train: RawExamples) -> Callable[[RawExamples], Arrays]:
        """A logistic regression on `lexical.windows`."""

        def encoded(rows: Integer) -> tuple[Any, Any]:
            some = train.take(rows)
            return lexical.windows(some.text[0]), np.concatenate(some.labels)

        model = lexical.fit(len(train), np.unique(np.concatenate(train.labels)), encoded)
        return lambda raw: {
            "prediction": model.predict(lexical.windows(raw.text[0])),
            "label": np.concatenate(raw.labels),
        }

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Accuracy of words; micro-averaged precision, recall, F1 of entities (type, start and end), as in conlleval.

        Sentences are the examples, and the words of each are adjacent. Without `labels`, tags are in the order of
        `label_names`.
        """
        if name not in Tagging.metrics:
            raise self.unscored(name)
        prediction, label, sentence = arrays["prediction"], arrays["label"], arrays["sentence"]
        if name == "accuracy":
            return MetricOfMeans(_by_sentence(sentence, prediction == label, np.ones(len(label))), percentage)
        if not labels:
            count = (max(int(prediction.max()), int(label.max())) + 1) // 2
            labels = ["O", *(f"{position}-{entity}" for entity in range(count) for position in "BI")]
        types = list(dict.fromkeys(tag[2:] for tag in labels))
        of_type = np.array([types.index(tag[2:]) for tag in labels])
        letter = np.array([tag[0] for tag in labels])
        opens = np.diff(sentence, prepend=sentence[:1] - 1) != 0
        (guessed, one), (true, other) = (_spans(letter[tags], of_type[tags], opens) for tags in (prediction, label))
        counts = _by_sentence(sentence, guessed & true & (one == other).all(0), guessed, true)
        if name == "f1":
            return MetricOfMeans(counts, f1_points)
        return MetricOfMeans(counts[:, [0, 1 if name == "precision" else 2]], percentage)

    def likelihood(self, arrays: Arrays) -> Metric:
        """The mean probability that all tags of a sentence are right (points)."""
        sentence, scores = arrays["sentence"], arrays[LOG_LIKELIHOOD].astype(np.float64)
        if len(scores) == len(sentence):  # older stores have those of the words
            (scores,) = _by_sentence(sentence, scores).T
        return Mean(100 * np.exp(scores))


def _parts(starts: Integer, size: int, budget: int) -> Iterator[tuple[int, int, int, int]]:
    """The parts of at most `budget` pieces of a sentence of `size` pieces whose words begin at `starts`: the first word
    of each and the one behind its last, its first piece and the one behind its last."""
    ends, word = np.append(starts[1:], size), 0
    while word < len(starts):
        begin = int(starts[word])
        # As many whole words as fit; at least one, truncated if it is too long.
        after = max(word + 1, int(np.searchsorted(ends, begin + budget, side="right")))
        yield word, after, begin, min(int(ends[after - 1]), begin + budget)
        word = after


def _spans(letter: npt.NDArray[np.str_], of_type: Integer, opens: Bool) -> tuple[Bool, Integer]:
    """Whether an entity starts at each word, (W,), and its end and type, (2, W); `opens`: whether a sentence starts."""
    inside = letter != "O"
    before = np.roll(inside, 1) & (np.roll(of_type, 1) == of_type) & ~opens  # the previous word has the same type
    starts = inside & ((letter == "B") | ~before)
    bounds = np.append(np.flatnonzero(starts | ~inside), len(letter))
    ends = bounds[np.searchsorted(bounds, np.arange(len(letter)), side="right")]
    return starts, np.stack([ends, of_type])


def _by_sentence(sentence: Integer, *counts: Array) -> Float:
    """Sums over the words of each sentence: K times (W,) -> (E, K)."""
    _, owner = np.unique(sentence, return_inverse=True)
    return np.stack([np.bincount(owner, count) for count in counts], -1)


def is_bio(names: Iterable[str]) -> bool:
    """Whether tags mark entities: all are O, B-type or I-type, and not all are O."""
    names = set(names)
    return all(_BIO.fullmatch(name) for name in names) and names != {"O"}


def sentences(table: Table, column: str) -> list[list[str]]:
    """A column of lists of words. Raises `BadInput` for columns in braces, and for a malformed row, which it names."""
    if column not in table.columns:
        raise BadInput(f"text {shown(column)}: a task with a label for each word takes the name of one column")
    rows = table.columns[column]
    for row, words in enumerate(rows, start=1):
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise BadInput(f"{table.where(column)} row {row} is {shown(words)}: give a list of texts")
    return rows


def named(task: Task, table: Table, names: tuple[str, ...]) -> list[list[str]]:
    """The tags of each sentence of a split as names; integers index `names`. Raises `BadInput` that names the row of
    another number of tags than words, and of a tag that is no text or, if there are `names`, not one of them."""
    read = reader(task, table, names) if names else None
    advice = f"give one of {', '.join(names)}" if names else "give tags as texts, or name the labels"
    where = table.where(task.label)
    tags_of_sentences: list[list[str]] = []
    pairs = zip(sentences(table, task.text[0]), table.columns[task.label], strict=True)
    for row, (words, tags) in enumerate(pairs, start=1):
        if not isinstance(tags, list) or len(tags) != len(words):
            raise BadInput(f"{where} row {row} is {shown(tags)}: give a list of {len(words)} tags, one per token")
        for tag in tags:
            if type(tag) not in (int, str) or (not isinstance(tag, str) if read is None else read(tag) is None):
                raise BadInput(f"tag {shown(tag)} in {where} row {row}: {advice}")
        tags_of_sentences.append(tags if read is None else [names[read(tag) or 0] for tag in tags])
    used = {tag for tags in tags_of_sentences for tag in tags}
    odd = sorted(tag for tag in used if not _BIO.fullmatch(tag))
    if odd and any(tag[:2] in ("B-", "I-") for tag in used):
        raise BadInput(f"tag {shown(odd[0])} in {where}: give O, B-type and I-type only")
    return tags_of_sentences


def label_names(splits: Sequence[Sequence[Sequence[str]]]) -> tuple[str, ...]:
    """The tags of several splits in a fixed order: O first, then B and I of each type; others in alphabetical order."""
    used = {tag for split in splits for sentence in split for tag in sentence}
    if not is_bio(used):
        return tuple(sorted(used))
    types = sorted({tag[2:] for tag in used if tag != "O"})
    return ("O", *(f"{position}-{entity}" for entity in types for position in "BI"))
