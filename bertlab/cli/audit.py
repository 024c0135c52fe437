"""`bertlab audit`: tests what the batches of every variant of a study contain, before any training."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import command, complain, print_json, print_table, say
from bertlab.cli.options import AuditOptions, Json

if TYPE_CHECKING:
    from bertlab.inputs.audit import Audited, Check
    from bertlab.lab.plan import Plan
    from bertlab.lab.study import Study
    from bertlab.machine import Machine
    from bertlab.store.runs import Store
    from bertlab.text.tokens import TokenisedCorpus

VERDICTS = {True: "holds", False: "FAILS", None: "not tested"}


@command
def audit(what: AuditOptions, json: Json = False) -> int:
    """Test what the batches of every variant contain.

    Checks shares, pairs, lengths, masks and lost tokens on a sample of batches; exits with 1 if a check fails.
    """
    from bertlab.lab import plan as planning
    from bertlab.lab import unused
    from bertlab.machine import Machine
    from bertlab.store.runs import Store

    unused.recipe_only(what.set_ or ())
    studies = tuple(map(_unmeasured, what.chosen()))
    request = what.request(studies, only=tuple(what.only or ()), measured=False)
    machine = Machine(runs=what.runs, data=what.data)
    plan = planning.make(request, machine)
    opened = _prepare(plan, Store(what.runs), machine, quiet=json)
    if opened is None:
        return 1
    found = _audit(plan, opened, show=not json)
    if json:
        print_json([_record(rows, each) for rows, audited in found for each in audited])
    checks = [(rows, check) for rows, audited in found for each in audited for check in each.checks]
    failures = [(rows, check) for rows, check in checks if check.holds is False]
    for rows, check in failures:
        complain(_line(rows, check))
    if not json:
        untested = sum(check.holds is None for _, check in checks)
        held = len(checks) - len(failures) - untested
        say(f"{held} checks hold, {len(failures)} fail, {untested} lack data for a test")
    return 1 if failures else 0


def _unmeasured(study: Study) -> Study:
    """The study without its measurements: only the pre-training of its variants is left."""
    from bertlab.lab.study import Measurement

    variants = [dataclasses.replace(variant, adaptation=None) for variant in study.variants]
    loss = Measurement("loss", metric="perplexity")
    return dataclasses.replace(study, variants=variants, measurements=[loss], published={}, claims=[])


def _prepare(plan: Plan, store: Store, machine: Machine, quiet: bool) -> dict[str, TokenisedCorpus] | None:
    """The corpora of a plan by id, prepared if the store lacks them; None if that fails."""
    from bertlab.lab.jobs import PrepareCorpus
    from bertlab.text.tokens import open_corpus

    corpora = [job for job in plan.jobs if isinstance(job, PrepareCorpus)]
    if not carry_out(corpora, store, machine, quiet=quiet):
        return None
    return {job.id: open_corpus(run.path) for job in corpora if (run := store.get(job.id)) is not None}


def _audit(plan: Plan, opened: dict[str, TokenisedCorpus], show: bool) -> list[tuple[list[str], list[Audited]]]:
    """The results for each group of variants that share their batches; equal sequences are fully drawn only once."""
    from bertlab.inputs.audit import LESS, MOST, same_batches, same_sequences
    from bertlab.inputs.audit import audit as audited
    from bertlab.lab.jobs import Pretrain
    from bertlab.progress import signals_as_flags

    shared: dict[Any, list[Any]] = {}
    for cell in plan.cells:
        assert isinstance(cell.pretrain, Pretrain)
        shared.setdefault((same_batches(cell.pretrain.recipe), cell.pretrain.corpus.id), []).append(cell)
    several = len(plan.request.studies) > 1
    found = []
    traced = set()
    with signals_as_flags():
        for (_, corpus), cells in shared.items():
            recipe = cells[0].pretrain.recipe
            rows = [f"{cell.study.name}: {cell.variant}" if several else cell.variant for cell in cells]
            sequences = same_sequences(recipe), corpus
            results = audited(recipe, opened[corpus], most=LESS if sequences in traced else MOST)
            traced.add(sequences)
            found.append((rows, results))
            for each in results if show else ():
                _draw(rows, each)
    return found


def _draw(rows: list[str], audited: Audited) -> None:
    """Prints the checks of variants that share their batches."""
    epochs = f"epoch{'s' if len(audited.passes) > 1 else ''} {', '.join(map(str, audited.passes))}"
    sample = f"{audited.rows:,} sequences, {audited.tokens:,} tokens of {epochs}"
    print_table(
        ("figure", "found", "expected", "test", ""),
        [(each.figure, each.found, each.expected, each.test, VERDICTS[each.holds]) for each in audited.checks],
        f"{', '.join(rows)}: at most {audited.length} tokens per sequence; sample: {sample}",
        left=5,
    )


def _line(rows: list[str], check: Check) -> str:
    """A failed check in one line."""
    place = f", first in {check.where}" if check.where else ""
    return f"{', '.join(rows)}: {check.figure}: {check.found}; expected {check.expected} ({check.test}){place}"


def _record(rows: list[str], audited: Audited) -> dict[str, Any]:
    """The checks of variants that share their batches, as JSON."""
    return {"variants": rows, "holds": all(check.holds is not False for check in audited.checks)} | dataclasses.asdict(
        audited
    )
