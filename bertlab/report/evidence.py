"""A study at one scale on one corpus: its values, its pre-trainings, and what a report derives from them."""

import hashlib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from statistics import fmean
from typing import Any

from bertlab.lab.claim import GUESS, Claim
from bertlab.lab.needs import Sizes
from bertlab.recipe.objective import Premise
from bertlab.report.averages import AverageColumn
from bertlab.report.cells import EXCHANGED, FLOORS, Cell, Pretraining, printed_difference
from bertlab.report.looks import Looks
from bertlab.report.predictions import Predictions
from bertlab.report.statistics.effects import Effect, Summary, summarise
from bertlab.report.statistics.variance import Typical
from bertlab.report.units import less_is_better
from bertlab.store.addenda import Remark

NUMERICS = ("device", "precision", "instructions", "threads", "compiled", "torch")
"""Facts of an environment that can change the last bits of a number."""
Milestones = tuple[int, int]
"""Per cent of the pre-training's steps after which each of two variants is measured."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A study at one scale on one corpus: its record, and what is finished of it."""

    name: str
    """The name that its record has as a new one (`union.name_of`): of its study, scale, setting and examples."""
    study: str
    scale: str
    question: str
    source: str
    command: str
    baseline: str
    """The variant that the others are compared with."""
    defined: Mapping[str, Sequence[str]]
    """The names of all `variants` and `measurements` of the study, run or not."""
    corpus: list[str]
    pretrained: str
    """The run or checkpoint that all variants share, if none of them is pre-trained; else empty."""
    synthetic: bool
    """Whether text or tasks come from the synthetic corpus."""
    substitutes: Mapping[str, str]
    """Data sets in place of a task's own."""
    medians: bool
    """Whether the published values are medians."""
    deviations: list[tuple[str, str]]
    """Deviations from the paper's setting, each with its measurement; an empty name stands for all measurements."""
    claims: tuple[Claim, ...]
    sizes: Mapping[str, Sizes]
    """What claims may need of the recipe of each variant, as far as it is known."""
    later: frozenset[Claim] = frozenset()
    """The claims that the study did not make when the record was written."""
    averages: tuple[AverageColumn, ...]
    notes: list[str]
    intermediate_task: Mapping[str, str]
    """By task, the task that is trained on before it."""
    searched: Mapping[str, Mapping[str, float]]
    """Settings that a search chose, by task."""
    cells: tuple[Cell, ...]
    pretrainings: tuple[Pretraining, ...]
    own_options: tuple[str, ...] = ()
    """What sets it apart from the study's other sections at this scale on this corpus: options of its command, or its
    key."""
    overrides: tuple[str, ...] = ()
    """All options that change the scale's recipe, tasks or settings; the key too where they do not set it apart."""
    speeds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The `measured` and the `published` training speeds of variants, as multiples of one of them; mostly empty."""
    remarks: tuple[Remark, ...] = ()
    """Sentences beside its verdicts, of the store."""
    unlearned_lend: bool = False
    """Whether variants with a model that learned nothing lend variance: what a verdict would be if they did."""
    looks: Looks | None
    """The looks at claims whose seeds were added in rounds; None for a number of seeds that was fixed."""
    predictions: Predictions = field(repr=False)
    _effects: dict[tuple[object, ...], Effect | None] = field(default_factory=dict, init=False, repr=False)
    _typical: dict[str, Typical | None] = field(default_factory=dict, init=False, repr=False)
    """The variance between seeds over all comparisons with the baseline, by metric."""

    @property
    def unit(self) -> str:
        """What n counts in a difference."""
        return "fine-tuning seed" if self.pretrained else "pre-training seed"

    @property
    def seeds(self) -> str:
        """The plural of the unit, in short."""
        return "fine-tuning seeds" if self.pretrained else "seeds"

    @property
    def setting(self) -> str:
        """The corpus or the checkpoint: `on wikitext-103`, `from bert-base-uncased`."""
        return f"from {self.pretrained}" if self.pretrained else f"on {' and '.join(self.corpus)}"

    @property
    def place(self) -> str:
        """Scale, setting and what sets it apart: `tiny on wikitext-103 with schedule.steps=9000`."""
        own = f" with {', '.join(self.own_options)}" if self.own_options else ""
        return f"{self.scale} {self.setting}{own}"

    @property
    def full_setting(self) -> str:
        """Setting and overrides, for tables that leave the project: `on wikitext-103 with schedule.steps=9000`."""
        return f"{self.setting} with {', '.join(self.overrides)}" if self.overrides else self.setting

    def comparable(self, measurement: str) -> bool:
        """Whether sizes, and not directions alone, compare with the paper's."""
        return all(on not in ("", measurement) for on, _ in self.deviations)

    def untestable(self, claim: Claim) -> str:
        """Why the setting does not allow a test of a claim, known before any run; empty if it does.

        A margin holds in the paper's setting, sizes that a claim needs must be there, and runs that two measurements
        share are tested once.
        """
        if claim.on in self.repeats:
            return f"the same runs as on {self.repeats[claim.on]}"
        return claim.untestable(self.comparable(claim.on), self.sizes)

    def testable(self, claim: Claim) -> bool:
        """Whether the setting allows a test of a claim."""
        return not self.untestable(claim)

    @property
    def likely_claims(self) -> list[Claim]:
        """The claims with a second verdict, by likelihood.

        Those within a margin, against a guess, on the pre-training, and that the setting does not allow to test have
        none.
        """
        excluded = {name for name in self.measurements if name in self.repeats or self.of_pretraining(name)}
        tested = [each for each in self.claims if each.within is None and each.on not in excluded]
        return [each for each in tested if self.testable(each) and GUESS not in itertools.chain(*each.pairs)]

    @cached_property
    def key(self) -> str:
        """Eight hexadecimal digits that identify this section among all; more seeds do not change them."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:8]

    @cached_property
    def variants(self) -> list[str]:
        """Names of the variants, in the order of the study."""
        return list(dict.fromkeys(each.variant for each in (*self.pretrainings, *self.cells)))

    def of(self, variant: str) -> list[Pretraining]:
        """The finished pre-trainings of a variant, by seed."""
        return [each for each in self.pretrainings if each.variant == variant and each.finished]

    def untrained(self, variant: str) -> bool:
        """Whether a variant has no pre-training."""
        return any(each.untrained for each in self.of(variant))

    @cached_property
    def others(self) -> list[str]:
        """The pre-trained variants but the baseline."""
        return [each for each in self.variants if each != self.baseline and not self.untrained(each)]

    @cached_property
    def unlearned(self) -> frozenset[str]:
        """The variants with a model that learned nothing in pre-training."""
        return frozenset(each.variant for each in self.pretrainings if each.learned_nothing)

    @cached_property
    def trained(self) -> dict[str, list[str]]:
        """Variants with a pre-training of their own, each with those that share it."""
        known = {name: {run.seed: run.id for run in self.pretrainings if run.variant == name} for name in self.variants}
        owners = _originals(known)
        return {
            owner: [each for each in self.variants if owners[each] == owner != each]
            for owner in self.variants
            if owners[owner] == owner
        }

    def premises(self, variant: str) -> Sequence[Premise]:
        """What has to hold of a variant before it is compared with another objective."""
        return next((each.premises for each in self.of(variant) if not each.untrained), ())

    def before(self, day: str) -> bool:
        """Whether one of its runs began on a day such as `2026-11-29`, earlier, or on an unknown day."""
        runs = [*self.pretrainings, *self.cells]
        return any(each.date <= day for each in runs if each.status in ("done", "collapsed"))

    def originals(self, measurement: str = "") -> dict[str, str]:
        """By variant, the one with the same runs on a measurement, or on all: itself, or that with the most seeds."""
        known: dict[str, dict[tuple[object, ...], str]] = {name: {} for name in self.variants}
        for cell in self.cells:
            if measurement in ("", cell.measurement):
                place = cell.measurement, cell.milestone, cell.pretrain_seed, cell.finetune_seed
                known[cell.variant][place] = cell.run_id
        return _originals(known)

    @cached_property
    def duplicates(self) -> dict[str, str]:
        """Variants whose runs are all those of another variant, with its name."""
        return {variant: original for variant, original in self.originals().items() if variant != original}

    @property
    def meanings(self) -> list[str]:
        """How to read the figures of the losses of all objectives."""
        return list(dict.fromkeys(meaning for run in self.pretrainings for meaning in run.meanings if meaning))

    @cached_property
    def heldout_metrics(self) -> dict[str, str]:
        """The label of each metric of the held-out evaluations, by name."""
        labels = {name: label for run in self.pretrainings for name, label in run.labels.items()}
        measured = [name for run in self.pretrainings for name in run.result.get("heldout", {})]
        measured += [name for run in self.pretrainings for point in run.curve for name in point.losses]
        return {name: labels.get(name, name) for name in measured if not name.endswith("_majority")}

    @cached_property
    def measurements(self) -> list[str]:
        """Names of the measurements, in the order of the study."""
        return list(dict.fromkeys(cell.measurement for cell in self.cells))

    @cached_property
    def repeats(self) -> dict[str, str]:
        """Measurements whose values are all those of another, with its name: tasks with one synthetic counterpart."""
        values: dict[str, set[tuple[object, ...]]] = {name: set() for name in self.measurements}
        for cell in self.cells:
            values[cell.measurement].add((cell.run_id, cell.milestone, cell.split, cell.metric))
        found: dict[str, str] = {}
        for place, (name, own) in enumerate(values.items()):
            for other, (owner, known) in enumerate(values.items()):
                if own < known or (own == known and other < place):
                    found.setdefault(name, owner)
        return found

    @property
    def distinct(self) -> list[str]:
        """The measurements that repeat no other."""
        return [name for name in self.measurements if name not in self.repeats]

    @cached_property
    def unfinished(self) -> list[Cell]:
        """Cells without a value."""
        return [cell for cell in self.cells if cell.value is None]

    @property
    def started(self) -> bool:
        """Whether anything of it is finished."""
        return any(each.finished for each in self.pretrainings) or len(self.unfinished) < len(self.cells)

    @cached_property
    def _columns(self) -> dict[tuple[str, int], list[Cell]]:
        """The cells by measurement and milestone."""
        found: dict[tuple[str, int], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.measurement, cell.milestone), []).append(cell)
        return found

    @cached_property
    def _places(self) -> dict[tuple[str, str, int], list[Cell]]:
        """The cells by variant, measurement and milestone."""
        found: dict[tuple[str, str, int], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.variant, cell.measurement, cell.milestone), []).append(cell)
        return found

    def column(self, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a measurement after `at` per cent of the pre-training's steps."""
        return [*self._columns.get((measurement, at), ())]

    def dataset(self, measurement: str) -> str:
        """The data set of a measurement; empty without cells."""
        return next((cell.dataset for cell in self.column(measurement)), "")

    def stand_in(self, measurement: str) -> str:
        """The data set that stands in for the task's own in a measurement; empty if its own does."""
        tasks = [cell.task for cell in self.column(measurement)]
        name = next((self.substitutes[task] for task in tasks if task in self.substitutes), "")
        return name if {"/", " "} & {*name} else name.upper()  # bc5cdr is BC5CDR

    def head(self, measurement: str) -> str:
        """The measurement as the head of its column, with the data set that stands in: `NER (BC5CDR)`."""
        other = self.stand_in(measurement)
        return f"{measurement} ({other})" if other else measurement

    def less_is_more(self, measurement: str) -> bool:
        """Whether less is better in a measurement, by its metric."""
        return any(less_is_better(cell.metric) for cell in self.column(measurement))

    def at(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a variant and a measurement, over pre-training and fine-tuning seeds."""
        return [*self._places.get((variant, measurement, at), ())]

    def milestones(self, variant: str, measurement: str) -> list[int]:
        """The percentages of the steps after which a variant has a value on a measurement."""
        cells = [cell for cell in self.cells if (cell.variant, cell.measurement) == (variant, measurement)]
        return sorted({cell.milestone for cell in cells if cell.value is not None})

    def collapsed(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """The measured cells that predict one answer for all examples."""
        cells = self.at(variant, measurement, at)
        return [cell for cell in cells if cell.status == "collapsed" and cell.value is not None]

    def seed_of(self, cell: Cell) -> int:
        """What variants are paired by: the pre-training seed, or the fine-tuning seed on a published checkpoint."""
        return cell.finetune_seed if self.pretrained else cell.pretrain_seed

    def by_seed(
        self, variant: str, measurement: str, at: int = 100, without: Collection[int] = ()
    ) -> dict[int, list[Cell]]:
        """The cells of a variant and a measurement that have a value, by seed; of `GUESS`, those of a guess."""
        cells = self.at(variant, measurement, at)
        if variant == GUESS and variant not in self.variants:
            every = ({self.seed_of(cell): [cell]} for cell in self.column(measurement, at))
            return {
                seed: cells for each in every for seed, cells in self._floor(each, GUESS).items() if seed not in without
            }
        found: dict[int, list[Cell]] = {}
        for cell in cells:
            if cell.value is not None and self.seed_of(cell) not in without:
                found.setdefault(self.seed_of(cell), []).append(cell)
        return found

    @staticmethod
    def _floor(by_seed: Mapping[int, Sequence[Cell]], floor: str) -> dict[int, list[Cell]]:
        """The same cells with the value of one of their floors, and without predictions."""
        found = {
            seed: [
                replace(cell, value=cell.floors[floor], run_id="", seconds=0.0)
                for cell in cells
                if floor in cell.floors
            ]
            for seed, cells in by_seed.items()
        }
        return {seed: cells for seed, cells in found.items() if cells}

    def points(self, variant: str, measurement: str, at: int = 100) -> dict[int, list[float]]:
        """The values of a variant on a measurement, by seed."""
        cells = self.by_seed(variant, measurement, at)
        return {seed: [cell.value for cell in each if cell.value is not None] for seed, each in cells.items()}

    def measured(self, variant: str, measurements: Iterable[str]) -> dict[str, dict[int, list[Cell]]]:
        """The cells of a variant that have a value, by measurement and seed."""
        return {name: self.by_seed(variant, name) for name in measurements}

    @cached_property
    def spread_of_seeds(self) -> bool:
        """Whether standard deviations are over several seeds.

        A variant with a single seed then has none, since that of its fine-tuning seeds is of another kind.
        """
        return len({self.seed_of(cell) for cell in self.cells if cell.value is not None}) > 1

    def summary(self, variant: str, measurement: str) -> Summary | None:
        """Mean, spread and n of a variant on a measurement."""
        return summarise(self.points(variant, measurement), of_seeds=self.spread_of_seeds)

    def floors(self, measurement: str) -> dict[str, float]:
        """Points that take no understanding, by name; with an exchanged text, the baseline's."""
        found: dict[str, list[float]] = {}
        for cell in self.column(measurement):
            for name, points in cell.floors.items():
                if name != EXCHANGED or cell.variant == self.baseline:
                    found.setdefault(name, []).append(points)
        return {name: fmean(points) for name, points in found.items()}

    def lexical_examples(self, measurement: str) -> tuple[int, int]:
        """The most training examples that a model reads, and the fewest that the lexical baseline is fitted on."""
        cells = [cell for cell in self.column(measurement) if cell.lexical_examples]
        return max((cell.train_examples for cell in cells), default=0), min(
            (cell.lexical_examples for cell in cells), default=0
        )

    def above_floors(self, measurement: str) -> bool | None:
        """Whether the baseline's mean is above every floor of a measurement; None if no floor is known."""
        floors, own = self.floors(measurement), self.summary(self.baseline, measurement)
        return own.mean > max(floors.values()) if floors and own else None

    @property
    def below_floors(self) -> list[str]:
        """The measurements on which the baseline is not above every floor."""
        return [name for name in self.distinct if self.above_floors(name) is False]

    @property
    def unbeaten(self) -> list[str]:
        """The floors that the baseline is not above on some measurement, in the order of `FLOORS`."""
        found = {name: self.summary(self.baseline, name) for name in self.below_floors}
        points = [(floor, at, own) for name, own in found.items() for floor, at in self.floors(name).items()]
        return [kind for kind in FLOORS if any(floor == kind and own and own.mean <= at for floor, at, own in points)]

    def published(self, variant: str, measurement: str, at: int = 100) -> float | None:
        """The paper's value after `at` per cent of the steps, in points."""
        return next((cell.published for cell in self.at(variant, measurement, at) if cell.published is not None), None)

    @property
    def has_published(self) -> bool:
        """Whether the paper has a value for any cell."""
        return any(cell.published is not None for cell in self.cells)

    def published_difference(
        self, variant: str, measurement: str, other: str = "", at: Milestones = (100, 100)
    ) -> Decimal | None:
        """The paper's value minus that of `other`, the baseline by default; decimal, so that 84.3 - 84.2 is 0.1."""
        ours = self.published(variant, measurement, at[0])
        theirs = self.published(other or self.baseline, measurement, at[1])
        return printed_difference(ours, theirs)

    def effect(
        self,
        variant: str,
        other: str,
        measurement: str,
        *than: str,
        metric: str = "",
        at: Milestones = (100, 100),
        without: frozenset[int] = frozenset(),
        pooled: bool = True,
    ) -> Effect | None:
        """`variant` minus `other` on a measurement, paired by seed and example as in `Predictions.effect`.

        With two variants more, that difference minus theirs. A contrast borrows no variance: it may share most of its
        runs with any comparison. `without` are seeds to leave out. If `pooled`, all comparisons of the study together
        estimate the variance between seeds (`Typical`), each pair of runs once, without variants that are untrained or
        have a model that learned nothing: their runs may vary differently.
        """
        metric = "" if metric in {cell.metric for cell in self.column(measurement)} else metric
        pooled = pooled and not than and self._ordinary(variant) and self._ordinary(other)
        key = (variant, other, measurement, than, metric, at, without, pooled)
        if key not in self._effects:
            floor = other in FLOORS and other not in self.variants
            sides = zip((variant, other, *than), (*at, *at), strict=False)
            runs = [
                self._floor(self.by_seed(variant, measurement, at[0], without), each)
                if floor and each == other
                else self.by_seed(each, measurement, milestone, without)
                for each, milestone in sides
            ]
            found = self.predictions.effect(*runs, metric=metric)
            if found and pooled:
                alike = (
                    self.effect(variant, other, each, metric=metric, at=at, without=without, pooled=False)
                    for each in self.distinct
                )
                found = found.moderated(self._typical_of(metric), alike)
            self._effects[key] = found
        return self._effects[key]

    def _typical_of(self, metric: str) -> Typical | None:
        """The variance between seeds over all comparisons with the baseline."""
        if metric not in self._typical:
            others = self.others if self._ordinary(self.baseline) else ()
            again = self.duplicates.keys() | {self.duplicates.get(self.baseline, self.baseline)}
            effects = [
                [self.effect(name, self.baseline, on, metric=metric, pooled=False) for on in self.distinct]
                for name in others
                if self._ordinary(name) and name not in again
            ]
            self._typical[metric] = Typical.of([each.spread for each in row if each] for row in effects)
        return self._typical[metric]

    def _ordinary(self, variant: str) -> bool:
        """Whether the runs of a variant vary like those of others: it is trained, and each model learned something."""
        return not self.untrained(variant) and (self.unlearned_lend or variant not in self.unlearned)

    def difference(self, variant: str, measurement: str, metric: str = "") -> Effect | None:
        """A variant minus the baseline on a measurement."""
        return self.effect(variant, self.baseline, measurement, metric=metric)

    @property
    def differences(self) -> list[Effect]:
        """The pre-trained variants minus the baseline, on each measurement."""
        return [each for pair in itertools.product(self.others, self.measurements) if (each := self.difference(*pair))]

    def of_pretraining(self, measurement: str) -> bool:
        """Whether a measurement is of the pre-training itself, not of a task."""
        return any(cell.of_pretraining for cell in self.column(measurement))

    def gain(self, scratch: str, measurement: str, metric: str = "") -> float | None:
        """The baseline minus an untrained variant, paired by seed; None for a metric of the pre-training.

        In points, or in the unit of `metric`.
        """
        if self.of_pretraining(measurement):
            return None
        other = self.difference(scratch, measurement, metric)
        return None if other is None else 0.0 - other.mean  # no minus before a zero

    def unhelped(self, scratch: str, measurement: str, metric: str = "") -> str:
        """Why nothing shows that pre-training helps on a measurement, by the untrained variant; empty if it does."""
        if self.collapsed(scratch, measurement):
            return f"{scratch} predicts one answer for all examples, so the gain by pre-training is unknown"
        gain = self.gain(scratch, measurement, metric)
        other = self.difference(scratch, measurement, metric)
        if gain is None or other is None:
            return ""
        if gain <= 0:
            return "pre-training does not help there"
        reaches = other.interval is None or other.interval.high >= 0  # one seed shows no gain
        return "the gain by pre-training cannot be distinguished from 0 there" if reaches else ""

    @cached_property
    def timed(self) -> frozenset[str]:
        """Ids of the pre-trainings whose times compare: those on the kind of machine that trained the most of them.

        Whether a run was compiled follows from its recipe, and is part of the time that a variant takes.
        """
        kinds: dict[tuple[str, ...], set[str]] = {}
        names = [name for name in ("processor", *NUMERICS) if name != "compiled"]
        for run in self.pretrainings:
            if run.finished:
                facts = {**run.host, **run.numerics}
                kinds.setdefault(tuple(facts.get(name, "") for name in names), set()).add(run.id)
        return frozenset(max(kinds.values(), key=len, default=()))

    @property
    def one_machine(self) -> bool:
        """Whether all pre-trainings were trained on one kind of machine."""
        return self.timed >= {run.id for run in self.pretrainings if run.finished}

    @cached_property
    def numerics_mismatch(self) -> dict[str, str]:
        """Variants with a seed whose `NUMERICS` differ from the baseline's or among its own runs, with what differs.

        What a run does not record, as those of earlier versions their instructions, does not count.
        """
        reference, found = self._numerics(self.baseline), {}
        for variant in self.variants:
            own, parts = self._numerics(variant), []
            for name in NUMERICS:
                by_seed = {seed: each for (seed, what), each in own.items() if what == name}
                if any(len(each) > 1 or each != reference.get((seed, name), each) for seed, each in by_seed.items()):
                    parts.append(f"{name} {' and '.join(sorted(set().union(*by_seed.values())))}")
            if parts:
                found[variant] = ", ".join(parts)
        return found

    def _numerics(self, variant: str) -> dict[tuple[int, str], set[str]]:
        """The values of each of `NUMERICS` in the runs of a variant, by pre-training seed."""
        found: dict[tuple[int, str], set[str]] = {}
        runs = [(each.seed, each.numerics) for each in self.of(variant)]
        runs += [(cell.pretrain_seed, cell.numerics) for cell in self.cells if cell.variant == variant]
        for seed, numerics in runs:
            for name in numerics.keys() & {*NUMERICS}:
                found.setdefault((seed, name), set()).add(numerics[name])
        return found


def _originals(members: Mapping[str, Mapping[Any, str]]) -> dict[str, str]:
    """By variant, the one that stands for all with the same runs: that with the most, the first of equals.

    `members` has the runs of each variant by place. Two have the same runs if they share a place, and if the run is the
    same at every place that they share.
    """
    found: dict[str, str] = {}
    for name, runs in sorted(members.items(), key=lambda each: -len(each[1])):
        found[name] = next((each for each in found.values() if _agree(members[each], runs)), name)
    return found


def _agree(one: Mapping[Any, str], other: Mapping[Any, str]) -> bool:
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[place] == other[place] for place in shared)
