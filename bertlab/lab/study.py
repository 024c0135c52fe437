"""Studies as data: variants, measurements, published values and claims.

A study's file reads like the table in the paper; `ablations/masking.py` is an example.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeVar

from bertlab.adaptation import Adaptation, FineTuning
from bertlab.errors import BadInput, at, unknown
from bertlab.lab import scales
from bertlab.lab.claim import GUESS as GUESS
from bertlab.lab.claim import RANDOM_INIT as RANDOM_INIT
from bertlab.lab.claim import Claim as Claim
from bertlab.lab.study_file import StudyFile
from bertlab.lab.variant import DEFAULT_METRIC as DEFAULT_METRIC
from bertlab.lab.variant import Average as Average
from bertlab.lab.variant import Ensemble as Ensemble
from bertlab.lab.variant import Measurement as Measurement
from bertlab.lab.variant import PublishedTable as PublishedTable
from bertlab.lab.variant import RelativeSchedule as RelativeSchedule
from bertlab.lab.variant import Variant as Variant
from bertlab.names import ALL, plain
from bertlab.recipe import Loss, Recipe, cost
from bertlab.recipe.identity import by_kind, default_of, flatten, set_fields, to_canonical, with_fields
from bertlab.recipe.ranges import Checked, Range, arms
from bertlab.tasks import catalog, kinds
from bertlab.tasks.task import Task as Task

Place = tuple[str, str] | tuple[str, str, int]
"""The variant and the measurement of a published value, and the milestone (per cent) if it is not the end."""
Member = TypeVar("Member", Variant, Measurement)


@dataclass(frozen=True, kw_only=True)
class Study(Checked, group="study "):
    """An ablation: its question, the paper's table as data, and what the paper found."""

    name: str
    """How commands, reports and the addresses of runs refer to it; not `all`."""
    question: str
    """What it asks, in one sentence; `bertlab studies` and its report begin with it."""
    source: str
    """The paper and the table, such as `Devlin et al. 2019, Table 8`."""
    baseline: str
    """The variant with which the others are compared."""
    variants: list[Variant]
    """The lines of the table, in the paper's order; one of them is the baseline."""
    measurements: list[Measurement]
    """The columns of the table, in the paper's order."""
    averages: list[Average] = field(default_factory=list)
    """Columns of the table that are means of the measurements."""
    published: Annotated[Mapping[Place, float], Range(-1e6, 1e6)] = field(default_factory=dict)
    """Published values in points by (variant, measurement) or (variant, measurement, milestone); `table` makes them."""
    related: list[PublishedTable] = field(default_factory=list)
    """Published results of other models, for reference."""
    speeds: Annotated[Mapping[str, float | None], Range(0, 1e6, above=True)] = field(default_factory=dict)
    """Published training speeds by variant, as multiples of one of them, which has 1; None for one that is not printed.
    With them, `ablate` times the variants on the machine that trains, and the report shows both."""
    claims: list[Claim] = field(default_factory=list)
    """What the paper found; each gets a verdict."""
    text: str = ""
    """The text of the paper's pre-training, in words, for the list of differences; empty for BERT's."""
    at_paper: Mapping[str, str] = field(default_factory=dict)
    """Settings of the study's own paper at scale paper, as in `--set`: `{"inputs.dupe_factor": "1"}`."""
    at_scale: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Settings at other scales, by the scale, where its own would not show what the study asks:
    `{"micro": {"model.layers": "12"}}`."""
    unlike: list[str | tuple[str, str]] = field(default_factory=list)
    """Differences from the paper that no field expresses, a phrase each, or a measurement and a phrase: with them only
    directions compare, at every scale, and no margin is tested. What leaves sizes comparable is a note."""
    summary: Literal["mean", "median"] = "mean"
    """How the published values summarise runs; tables summarise the measured values in the same way."""
    restarts: Annotated[int, Range(0, 1000)] = 0
    """Fine-tuning seeds within each pre-training seed, unless a command gives a number; 0 for the scale's."""
    notes: list[str] = field(default_factory=list)
    """Caveats for every report of this study."""
    file: StudyFile | None = field(default=None, repr=False, compare=False)
    """The study file with its code, which `studies.find` adds; None for a study of the package."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name("study", self.name)
        if self.name == ALL:
            raise BadInput(f"a study is named '{ALL}', which stands for all studies: give it another name")
        with at(location(self)):
            _check_names(self)
            _check_measurements(self)
            _check_averages(self)
            _check_speeds(self)
            _check_published(self)
            _check_claims(self)
            _check_paper(self)

    @classmethod
    def of_one(cls, name: str, variant: str, measurement: Measurement) -> Self:
        """A study of one variant with one measurement: what commands on single models run."""
        alone: dict[str, Any] = {"baseline": variant, "variants": [Variant(variant)], "measurements": [measurement]}
        return cls(name=name, question="", source="", **alone)

    @property
    def of_paper(self) -> bool:
        """Whether it stands for a paper, in whose setting alone its margins are tested."""
        return self.file is None or bool(self.published or self.unlike or self.at_paper)

    @property
    def differences(self) -> list[tuple[str, str]]:
        """`unlike`, each as its measurement (empty for all) and its phrase."""
        return [("", difference) if isinstance(difference, str) else difference for difference in self.unlike]

    def setting_at(self, scale: scales.Scale) -> scales.Scale:
        """A scale with the settings of this study at it."""
        return scale.following(self.at_paper, self.at_scale)

    def metrics(self, measurement: Measurement) -> list[str]:
        """The metric of a measurement, and those of it that averages need."""
        chosen = [measurement.metric]
        for name, metrics in itertools.chain.from_iterable(average.parts for average in self.averages):
            chosen += metrics if name == measurement.name else ()
        return list(dict.fromkeys(chosen))

    def figure(self, variant: str, measurement: str, milestone: int = 100) -> float | None:
        """The published value of a variant and a measurement at a milestone (per cent), if there is one."""
        end = self.published.get((variant, measurement)) if milestone == 100 else None
        return self.published.get((variant, measurement, milestone), end)

    def variant(self, name: str) -> Variant:
        """The variant with this name. Raises `BadInput` with the nearest name if there is none."""
        with at(location(self)):
            return _named("variant", name, self.variants)

    def measurement(self, name: str) -> Measurement:
        """The measurement with this name. Raises `BadInput` with the nearest name if there is none."""
        with at(location(self)):
            return _named("measurement", name, self.measurements)

    @property
    def varied(self) -> set[str]:
        """The dotted paths of the recipe's fields in which the variants of this study differ, as in `--set`."""
        return {path for path, _ in self._varied}

    @cached_property
    def _varied(self) -> set[tuple[str, Any]]:
        """These paths, each with the kind of the arm whose field it is: the fields of one backbone vary by themselves,
        whatever defaults another one has in fields of the same name."""
        usual = flatten(Recipe())
        for path, component in itertools.chain.from_iterable(variant.components.items() for variant in self.variants):
            required = [one.name for one in dataclasses.fields(component) if default_of(one) is dataclasses.MISSING]
            default = type(component)(**{name: getattr(component, name) for name in required})
            usual = flatten(default, f"{path}.") | usual
        return {
            (path, kind)
            for variant in self.variants
            for (path, kind), leaf in variant.by_arm().items()
            if path not in usual or by_kind(leaf) != by_kind(usual[path])
        }

    def varied_adaptation(self) -> dict[type[Adaptation], set[str]]:
        """For each adaptation the fields in which the variants of this study differ."""
        fields_of: dict[type[Adaptation], set[str]] = {}
        for adaptation in (variant.adaptation for variant in self.variants if variant.adaptation is not None):
            fields_of.setdefault(type(adaptation), set()).update(to_canonical(adaptation).keys() - {"kind"})
        return fields_of

    def fixed(self) -> set[str]:
        """All dotted paths that `--set` cannot set, because the variants differ in them."""
        paths = self.varied | {path for variant in self.variants for path in variant.fields}
        if any(variant.size.embeddings != 1 for variant in self.variants):
            paths.add("model.embedding_size")  # or a variant with embeddings as wide as the model would have others
        for adaptation, fields in self.varied_adaptation().items():
            paths |= {f"{adaptation.group(kind)}.{name}" for kind in kinds.KINDS.values() for name in fields}
        return paths

    def adaptation(
        self, variant: Variant, measurement: Measurement, scale: scales.Scale, kind: str, task: str
    ) -> Adaptation:
        """How a variant is measured at a scale, on a task of `kind` called `task`.

        The scale's setting, with the fields of the measurement that are not at their defaults, and over these the
        fields of the variant in which the variants differ. A kind of task that trains nothing has the adaptation that
        trains nothing, whatever variant and measurement have.
        """
        shared, of_variant = measurement.adaptation, variant.adaptation
        changes: dict[str, Any] = {}
        if shared is not None:
            changes |= {name: getattr(shared, name) for name in to_canonical(shared).keys() - {"kind"}}
        if of_variant is not None:
            changes |= {name: getattr(of_variant, name) for name in self.varied_adaptation()[type(of_variant)]}
        arm = type(of_variant or shared or FineTuning())
        if arm.trains and not (measured := kinds.find(kind)).trained:
            untrained = (other for other in arms(Adaptation).values() if not other.trains)
            arm, changes = next(other for other in untrained if not other().unsupported_reason(measured)), {}
        return dataclasses.replace(arm.at_scale(scale.finetuning(kind, task), scale.features), **changes)

    def check_set(self, paths: Iterable[str]) -> None:
        """Raises `BadInput` for a path of `--set` that is `fixed`."""
        varied = self.fixed()
        for path in paths:
            if path in varied:
                raise BadInput(f"--set {path}: study '{self.name}' sets it for its variants: leave it out")

    def refusal(self, path: str) -> str:
        """Why no command sets a field that the scale lacks: the variants that give it; empty if none does."""
        giving = [variant.name for variant in self.variants if path in variant.flatten()]
        if not giving:
            return ""
        where = "a copy of its study file" if self.file is None else f"'{self.file.argument}'"
        owners = f"variant {giving[0]} sets" if len(giving) == 1 else f"variants {', '.join(giving)} set"
        return f"{owners} it in study '{self.name}', change it in {where}"

    def recipe(self, variant: Variant, scale: Recipe) -> Recipe:
        """The scale's recipe with a variant's values of all fields that this study varies."""
        if same := [recipe for of, base, recipe in self._recipes if of is variant and base == scale]:
            return same[0]
        changes = {path: leaf for (path, kind), leaf in variant.by_arm().items() if (path, kind) in self._varied}
        with at(location(self), f"variant '{variant.name}'"):
            recipe = with_fields(scale, changes)
            model, schedule = recipe.model.scaled(variant.size), variant.relative.of(recipe.schedule)
            model = model.as_large_as(scale.model)
            entries = round(variant.size.vocabulary * recipe.tokenizer.vocabulary)
            tokenizer = dataclasses.replace(recipe.tokenizer, vocabulary=entries)
            recipe = dataclasses.replace(recipe, model=model, schedule=schedule, tokenizer=tokenizer)
            recipe = set_fields(recipe, variant.fields)
            if variant.relative.equal_flops and recipe.schedule.steps:
                recipe = cost.with_flops(recipe, cost.flops(self.recipe(self.variant(self.baseline), scale)))
        self._recipes.append((variant, scale, recipe))
        return recipe

    @cached_property
    def _recipes(self) -> list[tuple[Variant, Recipe, Recipe]]:
        """The recipes that were made: of a variant, at a scale's recipe."""
        return []


