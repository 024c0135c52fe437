"""`bertlab show STUDY`: what a study varies and measures, what its paper found, and which fields `--set` can set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, STUDIES, ScaleOptions
from bertlab.cli.table import print_table
from bertlab.wording import join_words

if TYPE_CHECKING:
    from collections.abc import Sequence


def show(options: ScaleOptions, study: list[str] = STUDIES, json: bool = JSON) -> None:
    """Show a study: table, variants, measurements, claims, recipe.

    The first table is the paper's. The last one lists the fields of the recipe with their values, and those that --set
    cannot set.

    Example: bertlab show masking --scale tiny
    """
    from bertlab.lab import studies
    from bertlab.lab.description import described

    scale = options.chosen_scale()
    shown = [described(one, one.setting_at(scale)) for one in studies.chosen(study)]
    if json:
        print_json(shown)
        return
    for fields in shown:
        _print(fields)


def _by_number(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a variant, each number over the steps by itself: a column of all is wider than a terminal."""
    by_path: dict[str, Any] = {}
    for path, leaf in fields.items():
        curves = leaf if isinstance(leaf, Mapping) else None
        by_path |= {path: leaf} if curves is None else {f"{name} over steps": curve for name, curve in curves.items()}
    return by_path


def _print(study: dict[str, Any]) -> None:
    from bertlab.recipe.identity import as_set

    name, baseline = study["name"], study["baseline"]
    say(f"{name}: {study['question']}")
    columns = [*next(iter(study["published"].values()))]
    rows = [
        [variant, *("" if value is None else str(value) for value in line.values())]
        for variant, line in study["published"].items()
    ]
    if columns:
        _titled(["variant", *columns], rows, f"{study['source']}: published {study['summary']}s, in points")
    for table in study["related"]:
        rows = [[model, *map(str, row)] for model, row in table["rows"].items()]
        _titled(["model", *table["columns"]], rows, f"{table['title']} ({table['source']})")
    variants = {variant: _by_number(fields) for variant, fields in study["variants"].items()}
    paths = [*dict.fromkeys(path for fields in variants.values() for path in fields if path != "multitask.tasks")]
    rows = [[variant, *(as_set(fields.get(path)) for path in paths)] for variant, fields in variants.items()]
    _titled(["variant", *paths], rows, f"variants at scale {study['scale']}; the baseline is {baseline}")
    _print_mixtures(study["mixtures"])
    if study["equal_time"]:
        say(f"`ablate` gives {join_words(study['equal_time'])} the steps that take as long as the baseline's here")
    keys = ("name", "task", "kind", "adaptation", "metric", "split", "synthetic")
    rows = [[as_set(measurement.get(key)) for key in keys] for measurement in study["measurements"]]
    headings = ("measurement", "task", "kind", "adaptation", "metric", "split", "synthetic counterpart")
    _titled(headings, rows, "measurements", left=len(keys))
    for average, parts in study["averages"].items():
        counted = [f"{on} ({', '.join(metrics)})" if metrics else on for on, metrics in parts]
        say(f"{average}: the mean of {', '.join(counted)}")
    rows = []
    for claim in study["claims"]:
        at = f" at {claim['at']} %" if claim["at"] < 100 or claim["since"] else ""
        before = f" at {claim['since']} %" if claim["since"] else at
        relation = "beside" if claim["allowed"] else "over"
        pairs = "; ".join(f"{better}{at} {relation} {worse}{before}" for better, worse in claim["pairs"])
        if claim["than"]:
            pairs += " by more than {}{at} over {}{before}".format(*claim["than"], at=at, before=before)
        compared = ": ".join(part for part in (pairs, claim["allowed"]) if part)
        rows.append([claim["text"], claim["on"], compared, claim["untested"] or "yes"])
    if rows:
        title = f"claims, and whether scale {study['scale']} tests them"
        _titled(("claim", "on", "compares", "tested"), rows, title, left=4)
    notes = dict.fromkeys(study["recipe"].keys() - {*study["set"]}, "fixed")
    notes |= {path: "variants differ" for fields in study["variants"].values() for path in fields if path in notes}
    rows = [[path, as_set(leaf), notes.get(path, "")] for path, leaf in study["recipe"].items()]
    title = f"recipe of {baseline} at scale {study['scale']}; --set sets the fields without a note"
    _titled(("field", "value", "note"), rows, title, left=3)
    for note in study["notes"]:
        say(note)


def _print_mixtures(mixtures: Mapping[str, Any]) -> None:
    """The rates of text and tasks in the variants that have some."""
    parts = dict.fromkeys(part for mixture in mixtures.values() for part in mixture)
    rows = [[part, *(_rate(mixture.get(part)) for mixture in mixtures.values())] for part in parts]
    if rows:
        _titled(["part", *mixtures], rows, "share of the sequences, and passes over the synthetic examples")


def _rate(part: Mapping[str, float | None] | None) -> str:
    """The rate of a part of a mixture, and the passes over it; empty if the mixture lacks it."""
    if not part or not part["rate"]:
        return ""
    return f"{part['rate']:.1%}" + ("" if part["passes"] is None else f", {part['passes']:.2g} x")


def _titled(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, *, left: int = 1) -> None:
    say("")
    print_table(columns, rows, title, left=left)
