"""The pages of a report: what was run, what came out, what to beware of; one page a study, and an index.

A page is made of records and finished runs alone and holds no clock: the same store gives the same bytes. Records of a
study at several scales or on several corpora are sections of their own and are never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bertlab import files
from bertlab.errors import BadInput, Unwritable, unknown
from bertlab.faults import point
from bertlab.names import filename, plain
from bertlab.report import caveats, claims, escape, facts, plots, tables, tidy
from bertlab.report.evidence import Evidence
from bertlab.report.gather import gather_all
from bertlab.store import Store


def write(studies: Sequence[str], runs: Path, out: Path) -> tuple[list[Path], list[Evidence]]:
    """Writes the pages, CSV files and figures of `studies` (all if none is named) from the store `runs` into `out`.

    Returns the paths of the pages and what they report. Raises `BadInput` for a study without a record, a store in
    which nothing is finished, and a folder that cannot be written.
    """
    everything = gather_all(Store(runs))
    known = list(dict.fromkeys(each.study for each in everything))
    if not any(each.started for each in everything):
        raise BadInput(f"nothing is finished in '{runs}': run `bertlab ablate` first, or give --runs")
    for name in studies:
        if name not in known:
            raise unknown("study", name, known)
    asked = [each for each in everything if each.study in studies or not studies]
    if not any(each.started for each in asked):
        names = ", ".join(f"'{each}'" for each in studies)
        raise BadInput(f"nothing of {names} is finished in '{runs}': run `bertlab ablate` first")
    point("report.begin")
    try:
        out.mkdir(parents=True, exist_ok=True)
        pages = [_write_study(list(sections), out) for _, sections in groupby(asked, key=lambda each: each.study)]
        index = out / "index.md"
        point("report.index")
        files.write(index, _index(everything, out))
    except OSError as error:
        raise Unwritable(out, error) from error
    return [index, *pages], asked


def _write_study(sections: list[Evidence], out: Path) -> Path:
    stem = filename(sections[0].study)
    drawn: list[dict[str, str]] = []
    for place, section in enumerate(sections):
        # the first section has the plain name, so that a link to the figure of a study stays good
        name = stem if place == 0 else f"{stem}-{filename(section.scale)}-{section.key}"
        drawn.append({})
        for kind, draw in (("points", plots.points), ("curves", plots.curves), ("milestones", plots.milestones)):
            picture = draw(section)
            if picture is not None:
                path = out / "figures" / f"{name}-{kind}.svg"
                path.parent.mkdir(exist_ok=True)
                point("report.figure")
                files.write(path, picture)
                drawn[-1][kind] = f"figures/{path.name}"
    page = out / f"{stem}.md"
    point("report.table")
    files.write(out / f"{stem}.csv", tidy.values(sections))
    files.write(out / f"{stem}-summary.csv", tidy.summary(sections))
    point("report.page")
    files.write(page, study(sections, stem, drawn))
    return page


def study(sections: Sequence[Evidence], stem: str, figures: Sequence[dict[str, str]]) -> str:
    """The page of a study in Markdown; `figures` are the links of each section's pictures."""
    titles = [_title(each) for each in sections]
    # two settings of the same scale and corpus: the command in each section says what was set
    titles = [
        f"{title} ({each.key})" if titles.count(title) > 1 else title
        for title, each in zip(titles, sections, strict=True)
    ]
    return _render(
        "study.md.j2",
        study=sections[0].study,
        question=str(sections[0].record["question"]),
        source=str(sections[0].record["source"]),
        stem=stem,
        sections=[_section(*each) for each in zip(sections, titles, figures, strict=True)],
    )


def _index(everything: Sequence[Evidence], out: Path) -> str:
    from tabulate import tabulate

    lines = []
    for name, found in groupby(everything, key=lambda each: each.study):
        sections = list(found)
        stem = filename(name)
        shown = escape.markdown(name)
        written = (out / f"{stem}.md").is_file()
        cells = [cell for each in sections for cell in each.cells]
        lines.append(
            [
                f"[{shown}]({stem}.md)" if written else shown,
                escape.markdown(str(sections[0].record["question"])),
                escape.markdown(str(sections[0].record["source"])),
                escape.markdown("; ".join(f"{each.scale} {each.ground}" for each in sections)),
                f"{sum(cell.value is not None for cell in cells)} of {len(cells)}",
            ]
        )
    columns = ["study", "question", "source", "run at", "measured"]
    return _render("index.md.j2", table=tabulate(lines, headers=columns, tablefmt="pipe", disable_numparse=True))


def _title(evidence: Evidence) -> str:
    return f"Scale {evidence.scale} {evidence.ground}"


def _section(evidence: Evidence, title: str, drawn: dict[str, str]) -> dict[str, Any]:
    found = claims.judged(evidence)
    command = plain(str(evidence.record.get("command", "")))
    return {
        "title": title,
        "question": str(evidence.record["question"]),
        "source": str(evidence.record["source"]),
        "progress": facts.progress(evidence),
        "facts": facts.facts(evidence),
        "command": command,
        "results": tables.results(evidence),
        "legend": caveats.legend(evidence),
        "differences": tables.differences(evidence),
        "interval": caveats.intervals(evidence),
        "claims": claims.table(evidence, found),
        "verdicts": claims.lines(evidence, found),
        "points": drawn.get("points"),
        "milestones": drawn.get("milestones"),
        "floors": caveats.floors(evidence),
        "imported": evidence.imported,
        "pretraining": tables.pretraining(evidence),
        "judged": caveats.judged(evidence),
        "warnings": caveats.warnings(evidence),
        "curves": drawn.get("curves"),
        "timed": caveats.timed(evidence),
        "caveats": caveats.caveats(evidence),
    }


def _render(template: str, **context: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bertlab.report", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # the page is Markdown, not HTML: every name goes through the `md` filter
    )
    environment.filters["md"] = escape.paragraph
    return environment.get_template(template).render(**context).strip() + "\n"
