"""Coreference resolution: the mentions of a document in clusters, one for each thing mentioned (Pradhan et al. 2012).

The document is read in segments, one after another, as in Joshi et al. 2019 (independent segments), and its spans are
scored as `model/coreference.py` says. Kind `coreference` is another task: the choice between two names for one pronoun.

Data is that of e2e-coref: `sentences`, lists of words, and `clusters`, lists of mentions `[first, last]`, the places of
their words in the document. Or it is that of CoNLL-2012 on the Hub, where the label is `sentences` too: of each its
`words`, `coref_spans` `[cluster, first, last]` in the sentence, and `part_id`: clusters are those of one part.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from bertlab.arrays import Float, Integer
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Examples, TaskBatch, sizes
from bertlab.tasks.kinds.base import Options, Predicted, TaskKind, token_counts
from bertlab.tasks.kinds.coreference_resolution.clusters import METRICS, clusters_of, f1_of_counts
from bertlab.tasks.kinds.coreference_resolution.documents import DocumentPart, Documents, by_word, divided
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD, Arrays
from bertlab.tasks.metrics import Metric, MetricOfMeans, percentage
from bertlab.tasks.task import RawExamples, Table, Task, TaskData

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.text.tokenizers.base import TrainedTokenizer

Mention = tuple[int, int]
"""The first and the last word of a mention, from 0."""

SPAN_SHARE = 0.4
"""Spans that are kept, as a fraction of the words of a document: lambda of Lee et al. 2018."""
TRAINING_SEGMENTS = 3
"""The most segments of a document in training: longer ones become several, so that they fit the memory of a GPU. The
paper's code trains on a random part of this size instead."""
CLUSTERS = "clusters"
"""The column of e2e-coref's data that gives the clusters of a published task, where a local mirror has it."""
LEXICAL_WORDS = 4
"""Words of the longest spans of the lexical floor."""
_ENDS = {"/.": ".", "/?": "?"}
"""How OntoNotes spells some ends of sentences; e2e-coref undoes it, too."""


@dataclass(frozen=True)
class Annotation:
    """The clusters of a document, and its sentences."""

    clusters: list[list[Mention]]
    sentences: list[int]
    """The number of words of each sentence."""
    parts: list[int]
    """The part that each sentence belongs to."""


