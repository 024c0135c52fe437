"""What is known of a study at one scale on one corpus: its cells, its pre-trainings, and the questions a report asks.

What is finished carries its points; the rest is pending, or says why it ended without a result. `gather.py` fills it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from bertlab.report.predictions import Predictions
from bertlab.report.statistics.effects import Effect
from bertlab.report.statistics.summary import Scores, Summary, mean, summarise

PLATEAU = 0.25
"""Nats: an LM that ends this close to the unigram entropy of its held-out text has learnt next to nothing of context.
Rows that never left the plateau were seen to end up to 0.23 below it: some tokens can be told from the length
of the row, or are shown."""

PAPER = "paper"
"""The scale at which sizes can be compared with the paper's."""

LESS_IS_MORE = ("loss", "perplexity")
"""Ends of the names of metrics of which less is better."""

NUMERICS = ("device", "precision", "threads", "torch")
"""What of an environment can change the last bits of a number."""


@dataclass(frozen=True)
class Cell:
    """One measured value of a study, or its absence."""

    variant: str
    measurement: str
    task: str
    dataset: str
    split: str
    method: str
    metric: str
    milestone: int
    """Per cent of the pre-training steps after which the model was measured."""
    pretrain_seed: int
    restart: int
    pretrain_id: str
    run_id: str
    published: float | None
    """Points in the paper."""
    status: str
    """`done`, `collapsed`, `pending`, or why there is no value (`diverged`, `failed`, `damaged`)."""
    reason: str
    """What a failed run said."""
    value: float | None
    """Points, or what is read off the pre-training in its own unit."""
    majority: float | None
    """Points of always giving the most frequent answer."""
    train_rows: int
    evaluation_rows: int
    seconds: float
    numerics: tuple[tuple[str, str], ...]

    @property
    def fate(self) -> str:
        """The status, of what diverged with the step."""
        return fate(self.status, self.reason)


@dataclass(frozen=True)
class Point:
    """A held-out evaluation during a pre-training."""

    step: int
    """Updates until then."""
    tokens: float
    """Tokens trained on until then."""
    seconds: float | None
    """What the updates until then took, evaluations not counted; None where no time was kept."""
    loss: float | None
    """Masked-LM loss at 15 %, 80/10/10, in nats."""
    own_loss: float | None
    """Masked-LM loss under the row's own masking, in nats."""
    causal_loss: float | None = None
    """Loss of a left-to-right LM, in nats; it has no masked-LM loss."""


@dataclass(frozen=True)
class Pretraining:
    """One pre-training of a study: a row and a seed."""

    variant: str
    seed: int
    id: str
    status: str
    reason: str
    result: Mapping[str, Any]
    """The run's `result.json`; empty if it is not finished."""
    science: Mapping[str, Any]
    """The recipe, fields at their defaults left out; empty if it is not finished."""
    curve: tuple[Point, ...]
    seconds: float
    numerics: tuple[tuple[str, str], ...]
    host: tuple[tuple[str, str], ...]
    """The machine: its processor, cores, system."""
    software: tuple[tuple[str, str], ...]
    """Versions of the libraries."""

    @property
    def fate(self) -> str:
        """The status, of what diverged with the step."""
        return fate(self.status, self.reason)

    @property
    def finished(self) -> bool:
        """Whether it has a result."""
        return bool(self.result)

    @property
    def imported(self) -> str:
        """The name of the checkpoint that it was taken from, if it was trained elsewhere."""
        return "" if self.result.get("fresh") else str(self.result.get("checkpoint", ""))

    @property
    def untrained(self) -> bool:
        """Whether it is the row without pre-training."""
        return self.finished and not self.result.get("steps") and not self.imported

    @property
    def rotary(self) -> bool:
        """Whether its positions are rotary; BERT's are learned."""
        return self.group("model").get("positions") == "rotary"

    @property
    def causal(self) -> bool:
        """Whether it is a left-to-right LM, whose loss and perplexity are not of a masked LM's kind."""
        return self.group("objective").get("kind") == "left-to-right"

    @property
    def sees_mask(self) -> bool:
        """Whether [MASK] occurs in its inputs. A row that never saw it is not judged by 80/10/10."""
        return float(self.group("masking").get("mask", 0.8)) > 0

    @property
    def loss(self) -> float | None:
        """The final held-out loss that judges the row, in nats."""
        if self.causal:
            return self.heldout("causal_loss")
        return self.heldout("masked_lm_loss" if self.sees_mask else "own_loss")

    @property
    def plateau(self) -> float | None:
        """The unigram entropy of its held-out text, in nats."""
        return number(self.result.get("unigram_entropy"))

    @property
    def learnt_nothing(self) -> bool:
        """Whether it ends on the unigram plateau, or next to it."""
        if self.untrained or self.loss is None or self.plateau is None:
            return False
        return self.loss > self.plateau - PLATEAU

    def heldout(self, name: str) -> float | None:
        """A figure of its final held-out evaluation."""
        return number(self.result.get("heldout", {}).get(name))

    def group(self, name: str) -> Mapping[str, Any]:
        """A group of its recipe, fields at their defaults left out."""
        recipe: Mapping[str, Any] = self.science.get("recipe", self.science)
        group: Mapping[str, Any] = recipe.get(name, {})
        return group


