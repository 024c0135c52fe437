"""Rounds of seeds for the claims of studies: which cells come next, after which looks, and when to stop.

A round is a set of cells of an ordinary plan. Everything that the next round depends on is in the records of the store
(their cells and their looks), so that the same command continues where it ended.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bertlab.errors import BadInput
from bertlab.estimates.cost import Seconds
from bertlab.estimates.history import RuntimeHistory, Trials
from bertlab.lab import plan as planning
from bertlab.lab.claim_plan import compared, decidable
from bertlab.lab.plan import Cell, Plan, Request
from bertlab.lab.record import records
from bertlab.lab.study import RANDOM_INIT, Claim, Study
from bertlab.machine import Machine
from bertlab.report.gather import gather
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.study_results import StudyResults
from bertlab.report.verdicts import ClaimTest, endpoints
from bertlab.sequential.budget import Budget
from bertlab.sequential.looking import claim_looks
from bertlab.sequential.power import DEFAULT_MAXIMUM, LARGEST_MAXIMUM
from bertlab.store import commands, union
from bertlab.store.record import Record, Sequential, StudyLook, Value
from bertlab.store.runs import Store

Place = tuple[str, str, str, int, int]
"""A study, a variant, a measurement, a milestone (per cent of the steps) and a pre-training seed."""


@dataclass(frozen=True)
class Candidate:
    """A claim that seeds can decide in this setting."""

    study: Study
    claim: Claim

    def places(self, seed: int) -> set[Place]:
        """The places that the claim needs at a seed."""
        study, on = self.study, self.claim.on
        return {(study.name, variant, on, milestone, seed) for variant, milestone in compared(study, self.claim)}

    def seeds(self, recorded: Collection[Place]) -> set[int]:
        """The seeds at which the claim has all its places."""
        return {seed for seed in {seed for *_, seed in recorded} if self.places(seed) <= {*recorded}}


@dataclass(frozen=True)
class State:
    """A study as it is in the store."""

    results: StudyResults | None
    """The results of the study; None if the store has no record of it."""
    record: Record
    """The record with the texts of this command, and the cells of the store's."""

    @cached_property
    def endpoints(self) -> tuple[list[ClaimTest], dict[Claim, ClaimTest]]:
        """The verdicts so far, as `verdicts.endpoints` gives them; none without a record."""
        return endpoints(self.results) if self.results else ([], {})

    def with_looks(self, sequential: Sequential) -> State:
        """The study with these looks in place of those in its record."""
        record = dataclasses.replace(self.record, sequential=sequential)
        if self.results is None:
            return State(None, record)
        of_results = dataclasses.replace(self.results.record, sequential=sequential)
        return State(dataclasses.replace(self.results, record=of_results), record)


