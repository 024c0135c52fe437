"""The paper's claims with their verdicts, as text."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from bertlab.lab.claim import GUESS, Claim
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table, described, signed, with_details
from bertlab.report.verdicts import MOST_SEEDS, ClaimTest, endpoints
from bertlab.wording import duration, join_words, pluralise

MARK = "†"
"""Before each sentence on what was fixed after values had been seen."""
SECOND = ("likelihood", "verdict by likelihood")
"""The columns of the second endpoint."""
NOT_MEASURED = "not measured"
OUTCOMES = ("reproduced", "contradicted", "undecided", NOT_MEASURED)
REASONS = 3
"""Reasons that a headline names."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim on one endpoint and its verdict, as text; what is not known is empty."""

    study: StudyResults = field(repr=False)
    test: ClaimTest
    likely: Finding | None = None
    """The same claim on the likelihood of the right answers (points), with a verdict of its own; None for claims
    that have none, within a margin or on the pre-training itself, and without predictions."""
    second: bool = False
    """Whether the endpoint is the likelihood."""

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        return self.test.outcome if self.test.measured == len(self.test.pairs) else NOT_MEASURED

    @property
    def likely_outcome(self) -> str:
        """The outcome by likelihood."""
        return self.likely.outcome if self.likely else ""

    @property
    def open(self) -> bool:
        """Whether the endpoint decides nothing."""
        return self.outcome not in OUTCOMES[:2]

    @property
    def claim(self) -> str:
        """The claim with its margin."""
        return with_details(self.test.claim.text, self.test.claim.allowed)

    @property
    def on(self) -> str:
        """The measurement, as the head of its column."""
        return self.study.head(self.test.claim.on)

    @property
    def pair(self) -> str:
        """The subtraction of which the effect is the result: `80/10/10 - 100/0/0`. Above 0 it is as claimed.

        With the milestones where they are not all steps; a contrast in brackets.
        """
        claim, pair = self.test.claim, self.test.pair
        sides = [(pair.better, claim.at), (pair.worse, claim.before)]
        names, than = [side if at == 100 == claim.before else f"{side} at {at} %" for side, at in sides], pair.than
        if not self.second and self.study.less_is_more(claim.on):
            names, than = names[::-1], than[::-1]
        return f"({' - '.join(names)}) - ({' - '.join(than)})" if than else " - ".join(names)

    @cached_property
    def _described(self) -> tuple[str, str, str]:
        """The mean effect, in the unit of its measurement; then its 95 % interval and half the width of that."""
        return described(self.test.pair.effect, self._digits)

    @property
    def _digits(self) -> int:
        """Decimals of its effects."""
        return 1 if self.second else self.study.digits(self.test.claim.on)

    @property
    def effect(self) -> str:
        """The mean effect."""
        return self._described[0]

    @property
    def interval(self) -> str:
        """The 95 % interval of the effect."""
        return self._described[1]

    @property
    def measured(self) -> str:
        """The effect and half its interval: `+4.6 ±1.6`."""
        return f"{self.effect} {self._described[2]}".strip()

    @property
    def compared(self) -> str:
        """The pair with its effect and the interval."""
        return f"{self.pair}: {with_details(self.effect, self.interval)}" if self.effect else ""

    @property
    def published(self) -> str:
        """The paper's effect; in brackets where another data set stands in for its own."""
        if self.test.pair.published is None:
            return ""
        text = signed(self.test.pair.published)
        return f"({text})" if self.study.stand_in(self.test.claim.on) else text

    @property
    def n(self) -> str:
        """Seeds that both variants have."""
        return str(self.test.pair.effect.n) if self.test.pair.effect else ""

    @property
    def seeds_alone(self) -> str:
        """The p-value by these seeds alone, of two digits without a zero before the point: `p = .02`."""
        p = self.test.seeds_alone_p
        if p is None:
            return ""
        return "p < .001" if p < 0.001 else f"p = {f'{p:.2g}'.lstrip('0') or '0'}"

    @property
    def seeds(self) -> str:
        """The number of seeds, and what they alone say: `n = 4, seeds alone p = .02`."""
        parts = f"n = {self.n}" * bool(self.n), f"seeds alone {self.seeds_alone}" * bool(self.seeds_alone)
        return ", ".join(filter(None, parts))

    @cached_property
    def hint(self) -> str:
        """What is missing, or what would decide it and its cost, where it is undecided."""
        return _hint(self.study, self.test)

    @property
    def why(self) -> str:
        """Why it is undecided, in the words that most claims share: without variants and numbers."""
        if self.test.validity_issue:
            return self.test.validity_issue.partition(":")[0]
        effect = self.test.pair.effect
        if effect is None or effect.n < VERDICT_MIN_SEEDS:
            return f"fewer than {VERDICT_MIN_SEEDS} seeds"
        return "the difference is not separated from chance by these seeds"

    @property
    def marks(self) -> str:
        """What decides the outcome and was fixed after values had been seen; empty if nothing was."""
        return "; ".join(self.test.marks)

    @property
    def looks(self) -> str:
        """The looks at the claim, with what is valid after them; empty if its number of seeds was fixed."""
        history, p = self.test.history, self.test.decisive_p
        if history is None or not history.looks or p is None:
            return ""
        shown = f"{pluralise(len(history.looks), 'look')}, sequential p {p:.2g}"
        interval, digits = history.interval(self.test.pair.effect), self._digits
        ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}" if interval else ""
        return f"{shown}, repeated interval {ends}" if ends else shown

    @cached_property
    def collapses(self) -> str:
        """The number of collapsed runs of the pair, and its difference by seed; empty if none collapsed."""
        study, on, counts, crossed = self.study, self.test.claim.on, [], set()
        for variant, at in self.test.pair.sides(self.test.claim):
            if cells := study.collapsed(variant, on, at):
                crossed |= {study.seed_of(cell) for cell in cells}
                runs = sum(cell.value is not None for cell in study.at(variant, on, at))
                counts.append(f"{len(cells)} of {pluralise(runs, 'run')} of {variant} collapsed")
        effect = self.test.pair.effect
        by_seed = ", ".join(
            signed(difference, study.digits(on)) + " collapsed" * (seed in crossed)
            for seed, difference in (effect.by_seed if effect and counts else {}).items()
        )
        return ", ".join(counts) + (f"; by {study.seeds[:-1]} {by_seed}" if by_seed else "")

    @property
    def sentence(self) -> str:
        """The outcome; after a colon, which only ends an outcome, the hint, the looks, the collapses and the marks."""
        reason = "; ".join(filter(None, (self.hint, self.looks)))
        return self.outcome_with(with_details(reason, self.collapses) if reason else self.collapses)

    def outcome_with(self, reason: str) -> str:
        """The outcome with what is known of it, and its marks."""
        text = "; ".join(filter(None, (reason, *(f"{MARK} {mark}" for mark in self.test.marks))))
        return f"{self.outcome}: {text}" if text else self.outcome

    @property
    def details(self) -> str:
        """What a console shows: the hint, the looks, another verdict by likelihood, and whether runs collapsed.

        Collapsed runs are measured, so that they are no reason for a claim that is not.
        """
        parts = (
            self.hint,
            self.looks,
            f"{MARK} fixed after values had been seen" if self.marks else "",
            f"by likelihood {self.likely_outcome}" if self.likely_outcome not in ("", self.outcome) else "",
            "some runs collapsed" if self.collapses and self.outcome != NOT_MEASURED else "",
        )
        return "; ".join(filter(None, parts))


