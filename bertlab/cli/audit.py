"""`bertlab audit`: tests what the batches of every variant of a study contain, before any training."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import complain, console, print_json, say
from bertlab.cli.options import JSON, AuditOptions
from bertlab.cli.table import print_table
from bertlab.names import plain

if TYPE_CHECKING:
    from bertlab.inputs.checks import Check
    from bertlab.recipe import Recipe
    from bertlab.text.tokens import TokenisedCorpus

VERDICTS = {True: "holds", False: "FAILS", None: "not tested"}


def audit(options: AuditOptions, json: bool = JSON) -> int:
    """Test what the batches of every variant contain.

    Draws a sample of batches and tests fractions of masked tokens, sentence pairs, lengths, masks and lost tokens.
    Exits with 1 if a check fails.

    Example: bertlab audit masking --only 80/10/10
    """
    from bertlab import audit as auditing
    from bertlab.cli.carry_out import carry_out, tell, unfinished
    from bertlab.lab import plan as planning
    from bertlab.lab import scales, studies, texts
    from bertlab.lab.jobs.lists import check_components
    from bertlab.lab.study import Measurement
    from bertlab.machine import Machine
    from bertlab.store.runs import Store
    from bertlab.text.tokens import open_corpus

    scales.recipe_only(options.set_ or ())
    machine, store = Machine(runs=options.runs, data=options.data), Store(options.runs)
    chosen = []
    for study in studies.chosen(options.study):  # without measurements: only the pre-training of its variants is left
        bare = [dataclasses.replace(variant, adaptation=None) for variant in study.variants]
        loss = [Measurement("loss", metric="perplexity")]
        without = dataclasses.replace(
            study, variants=bare, measurements=loss, averages=[], published={}, claims=[], unlike=[]
        )
        chosen.append(without)
    plan = planning.make(options.request(tuple(chosen), measured=False), machine)
    corpora = [job for job in plan.jobs if job.preparation]
    if not carry_out(corpora, store, machine):
        if json:
            print_json(unfinished(corpora, store))
        return 1
    check_components(plan.jobs, store, machine)
    tell(*texts.planned(corpora, store))
    opened: dict[str, TokenisedCorpus] = {}
    same_batches: dict[Any, tuple[Recipe, TokenisedCorpus, list[str]]] = {}
    for cell in plan.cells:
        recipe, (corpus_id,) = cell.pretraining.read_recipe(), [need.id for need in cell.pretraining.needs]
        if corpus_id not in opened:
            opened[corpus_id] = open_corpus(store.wait_for(corpus_id).path, recipe.tokenizer)
        name = cell.variant if len(chosen) == 1 else f"{cell.study.name}: {cell.variant}"
        batches = auditing.same_batches(recipe), corpus_id
        same_batches.setdefault(batches, (recipe, opened[corpus_id], []))[2].append(name)
    records: list[dict[str, Any]] = []
    checks: list[tuple[list[str], Check]] = []
    for recipe, corpus, variants in same_batches.values():
        with console().status(f"auditing {plain(', '.join(variants))}"):
            audits = auditing.audit(recipe, corpus)
        for audited in audits:
            holds = all(check.holds is not False for check in audited.checks)
            records.append({"variants": variants, "holds": holds} | dataclasses.asdict(audited))
            checks += [(variants, check) for check in audited.checks]
            title = f"{', '.join(variants)}: at most {audited.length} tokens per sequence; sample: {audited.sample}"
            rows = [(it.figure, it.found, it.expected, it.test, VERDICTS[it.holds]) for it in audited.checks]
            print_table(("statistic", "found", "expected", "test", ""), rows, title, left=5)
            say("")
    failures = [(variants, check) for variants, check in checks if check.holds is False]
    if json:
        print_json(records)
    for variants, check in failures:
        first = f", first in {check.where}" if check.where else ""
        expected = f"{check.found}; expected {check.expected} ({check.test})"
        complain(f"{', '.join(variants)}: {check.figure}: {expected}{first}")
    untested = sum(check.holds is None for _, check in checks)
    held = len(checks) - len(failures) - untested
    say(f"{held} checks hold, {len(failures)} fail, {untested} lack data for a test")
    return 1 if failures else 0
