"""The results of a study in trackers: a page in the study's group, with its values and verdicts."""

from collections import Counter
from typing import TYPE_CHECKING

from bertlab import trackers
from bertlab.machine import Machine
from bertlab.names import plain_data
from bertlab.report.pairs import SECTION
from bertlab.report.study_results import StudyResults
from bertlab.store.runs import Store
from bertlab.trackers.base import Page

if TYPE_CHECKING:
    import pandas

KIND = "results"


def track(study: StudyResults, store: Store, machine: Machine) -> None:
    """Logs the results of a study to the trackers of `machine`; the same page again when there are more.

    Tables: `values`, a line for each variant and measurement, and `claims`. Figures: the mean of each variant on each
    measurement, and how many claims have each verdict. Raises `BadInput` if a tracker cannot be opened.
    """
    if not machine.loggers:
        return
    from bertlab.report import tidy

    values, claims = tidy.summary([study]), tidy.claims([study])
    means = values.dropna(subset="mean")
    figures = {
        f"mean/{measurement}: {variant}": float(mean)
        for variant, measurement, mean in zip(means["variant"], means["measurement"], means["mean"], strict=True)
    }
    figures |= {f"claims/{verdict}": number for verdict, number in Counter(claims["verdict"]).items()}
    names = ("study", "scale", "question", "source", "corpus", "baseline")
    page = Page(
        id=study.key,
        name=f"{study.name} at {study.scale}",
        group=study.name,
        kind=KIND,
        folder=store.logs(study.name, KIND, study.key, study.scale),
        fields=plain_data({name: getattr(study.record, name) for name in names} | {"command": study.command}),
    )
    measured = len(study.cells) - len(study.unfinished)
    with trackers.opened(machine.loggers, page) as opened:
        for tracker in opened.values():
            tracker.finish(figures, measured, {"values": _shown(values), "claims": _shown(claims)})


def _shown(table: "pandas.DataFrame") -> "pandas.DataFrame":
    """A table without empty columns and those that are the same in all lines; missing values as None, no decimals."""
    from bertlab.report import tidy

    filled = tidy.typed(table.drop(columns=SECTION).dropna(axis="columns", how="all")).astype(object)
    return filled.where(filled.notna(), None)
