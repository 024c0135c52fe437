"""The paper's claims with their verdicts, as text."""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

from bertlab.lab.claim import GUESS, Claim
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.tables import Table, described, digits, signed, with_details
from bertlab.report.verdicts import Pair, Trial, endpoints
from bertlab.wording import count, duration, listed

MARK = "†"
"""Before each sentence on what was fixed after values had been seen."""
SECOND = ("likelihood", "verdict by likelihood")
"""The columns of the second endpoint."""
NOT_MEASURED = "not measured"
REASONS = 3
"""Reasons that a headline names."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim and its verdict, as text; what is not known is empty."""

    trial: Trial
    outcome: str
    """`reproduced`, `contradicted`, `undecided` or `not measured`."""
    claim: str
    on: str
    """The measurement, as the head of its column."""
    pair: str
    """The subtraction of which the effect is the result: `80/10/10 - 100/0/0`. Above 0 it is as claimed."""
    effect: str
    """The mean effect, in the unit of its measurement; then its 95 % interval and half the width of that."""
    interval: str
    half: str
    published: str
    n: str
    """Seeds that both variants have."""
    seeds_alone: str
    """The p-value by these seeds alone: `p = .02`."""
    hint: str
    """What would decide it, where it is undecided."""
    likely: Trial | None
    """The same claim on the likelihood of the right answers (points), with a verdict of its own; None for claims
    that have none, within a margin or on the pre-training itself, and without predictions."""
    likely_outcome: str
    likely_hint: str
    likely_effect: str
    """The effect on the likelihood with its interval and its pair."""
    why: str
    """Why it is undecided, in the words that most claims share: without variants and numbers."""
    collapses: str
    """The number of collapsed runs of the pair, and its difference by seed; empty if none collapsed."""

    @property
    def sentence(self) -> str:
        """The outcome; after a colon, which only ends an outcome, the hint, the looks, the collapses and the marks."""
        known = "; ".join(filter(None, (self.hint, _looked(self.trial))))
        known = f"{known} ({self.collapses})" if known and self.collapses else known or self.collapses
        return _outcome_with(self.outcome, known, self.trial)

    @property
    def open(self) -> bool:
        """Whether the paper's metric decides nothing."""
        return self.outcome in ("undecided", NOT_MEASURED)

    @property
    def marks(self) -> str:
        """What decides the outcome and was fixed after values had been seen; empty if nothing was."""
        return "; ".join(self.trial.marks)

    @property
    def likely_marks(self) -> str:
        """The same of the outcome by likelihood."""
        return "" if self.likely is None else "; ".join(self.likely.marks)

    @property
    def seeds(self) -> str:
        """The number of seeds, and what they alone say: `n = 4, seeds alone p = .02`."""
        parts = f"n = {self.n}" if self.n else "", f"seeds alone {self.seeds_alone}" if self.seeds_alone else ""
        return ", ".join(filter(None, parts))

    @property
    def details(self) -> str:
        """For a console: the hint, the looks, another verdict by likelihood, and whether runs collapsed.

        Collapsed runs are measured, so that they are no reason for a claim that is not.
        """
        other = self.likely_outcome not in ("", self.outcome)
        collapsed = "some runs collapsed" if self.collapses and self.outcome != NOT_MEASURED else ""
        mark = f"{MARK} fixed after values had been seen" if self.marks else ""
        parts = (self.hint, _looked(self.trial), mark, f"by likelihood {self.likely_outcome}" if other else "")
        return "; ".join(filter(None, (*parts, collapsed)))

    @property
    def measured(self) -> str:
        """The effect and half its interval: `+4.6 ±1.6`."""
        return f"{self.effect} {self.half}".strip()


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """The verdicts on the study's claims with their words: one family by the paper's metric, one by likelihood."""
    found = []
    judged, likely = endpoints(evidence)
    for trial in judged:
        claim, pair = trial.claim, trial.pair
        mean, interval, half = described(pair.effect, digits(evidence, claim.on))
        one = Finding(
            trial=trial,
            outcome=_outcome(trial),
            claim=f"{claim.text} ({claim.allowed})" if claim.allowed else claim.text,
            on=evidence.head(claim.on),
            pair=_subtraction(claim, pair, turned=evidence.less_is_more(claim.on)),
            effect=mean,
            interval=interval,
            half=half,
            published=_published(evidence, claim, pair),
            n=str(pair.effect.n) if pair.effect else "",
            seeds_alone=_p_text(trial.seeds_alone_p),
            hint=_hint(evidence, trial),
            likely=(second := likely.get(claim)),
            likely_outcome="" if second is None else _outcome(second),
            likely_hint="" if second is None else _hint(evidence, second),
            likely_effect="" if second is None else _likely_effect(second),
            why=_why(trial),
            collapses=_collapses(evidence, claim, pair),
        )
        found.append(one)
    return tuple(found)


