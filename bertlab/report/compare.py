"""What changed between two stores, study by study: a page, a tidy table, and a few lines for the console.

Studies are set beside each other by scale and text, and of several settings those that share most runs. Neither store
is written to.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.errors import BadInput, Unwritable
from bertlab.names import plain
from bertlab.report import escape
from bertlab.report.changes import END, Change, changes, same_runs
from bertlab.report.evidence import Evidence
from bertlab.report.gather import gather_all
from bertlab.report.statistics.effects import FLOOR
from bertlab.report.tables import EMPTY, Table
from bertlab.store import files
from bertlab.store.runs import Store

COLUMNS = (
    "study",
    "scale",
    "corpus",
    "setting",
    "change",
    "variant",
    "measurement",
    "milestone",
    "field",
    "old",
    "new",
    "difference",
    "low",
    "high",
    "n_old",
    "n_new",
    "note",
)
"""The columns of `compare.csv`, one line a change: part of the interface."""

LONGEST = 40
"""Characters of a value that a page shows; the CSV has all of them."""


@dataclass(frozen=True)
class Compared:
    """A study at one scale on one corpus, in two stores."""

    old: Evidence | None
    new: Evidence | None
    """At least one of the two is there."""
    changes: tuple[Change, ...]
    """Empty where one of the two is missing."""

    @property
    def evidence(self) -> Evidence:
        """The new one, or the old one where there is none."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def title(self) -> str:
        """Study, scale and text."""
        return f"{self.evidence.study}: scale {self.evidence.scale} {self.evidence.ground}"

    @property
    def same(self) -> bool:
        """Whether both have it and nothing has changed."""
        return self.old is not None and self.new is not None and not self.changes

    @property
    def summary(self) -> str:
        """What came of it, in one line."""
        if self.old is None or self.new is None:
            return f"Only in the {'new' if self.old is None else 'old'} store."
        if self.same:
            return "Nothing has changed: the same runs."
        measured = {cell.run_id for cell in self.new.cells if cell.value is not None}
        if not measured:
            return "No measurement is finished in the new store."
        return f"{len(same_runs(self.old, self.new))} of {len(measured)} measurements are the same runs."

    def of(self, *kinds: str) -> list[Change]:
        """The changes of some kinds."""
        return [each for each in self.changes if each.kind in kinds]


def compare(studies: Sequence[str], runs: Path | Store, old: Path) -> list[Compared]:
    """The studies (all if none is named) of the store `runs` beside those of the store `old`.

    Raises `BadInput` if nothing is finished in `old`.
    """
    if not old.is_dir():
        raise BadInput(f"there is no store '{old}': give --compare the --runs directory of an earlier report")
    stores = (Store(root, lenient=True) if isinstance(root, Path) else root for root in (old, runs))
    before, after = (gather_all(store) for store in stores)
    if not any(each.started for each in before):
        raise BadInput(f"nothing is finished in '{old}': give --compare a store of which there is something to report")
    return [
        Compared(one, two, tuple(changes(one, two)) if one and two else ())
        for one, two in pairs(before, after)
        if not studies or any(each is not None and each.study in studies for each in (one, two))
    ]


def pairs(old: Sequence[Evidence], new: Sequence[Evidence]) -> list[tuple[Evidence | None, Evidence | None]]:
    """Each new section with the old one of the same study, scale and text, if there is one; then what is old alone.

    Where several are alike in that, those that share most runs go together, and then the first with the first.
    """
    alike = [
        (-len(_ids(one) & _ids(two)), place, number)
        for place, two in enumerate(new)
        for number, one in enumerate(old)
        if _place(one) == _place(two)
    ]
    chosen: dict[int, int] = {}
    for _, place, number in sorted(alike):
        if place not in chosen and number not in chosen.values():
            chosen[place] = number
    found: list[tuple[Evidence | None, Evidence | None]] = [
        (old[chosen[place]] if place in chosen else None, each) for place, each in enumerate(new)
    ]
    return found + [(each, None) for number, each in enumerate(old) if number not in chosen.values()]