@dataclass
class Costs:
    """The plans of sets of values, and what they cost."""

    request: Request
    budget: Budget
    machine: Machine
    store: Store
    _plan: Plan | None = field(default=None, init=False)
    _trial_runs: tempfile.TemporaryDirectory[str] | None = field(default=None, init=False)

    def plan(self, seeds: Iterable[int]) -> Plan:
        """The plan of all variants and measurements over these seeds, and others that were asked for before."""
        planned = {*self._plan.request.seeds} if self._plan else {*range(VERDICT_MIN_SEEDS)}
        if self._plan is None or not planned >= {*seeds}:
            chosen = tuple(sorted(planned | {*seeds}))
            self._plan = planning.make(dataclasses.replace(self.request, seeds=chosen), self.machine)
        return self._plan

    def part(self, places: Collection[Place]) -> Plan:
        """The plan of these places."""
        whole = self.plan({seed for *_, seed in places})
        return whole.with_cells(cell for cell in whole.cells if _place(cell) in places)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The claims that data of this setting can decide. Raises `BadInput` if there is none."""
        plan = self.plan(())
        candidates = [Candidate(study, claim) for study in self.request.studies for claim in decidable(plan, study)]
        if not candidates:
            raise BadInput(
                "--budget and --until-decided add seeds for claims, and these studies have none that can be decided in "
                "this setting: give a number of --seeds"
            )
        return candidates

    def controls(self, candidates: Iterable[Candidate]) -> set[Place]:
        """The baseline and the untrained variant on the measurements of claims, at the first seeds.

        They show whether pre-training helps there, and the baseline's comparisons estimate the variance.
        """
        untrained = {(RANDOM_INIT, 100)} if self.request.random_init or RANDOM_INIT in self.request.only else set()
        return {
            (study.name, variant, claim.on, milestone, seed)
            for study, claim in ((candidate.study, candidate.claim) for candidate in candidates)
            for variant, milestone in {(study.baseline, milestone) for milestone in (claim.at, claim.before, 100)}
            | untrained
            for seed in range(VERDICT_MIN_SEEDS)
        }

    def cost(self, places: Collection[Place]) -> float:
        """What places cost, finished or not, in the unit of the budget."""
        return self.budget.cost(self.part(places).jobs, self.machine, self.seconds)

    def spent(self, recorded: Iterable[Place]) -> float:
        """What the places that claims need cost: rounds run one after another, the first of `VERDICT_MIN_SEEDS`."""
        rounds: dict[int, set[Place]] = {}
        for cell in self.needed(recorded):
            rounds.setdefault(max(cell[4], VERDICT_MIN_SEEDS - 1), set()).add(cell)
        return sum(map(self.cost, rounds.values()))

    @cached_property
    def seconds(self) -> Seconds:
        """The times of jobs by finished runs as they are now; for a time to keep to, else by short trials."""
        if self.budget.seconds is None or self.machine.cluster:
            return RuntimeHistory(self.store, self.machine).seconds
        self.machine.check()
        self._trial_runs = self._trial_runs or tempfile.TemporaryDirectory(prefix="bertlab-plan-")
        return Trials(self.store, self.machine, Path(self._trial_runs.name)).seconds

    def refresh(self) -> None:
        """Reads the times of finished runs anew."""
        self.__dict__.pop("seconds", None)

    def needed(self, recorded: Iterable[Place]) -> set[Place]:
        """The recorded places that claims need."""
        ours = {cell[:4] for candidate in self.candidates for cell in candidate.places(0)}
        ours |= {cell[:4] for cell in self.controls(self.candidates)}
        return {cell for cell in recorded if cell[:4] in ours}

    def used(self, recorded: Collection[Place]) -> str:
        """How much of the budget the seeds of the claims use: `28 runs of 40 runs used`; empty without a budget."""
        if self.budget.limit is None:
            return ""
        cost = self.spent(recorded)
        return f"{self.budget.worded(cost)} of {self.budget.worded(self.budget.limit)} used"

    def maximum(self, recorded: Collection[Place]) -> int:
        """The most seeds of a claim, declared before the first look: what the budget pays if no claim stops early."""
        if self.budget.limit is None:
            return DEFAULT_MAXIMUM
        begun = [candidate for candidate in self.candidates if candidate.seeds(recorded)]
        beyond = 1 + max(seed for *_, seed in recorded)
        seed_cost = self.cost({cell for candidate in begun for cell in candidate.places(beyond)})
        left = self.budget.limit - self.spent(recorded)
        fewest = min(len(candidate.seeds(recorded)) for candidate in begun)
        return min(max(fewest + int(max(0.0, left) / seed_cost), VERDICT_MIN_SEEDS), LARGEST_MAXIMUM)


@dataclass
class Rounds(Costs):
    """The rounds of one command."""

    options: str
    """The options that define the setting, as in the record."""
    command: str
    """The options that ask for rounds."""

    def states(self) -> dict[str, State]:
        """The studies as they are in the store, by name. Writes nothing."""
        plan = self.plan(())
        before = self.store.records(needed=[study.name for study in self.request.studies])
        merged, names = union.merged(self.store, records(plan, self.options).values())
        states = {}
        for name in names:
            old, results = before.get(name), None
            record = _reduced(merged[name], {_place_of(old.study, value) for value in old.cells} if old else ())
            if old is not None:
                record = dataclasses.replace(record, requests=old.requests, command=old.command)
                (results,) = gather(self.store, [record])
            states[record.study] = State(results, record)
        return states

    def records(self, places: Collection[Place]) -> list[Record]:
        """The records of a round."""
        seeds = tuple(sorted({seed for *_, seed in places}))
        of_round = []
        for record in records(self.plan(seeds), self.options).values():
            requests = tuple(
                dataclasses.replace(request, seeds=seeds, rounds=self.command) for request in record.requests
            )
            command = commands.line(requests, record.name)
            of_round.append(dataclasses.replace(_reduced(record, places), requests=requests, command=command))
        return [record for record in of_round if record.cells]

    def rest_of_round(self, states: Mapping[str, State], *, retry: bool) -> set[Place]:
        """What is left of the round that has begun: pending values of claims, and seeds up to the fewest of a verdict.

        With `retry`, also values of runs that have failed.
        """
        recorded = recorded_places(states)
        return self.unfinished(states, failed=retry) | (self.first_round(recorded) - recorded)

    def unfinished(self, states: Mapping[str, State], *, failed: bool) -> set[Place]:
        """The places of claims that wait for a run or for its repetition; with `failed`, those of failed runs too."""
        return self.needed(
            {
                (name, cell.variant, cell.measurement, cell.milestone, cell.pretrain_seed)
                for name, state in states.items()
                for cell in (state.results.unfinished if state.results else ())
                if cell.status in ("pending", "damaged") or failed
            }
        )

    def first_round(self, recorded: Collection[Place]) -> set[Place]:
        """The fewest seeds of a verdict for as many claims as the budget pays beside `recorded`, the cheapest first.

        Raises `BadInput` if it pays for none.
        """
        limit, chosen, begun = self.budget.limit, set[Place](), False
        wanted = [
            self.controls([candidate]).union(*map(candidate.places, range(VERDICT_MIN_SEEDS)))
            for candidate in self.candidates
        ]
        costs = {number: self.cost(places) for number, places in enumerate(wanted)}
        for number in sorted(costs, key=costs.__getitem__):
            if len(self.candidates[number].seeds(recorded)) >= VERDICT_MIN_SEEDS:
                begun = True
            elif limit is None or self.spent(chosen.union(recorded, wanted[number])) <= limit:
                chosen |= wanted[number]
        if not chosen and not begun:
            least = self.budget.worded(min(costs.values()))
            raise BadInput(f"--budget: a verdict on the cheapest claim takes {least} at least: give as much")
        return chosen

    def look(self, states: Mapping[str, State]) -> dict[str, State]:
        """The states after a look at each claim that has more seeds than at its last look. Writes nothing."""
        after = dict(states)
        for name, state in states.items():
            if state.results is None:
                continue
            if (before := state.record.sequential) is None:
                before = Sequential(maximum=self.maximum(recorded_places(states)), looks=())
                state = state.with_looks(before)
            claims = [candidate.claim for candidate in self.candidates if candidate.study.name == name]
            if entries := tuple(claim_looks(*state.endpoints, claims)):
                seeds: dict[str, tuple[int, ...]] = {}
                for row in state.record.rows:
                    seeds[row.variant] = (*seeds.get(row.variant, ()), row.pretrain_seed)
                look = StudyLook(seeds=seeds, claims=entries)
                after[name] = state.with_looks(dataclasses.replace(before, looks=(*before.looks, look)))
        return after

    def next_round(self, states: Mapping[str, State]) -> set[Place]:
        """One more seed of the claims that are closest to a verdict for what their seeds cost; empty at the end.

        All open claims while the budget pays all their seeds, else those with the best chance for the cost.
        """
        recorded = recorded_places(states)
        ranked = []
        for candidate, judged in self.trials(states):
            if not judged or not still_open(judged):
                continue
            looked = [trial.history for trial in judged if trial.history and not closed(trial)]
            seed = next(seed for seed in itertools.count() if not candidate.places(seed) <= recorded)
            left_over = max(trial.maximum - trial.looks[-1].n for trial in looked)
            places = candidate.places(seed)
            rest = self.cost(places) * left_over
            power = max(trial.looks[-1].power for trial in looked)
            ranked.append((power / max(rest, 1e-9), rest, places))
        chosen, planned, limit = set[Place](), 0.0, self.budget.limit
        left = math.inf if limit is None else limit - self.spent(recorded)
        for _, rest, places in sorted(ranked, key=lambda entry: -entry[0]):
            new = places - chosen - recorded
            share = len(new) / len(places)  # of what it costs by itself; the rest is bought for other claims
            if (not chosen or planned + share * rest <= left) and self.cost((chosen | places) - recorded) <= left:
                planned += share * rest
                chosen |= places
        return chosen - recorded

    def trials(self, states: Mapping[str, State]) -> Iterator[tuple[Candidate, list[ClaimTest]]]:
        """Each claim with its verdicts so far, by the paper's metric first; none if its study is not in the store."""
        for candidate in self.candidates:
            judged, likely = states[candidate.study.name].endpoints
            trials = [judged[candidate.study.claims.index(candidate.claim)]] if judged else []
            yield candidate, [*trials, *(likely[trial.claim] for trial in trials if trial.claim in likely)]


