"""The paper's claims with their verdicts, as text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertlab.errors import BadInput
from bertlab.lab.study import Claim
from bertlab.report.evidence import Evidence
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect
from bertlab.report.statistics.summary import LEVEL
from bertlab.report.tables import EMPTY, Table, ends, signed
from bertlab.report.verdicts import Verdict, trials, verdicts
from bertlab.wording import count, roughly


@dataclass(frozen=True)
class Finding:
    """A claim and its verdict, as text; what is not known is empty."""

    judged: Verdict
    verdict: str
    """`reproduced`, `contradicted`, `undecided` or `not measured`."""
    hint: str
    """What would decide it, where it is undecided."""
    likely: Effect | None
    """The effect on the log-likelihood of the right answers, in nats."""
    collapses: str
    """How many runs of the pair collapsed, and its difference by seed; empty if none did."""

    @property
    def claim(self) -> str:
        """The claim, with its margin."""
        claim = self.judged.claim
        return claim.text if claim.within is None else f"{claim.text} (within {claim.within:g})"

    @property
    def likelihood(self) -> str:
        """The effect on the log-likelihood with its interval."""
        if self.likely is None:
            return EMPTY
        interval = _interval(self.likely, 3)
        return signed(self.likely.mean, 3) + (f" ({interval})" if interval else EMPTY)

    @property
    def pair(self) -> str:
        """The two variants that are shown, where a claim compares several."""
        shown = self.judged.pair
        return EMPTY if len(self.judged.claim.pairs) == 1 else f"{shown.better} over {shown.worse}"

    @property
    def effect(self) -> str:
        """The mean effect, in the unit of its measurement."""
        return EMPTY if self.judged.effect is None else signed(self.judged.effect.mean)

    @property
    def interval(self) -> str:
        """Its 95 % interval."""
        return _interval(self.judged.effect)

    @property
    def published(self) -> str:
        """The paper's effect."""
        return EMPTY if self.judged.published is None else signed(self.judged.published, 1)

    @property
    def n(self) -> str:
        """Seeds that both variants have."""
        return EMPTY if self.judged.effect is None else str(self.judged.effect.n)


def claimed(record: Mapping[str, Any]) -> list[Claim]:
    """The claims of a record. Raises `BadInput` for one without variants to compare."""
    found = []
    for each in record.get("claims", ()):
        names = [field.name for field in dataclasses.fields(Claim) if field.name in each]
        known: dict[str, Any] = {
            name: tuple(each[name]) if isinstance(each[name], list) else each[name] for name in names
        }
        claim = Claim(**known)
        if not claim.pairs:
            raise BadInput(f"claim '{claim.text}' compares no variants")
        found.append(claim)
    return found


def judged(evidence: Evidence) -> list[Verdict]:
    """The verdicts on the study's claims, one family."""
    return verdicts(trials(evidence, claimed(evidence.record)))


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """The same as text."""
    return tuple(_finding(evidence, each) for each in judged(evidence))


def table(found: Sequence[Finding]) -> Table:
    """One row a claim: the measured effect, in the unit of its measurement, and the verdict."""
    columns = ("claim", "on", "measured", "95 % interval", "published", "log-likelihood", "n", "verdict")
    rows = [
        (
            each.claim,
            each.judged.claim.on,
            each.effect + (f" ({each.pair})" if each.pair else EMPTY),
            each.interval,
            each.published,
            each.likelihood,
            each.n,
            _verdict(each),
        )
        for each in found
    ]
    return Table(columns, tuple(rows))


def brief(found: Sequence[Finding]) -> Table:
    """The claims and verdicts for a console: the effect and half the width of its 95 % interval."""
    rows = []
    for each in found:
        interval = each.judged.effect and each.judged.effect.interval
        half = f" ±{interval.half:.2f}" if interval else EMPTY
        rows.append((each.claim, each.effect + half, each.published, _verdict(each)))
    return Table(("claim", "measured", "paper", "verdict"), tuple(rows))


def lines(evidence: Evidence, found: Sequence[Finding]) -> list[str]:
    """How to read the verdicts."""
    notes = [
        "Measured: the variant that the claim puts first minus the other (reversed where less is better), over the n "
        f"{evidence.unit}s that both have, with the interval over seeds and examples.",
        "Log-likelihood: the same difference in the mean log-likelihood of the right answers, in nats. It detects "
        "smaller effects and gives no verdict.",
    ]
    if any(len(each.judged.claim.pairs) > 1 for each in found):
        notes.append("A claim about several variants must hold for each; the table shows the pair that decides.")
    if any(each.judged.claim.within is not None for each in found):
        notes.append("A margin is tested by two one-sided tests at 5 %, which correspond to a 90 % interval.")
    if any(each.judged.effect and each.judged.effect.spread for each in found):
        notes.append(
            f"The variance between {evidence.unit}s is estimated over all comparisons of the study, as far as these "
            "agree (Smyth 2004), since few seeds give a poor estimate; the interval allows for its uncertainty "
            "(Behrens and Fisher)."
        )
    decided = [each.judged.effect.n for each in found if each.judged.effect and each.judged.outcome != "undecided"]
    if decided:
        notes.append(f"Decided: p is at most {1 - LEVEL:.2f} after Holm's correction over the claims of the study.")
        notes.append(
            f"A verdict holds for {evidence.unit}s like those measured: where none of {min(decided)} collapsed, up to "
            f"{100 * (1 - 0.05 ** (1 / min(decided))):.0f} % may (95 % bound)."
        )
    if any(each.collapses for each in found):
        notes.append("Where runs collapsed, a verdict must be the same without their seeds.")
    if any(_rising(each) for each in found):
        planned = len({evidence.seed_of(cell) for cell in evidence.cells})
        notes.append(
            "Testing again each time that seeds are added finds false effects in up to 17 % of claims, not 5 %: "
            f"fix the number of seeds first. This study planned {planned}."
        )
    if any(each.judged.effect and each.judged.effect.n < VERDICT_MIN_SEEDS for each in found):
        notes.append(f"A verdict needs {VERDICT_MIN_SEEDS} {evidence.unit}s.")
    if evidence.imported:
        notes.append("Each verdict holds for this checkpoint: another pre-training may differ.")
    if not all(evidence.comparable(each.judged.claim.on) for each in found):
        notes.append(
            "Where the setting is not the paper's (see the caveats), only directions are judged: the paper's margins "
            "do not apply."
        )
    return notes


