"""What a report says of a study, apart from how: Markdown, HTML and LaTeX each render these in a file of their own.

Records of a study at several scales or on several corpora are sections of their own and are never mixed. All text is
raw: whoever renders it escapes it for where it goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bertlab.names import filename, plain
from bertlab.report import caveats, claims, facts, tables
from bertlab.report.claims import Finding
from bertlab.report.comparison import Comparison, comparisons
from bertlab.report.evidence import Evidence
from bertlab.report.plots import Picture, pictures
from bertlab.report.tables import Table
from bertlab.wording import count

VERDICTS = ("reproduced", "contradicted", "undecided")
"""What a summary always counts; other words where they occur."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus."""

    stem: str
    """Names its figures and its place on a page: letters, digits, `.`, `_` and `-`."""
    title: str
    question: str
    source: str
    progress: str
    """How much is measured, or nothing if all is."""
    facts: list[tuple[str, str]]
    command: str
    """What was typed to run it."""
    results: Table
    legend: list[str]
    differences: Table
    intervals: list[str]
    """How differences are read."""
    comparisons: tuple[Comparison, ...]
    """Results and differences once more, a measurement at a time."""
    claims: Table
    findings: tuple[Finding, ...]
    """The same claims, in a line each."""
    verdicts: list[str]
    """How verdicts are read."""
    floors: list[str]
    imported: bool
    """Whether it was pre-trained elsewhere."""
    pretraining: Table
    judged: list[str]
    """How the table of pre-training is read."""
    warnings: list[str]
    timed: list[str]
    """How curves over time are read."""
    caveats: list[str]
    pictures: tuple[Picture, ...]

    def figure(self, picture: Picture) -> str:
        """The file of one of its pictures, from the folder of the report."""
        return f"figures/{self.stem}-{picture.kind}.svg"


@dataclass(frozen=True)
class Chapter:
    """A study in all settings that it was run in."""

    study: str
    stem: str
    """Names its files."""
    question: str
    source: str
    settings: str
    measured: str
    """How many values of how many."""
    sections: tuple[Section, ...]
    written: bool
    """Whether it was asked for, and has pages; of the others claims alone are shown."""

    @property
    def data(self) -> str:
        """The file of its values, from the folder of the report."""
        return f"{self.stem}.csv"

    @property
    def summary(self) -> str:
        """The file of its means and differences."""
        return f"{self.stem}-summary.csv"

    @property
    def verdicts(self) -> str:
        """The file of its claims and what became of each, from the folder of the report."""
        return f"{self.stem}-claims.csv"


def chapter(evidences: Sequence[Evidence], *, written: bool = True) -> Chapter:
    """What is known of a study in each of its settings; figures are left out unless it is `written`."""
    first = evidences[0]
    stem = filename(first.study)
    titles = [f"Scale {each.scale} {each.setting}" for each in evidences]
    # the first section has the plain name, so that a link to the figure of a study stays good
    stems = [stem, *(f"{stem}-{filename(each.scale)}-{each.key}" for each in evidences[1:])]
    cells = [cell for each in evidences for cell in each.cells]
    return Chapter(
        study=first.study,
        stem=stem,
        question=str(first.record["question"]),
        source=str(first.record["source"]),
        settings="; ".join(f"{each.scale} {each.setting}" for each in evidences),
        measured=f"{sum(cell.value is not None for cell in cells)} of {len(cells)}",
        sections=tuple(
            # two settings of the same scale and corpus: the command in each section says what was set
            section(each, own, f"{title} ({each.key})" if titles.count(title) > 1 else title, written)
            for each, own, title in zip(evidences, stems, titles, strict=True)
        ),
        written=written,
    )


def section(evidence: Evidence, stem: str, title: str, drawn: bool) -> Section:
    """What is known of a study in one setting."""
    found = claims.findings(evidence)
    return Section(
        stem=stem,
        title=title,
        question=str(evidence.record["question"]),
        source=str(evidence.record["source"]),
        progress=facts.progress(evidence),
        facts=facts.facts(evidence),
        command=plain(str(evidence.record.get("command", ""))),
        results=tables.results(evidence),
        legend=caveats.legend(evidence),
        differences=tables.differences(evidence),
        intervals=caveats.intervals(evidence),
        comparisons=comparisons(evidence),
        claims=claims.table(found),
        findings=found,
        verdicts=claims.lines(evidence, found),
        floors=caveats.floors(evidence),
        imported=evidence.imported,
        pretraining=tables.pretraining(evidence),
        judged=caveats.judged(evidence),
        warnings=caveats.warnings(evidence),
        timed=caveats.timed(evidence),
        caveats=caveats.caveats(evidence),
        pictures=tuple(pictures(evidence)) if drawn else (),
    )


def summary(chapters: Iterable[Chapter]) -> str:
    """How many claims came out how, in one sentence; nothing where none was made."""
    verdicts = [finding.verdict for each in chapters for section in each.sections for finding in section.findings]
    if not verdicts:
        return ""
    counts = dict.fromkeys(VERDICTS, 0) | Counter(verdicts)
    told = [f"{number or 'none'} {'are' if number > 1 else 'is'} {name}" for name, number in counts.items()]
    return f"Of {count(len(verdicts), 'claim')} {', '.join(told)}."