def still_open(judged: Sequence[ClaimTest]) -> bool:
    """Whether more seeds may decide a claim: not once it is decided on the paper's metric."""
    return judged[0].outcome == "undecided" and not all(map(closed, judged))


def unbegun(trial: ClaimTest) -> bool:
    """Whether a claim lacks the fewest seeds of a verdict, and not for want of results."""
    few = any(pair.effect is None or pair.effect.n < VERDICT_MIN_SEEDS for pair in trial.pairs)
    return few and not trial.validity_issue


def closed(trial: ClaimTest) -> bool:
    """Whether more seeds of an endpoint are of no use."""
    looked, decided = trial.history, trial.outcome != "undecided"
    if decided or trial.validity_issue or looked is None or not looked.looks:
        return True
    return looked.exhausted or looked.futile


def standing(judged: Sequence[ClaimTest]) -> str:
    """The verdict on a claim, or why there is none yet; by both endpoints unless the paper's metric decides it."""
    shown = judged if judged[0].outcome == "undecided" else judged[:1]
    return "; by likelihood ".join(map(_standing, shown))


def _standing(trial: ClaimTest) -> str:
    if trial.outcome != "undecided":
        return trial.outcome
    if trial.validity_issue:
        return f"undecided: {trial.validity_issue}"
    if trial.history is None or not trial.history.looks:
        return "not begun: the budget is too small" if unbegun(trial) else "undecided: no p-value can be computed"
    return f"undecided: {trial.history.prospect}"


def recorded_places(states: Mapping[str, State]) -> set[Place]:
    """The places of the store, finished or planned."""
    return {_place_of(name, cell) for name, state in states.items() for cell in state.record.cells}


def _place(cell: Cell) -> Place:
    return cell.study.name, cell.variant, cell.measurement.name, cell.milestone, cell.pretraining.seed


def _place_of(study: str, value: Value) -> Place:
    return study, *value.column, value.pretrain_seed


def _reduced(record: Record, places: Collection[Place]) -> Record:
    """A record with the values of these places alone."""
    values = tuple(value for value in record.cells if _place_of(record.study, value) in places)
    pretrained = {(value.variant, value.pretrain_seed) for value in values}
    rows = tuple(row for row in record.rows if (row.variant, row.pretrain_seed) in pretrained)
    return dataclasses.replace(record, cells=values, rows=rows)
