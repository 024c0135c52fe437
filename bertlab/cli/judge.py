"""`bertlab judge`: decides about anyone's hypotheses by the statistics of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, Names, argument, flag, option
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.hypotheses.judgement import Judgement


def judge(
    results: Path | None = argument(
        None, "RESULTS", "A .csv, .jsonl or .parquet file with the columns variant, seed and value."
    ),
    baseline: str = option("", "VARIANT", "Compare all other variants with this one."),
    claim: Names = option(None, "'A > B on M'", "A is better than B on measurement M; repeatable."),
    lower_is_better: Names = option(
        None, "MEASUREMENT", "Less of it is better; repeatable. Without a column measurement it is called value."
    ),
    max_seeds: int | None = option(
        None, "K", "The most seeds, planned before the first look, of a test with looks; with --register 12."
    ),
    ledger: Path | None = option(None, "FILE", "The ledger of a sequence of hypotheses."),
    name: str = option("", "NAME", "The hypothesis in the ledger."),
    register: bool = flag("Register the hypothesis --claim in the ledger, before its results."),
    out: Path | None = option(None, "DIR", "Write a page there, judgement.html."),
    json: bool = JSON,
) -> int:
    """Decide about hypotheses on your own numbers: keep, discard, or more seeds.

    Variants are paired by seed, and by example where there is a column example. Exits with 0 if all hypotheses are to
    be kept, with 11 if any needs more seeds, and else with 10. With --ledger, hypotheses come one after another, and at
    most 5 % of those that are kept are false, in expectation.

    Example: bertlab judge results.csv --baseline base --lower-is-better value
    """
    from bertlab.hypotheses import judgement as judgements
    from bertlab.hypotheses.decision import STATUS

    lower = lower_is_better or ()
    if register:
        if results or baseline or out or ledger is None or not name or len(claim or ()) != 1:
            raise BadInput("--register writes a hypothesis before its results: give --ledger, --name and one --claim")
        most: dict[str, Any] = {} if max_seeds is None else {"max_seeds": max_seeds}
        entry = judgements.register(ledger, name, *(claim or ()), lower_is_better=lower, **most)
        say(f"{ledger}: registered {name}, {entry['max_seeds']} seeds at most, one-sided level {entry['level']:.2g}")
        if json:
            print_json(entry)
        return 0
    if results is None:
        raise BadInput("judge needs RESULTS: give a table of values, or --register")
    options: dict[str, Any] = {"lower_is_better": lower, "max_seeds": max_seeds, "ledger": ledger, "name": name}
    judgement = judgements.judge(results, baseline=baseline, claims=claim or (), out=out, **options)
    _show(judgement)
    if json:
        lines = judgement.decisions.astype(object)
        hypotheses = lines.where(lines.notna(), None).to_dict("records")
        print_json({"decision": judgement.decision, "hypotheses": hypotheses, "notes": judgement.notes})
    return STATUS[judgement.decision]


def _show(judgement: Judgement) -> None:
    """Prints the tables of a study and the decisions."""
    from bertlab.cli.results import print_results

    print_results(judgement.studies, differences=True)
    for line in (*judgement.notes, "", *(one.sentence for one in judgement.judged)):
        say(line)