def _named(what: str, name: str, members: Sequence[Member]) -> Member:
    """The member with a name. Raises `BadInput` with the nearest name if there is none."""
    for member in members:
        if member.name == name:
            return member
    raise unknown(what, name, [member.name for member in members])


def _check_name(what: str, name: str) -> None:
    """Raises `BadInput` for a name with invisible parts: different names must look different."""
    seen = plain(name)
    if not name or seen != name:
        instead = f"write '{seen}'" if seen else "give it a name"
        raise BadInput(f"a {what} is named {name!r}: {instead}, with single spaces and without invisible characters")


def _check_names(study: Study) -> None:
    columns = [measurement.name for measurement in study.measurements] + [average.name for average in study.averages]
    for what, names in (("variant", [variant.name for variant in study.variants]), ("measurement", columns)):
        if not names:
            raise BadInput(f"it has no {what}s: add at least one")
        for name in names:
            _check_name(what, name)
            if name == RANDOM_INIT and what == "variant":
                raise BadInput(f"a variant is named '{name}', as --random-init adds one: rename it")
            if names.count(name) > 1:
                raise BadInput(f"two {what}s are named '{name}': give each its own name")


def _check_measurements(study: Study) -> None:
    figures = {name for loss in arms(Loss).values() for name in loss.metric_labels}
    for measurement in study.measurements:
        with at(f"measurement '{measurement.name}'"):
            if measurement.task:
                kinds.find(catalog.find(measurement.task).kind)
            elif measurement.metric not in figures:
                wrong = unknown("metric", measurement.metric, sorted(figures))
                raise BadInput(f"it has no task: give task= too, or a metric of the pre-training ({wrong})")
            if not measurement.milestones:
                raise BadInput("it has no milestones: give (100,)")
    for variant, measurement in itertools.product(study.variants, study.measurements):
        of_variant, shared = variant.adaptation, measurement.adaptation
        if of_variant is not None and shared is not None and of_variant.kind != shared.kind:
            raise BadInput(
                f"variant '{variant.name}' has the adaptation {of_variant.kind} and measurement '{measurement.name}' "
                f"{shared.kind}: give one of the two"
            )