class CoreferenceResolution(TaskKind):
    """The clusters of mentions in a document."""

    name = "coreference-resolution"
    columns = range(1, 2)
    metrics: ClassVar[tuple[str, ...]] = ("f1", *METRICS)
    hub_task = "token-classification"
    published_head = ""
    cased = True
    averages = False
    extra_columns = (CLUSTERS,)

    def text(self, task: Task, table: Table) -> tuple[list[list[str]], ...]:
        """The words of each document."""
        return ([list(itertools.chain.from_iterable(sentences)) for sentences in _documents(task, table)],)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[Annotation]:
        """The clusters of each document. Those that share a mention are one."""
        annotations = []
        label = _label(task, table)
        values = zip(table.columns[task.text[0]], table.columns[label], _documents(task, table), strict=True)
        for row, (document, clusters, sentences) in enumerate(values, start=1):
            counts = [len(sentence) for sentence in sentences]
            parts, where = [0] * len(counts), f"{table.where(label)} row {row}"
            if label == task.text[0]:
                parts = [sentence.get("part_id", 0) for sentence in document]
                clusters = _of_sentences(document, counts, where)
            links = [pair for cluster in _checked(clusters, sum(counts), where) for pair in _links(cluster)]
            annotations.append(Annotation(cast("list[list[Mention]]", clusters_of(links)), counts, parts))
        return annotations

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> list[Annotation]:
        """No clusters, in the sentences of each document."""
        counts = [[len(sentence) for sentence in sentences] for sentences in _documents(task, table)]
        return [Annotation([], of_document, [0] * len(of_document)) for of_document in counts]

    def extent(self, raw: RawExamples, length: int, training: bool) -> tuple[float, float]:
        """A document is read in segments."""
        words = token_counts(raw.text[0])
        segments = np.ceil(words / (length - 2))
        parts = np.ceil(segments / TRAINING_SEGMENTS) if training else np.ones(1)
        return float(parts.mean()), float((words + 2 * segments).mean())

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Documents:
        """Encodes the parts of documents as segments [CLS] sentences [SEP] of at most `length` tokens; only sentences
        that are longer are divided, between words. An example is a part; for `training` it has at most
        `TRAINING_SEGMENTS`, and clusters are cut between examples."""
        sentences = []
        for words, annotation in zip(raw.text[0], raw.labels, strict=True):
            ends = np.cumsum(annotation.sentences)
            sentences += [words[end - count : end] for end, count in zip(ends, annotation.sentences, strict=True)]
        encoded = iter(tokenizer.encode_words(sentences))
        parts: list[DocumentPart] = []
        for number, annotation in enumerate(raw.labels):
            pieces = [by_word(*next(encoded), length - 2) for _ in annotation.sentences]
            parts += divided(number, pieces, annotation.parts, length - 2, TRAINING_SEGMENTS if training else 0)
        mentions = [part.mentions(raw.labels[part.document].clusters) for part in parts]
        num_spans = np.array([max(1, int(SPAN_SHARE * len(part.sentences))) for part in parts])
        counts = num_spans + sizes(mentions)
        sequences: list[Integer] = [
            np.array([tokenizer.cls, *segment, tokenizer.sep], np.int32) for part in parts for segment in part.segments
        ]
        return Documents(
            sequences=sequences,
            segment_b_start=sizes(sequences),
            positions=[np.array(part.firsts) for part in parts],
            targets=np.zeros(counts.sum(), np.int64),
            example_index=np.repeat([part.document for part in parts], counts),
            pad=tokenizer.pad,
            raw_count=len(raw),
            lasts=[np.array(part.lasts) for part in parts],
            sentences=[np.array(part.sentences) for part in parts],
            mentions=mentions,
            num_spans=num_spans,
            starts=np.array([part.start for part in parts]),
            opens=np.cumsum([0, *(len(part.segments) for part in parts)]),
        )

    def head(
        self, encoder: Backbone, pooler: Pooler, labels: Sequence[str], dropout: float, seed: int, options: Options = ()
    ) -> nn.Module:
        """Scores of mentions and of their antecedents."""
        from bertlab.tasks.kinds.coreference_resolution.model import CoreferenceModel

        return CoreferenceModel(encoder, dropout, seed)

    def logits(self, model: Any, batch: TaskBatch) -> Tensor:
        """Kept spans and their antecedents, as `CoreferenceModel` gives them."""
        names = ("positions", "lasts", "sentences", "num_spans", "targets")
        logits: Tensor = model(batch["inputs"], *(batch[name] for name in names))
        return logits

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The negative log-likelihood of the right antecedents of the kept spans, summed over a document, as the mean
        over documents, nats; `targets` (B, G, 3) has the gold mentions."""
        from bertlab.tasks.kinds.coreference_resolution.model import KEPT, log_likelihoods

        return -(log_likelihoods(logits, targets) * (logits[..., 0] == KEPT)).sum() / len(targets)

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The clusters that the best antecedents of kept spans give, and the log-likelihood of the right antecedents of
        the gold mentions of each document, among gold mentions."""
        import torch

        from bertlab.tasks.kinds.coreference_resolution.model import log_likelihoods

        parts = cast(Documents, examples)
        likelihood = np.zeros(len(raw))
        for at, rows in enumerate(_rows(parts, scores)):
            gold = torch.from_numpy(rows[None, parts.num_spans[at] :])
            mentions = torch.from_numpy(parts.mentions[at][None])
            likelihood[parts.example_index[parts.first_targets[at]]] += float(log_likelihoods(gold, mentions).sum())
        predicted = _clusters(parts, scores)
        collapsed = not any(predicted)
        return Predicted(arrays=_scores(predicted, raw) | {LOG_LIKELIHOOD: likelihood}, collapsed=collapsed)

    def outputs(
        self, labels: Sequence[str], raw: RawExamples, examples: Examples, scores: Float, threshold: float | None
    ) -> list[dict[str, Any]]:
        """The clusters, lists of the first and last words of mentions, from 0 in the document."""
        return [{"clusters": clusters} for clusters in _clusters(cast(Documents, examples), scores)]

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """No clusters at all."""
        return _scores([[] for _ in range(len(raw))], raw)

    def lexical(self, train: RawExamples) -> Callable[[RawExamples], Arrays]:
        """Links spans with the same last word: those whose words are a mention in most of the places of the training
        examples where they occur. Names that the training examples lack are all alike."""
        vocabulary = {word for words in train.text[0] for word in words if not word[:1].isupper()}

        def key(words: Sequence[str]) -> tuple[str, ...]:
            return tuple(word.lower() if word.lower() in vocabulary else "Name" for word in words)

        occurs, mentioned = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        for words, annotation in zip(train.text[0], train.labels, strict=True):
            keys = key(words)
            occurs.update(keys[first : last + 1] for first, last in _spans(annotation))
            gold = (mention for cluster in annotation.clusters for mention in cluster)
            mentioned.update(keys[first : last + 1] for first, last in gold)

        def clusters(words: Sequence[str], annotation: Annotation) -> list[list[Any]]:
            keys, after = key(words), -1
            of_head: dict[str, list[Mention]] = {}
            for first, last in _spans(annotation):  # of those that start at a word, the longest first
                span = keys[first : last + 1]
                if first > after and 2 * mentioned[span] > occurs[span]:
                    of_head.setdefault(words[last].lower(), []).append((first, last))
                    after = last
            return [cluster for cluster in of_head.values() if len(cluster) > 1]

        return lambda raw: _scores([clusters(*pair) for pair in zip(raw.text[0], raw.labels, strict=True)], raw)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """The F1 of each metric over all documents, and their mean."""
        if name not in (*METRICS, "f1", *arrays):
            raise self.unscored(name)
        counts = [arrays[metric] for metric in (METRICS if name == "f1" else (name,))]
        return MetricOfMeans(np.concatenate(counts, -1).astype(np.float64), f1_of_counts)

    def likelihood(self, arrays: Arrays) -> Metric:
        """The mean probability of the right antecedents of gold mentions (points): the geometric mean in a document,
        the arithmetic one over the mentions of all."""
        mentions = arrays["b_cubed"][:, 3].astype(np.float64)
        scores = arrays[LOG_LIKELIHOOD].astype(np.float64) / np.maximum(mentions, 1)
        return MetricOfMeans(np.stack([mentions * np.exp(scores), mentions], -1), percentage)


