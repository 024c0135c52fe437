"""`bertlab audit`: draws the batches of every row of a study and proves what they contain, before anything is spent."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.cli import options
from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import complain, console, exit_codes, print_json, say

if TYPE_CHECKING:
    from bertlab.inputs.audit import Audited, Check
    from bertlab.lab.plan import Plan
    from bertlab.lab.study import Study
    from bertlab.machine import Machine
    from bertlab.store.runs import Store
    from bertlab.text.tokens import TokenisedCorpus

VERDICTS = {True: "holds", False: "FAILS", None: "not tested"}


@exit_codes
def audit(
    study: options.Studies,
    scale: options.ScaleName = "tiny",
    corpus: options.Corpora = None,
    vocab: options.Vocabulary = None,
    data: options.Data = None,
    only: options.Only = None,
    set_: options.Assignments = None,
    runs: options.Runs = Path("runs"),
    json: options.Json = False,
) -> int:
    """Draw the batches of every row and test what they contain: shares, pairs, lengths, masks, tokens lost."""
    from bertlab.lab import plan as planning
    from bertlab.lab import scales, studies, unused
    from bertlab.machine import Machine
    from bertlab.store.runs import Store

    unused.recipe_only(set_ or ())
    request = planning.Request(
        studies=tuple(_unmeasured(each) for each in studies.chosen(study)),
        scale=scales.find(scale).set(set_ or []),
        corpora=tuple(corpus or ()),
        vocabulary=vocab,
        only=tuple(only or ()),
        measured=False,
    )
    machine = Machine(runs=runs, data=data)
    plan = planning.make(request, machine)
    opened = _prepare(plan, Store(runs), machine, quiet=json)
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
        say(f"{held} figures hold, {len(failures)} fail; of {untested} too little was drawn to test them")
    return 1 if failures else 0


def _unmeasured(study: Study) -> Study:
    """The study without its tasks and ways to measure: what is left is what its rows are trained on."""
    from bertlab.lab.study import Measurement

    rows = [dataclasses.replace(row, method=None, layers=None, bilstm=False) for row in study.variants]
    loss = Measurement("loss", method="pretraining", metric="perplexity")
    return dataclasses.replace(study, variants=rows, measurements=[loss], published={}, claims=[])


def _prepare(plan: Plan, store: Store, machine: Machine, quiet: bool) -> dict[str, TokenisedCorpus] | None:
    """The corpora of a plan by their ids, prepared if the store does not have them; None if that fails."""
    from bertlab.lab.jobs import PrepareCorpus
    from bertlab.text.tokens import open_corpus

    corpora = [job for job in plan.jobs if isinstance(job, PrepareCorpus)]
    if not carry_out(corpora, store, machine, quiet=quiet):
        return None
    return {job.id: open_corpus(run.path) for job in corpora if (run := store.get(job.id)) is not None}


def _audit(plan: Plan, opened: dict[str, TokenisedCorpus], show: bool) -> list[tuple[list[str], list[Audited]]]:
    """What was found, for each set of rows that share their batches; the same sequences are drawn in full only once."""
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
        for (recipe, corpus), cells in shared.items():
            rows = [f"{cell.study.name}: {cell.variant}" if several else cell.variant for cell in cells]
            sequences = same_sequences(recipe), corpus
            results = audited(cells[0].pretrain.recipe, opened[corpus], most=LESS if sequences in traced else MOST)
            traced.add(sequences)
            found.append((rows, results))
            for each in results if show else ():
                _draw(rows, each)
    return found


def _draw(rows: list[str], audited: Audited) -> None:
    """Prints the figures of rows that share their batches."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    passes = f"pass{'es' if len(audited.passes) > 1 else ''} {', '.join(map(str, audited.passes))}"
    drawn = f"{audited.rows:,} sequences, {audited.tokens:,} tokens of {passes}"
    title = f"{', '.join(rows)}: at most {audited.length} tokens a sequence; drawn: {drawn}"
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("figure", "found", "expected", "test", ""):
        table.add_column(name, overflow="fold")
    for check in audited.checks:
        style = "bold red" if check.holds is False else ""
        texts = (check.figure, check.found, check.expected, check.test, VERDICTS[check.holds])
        table.add_row(*(Text(text, style=style) for text in texts))
    console().print(table)


def _line(rows: list[str], check: Check) -> str:
    """What is wrong, and where, in a line."""
    place = f", first in {check.where}" if check.where else ""
    return f"{', '.join(rows)}: {check.figure}: {check.found}; expected {check.expected} ({check.test}){place}"


def _record(rows: list[str], audited: Audited) -> dict[str, Any]:
    """The figures of rows that share their batches, as JSON."""
    return {"variants": rows, "holds": all(check.holds is not False for check in audited.checks)} | dataclasses.asdict(
        audited
    )
