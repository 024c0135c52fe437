"""What `ablate` and `report` print of results, and the verdicts that end them with status 1 (`--fail-on`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import complain, console, say
from bertlab.cli.options import option
from bertlab.cli.table import print_table
from bertlab.errors import unknown
from bertlab.wording import lowest_to_highest, pluralise

if TYPE_CHECKING:
    from bertlab.report.study_results import StudyResults

UNDECIDED = ("contradicted", "undecided", "not measured")
"""The verdicts of `--fail-on`."""
MOST_CLAIMS = 6
"""Claims whose verdicts a terminal shows, decided or not."""
FAIL_ON = option(
    None,
    "contradicted|undecided|not measured",
    "Exit with 1 if a claim has this verdict by the paper's metric; repeatable.",
)


def check_fail_on(outcomes: Collection[str] | None) -> None:
    """Raises `BadInput` for a verdict that `--fail-on` does not know."""
    for name in outcomes or ():
        if name not in UNDECIDED:
            raise unknown("verdict in --fail-on", name, UNDECIDED)


def failing(studies: Sequence[StudyResults], outcomes: Collection[str] | None) -> bool:
    """Whether a claim has one of these verdicts; names each such claim on standard error."""
    from bertlab.report import findings

    shown = [(study, finding) for study in (studies if outcomes else ()) for finding in findings.findings(study)]
    shown = [(study, finding) for study, finding in shown if finding.outcome in (outcomes or ())]
    for study, finding in shown:
        measured = f": {finding.pair} {finding.measured}" if finding.effect else ""
        where = f"{study.name}, scale {study.heading}"
        complain(f"{finding.outcome}: {finding.claim} ({where}; on {finding.on}){measured}")
    return bool(shown)


def results_data(studies: Sequence[StudyResults]) -> dict[str, Any]:
    """The results as JSON: a line for each variant and measurement and for each claim, as in the CSV files.

    `text` has the facts of the texts (`text.facts`).
    """
    from bertlab.report import tidy
    from bertlab.text import facts

    tables = {"results": tidy.summary(studies), "findings": tidy.claims(studies)}
    texts = [run.result.text for study in studies for run in study.pretrainings]
    lines = {name: table.where(table.notna(), None).to_dict("records") for name, table in tables.items()}
    return {**lines, "text": facts.merged(filter(None, texts))}


def print_results(studies: Sequence[StudyResults], *, differences: bool = False) -> None:
    """Prints the tables of one study, with `differences` that of differences to the baseline too.

    Of several studies, prints the number of claims with each verdict; of studies at scale smoke, what shows that they
    work.
    """
    from bertlab.report import findings, validity
    from bertlab.report.pages import notes

    if validity.tests_the_program(studies):
        for study in studies:
            print_trial(study)
        say("Scale smoke tests the program: its models learn nothing in pre-training, and nothing is compared.")
        return
    for line in notes("banner", studies):
        say(f"Warning: {line}")
    if len({study.name for study in studies}) <= 1:
        for study in studies:
            print_result(study, differences=differences)
        return
    rows = []
    for study in studies:
        counts = findings.counts(findings.findings(study))
        rows.append((study.name, study.heading, *(str(counts.get(name, "")) for name in findings.OUTCOMES)))
    print_table(("study", "scale", *findings.OUTCOMES), rows, "Claims by verdict", left=2)


def print_trial(study: StudyResults) -> None:
    """Prints how many runs of a study at scale smoke finished, and the values of each task beside its floors.

    A task whose data were read wrong has its floors, and models that learn it, at the level of a guess.
    """
    from bertlab.report.cells import FLOORS

    runs = {cell.run_id: cell.value is not None for cell in study.cells}
    runs |= {run.id: run.finished for run in study.pretrainings}
    works = " works" if all(runs.values()) else ""
    say(f"{study.name}{works}: {sum(runs.values())} of {pluralise(len(runs), 'run')} finished, scale {study.heading}")
    points = {name: floors for name in study.measurements if (floors := study.floors(name))}
    kinds = [kind for kind in FLOORS if any(kind in floors for floors in points.values())]
    rows = []
    for name, floors in points.items():
        summaries = [study.summary(variant, name) for variant in study.variants]
        values = lowest_to_highest([summary.mean for summary in summaries if summary], "{:.1f}".format)
        rows.append((name, values, *(f"{floors[kind]:.1f}" if kind in floors else "" for kind in kinds)))
    if rows:
        print_table(("task", "models", *kinds), rows)


def print_result(study: StudyResults, *, differences: bool = False) -> None:
    """Prints the means of a study beside the published values, the verdicts on its claims, and what the numbers are.

    With `differences`, and for a study without claims, prints the differences to the baseline too. On a terminal, where
    this would fill screens, it leaves them out beside claims, and of more than `MOST_CLAIMS` it prints those with a
    verdict; with `differences` it then leaves out the details of verdicts too, which the pages of `report` have.
    """
    from bertlab.report import findings, restarts, tables
    from bertlab.report.pages import notes

    results = tables.results(study, short=True)
    print_table(results.columns, results.rows, f"{study.name}: {study.title}", beside=("paper",))
    if (spread := restarts.table(study)).rows:
        say("")
        print_table(spread.columns, spread.rows, left=2)
    terminal, every = console().is_terminal, findings.findings(study)
    if not every or (differences and not terminal):
        compared = tables.differences(study, short=True)
        if compared.rows:
            say("")
            print_table(compared.columns, compared.rows, beside=("paper",))
    brief = terminal and len(every) > MOST_CLAIMS
    shown = [finding for finding in every if not brief or not finding.open]
    if every:
        say("")
    if shown:
        claims = findings.brief(shown, details=not (differences and terminal))
        print_table(claims.columns, claims.rows, left=2)
    if left_out := Counter(finding.outcome for finding in every if brief and finding.open):
        named = " and ".join(f"{pluralise(number, 'claim')} {outcome}" for outcome, number in left_out.items())
        say(f"{named}: the page that `bertlab report` writes says what would decide them.")
    for line in notes("printed", study, any(finding.effect for finding in every)):
        say(line)
    for warning in notes("alarm", study):
        say(f"Warning: {warning}")