def _rows(parts: Documents, scores: Float) -> Iterator[Float]:
    """The rows of the output of each part: those of its kept spans, then those of its gold mentions."""
    for first, count in zip(parts.first_targets, parts.counts, strict=True):
        yield scores[first : first + count]


def _clusters(parts: Documents, scores: Float) -> list[list[Any]]:
    """The clusters of each document that the best antecedents of kept spans give."""
    links: list[list[tuple[Mention, Mention]]] = [[] for _ in range(parts.raw_count)]
    for at, rows in enumerate(_rows(parts, scores)):
        num_spans, start = parts.num_spans[at], parts.starts[at]
        spans = rows[:num_spans, 1:3].astype(np.int64) + start
        antecedents = rows[:num_spans, 3:].reshape(num_spans, -1, 3)
        best = antecedents[np.arange(num_spans), antecedents[..., 0].argmax(1)]
        for span, (score, *antecedent) in zip(spans, best, strict=True):
            if score > 0:
                one, two = (tuple(int(word) for word in words) for words in (antecedent + start, span))
                links[parts.example_index[parts.first_targets[at]]].append((cast(Mention, one), cast(Mention, two)))
    return [clusters_of(document_links) for document_links in links]


def _label(task: Task, table: Table) -> str:
    """The column of the clusters."""
    return CLUSTERS if task.label == task.text[0] and CLUSTERS in table.columns else task.label