def _place(evidence: Evidence) -> tuple[str, ...]:
    return evidence.study, evidence.scale, evidence.pretrained, *evidence.corpus


def _ids(evidence: Evidence) -> set[str]:
    return {each.id for each in evidence.pretrainings} | {cell.run_id for cell in evidence.cells}


def write(compared: Sequence[Compared], runs: Path, old: Path, out: Path) -> list[Path]:
    """Writes `compare.md` and `compare.csv` into `out` and returns their paths."""
    page, table = out / "compare.md", out / "compare.csv"
    try:
        out.mkdir(parents=True, exist_ok=True)
        files.write(table, tidy(compared))
        files.write(page, markdown(compared, runs, old))
    except OSError as error:
        raise Unwritable(out, error) from error
    return [page, table]


def markdown(compared: Sequence[Compared], runs: Path, old: Path) -> str:
    """The page."""
    lines = [
        "# What changed",
        f"From {escape.markdown(f'{old}')} to {escape.markdown(f'{runs}')}; one line a change in "
        "[compare.csv](compare.csv).",
    ]
    for each in compared:
        lines += [f"## {escape.paragraph(each.title)}", escape.paragraph(each.summary)]
        for heading, table, legend in _tables(each):
            if table.rows:
                lines += [f"### {heading}", table.markdown(), *([legend] if legend else [])]
    return "\n\n".join(lines) + "\n"


def _tables(each: Compared) -> list[tuple[str, Table, str]]:
    """What a section shows: heading, table and how it is to be read."""
    return [
        ("Means that moved", means(each), MEANS),
        ("Verdicts", _verdicts(each), ""),
        ("Rows and measurements", _came_and_went(each), ""),
        ("Runs", _runs(each), ""),
        ("Science", _science(each), SCIENCE if any(change.field == "id" for change in each.of("science")) else ""),
        ("Machine and versions", _numerics(each), ""),
    ]


MEANS = (
    f"Means over seeds; n counts seeds, old and new. A 95 % interval of the difference takes {FLOOR} seeds in each "
    "and no run in common: paired by seed and example where the seeds are the same, otherwise Welch's. None is "
    "corrected for how many there are."
)
SCIENCE = (
    "An id that stands alone says that a run is not finished, or that the code gives the same fields another meaning."
)


def means(each: Compared, *, brief: bool = False) -> Table:
    """The means that moved, and how far; `brief` for a console: at the end of the pre-training, without the reason."""
    columns = ("row", "on", "old", "new", "new minus old", "95 % interval", "n", "what they are of")
    found = [change for change in each.of("mean") if not brief or change.milestone == END]
    rows = tuple(
        (
            change.variant,
            _on(change),
            _number(change.old),
            _number(change.new),
            _signed(change.difference),
            EMPTY if change.interval is None else f"{change.interval.low:+.2f} to {change.interval.high:+.2f}",
            _counts(change),
            change.note,
        )
        for change in found
    )
    return Table(columns[:-1], tuple(row[:-1] for row in rows)) if brief else Table(columns, rows)


def counts(each: Compared) -> str:
    """How much has changed, in one line; empty if nothing has."""
    named = (
        (len(each.of("mean")), "mean", "means"),
        (len(each.of("row")), "row", "rows"),
        (len(each.of("measurement")), "measurement", "measurements"),
        (sum(change.n_new or 0 for change in each.of("runs")), "run", "runs"),
        (len(each.of("verdict")), "verdict", "verdicts"),
        (len({change.field for change in each.of("setting", "science")}), "field", "fields"),
        (len(each.of("numerics")), "fact of the machine", "facts of the machine"),
    )
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in named if count)


def _verdicts(each: Compared) -> Table:
    rows = (
        (change.field, change.measurement, _said(change.old), _said(change.new), _counts(change), change.note)
        for change in each.of("verdict")
    )
    return Table(("claim", "on", "old", "new", "n", "measured"), tuple(rows))