def _finding(evidence: Evidence, judged: Verdict) -> Finding:
    pair, claim = judged.pair, judged.claim
    at = (claim.at, claim.before)
    likelihood = evidence.effect(pair.better, pair.worse, claim.on, metric=LIKELIHOOD, at=at)
    verdict: str = judged.outcome if judged.measured == len(claim.pairs) else "not measured"
    return Finding(judged, verdict, _hint(evidence, judged), likelihood, _collapses(evidence, judged))


def _verdict(finding: Finding) -> str:
    verdict = f"{finding.verdict}: {finding.hint}" if finding.hint else finding.verdict
    return f"{verdict} ({finding.collapses})" if finding.collapses else verdict


def _rising(finding: Finding) -> bool:
    """Whether it names a number of seeds that would decide."""
    need = finding.judged.need
    return (
        finding.verdict == "undecided"
        and not finding.judged.validity_issue
        and need is not None
        and need.seeds < math.inf
    )


def _collapses(evidence: Evidence, judged: Verdict) -> str:
    claim = judged.claim
    compared = (judged.pair.better, claim.at), (judged.pair.worse, claim.before)
    counts, crossed = [], set()
    for variant, at in compared:
        cells = evidence.collapsed(variant, claim.on, at)
        crossed |= {evidence.seed_of(cell) for cell in cells}
        runs = sum(cell.value is not None for cell in evidence.at(variant, claim.on, at))
        counts += [f"{len(cells)} of {count(runs, 'run')} of {variant} collapsed"] if cells else []
    if not counts:
        return EMPTY
    ours, theirs = (evidence.scores(variant, claim.on, at).seed_means() for variant, at in compared)
    sign = -1 if evidence.less_is_more(claim.on) else 1
    by_seed = (
        signed(sign * (ours[seed] - theirs[seed])) + (" collapsed" if seed in crossed else "")
        for seed in ours
        if seed in theirs
    )
    return f"{', '.join(counts)}; by {'fine-tuning seed' if evidence.imported else 'seed'} {', '.join(by_seed)}"


def _interval(effect: Effect | None, digits: int = 2) -> str:
    found = None if effect is None else effect.interval
    return EMPTY if found is None else ends(found, digits)


def _hint(evidence: Evidence, judged: Verdict) -> str:
    """What is missing, or what would decide it and its cost."""
    pairs = len(judged.claim.pairs)
    if judged.measured < pairs:
        return f"{judged.measured} of {pairs} comparisons are measured" if judged.measured else EMPTY
    if judged.outcome != "undecided":
        return EMPTY
    if judged.validity_issue:
        return judged.validity_issue
    what = "fine-tuning seeds" if evidence.imported else "seeds"
    if judged.pair.collapses:
        left = judged.pair.without.n if judged.pair.without else 0
        if left < VERDICT_MIN_SEEDS:
            return f"{count(left, what[:-1])} without a collapse, a verdict needs {VERDICT_MIN_SEEDS}"
        if judged.p == 1.0:
            return f"the difference comes from the {what} that collapsed"
    if judged.need is None:
        few = judged.effect is None or judged.effect.n < VERDICT_MIN_SEEDS
        return (
            f"needs at least {VERDICT_MIN_SEEDS} {what}{_cost(evidence, judged, VERDICT_MIN_SEEDS)}" if few else EMPTY
        )
    true = signed(judged.need.true)
    if math.isinf(judged.need.seeds):
        return f"if the effect is {true}, no number of {what} decides on these examples"
    needed = max(VERDICT_MIN_SEEDS, math.ceil(judged.need.seeds))
    return f"if the effect is {true}, about {needed:,} {what} decide{_cost(evidence, judged, needed)}"


def _cost(evidence: Evidence, judged: Verdict, needed: int) -> str:
    variants = dict.fromkeys(variant for pair in judged.claim.pairs for variant in pair)
    seconds = evidence.seconds_to(needed, variants, judged.claim.on)
    return f", about {roughly(seconds)} more" if seconds else ""
