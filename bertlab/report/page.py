"""`bertlab report`: writes pages, tables and figures of the finished runs of a store.

A report reads records and finished runs alone and contains no date: the same store gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from bertlab.errors import BadInput, Unwritable, unknown
from bertlab.report import tidy
from bertlab.report.compare import Changes, compare
from bertlab.report.evidence import Evidence
from bertlab.report.gather import gather_all
from bertlab.report.pages import html, latex, markdown
from bertlab.report.section import Chapter, chapter
from bertlab.store import files
from bertlab.store.faults import point
from bertlab.store.runs import Store

FORMATS = ("md", "html", "latex")
DEFAULT = ("md", "html")


@dataclass(frozen=True)
class Report:
    """What was written."""

    pages: list[Path]
    """Fronts first."""
    evidence: list[Evidence]
    changes: Changes | None
    """Since an older store, if one was named."""


def write(
    studies: Sequence[str],
    runs: Path | Store,
    out: Path,
    formats: Collection[str] = DEFAULT,
    since: Path | None = None,
) -> Report:
    """Writes `studies` (all if none is named) from the store `runs` into `out`: CSV files, figures, and pages.

    With an older store `since`, the index pages say what changed, and `compare.csv` has each value that did. Raises
    `BadInput` for a study without a record, a store in which nothing is finished, an unknown format, and a folder that
    cannot be written.
    """
    for name in formats:
        if name not in FORMATS:
            raise unknown("format", name, FORMATS)
    store = Store(runs, lenient=True) if isinstance(runs, Path) else runs
    everything = gather_all(store)
    known = list(dict.fromkeys(each.study for each in everything))
    if not any(each.started for each in everything):
        raise BadInput(f"nothing is finished in '{store.root}': run `bertlab ablate` first, or give --runs")
    for name in studies:
        if name not in known:
            raise unknown("study", name, known)
    chosen = [each for each in everything if each.study in studies or not studies]
    if not any(each.started for each in chosen):
        names = ", ".join(f"'{each}'" for each in studies)
        raise BadInput(f"nothing of {names} is finished in '{store.root}': run `bertlab ablate` first")
    changes = None if since is None else compare(_older(since, studies), chosen, str(since))
    point("report.begin")
    try:
        out.mkdir(parents=True, exist_ok=True)
        chapters, pages = [], []
        for _, sections in groupby(everything, key=lambda each: each.study):
            evidences = list(sections)
            chapters.append(chapter(evidences, written=evidences[0].study in studies or not studies))
            if chapters[-1].written:
                _write_data(chapters[-1], evidences, out)
                pages += _write_pages(chapters[-1], out, formats)
        if changes:
            files.write(out / "compare.csv", tidy.csv(changes.values))
        return Report([*_write_fronts(chapters, out, formats, changes), *pages], chosen, changes)
    except OSError as error:
        raise Unwritable(out, error) from error


def _older(root: Path, studies: Sequence[str]) -> list[Evidence]:
    """What the store to compare with knows of the studies."""
    found = gather_all(Store(root, lenient=True)) if root.is_dir() else []
    if not any(each.started for each in found):
        raise BadInput(f"nothing is finished in '{root}': give --compare the --runs directory of an earlier report")
    return [each for each in found if each.study in studies or not studies]


def _write_data(chapter: Chapter, evidences: Sequence[Evidence], out: Path) -> None:
    """The figures and the CSV files of a study."""
    for section in chapter.sections:
        for picture in section.pictures:
            path = out / section.figure(picture)
            path.parent.mkdir(exist_ok=True)
            point("report.figure")
            files.write(path, picture.svg)
    point("report.table")
    files.write(out / chapter.data, tidy.csv(tidy.values(evidences)))
    files.write(out / chapter.summary, tidy.csv(tidy.summary(evidences)))
    files.write(out / chapter.verdicts, tidy.csv(tidy.claims(evidences)))


def _write_pages(chapter: Chapter, out: Path, formats: Collection[str]) -> list[Path]:
    """The pages of a study."""
    pages = []
    for name, suffix, render in (("md", "md", markdown.study), ("latex", "tex", latex.study)):
        if name in formats:
            pages.append(out / f"{chapter.stem}.{suffix}")
            point("report.page")
            files.write(pages[-1], render(chapter))
    return pages


def _write_fronts(
    chapters: Sequence[Chapter], out: Path, formats: Collection[str], changes: Changes | None
) -> list[Path]:
    """The pages of all studies of the store."""
    written = {each.stem for each in chapters if (out / f"{each.stem}.md").is_file()}
    fronts = []
    for name, file in (("html", "index.html"), ("md", "index.md")):
        if name in formats:
            fronts.append(out / file)
            point("report.index")
            text = html.page(chapters, changes) if name == "html" else markdown.index(chapters, written, changes)
            files.write(fronts[-1], text)
    return fronts
