"""Minimal pairs, as in BLiMP (Warstadt et al. 2020): of two sentences that hardly differ, a language model should give
the grammatical one more probability. Nothing is trained, so such a task has evaluation examples alone.

Pairs of one construction form a paradigm, paradigms form phenomena. The metrics of all pairs are means over paradigms,
as in BLiMP, and paradigms are what the statistics resample.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bertlab.arrays import Bool, Float, Integer
from bertlab.errors import BadInput, suggestion, warn
from bertlab.names import plain, shown
from bertlab.tasks import ngrams
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import OpenText, Options, Predicted, TaskKind, token_counts
from bertlab.tasks.kinds.scoring import LIKELIHOOD, Arrays
from bertlab.tasks.metrics import NORMAL_95, Metric
from bertlab.tasks.task import RawExamples, Table, Task, TaskData, columns_of
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from bertlab.text.tokenizers.base import TrainedTokenizer
    from bertlab.text.tokens import TokenisedCorpus

TIE = 1e-5
"""Scores that differ by at most this, nats, are equal: sums of single precision differ as much by their order."""
MOST_EQUAL = 0.01
"""The largest share of pairs whose sentences are the same, which are ties: BLiMP has 7 of them among 67,000."""
WAYS = ("", "_within_words")
"""The ends of the names of metrics by the way of scoring: the first one, and for masked LMs a second one."""
TEXT_COLUMNS = (("good", "bad"), ("sentence_good", "sentence_bad"))
"""The columns of the sentences in a file, in ours and in BLiMP's."""
LABEL_COLUMNS = ("{phenomenon}/{paradigm}", "{linguistics_term}/{UID}", "paradigm", "group")
"""The columns of the parts in a file; the first that it has count."""
OF_PARTS = ("accuracy", "right_share")
"""The metrics that phenomena and paradigms have."""
_floors: dict[tuple[str, ...], list[dict[str, float]]] = {}


