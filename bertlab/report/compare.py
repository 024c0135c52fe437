"""`bertlab report --compare OLD`: what changed since another store, by the tidy tables of the two.

Values are matched by `COLUMN` and both seeds; one without a counterpart was added or removed. Another run id means
another recipe, code or data version. Where a store has several recipes in one setting, each is matched with itself.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import pandas

from bertlab.report import tidy
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table
from bertlab.wording import pluralise

COLUMN = ["study", "scale", "setting", "key", "variant", "measurement", "dataset", "split", "metric", "milestone"]
"""The columns that identify a mean."""
CLAIM = ["study", "scale", "setting", "claim", "measurement", "at", "since"]
Tidy = Callable[[Sequence[StudyResults]], pandas.DataFrame]
"""A table of `tidy`."""


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


def compare(old: Sequence[StudyResults], new: Sequence[StudyResults], since: str) -> Changes:
    """The values, means and verdicts of `new` that differ from those of `old`, a store named `since`."""
    numbers = (Counter((study.name, study.scale, study.setting) for study in store) for store in (old, new))
    several = {setting for number in numbers for setting in number if number[setting] > 1}
    before, after = (_tables(tidy.values, store, several) for store in (old, new))
    values = _differing(before, after, [*COLUMN, "pretrain_seed", "finetune_seed"], ["run_id", "status", "value"])
    means = _table(_differing(_means(before), _means(after), COLUMN, ["value"]), "variant", "value")
    claimed, claims = (_tables(tidy.claims, store, several) for store in (old, new))
    verdicts = _table(_differing(claimed, claims, CLAIM, ["verdict"]), "claim", "verdict")
    summary = f"{pluralise(len(values), 'value')} changed" if len(values) else "No value changed: the same runs"
    summary += f"; {pluralise(len(means.rows), 'mean')} moved, {pluralise(len(verdicts.rows), 'verdict')} changed."
    return Changes(since, values, means, verdicts, summary)


def _tables(of: Tidy, store: Sequence[StudyResults], several: Collection[tuple[str, str, str]]) -> pandas.DataFrame:
    """The tables of a store, with the key of a section in settings with `several`; overrides are left out of the
    setting, so that a changed one is a change."""
    tables = []
    for study in store:
        key = study.key if (study.name, study.scale, study.setting) in several else ""
        tables.append(of([study]).assign(setting=study.setting, key=key))
    return pandas.concat([of([]), *tables], ignore_index=True)


def _differing(old: pandas.DataFrame, new: pandas.DataFrame, key: list[str], values: list[str]) -> pandas.DataFrame:
    """The lines of two tables, joined by `key`, in which one of the `values` differs; in the order of `new`.

    Where several lines share a key, they are joined in their order.
    """
    on = [*key, "place"]
    numbered = (table.assign(place=table.groupby(key, dropna=False).cumcount()) for table in (old, new))
    older, newer = (table[[*on, *values]] for table in numbered)
    joined = pandas.concat([newer[on], older[on]]).drop_duplicates().merge(older, how="left", on=on)
    joined = joined.merge(newer, how="left", on=on, suffixes=("_old", "_new"))
    joined = joined.astype(object).where(joined.notna(), None)
    differs = [any(line[f"{name}_old"] != line[f"{name}_new"] for name in values) for line in joined.to_dict("records")]
    return joined.loc[differs].drop(columns="place").reset_index(drop=True)


def _means(values: pandas.DataFrame) -> pandas.DataFrame:
    """Means over seeds of means over fine-tuning seeds."""
    measured = values.dropna(subset="value").astype({"value": float})
    seeds = measured.groupby([*COLUMN, "pretrain_seed"], sort=False)["value"].mean()
    return seeds.groupby(COLUMN, sort=False).mean().reset_index()


def _table(differing: pandas.DataFrame, name: str, value: str) -> Table:
    """A line for each difference, with the old and the new value."""
    rows = []
    for line in differing.to_dict("records"):
        at = "" if line.get("milestone", 100) == 100 else f" at {line['milestone']} %"
        both = (line[f"{value}_old"], line[f"{value}_new"])
        shown = (f"{number:.2f}" if isinstance(number, float) else number or "" for number in both)
        rows.append((f"{line['study']}, {line['scale']}: {line[name]}", line["measurement"] + at, *shown))
    words = ("on",) if value == "value" else ("on", "old", "new")
    return Table((name, "on", "old", "new"), tuple(rows), words)
