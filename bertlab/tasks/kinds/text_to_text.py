"""Translations and summaries: the answer is a text (Raffel et al. 2020, 2.4), compared by BLEU and ROUGE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from bertlab.arrays import Array, Float
from bertlab.tasks import copying
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import Predicted, TaskKind
from bertlab.tasks.kinds.generated import DEFECTS, Generated, Outputs, no_defects, share
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD, Arrays
from bertlab.tasks.metrics import Mean, Metric
from bertlab.tasks.task import RawExamples, Table, Task, TaskData, columns_of
from bertlab.tasks.text_metrics import Bleu, bleu_statistics, rouge, sari

TRIED = 500
"""Training examples that choose the rule of the lexical floor."""


class TextToText(Generated, TaskKind):
    """A text for a text."""

    name = "text-to-text"
    unexchanged = ("sari",)
    metrics = ("bleu", "rouge1", "rouge2", "rougeL", "exact", "sari", *DEFECTS)

    def label_columns(self, task: Task) -> tuple[str, ...]:
        """The columns of the right texts, which may join several."""
        return columns_of(task.label)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[str]:
        """The right texts."""
        return table.texts(task.label)

    def written(self, answer: str) -> str:
        """The right text itself."""
        return answer

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The statistics of BLEU, the ROUGE and the SARI of each text, and the mean log-likelihood of a token of the
        right text, since the likelihood of a long text is 0."""
        outputs = Outputs.of(examples, scores)
        sources, right = map(outputs.tokenizer.spelled, (raw.text[0], raw.labels))
        arrays = outputs.arrays(**_scores(sources, outputs.texts, right))
        arrays[LOG_LIKELIHOOD] /= outputs.tokens
        return Predicted(arrays=arrays, collapsed=outputs.collapsed)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """BLEU, ROUGE, SARI, the percentage of texts that are right, or that of outputs with a defect."""
        values = arrays[name].astype(np.float64)
        return Bleu(values) if name == "bleu" else Mean(values) if name == "sari" else share(values)

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The most frequent text of the training examples."""
        (text, _), *_ = Counter(data.train.labels).most_common()
        return {**_scores(raw.text[0], [text] * len(raw), raw.labels), **no_defects(len(raw))}

    def lexical(self, train: RawExamples) -> Callable[[RawExamples], Arrays]:
        """The rule of `copying.rules` with the highest BLEU on some training examples: the input itself, its first
        sentence, or the input word by word."""
        inputs, answers = train.text[0], train.labels

        def bleu(rule: copying.Rule) -> float:
            texts = [rule(text) for text in inputs[:TRIED]]
            return Bleu(bleu_statistics(texts, answers[:TRIED]).astype(np.float64)).value

        best = max(copying.rules(inputs, answers), key=bleu)

        def arrays(raw: RawExamples) -> dict[str, Array]:
            sources = raw.text[0]
            return {**_scores(sources, [*map(best, sources)], raw.labels), **no_defects(len(raw))}

        return arrays


def _scores(sources: Sequence[str], texts: Sequence[str], right: Sequence[str]) -> dict[str, Array]:
    """The arrays of the metrics of texts for `sources`."""
    exact = np.array([text == other for text, other in zip(texts, right, strict=True)])
    return {
        "bleu": bleu_statistics(texts, right),
        **rouge(texts, right),
        "exact": exact,
        "sari": sari(sources, texts, right),
    }
