"""Extractive question answering, as in BERT sections 4.2 and 4.3: [CLS] question [SEP] context [SEP], start and end.

A long context becomes several overlapping windows, with both targets at [CLS] in one that does not contain the answer;
the best span of all windows is predicted. Data and metrics are SQuAD's, 1.1 or 2.0 (Rajpurkar et al. 2016, 2018). Data
may also be in the form of the MRQA shared task of 2019 (Fisch et al. 2019), whose metrics are those of SQuAD 1.1.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bertlab import keyed
from bertlab.arrays import Float, Integer
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import lexical
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import Options, Predicted, TaskKind, token_counts
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD, Arrays
from bertlab.tasks.metrics import Mean, Metric
from bertlab.tasks.task import RawExamples, Table, Task, TaskData

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.text.tokenizers.base import TrainedTokenizer

ANSWERABILITY = "answerability"
"""The option that a classifier decides whether a question has an answer (RoBERTa section 3.3)."""
DETECTED = "detected_answers"
"""MRQA's column of the places of answers in the context."""
LONGEST_ANSWER = 30
"""Predicted answers have at most this many word pieces, as in BERT's released code."""
THRESHOLD_EXAMPLES = 4_000
"""The largest number of training questions that choose the threshold of the lexical floor."""
SPARE_WINDOWS = 2
"""Training uses at most this many windows without the answer per question. At 384 tokens few questions have more, so
training is BERT's; most short windows lack the answer, and a model trained on all of them would answer nothing."""
NO_ANSWER = {"answer": "", "start": None, "end": None}
"""What predictions say of a question without an answer in its context."""
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Span(TaskKind):
    """A span of a context that answers a question, or none."""

    name = "span"
    columns = range(2, 3)
    metrics = ("exact", "f1")
    hub_task = "question-answering"
    published_head = "QuestionAnswering"
    settings_group = "span"
    options = (ANSWERABILITY,)
    extra_columns = (DETECTED,)
    exchanged_column = 0

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[Answers]:
        """Parses SQuAD's `answers`, or MRQA's beside `DETECTED`; `BadInput` names the row of a malformed answer, or one
        not in its context."""
        if DETECTED in table.columns:
            return _detected(task, table)
        answers = []
        rows = zip(table.texts(task.text[1]), table.columns[task.label], strict=True)
        for row, (context, value) in enumerate(rows, start=1):
            where = f"{table.where(task.label)} row {row}"
            texts, starts = (value.get(name) if isinstance(value, dict) else None for name in ("text", "answer_start"))
            if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
                form = '{"text": [...], "answer_start": [...]}'
                raise BadInput(f"{where} is {shown(value)}: give {form}, a start per text")
            for text, start in zip(texts, starts, strict=True):
                if not isinstance(text, str) or not text.strip():
                    raise BadInput(f"{where} has the answer {shown(text)}: give a text, or no answers at all")
                if type(start) is not int or start < 0 or context[start : start + len(text)] != text:
                    false = f"answer {shown(text)} does not start at {shown(start)} of the context"
                    raise BadInput(f"{where}: {false}: give its position in characters")
            answers.append(Answers(tuple(texts), tuple(starts)))
        return answers

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> list[Answers]:
        """No answer."""
        return [Answers()] * len(text[0])

    def extent(self, raw: RawExamples, length: int, training: bool) -> tuple[float, float]:
        """A window or more for each question."""
        stride, longest = _limits(length)
        question, context = (token_counts(column) for column in raw.text)
        question = np.minimum(question, longest) + 3
        room = length - question
        windows = 1 + np.ceil(np.maximum(0, context - room) / stride)
        inside = (context + (windows - 1) * (room - stride)) / windows  # tokens of a window; the last one has fewer
        if training:  # an answer is in about room / stride of many
            windows = np.minimum(windows, SPARE_WINDOWS + np.maximum(1, room / stride))
        return float(windows.mean()), float((windows * (question + np.minimum(room, inside))).mean())

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Windows:
        """Encodes questions and contexts as windows of at most `length` tokens; the target is the first answer.

        The next window starts 128 tokens later, and questions are truncated to 64, as in BERT's released code; to a
        third of the length if that is less. For `training`, a keyed sample of `SPARE_WINDOWS` windows without the
        answer is kept.
        """
        questions, contexts = raw.text
        answerability = ANSWERABILITY in options
        stride, longest = _limits(length)
        queries = [query[:longest] for query in tokenizer.encode(questions)]
        distinct = list(dict.fromkeys(contexts))  # a context has several questions
        encoded = {
            context: (pieces, np.array(places, np.int32).reshape(-1, 2))
            for context, (pieces, places) in zip(distinct, tokenizer.offsets(distinct), strict=True)
        }
        sequences: list[Integer] = []
        spans, targets, example_index = [], [], []
        for number, (query, context, answer) in enumerate(zip(queries, contexts, raw.labels, strict=True)):
            pieces, places = encoded[context]
            room = length - len(query) - 3
            windows = list(_windows(places, answer, len(query) + 2, length, stride))
            if training:
                spare = [at for at, (*_, target) in enumerate(windows) if not target[0]]
                order = keyed.permutation(keyed.key("windows", questions[number]), len(spare))
                dropped = {spare[at] for at in order[SPARE_WINDOWS:]}
                windows = [window for at, window in enumerate(windows) if at not in dropped]
            for start, span, target in windows:
                sequence = [tokenizer.cls, *query, tokenizer.sep, *pieces[start : start + room], tokenizer.sep]
                sequences.append(np.array(sequence, np.int32))
                spans.append(span)
                targets.append((*target, int(target[0] > 0)) if answerability else target)
                example_index.append(number)
        longest = max(len(sequence) for sequence in sequences)
        return Windows(
            sequences=sequences,
            segment_b_start=np.array([len(queries[number]) + 2 for number in example_index], np.int32),
            positions=[np.zeros(2 + answerability, np.int32)] * len(sequences),
            targets=np.array(targets, np.int64).ravel(),
            example_index=np.repeat(example_index, 2 + answerability),
            pad=tokenizer.pad,
            raw_count=len(questions),
            char_spans=np.stack(spans)[:, :longest],
        )

    def head(
        self, encoder: Backbone, pooler: Pooler, labels: Sequence[str], dropout: float, seed: int, options: Options = ()
    ) -> nn.Module:
        """The vectors S and E; with answerability also the pooler and a classifier."""
        from bertlab.model.heads import SpanModel

        return SpanModel(encoder, dropout, seed, pooler if ANSWERABILITY in options else None)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The mean over start and end, plus the loss of the third target: whether the window contains the answer."""
        error = super().loss(logits[:, :2], targets[:, :2])
        return error if targets.shape[1] == 2 else error + super().loss(logits[:, 2:], targets[:, 2:])

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The best span of each question; no answer if its score is not above the threshold."""
        from scipy.special import log_softmax

        encoded, contexts, right = cast(Windows, examples), raw.text[1], raw.labels
        places, margins = best(encoded, scores)
        threshold = 0.0 if encoded.targets_per_window == 3 else threshold  # of the log-odds of a classifier
        if threshold is None and not all(answer.texts for answer in (*data.train.labels, *right)):
            answered = _scores(_cut(contexts, places), right)["f1"]
            unanswered = np.array([float(not answer.texts) for answer in right])
            threshold = best_threshold(margins, answered, unanswered)
        if threshold is not None:
            places = np.where(margins[:, None] > threshold, places, 0)
        predicted = _cut(contexts, places)
        likelihoods = log_likelihoods(encoded, right, log_softmax(scores, -1))
        arrays = {"prediction": places, **_scores(predicted, right), LOG_LIKELIHOOD: likelihoods}
        return Predicted(arrays=arrays, collapsed=len(set(predicted)) == 1, threshold=threshold)

    def outputs(
        self, labels: Sequence[str], raw: RawExamples, examples: Examples, scores: Float, threshold: float | None
    ) -> list[dict[str, Any]]:
        """The answer with its places in the context, in characters, and by how much its score is above that of no
        answer; an empty answer without places where that is not above the threshold."""
        places, margins = best(cast(Windows, examples), scores)
        least = -np.inf if threshold is None else threshold
        answers = []
        for context, (start, end), margin in zip(raw.text[1], places.tolist(), margins.tolist(), strict=True):
            answered = margin > least and end > start
            span = {"answer": context[start:end], "start": start, "end": end} if answered else NO_ANSWER
            answers.append({**span, "score": round(margin, 6)})
        return answers

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The most frequent normalised answer of the training questions, or no answer."""
        texts = (normalised(answer.texts[0]) if answer.texts else "" for answer in data.train.labels)
        guess = Counter(texts).most_common(1)[0][0]
        return _scores([guess] * len(raw), raw.labels)

    def lexical(self, train: RawExamples) -> Callable[[RawExamples], Arrays]:
        """The span nearest to the words of the question, if the context contains enough of them."""

        def nearest(raw: RawExamples) -> list[tuple[str, float]]:
            return [lexical.nearest(*pair) for pair in zip(*raw.text, strict=True)]

        def scores(nearest_spans: list[tuple[str, float]], raw: RawExamples, threshold: float) -> dict[str, Float]:
            return _scores([text if share >= threshold else "" for text, share in nearest_spans], raw.labels)

        threshold = 0.0
        if not all(answer.texts for answer in train.labels):
            some = train.take(keyed.permutation(keyed.key("lexical"), len(train))[:THRESHOLD_EXAMPLES])
            nearest_spans = nearest(some)
            shares = sorted({share for _, share in nearest_spans})
            thresholds = [*shares[:: max(1, len(shares) // 20)], 2.0] if len(shares) > 1 else [0.0]
            threshold = max(thresholds, key=lambda share: float(scores(nearest_spans, some, share)["f1"].mean()))
        return lambda raw: scores(nearest(raw), raw, threshold)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Exact match and F1 of SQuAD; each question is an example."""
        if name not in (*Span.metrics, *arrays):
            raise self.unscored(name)
        return Mean(100 * arrays[name].astype(np.float64))


