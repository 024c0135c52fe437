"""The protocol of a kind of task, and what most kinds share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Float, Integer
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.recipe.ranges import Range, check_returns
from bertlab.tasks import lexical
from bertlab.tasks.examples import IGNORED, Examples, TaskBatch
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD, Arrays, Scoring
from bertlab.tasks.task import RawExamples, Table, Task, TaskData

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.recipe import Recipe
    from bertlab.text.tokenizers.base import TrainedTokenizer
    from bertlab.text.tokens import TokenisedCorpus

PIECES_PER_WORD = 1.3
"""Tokens of a word, about, where a task's text is not tokenised."""

SETTINGS = ("finetune", "tagging", "span")
"""The groups of a scale's fields that set the fine-tuning of a kind."""

Options = Collection[str]
"""The names in `TaskKind.options` that the adaptation switches on."""

OpenText = Callable[[], "TokenisedCorpus | None"]
"""Opens the text of a pre-training, None where it is not in the store."""

KINDS: dict[str, TaskKind] = {}
"""The kinds of the package and of the study files that this process has run, by name."""
_RETURNS: Mapping[str, Any] = {
    **dict.fromkeys(("name", "hub_task", "published_head", "settings_group"), str),
    **dict.fromkeys(("labelled", "cased", "per_token", "trained", "opened", "averages", "writes"), bool),
    **dict.fromkeys(
        ("metrics", "of_questions", "options", "extra_columns", "label_columns", "label_names", "unexchanged"),
        tuple[str, ...],
    ),
    **dict.fromkeys(("metrics_for_labels", "metrics_of"), tuple[str, ...]),
    "columns": range,
    "exchanged_column": Annotated[int | None, Range(0, 100)],
    "text": tuple,
    "encode": "bertlab.tasks.examples.Examples",
    "head": "torch.nn.Module",
    **dict.fromkeys(("logits", "loss", "scores"), "torch.Tensor"),
    "predict": "bertlab.tasks.kinds.base.Predicted",
    **dict.fromkeys(("blank", "outputs"), list),
    "context_rows": Annotated[int, Range(0, 1_000_000)],
    "published_fields": dict,
    "score": "bertlab.tasks.metrics.Metric",
    **dict.fromkeys(("majority", "example_arrays"), Mapping[str, Any]),
    "lexical": "collections.abc.Callable",
    "extent": Annotated[tuple[float, float], Range(0, 1e12)],
    **dict.fromkeys(("lexical_floor", "word_floor"), list),
}
"""What methods and constants of a kind of a study file give, as `check_returns` reads it."""
_floors: dict[tuple[str, ...], list[dict[str, float]]] = {}


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """Predictions from logits."""

    arrays: dict[str, Array]
    collapsed: bool
    """Whether all predictions are the same."""
    threshold: float | None = None
    """The score above which a question is answered, for tasks with unanswerable questions."""


