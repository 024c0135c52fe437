"""The values and the pre-trainings that a study plans, finished or not."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bertlab.adaptation import Adaptation
from bertlab.lab.claim import GUESS
from bertlab.recipe import BackboneConfig, Recipe, Tokenizer, cost
from bertlab.report.units import is_diagnostic, is_loss, is_share
from bertlab.store.record import Value
from bertlab.store.result import Defined, Environment, Result, Rows, Trunks

NUMERICS = ("device", "precision", "instructions", "threads", "compiled", "torch")
"""Facts of an environment that can change the last bits of a number."""

PLATEAU = 0.25
"""Nats: an LM that ends this close to the unigram entropy of its held-out text has learned next to nothing of context.
Models that never left the plateau ended up to 0.23 below it: the length of a sequence gives some tokens away, others
are shown."""
READS = 0.02
"""Nats: a decoder that gains less by the inputs of a held-out text than by those of another one does not read them."""

LARGEST = 1e50
"""A value whose squares and their sums are finite."""
EXCHANGED = "second text exchanged"
LEXICAL = "lexical baseline"
FLOORS = {
    GUESS: "",
    LEXICAL: " (a linear model of words, word pairs and shared words, on as many training examples as the models read, "
    "or on those in brackets; on minimal pairs, the best of three rules on words)",
    EXCHANGED: " (the baseline where one of two texts is another example's)",
}
"""What points that take no understanding mean, by their name."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A run that a study needs."""

    variant: str
    status: str
    """`done`, `collapsed`, `pending`, or why there is no result (`diverged`, `failed`, `damaged`)."""
    reason: str
    seconds: float
    result: Result
    """The result; at its defaults if the run is not finished."""
    environment: Environment
    """The machine and the libraries; at its defaults if the run is not finished."""

    @property
    def numerics(self) -> dict[str, str]:
        """The `NUMERICS` that are known."""
        return {name: str(self.environment.numerics[name]) for name in NUMERICS if name in self.environment.numerics}

    @property
    def status_text(self) -> str:
        """The status; a diverged run adds the step: `diverged at step 7`."""
        beginning = self.reason.partition(":")[0]
        return beginning if beginning.startswith(f"{self.status} at step") else self.status


@dataclass(frozen=True, kw_only=True)
class Cell(Planned, Value):
    """A value of a study, with what its run gave."""

    value: float | None
    """Points, or a metric of the pre-training in its own unit."""
    metrics: Mapping[str, float]
    """All metrics of the task on the split, in points."""
    guesses: Mapping[str, float]
    """The same metrics of the majority guess."""
    floors: Mapping[str, float]
    """Points that take no understanding, by `FLOORS`."""
    lexical_examples: int
    """Training examples that the lexical baseline is fitted on; 0 if it has none."""
    rows: Rows
    """The examples that it has read, on its own split."""
    kind: str
    """The kind of the task; empty until it is measured."""
    adaptation: Adaptation | None
    """The adaptation, at its defaults until it is measured; None for a component that this package does not define."""

    @property
    def trained_parameters(self) -> int | None:
        """Parameters that the adaptation trains; None if it is not measured or there is no adaptation."""
        return self.result.trained_parameters

    @property
    def limited(self) -> bool:
        """Whether `max_train_examples` left out examples of the task."""
        return self.adaptation is not None and 0 < self.rows.train == self.adaptation.max_train_examples

    @property
    def of_pretraining(self) -> bool:
        """Whether the value is a metric of the pre-training itself."""
        return self.method == "pretraining"

    @property
    def of_answers(self) -> bool:
        """Whether the value is a metric of answers to a task, not of the pre-training and not of a diagnostic."""
        return not self.of_pretraining and not is_diagnostic(self.metric)

    @property
    def in_points(self) -> bool:
        """Whether the value is in points: metrics of answers and held-out shares are."""
        return self.of_answers or is_share(self.metric)

    @property
    def digits(self) -> int:
        """Decimals that a table shows."""
        return 1 if self.in_points else 2

    @property
    def metric_name(self) -> str:
        """The metric as a table and an axis name it: `F1`, `accuracy`."""
        return self.metric.upper() if len(self.metric) < 3 else self.metric.replace("_", " ")

    @property
    def unit(self) -> str:
        """The unit of the value: `points`, `nats` of a loss, or the metric itself, such as `perplexity`."""
        if self.in_points:
            return "points"
        return "nats" if is_loss(self.metric) else self.metric.replace("_", " ")


