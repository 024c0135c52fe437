"""The figures of a report, one per file: vector graphics, 7.2 inches wide."""

from bertlab.report.plots import curves, surface, variants
from bertlab.report.plots.figure import Picture as Picture
from bertlab.report.plots.figure import applied
from bertlab.report.study_results import StudyResults


def pictures(study: StudyResults) -> list[Picture]:
    """The figures of a section, in the order of the page."""
    every = (variants.effects, variants.points, curves.convergence, curves.losses, curves.finetuning, surface.surfaces)
    with applied():
        drawn = [draw(study) for draw in every]
    return [picture for picture in drawn if picture is not None]