def _documents(task: Task, table: Table) -> list[list[list[str]]]:
    """The words of the sentences of each document. Raises `BadInput` that names the first row of another form."""
    column = task.text[0]
    if column not in table.columns:
        raise BadInput(f"text {shown(column)}: coreference resolution takes the name of one column")
    documents, marked = [], _label(task, table) == column
    for row, value in enumerate(table.columns[column], start=1):
        sentences: list[Any] = value if isinstance(value, list) else [None]
        if marked:
            sentences = [sentence.get("words") if isinstance(sentence, dict) else None for sentence in sentences]
        lists = all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in sentences)
        if not lists or not any(sentences):
            form = '{"words": [...], "coref_spans": [...]}' if marked else "a list of words"
            raise BadInput(f"{table.where(column)} row {row} is {shown(value)}: give a list of sentences, each {form}")
        documents.append([[_ENDS.get(word, word) for word in words] for words in sentences])
    return documents


def _of_sentences(sentences: list[dict[str, Any]], counts: list[int], where: str) -> list[list[list[int]]]:
    """The clusters of a document of CoNLL-2012 on the Hub."""
    clusters: dict[tuple[int, int], list[list[int]]] = {}
    for sentence, start in zip(sentences, itertools.accumulate([0, *counts]), strict=False):
        try:
            for number, first, last in sentence["coref_spans"]:
                clusters.setdefault((sentence.get("part_id", 0), number), []).append([start + first, start + last])
        except (KeyError, TypeError, ValueError):
            spans = shown(sentence.get("coref_spans"))
            form = "[[cluster, first, last], ...], and a number as part_id"
            raise BadInput(f"{where} has coref_spans {spans}: give {form}") from None
    return list(clusters.values())


def _checked(clusters: Any, words: int, where: str) -> list[list[Mention]]:
    """The clusters of a document of `words` words. Raises `BadInput` for another form and for false positions."""
    try:
        checked = [[(first, last) for first, last in cluster] for cluster in clusters]
    except (TypeError, ValueError):
        raise BadInput(f"{where} is {shown(clusters)}: give a list of clusters, each [[first, last], ...]") from None
    for first, last in itertools.chain.from_iterable(checked):
        if not (type(first) is type(last) is int and 0 <= first <= last < words):
            has = f"{where} has the mention [{shown(first)}, {shown(last)}]"
            raise BadInput(f"{has}: give the positions of its first and last word, of 0 to {words - 1}")
    return checked


def _links(cluster: list[Mention]) -> Iterator[tuple[Mention, Mention]]:
    """Links that give this cluster."""
    return zip(cluster, [*cluster[1:], *cluster[:1]], strict=True)


def _spans(annotation: Annotation) -> Iterator[Mention]:
    """All spans of at most `LEXICAL_WORDS` words in a sentence, the longest first of those that start at a word."""
    start = 0
    for count in annotation.sentences:
        for first in range(start, start + count):
            last = min(first + LEXICAL_WORDS, start + count) - 1
            yield from ((first, end) for end in range(last, first - 1, -1))
        start += count


def _scores(predicted: Sequence[Sequence[Any]], raw: RawExamples) -> dict[str, Float]:
    """The counts of each metric, (E, 4) each."""
    pairs = [(clusters, annotation.clusters) for clusters, annotation in zip(predicted, raw.labels, strict=True)]
    return {name: np.array([metric(*pair) for pair in pairs], np.float64) for name, metric in METRICS.items()}
