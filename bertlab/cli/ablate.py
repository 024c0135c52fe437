"""`bertlab ablate`: pre-trains the variants of studies, measures them, and prints them beside the published values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from bertlab.cli.console import say
from bertlab.cli.options import DRY_RUN, LOGGERS, RETRY, ClusterOptions, Names, StudyOptions, option
from bertlab.cli.report import print_result
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.report.evidence import Evidence


def ablate(
    options: StudyOptions,
    devices: ClusterOptions,
    search: bool = option(
        False, "--search", None, "First choose fine-tuning settings by a grid search on the baseline."
    ),
    budget: str = option(
        "", "--budget", "TIME|NUMBERruns", "Add seeds in rounds where they decide claims: 90m, 2h, 1d or 40runs in all."
    ),
    until_decided: bool = option(
        False, "--until-decided", None, "Add seeds in rounds until no claim needs more, 12 at most without --budget."
    ),
    logger: Names = LOGGERS,
    retry: bool = RETRY,
    dry_run: bool = DRY_RUN,
) -> int:
    """Pre-train and measure the variants of studies.

    Prints the measured table beside the published one. Skips finished runs; to resume after an interruption, repeat the
    command.

    Example: bertlab ablate masking --scale tiny --seeds 4
    """
    _, complete = measured(options, devices, search, budget, until_decided, logger, retry, dry_run)
    return 0 if complete else 1


def measured(
    options: StudyOptions,
    devices: ClusterOptions,
    search: bool,
    budget: str,
    until_decided: bool,
    logger: Names,
    retry: bool,
    dry_run: bool,
) -> tuple[list[Evidence], bool]:
    """Runs and prints what the options of `ablate` request; returns its results, and whether all runs have one."""
    from bertlab.cli.carry_out import carry_out, draw
    from bertlab.lab import claims
    from bertlab.lab import plan as planning
    from bertlab.lab import search as searching
    from bertlab.lab.record import records
    from bertlab.report.gather import gather
    from bertlab.rounds.budget import Budget
    from bertlab.store import union
    from bertlab.store.runs import Store

    limit = Budget.parse(budget)
    rounds = bool(budget) or until_decided
    fixed = {"--seeds": options.seeds, "--claim-seeds": options.claim_seeds, "--from": options.from_}
    for name, given in fixed.items():
        if rounds and given is not None:
            raise BadInput(f"{name} fixes the seeds, and --budget and --until-decided choose them: leave one out")
    machine, store = devices.machine(options, logger), Store(options.runs)
    request = options.study_request(machine)
    if rounds:
        request = dataclasses.replace(request, claim_seeds=())
    if request.pretrained is not None and (devices.compile != "auto" or devices.micro_batch):
        raise BadInput("--from: nothing is pre-trained, so --compile and --micro-batch have no effect; leave them out")
    plan = claims.make(request, machine)
    union.joined(store, records(plan).values())  # raises `BadInput` for another study with this name
    if search:
        tried = searching.make(request, machine)
        if tried.plan.pending(store):
            draw(tried.plan, store, machine, "settings to try on the baseline")
            if dry_run:
                return [], True
            carry_out(tried.plan.jobs, store, machine, retry=retry)
        request = tried.chosen(store)
        plan = claims.make(request, machine)
    if rounds:
        from bertlab.cli.in_rounds import in_rounds
        from bertlab.rounds.rounds import Rounds

        spelled = f"--budget {budget.replace(' ', '')}" if budget else "--until-decided"
        made_in = Rounds(request, limit, machine, store, options.spelled() + " --search" * search, spelled)
        return in_rounds(made_in, retry=retry, dry_run=dry_run)
    draw(plan, store, machine)
    if dry_run:
        return [], True
    made = records(plan, options.spelled() + " --search" * search).values()
    planning.check_metrics(plan, store, machine)
    complete = carry_out(plan.jobs, store, machine, retry=retry, on_training=lambda: union.keep(store, made))
    results = gather(store, union.keep(store, made))
    for evidence in results:
        print_result(evidence)
    if complete:
        say(f"All runs are finished, in {store.root}. Next: `bertlab report` writes tables and plots.")
    return results, complete
