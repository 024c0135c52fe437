"""`bertlab report`: writes pages, tables and figures of the finished runs of a store.

A report reads records and finished runs only and contains no date: the same store gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from bertlab.errors import BadInput, Unwritable, unknown
from bertlab.lab import shipped
from bertlab.machine import Machine
from bertlab.names import ALL
from bertlab.report.agreement import Agreement, agreement
from bertlab.report.evidence import Evidence
from bertlab.report.gather import gather_all
from bertlab.report.pages import chapter, decided, latex, notes, render, summary, undecided
from bertlab.report.plots.agreement import figures
from bertlab.store import writes
from bertlab.store.runs import Store

if TYPE_CHECKING:
    from bertlab.report.compare import Changes

FORMATS = ("md", "html", "latex")
DEFAULT = ("md", "html")


@dataclass(frozen=True)
class Report:
    """A written report."""

    pages: list[Path]
    """The index pages first."""
    tables: list[Path]
    """The CSV files."""
    evidence: list[Evidence]
    agreement: Agreement
    """The measured and the published signs of these studies; the page is of all studies of the store."""
    changes: Changes | None
    """The changes since an older store, if one is given."""


def write(
    studies: Sequence[str],
    runs: Path | Store,
    out: Path,
    formats: Collection[str] = DEFAULT,
    since: Path | None = None,
    data: Path | None = None,
) -> Report:
    """Writes `studies`, or all, from the store `runs` into `out`: CSV files, figures, and pages.

    `data` has local copies of tasks: examples on which variants disagree are shown with their texts from there.

    The pages `index` and `agreement` are of all studies of the store; there is no page `agreement` without a pair of
    variants with a published difference.
    With an older store `since`, the index pages list what changed, and `compare.csv` has each changed value. Raises
    `BadInput` for a study without a record, a store in which nothing is finished, an unknown format, and a directory
    that cannot be written.
    """
    for name in formats:
        if name not in FORMATS:
            raise unknown("format", name, FORMATS)
    if ALL in studies:
        studies = ()
    store = Store(runs, lenient=True) if isinstance(runs, Path) else runs
    everything = gather_all(store, None if data is None else Machine(data=data))
    for name in studies:
        if everything and name not in (known := dict.fromkeys(each.study for each in everything)):
            if name in shipped.names():
                raise BadInput(f"nothing of {name} is finished in '{store.root}', which has {', '.join(known)}")
            raise unknown("study", name, known)
    chosen = [each for each in everything if each.study in studies or not studies]
    if not any(each.started for each in chosen):
        what = f" of {', '.join(studies)}" if studies else ""
        raise BadInput(f"nothing{what} is finished in '{store.root}': run `bertlab ablate` first, or give --runs")
    changes = None
    if since is not None:
        from bertlab.report.compare import compare

        older = gather_all(Store(since, lenient=True)) if since.is_dir() else []
        if not any(each.started for each in older):
            raise BadInput(f"nothing is finished in '{since}': give --compare the --runs of an earlier report")
        older = [each for each in older if each.study in studies or not studies]
        changes = compare(older, chosen, str(since))
    try:
        writes.folder(out)
        paths, names, agreed = [], {each.study for each in chosen}, agreement(everything)
        for name, content in _files(everything, names, out, formats, agreed, changes):
            writes.folder(out, str(PurePath(name).parent))
            writes.write(out, name, content)
            paths.append(out / name)
    except OSError as error:
        raise Unwritable(out, error) from error
    pages = [path for path in paths if path.suffix in (".md", ".html", ".tex")]
    own = Agreement(agreed.comparisons[agreed.comparisons["study"].isin(names)])
    csv_files = [path for path in paths if path.suffix == ".csv"]
    return Report(sorted(pages, key=lambda path: path.stem != "index"), csv_files, chosen, own, changes)


def _files(
    everything: Sequence[Evidence],
    studies: Collection[str],
    out: Path,
    formats: Collection[str],
    agreed: Agreement,
    changes: Changes | None,
) -> Iterator[tuple[str, str | bytes]]:
    """Names and contents: the figures, CSV files and pages of each study, then the pages of all."""
    from bertlab.report import tidy

    chapters = []
    for study, group in groupby(everything, key=lambda each: each.study):
        evidences = list(group)
        made = chapter(evidences, written=study in studies)
        chapters.append(made)
        if not made.written:
            continue
        for section in made.sections:
            yield from ((section.figure(each), each.svg) for each in section.pictures)
        yield f"{made.stem}.csv", tidy.csv(tidy.values(evidences))
        yield f"{made.stem}-summary.csv", tidy.csv(tidy.summary(evidences))
        yield f"{made.stem}-claims.csv", tidy.csv(tidy.claims(evidences))
        yield f"{made.stem}-noise.csv", tidy.csv(tidy.noise((each.evidence, each.spreads) for each in made.sections))
        if "md" in formats:
            yield f"{made.stem}.md", render("study.md.j2", chapter=made)
        if "latex" in formats:
            yield f"{made.stem}.tex", latex.study(made)
    if len(agreed.final):
        yield "agreement.csv", tidy.csv(tidy.agreement(agreed))
        drawn = figures(agreed)
        yield from ((f"figures/agreement-{kind}.svg", svg) for kind, (svg, _) in drawn.items())
        pages = [name for name in ("html", "md") if name in formats]
        yield from (
            (f"agreement.{name}", render(f"agreement.{name}.j2", found=agreed, figures=drawn)) for name in pages
        )
        if "latex" in formats:
            yield "agreement.tex", latex.agreement(agreed)
    if changes:
        yield "compare.csv", tidy.csv(changes.values)
    written = {each.stem for each in chapters if (out / f"{each.stem}.md").is_file()}
    context = {
        "summary": summary(chapters),
        "decided": decided(chapters),
        "undecided": undecided(chapters),
        "chapters": chapters,
        "banner": notes("banner", everything),
        "written": written,
        "changes": changes,
        "agreed": agreed,
    }
    for name in ("html", "md"):
        if name in formats:
            yield f"index.{name}", render(f"index.{name}.j2", **context)
