"""What the record of a study says of it: its setting, its baseline, its claims, and the name of its section."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertlab.lab.claim import Claim
from bertlab.lab.needs import Sizes
from bertlab.store.addenda import Remark
from bertlab.store.record import Record


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus, as its record has it."""

    record: Record
    """The record, with the words of the study now."""
    key: str
    """Eight hexadecimal digits that identify this section among all; more seeds do not change them."""
    command: str
    """What runs the study again."""
    claims: tuple[Claim, ...]
    sizes: Mapping[str, Sizes]
    """What claims may need of the recipe of each variant, as far as it is known."""
    later: frozenset[Claim] = frozenset()
    """The claims that the study did not make when the record was written."""
    setting_name: str = ""
    """What its command calls the setting (`--name`)."""
    own_options: tuple[str, ...] = ()
    """What sets it apart from the study's other sections at this scale on this corpus, beside a name: options of its
    command, or its key."""
    overrides: tuple[str, ...] = ()
    """All options that change the scale's recipe, tasks or settings; the key too where they do not set it apart."""
    remarks: tuple[Remark, ...] = ()
    """Sentences beside its verdicts, of the store."""

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.record.study

    @property
    def scale(self) -> str:
        """The name of the scale."""
        return self.record.scale

    @property
    def baseline(self) -> str:
        """The variant that the others are compared with."""
        return self.record.baseline

    @property
    def pretrained(self) -> str:
        """The run or checkpoint that all variants share, if none of them is pre-trained; else empty."""
        return self.record.pretrained

    @property
    def unit(self) -> str:
        """What n counts in a difference."""
        return "fine-tuning seed" if self.pretrained else "pre-training seed"

    @property
    def seeds(self) -> str:
        """The plural of the unit, in short."""
        return "fine-tuning seeds" if self.pretrained else "seeds"

    @property
    def center(self) -> str:
        """What the published values are over seeds: `mean` or `median`."""
        return "median" if self.record.summary == "median" else "mean"

    @property
    def setting(self) -> str:
        """The corpus or the checkpoint: `on wikitext-103`, `from bert-base-uncased`."""
        return f"from {self.pretrained}" if self.pretrained else f"on {' and '.join(self.record.corpus)}"

    @property
    def heading(self) -> str:
        """Scale, setting, and its name or what sets it apart: `tiny on wikitext-103 with schedule.steps=9000`."""
        return _with(f"{self.scale} {self.setting}", self.setting_name, *self.own_options)

    @property
    def title(self) -> str:
        """What stands above its tables."""
        return f"scale {self.heading}"

    @property
    def columns(self) -> dict[str, Any]:
        """What tells the section from all others of a store, as columns of tables that leave the project."""
        setting = _with(self.setting, self.setting_name, *self.overrides)
        return {"study": self.name, "scale": self.scale, "setting": setting, "key": self.key}

    def comparable(self, measurement: str) -> bool:
        """Whether sizes, and not directions alone, compare with the paper's."""
        return all(deviation.on not in ("", measurement) for deviation in self.record.differences)


def _with(setting: str, *details: str) -> str:
    suffix = ", ".join(filter(None, details))
    return f"{setting} with {suffix}" if suffix else setting
