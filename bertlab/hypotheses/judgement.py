"""Judges the hypotheses of a table, or one of a ledger, by the statistics of a study's claims."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.errors import BadInput, unknown
from bertlab.hypotheses import ledger as ledgers
from bertlab.hypotheses.decision import MORE, Decision, better_than, check_maximum, decision, overall, parsed
from bertlab.hypotheses.ledger import Ledger, Looked
from bertlab.hypotheses.values import TableResults, Values, read, results
from bertlab.names import plain, shown
from bertlab.report.ablation import Ablation
from bertlab.report.findings import findings
from bertlab.report.units import less_is_better
from bertlab.report.verdicts import endpoints
from bertlab.sequential.looking import claim_looks
from bertlab.sequential.power import DEFAULT_MAXIMUM
from bertlab.store import writes
from bertlab.store.record import Sequential, StudyLook
from bertlab.store.schema import to_json

if TYPE_CHECKING:
    import pandas


COLUMNS = (
    *("claim", "measurement", "better", "worse", "effect", "low", "high", "n", "p", "adjusted_p", "seeds_alone_p"),
    *("looks", "most_seeds", "sequential_p", "repeated_low", "repeated_high", "verdict"),
)
"""The columns that decisions have of the table of verdicts."""


ONE_LOOK = "This was one look: for another one after more seeds, see --max-seeds and --ledger."


@dataclass(frozen=True, kw_only=True, repr=False)
class Judgement(Ablation):
    """What `bertlab.judge` returns: the results of a table as those of a study, and a decision on each hypothesis."""

    judged: tuple[Decision, ...]
    """The decision on each hypothesis."""
    notes: tuple[str, ...] = ()
    """Sentences on what was left out, and on the level of a registered hypothesis."""

    @property
    def decision(self) -> str:
        """`more seeds` if any hypothesis needs some, else `discard` if any is to be discarded, else `keep`."""
        return overall(self.judged)

    @property
    def decisions(self) -> pandas.DataFrame:
        """A line for each hypothesis: the decision, the seeds to add, the reason, and the columns of `verdicts`."""
        verdicts = self.verdicts[[*COLUMNS]].dropna(axis="columns", how="all")
        return verdicts.assign(
            level=round(self.studies[0].error, 12),
            decision=[one.what for one in self.judged],
            more_seeds=[one.more for one in self.judged],
            reason=[one.why for one in self.judged],
        )

    def _shown(self) -> list[pandas.DataFrame]:
        """The table and the decisions."""
        return [self.table, self.decisions[["claim", "decision", "more_seeds"]].set_index("claim")]


def judge(
    results: str | Path | pandas.DataFrame,
    *,
    baseline: str = "",
    claims: str | Sequence[str] = (),
    lower_is_better: str | Sequence[str] = (),
    max_seeds: int | None = None,
    ledger: str | Path | None = None,
    name: str = "",
    out: str | Path | None = None,
) -> Judgement:
    """Decides about hypotheses on your own numbers, as `bertlab judge` does.

    `results` has the columns `variant`, `seed` and `value`, and perhaps `measurement`, `example` and `look`. Claims are
    texts such as `new > base on accuracy`; without them, each variant is compared with the baseline. With a `ledger`,
    the hypothesis is the one that was registered under `name`. `out` is a folder for a page.

    Raises `BadInput` for a table that cannot be judged, and for what contradicts the registration.
    """
    table, texts, lower = read(results), _several(claims), _several(lower_is_better)
    if ledger is not None:
        if baseline or texts or lower or max_seeds is not None:
            raise BadInput("the ledger has the claim, its direction and the most seeds: give only --name with it")
        judged = of_ledger(table, Path(ledger), plain(name))
    elif name:
        raise BadInput(f"--name {name} is of a hypothesis in a ledger: give --ledger too, or leave it out")
    else:
        judged = of_table(table, baseline, texts, lower, max_seeds)
    if out is not None:
        write(judged, Path(out))
    return judged


def register(
    ledger: str | Path,
    name: str,
    claim: str,
    *,
    max_seeds: int = DEFAULT_MAXIMUM,
    lower_is_better: str | Sequence[str] = (),
) -> dict[str, Any]:
    """Registers a hypothesis such as `new > base on accuracy` in a ledger, before its results; gives it its level.

    `max_seeds` are the most that it may get. Raises `BadInput` for a name that is taken.
    """
    hypothesis, lower = parsed(claim), [*map(plain, _several(lower_is_better))]
    if lower and lower != [hypothesis.on]:
        raise BadInput(f"--lower-is-better {lower[0]}: the claim is on {hypothesis.on}, so give that or leave it out")
    _require_direction([hypothesis.on], lower)
    check_maximum(max_seeds)
    if not plain(name):
        raise BadInput("--name is blank: give the hypothesis a name")
    with ledgers.opened(Path(ledger), new=True) as opened:
        entry = opened.register(plain(name), hypothesis, max_seeds, lower_is_better=bool(lower))
    return dict(to_json(entry))


def _several(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) and texts else list(texts)


def write(judgement: Judgement, out: Path) -> Path:
    """Writes the page of a judgement. Raises `Unwritable`."""
    from bertlab.report.pages import render
    from bertlab.report.plots.figure import applied
    from bertlab.report.plots.variants import effects

    study = judgement.studies[0]
    with applied():
        picture = effects(study)
    page = render("judgement.html.j2", study=study, judgement=judgement, picture=picture)
    writes.write(writes.folder(out), "judgement.html", page)
    return out / "judgement.html"


def _require_direction(measurements: Collection[str], lower: Collection[str]) -> None:
    """Raises `BadInput` for a measurement whose name says that less is better, and that is not among `lower`."""
    for name in sorted(set(measurements) - set(lower)):
        if less_is_better(name):
            raise BadInput(f"{shown(name)} sounds as if less were better: give --lower-is-better, or rename it")


def of_table(
    values: Values, baseline: str, claims: Sequence[str], lower: Sequence[str], max_seeds: int | None
) -> Judgement:
    """Judges all hypotheses of a table as the claims of one study, or all variants against a baseline.

    With `max_seeds`, the looks of the table are those of a sequential test. Raises `BadInput` for what does not fit the
    table.
    """
    if not (claims or baseline):
        raise BadInput("judge has nothing to compare: give --baseline, --claim, or --ledger and --name")
    baseline, lower = plain(baseline), [*map(plain, lower)]
    if baseline and baseline not in values.variants:
        raise unknown("variant in --baseline", baseline, values.variants)
    for name in set(lower) - set(values.measurements):
        raise unknown("measurement in --lower-is-better", name, values.measurements)
    parts = values.variants, values.measurements
    hypotheses = [*dict.fromkeys(parsed(text, *parts) for text in claims)] or [
        better_than(name, baseline, on) for on in values.measurements for name in values.variants if name != baseline
    ]
    if not hypotheses:
        raise BadInput(f"{values.name} has no variant but {baseline}: give the values of others too")
    baseline = baseline or hypotheses[0].pairs[0][1]
    _require_direction({hypothesis.on for hypothesis in hypotheses}, lower)
    notes = values.check(hypotheses)
    looks = sorted(set(values.looks.values()))
    if max_seeds is None:
        if len(looks) > 1:
            raise BadInput(f"{values.name} has several looks: give --max-seeds, the most that were planned before them")
        judgement = _judgement(results(values, hypotheses, baseline, lower), notes)
        return replace(judgement, notes=(*notes, ONE_LOOK)) if judgement.decision == MORE else judgement
    check_maximum(max_seeds)
    sequential = Sequential(maximum=max_seeds, looks=())
    for look in looks:
        study = looked(results(values.until(look), hypotheses, baseline, lower, sequential))
        sequential = study.record.sequential or sequential
    return _judgement(results(values, hypotheses, baseline, lower, sequential), notes)


def of_ledger(values: Values, path: Path, name: str) -> Judgement:
    """Judges a registered hypothesis at its level, and writes the look into the ledger if there are new seeds.

    Raises `BadInput` for more seeds than were registered, for other values at seeds that an earlier look saw, for new
    seeds of a hypothesis that is decided, and for looks that the table has, which the ledger did not see.
    """
    if len(set(values.looks.values())) > 1:
        raise BadInput(f"{values.name} has several looks: a ledger counts its own, so leave out the column look")
    with ledgers.opened(path) as ledger:
        entry = ledger.find(name)
        notes = [*values.check([entry.claim]), f"One-sided level {entry.level:.2g}, {entry.max_seeds} seeds at most."]
        lower = [entry.on] if entry.lower_is_better else []
        before = ledger.sequential(name)
        study = results(values, [entry.claim], entry.worse, lower, before, 2 * entry.level)  # half of it on each side
        after = looked(study)
        judgement = _judgement(after, notes)
        _check(ledger, name, judgement.judged[0])
        looks = after.record.sequential.looks if after.record.sequential else ()
        for look in (look for of_study in looks[len(before.looks) :] for look in of_study.claims):
            differences = _differences(judgement.judged[0])
            ledger.append(Looked(name=name, decision=judgement.decision, numbers=look, differences=differences))
    return judgement


def looked(study: TableResults) -> TableResults:
    """The study after one more look, at the claims that have new seeds."""
    entries = tuple(claim_looks(*endpoints(study), study.claims, study.error))
    before = study.record.sequential
    if before is None or not entries:
        return study
    sequential = replace(before, looks=(*before.looks, StudyLook(seeds={}, claims=entries)))
    return replace(study, record=replace(study.record, sequential=sequential))


def _judgement(study: TableResults, notes: Sequence[str]) -> Judgement:
    decisions = tuple(map(decision, findings(study)))
    for one in decisions:
        effect, history = one.finding.test.pair.effect, one.finding.test.history
        if history and effect and effect.n > history.maximum:
            raise BadInput(
                f"{one.finding.claim}: {effect.n} seeds, and {history.maximum} were planned: leave out the rest"
            )
    return Judgement(studies=[study], complete=True, judged=decisions, notes=tuple(notes))


def _check(ledger: Ledger, name: str, one: Decision) -> None:
    """Raises `BadInput` where the values are not those of earlier looks, or a decided hypothesis has new seeds."""
    differences = _differences(one)
    for look in ledger.looks(name):
        for seed, before in look.differences.items():
            if not math.isclose(differences.get(seed, math.inf), before, rel_tol=1e-9, abs_tol=1e-12):
                raise BadInput(f"{name}: an earlier look saw {before:g} at seed {seed}: keep its values")
        if look.decision != MORE and len(differences) > look.numbers.n:
            raise BadInput(f"{name} was decided with {look.numbers.n} seeds ({look.decision}): register another one")


def _differences(one: Decision) -> dict[str, float]:
    effect = one.finding.test.pair.effect
    return {str(seed): float(value) for seed, value in effect.by_seed.items()} if effect else {}
