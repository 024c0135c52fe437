"""`bertlab ablate`: pre-trains the variants of studies, measures them, and prints them beside the published values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_json, say
from bertlab.cli.options import (
    DRY_RUN,
    JSON,
    KEEP,
    LOGGERS,
    RETRY,
    ClusterOptions,
    Names,
    StudyOptions,
    flag,
    in_store,
    option,
)
from bertlab.cli.results import FAIL_ON, check_fail_on, failing, print_results, results_data
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.estimates.cost import Estimate
    from bertlab.lab.jobs import Job
    from bertlab.lab.plan import Plan, Request
    from bertlab.report.study_results import StudyResults


@dataclass(frozen=True, kw_only=True)
class AblateOptions(StudyOptions):
    """Studies, how seeds are added to them, and what is kept and logged of their runs."""

    search: bool = flag("First choose fine-tuning settings by a grid search on the baseline.", rich_help_panel="Tasks")
    search_rates: bool = flag(
        "First choose the learning rate of each variant on each task by trials, in studies that compare adaptations.",
        rich_help_panel="Tasks",
    )
    budget: str = option(
        "",
        "TIME|NUMBERruns",
        "Add seeds in rounds where they decide claims, four in the first: 90m, 2h, 1d or 40runs in all.",
    )
    until_decided: bool = flag("Add seeds in rounds until no claim needs more, 12 at most without --budget.")
    name: str = option("", "NAME", "What reports call this setting, such as more-examples; no result depends on it.")
    keep: bool = KEEP
    logger: Names = LOGGERS
    retry: bool = RETRY
    dry_run: bool = DRY_RUN

    @property
    def in_rounds(self) -> bool:
        """Whether seeds are added in rounds."""
        return bool(self.budget) or self.until_decided


def ablate(options: AblateOptions, devices: ClusterOptions, fail_on: Names = FAIL_ON, json: bool = JSON) -> int:
    """Pre-train and measure the variants of studies.

    Prints the measured table beside the published one. Skips finished runs; to resume after an interruption, repeat the
    command.

    Example: bertlab ablate masking --scale tiny --seeds 4
    """
    check_fail_on(fail_on)
    command = Command(options, devices)
    done = measured(command)
    if json:
        print_json(done.to_json(command))
    return 1 if failing(done.results, fail_on) or not done.complete else 0


class Command:
    """A call of `ablate`: its options, and the machine and the store that they name."""

    def __init__(self, options: AblateOptions, devices: ClusterOptions) -> None:
        from bertlab.store.runs import Store

        self.options, self.devices = options, devices
        self.machine, self.store = devices.machine(options, options.logger), Store(options.runs)


@dataclass(frozen=True)
class Measured:
    """What `ablate` has run or, in a dry run, would run."""

    jobs: Sequence[Job]
    results: list[StudyResults] = field(default_factory=list)
    complete: bool = True
    """Whether all runs have a result."""
    cost: Estimate | None = None
    """The cost of what a dry run has left to do; None if nothing is left."""

    def to_json(self, command: Command) -> dict[str, Any] | None:
        """The results and the jobs without one, or the cost and the texts of a dry run."""
        from bertlab.cli.jobs import unfinished
        from bertlab.lab import texts

        if command.options.dry_run:
            return self.cost.to_json() | {"text": texts.corpus_facts(self.jobs, command.store)} if self.cost else None
        left = unfinished(self.jobs, command.store)
        return {"complete": self.complete, **results_data(self.results), "unfinished": left}


def measured(command: Command) -> Measured:
    """Runs and prints what a command requests, in steps: each gives the next one its input, or the end."""
    from bertlab.cli.jobs import read_tasks
    from bertlab.lab import claim_plan
    from bertlab.lab.jobs.lists import check_kept
    from bertlab.lab.record import check
    from bertlab.report.tracked import track

    request = _request(command)
    plan = claim_plan.make(request, command.machine)
    check(plan, command.store)
    check_kept(plan.jobs, command.store)
    if command.options.dry_run:
        read_tasks(plan.pending(command.store), local=True)
    if command.options.search or command.options.search_rates:
        searched = _searched(command, request, plan)
        if isinstance(searched, Measured):
            return searched
        request, plan = searched, claim_plan.make(searched, command.machine)
    done = _in_rounds(command, request, plan) if command.options.in_rounds else _at_once(command, plan)
    for study in done.results:
        track(study, command.store, command.machine)
    return done


def _request(command: Command) -> Request:
    """What the options ask for, with the steps and speeds of variants whose training is timed first."""
    from bertlab.estimates import equal_time
    from bertlab.sequential.budget import Budget

    options, devices = command.options, command.devices
    Budget.parse(options.budget)
    fixed = {"--seeds": options.seeds, "--claim-seeds": options.claim_seeds, "--from": options.from_}
    for fixing, value in fixed.items() if options.in_rounds else ():
        if value is not None:
            raise BadInput(f"{fixing} fixes the seeds, and --budget and --until-decided choose them: leave one out")
    if options.in_rounds and options.curves:
        raise BadInput(
            "--curves has no effect with --budget and --until-decided, which measure what claims compare: leave it "
            "out, and give it afterwards, without them"
        )
    request = dataclasses.replace(options.study_request(command.machine), name=options.name, keep=options.keep)
    request = equal_time.timed(request, command.store, command.machine, trials=not options.dry_run, tell=say)
    if request.pretrained is not None and (devices.compile != "auto" or devices.micro_batch):
        raise BadInput("--from: nothing is pre-trained, so --compile and --micro-batch have no effect; leave them out")
    return dataclasses.replace(request, claim_seeds=()) if options.in_rounds else request


def _searched(command: Command, request: Request, plan: Plan) -> Request | Measured:
    """The request with the settings that a search chooses; in a dry run, the trials that are left."""
    from bertlab.cli.jobs import print_plan, run_jobs
    from bertlab.lab import plan as planning
    from bertlab.lab import search

    planning.check_data(plan, command.store, command.machine)  # before any trial
    searches = (command.options.search, search.settings), (command.options.search_rates, search.rates)
    for make in (make for asked, make in searches if asked):  # the second starts from what the first has chosen
        trials = make(request, command.machine)
        if trials.plan.pending(command.store):
            cost = print_plan(trials.plan, command.store, command.machine, trials.title)
            if command.options.dry_run:
                return Measured(plan.jobs, cost=cost)
            run_jobs(trials.plan.jobs, command.store, command.machine, retry=command.options.retry)
        request = trials.chosen(command.store)
    return request


def _in_rounds(command: Command, request: Request, plan: Plan) -> Measured:
    """Runs rounds of seeds; in a dry run, the next round."""
    from bertlab.cli.rounds import print_next_round, run_rounds
    from bertlab.sequential.budget import Budget
    from bertlab.sequential.rounds import Rounds

    spelled = f"--budget {command.options.budget.replace(' ', '')}" if command.options.budget else "--until-decided"
    budget = Budget.parse(command.options.budget)
    rounds = Rounds(request, budget, command.machine, command.store, command.options.spelled(), spelled)
    if command.options.dry_run:
        return Measured(plan.jobs, cost=print_next_round(rounds, retry=command.options.retry))
    complete, results, jobs = run_rounds(rounds, retry=command.options.retry)
    return Measured(jobs, results, complete)


def _at_once(command: Command, plan: Plan) -> Measured:
    """Runs a plan; in a dry run, what is left of it."""
    from bertlab.cli.jobs import print_plan, run_jobs
    from bertlab.lab import plan as planning
    from bertlab.lab.record import records
    from bertlab.report.gather import gather
    from bertlab.store import union

    options, store, machine = command.options, command.store, command.machine
    if not options.dry_run and plan.pending(store):
        machine.check()
    cost = print_plan(plan, store, machine)
    if options.dry_run:
        return Measured(plan.jobs, cost=cost)
    save = partial(union.save_records, store, records(plan, options.spelled()).values())
    planning.check_data(plan, store, machine)
    complete = run_jobs(plan.jobs, store, machine, retry=options.retry, on_training=save)
    results = gather(store, save())
    print_results(results)
    if complete:
        after = f"bertlab report{in_store(store.root)}"
        say(f"All runs are finished, in {store.root}. Next: `{after}` writes tables and plots.")
    return Measured(plan.jobs, results, complete)
