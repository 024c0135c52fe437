"""What `bertlab.ablate` returns: the results of studies as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

    from bertlab.report.evidence import Evidence


@dataclass(frozen=True, repr=False)
class Ablation:
    """The results of studies, as `bertlab ablate` prints them. A notebook shows the table and the verdicts."""

    evidence: list[Evidence]
    """A study at its scale and on its corpus each; empty after a dry run."""
    complete: bool
    """Whether all runs have a result. The others have a failure, which `bertlab runs` lists."""

    @property
    def values(self) -> pandas.DataFrame:
        """A line for each planned value, in its unit, with the columns of a report's `<study>.csv`."""
        from bertlab.report import tidy

        return tidy.typed(tidy.values(self.evidence))

    @property
    def summary(self) -> pandas.DataFrame:
        """A line for each variant and measurement: mean, spread and difference to the baseline, beside the published.

        The columns are those of a report's `<study>-summary.csv`.
        """
        from bertlab.report import tidy

        return tidy.typed(tidy.summary(self.evidence))

    @property
    def table(self) -> pandas.DataFrame:
        """The table of the paper: mean values, a line for each variant and a column for each measurement.

        With several studies, the index has the study before the variant.
        """
        import pandas

        lines = {
            (each.study, variant): {
                name: found.mean for name in each.measurements if (found := each.summary(variant, name))
            }
            for each in self.evidence
            for variant in each.variants
        }
        levels = [[study for study, _ in lines], [variant for _, variant in lines]]
        index = pandas.MultiIndex.from_arrays(levels, names=("study", "variant"))
        columns = dict.fromkeys(name for each in self.evidence for name in each.measurements)
        means = pandas.DataFrame(list(lines.values()), index=index, columns=list(columns), dtype=float)
        return means.droplevel("study") if len({*levels[0]}) < 2 else means

    @property
    def verdicts(self) -> pandas.DataFrame:
        """A line for each claim: effect, 95 % interval, published effect and verdict, as in `<study>-claims.csv`."""
        from bertlab.report import tidy

        return tidy.typed(tidy.claims(self.evidence))

    def _shown(self) -> list[pandas.DataFrame]:
        """The table and, if there are claims, the main columns of the verdicts."""
        columns = ["claim", "measurement", "effect", "low", "high", "published", "verdict"]
        verdicts = self.verdicts[columns].set_index("claim").astype(object)
        return [self.table, verdicts.where(verdicts.notna(), "")] if len(verdicts) else [self.table]

    def __repr__(self) -> str:
        return "\n\n".join(each.to_string(na_rep="", float_format="{:.2f}".format) for each in self._shown())

    def _repr_html_(self) -> str:
        return "".join(each.to_html(na_rep="", float_format="{:.2f}".format) for each in self._shown())