class MinimalPairs(TaskKind):
    """Which of two sentences is grammatical, by the probability that a model gives them.

    The label of a pair is its paradigm, perhaps behind its phenomenon: `island_effects/wh_island`. A metric of one of
    these is named `island_effects/accuracy` or `island_effects/wh_island/accuracy`.
    """

    name = "minimal-pairs"
    columns = range(2, 3)
    metrics: ClassVar[tuple[str, ...]] = tuple(
        f"{metric}{way}" for way in WAYS for metric in ("accuracy", "right_share", "ties")
    )
    trained = False
    exchanged_column = None

    def label_columns(self, task: Task) -> tuple[str, ...]:
        """The columns of the paradigm, or of phenomenon and paradigm; none if all pairs are of one paradigm."""
        return columns_of(task.label) if task.label else ()

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """The paradigms: those of the task, or those of the data by their first appearance."""
        return task.labels or tuple(dict.fromkeys(name for table in tables for name in _paradigms(task, table)))

    def text(self, task: Task, table: Table) -> tuple[list[str], ...]:
        """The good and the bad sentences. Raises `BadInput` for an empty sentence, and if more than `MOST_EQUAL` of the
        pairs have the same sentence twice."""
        good, bad = columns = super().text(task, table)
        for name, sentences in zip(task.text, columns, strict=True):
            for row, sentence in enumerate(sentences, start=1):
                if not plain(sentence):
                    raise BadInput(f"{table.where(name)} row {row} is empty: give a sentence")
        equal = [row for row, (one, two) in enumerate(zip(good, bad, strict=True)) if one == two]
        if len(equal) > MOST_EQUAL * len(good):
            wrong = f"{table.source} row {equal[0] + 1} has twice {shown(good[equal[0]])}"
            raise BadInput(f"{wrong}, as {len(equal):,} of {len(good):,} rows: give sentences that differ")
        return good, bad

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[int]:
        """The number of the paradigm of each pair."""
        numbers, values = {name: number for number, name in enumerate(names)}, _paradigms(task, table)
        for row, value in enumerate(values, start=1):
            if not plain(value):
                raise BadInput(f"{table.where(task.label)} row {row} is empty: name the paradigm of each pair")
            if value not in numbers:
                raise BadInput(f"{table.where(task.label)} row {row} is {shown(value)}: {suggestion(value, names)}")
        return [numbers[value] for value in values]

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Examples:
        """[CLS] sentence [SEP] for the good and then the bad sentence of each pair: two sequences, one example. Warns
        of pairs that are cut to the `length`."""
        sentences = [sentence for pair in zip(*raw.text, strict=True) for sentence in pair]
        alone = RawExamples(text=(sentences,), labels=[0] * len(sentences))
        encoded = super().encode(alone, tokenizer, length + 1)  # one token more shows which are longer
        if cut := {row // 2 for row, sequence in enumerate(encoded.sequences) if len(sequence) > length}:
            encoded = super().encode(alone, tokenizer, length)
            good, bad = encoded.sequences[::2], encoded.sequences[1::2]
            ties = sum(np.array_equal(good[pair], bad[pair]) for pair in cut)
            of_these = f"; {ties:,} of these differ only behind them, and are ties" if ties else ""
            of_all = f"{len(cut):,} of {pluralise(len(raw), 'pair')}"
            warn(f"{of_all} are longer than {length} tokens, and only the first ones are compared{of_these}")
        return dataclasses.replace(
            encoded,
            positions=[np.zeros(1, np.int32)] * len(raw),
            targets=np.array(raw.labels, np.int64),
            example_index=np.arange(len(raw)),
            raw_count=len(raw),
            choices=2,
        )

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """By how much the good sentence of each pair is likelier than the bad one, nats, 0 if they are equal.

        `scores` (W, 2 M) are log-likelihoods of the good and the bad sentence for each of M ways of scoring, one or
        two. Equal ones in all pairs are a collapse.
        """
        margins = [_margin(*pair) for pair in np.split(scores.T.astype(np.float64), scores.shape[1] // 2)]
        arrays = {f"margin{way}": margin for way, margin in zip(WAYS, margins, strict=False)}
        return Predicted(arrays={**arrays, "label": examples.targets}, collapsed=not margins[0].any())

    def metrics_for_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The metrics of all pairs, then those of each phenomenon and of each paradigm."""
        parts = dict.fromkeys((*(name.partition("/")[0] for name in labels), *labels)) if len(labels) > 1 else ()
        return (*self.metrics, *(f"{part}/{name}{way}" for part in parts for name in OF_PARTS for way in WAYS))

    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """A metric of all pairs, whose examples are the paradigms, or of one part of them, whose examples are pairs.
        Raises `ValueError` for a metric that the kind lacks, `KeyError` for one that the predictions lack."""
        part, _, metric = name.rpartition("/")
        if metric == LIKELIHOOD:
            metric = "right_share"
        if metric not in self.metrics:
            raise ValueError(f"{self.name} has no metric {name}")
        way = WAYS[metric.endswith(WAYS[1])]
        scores = _SCORES[metric.removesuffix(way)](arrays[f"margin{way}"].astype(np.float64))
        paradigms = arrays["label"].astype(np.int64)
        if not part and np.ptp(paradigms):
            return OverParadigms(scores, np.unique(paradigms, return_inverse=True)[1])
        numbers = [number for number, label in enumerate(labels) if f"{label}/".startswith(f"{part}/")]
        chosen = np.isin(paradigms, numbers) if part else np.ones(len(paradigms), np.bool_)
        if not chosen.any():
            raise KeyError(name)
        return OfPart(scores, paradigms, chosen)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """The metric itself."""
        return self.metric(name, arrays, labels)

    def likelihood_of(self, metric: str) -> str:
        """The right sentence's probability in the same part."""
        part, separator, _ = metric.rpartition("/")
        return f"{part}{separator}{LIKELIHOOD}"

    def _scored(self, arrays: Arrays, labels: Sequence[str]) -> list[str]:
        """The metrics of the ways of scoring and of the paradigms that predictions have."""
        present = {labels[number] for number in np.unique(arrays["label"])} if labels else set[str]()
        present |= {name.partition("/")[0] for name in present}
        return [
            metric
            for metric in self.metrics_for_labels(labels)
            if metric.endswith(WAYS[1]) <= (f"margin{WAYS[1]}" in arrays)
            and (metric.rpartition("/")[0] in present or "/" not in metric)
        ]

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """Two equal scores: a model that tells no sentences apart has 50 points."""
        return {"margin": np.zeros(len(examples)), "label": examples.targets}

    def word_floor(self, data: TaskData, max_train_examples: int, text: OpenText) -> list[dict[str, float]]:
        """The best of three rules by each metric: the shorter sentence (in words), and where the text of the
        pre-training is there, the one with more frequent tokens and the one with likelier trigrams, counted in it."""
        corpus = text()
        parts = [part for part in (data.evaluation, data.test) if part]
        key = (data.name, data.content, str(corpus and corpus.facts), *(str(len(part)) for part in parts))
        if key not in _floors:
            _floors[key] = [self._best_rule(part, data.labels, corpus) for part in parts]
        return _floors[key]

    def _best_rule(self, raw: RawExamples, labels: Sequence[str], corpus: TokenisedCorpus | None) -> dict[str, float]:
        rules = [[-np.array([len(sentence.split()) for sentence in column], np.float64) for column in raw.text]]
        if corpus is not None:
            encoded = [corpus.tokenizer.encode(column) for column in raw.text]
            scores = ngrams.scores([*encoded[0], *encoded[1]], corpus.train, corpus.tokenizer.size)
            rules += [np.split(score, 2) for score in scores]
        label = np.array(raw.labels)
        points = [self.values({"margin": _margin(*rule), "label": label}, labels) for rule in rules]
        return {name: max(values[name] for values in points) for name in points[0]}

    def lexical_floor(self, data: TaskData, max_train_examples: int = 0) -> list[dict[str, float]]:
        """The rules that need no text."""
        return self.word_floor(data, max_train_examples, lambda: None)

    def extent(self, raw: RawExamples, length: int, training: bool) -> tuple[float, float]:
        """Estimates the examples and tokens of a pair: both sentences."""
        return 1.0, sum(float(np.minimum(length, token_counts(column) + 2).mean()) for column in raw.text)


@dataclass(frozen=True, eq=False)
class OverParadigms(Metric):
    """The mean over G paradigms of their means over pairs: paradigms are the examples."""

    scores: Float
    """(E,) the points of each pair."""
    paradigms: Integer
    """(E,) its paradigm, 0 to G - 1."""

    def contributions(self) -> Float:
        """The mean of each paradigm, (G,)."""
        return np.asarray(np.bincount(self.paradigms, self.scores) / np.bincount(self.paradigms))

    def per_example(self) -> Float:
        """The points of each pair, (E,)."""
        return self.scores


@dataclass(frozen=True, eq=False)
class OfPart(Metric):
    """The mean over some paradigms of their means over pairs. Pairs are the examples, as another sample of the part
    would have the same paradigms."""

    scores: Float
    """(E,) the points of each pair."""
    paradigms: Integer
    """(E,) its paradigm."""
    chosen: Bool
    """(E,) whether it is of the part."""

    def contributions(self) -> Float:
        """(E,) the value, to which a pair of the part adds what it differs from the mean of its paradigm."""
        paradigms, scores = np.unique(self.paradigms[self.chosen], return_inverse=True)[1], self.scores[self.chosen]
        counts = np.bincount(paradigms)
        means = np.bincount(paradigms, scores) / counts
        contributions = np.full(len(self.scores), means.mean())
        weights = len(self.scores) / (len(counts) * counts)
        contributions[self.chosen] += (scores - means[paradigms]) * weights[paradigms]
        return contributions

    def per_example(self) -> Float:
        """The points of each pair, 0 outside of the part."""
        return np.where(self.chosen, self.scores, 0.0)


def over_paradigms(points: Float, paradigms: Integer) -> dict[str, float | None]:
    """The mean over paradigms of their means over pairs, as `value`, and `low` and `high`, the ends of its 95 %
    interval over other pairs of the same paradigms: `points` (E,) of pairs and their `paradigms` (E,).

    A paradigm of a single pair is given the mean spread of the others; without others there is no interval.
    """
    numbers, counts = np.unique(paradigms, return_inverse=True, return_counts=True)[1:]
    several, means = counts > 1, np.bincount(numbers, points) / counts
    value = float(means.mean())
    if not several.any():
        return {"value": value, "low": None, "high": None}
    spread = np.bincount(numbers, (points - means[numbers]) ** 2) / np.maximum(1, counts - 1)
    spread = np.where(several, spread, spread[several].mean())
    half = NORMAL_95 * float(np.sqrt((spread / counts).sum())) / len(counts)
    return {"value": value, "low": max(0.0, value - half), "high": min(100.0, value + half)}


def babylm_predictions(pairs: Sequence[Sequence[str]], paradigms: Sequence[str], margin: Float) -> dict[str, Any]:
    """The `predictions.json` of BabyLM's evaluation: the preferred sentence of each of E pairs, which are
    `(good, bad)` columns of E sentences, by their paradigms.

    `margin` (E,) is by how much the good one is likelier; where it is 0, the good and the bad one are taken in turn, as
    a tie counts one half. BabyLM's own evaluation takes the good one.
    """
    ties = np.cumsum(margin == 0)
    is_good = np.where(margin == 0, ties % 2 == 1, margin > 0)
    by_paradigm: dict[str, list[dict[str, str]]] = defaultdict(list)
    for good, bad, paradigm, right in zip(*pairs, paradigms, is_good.tolist(), strict=True):
        chosen = by_paradigm[paradigm]
        chosen.append({"id": f"{paradigm}_{len(chosen)}", "pred": good if right else bad})
    return {paradigm: {"predictions": chosen} for paradigm, chosen in by_paradigm.items()}


def of_file(path: Path) -> Task:
    """The task of a file with the columns `good` and `bad`, or those of BLiMP's files.

    Its parts are by phenomenon and paradigm, or by group, if it has these columns. Raises `BadInput` for another file.
    """
    from bertlab.text import rows

    names = {name for row in rows.read(path) for name in row}
    text = next((pair for pair in TEXT_COLUMNS if names & {*pair}), TEXT_COLUMNS[0])
    label = next((label for label in LABEL_COLUMNS if names >= {*columns_of(label)}), "")
    split = path.name.removesuffix(next(filter(path.name.endswith, rows.SUFFIXES)))
    other = next(file for end in rows.SUFFIXES if (file := path.with_name(f"{split}{end}")).exists())
    if other != path:
        raise BadInput(f"'{path}' stands beside {other.name}, which is read for the same name: rename one of them")
    return Task(kind=MinimalPairs.name, name=split, path=str(path.parent), evaluation=split, text=text, label=label)


def _paradigms(task: Task, table: Table) -> list[str]:
    """The paradigm of each pair of a table, as a text."""
    if not task.label:
        return ["all"] * len(table.columns[columns_of(task.text[0])[0]])
    columns = {name: [_name(value) for value in table.columns[name]] for name in columns_of(task.label)}
    return dataclasses.replace(table, columns={**table.columns, **columns}).texts(task.label)


def _name(value: Any) -> Any:
    """A number as a name; other values as they are."""
    return str(value) if isinstance(value, int) else value


def _margin(good: Float, bad: Float) -> Float:
    """How much larger the scores of good sentences are, 0 for a tie."""
    difference = good - bad
    return np.where(np.abs(difference) <= TIE, 0.0, difference)


def _accuracy(margin: Float) -> Float:
    """100 points for the good sentence, half for a tie."""
    return np.asarray(50.0 + 50.0 * np.sign(margin))


def _right_share(margin: Float) -> Float:
    """The probability, in points, that the good sentence gets of the two."""
    from scipy.special import expit

    return np.asarray(100.0 * expit(margin))


def _ties(margin: Float) -> Float:
    """100 points for a tie."""
    return np.where(margin == 0, 100.0, 0.0)


_SCORES: dict[str, Callable[[Float], Float]] = {"accuracy": _accuracy, "right_share": _right_share, "ties": _ties}
"""The points of pairs from their margins, by the metric."""
