"""Named entities (SpanBERT: Joshi et al. 2020, Table 6)."""

from dataclasses import dataclass
from typing import ClassVar

from bertlab.objectives.selection.linguistic import LinguisticSelection
from bertlab.text.annotation import ENTITIES


@dataclass(frozen=True, kw_only=True)
class Entities(LinguisticSelection):
    """Half of the tokens by named entities, the others by whole words. Numbers and dates are no entities here,
    as in the paper."""

    kind: ClassVar[str] = "entities"
    span: ClassVar[int] = ENTITIES
    spans: ClassVar[str] = "named entities"
