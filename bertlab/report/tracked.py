"""The results of a study in trackers: a page in the study's group, with its values and verdicts."""

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bertlab import trackers
from bertlab.machine import Machine
from bertlab.names import plain_data
from bertlab.report.evidence import Evidence
from bertlab.store.runs import Store
from bertlab.trackers.base import Page

if TYPE_CHECKING:
    import pandas

KIND = "results"


def track(evidence: Evidence, store: Store, machine: Machine) -> None:
    """Logs the results of a study to the trackers of `machine`; the same page again when there are more.

    Tables: `values`, a line for each variant and measurement, and `claims`. Figures: the mean of each variant on each
    measurement, and how many claims have each verdict. Raises `BadInput` if a tracker cannot be opened.
    """
    if not machine.loggers:
        return
    from bertlab.report import tidy

    values, claims = tidy.summary([evidence]), tidy.claims([evidence])
    means = values.dropna(subset="mean")
    figures = {
        f"mean/{measurement}: {variant}": float(mean)
        for variant, measurement, mean in zip(means["variant"], means["measurement"], means["mean"], strict=True)
    }
    figures |= {f"claims/{verdict}": number for verdict, number in Counter(claims["verdict"]).items()}
    names = ("study", "scale", "question", "source", "corpus", "command", "baseline")
    page = Page(
        id=evidence.key,
        name=f"{evidence.study} at {evidence.scale}",
        group=evidence.study,
        kind=KIND,
        folder=store.logs(evidence.study, KIND, evidence.key, evidence.scale),
        fields=plain_data({name: getattr(evidence, name) for name in names}),
    )
    measured = sum(cell.value is not None for cell in evidence.cells)
    with trackers.opened(machine.loggers, page) as found:
        for tracker in found.values():
            tracker.finish(figures, measured, {"values": _shown(values), "claims": _shown(claims)})


def _shown(table: "pandas.DataFrame") -> "pandas.DataFrame":
    """A table without empty columns and those that are the same in all lines; missing values as None, no decimals."""
    import pandas

    from bertlab.report import tidy

    kept = table.drop(columns=list(tidy.PLACE)).dropna(axis="columns", how="all")
    cells = {name: [_plain(each) for each in column] for name, column in kept.items()}
    return pandas.DataFrame(cells, dtype=object)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return None if value != value else value
