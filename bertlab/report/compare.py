"""`bertlab report --compare OLD`: what changed since another store, by the tidy tables of the two.

Values are matched by study, scale, setting, variant, measurement and both seeds. A value without a counterpart was
added or removed; another run id means another recipe, code or data version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertlab.report import tidy
from bertlab.report.evidence import Evidence
from bertlab.report.tables import EMPTY, Table, signed
from bertlab.wording import count

if TYPE_CHECKING:
    import pandas

COLUMN = ["study", "scale", "setting", "variant", "measurement", "dataset", "split", "metric", "milestone"]
"""The columns that identify a mean."""
CLAIM = ["study", "scale", "setting", "claim", "measurement", "at", "since"]
Line = Mapping[Any, Any]
"""A line of a table, by column."""


@dataclass(frozen=True)
class Changes:
    """What changed between two stores."""

    since: str
    """The name of the older store."""
    values: pandas.DataFrame
    """A line for each value that changed: `change`, and run, status and value in both stores."""
    means: Table
    """The means over seeds that moved."""
    verdicts: Table
    summary: str


def compare(old: Sequence[Evidence], new: Sequence[Evidence], since: str) -> Changes:
    """The values, means and verdicts of `new` that differ from those of `old`, a store named `since`."""
    before, after = tidy.values(old), tidy.values(new)
    values = _differing(before, after, [*COLUMN, "pretrain_seed", "finetune_seed"], ["run_id", "status", "value"])
    values.insert(0, "change", [_change(line) for line in values.to_dict("records")])
    means = _differing(_means(before), _means(after), COLUMN, ["mean", "seeds"], ["mean"])
    verdicts = _differing(tidy.claims(old), tidy.claims(new), CLAIM, ["verdict", "effect", "n"], ["verdict"])
    kinds = ", ".join(f"{number} {kind}" for kind, number in values["change"].value_counts(sort=False).items())
    summary = f"{count(len(values), 'value')} changed ({kinds})" if kinds else "No value changed: the same runs"
    summary += f"; {count(len(means), 'mean')} moved, {count(len(verdicts), 'verdict')} changed."
    return Changes(
        since,
        values,
        _table(means, "variant", ("variant", "on", "old", "new", "new minus old", "seeds"), _mean),
        _table(verdicts, "claim", ("claim", "on", "old", "new", "effect"), _verdict),
        summary,
    )


def _differing(
    old: pandas.DataFrame, new: pandas.DataFrame, key: list[str], values: list[str], compared: Sequence[str] = ()
) -> pandas.DataFrame:
    """The lines of two tables, joined by `key`, in which a `compared` value differs; in the order of `new`.

    Where several lines share a key (one setting with two recipes), they are joined in their order.
    """
    import pandas

    numbered = [each.assign(place=each.groupby(key, dropna=False).cumcount()) for each in (old, new)]
    older, newer = (each[[*key, "place", *values]] for each in numbered)
    key = [*key, "place"]
    joined = pandas.concat([newer[key], older[key]]).drop_duplicates().merge(older, how="left", on=key)
    joined = joined.merge(newer, how="left", on=key, suffixes=("_old", "_new"))
    joined = joined.astype(object).where(joined.notna(), None)
    ordered = [f"{value}_{name}" for name in ("old", "new") for value in values]
    differs = [
        any(line[f"{each}_old"] != line[f"{each}_new"] for each in compared or values)
        for line in joined.to_dict("records")
    ]
    return joined.loc[differs, [*key[:-1], *ordered]].reset_index(drop=True)


def _means(values: pandas.DataFrame) -> pandas.DataFrame:
    """Means over seeds of means over fine-tuning seeds, and the number of seeds."""
    known = values.dropna(subset="value").astype({"value": float})
    seeds = known.groupby([*COLUMN, "pretrain_seed"], sort=False)["value"].mean()
    return seeds.groupby(COLUMN, sort=False).agg(mean="mean", seeds="count").reset_index()


def _change(line: Line) -> str:
    if line["run_id_old"] is None:
        return "added"
    if line["run_id_new"] is None:
        return "removed"
    if line["run_id_old"] != line["run_id_new"]:
        return "from another recipe"
    return "finished" if line["value_old"] is None else "lost" if line["value_new"] is None else "made again"


def _table(
    differing: pandas.DataFrame, what: str, columns: tuple[str, ...], cells: Callable[[Line], tuple[str, ...]]
) -> Table:
    """A line for each difference: its name, with study and scale if there are several, its measurement, its `cells`."""
    several = differing["study"].nunique() > 1
    rows = []
    for line in differing.to_dict("records"):
        name = f"{line['study']}, {line['scale']}: {line[what]}" if several else str(line[what])
        at = "" if line.get("milestone", 100) == 100 else f" at {line['milestone']} %"
        rows.append((name, line["measurement"] + at, *cells(line)))
    return Table(columns, tuple(rows))


def _mean(line: Line) -> tuple[str, ...]:
    old, new = line["mean_old"], line["mean_new"]
    shown = (EMPTY if each is None else f"{each:.2f}" for each in (old, new))
    moved = EMPTY if old is None or new is None else signed(new - old)
    return *shown, moved, f"{line['seeds_old'] or 0:.0f} → {line['seeds_new'] or 0:.0f}"


def _verdict(line: Line) -> tuple[str, ...]:
    effects = ("-" if line[each] is None else signed(line[each]) for each in ("effect_old", "effect_new"))
    return line["verdict_old"] or EMPTY, line["verdict_new"] or EMPTY, " → ".join(effects)
