"""The notes of a section: how to read its tables, and what limits its numbers. Their words are in `notes.j2`."""

from functools import cache
from typing import Any

from bertlab.names import plain
from bertlab.report.cells import FLOORS, PLATEAU
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.statistics.summary import LEVEL
from bertlab.wording import count

FEW = 6
"""With fewer seeds, a 95 % t interval is over 40 % wider than a normal one of the same spread."""


def notes(part: str, *about: Any) -> list[str]:
    """The notes of a part of a page: the paragraphs of the macro `part` of `notes.j2`, raw text."""
    paragraphs = getattr(_macros(), part)(*about).split("\n\n")
    return [" ".join(lines) for each in paragraphs if (lines := each.split())]


@cache
def environment(*, html: bool = False) -> Any:
    """The templates. In HTML all text is escaped, and has no control characters; our own markup stays as it is."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("bertlab.report.pages", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=html,
        finalize=lambda value: plain(value) if html and type(value) is str else value,
    )


@cache
def _macros() -> Any:
    templates = environment()
    templates.globals |= {each.__name__: each for each in (count, clusters, failures, floors_by_kind)}
    templates.globals |= {"FEW": FEW, "LEVEL": LEVEL, "PLATEAU": PLATEAU, "VERDICT_MIN_SEEDS": VERDICT_MIN_SEEDS}
    templates.filters["nats"] = "{:.3f}".format
    return templates.get_template("notes.j2").module


def clusters(evidence: Evidence) -> list[str]:
    """The measurements whose examples are resampled in groups, with the numbers of examples and of groups."""
    found = []
    for name in evidence.measurements:
        effects = [evidence.difference(variant, name) for variant in evidence.variants]
        groups = max((each.examples for each in effects if each and each.examples > 1), default=0)
        examples = max(cell.eval_examples for cell in evidence.column(name))
        if 0 < groups < examples:
            found.append(f"{name} {examples:,} in {groups:,}")
    return found


def floors_by_kind(evidence: Evidence) -> dict[str, list[str]]:
    """Each floor with its meaning, and the points that it reaches on each measurement."""
    points = {name: evidence.floors(name) for name in evidence.measurements}
    return {
        kind.capitalize() + meaning: [f"{name} {floors[kind]:.2f}" for name, floors in points.items() if kind in floors]
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
