"""A report in Markdown, HTML and LaTeX: a chapter for each study, in it a section for each scale and corpus. Raw text.

The page of HTML loads nothing; its figures are part of it and use its colours, so that they follow light and dark. Its
only script, whose hash its policy names, sorts and filters the table of all studies.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import markupsafe

from bertlab.names import filename, plain
from bertlab.report import agreement, disagreements, escape, facts, findings, noise, tables, validity
from bertlab.report.cells import FLOORS, LEXICAL, PLATEAU
from bertlab.report.evidence import Evidence
from bertlab.report.findings import Finding
from bertlab.report.noise import Spread
from bertlab.report.plots import Picture, pictures
from bertlab.report.plots.figure import GRID, INK, WHITE
from bertlab.report.statistics.effects import LEVEL, VERDICT_MIN_SEEDS
from bertlab.wording import count, duration, listed


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus."""

    evidence: Evidence
    stem: str
    """The name of its figures and of its place on a page: letters, digits, `.`, `_` and `-`."""
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...]
    spreads: tuple[Spread, ...]

    @property
    def place(self) -> str:
        """Scale, setting, and its name; of several options that set it apart, their number and its key."""
        about = self.evidence
        if about.setting_name or not self.fields:
            return about.place
        return f"{about.scale} {about.setting} with {count(len(self.fields), 'field')} of its own, key {about.key}"

    @property
    def fields(self) -> tuple[str, ...]:
        """The options that `place` does not list."""
        about = self.evidence
        options = tuple(each for each in about.own_options if not each.startswith("key "))
        return about.overrides if about.setting_name else options if len(options) > 1 else ()

    @property
    def title(self) -> str:
        """The heading of its tables."""
        return f"Scale {self.place}"

    @property
    def measured(self) -> tuple[Finding, ...]:
        """The claims that are measured, decided ones first."""
        return tuple(each for each in self.findings if each.outcome != findings.NOT_MEASURED)

    @property
    def unmeasured(self) -> tuple[Finding, ...]:
        """The claims that are not measured."""
        return self.findings[len(self.measured) :]

    @property
    def likely(self) -> bool:
        """Whether a claim has a second verdict, by likelihood."""
        return any(each.likely for each in self.findings)

    def figure(self, picture: Picture) -> str:
        """The file of a picture of the section, relative to the directory of the report."""
        return f"figures/{self.stem}-{picture.kind}.svg"


@dataclass(frozen=True)
class Chapter:
    """A study in all settings that were run."""

    study: str
    stem: str
    """The name of its pages and, with `.csv`, `-summary.csv`, `-claims.csv` and `-noise.csv`, of its data."""
    sections: tuple[Section, ...]
    written: bool
    """Whether it has pages; other studies show their claims only."""


def chapter(evidences: Sequence[Evidence], *, written: bool) -> Chapter:
    """A study in each of its settings; without figures unless it is `written`."""
    stem = filename(evidences[0].study)
    sections = [
        Section(
            evidence=each,
            # the first section has the plain name, so that links to its figures keep working
            stem=f"{stem}-{filename(each.scale)}-{_mark(each, evidences)}" if place else stem,
            findings=findings.ordered(findings.findings(each)),
            pictures=tuple(pictures(each)) if written else (),
            spreads=tuple(noise.spreads(each)) if written else (),
        )
        for place, each in enumerate(evidences)
    ]
    return Chapter(evidences[0].study, stem, tuple(sections), written)


def _mark(evidence: Evidence, evidences: Sequence[Evidence]) -> str:
    """What names a section in its chapter: the name of its setting, or its key where another has that name too."""
    alike = [each for each in evidences if (each.scale, each.setting_name) == (evidence.scale, evidence.setting_name)]
    return filename(evidence.setting_name) if evidence.setting_name and len(alike) == 1 else evidence.key


def decided(chapters: Iterable[Chapter]) -> list[tuple[Chapter, Section, Finding]]:
    """The claims that the paper's metric decides, then those that the likelihood alone decides."""
    found = [(each, section, finding) for each in chapters for section in each.sections for finding in section.findings]
    likely = [each for each in found if each[2].open and each[2].likely_outcome in ("reproduced", "contradicted")]
    return [each for each in found if not each[2].open] + likely


def undecided(chapters: Iterable[Chapter]) -> str:
    """The most frequent reasons of claims that are measured and undecided; empty if there are none."""
    return findings.reasons([finding for each in chapters for section in each.sections for finding in section.findings])


def summary(chapters: Iterable[Chapter]) -> str:
    """The number of claims with each verdict by each endpoint, in one or two sentences; empty without claims."""
    found = [finding for each in chapters for section in each.sections for finding in section.findings]
    lines = []
    for outcomes, by in (
        ([each.outcome for each in found], "Of"),
        (
            [each.likely_outcome for each in found if each.likely],
            "By the second test, the probability that the models give to the right answers: of",
        ),
    ):
        counts = {"reproduced": 0, "contradicted": 0, "undecided": 0} | Counter(outcomes)
        parts = [f"{number or 'none'} {'are' if number > 1 else 'is'} {name}" for name, number in counts.items()]
        lines += [f"{by} {count(len(outcomes), 'claim')}, {', '.join(parts)}."] if outcomes else []
    return " ".join(lines)


