"""Prints the results of studies, at the end of `ablate` and `report`."""

from bertlab.cli.console import print_table, say
from bertlab.report import findings, tables
from bertlab.report.evidence import Evidence


def print_result(evidence: Evidence) -> None:
    """Prints the means of a study beside the published values, differences to the baseline, and verdicts."""
    title = f"{evidence.study}: scale {evidence.scale} {evidence.setting}"
    results = tables.results(evidence, short=True)
    print_table(results.columns, results.rows, title)
    for table in (tables.differences(evidence, short=True), findings.brief(findings.findings(evidence))):
        if table.rows:
            print_table(table.columns, table.rows)
    seeds = len({each.seed for each in evidence.pretrainings})
    if evidence.imported:
        number = len({cell.finetune_seed for cell in evidence.cells})
        say(f"Points: mean (sd), n = {number} fine-tuning seeds on one checkpoint; differences ± half of a 95 % CI.")
    elif seeds > 1:
        say(f"Points: mean (sd), n = {seeds} seeds; differences ± half of a 95 % CI.")
    else:
        say("Points: mean (sd over fine-tuning seeds); one pre-training seed gives no interval and decides nothing.")
