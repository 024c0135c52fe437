"""`bertlab report`: writes pages, tables and figures of the finished runs of a store.

A report reads records and finished runs only and contains no date: the same store gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from bertlab.errors import BadInput, Unwritable, unknown
from bertlab.lab import builtin_studies
from bertlab.machine import Machine
from bertlab.names import ALL
from bertlab.report.agreement import Agreement, agreement
from bertlab.report.gather import gather_all
from bertlab.report.pages import chapter, decided, notes, render, undecided
from bertlab.report.plots.agreement import figures
from bertlab.report.study_results import StudyResults
from bertlab.store import writes
from bertlab.store.runs import Store

if TYPE_CHECKING:
    from bertlab.report.compare import Changes

FORMATS = {"md": "md", "html": "html", "latex": "tex"}
"""The suffix of the files of each format, by its name."""
DEFAULT = ("md", "html")
PAGES = {"study": ("md", "tex"), "agreement": ("html", "md", "tex"), "index": ("html", "md")}
"""The formats of each page."""


@dataclass(frozen=True)
class Report:
    """A written report."""

    pages: list[Path]
    """The index pages first."""
    tables: list[Path]
    """The CSV files."""
    studies: list[StudyResults]
    agreement: Agreement
    """The measured and the published signs of these studies; the page is of all studies of the store."""
    changes: Changes | None
    """The changes since an older store, if one is given."""


def write(
    names: Sequence[str],
    runs: Path | Store,
    out: Path,
    formats: Collection[str] = DEFAULT,
    since: Path | None = None,
    data: Path | None = None,
) -> Report:
    """Writes the studies `names`, or all, from the store `runs` into `out`: CSV files, figures, and pages.

    `data` has local copies of tasks: examples on which variants disagree are shown with their texts from there.

    The pages `index` and `agreement` are of all studies of the store; there is no page `agreement` without a pair of
    variants with a published difference.
    With an older store `since`, the index pages list what changed, and `compare.csv` has each changed value. Raises
    `BadInput` for a study without a record, a store in which nothing is finished, an unknown format, and a directory
    that cannot be written.
    """
    for name in formats:
        if name not in FORMATS:
            raise unknown("format", name, list(FORMATS))
    if ALL in names:
        names = ()
    store = Store(runs, lenient=True) if isinstance(runs, Path) else runs
    everything = gather_all(store, None if data is None else Machine(data=data))
    chosen = finished(everything, names, store)
    written = {study.name for study in chosen}
    changes = None if since is None else _changes(since, chosen, written if names else None)
    agreed = agreement(everything)
    try:
        writes.folder(out)
        paths = []
        for name, content in _files(everything, written, out, {FORMATS[name] for name in formats}, agreed, changes):
            writes.folder(out, str(PurePath(name).parent))
            writes.write(out, name, content)
            paths.append(out / name)
    except OSError as error:
        raise Unwritable(out, error) from error
    pages = [path for path in paths if path.suffix in (".md", ".html", ".tex")]
    tables = [path for path in paths if path.suffix == ".csv"]
    of_chosen = agreed
    if len(chosen) < len(everything):
        of_chosen = Agreement(agreed.comparisons[agreed.comparisons["study"].isin(written)])
    return Report(sorted(pages, key=lambda path: path.stem != "index"), tables, chosen, of_chosen, changes)


def finished(everything: Sequence[StudyResults], names: Collection[str], store: Store) -> list[StudyResults]:
    """The studies of a store with these names, or all.

    Raises `BadInput` for an unknown name, and where nothing is finished.
    """
    present = dict.fromkeys(study.name for study in everything)
    for name in names:
        if everything and name not in present:
            if name in builtin_studies.names():
                raise BadInput(f"nothing of {name} is finished in '{store.root}', which has {', '.join(present)}")
            raise unknown("study", name, present)
    chosen = [study for study in everything if study.name in names or not names]
    if not any(study.started for study in chosen):
        what = f" of {', '.join(names)}" if names else ""
        raise BadInput(f"nothing{what} is finished in '{store.root}': run `bertlab ablate` first, or give --runs")
    return chosen


def _changes(since: Path, chosen: Sequence[StudyResults], names: Collection[str] | None) -> Changes:
    """What changed since an older store in the studies with these names, or in all. Raises `BadInput` if nothing is
    finished there."""
    from bertlab.report.compare import compare

    older = gather_all(Store(since, lenient=True)) if since.is_dir() else []
    if not any(study.started for study in older):
        raise BadInput(f"nothing is finished in '{since}': give --compare the --runs of an earlier report")
    return compare([study for study in older if names is None or study.name in names], chosen, str(since))


def _files(
    everything: Sequence[StudyResults],
    names: Collection[str],
    out: Path,
    suffixes: Collection[str],
    agreed: Agreement,
    changes: Changes | None,
) -> Iterator[tuple[str, str | bytes]]:
    """Names and contents: the figures, CSV files and pages of each study, then the pages of all."""
    from bertlab.report import tidy

    def pages(page: str, stem: str, **context: Any) -> Iterator[tuple[str, str]]:
        for suffix in PAGES[page]:
            if suffix in suffixes:
                yield f"{stem}.{suffix}", render(f"{page}.{suffix}.j2", **context)

    chapters = []
    for name, group in groupby(everything, key=lambda study: study.name):
        studies = list(group)
        part = chapter(studies, written=name in names)
        chapters.append(part)
        if part.written:
            for section in part.sections:
                yield from ((section.figure(picture), picture.svg) for picture in section.pictures)
            yield f"{part.stem}.csv", tidy.csv(tidy.values(studies))
            yield f"{part.stem}-summary.csv", tidy.csv(tidy.summary(studies))
            yield f"{part.stem}-claims.csv", tidy.csv(tidy.claims(studies))
            noise = tidy.noise((section.study, section.spreads) for section in part.sections)
            yield f"{part.stem}-noise.csv", tidy.csv(noise)
            yield from pages("study", part.stem, chapter=part)
    if len(agreed.final):
        yield "agreement.csv", tidy.csv(tidy.agreement(agreed))
        drawn = figures(agreed)
        yield from ((f"figures/agreement-{kind}.svg", svg) for kind, (svg, _) in drawn.items())
        yield from pages("agreement", "agreement", agreed=agreed, figures=drawn)
    if changes:
        yield "compare.csv", tidy.csv(changes.values)
    yield from pages(
        "index",
        "index",
        decided=decided(chapters),
        undecided=undecided(chapters),
        chapters=chapters,
        banner=notes("banner", everything),
        written={part.stem for part in chapters if (out / f"{part.stem}.md").is_file()},
        changes=changes,
        agreed=agreed,
    )