@dataclass(frozen=True)
class Evidence:
    """A study at one scale on one corpus: what was asked for, and what is known of it."""

    record: Mapping[str, Any]
    cells: tuple[Cell, ...]
    pretrainings: tuple[Pretraining, ...]
    preparation: float
    """Seconds that the tokenising of its corpora took."""
    predictions: Predictions = field(repr=False)
    """Of the runs of its store."""

    @property
    def study(self) -> str:
        """The study's name."""
        return str(self.record["study"])

    @property
    def scale(self) -> str:
        """The scale's name."""
        return str(self.record["scale"])

    @property
    def baseline(self) -> str:
        """The row that the others are compared with."""
        return str(self.record["baseline"])

    @property
    def corpus(self) -> list[str]:
        """Names of the corpora."""
        return [str(name) for name in self.record.get("corpus", ())]

    @property
    def pretrained(self) -> str:
        """What all rows are measured on, if nothing was pre-trained for them: a run or a checkpoint."""
        return str(self.record.get("pretrained") or "")

    @property
    def imported(self) -> bool:
        """Whether that was trained elsewhere."""
        return any(each.imported for each in self.pretrainings)

    @property
    def unit(self) -> str:
        """What n counts in a difference."""
        return "restart" if self.imported else "pre-training seed"

    @property
    def ground(self) -> str:
        """What was trained on, or from: `on wikitext-103`, `from bert-base-uncased`."""
        return f"from {self.pretrained}" if self.pretrained else f"on {' and '.join(self.corpus)}"

    @property
    def substitutes(self) -> dict[str, str]:
        """Data sets that stand in for those of the paper, by task."""
        return dict(self.record.get("substitutes") or {})

    @property
    def world(self) -> bool:
        """Whether text or tasks come from the embedded world."""
        return bool(self.record.get("world"))

    @property
    def comparable(self) -> bool:
        """Whether sizes, and not directions alone, can be set against the paper's."""
        return self.scale == PAPER and not (self.world or self.substitutes or self.record.get("altered"))

    @cached_property
    def key(self) -> str:
        """Eight hexadecimal digits that tell this section from the study's others; more seeds do not change them."""
        named: list[object] = [self.record.get(name) for name in ("study", "scale", "corpus", "substitutes", "world")]
        named += [each.id for each in self.pretrainings[:1]]
        named += [cell.run_id for cell in self.cells if cell.pretrain_seed == 0 and cell.restart == 0]
        return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:8]

    @cached_property
    def variants(self) -> list[str]:
        """Names of the rows, in the order of the study."""
        return _distinct([each.variant for each in self.pretrainings] + [cell.variant for cell in self.cells])

    @cached_property
    def measurements(self) -> list[str]:
        """Names of the columns, in the order of the study."""
        return _distinct(cell.measurement for cell in self.cells)

    @cached_property
    def unfinished(self) -> list[Cell]:
        """Cells without a value."""
        return [cell for cell in self.cells if cell.value is None]

    @property
    def started(self) -> bool:
        """Whether anything of it is finished."""
        return any(each.finished for each in self.pretrainings) or len(self.unfinished) < len(self.cells)

    def column(self, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a column after `at` per cent of the pre-training's steps, or the next that was measured."""
        cells = [cell for cell in self.cells if cell.measurement == measurement]
        milestones = sorted({cell.milestone for cell in cells})
        kept = next((each for each in milestones if each >= at), milestones[-1] if milestones else at)
        return [cell for cell in cells if cell.milestone == kept]

    def less_is_more(self, measurement: str) -> bool:
        """Whether less is better in a column, by its metric."""
        return any(cell.metric.endswith(LESS_IS_MORE) for cell in self.column(measurement))

    def over_steps(self, variant: str, measurement: str) -> dict[int, float]:
        """The mean of a row on a measurement at each milestone (per cent of its steps), by milestone."""
        found: dict[int, list[float]] = {}
        for cell in self.cells:
            if (cell.variant, cell.measurement) == (variant, measurement) and cell.value is not None:
                found.setdefault(cell.milestone, []).append(cell.value)
        return {milestone: mean(found[milestone]) for milestone in sorted(found)}

    def at(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a row and a column, over seeds and restarts; `at` as for a column."""
        return [cell for cell in self.column(measurement, at) if cell.variant == variant]

    def collapsed(self, variant: str, measurement: str) -> list[Cell]:
        """Of those, the runs that gave one answer to everything."""
        return [cell for cell in self.at(variant, measurement) if cell.status == "collapsed" and cell.value is not None]

    def scores(self, variant: str, measurement: str) -> Scores:
        """The points of a row on a measurement."""
        by_seed: dict[int, list[float]] = {}
        for cell in self.at(variant, measurement):
            if cell.value is not None:
                by_seed.setdefault(self.seed_of(cell), []).append(cell.value)
        return Scores(by_seed)

    def seed_of(self, cell: Cell) -> int:
        """What its row is paired by: of one checkpoint there are no seeds, and restarts take their place."""
        return cell.restart if self.imported else cell.pretrain_seed

    def flaw(self, variants: Collection[str], measurement: str) -> str:
        """Why rows say nothing on a measurement, if they do not: a row that has learnt nothing, or a task."""
        lost: dict[str, list[str]] = {}
        for each in self.pretrainings:
            if each.variant in variants and each.learnt_nothing:
                lost.setdefault(each.variant, []).append(str(each.seed))
        if lost:
            told = "; ".join(f"{row}, seed{'s'[: len(seeds) > 1]} {', '.join(seeds)}" for row, seeds in lost.items())
            return f"learnt next to nothing in pre-training: {told}"
        gains = [self.gain(row, measurement) for row in self.variants if self.untrained(row)]
        return "pre-training does not help there" if any(gain is not None and gain <= 0 for gain in gains) else ""

    def seconds_to(self, seeds: int, variants: Iterable[str], measurement: str) -> float | None:
        """What rows take until a column has so many seeds of each, by the recorded times; None if a row has none."""
        trained, judged = {}, 0.0
        for variant in variants:
            cells = [cell for cell in self.at(variant, measurement) if cell.value is not None]
            if not cells:
                return None
            runs = {each.id: each.seconds for each in self.of(variant) if not each.imported}
            # by what they share: rows of the same pre-training train it once
            trained[frozenset(runs)] = max(0, seeds - len(runs)) * mean([*runs.values()]) if runs else 0.0
            n = len({self.seed_of(cell) for cell in cells})
            judged += max(0, seeds - n) * math.fsum(cell.seconds for cell in cells) / n
        return math.fsum(trained.values()) + judged

    def summary(self, variant: str, measurement: str) -> Summary | None:
        """Mean, spread and n of a row on a measurement."""
        return summarise(self.scores(variant, measurement))

    def effect(self, row: str, other: str, measurement: str, *, metric: str = "", at: int = 100) -> Effect | None:
        """`row` minus `other` on a measurement, paired by seed and example, as `Predictions.effect` has it."""
        asked = (row, other, measurement, metric, at)
        if asked not in self._effects:
            self._effects[asked] = self.predictions.effect(self, row, other, measurement, metric=metric, at=at)
        return self._effects[asked]

    @cached_property
    def _effects(self) -> dict[tuple[str, str, str, str, int], Effect | None]:
        return {}

    def difference(self, variant: str, measurement: str, metric: str = "") -> Effect | None:
        """A row minus the baseline on a measurement."""
        return self.effect(variant, self.baseline, measurement, metric=metric)

    def gain(self, scratch: str, measurement: str) -> float | None:
        """The baseline minus a row without pre-training, in points, paired by seed; None of the pre-training itself."""
        if any(cell.method == "pretraining" for cell in self.column(measurement)):
            return None
        other = self.difference(scratch, measurement)
        return None if other is None else 0.0 - other.mean  # no minus before a zero

    def published(self, variant: str, measurement: str) -> float | None:
        """The paper's figure, in points."""
        return next((cell.published for cell in self.at(variant, measurement) if cell.published is not None), None)

    def published_difference(self, variant: str, measurement: str) -> Decimal | None:
        """The paper's figure minus that of the baseline, in points: decimal, so that 84.3 - 84.2 is 0.1."""
        ours, theirs = self.published(variant, measurement), self.published(self.baseline, measurement)
        return None if ours is None or theirs is None else Decimal(str(ours)) - Decimal(str(theirs))

    def majority(self, measurement: str) -> float | None:
        """The points of always giving the most frequent answer."""
        values = [cell.majority for cell in self.column(measurement) if cell.majority is not None]
        return mean(values) if values else None

    def of(self, variant: str) -> list[Pretraining]:
        """The finished pre-trainings of a row, by seed."""
        return [each for each in self.pretrainings if each.variant == variant and each.finished]

    @cached_property
    def trained(self) -> dict[str, list[str]]:
        """Rows with a pre-training of their own, each with the later rows that share it."""
        first: dict[frozenset[str], str] = {}
        rows: dict[str, list[str]] = {}
        for variant in self.variants:
            runs = frozenset(each.id for each in self.pretrainings if each.variant == variant)
            owner = first.setdefault(runs, variant)
            rows.setdefault(owner, []).extend([variant] if variant != owner else [])
        return rows

    def untrained(self, variant: str) -> bool:
        """Whether a row is the one without pre-training."""
        return any(each.untrained for each in self.of(variant))

    @cached_property
    def alike(self) -> dict[str, str]:
        """Rows that are the same runs as an earlier row, which they name."""
        first: dict[tuple[tuple[int, str], ...], str] = {}
        same = {}
        for variant in self.variants:
            runs = tuple(sorted((cell.pretrain_seed, cell.run_id) for cell in self.cells if cell.variant == variant))
            if runs and runs in first:
                same[variant] = first[runs]
            elif runs:
                first[runs] = variant
        return same

    def numerics(self, variant: str) -> dict[str, list[str]]:
        """How the runs of a row were computed: the values of each of `NUMERICS` that occur among them."""
        stamps = [each.numerics for each in self.of(variant)]
        stamps += [cell.numerics for cell in self.cells if cell.variant == variant and cell.numerics]
        found: dict[str, set[str]] = {}
        for stamp in stamps:
            for name, value in stamp:
                found.setdefault(name, set()).add(value)
        return {name: sorted(found[name]) for name in NUMERICS if name in found}

    @cached_property
    def machines(self) -> dict[str, list[str]]:
        """On what the pre-trainings ran, named by that in which they differ, each with its rows."""
        runs = [(each.variant, dict((*each.host, *each.numerics))) for each in self.pretrainings if each.curve]
        names = _distinct(name for _, facts in runs for name in facts)
        differing = [name for name in names if len({facts.get(name) for _, facts in runs}) > 1]
        found: dict[str, list[str]] = {}
        for variant, facts in runs:
            rows = found.setdefault(", ".join(f"{name} {facts.get(name, 'unknown')}" for name in differing), [])
            rows.extend([variant] if variant not in rows else [])
        return found

    @cached_property
    def deviating(self) -> dict[str, str]:
        """Rows whose numerics differ from the baseline's or among themselves, with what differs."""
        reference = self.numerics(self.baseline)
        rows = {}
        for variant in self.variants:
            ours = self.numerics(variant)
            differing = [
                f"{name} {' and '.join(values)}"
                for name, values in ours.items()
                if len(values) > 1 or (reference and values != reference.get(name))
            ]
            if differing:
                rows[variant] = ", ".join(differing)
        return rows


def fate(status: str, reason: str) -> str:
    """A status as a row shows it: of what diverged, `diverged at step K`."""
    told = reason.partition(":")[0]
    return told if told.startswith(f"{status} at step") else status


def number(value: Any) -> float | None:
    """`value` of a JSON file, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
