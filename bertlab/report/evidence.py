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

from bertlab.report.cells import Cell, Pretraining
from bertlab.report.predictions import Predictions
from bertlab.report.statistics.effects import Effect
from bertlab.report.statistics.summary import Scores, Summary, mean, summarise
from bertlab.report.statistics.variance import Typical

LESS_IS_MORE = ("loss", "perplexity")
"""Ends of the names of metrics of which less is better."""

_FATES = {"pending": "not finished", "damaged": "no longer intact"}
"""What is said of seeds without a value, where it is not their status."""

NUMERICS = ("device", "precision", "threads", "compiled", "torch")
"""What of an environment can change the last bits of a number."""


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
        return "fine-tuning seed" if self.imported else "pre-training seed"

    @property
    def setting(self) -> str:
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

    def centre(self, summary: Summary) -> float:
        """The mean or the median of a row on a measurement: what the published figures are."""
        return summary.median if self.medians else summary.mean

    @property
    def medians(self) -> bool:
        """Whether the published figures are medians."""
        return self.record.get("summary") == "median"

    @property
    def lowercase(self) -> set[bool]:
        """Whether the text of its pre-trainings is in lower case."""
        runs = (each for each in self.pretrainings if each.finished)
        return {bool(each.group("tokenizer").get("lowercase", True)) for each in runs}

    @property
    def differences(self) -> list[tuple[str, str]]:
        """What differs from the paper's setting, each with the measurement that it concerns, empty if all."""
        unknown = [{"on": "", "what": "what was run is not recorded"}]
        return [(str(each["on"]), str(each["what"])) for each in self.record.get("differences", unknown)]

    def comparable(self, measurement: str) -> bool:
        """Whether sizes, and not directions alone, can be set against the paper's."""
        return all(on not in ("", measurement) for on, _ in self.differences)

    @cached_property
    def key(self) -> str:
        """Eight hexadecimal digits that tell this section from the study's others; more seeds do not change them."""
        named: list[object] = [self.record.get(name) for name in ("study", "scale", "corpus", "substitutes", "world")]
        named += [each.id for each in self.pretrainings[:1]]
        named += [cell.run_id for cell in self.cells if cell.pretrain_seed == 0 and cell.finetune_seed == 0]
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
        """The cells of a column after `at` per cent of the pre-training's steps."""
        return [cell for cell in self.cells if (cell.measurement, cell.milestone) == (measurement, at)]

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
        """The cells of a row and a column, over seeds and fine-tuning seeds; `at` as for a column."""
        return [cell for cell in self.column(measurement, at) if cell.variant == variant]

    def collapsed(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """Of those, the runs that gave one answer to everything."""
        cells = self.at(variant, measurement, at)
        return [cell for cell in cells if cell.status == "collapsed" and cell.value is not None]

    def scores(self, variant: str, measurement: str, at: int = 100) -> Scores:
        """The points of a row on a measurement."""
        cells = self._by_seed(variant, measurement, at)
        return Scores({seed: [cell.value for cell in each if cell.value is not None] for seed, each in cells.items()})

    def _by_seed(
        self, variant: str, measurement: str, at: int = 100, without: Collection[int] = ()
    ) -> dict[int, list[Cell]]:
        """The cells with a value, by seed."""
        found: dict[int, list[Cell]] = {}
        for cell in self.at(variant, measurement, at):
            if cell.value is not None and self.seed_of(cell) not in without:
                found.setdefault(self.seed_of(cell), []).append(cell)
        return found

    def seed_of(self, cell: Cell) -> int:
        """What its row is paired by: of one checkpoint there are no seeds, and fine-tuning seeds take their place."""
        return cell.finetune_seed if self.imported else cell.pretrain_seed

    def validity_issue(self, compared: Collection[tuple[str, int]], measurement: str) -> str:
        """Why rows, each at a milestone, say nothing on a measurement, if they do not.

        A seed that was asked for and has no value (those that have are not a fair sample of all), a row that has learnt
        nothing, or a task.
        """
        absent = [each for row, at in compared for each in self._absent(row, measurement, at)]
        if absent:
            return "; ".join(absent)
        variants = {row for row, _ in compared}
        lost: dict[str, list[str]] = {}
        for each in self.pretrainings:
            if each.variant in variants and each.learnt_nothing:
                lost.setdefault(each.variant, []).append(str(each.seed))
        if lost:
            told = "; ".join(f"{row}, seed{'s'[: len(seeds) > 1]} {', '.join(seeds)}" for row, seeds in lost.items())
            return f"learnt next to nothing in pre-training: {told}"
        found = [self.unhelped(row, measurement) for row in self.variants if self.untrained(row)]
        return next((flaw for flaw in found if flaw), "")

    def unhelped(self, scratch: str, measurement: str) -> str:
        """Why nothing shows that pre-training helps on a measurement, beside a row without it; nothing if it does."""
        if self.collapsed(scratch, measurement):
            return f"{scratch} gave one answer to everything there, which says nothing of what pre-training adds"
        gain, other = self.gain(scratch, measurement), self.difference(scratch, measurement)
        if gain is None or other is None:
            return ""
        if gain <= 0:
            return "pre-training does not help there"
        reaches = other.interval is not None and other.interval.high >= 0
        return "the gain by pre-training cannot be told from 0 there" if reaches else ""

    def _absent(self, variant: str, measurement: str, at: int) -> list[str]:
        """The seeds of a row that were asked for and have no value, counted by what became of them."""
        cells = self.at(variant, measurement, at)
        asked = {self.seed_of(cell) for cell in cells}
        fates: dict[str, set[int]] = {}
        for cell in cells:
            if cell.value is None:
                fates.setdefault(_FATES.get(cell.status, cell.status), set()).add(self.seed_of(cell))
        what = "fine-tuning seeds" if self.imported else "seeds"
        return [f"{len(seeds)} of {len(asked)} {what} of {variant} {fate}" for fate, seeds in fates.items()]

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

    def effect(
        self,
        row: str,
        other: str,
        measurement: str,
        *,
        metric: str = "",
        at: tuple[int, int] = (100, 100),
        without: frozenset[int] = frozenset(),
    ) -> Effect | None:
        """`row` minus `other` on a measurement, paired by seed and example, as `Predictions.effect` has it.

        `at` is the per cent of the pre-training's steps after which each of the two is measured, `without` are seeds to
        leave out.

        What the seeds add is estimated with all comparisons of the study (`Typical`); of a row without pre-training,
        whose runs may vary otherwise, alone.
        """
        metric = "" if metric == self.column(measurement)[0].metric else metric
        asked = (row, other, measurement, metric, at, without)
        if asked not in self._effects:
            ours = self._by_seed(row, measurement, at[0], without)
            theirs = self._by_seed(other, measurement, at[1], without)
            found = self.predictions.effect(ours, theirs, metric)
            alone = self.untrained(row) or self.untrained(other)
            self._effects[asked] = found if found is None or alone else found.moderated(self._typical(metric))
        return self._effects[asked]

    @cached_property
    def _effects(self) -> dict[tuple[str, str, str, str, tuple[int, int], frozenset[int]], Effect | None]:
        return {}

    def _typical(self, metric: str) -> Typical | None:
        """What its comparisons with the baseline say of the seeds, by the columns' own metrics or by another."""
        if metric not in self._known:
            rows = [row for row in self.variants if row != self.baseline and not self.untrained(row)]
            found = (
                self.predictions.effect(self._by_seed(row, name), self._by_seed(self.baseline, name), metric)
                for row in rows
                for name in self.measurements
            )
            self._known[metric] = Typical.of(each.spread for each in found if each is not None)
        return self._known[metric]

    @cached_property
    def _known(self) -> dict[str, Typical | None]:
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

    def published(self, variant: str, measurement: str, at: int = 100) -> float | None:
        """The paper's figure after `at` per cent of the steps, in points."""
        return next((cell.published for cell in self.at(variant, measurement, at) if cell.published is not None), None)

    def published_difference(
        self, variant: str, measurement: str, other: str = "", at: tuple[int, int] = (100, 100)
    ) -> Decimal | None:
        """The paper's figure minus that of the `other` row, the baseline if none is named; `at` is the milestone of
        each (per cent).

        In points, or the unit of what is read off the pre-training; decimal, so that 84.3 - 84.2 is 0.1.
        """
        rows = (variant, other or self.baseline)
        ours, theirs = (self.published(row, measurement, each) for row, each in zip(rows, at, strict=True))
        return None if ours is None or theirs is None else Decimal(str(ours)) - Decimal(str(theirs))

    def floors(self, measurement: str) -> dict[str, float]:
        """The points that take no understanding, by name: the most frequent answer, counts of words, and the baseline's
        own where one of two texts is another example's. Those that were measured."""
        column = self.column(measurement)
        found = {
            "majority guess": [cell.majority for cell in column],
            "lexical baseline": [cell.lexical for cell in column],
            "second text exchanged": [cell.exchanged for cell in column if cell.variant == self.baseline],
        }
        known = {name: [value for value in values if value is not None] for name, values in found.items()}
        return {name: mean(values) for name, values in known.items() if values}

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
    def duplicates(self) -> dict[str, str]:
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
    def numerics_mismatch(self) -> dict[str, str]:
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


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