def _cut(contexts: Sequence[str], places: Integer) -> list[str]:
    """The spans of contexts at `places` (Q, 2), in characters."""
    return [context[begin:end] for context, (begin, end) in zip(contexts, places, strict=True)]


def _scores(predicted: Sequence[str], right: Sequence[Answers]) -> dict[str, Float]:
    """Exact match and F1 of each question, (Q,) each, 0 to 1."""
    pairs = [(text, answer.accepted or answer.texts) for text, answer in zip(predicted, right, strict=True)]
    return {name: np.array([metric(*pair) for pair in pairs]) for name, metric in (("exact", exact), ("f1", f1))}


@dataclass(frozen=True)
class Answers:
    """The right answers to a question; empty for an unanswerable one."""

    texts: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    """The start of each in the context, in characters."""
    accepted: tuple[str, ...] = ()
    """The texts that metrics accept, if these are not those in the context but MRQA's."""


def _detected(task: Task, table: Table) -> list[Answers]:
    """The answers of MRQA's columns: the places in the context in their order there, as SpanBERT's code sorts them, and
    the accepted texts, some of which the context may lack or spell otherwise."""
    answers = []
    columns = (table.texts(task.text[1]), table.columns[task.label], table.columns[DETECTED])
    for row, (context, accepted, value) in enumerate(zip(*columns, strict=True), start=1):
        if not isinstance(accepted, list) or not accepted or not all(isinstance(text, str) for text in accepted):
            raise BadInput(f"{table.where(task.label)} row {row} is {shown(accepted)}: give a list of accepted texts")
        places: list[tuple[Any, Any]] = []
        where = f"{table.where(DETECTED)} row {row}"
        try:
            for span in value["char_spans"]:
                places += zip(span["start"], span["end"], strict=True)
        except (TypeError, KeyError, ValueError):
            places = []
        if not places:
            form = '{"char_spans": [{"start": [...], "end": [...]}, ...]}'
            raise BadInput(f"{where} is {shown(value)}: give {form}, one place or more")
        for first, last in places:
            inside = type(first) is type(last) is int and 0 <= first <= last < len(context)
            if not inside or not context[first : last + 1].strip():
                false = f"no answer is at {shown(first)} to {shown(last)} of the context"
                raise BadInput(f"{where}: {false}: give the positions of its first and last character")
        ordered = sorted(set(places))
        texts = tuple(context[first : last + 1] for first, last in ordered)
        answers.append(Answers(texts, tuple(first for first, _ in ordered), tuple(accepted)))
    return answers