@dataclass(frozen=True)
class Point:
    """A held-out evaluation during a pre-training."""

    step: int
    tokens: float
    """Tokens trained on until then."""
    seconds: float | None
    """Training time of the updates until then, without evaluations; None where it was not recorded."""
    losses: Mapping[str, float]
    """Nats, by name."""


@dataclass(frozen=True, kw_only=True)
class Pretraining(Planned):
    """A pre-training of a study: a variant and a seed. Its time is that of all its steps, with those of its trunks."""

    seed: int
    id: str
    finished: bool
    """Whether it has a result."""
    recipe: Recipe | None
    """The recipe; None if the run is not finished, or has a component that this package does not define."""
    model: BackboneConfig | None
    """The shape of its model, if it is known."""
    tokenizer: Tokenizer | None
    defined: Defined
    """What is known of its recipe, whether or not a study file defines parts of it."""
    curve: tuple[Point, ...]
    trunks: Trunks = field(default_factory=Trunks)
    """The first steps that it shares with other pre-trainings, which were trained once."""

    @property
    def host(self) -> dict[str, str]:
        """The machine: its processor, cores, system, and the versions of the libraries."""
        facts = {name: getattr(self.environment, name) for name in ("processor", "cores", "system", "python")}
        versions = self.environment.versions
        versions = {name: versions[name] for name in sorted(versions) if name not in NUMERICS}
        return {name: str(fact) for name, fact in facts.items() if fact is not None} | versions

    @property
    def imported(self) -> str:
        """The name of the published checkpoint; empty for a model that was trained here."""
        return "" if self.result.fresh else self.result.checkpoint

    @property
    def steps(self) -> int:
        """Updates that it was trained for."""
        return self.result.steps or 0

    @property
    def untrained(self) -> bool:
        """Whether it is a model without pre-training."""
        return self.finished and not self.steps and not self.imported

    @property
    def trained(self) -> bool:
        """Whether it was trained here, and is finished."""
        return self.finished and self.steps > 0 and not self.imported

    @property
    def flops(self) -> float | None:
        """Operations of all its steps; None if it was not trained here, or its recipe is not known."""
        if self.recipe is None or self.imported:
            return None
        return cost.flops(self.recipe, vocabulary=self.result.vocabulary or 0)

    @property
    def loss(self) -> float | None:
        """The final held-out loss that evaluates the variant, in nats."""
        return self.heldout(self.result.judged_by)

    @property
    def plateau(self) -> float | None:
        """The unigram plateau of the loss that evaluates the variant, in nats."""
        return self.plateau_of(self.result.judged_by)

    def plateau_of(self, loss: str) -> float | None:
        """The unigram entropy of its held-out text, in nats; None for a loss that is not over the vocabulary.

        Results of earlier versions do not say which are, and count all.
        """
        if self.result.over_vocabulary is not None and loss not in self.result.over_vocabulary:
            return None
        return number(self.result.unigram_entropy)

    @property
    def learned_nothing(self) -> bool:
        """Whether it ends on the unigram plateau, or next to it."""
        if self.untrained or self.loss is None or self.plateau is None:
            return False
        return self.loss > self.plateau - PLATEAU

    @property
    def ignores_inputs(self) -> bool:
        """Whether its decoder does not read its inputs: held-out text is as likely with those of another text."""
        exchanged = self.heldout("exchanged_loss")
        return self.loss is not None and exchanged is not None and exchanged - self.loss < READS

    def heldout(self, name: str) -> float | None:
        """A metric of its final held-out evaluation."""
        return number(self.result.heldout.get(name))


def number(value: float | None) -> float | None:
    """`value`, if it is a number that a figure can show."""
    return None if value is None or abs(value) > LARGEST else float(value)
