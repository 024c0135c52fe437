"""Next-sentence prediction (BERT section 3.1 and appendix A.1): does the second segment follow the first?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bertlab.objectives.sentence_pair import SentencePair
from bertlab.recipe.objective import Pairing


@dataclass(frozen=True, kw_only=True)
class NextSentence(SentencePair):
    """Predicts from [CLS] whether the second segment follows the first (0) or is from another document (1).

    Half of the second segments are from another document with a masked LM alone too.
    """

    kind: ClassVar[str] = "next_sentence"
    labels: ClassVar[str] = "is_random_next"
    pairing: ClassVar[Pairing | None] = Pairing(random=0.5)
    metric_labels: ClassVar[Mapping[str, str]] = {"next_sentence_accuracy": "next sentence"}
    meaning: ClassVar[str] = "Next sentence: the accuracy on held-out pairs, half of them true; 50 % is chance."
