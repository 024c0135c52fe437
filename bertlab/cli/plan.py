"""`bertlab plan`: what studies cost, before anything is spent. Writes nothing to the store."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bertlab.cli import options
from bertlab.cli.console import console, exit_codes, print_json, say
from bertlab.wording import count, megabytes, roughly

if TYPE_CHECKING:
    from bertlab.estimates.cards import Accelerator
    from bertlab.estimates.estimate import Amount, Estimate, Seconds
    from bertlab.estimates.trials import Trials
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.store.runs import Store


@exit_codes
def plan(
    study: options.Studies,
    scale: options.ScaleName = "tiny",
    corpus: options.Corpora = None,
    vocab: options.Vocabulary = None,
    data: options.Data = None,
    substitute: options.Substitutes = None,
    intermediate_task: options.IntermediateTask = None,
    from_: options.From = None,
    seeds: options.Seeds = "1",
    finetune_seeds: options.FinetuneSeeds = 0,
    only: options.Only = None,
    set_: options.Assignments = None,
    random_init: options.RandomInit = False,
    gpus: options.Gpus = 0,
    gpus_per_run: options.GpusPerRun = 0,
    workers: options.Workers = 0,
    threads: options.Threads = 0,
    precision: options.Precision = "auto",
    micro_batch: options.MicroBatch = 0,
    on: Annotated[
        str | None, typer.Option("--on", help="Reckon for these graphics cards instead.", metavar="8xH100")
    ] = None,
    price: Annotated[
        float | None, typer.Option("--price", min=0, help="Of a device an hour, in any currency.", metavar="PER_HOUR")
    ] = None,
    watts: Annotated[
        float | None, typer.Option("--watts", min=0, help="Power of a device: of a GPU, or of this machine.")
    ] = None,
    runs: options.Runs = Path("runs"),
    json: options.Json = False,
) -> int:
    """Show what studies cost: jobs, operations, time, disk, energy, money; measured on this machine first.

    What `ablate --search` tries before is not in it: `ablate --search --dry-run` shows that.
    """
    from bertlab.cli import plan_table
    from bertlab.errors import BadInput
    from bertlab.estimates import cards
    from bertlab.estimates import estimate as estimating
    from bertlab.lab import plan as planning
    from bertlab.lab import scales, studies
    from bertlab.lab.pretrained import find
    from bertlab.machine import Machine
    from bertlab.store.runs import Store

    for option, value in (("--price", price), ("--watts", watts)):
        if value is not None and not value <= 1e9:
            raise BadInput(f"{option} is {value}: give a number from 0 to 1,000,000,000")
    number, card = cards.find(on) if on is not None else (0, None)
    if card is not None and (gpus or workers):
        raise BadInput("--on names the devices: leave out --gpus and --workers")
    machine = Machine(
        runs=runs,
        data=data,
        precision=precision,
        threads=threads,
        gpus=number or gpus,
        gpus_per_run=gpus_per_run,
        workers=workers,
        micro_batch=micro_batch,
    )
    store = Store(runs)
    request = planning.Request(
        studies=studies.chosen(study),
        scale=scales.find(scale).set(set_ or []),
        corpora=tuple(corpus or ()),
        vocabulary=vocab,
        substitutes=options.pairs("--substitute", substitute, "conll2003=bc5cdr"),
        intermediate_task=options.pairs("--intermediate-task", intermediate_task, "squad=triviaqa"),
        seeds=options.seeds(seeds),
        finetune_seeds=finetune_seeds,
        only=tuple(only or ()),
        random_init=random_init,
        pretrained=find(from_, store, machine) if from_ is not None else None,
    )
    made = planning.make(request, machine)
    if card is not None:
        seconds, basis = estimating.on_cards(card, machine), _Basis(card=card, peaks={card.precision: card.peak})
        found = estimating.estimate(made, store, machine, seconds)
    else:
        machine.check()
        with _measured(made, store, machine, quiet=json) as (seconds, basis):
            found = estimating.estimate(made, store, machine, seconds)
    bill = _Bill(machine.gpus or 1, watts if watts is not None else card.watts if card is not None else None, price)
    if json:
        print_json(_record(made, found, basis, bill))
        return 0
    plan_table.table(made, found.done, found.kinds)
    for line in plan_table.models(found.pending):
        say(line)
    _tell(found, basis, bill)
    return 0


@dataclasses.dataclass
class _Basis:
    """What times rest on."""

    card: Accelerator | None = None
    recorded: int = 0
    """Jobs whose time is that of finished runs alike."""
    measured: int = 0
    seconds: float = 0.0
    """What measuring took."""
    peaks: dict[str, float] = dataclasses.field(default_factory=dict)
    load: float = 0.0
    """Processes that were at work when measuring began, for each core of the machine."""

    @property
    def sources(self) -> list[str]:
        """Where times come from."""
        if self.card is not None:
            return ["published figures"]
        found = {"finished runs": self.recorded, "measurement": self.measured}
        return [name for name, jobs in found.items() if jobs]

    @property
    def told(self) -> str:
        """The same in words."""
        peaks = " and ".join(f"{value / 1e9:,.0f} GFLOP/s in {name}" for name, value in self.peaks.items())
        measured = f"{roughly(self.seconds)} of measuring on this machine, whose matrix products reach {peaks}"
        parts = ["finished runs alike"] * bool(self.recorded) + [measured] * bool(self.measured)
        return ", and from ".join(parts)


@dataclasses.dataclass(frozen=True)
class _Bill:
    """What devices cost while they are held."""

    devices: int
    watts: float | None
    price: float | None

    @property
    def of_one(self) -> _Bill:
        """Of one of them."""
        return dataclasses.replace(self, devices=1)

    def joules(self, amount: Amount | None) -> float | None:
        """Energy, if all of the power is drawn all the time."""
        if amount is None or amount.seconds is None or self.watts is None:
            return None
        return amount.seconds * self.devices * self.watts

    def money(self, amount: Amount | None) -> float | None:
        """What the devices cost, held from begin to end."""
        if amount is None or amount.seconds is None or self.price is None:
            return None
        return amount.seconds / 3600 * self.devices * self.price


@contextmanager
def _measured(plan: Plan, store: Store, machine: Machine, quiet: bool) -> Iterator[tuple[Seconds, _Basis]]:
    """What jobs take, from finished runs alike and else from a measurement that is made when it is needed."""
    from bertlab.estimates.recorded import Recorded
    from bertlab.lab.jobs import Job
    from bertlab.progress import signals_as_flags

    recorded, basis, known = Recorded(store, machine), _Basis(), dict[str, float]()
    trials: Trials | None = None
    status = console().status("") if not quiet else None

    def told(what: str) -> None:
        if status is not None:
            status.update(f"measuring this machine: {what}")

    with tempfile.TemporaryDirectory(prefix="bertlab-plan-") as folder, signals_as_flags():

        def seconds(job: Job, devices: int) -> float:
            nonlocal trials
            if job.id in known:
                return known[job.id] / devices
            found = recorded.seconds(job)
            if found is not None:
                basis.recorded += 1
            else:
                from bertlab.estimates.trials import Trials

                began = time.perf_counter()
                if status is not None:
                    status.start()
                if trials is None:
                    basis.load = os.getloadavg()[0] / (os.cpu_count() or 1)
                    trials = Trials(plan.jobs, store, machine, Path(folder), told)
                found = trials.seconds(job)
                basis.measured += 1
                basis.seconds += time.perf_counter() - began
                basis.peaks = trials.peaks
            known[job.id] = found
            return found / devices  # as many times as fast

        try:
            yield seconds, basis
        finally:
            if status is not None:
                status.stop()


def _tell(found: Estimate, basis: _Basis, bill: _Bill) -> None:
    """What the table does not say, in lines."""
    from bertlab.cli.plan_table import parameters
    from bertlab.estimates import cards
    from bertlab.lab.jobs import Pretrain

    to_do, more = found.to_do, found.one_more_seed
    if to_do == type(to_do)():
        say("Everything is finished: nothing is to do.")
    else:
        say(f"In all: {_stated(to_do, bill)}.")
    if len(found.studies) > 1:
        for name, alone in found.studies.items():
            say(f"  {name} alone: {_stated(alone, bill)}")
    if more is not None:
        say(f"One more seed: {_stated(more, bill)}.")
    shared = found.shared
    if shared.pretrainings or shared.measurements:
        say(f"Shared, and so not run: {_stated(shared, bill.of_one)}.")
    if basis.card is not None:
        peak, floor = basis.card.peak / 1e12, 1000 * cards.SECONDS_A_LAYER
        say(
            f"An estimate, not measured there: {cards.SHARE:.0%} of the published {peak:g} TFLOP/s of each "
            f"{basis.card.name}, and {floor:g} ms a layer and step at least. Text is prepared elsewhere."
        )
        largest = max((parameters(job.recipe) for job in found.pending if isinstance(job, Pretrain)), default=0)
        if 16 * largest > basis.card.memory:
            say(f"The largest model takes {16 * largest / 1e9:.0f} GB with its moments: it does not fit on one.")
    else:
        say(f"Times from {basis.told}.")
        if basis.measured and basis.load > 1:
            say(f"Other work took {basis.load:.1f} times its cores meanwhile: times are those of so busy a machine.")


def _stated(amount: Amount, bill: _Bill) -> str:
    """An amount in words."""
    parts = [count(amount.pretrainings, "pre-training"), count(amount.measurements, "measurement")]
    if amount.seconds is not None:
        parts.append(f"about {roughly(amount.seconds)}")
    parts.append(f"{megabytes(amount.disk_bytes)} of disk")
    joules, money = bill.joules(amount), bill.money(amount)
    if joules is not None:
        parts.append(f"{joules / 3.6e6:.3g} kWh")
    if money is not None:
        parts.append(f"{money:,.2f} at {bill.price:g} an hour and device")
    return ", ".join(parts)


def _record(plan: Plan, found: Estimate, basis: _Basis, bill: _Bill) -> dict[str, Any]:
    """The plan as JSON.

    `jobs` (by kind), `to_do`, `by_study`, `one_more_seed` and `saved_by_sharing` are amounts: `pretrainings`,
    `measurements`, `others` (corpora, checkpoints), `tokens` (trained on), `flops`, `seconds` (from begin to end;
    of `saved_by_sharing` on one device), `disk_bytes`, `energy_joules` and `money`, null where not known. `done` counts
    finished jobs by kind, `models` the pre-trainings to run by their shape; `times_from` lists `finished runs`,
    `measurement` or `published figures`; `peak_flops_per_second` is by precision, null where it was not measured.
    """
    from bertlab.cli.plan_table import trained_models

    def told(amount: Amount | None, bill: _Bill = bill) -> dict[str, Any] | None:
        if amount is None:
            return None
        return dataclasses.asdict(amount) | {"energy_joules": bill.joules(amount), "money": bill.money(amount)}

    return {
        "studies": [study.name for study in plan.request.studies],
        "scale": plan.request.scale.name,
        "corpus": list(plan.corpora),
        "times_from": basis.sources,
        "measuring_seconds": basis.seconds,
        "peak_flops_per_second": basis.peaks or None,
        "devices": bill.devices,
        "device": basis.card.name if basis.card is not None else None,
        "watts": bill.watts,
        "price_per_hour": bill.price,
        "done": dict(found.done),
        "jobs": {kind: told(each) for kind, each in found.kinds.items()},
        "to_do": told(found.to_do),
        "models": trained_models(found.pending),
        "by_study": {name: told(each) for name, each in found.studies.items()},
        "one_more_seed": told(found.one_more_seed),
        "saved_by_sharing": told(found.shared, bill.of_one),
    }