def table(found: Sequence[Finding]) -> Table:
    """A line for each claim: the measured effect, in the unit of its measurement, and the verdict."""
    columns = ("claim", "on", "measured", "95 % interval", "published", *SECOND, "n", "seeds alone", "verdict")
    rows = []
    for each in found:
        hint = "" if each.likely_hint == each.hint else each.likely_hint
        second = _outcome_with(each.likely_outcome, hint, each.likely)
        known = (each.interval, each.published, each.likely_effect, second, each.n, each.seeds_alone, each.sentence)
        rows.append((each.claim, each.on, f"{each.pair}: {each.effect}" if each.effect else "", *known))
    return Table(columns, tuple(rows), ("on", "measured", *SECOND, "verdict"))


def counts(found: Sequence[Finding]) -> dict[str, int]:
    """The number of claims with each verdict, decided ones first."""
    number = Counter(each.outcome for each in found)
    return {name: number[name] for name in ("reproduced", "contradicted", "undecided", NOT_MEASURED) if number[name]}


def ordered(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """The claims that are decided, those that are undecided, and those that are not measured."""
    return tuple(sorted(found, key=lambda each: ("undecided", NOT_MEASURED).index(each.outcome) if each.open else -1))


def reasons(found: Sequence[Finding]) -> str:
    """Why claims are undecided, the most frequent reasons first: `margins are tested only ... (9 claims)`."""
    known = Counter(each.why for each in found if each.outcome == "undecided")
    return "; ".join(f"{why} ({count(number, 'claim')})" for why, number in known.most_common(REASONS))


def shades(evidence: Evidence, found: Sequence[Finding]) -> dict[tuple[str, str], str]:
    """The verdicts on the values of a results table, by variant and measurement; a contradiction hides a reproduction.

    Variants with the same runs are shaded alike.
    """
    shaded: dict[tuple[str, str], str] = {}
    for outcome in ("reproduced", "contradicted"):
        for trial in (each.trial for each in found if each.outcome == outcome and each.trial.claim.at == 100):
            runs = {name: {cell.run_id for cell in evidence.at(name, trial.claim.on)} for name in evidence.variants}
            judged = [runs.get(name) for name in _judged(evidence, trial, outcome)]
            shaded |= {(name, trial.claim.on): outcome for name in runs if runs[name] in judged}
    return shaded


def _judged(evidence: Evidence, trial: Trial, outcome: str) -> list[str]:
    """The variants that a verdict is on: the one that a claim compares with several others, unless it is the baseline.

    Otherwise of each pair the one that the study names later, as the baseline is named first.
    """
    order = {variant: place for place, variant in enumerate([evidence.baseline, *evidence.others])}
    sides = zip(*trial.claim.pairs, strict=True)
    if len(trial.pairs) > 1 and (about := [side[0] for side in sides if len({*side}) == 1 and order.get(side[0])]):
        return about
    pairs = trial.pairs if outcome == "reproduced" else (trial.pair,)
    return [max((pair.better, pair.worse), key=lambda variant: order.get(variant, -1)) for pair in pairs]


def brief(found: Sequence[Finding], *, details: bool = True) -> Table:
    """The claims and verdicts for a console: the effect and half the width of its 95 % interval.

    With `details`, these stand below the claims that have them.
    """
    rows = []
    for known, group in itertools.groupby(ordered(found), key=lambda each: each.details if details else ""):
        alike = [*group]
        for each in alike:
            claim = with_details(each.claim, each.pair if each.effect else "")
            rows.append((each.outcome, claim, each.measured, each.published))
        if known:
            which = {1: "", 2: "both: "}.get(len(alike), f"these {len(alike)}: ")
            rows.append(("", f"- {which}{known}", "", ""))
    width = 4 if any(each.published for each in found) else 3  # a study of the user's own has no published differences
    return Table(("verdict", "claim", "measured", "paper")[:width], tuple(row[:width] for row in rows), ("claim",))


def looks(found: Sequence[Finding]) -> Table:
    """A line for each look at a claim, where seeds were added in rounds.

    The chance of a verdict is that at the maximum of seeds; empty where the look has them.
    """
    columns = ("claim", "on", "endpoint", "look", "n", "information", "p", "boundary", "chance of a verdict")
    rows = []
    for each in found:
        for endpoint, trial in (("metric", each.trial), ("likelihood", each.likely)):
            if trial is None or trial.looked is None or not trial.looked.looks:
                continue
            levels = trial.looked.levels()
            for number, (look, level) in enumerate(zip(trial.looked.looks, levels, strict=True), 1):
                shown = (f"{trial.looked.fractions[number - 1]:.2f}", f"{look.p:.2g}", f"{level:.2g}")
                about = (each.claim, each.on, endpoint, str(number), str(look.n))
                power = f"{100 * look.power:.0f} %" if look.n < trial.looked.maximum else ""
                rows.append((*about, *shown, power))
    return Table(columns, tuple(rows), ("on", "endpoint"))


def _looked(trial: Trial) -> str:
    """The looks at a claim, with what is valid after them; empty if its number of seeds was fixed."""
    if trial.looked is None or not trial.looked.looks or trial.decisive_p is None:
        return ""
    shown = f"{count(len(trial.looked.looks), 'look')}, sequential p {trial.decisive_p:.2g}"
    known = trial.looked.interval(trial.pair.effect)
    return shown if known is None else f"{shown}, repeated interval {known.low:.1f} to {known.high:.1f}"


def _outcome_with(outcome: str, known: str, trial: Trial | None) -> str:
    """An outcome with what is known of it, and its marks."""
    marks = [f"{MARK} {mark}" for mark in trial.marks] if trial else []
    text = "; ".join(filter(None, (known, *marks)))
    return f"{outcome}: {text}" if text else outcome


def _published(evidence: Evidence, claim: Claim, pair: Pair) -> str:
    """The paper's effect; in brackets where another data set stands in for its own."""
    if pair.published is None:
        return ""
    text = signed(pair.published)
    return f"({text})" if evidence.stand_in(claim.on) else text


def _subtraction(claim: Claim, pair: Pair, *, turned: bool) -> str:
    """`better - worse`, or turned; the milestones where they are not all steps; a contrast in brackets."""
    sides = [(pair.better, claim.at), (pair.worse, claim.before)]
    names = [side if at == 100 == claim.before else f"{side} at {at} %" for side, at in sides]
    text, than = " - ".join(names[::-1] if turned else names), pair.than[::-1] if turned else pair.than
    return f"({text}) - ({' - '.join(than)})" if than else text


def _likely_effect(trial: Trial) -> str:
    mean, interval, _ = described(trial.pair.effect, 1)
    return f"{_subtraction(trial.claim, trial.pair, turned=False)}: {with_details(mean, interval)}" if mean else ""


def _why(trial: Trial) -> str:
    if trial.validity_issue:
        return trial.validity_issue.partition(":")[0]
    effect = trial.pair.effect
    if effect is None or effect.n < VERDICT_MIN_SEEDS:
        return f"fewer than {VERDICT_MIN_SEEDS} seeds"
    return "the difference is not separated from chance by these seeds"


def _p_text(p: float | None) -> str:
    """A p-value of two digits without a zero before the point; empty if there is none."""
    if p is None:
        return ""
    return "p < .001" if p < 0.001 else f"p = {f'{p:.2g}'.lstrip('0') or '0'}"


def _outcome(trial: Trial) -> str:
    return trial.outcome if trial.measured == len(trial.pairs) else NOT_MEASURED


def _collapses(evidence: Evidence, claim: Claim, pair: Pair) -> str:
    counts, crossed = [], set()
    for variant, at in zip((pair.better, pair.worse, *pair.than), (claim.at, claim.before) * 2, strict=False):
        if cells := evidence.collapsed(variant, claim.on, at):
            crossed |= {evidence.seed_of(cell) for cell in cells}
            runs = sum(cell.value is not None for cell in evidence.at(variant, claim.on, at))
            counts.append(f"{len(cells)} of {count(runs, 'run')} of {variant} collapsed")
    if not counts:
        return ""
    by_seed = [
        signed(apart, digits(evidence, claim.on)) + (" collapsed" if seed in crossed else "")
        for seed, apart in (pair.effect.by_seed if pair.effect else {}).items()
    ]
    return ", ".join(counts) + (f"; by {evidence.seeds[:-1]} {', '.join(by_seed)}" if by_seed else "")


def _hint(evidence: Evidence, trial: Trial) -> str:
    """What is missing, or what would decide it and its cost."""
    pair, what, decimals = trial.pair, evidence.seeds, digits(evidence, trial.claim.on)
    if trial.measured < len(trial.pairs):
        are = "is" if trial.measured == 1 else "are"
        some = f"{trial.measured} of {len(trial.pairs)} comparisons {are} measured" if trial.measured else ""
        return "; ".join(filter(None, (*_failures(evidence, trial), _absent(evidence, trial), some)))
    if trial.outcome != "undecided":
        return ""
    if trial.validity_issue:
        return trial.validity_issue
    if trial.looked is not None:
        return trial.looked.prospect
    if pair.collapses:
        left = pair.without.n if pair.without else 0
        if left < VERDICT_MIN_SEEDS:
            return f"{count(left, what[:-1])} without a collapse, a verdict needs {VERDICT_MIN_SEEDS}"
        if pair.p(trial.claim.margin) == 1.0:
            return f"the difference comes from the {what} that collapsed"
    if trial.need is None:
        if pair.effect is None or pair.effect.n < VERDICT_MIN_SEEDS:
            least = f"{VERDICT_MIN_SEEDS} {what}{_cost(evidence, trial.claim, VERDICT_MIN_SEEDS)}"
            return f"needs at least {least}"
        same = f"all differences are {signed(pair.effect.mean, decimals)}, which gives no p-value"
        return same if trial.p is None else ""
    seeds, true = trial.need
    if pair.effect is not None and seeds <= pair.effect.n:
        return f"these {what} would have decided an effect of {signed(true, decimals)}: the measured one is too small"
    if math.isinf(seeds):
        return f"if the true effect is {signed(true, decimals)}, no number of {what} would decide on these examples"
    needed = math.ceil(seeds)
    cost = _cost(evidence, trial.claim, needed)
    return f"if the true effect is {signed(true, decimals)}, about {needed:,} {what} would decide{cost}"


def _missing(trial: Trial) -> list[tuple[str, int]]:
    """The variants of the pairs without a measured effect, each with the milestone that the claim compares."""
    claim = trial.claim
    pairs = [pair for pair in trial.pairs if pair.effect is None]
    sides = [zip((each.better, each.worse, *each.than), (claim.at, claim.before) * 2, strict=False) for each in pairs]
    return list(dict.fromkeys(itertools.chain(*sides)))


def _failures(evidence: Evidence, trial: Trial) -> list[str]:
    """The variants of a claim whose runs ended without a value: `b failed`, `c diverged at step 7`."""
    found: dict[str, None] = {}
    for variant, at in _missing(trial):
        found |= dict.fromkeys(f"{variant} {fate}" for fate in _fates(evidence, trial.claim.on, variant, at))
    return list(found)


def _absent(evidence: Evidence, trial: Trial) -> str:
    """The variants of a claim that were not run; else what was not measured of it, or which pairs share no seed."""
    on, missing = trial.claim.on, _missing(trial)
    run = {cell.variant for cell in evidence.cells if cell.value is not None}
    run |= {each.variant for each in evidence.pretrainings if each.finished} | {GUESS}
    absent = [(variant, at) for variant, at in missing if not evidence.by_seed(variant, on, at)]
    absent = [(variant, at) for variant, at in absent if not _fates(evidence, on, variant, at)]
    if never := dict.fromkeys(variant for variant, _ in absent if variant not in run):
        return f"{listed(never)} {_was(never)} not run"
    if absent and not any(cell.measurement == on and cell.value is not None for cell in evidence.cells):
        return f"{on} was not measured"
    if absent:
        at = absent[0][1]
        names = dict.fromkeys(variant for variant, each in absent if each == at)
        return f"{listed(names)} {_was(names)} not measured on {on}" + ("" if at == 100 else f" at {at} %")
    if _failures(evidence, trial):
        return ""
    apart = [each for each in trial.pairs if each.effect is None]
    compared = (listed((each.better, each.worse, *each.than)) for each in apart)
    return "; ".join(f"{each} have no {evidence.seeds[:-1]} in common" for each in compared)


def _was(names: Collection[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _fates(evidence: Evidence, on: str, variant: str, at: int) -> list[str]:
    """How the runs of a variant ended that have no value: `failed`, `diverged at step 7`."""
    lost = {cell.fate for cell in evidence.at(variant, on, at) if cell.value is None}
    return sorted(lost - {"pending"})


def _cost(evidence: Evidence, claim: Claim, needed: int) -> str:
    """The time until each variant of a claim has `needed` seeds, by recorded times; empty if one has none."""
    owners = {each: owner for owner, others in evidence.trained.items() for each in (owner, *others)}
    trained: dict[str, dict[str, float]] = {}
    measured = 0.0
    for variant in dict.fromkeys(variant for variant, _ in claim.sides):
        cells = evidence.by_seed(variant, claim.on)
        if not cells:
            return ""
        runs = {each.id: each.seconds for each in evidence.of(variant) if not each.imported}
        # variants of the same pre-training train it once
        trained.setdefault(owners.get(variant, variant), {}).update(runs)
        spent = math.fsum(cell.seconds for each in cells.values() for cell in each)
        measured += max(0, needed - len(cells)) * spent / len(cells)
    pretraining = [max(0, needed - len(runs)) * fmean(runs.values()) for runs in trained.values() if runs]
    if evidence.pretrained:  # trained once, whatever n is
        pretraining = []
    seconds = math.fsum(pretraining) + measured
    return f", about {duration(seconds)} more" if seconds else ""
