"""`bertlab report --compare OLD`: what changed since another store, by the tidy tables of the two.

Values are matched by `COLUMN` and both seeds; one without a counterpart was added or removed. Another run id means
another recipe, code or data version. Where a store has several recipes in one setting, each is matched with itself.
"""

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

import pandas

from bertlab.report import tidy
from bertlab.report.evidence import Evidence
from bertlab.report.tables import Table
from bertlab.wording import count

COLUMN = ["study", "scale", "setting", "key", "variant", "measurement", "dataset", "split", "metric", "milestone"]
"""The columns that identify a mean."""
CLAIM = ["study", "scale", "setting", "claim", "measurement", "at", "since"]


@dataclass(frozen=True)
class Changes:
    """What changed between two stores."""

    since: str
    """The name of the older store."""
    values: pandas.DataFrame
    """A line for each value that changed: run, status and value in both stores."""
    means: Table
    """The means over seeds that moved."""
    verdicts: Table
    summary: str


def compare(old: Sequence[Evidence], new: Sequence[Evidence], since: str) -> Changes:
    """The values, means and verdicts of `new` that differ from those of `old`, a store named `since`."""
    several = {place for store in (old, new) for place, number in Counter(map(_place, store)).items() if number > 1}
    before, after = (_values(store, several) for store in (old, new))
    values = _differing(before, after, [*COLUMN, "pretrain_seed", "finetune_seed"], ["run_id", "status", "value"])
    means = _table(_differing(_means(before), _means(after), COLUMN, ["value"]), "variant", "value")
    verdicts = _table(_differing(_claims(old), _claims(new), CLAIM, ["verdict"]), "claim", "verdict")
    summary = f"{count(len(values), 'value')} changed" if len(values) else "No value changed: the same runs"
    summary += f"; {count(len(means.rows), 'mean')} moved, {count(len(verdicts.rows), 'verdict')} changed."
    return Changes(since, values, means, verdicts, summary)


def _place(evidence: Evidence) -> tuple[str, str, str]:
    return evidence.study, evidence.scale, evidence.setting


def _values(store: Sequence[Evidence], several: Container[tuple[str, str, str]]) -> pandas.DataFrame:
    """The values of a store, with the key of their section in the settings that have several."""
    tables = [
        tidy.values([evidence]).assign(
            setting=evidence.setting, key=evidence.key if _place(evidence) in several else ""
        )
        for evidence in store
    ]
    return pandas.concat(tables or [tidy.values([])], ignore_index=True)


def _claims(store: Sequence[Evidence]) -> pandas.DataFrame:
    """The claims of a store; overrides are left out of the setting, so that a changed one is a change."""
    tables = [tidy.claims([evidence]).assign(setting=evidence.setting) for evidence in store]
    return pandas.concat(tables or [tidy.claims([])], ignore_index=True)


def _differing(old: pandas.DataFrame, new: pandas.DataFrame, key: list[str], values: list[str]) -> pandas.DataFrame:
    """The lines of two tables, joined by `key`, in which one of the `values` differs; in the order of `new`.

    Where several lines share a key, they are joined in their order.
    """
    numbered = [each.assign(place=each.groupby(key, dropna=False).cumcount()) for each in (old, new)]
    older, newer = (each[[*key, "place", *values]] for each in numbered)
    on = [*key, "place"]
    joined = pandas.concat([newer[on], older[on]]).drop_duplicates().merge(older, how="left", on=on)
    joined = joined.merge(newer, how="left", on=on, suffixes=("_old", "_new"))
    joined = joined.astype(object).where(joined.notna(), None)
    lines = joined.to_dict("records")
    differs = [any(line[f"{each}_old"] != line[f"{each}_new"] for each in values) for line in lines]
    return joined.loc[differs].drop(columns="place").reset_index(drop=True)


def _means(values: pandas.DataFrame) -> pandas.DataFrame:
    """Means over seeds of means over fine-tuning seeds."""
    known = values.dropna(subset="value").astype({"value": float})
    seeds = known.groupby([*COLUMN, "pretrain_seed"], sort=False)["value"].mean()
    return seeds.groupby(COLUMN, sort=False).mean().reset_index()


def _table(differing: pandas.DataFrame, name: str, value: str) -> Table:
    """A line for each difference, with the old and the new value."""
    rows = []
    for line in differing.to_dict("records"):
        at = "" if line.get("milestone", 100) == 100 else f" at {line['milestone']} %"
        both = (line[f"{value}_old"], line[f"{value}_new"])
        shown = (f"{each:.2f}" if isinstance(each, float) else each or "" for each in both)
        rows.append((f"{line['study']}, {line['scale']}: {line[name]}", line["measurement"] + at, *shown))
    words = ("on",) if value == "value" else ("on", "old", "new")
    return Table((name, "on", "old", "new"), tuple(rows), words)
