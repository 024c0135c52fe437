"""What `bertlab.ablate` returns: the results of studies as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

    from bertlab.report.study_results import StudyResults


@dataclass(frozen=True, repr=False)
class Ablation:
    """The results of studies, as `bertlab ablate` prints them. A notebook shows the table and the verdicts."""

    studies: list[StudyResults]
    """A study at its scale and on its corpus each; empty after a dry run."""
    complete: bool
    """Whether all runs have a result. The others have a failure, which `bertlab runs` lists."""

    @property
    def values(self) -> pandas.DataFrame:
        """A line for each planned value, in its unit, with the columns of a report's `<study>.csv`."""
        from bertlab.report import tidy

        return tidy.typed(tidy.values(self.studies))

    @property
    def summary(self) -> pandas.DataFrame:
        """A line for each variant and measurement: mean, spread and difference to the baseline, beside the published.

        The columns are those of a report's `<study>-summary.csv`.
        """
        from bertlab.report import tidy

        return tidy.typed(tidy.summary(self.studies))

    @property
    def table(self) -> pandas.DataFrame:
        """The table of the paper: mean values, a line for each variant and a column for each measurement.

        With several studies, the index has the study before the variant.
        """
        import pandas

        lines = {
            (study.name, variant): {
                name: summary.mean for name in study.measurements if (summary := study.summary(variant, name))
            }
            for study in self.studies
            for variant in study.variants
        }
        index = pandas.MultiIndex.from_tuples(lines, names=("study", "variant"))
        columns = dict.fromkeys(name for study in self.studies for name in study.measurements)
        means = pandas.DataFrame(list(lines.values()), index=index, columns=list(columns), dtype=float)
        return means.droplevel("study") if len({study for study, _ in lines}) < 2 else means

    @property
    def verdicts(self) -> pandas.DataFrame:
        """A line for each claim: effect, 95 % interval, published effect and verdict, as in `<study>-claims.csv`."""
        from bertlab.report import tidy

        return tidy.typed(tidy.claims(self.studies))

    def _shown(self) -> list[pandas.DataFrame]:
        """The table and, if there are claims, the main columns of the verdicts."""
        columns = ["claim", "measurement", "effect", "low", "high", "published", "verdict"]
        verdicts = self.verdicts[columns].set_index("claim").astype(object)
        return [self.table, verdicts.where(verdicts.notna(), "")] if len(verdicts) else [self.table]

    def __repr__(self) -> str:
        return "\n\n".join(table.to_string(na_rep="", float_format="{:.2f}".format) for table in self._shown())

    def _repr_html_(self) -> str:
        return "".join(table.to_html(na_rep="", float_format="{:.2f}".format) for table in self._shown())
