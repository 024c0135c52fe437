"""`bertlab ablate`: pre-trains the variants of studies, measures them, and prints them beside the published values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_json, say
from bertlab.cli.options import DRY_RUN, JSON, LOGGERS, RETRY, ClusterOptions, Names, StudyOptions, in_store, option
from bertlab.cli.results import FAIL_ON, check_fail_on, failing, print_results, results_data
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.estimates.cost import Estimate
    from bertlab.report.study_results import StudyResults


def ablate(
    options: StudyOptions,
    devices: ClusterOptions,
    search: bool = option(
        False,
        "--search",
        None,
        "First choose fine-tuning settings by a grid search on the baseline.",
        rich_help_panel="Tasks",
    ),
    budget: str = option(
        "",
        "--budget",
        "TIME|NUMBERruns",
        "Add seeds in rounds where they decide claims, four in the first: 90m, 2h, 1d or 40runs in all.",
        rich_help_panel=StudyOptions.panel,
    ),
    until_decided: bool = option(
        False,
        "--until-decided",
        None,
        "Add seeds in rounds until no claim needs more, 12 at most without --budget.",
        rich_help_panel=StudyOptions.panel,
    ),
    name: str = option(
        "",
        "--name",
        "NAME",
        "What reports call this setting, such as more-examples; no result depends on it.",
        rich_help_panel=StudyOptions.panel,
    ),
    logger: Names = LOGGERS,
    retry: bool = RETRY,
    dry_run: bool = DRY_RUN,
    fail_on: Names = FAIL_ON,
    json: bool = JSON,
) -> int:
    """Pre-train and measure the variants of studies.

    Prints the measured table beside the published one. Skips finished runs; to resume after an interruption, repeat the
    command.

    Example: bertlab ablate masking --scale tiny --seeds 4
    """
    check_fail_on(fail_on)
    done = measured(options, devices, search, budget, until_decided, name, logger, retry, dry_run)
    if json and dry_run:
        print_json(done.cost.to_json() | {"text": done.text} if done.cost else None)
    elif json:
        print_json({"complete": done.complete, **results_data(done.results), "unfinished": done.unfinished})
    return 1 if failing(done.results, fail_on) or not done.complete else 0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What `ablate` has run."""

    results: list[StudyResults] = field(default_factory=list)
    complete: bool = True
    """Whether all runs have a result."""
    unfinished: list[dict[str, Any]] = field(default_factory=list)
    """The jobs without a result, as JSON."""
    cost: Estimate | None = None
    """Of a dry run: what is left to do; None if nothing is."""
    text: list[dict[str, Any]] = field(default_factory=list)
    """Of a dry run: the facts of its texts, as `text.facts` describes them."""


def measured(
    options: StudyOptions,
    devices: ClusterOptions,
    search: bool,
    budget: str,
    until_decided: bool,
    name: str,
    logger: Names,
    retry: bool,
    dry_run: bool,
) -> Measured:
    """Runs and prints what the options of `ablate` request."""
    from bertlab.cli.carry_out import carry_out, draw, read_tasks, unfinished
    from bertlab.estimates import equal_time
    from bertlab.lab import claims, texts
    from bertlab.lab import plan as planning
    from bertlab.lab import search as searching
    from bertlab.lab.record import check, records
    from bertlab.report.gather import gather
    from bertlab.report.tracked import track
    from bertlab.rounds.budget import Budget
    from bertlab.store import union
    from bertlab.store.runs import Store

    limit = Budget.parse(budget)
    rounds = bool(budget) or until_decided
    fixed = {"--seeds": options.seeds, "--claim-seeds": options.claim_seeds, "--from": options.from_}
    for fixing, chosen in fixed.items():
        if rounds and chosen is not None:
            raise BadInput(f"{fixing} fixes the seeds, and --budget and --until-decided choose them: leave one out")
    machine, store = devices.machine(options, logger), Store(options.runs)
    request = dataclasses.replace(options.study_request(machine), name=name)
    request = equal_time.timed(request, store, machine, trials=not dry_run, tell=say)
    if rounds:
        request = dataclasses.replace(request, claim_seeds=())
    if request.pretrained is not None and (devices.compile != "auto" or devices.micro_batch):
        raise BadInput("--from: nothing is pre-trained, so --compile and --micro-batch have no effect; leave them out")
    plan = claims.make(request, machine)
    check(plan, store)
    if dry_run:
        read_tasks(plan.pending(store), local=True)
    if search:
        planning.check_data(plan, store, machine)  # before any trial
        tried = searching.make(request, machine)
        if tried.plan.pending(store):
            cost: Estimate | None = draw(tried.plan, store, machine, "settings to try on the baseline")
            if dry_run:
                return Measured(cost=cost, text=texts.known(plan.jobs, store))
            carry_out(tried.plan.jobs, store, machine, retry=retry)
        request = tried.chosen(store)
        plan = claims.make(request, machine)
    if rounds:
        from bertlab.cli import in_rounds
        from bertlab.rounds.rounds import Rounds

        spelled = f"--budget {budget.replace(' ', '')}" if budget else "--until-decided"
        made_in = Rounds(request, limit, machine, store, options.spelled() + " --search" * search, spelled)
    if dry_run:
        cost = in_rounds.next_round(made_in, retry=retry) if rounds else draw(plan, store, machine)
        return Measured(cost=cost, text=texts.known(plan.jobs, store))
    if rounds:
        complete, results, jobs = in_rounds.in_rounds(made_in, retry=retry)
    else:
        if plan.pending(store):
            machine.check()
        draw(plan, store, machine)
        kept_records, jobs = records(plan, options.spelled() + " --search" * search).values(), [*plan.jobs]
        planning.check_data(plan, store, machine)
        complete = carry_out(jobs, store, machine, retry=retry, on_training=lambda: union.keep(store, kept_records))
        results = gather(store, union.keep(store, kept_records))
        print_results(results)
        if complete:
            after = f"bertlab report{in_store(store.root)}"
            say(f"All runs are finished, in {store.root}. Next: `{after}` writes tables and plots.")
    for study in results:
        track(study, store, machine)
    return Measured(results=results, complete=complete, unfinished=[] if complete else unfinished(jobs, store))