def _check_averages(study: Study) -> None:
    for average in study.averages:
        with at(f"average '{average.name}'"):
            if not average.of or not all(average.of):
                raise BadInput("it is of nothing: name measurements in of")
            for name, _ in average.parts:
                if not _named("measurement", name, study.measurements).task:
                    raise BadInput(f"'{name}' has no task: average measurements of tasks")


def _check_speeds(study: Study) -> None:
    baseline = _named("baseline", study.baseline, study.variants).relative
    for name in ("equal_time", "equal_flops"):
        if getattr(baseline, name):
            raise BadInput(f"relative.{name} compares with the baseline itself: give it to other variants")
    with at("speeds"):
        for name in study.speeds:
            _named("variant", name, study.variants)
        if study.speeds and [*study.speeds.values()].count(1) != 1:
            raise BadInput("they are multiples of one variant's: give it, and no other, the speed 1")


def _check_published(study: Study) -> None:
    averages = {average.name for average in study.averages}
    with at("published"):
        for name, measured, *milestone in study.published:
            _named("variant", name, study.variants)
            if milestone or measured not in averages:
                _check_milestone(study, measured, *milestone)


def _check_claims(study: Study) -> None:
    for claim in study.claims:
        with at(f"claim '{claim.text}'"):
            if not claim.pairs:
                raise BadInput("it compares nothing: give better and worse, or rising")
            if not claim.since and (itself := next((high for high, low in claim.pairs if high == low), "")):
                raise BadInput(f"it compares '{itself}' with itself: name another variant")
            for name in itertools.chain(*claim.pairs, claim.than):
                if name != GUESS:
                    _named("variant", name, study.variants)
            if claim.or_better and claim.within is None:
                raise BadInput("or_better needs a margin: give within, too")
            if claim.since and (claim.worse or claim.rising or claim.since >= claim.at):
                raise BadInput("since replaces worse and rising, and is before at")
            for milestone in (claim.at, claim.before):
                _check_milestone(study, claim.on, milestone)


