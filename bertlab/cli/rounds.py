"""Adds seeds to studies in rounds, with a look at their claims after each (`ablate --budget`, `--until-decided`)."""

from functools import partial

from bertlab.cli.console import say
from bertlab.cli.jobs import print_plan, run_jobs
from bertlab.cli.options import in_store
from bertlab.cli.results import print_results
from bertlab.estimates.cost import Estimate, estimate
from bertlab.lab import plan as planning
from bertlab.lab.jobs import Job
from bertlab.lab.plan import Plan
from bertlab.report.study_results import StudyResults
from bertlab.sequential.rounds import Place, Rounds, State, recorded_places, standing, still_open, unbegun
from bertlab.store import union
from bertlab.wording import pluralise


def run_rounds(rounds: Rounds, *, retry: bool = False) -> tuple[bool, list[StudyResults], list[Job]]:
    """Runs rounds until no claim needs more seeds or the budget pays for none.

    Returns whether all runs have a result, the results of each study, and the jobs of these rounds. Failed runs of
    earlier commands are repeated with `retry`.
    """
    store, last, jobs = rounds.store, set[Place](), list[Job]()
    while True:
        states, places = _next(rounds, retry=retry, keep=True)
        if places <= last:  # nothing is left to do, or runs have neither a result nor a failure of their own
            break
        plan, _ = _print_round(rounds, states, places)
        planning.check_data(plan, store, rounds.machine)
        save = partial(union.save_records, store, rounds.records(places))
        run_jobs(plan.jobs, store, rounds.machine, retry=retry, on_training=save)
        save()
        retry, last = False, places
        jobs += plan.jobs
    studies = [state.results for state in states.values() if state.results is not None]
    print_results(studies)
    _print_end(rounds, states)
    return not rounds.unfinished(states, failed=True), studies, jobs


def print_next_round(rounds: Rounds, *, retry: bool = False) -> Estimate | None:
    """Prints the next round and returns its cost, or prints why there is none. Writes nothing."""
    states, places = _next(rounds, retry=retry, keep=False)
    if places:
        return _print_round(rounds, states, places)[1]
    _print_end(rounds, states)
    return None


def _next(rounds: Rounds, *, retry: bool, keep: bool) -> tuple[dict[str, State], set[Place]]:
    """The studies as they are after a look, if one is due, and what to run next. Looks are kept with `keep`."""
    rounds.refresh()
    states = rounds.states()
    places = rounds.rest_of_round(states, retry=retry)
    if not places:
        after = rounds.look(states)
        new = [after[name].record for name in after if after[name] is not states[name]]
        if new and keep:
            union.save_records(rounds.store, new)
        states = after
        _print_claims(rounds, states)
        places = rounds.next_round(states)
    return states, places


def _print_round(rounds: Rounds, states: dict[str, State], places: set[Place]) -> tuple[Plan, Estimate]:
    """Prints a round; its plan and its cost."""
    plan = rounds.part(places)
    looks = max(len(state.record.sequential.looks) if state.record.sequential else 0 for state in states.values())
    cost = estimate(plan, rounds.store, rounds.machine, rounds.seconds, read_tasks=False)
    return plan, print_plan(plan, rounds.store, rounds.machine, f"round {looks + 1}", cost)


def _print_claims(rounds: Rounds, states: dict[str, State]) -> None:
    """A line for each claim: its verdict, or why there is none yet."""
    for candidate, judged in rounds.trials(states):
        if judged:
            say(f"{candidate.claim.text} ({candidate.claim.on}): {standing(judged)}")
    if used := rounds.used(recorded_places(states)):
        say(f"Budget: {used}.")


def _print_end(rounds: Rounds, states: dict[str, State]) -> None:
    """Why rounds end: missing results, a budget that pays for no more seeds, or neither."""
    lost, waiting = (len(rounds.unfinished(states, failed=failed)) for failed in (True, False))
    left = sum(not judged or still_open(judged) or unbegun(judged[0]) for _, judged in rounds.trials(states))
    option = in_store(rounds.store.root)
    if lost:
        say(f"{pluralise(lost, 'measurement')} {'has' if lost == 1 else 'have'} no result: see `bertlab runs{option}`.")
    if left:
        why = "rounds go on once all measurements have a result" if waiting else "the budget pays for no more seeds"
        say(f"{pluralise(left, 'claim')} {'stays' if left == 1 else 'stay'} open: {why}.")
    elif not lost:
        say("No claim needs more seeds.")
    say(f"Next: `bertlab report{option}` writes tables and plots.")