def _limits(length: int) -> tuple[int, int]:
    """The tokens from a window to the next, and those of a question at most."""
    return min(128, length // 3), min(64, length // 3)


@dataclass(frozen=True, kw_only=True)
class Windows(Examples):
    """R windows as examples. Each has two targets, the positions of the answer's first and last token; with
    answerability a third, 1 if the window contains the answer, else 0."""

    char_spans: Integer
    """(R, T, 2) the start and end of each token in its context, in characters; -1 for tokens outside of the context."""

    @property
    def targets_per_window(self) -> int:
        """The number of targets per window: 2, or 3 with answerability."""
        return len(self.example_index) // len(self)

    @property
    def questions(self) -> Integer:
        """(R,) the index of the question of each window."""
        return self.example_index[:: self.targets_per_window]


def tokens_of(answer: Answers, span: Integer) -> list[tuple[int, int]]:
    """The first and last token of each answer that lies wholly inside a window, whose tokens start and end in the
    context at `span` (T, 2), -1 outside of it; [CLS] twice if none does."""
    context = np.flatnonzero(span[:, 0] >= 0)
    begins, ends = span[context].T
    targets = []
    for text, start in zip(answer.texts, answer.starts, strict=True):
        after = start + len(text.rstrip())
        start += len(text) - len(text.lstrip())
        touched = context[(ends > start) & (begins < after)]
        if len(touched) and begins[0] <= start and after <= ends[-1]:
            targets.append((int(touched[0]), int(touched[-1])))
    return targets or [(0, 0)]


def best(windows: Windows, scores: Float) -> tuple[Integer, Float]:
    """The best spans of at most `LONGEST_ANSWER` tokens of Q questions, (Q, 2) in characters, and their margins, (Q,).

    A margin is the score of the span, S.T_i + E.T_j, minus the lowest score of no answer in any window, S.C + E.C.
    `scores` (N R, T) are the logits of the N targets of each window, minus infinity on padding. With answerability, the
    third are those of no and yes: windows classified as no give no span, and a margin is the highest log-odds (nats) of
    any window that it contains an answer.
    """
    context, per_window = windows.char_spans[..., 0] >= 0, windows.targets_per_window
    width = context.shape[1]
    starts, ends = (np.where(context, scores[target::per_window, :width], -np.inf) for target in (0, 1))
    none = scores[0::per_window, 0] + scores[1::per_window, 0]
    score = np.full(len(windows), -np.inf)
    first, last = np.zeros((2, len(windows)), np.int64)
    for more in range(min(LONGEST_ANSWER, width)):  # spans of 1, 2, ... tokens, all windows at once
        sums = starts[:, : width - more] + ends[:, more:]
        at = sums.argmax(1)
        value = sums.max(1)
        better = value > score
        score = np.where(better, value, score)
        first, last = np.where(better, at, first), np.where(better, at + more, last)
    nothing = ~np.isfinite(score)  # windows without tokens of the context
    score = np.where(nothing, none, score)
    opens = np.flatnonzero(np.diff(windows.questions, prepend=-1))  # the first window of each question
    lowest = np.minimum.reduceat(none, opens)
    if per_window == 3:
        odds = scores[2::per_window, 1] - scores[2::per_window, 0]
        score = np.where(odds > 0, score, -np.inf)
    chosen = np.lexsort((score, windows.questions))[np.append(opens[1:], len(windows)) - 1]
    places = np.stack(
        [windows.char_spans[chosen, first[chosen], 0], windows.char_spans[chosen, last[chosen], 1]], axis=1
    )
    margins = np.maximum.reduceat(odds, opens) if per_window == 3 else score[chosen] - lowest
    return np.where(nothing[chosen, None], 0, places), margins


def _windows(
    places: Integer, answer: Answers, first: int, length: int, stride: int
) -> Iterator[tuple[int, Integer, tuple[int, int]]]:
    """The windows of a context whose tokens have these `places`, which begins at the token `first` of a sequence: the
    first token of each in the context, the places of its tokens (T, 2), -1 for others, and the first answer in it."""
    room = length - first - 1
    for start in range(0, max(1, len(places) - room + stride), stride):
        inside: Integer = places[start : start + room]
        span: Integer = np.pad(inside, ((first, length - first - len(inside)), (0, 0)), constant_values=-1)
        yield start, span, tokens_of(answer, span)[0]


def log_likelihoods(windows: Windows, right: Sequence[Answers], log_probabilities: Float) -> Float:
    """(Q,) the log-likelihood (nats) of the most probable right span of each question, over all windows; if none
    contains an answer, that of [CLS] in the window that gives it the lowest probability. `log_probabilities` (N R, T)
    are those of the N targets of each window; the answerability classifier has no influence."""
    held_log_sums, none = np.full(windows.raw_count, -np.inf), np.full(windows.raw_count, np.inf)
    starts, ends = (log_probabilities[target :: windows.targets_per_window] for target in (0, 1))
    for question, span, start, end in zip(windows.questions, windows.char_spans, starts, ends, strict=True):
        none[question] = min(none[question], start[0] + end[0])
        places = tokens_of(right[question], span)
        held = [start[first] + end[last] for first, last in places if first]
        held_log_sums[question] = max(held_log_sums[question], *held) if held else held_log_sums[question]
    return np.where(np.isfinite(held_log_sums), held_log_sums, none)


def normalised(text: str) -> str:
    """`text` in lower case, without ASCII punctuation and articles, with single spaces between words."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(prediction: str, answers: Sequence[str]) -> float:
    """1 if `prediction` equals one of the right answers, both normalised, else 0. As in the script of 2.0, answers that
    normalise to nothing are ignored; if none remains, the right answer is none."""
    return float(normalised(prediction) in _right(answers))


def f1(prediction: str, answers: Sequence[str]) -> float:
    """The F1 (0 to 1) between the words of `prediction` and those of the most similar right answer; if either is empty,
    1 if both are, else 0."""
    predicted, scores = normalised(prediction).split(), []
    for right in (answer.split() for answer in _right(answers)):
        same = sum((Counter(predicted) & Counter(right)).values())
        both = len(predicted) + len(right)
        scores.append(2 * same / both if predicted and right else float(predicted == right))
    return max(scores)


def _right(answers: Sequence[str]) -> list[str]:
    return [answer for answer in map(normalised, answers) if answer] or [""]


def best_threshold(margins: Float, answered: Float, unanswered: Float) -> float:
    """The best threshold tau: a question is answered if its margin is above tau.

    `margins` (Q,) are those of `best`; `answered` and `unanswered` (Q,) have each question's points in either case.
    Among equals, the tau that answers the fewest questions wins. BERT chooses tau on the development set that it
    reports, and so does this function: the metric is slightly better than on an unseen set.
    """
    order = np.argsort(-margins, kind="stable")
    sorted_margins, gains = margins[order], (answered - unanswered)[order]
    totals = np.concatenate([[0.0], np.cumsum(gains)])  # the gain if the first 0, 1, ... Q are answered
    apart = np.concatenate([[True], sorted_margins[:-1] > sorted_margins[1:], [True]])
    count = int(np.where(apart, totals, -np.inf).argmax())
    between = (sorted_margins[:-1] + sorted_margins[1:]) / 2
    return float(np.concatenate([sorted_margins[:1], between, sorted_margins[-1:] - 1])[count])
