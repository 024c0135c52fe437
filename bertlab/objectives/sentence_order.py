"""Sentence-order prediction (ALBERT section 3.1): do two consecutive segments, of one topic, stand in their order?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bertlab.objectives.sentence_pair import SentencePair
from bertlab.recipe.objective import Pairing


@dataclass(frozen=True, kw_only=True)
class SentenceOrder(SentencePair):
    """Predicts from [CLS] whether consecutive segments stand in order (0) or are exchanged (1), half each.

    A pair without a mirror image, such as a sentence that is split at a token, stands in order and is not predicted:
    its form would reveal the order. (ALBERT's released code pairs a lone sentence with a segment of another document.)
    """

    kind: ClassVar[str] = "sentence_order"
    labels: ClassVar[str] = "swapped"
    labelled: ClassVar[str] = "have an order"
    pairing: ClassVar[Pairing | None] = Pairing(random=0.0, exchanged=0.5)
    metric_labels: ClassVar[Mapping[str, str]] = {"sentence_order_accuracy": "sentence order"}
    meaning: ClassVar[str] = "Sentence order: the accuracy on held-out pairs, half of them exchanged; 50 % is chance."
