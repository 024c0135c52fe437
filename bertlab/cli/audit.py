"""`bertlab audit`: tests what the batches of every variant of a study contain, before any training."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import complain, console, print_json, say
from bertlab.cli.options import JSON, AuditOptions
from bertlab.cli.table import print_table
from bertlab.names import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bertlab.audit import Audited
    from bertlab.inputs.checks import Check
    from bertlab.lab.plan import Plan
    from bertlab.lab.study import Study
    from bertlab.recipe import Recipe
    from bertlab.store.runs import Store
    from bertlab.text.tokens import TokenisedCorpus

VERDICTS = {True: "holds", False: "FAILS", None: "not tested"}


def audit(options: AuditOptions, json: bool = JSON) -> int:
    """Test what the batches of every variant contain.

    Draws a sample of batches and tests fractions of masked tokens, sentence pairs, lengths, masks and lost tokens.
    Exits with 1 if a check fails.

    Example: bertlab audit masking --only 80/10/10
    """
    from bertlab import audit as auditing
    from bertlab.cli.jobs import print_texts, run_jobs, unfinished
    from bertlab.lab import plan as planning
    from bertlab.lab import scales, studies, texts
    from bertlab.lab.jobs.lists import check_components
    from bertlab.machine import Machine
    from bertlab.store.runs import Store

    scales.recipe_only(options.set_ or ())
    machine, store = Machine(runs=options.runs, data=options.data), Store(options.runs)
    chosen = tuple(map(_without_measurements, studies.chosen(options.study)))
    plan = planning.make(options.request(chosen, measured=False), machine)
    corpora = [job for job in plan.jobs if job.preparation]
    if not run_jobs(corpora, store, machine):
        if json:
            print_json(unfinished(corpora, store))
        return 1
    check_components(plan.jobs, store, machine)
    print_texts(*texts.describe_planned(corpora, store))
    records: list[dict[str, Any]] = []
    checks: list[tuple[str, Check]] = []
    for recipe, corpus, variants in _same_batches(plan, store):
        names = ", ".join(variants)
        with console().status(f"auditing {plain(names)}"):
            audits = auditing.audit(recipe, corpus)
        for audited in audits:
            holds = all(check.holds is not False for check in audited.checks)
            records.append({"variants": variants, "holds": holds} | dataclasses.asdict(audited))
            checks += [(names, check) for check in audited.checks]
            _print_audit(audited, names)
    if json:
        print_json(records)
    return 1 if _print_failures(checks) else 0


def _without_measurements(study: Study) -> Study:
    """A study of which only the pre-training of its variants is left."""
    from bertlab.lab.study import Measurement

    bare = [dataclasses.replace(variant, adaptation=None, ensemble=None) for variant in study.variants]
    loss = [Measurement("loss", metric="perplexity")]
    return dataclasses.replace(study, variants=bare, measurements=loss, averages=[], published={}, claims=[], unlike=[])


def _same_batches(plan: Plan, store: Store) -> list[tuple[Recipe, TokenisedCorpus, list[str]]]:
    """The recipes of a plan with different batches, each with its corpus and the names of the variants that have it."""
    from bertlab import audit as auditing
    from bertlab.lab.jobs.pretraining import opened_corpus

    opened: dict[Any, TokenisedCorpus] = {}
    batches: dict[Any, tuple[Recipe, TokenisedCorpus, list[str]]] = {}
    for cell in plan.cells:
        recipe, corpus_id = cell.pretraining.read_recipe(), cell.pretraining.needs[0].id
        read = corpus_id, cell.pretraining.mixed
        if read not in opened:
            opened[read] = opened_corpus(recipe, store.wait_for(corpus_id).path, read[1], check=True)
        name = cell.variant if len(plan.request.studies) == 1 else f"{cell.study.name}: {cell.variant}"
        key = auditing.same_batches(recipe), corpus_id
        batches.setdefault(key, (recipe, opened[read], []))[2].append(name)
    return [*batches.values()]


def _print_audit(audited: Audited, names: str) -> None:
    title = f"{names}: at most {audited.length} tokens per sequence; sample: {audited.sample}"
    rows = [(it.figure, it.found, it.expected, it.test, VERDICTS[it.holds]) for it in audited.checks]
    print_table(("statistic", "found", "expected", "test", ""), rows, title, left=5)
    say("")


def _print_failures(checks: Sequence[tuple[str, Check]]) -> int:
    """Prints the checks that fail, each with the names of its variants, and how many do not; returns how many fail."""
    failures = [(names, check) for names, check in checks if check.holds is False]
    for names, check in failures:
        first = f", first in {check.where}" if check.where else ""
        complain(f"{names}: {check.figure}: {check.found}; expected {check.expected} ({check.test}){first}")
    untested = sum(check.holds is None for _, check in checks)
    held = len(checks) - len(failures) - untested
    say(f"{held} checks hold, {len(failures)} fail, {untested} lack data for a test")
    return len(failures)