def _check_milestone(study: Study, name: str, milestone: int = 100) -> None:
    """Raises `BadInput` for a milestone that a measurement lacks."""
    measured = sorted({*_named("measurement", name, study.measurements).milestones, 100})
    if milestone not in measured:
        raise BadInput(
            f"it names {milestone} % of the steps, but '{name}' is measured at {', '.join(map(str, measured))} %: add "
            "it to the measurement's milestones"
        )


def _check_paper(study: Study) -> None:
    for name, what in study.differences:
        with at(f"unlike '{what}'"):
            if name:
                _named("measurement", name, study.measurements)
    with at("at_paper"):
        scales.find("paper").set([f"{path}={text}" for path, text in study.at_paper.items()])
    with at("at_scale"):
        if "paper" in study.at_scale:
            raise BadInput("it names scale paper: give at_paper")
        for name, settings in study.at_scale.items():
            scales.find(name).set([f"{path}={text}" for path, text in settings.items()])


def location(study: Study) -> str:
    """Where an error in a study says that it is; empty for what commands on single models run."""
    return f"study '{study.name}'" if study.question or study.file else ""


def table(columns: Sequence[str], rows: Mapping[str, Sequence[float]]) -> dict[Place, float]:
    """Published values by (variant, measurement), from the lines and columns of a printed table."""
    return {(row, column): value for row, values in rows.items() for column, value in zip(columns, values, strict=True)}