def findings(study: StudyResults) -> tuple[Finding, ...]:
    """The verdicts on the study's claims with their words: one family by the paper's metric, one by likelihood."""
    tests, by_likelihood = endpoints(study)
    second = {claim: Finding(study=study, test=test, second=True) for claim, test in by_likelihood.items()}
    return tuple(Finding(study=study, test=test, likely=second.get(test.claim)) for test in tests)


def table(shown: Sequence[Finding]) -> Table:
    """A line for each claim: the measured effect, in the unit of its measurement, and the verdict."""
    columns = ("claim", "on", "measured", "95 % interval", "published", *SECOND, "n", "seeds alone", "verdict")
    rows = []
    for finding in shown:
        likely = finding.likely
        hint = likely.hint if likely and likely.hint != finding.hint else ""
        second = (likely.compared, likely.outcome_with(hint)) if likely else ("", "")
        effect = f"{finding.pair}: {finding.effect}" if finding.effect else ""
        numbers = (effect, finding.interval, finding.published, *second, finding.n, finding.seeds_alone)
        rows.append((finding.claim, finding.on, *numbers, finding.sentence))
    return Table(columns, tuple(rows), ("on", "measured", *SECOND, "verdict"))


def counts(shown: Sequence[Finding]) -> dict[str, int]:
    """The number of claims with each verdict, decided ones first."""
    number = Counter(finding.outcome for finding in shown)
    return {name: number[name] for name in OUTCOMES if number[name]}


