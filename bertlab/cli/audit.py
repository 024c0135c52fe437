"""`bertlab audit`: tests what the batches of every variant of a study contain, before any training."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import command, complain, print_json, print_table, say
from bertlab.cli.options import AuditOptions, Json

if TYPE_CHECKING:
    from bertlab.inputs.audit import Audited
    from bertlab.lab.plan import Plan
    from bertlab.lab.study import Study
    from bertlab.text.tokens import TokenisedCorpus

VERDICTS = {True: "holds", False: "FAILS", None: "not tested"}


@command
def audit(options: AuditOptions, json: Json = False) -> int:
    """Test what the batches of every variant contain.

    Draws a sample of batches and tests fractions of masked tokens, sentence pairs, lengths, masks and lost tokens.
    Exits with 1 if a check fails.
    """
    from bertlab.lab import plan as planning
    from bertlab.lab import unused
    from bertlab.lab.jobs import PrepareCorpus
    from bertlab.machine import Machine
    from bertlab.store.runs import Store
    from bertlab.text.tokens import open_corpus

    unused.recipe_only(options.set_ or ())
    machine, store = Machine(runs=options.runs, data=options.data), Store(options.runs)
    plan = planning.make(options.request(tuple(map(_unmeasured, options.studies())), measured=False), machine)
    corpora = [job for job in plan.jobs if isinstance(job, PrepareCorpus)]
    if not carry_out(corpora, store, machine, quiet=json):
        return 1
    opened = {job.id: open_corpus(run.path) for job in corpora if (run := store.get(job.id)) is not None}
    found = _audit(plan, opened, show=not json)
    if json:
        print_json([_record(variants, each) for variants, audited in found for each in audited])
    checks = [(variants, check) for variants, audited in found for each in audited for check in each.checks]
    failures = [(variants, check) for variants, check in checks if check.holds is False]
    for variants, check in failures:
        place = f", first in {check.where}" if check.where else ""
        expected = f"{check.found}; expected {check.expected} ({check.test})"
        complain(f"{', '.join(variants)}: {check.figure}: {expected}{place}")
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


def _audit(plan: Plan, opened: dict[str, TokenisedCorpus], show: bool) -> list[tuple[list[str], list[Audited]]]:
    """The results for each group of variants that share their batches; equal sequences are fully drawn only once."""
    from bertlab.inputs.audit import LESS, MOST, same_batches, same_sequences
    from bertlab.inputs.audit import audit as audited
    from bertlab.lab.jobs import Pretrain
    from bertlab.progress import signals_as_flags

    shared: dict[Any, tuple[Pretrain, list[str]]] = {}
    for cell in plan.cells:
        assert isinstance(cell.pretrain, Pretrain)
        name = f"{cell.study.name}: {cell.variant}" if len(plan.request.studies) > 1 else cell.variant
        batches = same_batches(cell.pretrain.recipe), cell.pretrain.corpus.id
        shared.setdefault(batches, (cell.pretrain, []))[1].append(name)
    found = []
    traced = set()
    with signals_as_flags():
        for pretrain, variants in shared.values():
            sequences = same_sequences(pretrain.recipe), pretrain.corpus.id
            most = LESS if sequences in traced else MOST
            results = audited(pretrain.recipe, opened[pretrain.corpus.id], most=most)
            traced.add(sequences)
            found.append((variants, results))
            for each in results if show else ():
                _draw(variants, each)
    return found


def _draw(variants: list[str], audited: Audited) -> None:
    """Prints the checks of variants that share their batches."""
    epochs = f"epoch{'s' if len(audited.passes) > 1 else ''} {', '.join(map(str, audited.passes))}"
    sample = f"{audited.rows:,} sequences, {audited.tokens:,} tokens of {epochs}"
    print_table(
        ("statistic", "found", "expected", "test", ""),
        [(each.figure, each.found, each.expected, each.test, VERDICTS[each.holds]) for each in audited.checks],
        f"{', '.join(variants)}: at most {audited.length} tokens per sequence; sample: {sample}",
        left=5,
    )


def _record(variants: list[str], audited: Audited) -> dict[str, Any]:
    """The checks of variants that share their batches, as JSON."""
    holds = all(check.holds is not False for check in audited.checks)
    return {"variants": variants, "holds": holds} | dataclasses.asdict(audited)
