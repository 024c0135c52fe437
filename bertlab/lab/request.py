"""What a command asks for: the options that define a plan."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.errors import BadInput, unknown
from bertlab.lab.jobs import Pretrained
from bertlab.lab.scales import Scale
from bertlab.lab.studies import without_training
from bertlab.lab.study import RANDOM_INIT, Measurement, Study
from bertlab.names import plain

RATE = "lr_factor"
"""The field of an adaptation that a search of learning rates chooses."""
LONGEST_NAME = 60
"""The most characters of the name of a setting."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of a command that define a plan."""

    studies: tuple[Study, ...]
    scale: Scale
    corpora: tuple[str, ...] = ()
    """Names or paths; empty for the corpora of the scale."""
    vocabulary: Path | None = None
    """A `vocab.txt` to use instead of training one."""
    bad_words: Path | None = None
    """The file of the words for which `corpus.filter` removes a page."""
    substitutes: Mapping[str, str] = field(default_factory=dict)
    """Data sets that replace those of tasks."""
    intermediate_task: Mapping[str, str] = field(default_factory=dict)
    """Data sets on which all weights are trained before a task."""
    seeds: Sequence[int] = (0,)
    """Pre-training seeds, ascending."""
    claim_seeds: Sequence[int] = ()
    """Pre-training seeds, ascending, of what claims compare; `claim_plan.make` plans them."""
    finetune_seeds: int = 0
    """Fine-tuning seeds per pre-training; 0 for the number of the study or the scale."""
    only: tuple[str, ...] = ()
    """Variants to run; empty for all."""
    measure: tuple[str, ...] = ()
    """Measurements to make; empty for all."""
    curves: bool = False
    """Whether measurements without training are made at every milestone of the scale."""
    random_init: bool = False
    measured: bool = True
    """Whether variants are compared; if not, they may be the same runs."""
    held_back: bool = False
    """Evaluate fine-tunings on held-back training examples."""
    pretrained: Pretrained | None = None
    """The model that all variants measure instead of pre-training their own."""
    searched: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The settings that a search chose, by task; the scale contains them too."""
    rates: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """The learning rates that a search chose, as multiples of those without it, by study, variant and task."""
    tries: tuple[str, ...] = ()
    """Ids of the runs of the search."""
    timed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The steps that take as long as the baseline's, by study and variant."""
    speeds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Measured training speeds by study and variant; see `Study.speeds`."""
    name: str = ""
    """What reports call the setting; it changes no run and no id."""
    keep: bool = False
    """Whether runs keep the fine-tuned models."""

    def __post_init__(self) -> None:
        if self.name != plain(self.name) or len(self.name) > LONGEST_NAME:
            example = f"at most {LONGEST_NAME} characters on one line, such as more-examples"
            raise BadInput(f"--name is {self.name[:LONGEST_NAME]!r}: give {example}")
        if not 1 <= len(self.seeds) <= 1000:
            raise BadInput(f"--seeds names {len(self.seeds)} seeds: give 1 to 1,000")
        if not 0 <= self.finetune_seeds <= 1000:
            raise BadInput(
                f"--finetune-seeds is {self.finetune_seeds}: give 1 to 1,000, or 0 for the study's or the scale's"
            )
        text = self.corpora or self.vocabulary or self.bad_words or self.scale.recipe.corpus.words
        if self.pretrained is not None and (text or tuple(self.seeds) != (0,)):
            raise BadInput(
                "--from is one finished pre-training: leave out --corpus, --words, --vocab and --seeds, and --bad-words"
            )
        variants = [*(variant.name for study in self.studies for variant in study.variants), RANDOM_INIT]
        columns = itertools.chain.from_iterable((*one.measurements, *without_training(one)) for one in self.studies)
        measurements = [measurement.name for measurement in columns]
        for what, requested, names in (("variant", self.only, variants), ("measurement", self.measure, measurements)):
            for name in requested:
                if name not in names:
                    raise unknown(what, name, names)

    def rate(self, study: Study, variant: str, task: str) -> float:
        """The chosen learning rate of a variant on a task; 1 without a search."""
        return self.rates.get(study.name, {}).get(variant, {}).get(task, 1.0)

    def measurements(self, study: Study) -> list[Measurement]:
        """The measurements of a study that are asked for, with their milestones."""
        chosen = [one for one in study.measurements if not self.measure or one.name in self.measure]
        milestones = (*self.scale.milestones, 100)
        return [
            dataclasses.replace(one, milestones=milestones) if self.curves and not one.trains else one for one in chosen
        ]
