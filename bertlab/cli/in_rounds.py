"""Adds seeds to studies in rounds, with a look at their claims after each (`ablate --budget`, `--until-decided`)."""

from bertlab.cli.carry_out import carry_out, draw
from bertlab.cli.console import say
from bertlab.cli.report import print_result
from bertlab.estimates.estimate import estimate
from bertlab.lab import plan as planning
from bertlab.report.evidence import Evidence
from bertlab.rounds.rounds import Place, Rounds, State, standing, still_open, unbegun
from bertlab.store import union
from bertlab.wording import count


def in_rounds(rounds: Rounds, *, retry: bool = False, dry_run: bool = False) -> tuple[list[Evidence], bool]:
    """Runs rounds until no claim needs more seeds or the budget pays for none.

    Returns the results of the studies, and whether all runs have one.

    With `dry_run`, prints the next round and writes nothing. Failed runs of earlier commands are repeated with `retry`.
    """
    store, machine = rounds.store, rounds.machine
    last = set[Place]()
    while True:
        rounds.refresh()
        states = rounds.states()
        places = rounds.rest_of_round(states, retry=retry)
        if not places:
            after = rounds.look(states)
            new = [after[name].record for name in after if after[name] is not states[name]]
            if new and not dry_run:
                union.keep(store, new)
            states = after
            _say_claims(rounds, states)
            places = rounds.next_round(states)
        if places <= last:  # nothing is left to do, or runs have neither a result nor a failure of their own
            break
        plan = rounds.part(places)
        looks = max(len(state.record.get("sequential", {}).get("looks", ())) for state in states.values())
        found = estimate(plan, store, machine, rounds.seconds, read_tasks=False)
        draw(plan, store, machine, f"round {looks + 1}", found)
        if dry_run:
            return [], True
        planning.check_metrics(plan, store, machine)
        made = rounds.records(places)
        carry_out(plan.jobs, store, machine, retry=retry, on_training=lambda: union.keep(store, made))  # noqa: B023
        union.keep(store, made)
        retry, last = False, places
    results = [state.evidence for state in states.values() if state.evidence is not None]
    for evidence in results:
        print_result(evidence)
    _say_end(rounds, states)
    return results, not rounds.unfinished(states, failed=True)


def _say_claims(rounds: Rounds, states: dict[str, State]) -> None:
    """A line for each claim: its verdict, or why there is none yet."""
    for candidate, judged in rounds.trials(states):
        if judged:
            say(f"{candidate.claim.text} ({candidate.claim.on}): {standing(judged)}")
    if used := rounds.used(states):
        say(f"Budget: {used}.")


def _say_end(rounds: Rounds, states: dict[str, State]) -> None:
    """Why rounds end: missing results, a budget that pays for no more seeds, or neither."""
    lost, waiting = (len(rounds.unfinished(states, failed=failed)) for failed in (True, False))
    left = sum(not judged or still_open(judged) or unbegun(judged[0]) for _, judged in rounds.trials(states))
    if lost:
        say(f"{count(lost, 'measurement')} {'has' if lost == 1 else 'have'} no result: see `bertlab runs`.")
    if left:
        why = "rounds go on once all measurements have a result" if waiting else "the budget pays for no more seeds"
        say(f"{count(left, 'claim')} {'stays' if left == 1 else 'stay'} open: {why}.")
    elif not lost:
        say("No claim needs more seeds.")
    say("Next: `bertlab report` writes tables and plots.")