def ordered(shown: Sequence[Finding]) -> tuple[Finding, ...]:
    """The claims that are decided, those that are undecided, and those that are not measured."""
    return tuple(sorted(shown, key=lambda finding: max(1, OUTCOMES.index(finding.outcome))))


def reasons(shown: Sequence[Finding]) -> str:
    """Why claims are undecided, the most frequent reasons first: `margins are tested only ... (9 claims)`."""
    why = Counter(finding.why for finding in shown if finding.outcome == "undecided")
    return "; ".join(f"{reason} ({pluralise(number, 'claim')})" for reason, number in why.most_common(REASONS))


def shades(study: StudyResults, shown: Sequence[Finding]) -> dict[tuple[str, str], str]:
    """The verdicts on the values of a results table, by variant and measurement; a contradiction hides a reproduction.

    Variants with the same runs are shaded alike.
    """
    shaded: dict[tuple[str, str], str] = {}
    for outcome in OUTCOMES[:2]:
        for test in (finding.test for finding in shown if finding.outcome == outcome and finding.test.claim.at == 100):
            on = test.claim.on
            runs = {name: {cell.run_id for cell in study.at(name, on)} for name in study.variants}
            judged = [runs.get(name) for name in _judged(study, test, outcome)]
            shaded |= {(name, on): outcome for name in runs if runs[name] in judged}
    return shaded


def _judged(study: StudyResults, test: ClaimTest, outcome: str) -> list[str]:
    """The variants that a verdict is on: the one that a claim compares with several others, unless it is the baseline.

    Otherwise of each pair the one that the study names later, as the baseline is named first.
    """
    order = {variant: rank for rank, variant in enumerate([study.baseline, *study.others])}
    sides = zip(*test.claim.pairs, strict=True)
    if len(test.pairs) > 1 and (about := [side[0] for side in sides if len({*side}) == 1 and order.get(side[0])]):
        return about
    pairs = test.pairs if outcome == "reproduced" else (test.pair,)
    return [max((pair.better, pair.worse), key=lambda variant: order.get(variant, -1)) for pair in pairs]


def brief(shown: Sequence[Finding], *, details: bool = True) -> Table:
    """The claims and verdicts for a console: the effect and half the width of its 95 % interval.

    With `details`, these stand below the claims that have them.
    """
    rows = []
    for text, group in itertools.groupby(ordered(shown), key=lambda finding: finding.details if details else ""):
        with_these = [*group]
        for finding in with_these:
            claim = with_details(finding.claim, finding.pair if finding.effect else "")
            rows.append((finding.outcome, claim, finding.measured, finding.published))
        if text:
            which = {1: "", 2: "both: "}.get(len(with_these), f"these {len(with_these)}: ")
            rows.append(("", f"- {which}{text}", "", ""))
    # a study of the user's own has no published differences
    return Table(("verdict", "claim", "measured", "paper"), tuple(rows), ("claim",)).trimmed


def looks(shown: Sequence[Finding]) -> Table:
    """A line for each look at a claim, where seeds were added in rounds.

    The chance of a verdict is that at the maximum of seeds; empty where the look has them.
    """
    columns = ("claim", "on", "endpoint", "look", "n", "information", "p", "boundary", "chance of a verdict")
    rows = []
    for finding in shown:
        for endpoint, judged in (("metric", finding), ("likelihood", finding.likely)):
            history = judged.test.history if judged else None
            if history is None:
                continue
            looks = zip(history.looks, history.fractions, history.levels(), strict=True)
            for number, (look, fraction, level) in enumerate(looks, 1):
                about = (finding.claim, finding.on, endpoint, str(number), str(look.n))
                power = f"{100 * look.power:.0f} %" if look.n < history.maximum else ""
                rows.append((*about, f"{fraction:.2f}", f"{look.p:.2g}", f"{level:.2g}", power))
    return Table(columns, tuple(rows), ("on", "endpoint"))