def _came_and_went(each: Compared) -> Table:
    rows = (
        (change.variant or change.measurement, change.kind, "came" if change.old is None else "went")
        for change in each.of("row", "measurement")
    )
    return Table(("name", "what", "change"), tuple(rows))


def _runs(each: Compared) -> Table:
    """Rows that have fared alike stand together, and then columns."""
    rows: dict[tuple[str, str, str, str], list[Change]] = {}
    for change in each.of("runs"):
        rows.setdefault((change.measurement, _said(change.old), _said(change.new), change.note), []).append(change)
    columns: dict[tuple[str, str, str, str], list[Change]] = {}
    for (_, old, new, note), found in rows.items():
        columns.setdefault((_rows(each, found), old, new, note), []).extend(found)
    return Table(
        ("rows", "on", "old", "new", "runs", "of"),
        tuple(
            (variants, _on_all(found), old, new, str(sum(change.n_new or 0 for change in found)), note)
            for (variants, old, new, note), found in columns.items()
        ),
    )


def _science(each: Compared) -> Table:
    """Rows and columns that differ alike stand together."""
    alike: dict[tuple[str, str, str], list[Change]] = {}
    for change in each.of("setting", "science"):
        alike.setdefault((change.field, _said(change.old), _said(change.new)), []).append(change)
    rows = ((*key, _on_all(found), _rows(each, found)) for key, found in alike.items())
    return Table(("field", "old", "new", "of", "rows"), tuple(rows))


def _numerics(each: Compared) -> Table:
    rows = ((change.field, _said(change.old), _said(change.new)) for change in each.of("numerics"))
    return Table(("what", "old", "new"), tuple(rows))


def tidy(compared: Iterable[Compared]) -> str:
    """All changes as CSV, numbers in full; text that a spreadsheet would take for a formula is escaped."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in compared:
        found = each.evidence
        place = (found.study, found.scale, " and ".join(found.corpus) or found.pretrained, found.key)
        if each.old is None or each.new is None:
            here = ("", "here") if each.old is None else ("here", "")
            writer.writerow([*map(escape.csv, place), "study", *[""] * 4, *here, *[""] * 6])
        for change in each.changes:
            ends = (change.interval.low, change.interval.high) if change.interval else ("", "")
            line = (
                *place,
                change.kind,
                change.variant,
                change.measurement,
                change.milestone,
                change.field,
                change.old,
                change.new,
                change.difference,
                *ends,
                change.n_old,
                change.n_new,
                change.note,
            )
            writer.writerow(["" if value is None else _field(value) for value in line])
    return text.getvalue()


def _field(value: str | float) -> str | float:
    return escape.csv(value) if isinstance(value, str) else value


def _on(change: Change) -> str:
    """The measurement, with the milestone if it is on the way."""
    return change.measurement if change.milestone in (None, END) else f"{change.measurement} at {change.milestone} %"


def _number(value: str | float | None) -> str:
    return f"{value:.2f}" if isinstance(value, float) else EMPTY


def _signed(value: float | None) -> str:
    return EMPTY if value is None else f"{value:+.2f}"


def _counts(change: Change) -> str:
    return " → ".join("-" if n is None else str(n) for n in (change.n_old, change.n_new))


def _said(value: str | float | None) -> str:
    """A value as a page shows it."""
    line = "-" if value is None else plain(str(value))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _rows(each: Compared, found: Sequence[Change]) -> str:
    """The rows of some changes, in one word if they are all that there are."""
    variants = [name for name in dict.fromkeys(change.variant for change in found) if name]
    every = len(variants) > 1 and set(variants) >= set(each.evidence.variants)
    return "all rows" if every else ", ".join(variants)


def _on_all(found: Sequence[Change]) -> str:
    return ", ".join(name for name in dict.fromkeys(change.measurement for change in found) if name)