def render(template: str, /, **context: Any) -> str:
    """A template filled in. It calls the modules for its text: `{{ tables.pretraining(section.evidence) }}`.

    In HTML all text is escaped; in Markdown each text goes through the filters `md` (a line of its own) or `words`.
    """
    templates = _environment(html=".html" in template)
    text: str = templates.get_template(template).render(**context)
    return text.strip() + "\n"


def notes(part: str, *about: Any) -> list[str]:
    """How to read a part of a page and what limits it: the paragraphs of its macro in `notes.j2`, raw text."""
    macros = _environment(html=False).get_template("notes.j2").module
    return [" ".join(lines) for each in getattr(macros, part)(*about).split("\n\n") if (lines := each.split())]


@cache
def _environment(*, html: bool) -> Any:
    """The templates. In HTML all text is escaped, and has no control characters; our own markup stays as it is."""
    import jinja2

    script = Path(__file__).with_name("templates").joinpath("page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("bertlab.report.pages", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=html,
        finalize=lambda value: plain(value) if html and type(value) is str else value,
    )
    known = {"facts": facts, "findings": findings, "noise": noise, "tables": tables, "disagreements": disagreements}
    known |= {"validity": validity, "agreement": agreement}
    templates.globals |= {**known, "notes": notes, "SCRIPT": markupsafe.Markup(script), "SCRIPT_HASH": digest}
    templates.globals |= {each.__name__: each for each in (count, clusters, failures, floors_by_kind, narrow)}
    # with fewer seeds, a 95 % t interval is over 40 % wider than a normal one of the same spread
    templates.globals |= {"FEW": 6, "LEVEL": LEVEL, "PLATEAU": PLATEAU, "VERDICT_MIN_SEEDS": VERDICT_MIN_SEEDS}
    templates.filters |= {"md": escape.paragraph, "words": escape.markdown, "inline": _inline, "nats": "{:.3f}".format}
    templates.filters |= {"duration": duration, "listed": listed}
    # a typographic minus before a number and between variants
    templates.filters["minus"] = lambda text: re.sub(r"(?<![\w.])-(?=\d)|(?<= )-(?= )", "−", text)
    return templates


def _inline(svg: bytes, label: str) -> markupsafe.Markup:
    """A figure as an element of the page, one image to a screen reader."""
    opening, _, drawing = svg.decode().partition(">")
    # the colours that follow the page's; all others are readable on light and dark
    for ink, own in {INK: "currentColor", GRID: "var(--grid)", WHITE: "var(--ground)"}.items():
        drawing = drawing.replace(f'"{ink}"', f'"{own}"')
    opening = re.sub(r' (xmlns|width|height)="[^"]*"', "", opening)  # as wide as there is room
    label = markupsafe.escape(plain(label))
    return markupsafe.Markup(f'{opening} role="img" aria-label="{label}">{drawing}')


def narrow(columns: Sequence[tables.Column]) -> bool:
    """Whether a small screen, of 400 pixels, holds these columns side by side with unbroken words as headings."""
    words = [max(map(len, re.split(r"[\s-]", each.head))) for each in columns]
    return len(columns) <= 4 and sum(words) <= 28  # letters of at most 9 pixels beside the names of variants


def clusters(evidence: Evidence) -> list[str]:
    """The measurements whose examples are resampled in groups, with the numbers of examples and of groups."""
    found: list[str] = []
    for name in evidence.measurements:
        effects = [evidence.difference(variant, name) for variant in evidence.variants]
        groups = max((each.examples for each in effects if each and each.examples > 1), default=0)
        examples = max(cell.eval_examples for cell in evidence.column(name))
        if 0 < groups < examples:
            words = ("", "") if found else (" examples", " clusters")  # the first one says what the numbers are
            found.append(f"{name}: {examples:,}{words[0]} in {groups:,}{words[1]}")
    return found


def floors_by_kind(evidence: Evidence) -> dict[str, list[str]]:
    """Each floor with its meaning, and the points that it reaches on each measurement."""
    points = {name: evidence.floors(name) for name in evidence.measurements}

    def shown(name: str, kind: str) -> str:
        read, fitted = evidence.lexical_examples(name)
        few = f" ({fitted:,} of {read:,} examples)" if kind == LEXICAL and fitted < read else ""
        return f"{evidence.head(name)} {points[name][kind]:.{tables.digits(evidence, name)}f}{few}"

    return {
        kind.capitalize() + meaning: [shown(name, kind) for name, floors in points.items() if kind in floors]
        for kind, (key, meaning) in FLOORS.items()
        if key == "majority" or any(kind in floors for floors in points.values())
    }


def failures(evidence: Evidence) -> dict[str, list[str]]:
    """What ended without a value, by the reason; one mention for each variant, measurement and seed."""
    found: dict[str, dict[str, None]] = {}
    for cell in evidence.unfinished:
        if cell.status != "pending":
            reason = f"{cell.status} ({cell.reason})" if cell.reason else cell.status
            reason = cell.reason if cell.fate != cell.status else reason
            found.setdefault(reason, {})[f"{cell.measurement} of {cell.variant}, seed {cell.pretrain_seed}"] = None
    return {reason: list(cells) for reason, cells in found.items()}
