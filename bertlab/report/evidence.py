"""A study at one scale on one corpus: its measured values, its pre-trainings, and what a report derives from them."""

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
"""Metrics whose names end so are better when smaller."""

_FATES = {"pending": "not finished", "damaged": "damaged on disk"}
"""How a sentence names the status of a seed without a value, where it is not the status itself."""

NUMERICS = ("device", "precision", "threads", "compiled", "torch")
"""Facts of an environment that can change the last bits of a number."""


@dataclass(frozen=True)
class Evidence:
    """A study at one scale on one corpus: its record, and what is finished of it."""

    record: Mapping[str, Any]
    cells: tuple[Cell, ...]
    pretrainings: tuple[Pretraining, ...]
    preparation: float
    """Seconds of tokenising its corpora."""
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
        """The variant that the others are compared with."""
        return str(self.record["baseline"])

    @property
    def corpus(self) -> list[str]:
        """Names of the corpora."""
        return [str(name) for name in self.record.get("corpus", ())]

    @property
    def pretrained(self) -> str:
        """The run or checkpoint that all variants are measured on, if nothing was pre-trained for them."""
        return str(self.record.get("pretrained") or "")

    @property
    def imported(self) -> bool:
        """Whether that is a published checkpoint."""
        return any(each.imported for each in self.pretrainings)

    @property
    def unit(self) -> str:
        """What n counts in a difference."""
        return "fine-tuning seed" if self.imported else "pre-training seed"

    @property
    def setting(self) -> str:
        """The corpus or the checkpoint: `on wikitext-103`, `from bert-base-uncased`."""
        return f"from {self.pretrained}" if self.pretrained else f"on {' and '.join(self.corpus)}"

    @property
    def synthetic(self) -> bool:
        """Whether text or tasks come from the synthetic corpus."""
        return bool(self.record.get("world"))

    def centre(self, summary: Summary) -> float:
        """The mean or the median of a variant on a measurement: what the published figures are."""
        return summary.median if self.medians else summary.mean

    @property
    def medians(self) -> bool:
        """Whether the published figures are medians."""
        return self.record.get("summary") == "median"

    @property
    def lowercase(self) -> set[bool]:
        """Whether the text of its pre-trainings is in lower case."""
        return {each.recipe.tokenizer.lowercase for each in self.pretrainings if each.recipe}

    @property
    def differences(self) -> list[tuple[str, str]]:
        """What differs from the paper's setting, each with the measurement that it concerns; empty for all."""
        unknown = [{"on": "", "what": "the setting is not recorded"}]
        return [(str(each["on"]), str(each["what"])) for each in self.record.get("differences", unknown)]

    def comparable(self, measurement: str) -> bool:
        """Whether sizes, and not directions alone, can be set against the paper's."""
        return all(on not in ("", measurement) for on, _ in self.differences)

    @cached_property
    def key(self) -> str:
        """Eight hexadecimal digits that identify this section among the study's; more seeds do not change them."""
        named: list[object] = [self.record.get(name) for name in ("study", "scale", "corpus", "substitutes", "world")]
        named += [each.id for each in self.pretrainings[:1]]
        named += [cell.run_id for cell in self.cells if cell.pretrain_seed == 0 and cell.finetune_seed == 0]
        return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:8]

    @cached_property
    def variants(self) -> list[str]:
        """Names of the variants, in the order of the study."""
        return _distinct([each.variant for each in self.pretrainings] + [cell.variant for cell in self.cells])

    @cached_property
    def measurements(self) -> list[str]:
        """Names of the measurements, in the order of the study."""
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
        """The cells of a measurement after `at` per cent of the pre-training's steps."""
        return [cell for cell in self.cells if (cell.measurement, cell.milestone) == (measurement, at)]

    def less_is_more(self, measurement: str) -> bool:
        """Whether less is better in a measurement, by its metric."""
        return any(cell.metric.endswith(LESS_IS_MORE) for cell in self.column(measurement))

    def at(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a variant and a measurement, over pre-training and fine-tuning seeds."""
        return [cell for cell in self.column(measurement, at) if cell.variant == variant]

    def collapsed(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """Those that predict one answer for all examples."""
        cells = self.at(variant, measurement, at)
        return [cell for cell in cells if cell.status == "collapsed" and cell.value is not None]

    def scores(self, variant: str, measurement: str, at: int = 100) -> Scores:
        """The points of a variant on a measurement."""
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
        """What variants are paired by: the pre-training seed, or the fine-tuning seed on a published checkpoint."""
        return cell.finetune_seed if self.imported else cell.pretrain_seed

    def validity_issue(self, compared: Collection[tuple[str, int]], measurement: str) -> str:
        """Why variants, each at a milestone, cannot be compared on a measurement; empty if they can.

        A planned seed has no value (the others are not a fair sample of all), a model has learned nothing, or
        pre-training does not help on the task.
        """
        absent = [each for variant, at in compared for each in self._absent(variant, measurement, at)]
        if absent:
            return "; ".join(absent)
        variants = {variant for variant, _ in compared}
        lost: dict[str, list[str]] = {}
        for each in self.pretrainings:
            if each.variant in variants and each.learned_nothing:
                lost.setdefault(each.variant, []).append(str(each.seed))
        if lost:
            known = "; ".join(
                f"{variant}, seed{'s'[: len(seeds) > 1]} {', '.join(seeds)}" for variant, seeds in lost.items()
            )
            return f"learned next to nothing in pre-training: {known}"
        found = [self.unhelped(variant, measurement) for variant in self.variants if self.untrained(variant)]
        return next(filter(None, found), "")

    def unhelped(self, scratch: str, measurement: str) -> str:
        """Why nothing shows that pre-training helps on a measurement, by the untrained variant; empty if it does."""
        if self.collapsed(scratch, measurement):
            return f"{scratch} predicts one answer for all examples, so the gain by pre-training is unknown"
        gain, other = self.gain(scratch, measurement), self.difference(scratch, measurement)
        if gain is None or other is None:
            return ""
        if gain <= 0:
            return "pre-training does not help there"
        reaches = other.interval is not None and other.interval.high >= 0
        return "the gain by pre-training cannot be distinguished from 0 there" if reaches else ""

    def _absent(self, variant: str, measurement: str, at: int) -> list[str]:
        """The planned seeds of a variant without a value, counted by status."""
        cells = self.at(variant, measurement, at)
        planned = {self.seed_of(cell) for cell in cells}
        fates: dict[str, set[int]] = {}
        for cell in cells:
            if cell.value is None:
                fates.setdefault(_FATES.get(cell.status, cell.status), set()).add(self.seed_of(cell))
        what = "fine-tuning seeds" if self.imported else "seeds"
        return [f"{len(seeds)} of {len(planned)} {what} of {variant} {fate}" for fate, seeds in fates.items()]

    def seconds_to(self, seeds: int, variants: Iterable[str], measurement: str) -> float | None:
        """Time until a measurement has so many seeds of each variant, by the recorded times; None if one has none."""
        trained, judged = {}, 0.0
        for variant in variants:
            cells = [cell for cell in self.at(variant, measurement) if cell.value is not None]
            if not cells:
                return None
            runs = {each.id: each.seconds for each in self.of(variant) if not each.imported}
            # variants of the same pre-training train it once
            trained[frozenset(runs)] = max(0, seeds - len(runs)) * mean([*runs.values()]) if runs else 0.0
            n = len({self.seed_of(cell) for cell in cells})
            judged += max(0, seeds - n) * math.fsum(cell.seconds for cell in cells) / n
        return math.fsum(trained.values()) + judged

    def summary(self, variant: str, measurement: str) -> Summary | None:
        """Mean, spread and n of a variant on a measurement."""
        return summarise(self.scores(variant, measurement))

    def effect(
        self,
        variant: str,
        other: str,
        measurement: str,
        *,
        metric: str = "",
        at: tuple[int, int] = (100, 100),
        without: frozenset[int] = frozenset(),
    ) -> Effect | None:
        """`variant` minus `other` on a measurement, paired by seed and example, as `Predictions.effect` has it.

        `at` is the per cent of the pre-training's steps after which each of the two is measured, `without` are seeds to
        leave out.

        The variance between seeds is estimated with all comparisons of the study (`Typical`); for an untrained variant,
        whose runs may vary differently, alone.
        """
        metric = "" if metric == self.column(measurement)[0].metric else metric
        key = (variant, other, measurement, metric, at, without)
        if key not in self._effects:
            ours = self._by_seed(variant, measurement, at[0], without)
            theirs = self._by_seed(other, measurement, at[1], without)
            found = self.predictions.effect(ours, theirs, metric)
            alone = self.untrained(variant) or self.untrained(other)
            self._effects[key] = found if found is None or alone else found.moderated(self._typical(metric))
        return self._effects[key]

    @cached_property
    def _effects(self) -> dict[tuple[str, str, str, str, tuple[int, int], frozenset[int]], Effect | None]:
        return {}

    def _typical(self, metric: str) -> Typical | None:
        """The variance between seeds over all comparisons with the baseline, by `metric` or the measurements' own."""
        if metric not in self._known:
            variants = [
                variant for variant in self.variants if variant != self.baseline and not self.untrained(variant)
            ]
            found = (
                self.predictions.effect(self._by_seed(variant, name), self._by_seed(self.baseline, name), metric)
                for variant in variants
                for name in self.measurements
            )
            self._known[metric] = Typical.of(each.spread for each in found if each is not None)
        return self._known[metric]

    @cached_property
    def _known(self) -> dict[str, Typical | None]:
        return {}

    def difference(self, variant: str, measurement: str, metric: str = "") -> Effect | None:
        """A variant minus the baseline on a measurement."""
        return self.effect(variant, self.baseline, measurement, metric=metric)

    def gain(self, scratch: str, measurement: str) -> float | None:
        """The baseline minus an untrained variant, in points, paired by seed; None for a metric of the pre-training."""
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
        """The paper's figure minus that of `other`, the baseline by default; `at` is the milestone of each (per cent).

        In points, or the unit of what is read off the pre-training; decimal, so that 84.3 - 84.2 is 0.1.
        """
        variants = (variant, other or self.baseline)
        ours, theirs = (self.published(variant, measurement, each) for variant, each in zip(variants, at, strict=True))
        return None if ours is None or theirs is None else Decimal(str(ours)) - Decimal(str(theirs))

    def floors(self, measurement: str) -> dict[str, float]:
        """Points that take no understanding, by name: the most frequent answer, a bag of words, and the baseline's own
        where one of two texts is another example's. Those that were measured."""
        column = self.column(measurement)
        found = {
            "majority guess": [cell.majority for cell in column],
            "lexical baseline": [cell.lexical for cell in column],
            "second text exchanged": [cell.exchanged for cell in column if cell.variant == self.baseline],
        }
        known = {name: [value for value in values if value is not None] for name, values in found.items()}
        return {name: mean(values) for name, values in known.items() if values}

    def of(self, variant: str) -> list[Pretraining]:
        """The finished pre-trainings of a variant, by seed."""
        return [each for each in self.pretrainings if each.variant == variant and each.finished]

    @cached_property
    def trained(self) -> dict[str, list[str]]:
        """Variants with a pre-training of their own, each with the later ones that share it."""
        first: dict[frozenset[str], str] = {}
        variants: dict[str, list[str]] = {}
        for variant in self.variants:
            runs = frozenset(each.id for each in self.pretrainings if each.variant == variant)
            owner = first.setdefault(runs, variant)
            variants.setdefault(owner, []).extend([variant] if variant != owner else [])
        return variants

    def untrained(self, variant: str) -> bool:
        """Whether a variant has no pre-training."""
        return any(each.untrained for each in self.of(variant))

    @cached_property
    def duplicates(self) -> dict[str, str]:
        """Variants that are the same runs as an earlier one, by name."""
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
        """The values of each of `NUMERICS` among the runs of a variant."""
        stamps = [each.numerics for each in self.of(variant)]
        stamps += [cell.numerics for cell in self.cells if cell.variant == variant and cell.numerics]
        found: dict[str, set[str]] = {}
        for stamp in stamps:
            for name, value in stamp:
                found.setdefault(name, set()).add(value)
        return {name: sorted(found[name]) for name in NUMERICS if name in found}

    @cached_property
    def machines(self) -> dict[str, list[str]]:
        """The machines of the pre-trainings, named by what differs between them, each with its variants."""
        runs = [(each.variant, dict((*each.host, *each.numerics))) for each in self.pretrainings if each.curve]
        names = _distinct(name for _, facts in runs for name in facts)
        differing = [name for name in names if len({facts.get(name) for _, facts in runs}) > 1]
        found: dict[str, list[str]] = {}
        for variant, facts in runs:
            variants = found.setdefault(", ".join(f"{name} {facts.get(name, 'unknown')}" for name in differing), [])
            variants.extend([variant] if variant not in variants else [])
        return found

    @cached_property
    def numerics_mismatch(self) -> dict[str, str]:
        """Variants whose numerics differ from the baseline's or among themselves, with what differs."""
        reference = self.numerics(self.baseline)
        variants = {}
        for variant in self.variants:
            ours = self.numerics(variant)
            differing = [
                f"{name} {' and '.join(values)}"
                for name, values in ours.items()
                if len(values) > 1 or (reference and values != reference.get(name))
            ]
            if differing:
                variants[variant] = ", ".join(differing)
        return variants


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
