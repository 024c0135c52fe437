"""What the paper claims, and what the evidence says of it: the section of a page that answers the question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bertlab.report.effects import FLOOR, Effect
from bertlab.report.evidence import Evidence
from bertlab.report.facts import duration
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics import LEVEL
from bertlab.report.tables import EMPTY, Table, signed
from bertlab.report.verdicts import Verdict, trials, verdicts
from bertlab.study import Claim


def judged(evidence: Evidence) -> list[Verdict]:
    """The verdicts of the claims that the study was planned with, one family."""
    return verdicts(trials(evidence, [_claim(each) for each in evidence.record.get("claims", ())]))


def table(evidence: Evidence, found: Sequence[Verdict]) -> Table:
    """One row a claim: what was measured for it, in the unit of its column, and the verdict."""
    columns = ("claim", "on", "measured", f"{LEVEL:.0%} interval", "published", "log-likelihood", "n", "verdict")
    return Table(columns, tuple(_row(evidence, each) for each in found))


def brief(evidence: Evidence) -> Table:
    """The claims and verdicts, short enough for a console: the effect and half the width of its 95 % interval."""
    rows = []
    for verdict in judged(evidence):
        effect = verdict.effect
        half = f" ±{effect.interval.half:.2f}" if effect and effect.interval else ""
        measured = EMPTY if effect is None else f"{signed(effect.mean)}{half}"
        rows.append((verdict.claim.text, measured, _published(verdict), said(evidence, verdict)))
    return Table(("claim", "measured", "paper", "verdict"), tuple(rows))


def lines(evidence: Evidence, found: Sequence[Verdict]) -> list[str]:
    """How the verdicts are to be read."""
    told = [
        "Measured: the row that the claim puts first minus the other (or the other way where less is better), over the "
        f"n {evidence.unit}s that both have, with the interval over seeds and examples.",
        "Log-likelihood: the same difference in what the right answers are given, in nats. It sees smaller effects, "
        "and judges nothing.",
    ]
    if any(len(each.claim.pairs) > 1 for each in found):
        told.append("A claim about several rows has to hold for each; shown is the pair that speaks most against it.")
    if any(each.outcome != "undecided" for each in found):
        told.append(f"Decided: p is at most {1 - LEVEL:.2f} after Holm's correction over the claims of the study.")
    if any(each.effect is not None and each.effect.n < FLOOR for each in found):
        told.append(f"Fewer than {FLOOR} {evidence.unit}s give no verdict.")
    if evidence.imported:
        told.append("Each verdict is for this checkpoint: another pre-training may differ.")
    if not evidence.comparable:
        told.append(
            "Only directions are judged: scale, text or tasks are not the paper's, so margins of the paper say nothing "
            "here."
        )
    return told


def _claim(recorded: Mapping[str, Any]) -> Claim:
    """A claim of a record, whose lists are tuples again."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in recorded.items()
    }
    return Claim(**fields)


def _row(evidence: Evidence, verdict: Verdict) -> tuple[str, ...]:
    effect = verdict.effect
    pair, claim = verdict.pair, verdict.claim
    likelihood = evidence.effect(pair.better, pair.worse, claim.on, metric=LIKELIHOOD, at=claim.at)
    return (
        claim.text,
        claim.on,
        EMPTY if effect is None else f"{signed(effect.mean)}{_pair(verdict)}",
        _interval(effect, 2),
        _published(verdict),
        _likelihood(likelihood),
        EMPTY if effect is None else str(effect.n),
        said(evidence, verdict),
    )


def _published(verdict: Verdict) -> str:
    return EMPTY if verdict.published is None else signed(verdict.published, 1)


def _interval(effect: Effect | None, digits: int) -> str:
    found = None if effect is None else effect.interval
    return EMPTY if found is None else f"{signed(found.low, digits)} to {signed(found.high, digits)}"


def _likelihood(effect: Effect | None) -> str:
    if effect is None:
        return EMPTY
    interval = _interval(effect, 3)
    return signed(effect.mean, 3) + (f" ({interval})" if interval else "")


def _pair(verdict: Verdict) -> str:
    """Which two rows are shown, where a claim is of several."""
    if len(verdict.claim.pairs) == 1:
        return ""
    return f" ({verdict.pair.better} over {verdict.pair.worse})"


def said(evidence: Evidence, verdict: Verdict) -> str:
    """The verdict in words; of what is undecided, what would decide it and what that would cost."""
    if verdict.claim.within is not None and not evidence.comparable:
        return "undecided: a margin of the paper's scale and data"
    if not verdict.measured:
        return "not measured"
    if verdict.outcome != "undecided":
        return verdict.outcome
    if verdict.seeds is None:
        few = verdict.effect is None or verdict.effect.n < FLOOR
        return f"undecided: {FLOOR} {evidence.unit}s at least{_cost(evidence, verdict, FLOOR)}" if few else "undecided"
    if math.isinf(verdict.seeds):
        return f"undecided: more {evidence.unit}s would not tell"
    needed = max(FLOOR, math.ceil(verdict.seeds))
    return f"undecided: about {needed:,} {evidence.unit}s would tell{_cost(evidence, verdict, needed)}"


def _cost(evidence: Evidence, verdict: Verdict, needed: int) -> str:
    rows = dict.fromkeys(row for pair in verdict.claim.pairs for row in pair)
    each = evidence.seconds_a_seed(rows, verdict.claim.on)
    more = needed - (verdict.effect.n if verdict.effect else 0)
    return f", {duration(more * each)} more" if each and more > 0 else ""