class TaskKind(Scoring):
    """A kind of task; the defaults classify a text or a pair of texts."""

    columns: ClassVar[range] = range(1, 3)
    """Allowed numbers of text columns."""
    hub_task: ClassVar[str] = "text-classification"
    """The name of such tasks on the Hugging Face Hub, for model cards."""
    published_head: ClassVar[str] = "SequenceClassification"
    """The end of the name of the classes of `transformers` with its head; empty if there are none."""
    settings_group: ClassVar[str] = "finetune"
    """The one of `SETTINGS` that sets its fine-tuning."""
    options: ClassVar[tuple[str, ...]] = ()
    """Fields of an adaptation that apply to this kind only."""
    labelled: ClassVar[bool] = False
    """Whether its answers are named labels."""
    cased: ClassVar[bool] = False
    """Whether the papers use cased text for it."""
    extra_columns: ClassVar[tuple[str, ...]] = ()
    """Columns that it reads beside those of the task, where a source has them."""
    trained: ClassVar[bool] = True
    """Whether its tasks have training examples; otherwise a model is measured as it is."""
    opened: ClassVar[bool] = True
    """Whether [CLS] stands in front of what it reads."""
    writes: ClassVar[bool] = False
    """Whether its answers are texts, so that it may be a part of a pre-training."""
    exchanged_column: ClassVar[int | None] = 1
    """The text column that the floor of exchanged texts takes from another example; None without this floor."""

    def __init_subclass__(cls) -> None:
        """Adds a kind to `KINDS`. Raises `BadInput` for a name that is taken, and for settings that no scale has."""
        super().__init_subclass__()
        cls.user_defined = not cls.__module__.startswith("bertlab.")
        if cls.user_defined:
            check_returns(cls, _RETURNS)
        if cls.user_defined and ("name" not in vars(cls) or (cls.name in KINDS and not KINDS[cls.name].user_defined)):
            taken = f"'{cls.name}' is bertlab's" if hasattr(cls, "name") else "it has none"
            raise BadInput(
                f"the kind of task {cls.__name__} needs a name of its own, and {taken}: set name in the class"
            )
        if cls.settings_group not in SETTINGS:
            wrong = f"the kind of task {cls.__name__} has the settings_group {shown(cls.settings_group)}"
            raise BadInput(f"{wrong}: give {', '.join(SETTINGS)}")
        KINDS[cls.name] = cls()

    @property
    def base_kind(self) -> str:
        """The name of the package's kind that it is or extends; its own if it extends none."""
        extended = (
            ancestor for ancestor in type(self).__mro__ if issubclass(ancestor, TaskKind) and not ancestor.user_defined
        )
        return next((ancestor.name for ancestor in extended if "name" in vars(ancestor)), self.name)

    def label_columns(self, task: Task) -> tuple[str, ...]:
        """The columns that hold the answers."""
        return (task.label,)

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """The names of the labels in order; none for answers without labels."""
        return ()

    def text(self, task: Task, table: Table) -> tuple[list[Any], ...]:
        """The columns of text of a split, checked."""
        return tuple(table.texts(column) for column in task.text)

    @abstractmethod
    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> Sequence[Any]:
        """The answers of a split, checked."""

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """Answers that stand in for those of rows without any, so that `encode` takes their `text`: by default the
        first label. Raises `BadInput` for rows that a model of the task, whose `labels` are named, cannot answer."""
        return [0] * len(text[0])

    def check(self, read_recipe: Callable[[], Recipe]) -> None:
        """Raises `BadInput` for models that cannot answer it; to read a recipe may be a download."""

    def context_rows(self, length: int, options: Options) -> int:
        """The most rows before and after one in its split that `encode` reads with it in `length` tokens: none."""
        return 0

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Examples:
        """Encodes raw examples as word pieces, at most `length` tokens per sequence: by default as [CLS] A [SEP] or
        [CLS] A [SEP] B [SEP] (BERT section 4.1) with the target at [CLS]."""
        first, *second = (tokenizer.encode(column) for column in raw.text)
        sequences: list[Integer] = []
        segment_b_start = np.empty(len(raw), np.int32)
        for number, one in enumerate(first):
            two = [*second[0][number], tokenizer.sep] if second else []
            keep, keep_second = truncated(len(one), max(0, len(two) - 1), length - (3 if second else 2))
            segment_b_start[number] = keep + 2
            sequence = [tokenizer.cls, *one[:keep], tokenizer.sep, *two[:keep_second], *two[-1:]]
            sequences.append(np.array(sequence, np.int32))
        return Examples(
            sequences=sequences,
            segment_b_start=segment_b_start,
            positions=[np.zeros(1, np.int32)] * len(sequences),
            targets=np.array(raw.labels),
            example_index=np.arange(len(sequences)),
            pad=tokenizer.pad,
            raw_count=len(sequences),
        )

    def head(
        self, encoder: Backbone, pooler: Pooler, labels: Sequence[str], dropout: float, seed: int, options: Options = ()
    ) -> nn.Module:
        """`encoder` with a new head whose weights start from `seed`; sets the dropout of both. The default is BERT's
        pooler with one output per label, or a single output for answers without labels."""
        from bertlab.model.heads import ClassificationModel

        return ClassificationModel(encoder, pooler, len(labels) if self.labelled else 1, dropout, seed)

    def logits(self, model: Any, batch: TaskBatch) -> Tensor:
        """(B, K, C) at the targets of a batch: C labels, one value, the choices, or the positions of a span."""
        logits: Tensor = model(batch["inputs"])
        return logits.view(*batch["targets"].shape, -1)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The mean over targets (B, K) of the cross-entropy of logits (B, K, C), nats."""
        from torch.nn.functional import cross_entropy

        return cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED)

    def scores(self, model: Any, batch: TaskBatch, logits: Tensor) -> Tensor:
        """What predictions are read from at the targets of a batch, (B, K, C): by default its logits."""
        return logits

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """Predictions from the `scores` (W, C) of `examples`: by default the most probable label. Kinds with a
        threshold choose the best one for these examples if `threshold` is None."""
        from scipy.special import log_softmax

        prediction, targets = scores.argmax(-1), examples.targets
        right = log_softmax(scores, -1)[np.arange(len(targets)), targets]
        collapsed = bool((prediction == prediction[0]).all())
        return Predicted(
            arrays={"prediction": prediction, "label": targets, LOG_LIKELIHOOD: right}, collapsed=collapsed
        )

    def outputs(
        self, labels: Sequence[str], raw: RawExamples, examples: Examples, scores: Float, threshold: float | None
    ) -> list[dict[str, Any]]:
        """What `bertlab predict` says of each of `raw` as JSON, from the scores (W, C) of `examples`: by default the
        most probable label, and the probability of each. Kinds with a threshold answer above it."""
        from scipy.special import softmax

        names = labels or [str(number) for number in range(scores.shape[1])]
        best, shares = scores.argmax(-1), softmax(scores.astype(np.float64), -1).round(6).tolist()
        return [
            {"label": names[index], "probabilities": dict(zip(names, row, strict=True))}
            for index, row in zip(best, shares, strict=True)
        ]

    def published_fields(self, labels: Sequence[str]) -> dict[str, Any]:
        """The fields of the config.json of `transformers` for a model of a task with these labels: here their names."""
        names = {str(number): label for number, label in enumerate(labels)} if self.labelled else {}
        return {"id2label": names, "label2id": {label: int(number) for number, label in names.items()}} if names else {}

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The best constant prediction of the training examples: by default the first of the most frequent labels."""
        label = examples.targets
        return {"prediction": np.full_like(label, int(np.bincount(train.targets).argmax())), "label": label}

    def lexical(self, train: RawExamples) -> Callable[[RawExamples], Arrays]:
        """A linear model of `lexical.features`, fitted to `train`: gives predictions for other examples."""
        labels = np.array(train.labels)

        def encoded(rows: Integer) -> tuple[Any, Any]:
            return lexical.features(train.take(rows).text), labels[rows]

        classes = None if np.issubdtype(labels.dtype, np.floating) else np.unique(labels)
        model = lexical.fit(len(train), classes, encoded)
        return lambda raw: {"prediction": model.predict(lexical.features(raw.text)), "label": np.array(raw.labels)}

    def lexical_floor(self, data: TaskData, max_train_examples: int = 0) -> list[dict[str, float]]:
        """The metrics of `lexical` on the evaluation split and, if the task has one, on the test split: fitted to as
        many training examples as a model reads, all or a keyed sample of `max_train_examples`, once per process for the
        same content."""
        most = max_train_examples or len(data.train)
        first = [str(column[0]) for raw in (data.train, data.evaluation) for column in raw.text]
        key = (str(most), str(len(data.evaluation)), data.content, data.name, data.kind, *data.labels, *first)
        if key not in _floors:
            train = data.train
            if len(train) > most:
                train = train.take(np.sort(keyed.permutation(keyed.key("lexical"), len(train))[:most]))
            predict = self.lexical(train)
            parts = [examples for examples in (data.evaluation, data.test) if examples]
            _floors[key] = [self.floor(predict(raw), raw, data.labels) for raw in parts]
        return _floors[key]

    def word_floor(self, data: TaskData, max_train_examples: int, text: OpenText) -> list[dict[str, float]]:
        """The floor of what words alone tell, which reports call lexical; by default the text is not read."""
        return self.lexical_floor(data, max_train_examples)

    def extent(self, raw: RawExamples, length: int, training: bool) -> tuple[float, float]:
        """About how many examples `encode` makes of one of `raw`, and how many tokens their sequences have in all."""
        return 1.0, min(length, sum(float(token_counts(column).mean()) for column in raw.text) + 3)


SAMPLED = 500
"""The texts at the beginning of a column by which its tokens are estimated."""


def token_counts(column: Sequence[str | Sequence[str]]) -> Float:
    """About the tokens of each of the first `SAMPLED` texts of a column, by their words."""
    return np.array(
        [PIECES_PER_WORD * (text.count(" ") + 1 if isinstance(text, str) else len(text)) for text in column[:SAMPLED]]
    )


def truncated(first: int, second: int, budget: int) -> tuple[int, int]:
    """The lengths of a pair truncated to `budget` tokens, always at the end of the longer segment."""
    # Of equally long segments the second is truncated, so the first keeps the odd token.
    first_length = min(first, max(budget - second, budget - budget // 2))
    return first_length, min(second, budget - first_length)
