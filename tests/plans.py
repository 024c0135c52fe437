"""Plans of small studies, for tests."""

from bertlab.lab import plan, scales, studies
from bertlab.lab.study import Measurement, Study

MASKING = studies.find("masking")
LOSS = Measurement("loss", metric="perplexity")


def request(**changes):
    """What a command asks for, of the study masking at scale smoke unless `changes` say otherwise."""
    return plan.Request(**({"studies": (MASKING,), "scale": scales.find("smoke")} | changes))


def kinds(made):
    """The kinds of the jobs of a plan."""
    return [job.kind for job in made.jobs]


def own(*variants, measurements=(LOSS,)):
    """A study of these variants, the first of which is called `a`."""
    return Study(
        name="own", question="?", source="me", baseline="a", variants=[*variants], measurements=[*measurements]
    )
