"""What `ablate` and `report` print of results, and the verdicts that end them with status 1 (`--fail-on`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from bertlab.cli import complete
from bertlab.cli.console import complain, console, say
from bertlab.cli.options import option
from bertlab.cli.table import print_table
from bertlab.errors import unknown
from bertlab.wording import count

if TYPE_CHECKING:
    from bertlab.report.evidence import Evidence

OUTCOMES = ("reproduced", "contradicted", "undecided", "not measured")
DECIDED = OUTCOMES[:2]
MOST_CLAIMS = 6
"""Claims whose verdicts a terminal shows, decided or not."""
FAIL_ON = option(
    None,
    "--fail-on",
    "contradicted|undecided|not measured",
    "Exit with 1 if a claim has this verdict by the paper's metric; repeatable.",
    autocompletion=complete.choices("contradicted", "undecided", "not measured"),
)


def check_fail_on(outcomes: Collection[str] | None) -> None:
    """Raises `BadInput` for a verdict that `--fail-on` does not know."""
    for name in outcomes or ():
        if name not in OUTCOMES[1:]:
            raise unknown("verdict in --fail-on", name, OUTCOMES[1:])


def failing(evidences: Sequence[Evidence], outcomes: Collection[str] | None) -> bool:
    """Whether a claim has one of these verdicts; names each such claim on standard error."""
    from bertlab.report import findings

    found = False
    for evidence in evidences if outcomes else ():
        for each in findings.findings(evidence):
            if outcomes and each.outcome in outcomes:
                found = True
                measured = f": {each.pair} {each.measured}" if each.effect else ""
                where = f"{evidence.study}, scale {evidence.place}"
                complain(f"{each.outcome}: {each.claim} ({where}; on {each.on}){measured}")
    return found


def results_data(evidences: Sequence[Evidence]) -> dict[str, Any]:
    """The results as JSON: a line for each variant and measurement and for each claim, as in the CSV files.

    `text` has the facts of the texts (`text.facts`).
    """
    from bertlab.report import tidy
    from bertlab.text import facts

    tables = {"results": tidy.summary(evidences), "findings": tidy.claims(evidences)}
    texts = [each.result.text for evidence in evidences for each in evidence.pretrainings]
    found = {name: each.where(each.notna(), None).to_dict("records") for name, each in tables.items()}
    return {**found, "text": facts.merged(filter(None, texts))}


def print_results(evidences: Sequence[Evidence], *, differences: bool = False) -> None:
    """Prints the tables of one study, with `differences` that of differences to the baseline too.

    Of several studies, prints the number of claims with each verdict; of studies at scale smoke, what shows that they
    work.
    """
    from bertlab.report import findings, validity
    from bertlab.report.pages import notes

    if validity.tests_the_program(evidences):
        for evidence in evidences:
            print_trial(evidence)
        say("Scale smoke tests the program: its models learn nothing in pre-training, and nothing is compared.")
        return
    for line in notes("banner", evidences):
        say(f"Warning: {line}")
    if len({each.study for each in evidences}) <= 1:
        for evidence in evidences:
            print_result(evidence, differences=differences)
        return
    rows = []
    for evidence in evidences:
        counts = Counter(each.outcome for each in findings.findings(evidence))
        rows.append((evidence.study, evidence.place, *(str(counts[name] or "") for name in OUTCOMES)))
    print_table(("study", "scale", *OUTCOMES), rows, "Claims by verdict", left=2)


def print_trial(evidence: Evidence) -> None:
    """Prints how many runs of a study at scale smoke finished, and the values of each task beside its floors.

    A task whose data were read wrong has its floors, and models that learn it, at the level of a guess.
    """
    from bertlab.report.cells import FLOORS, LEXICAL

    runs = {each.id: each.finished for each in evidence.pretrainings}
    runs |= {each.run_id: each.value is not None for each in evidence.cells if not each.of_pretraining}
    works = " works" if all(runs.values()) else ""
    say(f"{evidence.study}{works}: {sum(runs.values())} of {count(len(runs), 'run')} finished, scale {evidence.place}")
    tasks = [name for name in evidence.measurements if evidence.floors(name)]
    floors = [floor for floor in FLOORS if any(floor in evidence.floors(name) for name in tasks)]
    rows = []
    for name in tasks:
        summaries = [evidence.summary(variant, name) for variant in evidence.variants]
        means = sorted(summary.mean for summary in summaries if summary)
        values = dict.fromkeys(f"{mean:.1f}" for mean in (*means[:1], *means[-1:]))
        points = evidence.floors(name)
        rows.append((name, " to ".join(values), *(f"{points[at]:.1f}" if at in points else "" for at in floors)))
    if rows:
        print_table(("task", "models", *("linear model of words" if at == LEXICAL else at for at in floors)), rows)


def print_result(evidence: Evidence, *, differences: bool = False) -> None:
    """Prints the means of a study beside the published values, the verdicts on its claims, and what the numbers are.

    With `differences`, and for a study without claims, prints the differences to the baseline too. On a terminal, where
    this would fill screens, it leaves them out beside claims, and of more than `MOST_CLAIMS` it prints those with a
    verdict; with `differences` it then leaves out the details of verdicts too, which the pages of `report` have.
    """
    from bertlab.report import findings, tables
    from bertlab.report.pages import notes

    title = f"{evidence.study}: scale {evidence.place}"
    results = tables.results(evidence, short=True)
    print_table(results.columns, results.rows, title, beside=("paper",))
    terminal, found = console().is_terminal, findings.findings(evidence)
    wanted = not found or (differences and not terminal)
    if wanted and (compared := tables.differences(evidence, short=True)).rows:
        say("")
        print_table(compared.columns, compared.rows, beside=("paper",))
    brief = terminal and len(found) > MOST_CLAIMS
    shown = [each for each in found if not brief or each.outcome in DECIDED]
    if found:
        say("")
    if shown:
        claims = findings.brief(shown, details=not (differences and terminal))
        print_table(claims.columns, claims.rows, left=2)
    if left_out := Counter(each.outcome for each in found if brief and each.outcome not in DECIDED):
        named = " and ".join(f"{count(number, 'claim')} {outcome}" for outcome, number in left_out.items())
        say(f"{named}: the page that `bertlab report` writes says what would decide them.")
    measured = [cell for cell in evidence.cells if cell.value is not None]
    what = "Points" if all(cell.in_points for cell in evidence.cells) else "Values"
    what += " on one checkpoint" if evidence.pretrained else ""
    centre = "median" if evidence.medians else "mean"
    if evidence.spread_of_seeds:
        pairs = ", of a claim's pair above 0 as claimed" if any(each.effect for each in found) else ""
        say(f"{what}: {centre} (sd), {tables.seeds(evidence)}; differences ± half of a 95 % CI{pairs}.")
    else:
        tuned = len({cell.finetune_seed for cell in measured}) > 1
        once = "" if all(cell.of_pretraining for cell in measured) else ", each of one fine-tuning seed"
        of = f": {centre} (sd over fine-tuning seeds)" if tuned else once
        numbers = f"{what}{of}. " if what + of != "Values" else ""
        say(f"{numbers}One {evidence.unit} has no interval and decides nothing.")
    if direction := tables.direction(evidence):
        say(direction)
    if any(cell.status == "collapsed" and cell.value is not None for cell in evidence.cells):
        say("Collapsed runs predict one answer for all examples.")
    for warning in notes("alarm", evidence):
        say(f"Warning: {warning}")
