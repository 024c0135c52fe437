"""What the paper claims, and what the evidence says of it: the section of a page that answers the question."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bertlab.report.effects import FLOOR
from bertlab.report.evidence import Evidence
from bertlab.report.predictions import Predictions
from bertlab.report.statistics import LEVEL
from bertlab.report.tables import EMPTY, Table
from bertlab.report.verdicts import Verdict, trials, verdicts
from bertlab.study import Claim

PAPER = "paper"
"""The scale at which margins can be compared with the paper's."""


def judged(evidence: Evidence, predictions: Predictions) -> list[Verdict]:
    """The verdicts of the claims that the study was planned with, one family."""
    claims = [Claim(**each) for each in evidence.record.get("claims", ())]
    return verdicts(trials(evidence, predictions, claims))


def table(evidence: Evidence, found: Sequence[Verdict]) -> Table:
    """One row a claim: what was measured for it, in the unit of its column, and the verdict."""
    columns = ("claim", "on", "measured", f"{LEVEL:.0%} interval", "published", "n", "verdict")
    return Table(columns, tuple(_row(evidence, each) for each in found))


def lines(evidence: Evidence, found: Sequence[Verdict]) -> list[str]:
    """How the verdicts are to be read."""
    told = [
        "Measured: the row that the claim puts first minus the other (or the other way where less is better), over the "
        f"n {evidence.unit}s that both have, with the interval over seeds and examples."
    ]
    if any(each.outcome != "undecided" for each in found):
        told.append(f"Decided: p is at most {1 - LEVEL:.2f} after Holm's correction over the claims of the study.")
    if any(each.effect is not None and each.effect.n < FLOOR for each in found):
        told.append(f"Fewer than {FLOOR} {evidence.unit}s give no verdict.")
    if evidence.imported:
        told.append("Each verdict is for this checkpoint: another pre-training may differ.")
    if not _comparable(evidence):
        told.append(
            "Only directions are judged: scale, text or tasks are not the paper's, so margins of the paper say nothing "
            "here."
        )
    return told


def _row(evidence: Evidence, verdict: Verdict) -> tuple[str, ...]:
    effect = verdict.effect
    interval = None if effect is None else effect.interval
    return (
        verdict.claim.text,
        verdict.claim.on,
        EMPTY if effect is None else f"{effect.mean:+.2f}",
        EMPTY if interval is None else f"{interval.low:+.2f} to {interval.high:+.2f}",
        EMPTY if verdict.published is None else f"{verdict.published:+.1f}",
        EMPTY if effect is None else str(effect.n),
        said(evidence, verdict),
    )


def said(evidence: Evidence, verdict: Verdict) -> str:
    """A verdict in a word, then a colon and what would tell, if it is undecided."""
    if verdict.claim.within is not None and not _comparable(evidence):
        return "not judged here"
    if verdict.effect is None:
        return "not measured"
    if verdict.outcome != "undecided" or verdict.seeds is None:
        return verdict.outcome
    if math.isinf(verdict.seeds):
        return "undecided: more seeds would not tell"
    return f"undecided: about {max(FLOOR, math.ceil(verdict.seeds)):,} seeds would tell"


def _comparable(evidence: Evidence) -> bool:
    """Whether sizes, and not directions alone, can be set against the paper's."""
    return evidence.scale == PAPER and not evidence.world and not evidence.substitutes
