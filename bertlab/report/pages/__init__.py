"""A report in Markdown, HTML and LaTeX: a chapter for each study, in it a section for each scale and corpus. Raw text.

The page of HTML loads nothing; its figures are part of it and use its colours, so that they follow light and dark. Its
only script, whose hash its policy names, sorts and filters the table of all studies.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import markupsafe

from bertlab.lab.claim import GUESS
from bertlab.names import filename, plain
from bertlab.report import (
    agreement,
    disagreements,
    escape,
    facts,
    findings,
    movement,
    noise,
    restarts,
    tables,
    validity,
)
from bertlab.report.cells import FLOORS, LEXICAL, PLATEAU
from bertlab.report.findings import Finding
from bertlab.report.noise import Spread
from bertlab.report.pages import latex
from bertlab.report.plots import Picture, pictures
from bertlab.report.plots.figure import GRID, INK, WHITE
from bertlab.report.statistics.effects import LEVEL, VERDICT_MIN_SEEDS
from bertlab.report.study_results import StudyResults
from bertlab.wording import duration, join_words, pluralise


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus."""

    study: StudyResults
    stem: str
    """The name of its figures and of its place on a page: letters, digits, `.`, `_` and `-`."""
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...]
    spreads: tuple[Spread, ...]

    @property
    def heading(self) -> str:
        """Scale, setting, and its name; of several options that set it apart, their number and its key."""
        study, fields = self.study, self.fields
        if study.setting_name or not fields:
            return study.heading
        return f"{study.scale} {study.setting} with {pluralise(len(fields), 'field')} of its own, key {study.key}"

    @property
    def fields(self) -> tuple[str, ...]:
        """The options that `heading` does not list."""
        options = tuple(option for option in self.study.own_options if not option.startswith("key "))
        return self.study.overrides if self.study.setting_name else options if len(options) > 1 else ()

    @property
    def title(self) -> str:
        """The heading of its tables."""
        return f"Scale {self.heading}"

    @property
    def measured(self) -> tuple[Finding, ...]:
        """The claims that are measured, decided ones first."""
        return tuple(finding for finding in self.findings if finding.outcome != findings.NOT_MEASURED)

    @property
    def unmeasured(self) -> tuple[Finding, ...]:
        """The claims that are not measured."""
        return self.findings[len(self.measured) :]

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


def chapter(studies: Sequence[StudyResults], *, written: bool) -> Chapter:
    """A study in each of its settings; without figures unless it is `written`."""
    stem = filename(studies[0].name)
    sections = [
        Section(
            study=study,
            # the first section has the plain name, so that links to its figures keep working
            stem=f"{stem}-{filename(study.scale)}-{_mark(study, studies)}" if number else stem,
            findings=findings.ordered(findings.findings(study)),
            pictures=tuple(pictures(study)) if written else (),
            spreads=tuple(noise.spreads(study)) if written else (),
        )
        for number, study in enumerate(studies)
    ]
    return Chapter(studies[0].name, stem, tuple(sections), written)


def _mark(study: StudyResults, studies: Sequence[StudyResults]) -> str:
    """What names a section in its chapter: the name of its setting, or its key where another has that name too."""
    names = [(other.scale, other.setting_name) for other in studies]
    alone = study.setting_name and names.count((study.scale, study.setting_name)) == 1
    return filename(study.setting_name) if alone else study.key


def decided(chapters: Iterable[Chapter]) -> list[tuple[Chapter, Section, Finding]]:
    """The claims that the paper's metric decides, then those that the likelihood alone decides."""
    every = [(part, section, finding) for part in chapters for section in part.sections for finding in section.findings]
    likely = [line for line in every if line[2].open and line[2].likely and not line[2].likely.open]
    return [line for line in every if not line[2].open] + likely


def undecided(chapters: Iterable[Chapter]) -> str:
    """The most frequent reasons of claims that are measured and undecided; empty if there are none."""
    return findings.reasons([finding for part in chapters for section in part.sections for finding in section.findings])


def render(template: str, /, **context: Any) -> str:
    """A template filled in. It calls the modules for its text: `{{ tables.pretraining(section.study) }}`.

    In HTML all text is escaped; in Markdown each text goes through the filters `md` (a line of its own) or `words`.
    """
    templates = _environment(html=".html" in template)
    text: str = templates.get_template(template).render(**context)
    return text.strip() + "\n"