def _hint(study: StudyResults, test: ClaimTest) -> str:
    pair, effect, seeds, digits = test.pair, test.pair.effect, study.seeds, study.digits(test.claim.on)
    if test.measured < len(test.pairs):
        return _unmeasured(study, test)
    if test.decided:
        return ""
    if test.validity_issue:
        return test.validity_issue
    if test.history is not None and (test.history.looks or test.p is not None):
        return test.history.prospect
    if pair.collapses:
        left = pair.without.n if pair.without else 0
        if left < VERDICT_MIN_SEEDS:
            return f"{pluralise(left, seeds[:-1])} without a collapse, a verdict needs {VERDICT_MIN_SEEDS}"
        if pair.p(test.claim.margin) == 1.0:
            return f"the difference comes from the {seeds} that collapsed"
    if effect is None or (test.need is None and effect.n < VERDICT_MIN_SEEDS):
        return f"needs at least {VERDICT_MIN_SEEDS} {seeds}{_cost(study, test.claim, VERDICT_MIN_SEEDS)}"
    if test.need is None:
        same = f"all differences are {signed(effect.mean, digits)}, which gives no p-value"
        return same if test.p is None else ""
    needed, true = test.need[0], signed(test.need[1], digits)
    if needed <= effect.n:
        return f"these {seeds} would have decided an effect of {true}: the measured one is too small"
    if math.isinf(needed):
        few = effect.spread is not None and effect.spread.examples > 1
        enough = (
            f"no number of {seeds} would decide on these examples" if few else f"{MOST_SEEDS:,} {seeds} are too few"
        )
        return f"if the true effect is {true}, {enough}"
    needed = math.ceil(needed)
    return f"if the true effect is {true}, about {needed:,} {seeds} would decide{_cost(study, test.claim, needed)}"


def _unmeasured(study: StudyResults, test: ClaimTest) -> str:
    """Why pairs of a claim have no effect: runs that ended without a value (`b failed`), variants that were not run or
    not measured, or pairs that share no seed; and how many pairs have one."""
    pairs = [pair for pair in test.pairs if pair.effect is None]
    sides = dict.fromkeys(side for pair in pairs for side in pair.sides(test.claim))
    lost = {(name, at): _lost(study, test.claim.on, name, at) for name, at in sides}
    reasons = list(dict.fromkeys(f"{name} {status}" for (name, _), ends in lost.items() for status in ends))
    if absent := [side for side in sides if not lost[side] and not study.by_seed(side[0], test.claim.on, side[1])]:
        reasons.append(_absent(study, test.claim.on, absent))
    elif not reasons:
        apart = (join_words((pair.better, pair.worse, *pair.than)) for pair in pairs)
        reasons += [f"{names} have no {study.seeds[:-1]} in common" for names in apart]
    if test.measured:
        are = "is" if test.measured == 1 else "are"
        reasons.append(f"{test.measured} of {len(test.pairs)} comparisons {are} measured")
    return "; ".join(reasons)


def _absent(study: StudyResults, on: str, absent: Sequence[tuple[str, int]]) -> str:
    """Which of the variants without a run on a measurement, at these milestones, were not run or not measured."""
    run = {cell.variant for cell in study.cells if cell.value is not None}
    run |= {pretraining.variant for pretraining in study.pretrainings if pretraining.finished} | {GUESS}
    if never := dict.fromkeys(name for name, _ in absent if name not in run):
        return f"{join_words(never)} {_was(never)} not run"
    if not any(cell.measurement == on and cell.value is not None for cell in study.cells):
        return f"{on} was not measured"
    at = absent[0][1]
    names = dict.fromkeys(name for name, milestone in absent if milestone == at)
    return f"{join_words(names)} {_was(names)} not measured on {on}" + ("" if at == 100 else f" at {at} %")


def _was(names: Collection[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _lost(study: StudyResults, on: str, variant: str, at: int) -> list[str]:
    """How the runs of a variant ended that have no value: `failed`, `diverged at step 7`."""
    return sorted({cell.status_text for cell in study.at(variant, on, at) if cell.value is None} - {"pending"})


def _cost(study: StudyResults, claim: Claim, needed: int) -> str:
    """The time until each variant of a claim has `needed` seeds, by recorded times; empty if one has none."""
    owners = {name: owner for owner, others in study.trained.items() for name in (owner, *others)}
    trained: dict[str, dict[str, float]] = {}
    seconds = 0.0
    for variant in dict.fromkeys(variant for variant, _ in claim.sides):
        by_seed = study.by_seed(variant, claim.on)
        if not by_seed:
            return ""
        runs = {run.id: run.seconds for run in study.of(variant) if not run.imported}
        # variants of the same pre-training train it once
        trained.setdefault(owners.get(variant, variant), {}).update(runs)
        spent = math.fsum(cell.seconds for cells in by_seed.values() for cell in cells)
        seconds += max(0, needed - len(by_seed)) * spent / len(by_seed)
    if not study.pretrained:  # else trained once, whatever n is
        more = [max(0, needed - len(runs)) * fmean(runs.values()) for runs in trained.values() if runs]
        seconds += math.fsum(more)
    return f", about {duration(seconds)} more" if seconds else ""
