"""The parts of a report: a chapter for each study, in it a section for each scale and corpus.

Text is raw: pages escape it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bertlab.names import filename
from bertlab.report.evidence import Evidence
from bertlab.report.findings import Finding, findings
from bertlab.report.plots import Picture, pictures
from bertlab.wording import count

VERDICTS = ("reproduced", "contradicted", "undecided")
"""The verdicts that a summary always counts; it counts others where they occur."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus."""

    evidence: Evidence
    stem: str
    """The name of its figures and of its place on a page: letters, digits, `.`, `_` and `-`."""
    title: str
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...]

    def figure(self, picture: Picture) -> str:
        """The file of a picture of the section, relative to the directory of the report."""
        return f"figures/{self.stem}-{picture.kind}.svg"


@dataclass(frozen=True)
class Chapter:
    """A study in all settings that were run."""

    study: str
    stem: str
    """The name of its pages and, with `.csv`, `-summary.csv` and `-claims.csv`, of its data."""
    sections: tuple[Section, ...]
    written: bool
    """Whether it has pages; other studies show their claims only."""


def chapter(evidences: Sequence[Evidence], *, written: bool = True) -> Chapter:
    """A study in each of its settings; without figures unless it is `written`."""
    stem = filename(evidences[0].study)
    titles = [f"Scale {each.scale} {each.setting}" for each in evidences]
    sections = [
        Section(
            evidence=each,
            # the first section has the plain name, so that links to its figures keep working
            stem=f"{stem}-{filename(each.scale)}-{each.key}" if place else stem,
            # two settings of the same scale and corpus: the command in each section says what was set
            title=f"{title} ({each.key})" if titles.count(title) > 1 else title,
            findings=findings(each),
            pictures=tuple(pictures(each)) if written else (),
        )
        for place, (each, title) in enumerate(zip(evidences, titles, strict=True))
    ]
    return Chapter(evidences[0].study, stem, tuple(sections), written)


def summary(chapters: Iterable[Chapter]) -> str:
    """The number of claims with each verdict, in one sentence; empty without claims."""
    outcomes = [finding.outcome for each in chapters for section in each.sections for finding in section.findings]
    if not outcomes:
        return ""
    counts = dict.fromkeys(VERDICTS, 0) | Counter(outcomes)
    parts = [f"{number or 'none'} {'are' if number > 1 else 'is'} {name}" for name, number in counts.items()]
    return f"Of {count(len(outcomes), 'claim')} {', '.join(parts)}."
