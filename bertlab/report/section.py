"""What the record of a study says of it: its setting, its baseline, its claims, and the name of its section."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from bertlab.lab.claim import Claim
from bertlab.lab.needs import Sizes
from bertlab.report.averages import AverageColumn
from bertlab.report.looks import Looks
from bertlab.store.addenda import Remark
from bertlab.store.record import Speeds


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus, as its record has it."""

    name: str
    """The name that its record has as a new one (`union.name_of`): of its study, scale, setting and examples."""
    study: str
    scale: str
    question: str
    source: str
    command: str
    baseline: str
    """The variant that the others are compared with."""
    defined: Mapping[str, Sequence[str]]
    """The names of all `variants` and `measurements` of the study, run or not."""
    corpus: Sequence[str]
    pretrained: str
    """The run or checkpoint that all variants share, if none of them is pre-trained; else empty."""
    synthetic: bool
    """Whether text or tasks come from the synthetic corpus."""
    substitutes: Mapping[str, str]
    """Data sets in place of a task's own."""
    medians: bool
    """Whether the published values are medians."""
    deviations: list[tuple[str, str]]
    """Deviations from the paper's setting, each with its measurement; an empty name stands for all measurements."""
    claims: tuple[Claim, ...]
    sizes: Mapping[str, Sizes]
    """What claims may need of the recipe of each variant, as far as it is known."""
    later: frozenset[Claim] = frozenset()
    """The claims that the study did not make when the record was written."""
    averages: tuple[AverageColumn, ...]
    notes: Sequence[str]
    intermediate_task: Mapping[str, str]
    """By task, the task that is trained on before it."""
    searched: Mapping[str, Mapping[str, float]]
    """Settings that a search chose, by task."""
    setting_name: str = ""
    """What its command calls the setting (`--name`)."""
    own_options: tuple[str, ...] = ()
    """What sets it apart from the study's other sections at this scale on this corpus, beside a name: options of its
    command, or its key."""
    overrides: tuple[str, ...] = ()
    """All options that change the scale's recipe, tasks or settings; the key too where they do not set it apart."""
    speeds: Speeds
    """The training speeds of variants, as multiples of one of them; mostly none."""
    remarks: tuple[Remark, ...] = ()
    """Sentences beside its verdicts, of the store."""
    looks: Looks | None
    """The looks at claims whose seeds were added in rounds; None for a number of seeds that was fixed."""

    @property
    def unit(self) -> str:
        """What n counts in a difference."""
        return "fine-tuning seed" if self.pretrained else "pre-training seed"

    @property
    def seeds(self) -> str:
        """The plural of the unit, in short."""
        return "fine-tuning seeds" if self.pretrained else "seeds"

    @property
    def setting(self) -> str:
        """The corpus or the checkpoint: `on wikitext-103`, `from bert-base-uncased`."""
        return f"from {self.pretrained}" if self.pretrained else f"on {' and '.join(self.corpus)}"

    @property
    def place(self) -> str:
        """Scale, setting, and its name or what sets it apart: `tiny on wikitext-103 with schedule.steps=9000`."""
        own = ", ".join(filter(None, (self.setting_name, *self.own_options)))
        return f"{self.scale} {self.setting} with {own}" if own else f"{self.scale} {self.setting}"

    @property
    def full_setting(self) -> str:
        """Setting and overrides, for tables that leave the project: `on wikitext-103 with schedule.steps=9000`."""
        own = ", ".join(filter(None, (self.setting_name, *self.overrides)))
        return f"{self.setting} with {own}" if own else self.setting

    def comparable(self, measurement: str) -> bool:
        """Whether sizes, and not directions alone, compare with the paper's."""
        return all(on not in ("", measurement) for on, _ in self.deviations)

    @cached_property
    def key(self) -> str:
        """Eight hexadecimal digits that identify this section among all; more seeds do not change them."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:8]