def notes(part: str, *about: Any) -> list[str]:
    """How to read a part of a page and what limits it: the paragraphs of its macro in `notes.j2`, raw text."""
    macros = _environment(html=False).get_template("notes.j2").module
    return [" ".join(words) for text in getattr(macros, part)(*about).split("\n\n") if (words := text.split())]


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
    modules = (agreement, disagreements, facts, findings, latex, movement, noise, restarts, tables, validity)
    functions: tuple[Any, ...] = (clusters, failures, floors_by_kind, narrow, notes, pluralise)
    templates.globals |= {part.__name__.rpartition(".")[2]: part for part in (*modules, *functions)}
    templates.globals |= {"SCRIPT": markupsafe.Markup(script), "SCRIPT_HASH": digest}
    # with fewer seeds, a 95 % t interval is over 40 % wider than a normal one of the same spread
    templates.globals |= {"FEW": 6, "LEVEL": LEVEL, "PLATEAU": PLATEAU, "VERDICT_MIN_SEEDS": VERDICT_MIN_SEEDS}
    templates.filters |= {"md": escape.paragraph, "words": escape.markdown, "inline": _inline, "nats": "{:.3f}".format}
    templates.filters |= {"duration": duration, "join_words": join_words}
    templates.filters["article"] = lambda noun: f"A{'n' * noun.startswith('A')} {noun}"
    # a typographic minus before a number and between variants
    templates.filters["minus"] = lambda text: re.sub(r"(?<![\w.])-(?=\d)|(?<= )-(?= )", "−", text)
    return templates


def _inline(svg: bytes, label: str) -> markupsafe.Markup:
    """A figure as an element of the page, one image to a screen reader."""
    opening, _, drawing = svg.decode().partition(">")
    # the colours that follow the page's; all others are readable on light and dark
    for ink, replacement in {INK: "currentColor", GRID: "var(--grid)", WHITE: "var(--ground)"}.items():
        drawing = drawing.replace(f'"{ink}"', f'"{replacement}"')
    opening = re.sub(r' (xmlns|width|height)="[^"]*"', "", opening)  # as wide as there is room
    label = markupsafe.escape(plain(label))
    return markupsafe.Markup(f'{opening} role="img" aria-label="{label}">{drawing}')


def narrow(columns: Sequence[tables.Column]) -> bool:
    """Whether a small screen, of 400 pixels, holds these columns side by side with unbroken words as headings."""
    words = [max(map(len, re.split(r"[\s-]", column.head))) for column in columns]
    return len(columns) <= 4 and sum(words) <= 28  # letters of at most 9 pixels beside the names of variants


def clusters(study: StudyResults) -> list[str]:
    """The measurements whose examples are resampled in groups, with the numbers of examples and of groups."""
    lines: list[str] = []
    for name in study.measurements:
        effects = [study.difference(variant, name) for variant in study.variants]
        groups = max((effect.examples for effect in effects if effect and effect.examples > 1), default=0)
        examples = max(cell.rows.evaluation for cell in study.column(name))
        if 0 < groups < examples:
            words = ("", "") if lines else (" examples", " clusters")  # the first one says what the numbers are
            lines.append(f"{name}: {examples:,}{words[0]} in {groups:,}{words[1]}")
    return lines


def floors_by_kind(study: StudyResults) -> dict[str, list[str]]:
    """Each floor with its meaning, and the points that it reaches on each measurement."""
    floors = {name: study.floors(name) for name in study.measurements}

    def shown(name: str, kind: str) -> str:
        cells = [cell for cell in study.column(name) if cell.lexical_examples and kind == LEXICAL]
        read = max((cell.rows.train for cell in cells), default=0)
        fitted = min((cell.lexical_examples for cell in cells), default=0)
        few = f" ({fitted:,} of {read:,} examples)" if fitted < read else ""
        return f"{study.head(name)} {floors[name][kind]:.{study.digits(name)}f}{few}"

    return {
        kind.capitalize() + meaning: [shown(name, kind) for name, points in floors.items() if kind in points]
        for kind, meaning in FLOORS.items()
        if kind == GUESS or any(kind in points for points in floors.values())
    }


def failures(study: StudyResults) -> dict[str, list[str]]:
    """What ended without a value, by the reason; one mention for each variant, measurement and seed."""
    reasons: dict[str, dict[str, None]] = {}
    for cell in study.unfinished:
        if cell.status != "pending":
            reason = f"{cell.status} ({cell.reason})" if cell.reason else cell.status
            reason = cell.reason if cell.status_text != cell.status else reason
            reasons.setdefault(reason, {})[f"{cell.measurement} of {cell.variant}, seed {cell.pretrain_seed}"] = None
    return {reason: list(cells) for reason, cells in reasons.items()}
