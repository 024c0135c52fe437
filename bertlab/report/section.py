"""The parts of a report: a chapter a study, in it a section for each scale and corpus. Text is raw: pages escape it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bertlab.names import filename, plain
from bertlab.report import findings
from bertlab.report.evidence import Evidence
from bertlab.report.findings import Finding
from bertlab.report.plots import Picture, pictures
from bertlab.wording import count

VERDICTS = ("reproduced", "contradicted", "undecided")
"""What a summary always counts; others where they occur."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus."""

    evidence: Evidence
    stem: str
    """Names its figures and its place on a page: letters, digits, `.`, `_` and `-`."""
    title: str
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...]

    @property
    def question(self) -> str:
        """What the study asks."""
        return str(self.evidence.record["question"])

    @property
    def source(self) -> str:
        """The paper and its table."""
        return str(self.evidence.record["source"])

    @property
    def command(self) -> str:
        """The command that ran it."""
        return plain(str(self.evidence.record.get("command", "")))

    def figure(self, picture: Picture) -> str:
        """The file of one of its pictures, from the folder of the report."""
        return f"figures/{self.stem}-{picture.kind}.svg"


@dataclass(frozen=True)
class Chapter:
    """A study in all settings that were run."""

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
    """Whether it has pages; other studies show their claims alone."""

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
        """The file of its claims and verdicts, from the folder of the report."""
        return f"{self.stem}-claims.csv"


def chapter(evidences: Sequence[Evidence], *, written: bool = True) -> Chapter:
    """A study in each of its settings; without figures unless it is `written`."""
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
            Section(
                evidence=each,
                stem=own,
                # two settings of the same scale and corpus: the command in each section says what was set
                title=f"{title} ({each.key})" if titles.count(title) > 1 else title,
                findings=findings.findings(each),
                pictures=tuple(pictures(each)) if written else (),
            )
            for each, own, title in zip(evidences, stems, titles, strict=True)
        ),
        written=written,
    )


def summary(chapters: Iterable[Chapter]) -> str:
    """How many claims have which verdict, in one sentence; empty without claims."""
    verdicts = [finding.verdict for each in chapters for section in each.sections for finding in section.findings]
    if not verdicts:
        return ""
    counts = dict.fromkeys(VERDICTS, 0) | Counter(verdicts)
    parts = [f"{number or 'none'} {'are' if number > 1 else 'is'} {name}" for name, number in counts.items()]
    return f"Of {count(len(verdicts), 'claim')} {', '.join(parts)}."
