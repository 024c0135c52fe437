"""`bertlab report --compare OLD`: what changed since another store, by the tidy tables of the two.

Values are matched by study, scale, setting, variant, measurement and both seeds. A value without a counterpart was
added or removed; one whose run has another id was measured with another recipe, code or data version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertlab.report import tidy
from bertlab.report.evidence import Evidence
from bertlab.report.tables import EMPTY, Table, signed
from bertlab.wording import count

if TYPE_CHECKING:
    import pandas

COLUMN = ["study", "scale", "setting", "variant", "measurement", "dataset", "split", "metric", "milestone"]
"""What identifies the values of which a mean is taken."""
CLAIM = ["study", "scale", "setting", "claim", "measurement", "at", "since"]


@dataclass(frozen=True)
class Changes:
    """What changed between two stores."""

    since: str
    """The older store."""
    values: pandas.DataFrame
    """One line a value that changed: `change`, and run, status and value in both stores."""
    means: Table
    """Means over seeds that moved."""
    verdicts: Table
    summary: str


def compare(old: Sequence[Evidence], new: Sequence[Evidence], since: str) -> Changes:
    """The values, means and verdicts of `new` that differ from those of `old`, a store named `since`."""
    before, after = tidy.values(old), tidy.values(new)
    values = _differing(before, after, [*COLUMN, "pretrain_seed", "finetune_seed"], ["run_id", "status", "value"])
    values.insert(0, "change", [_change(line) for line in _lines(values)])
    means = _differing(_means(before), _means(after), COLUMN, ["mean", "seeds"], ["mean"])
    verdicts = _differing(tidy.claims(old), tidy.claims(new), CLAIM, ["verdict", "effect", "n"], ["verdict"])
    kinds = ", ".join(f"{number} {kind}" for kind, number in values["change"].value_counts(sort=False).items())
    summary = f"{count(len(values), 'value')} changed ({kinds})" if kinds else "No value changed: the same runs"
    summary += f"; {count(len(means), 'mean')} moved, {count(len(verdicts), 'verdict')} changed."
    return Changes(
        since,
        values,
        Table(
            ("variant", "on", "old", "new", "new minus old", "seeds"),
            tuple(
                (
                    _name(line, "variant", many=len(set(means["study"])) > 1),
                    line["measurement"] + ("" if line["milestone"] == 100 else f" at {line['milestone']} %"),
                    _text(line["mean_old"]),
                    _text(line["mean_new"]),
                    signed(line["mean_new"] - line["mean_old"]) if line["seeds_old"] and line["seeds_new"] else EMPTY,
                    f"{line['seeds_old'] or 0:.0f} → {line['seeds_new'] or 0:.0f}",
                )
                for line in _lines(means)
            ),
        ),
        Table(
            ("claim", "on", "old", "new", "effect"),
            tuple(
                (
                    _name(line, "claim", many=len(set(verdicts["study"])) > 1),
                    line["measurement"],
                    line["verdict_old"] or EMPTY,
                    line["verdict_new"] or EMPTY,
                    " → ".join(
                        "-" if line[each] is None else signed(line[each]) for each in ("effect_old", "effect_new")
                    ),
                )
                for line in _lines(verdicts)
            ),
        ),
        summary,
    )


def _differing(
    old: pandas.DataFrame, new: pandas.DataFrame, key: list[str], values: list[str], judged: Sequence[str] = ()
) -> pandas.DataFrame:
    """The two tables joined by `key`, in the order of the new one; the lines in which a value that is `judged` differs.

    Where several lines have a key (one setting with two recipes), the first goes with the first.
    """
    import pandas

    both = [each.assign(place=each.groupby(key, dropna=False).cumcount()) for each in (new, old)]
    key = [*key, "place"]
    joined = pandas.concat([each[key] for each in both]).drop_duplicates()
    for each, name in zip(reversed(both), ("old", "new"), strict=True):
        named = each[[*key, *values]].rename(columns={value: f"{value}_{name}" for value in values})
        joined = joined.merge(named, how="left", on=key)
    known = [(joined[f"{name}_old"], joined[f"{name}_new"]) for name in judged or values]
    same = pandas.concat([(one == two) | (one.isna() & two.isna()) for one, two in known], axis=1).all(axis=1)
    return joined[~same].drop(columns="place").reset_index(drop=True)


def _means(values: pandas.DataFrame) -> pandas.DataFrame:
    """Means over seeds of means over fine-tuning seeds, and the number of seeds."""
    seeds = values.dropna(subset="value").groupby([*COLUMN, "pretrain_seed"], sort=False)["value"].mean()
    return seeds.groupby(COLUMN, sort=False).agg(mean="mean", seeds="count").reset_index()


def _change(line: dict[str, Any]) -> str:
    if line["run_id_old"] is None:
        return "added"
    if line["run_id_new"] is None:
        return "removed"
    if line["run_id_old"] != line["run_id_new"]:
        return "from another recipe"
    return "finished" if line["value_old"] is None else "lost" if line["value_new"] is None else "made again"


def _lines(table: pandas.DataFrame) -> list[dict[str, Any]]:
    known = table.astype(object).where(table.notna(), None)
    return [dict(zip(table.columns, line, strict=True)) for line in known.itertuples(index=False)]


def _name(line: dict[str, Any], what: str, *, many: bool) -> str:
    return f"{line['study']}, {line['scale']}: {line[what]}" if many else str(line[what])


def _text(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.2f}"
