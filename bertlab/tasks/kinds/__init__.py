"""The kinds of tasks, one file each: `Task.kind` names one of `KINDS`."""

from bertlab.errors import unknown
from bertlab.tasks.kinds.base import KINDS as KINDS
from bertlab.tasks.kinds.base import TaskKind
from bertlab.tasks.kinds.classification import Classification as Classification
from bertlab.tasks.kinds.coreference import Coreference as Coreference
from bertlab.tasks.kinds.coreference_resolution.kind import CoreferenceResolution as CoreferenceResolution
from bertlab.tasks.kinds.minimal_pairs import MinimalPairs as MinimalPairs
from bertlab.tasks.kinds.mixture import Mixture as Mixture
from bertlab.tasks.kinds.multiple_choice import MultipleChoice as MultipleChoice
from bertlab.tasks.kinds.regression import Regression as Regression
from bertlab.tasks.kinds.span import Span as Span
from bertlab.tasks.kinds.tagging import Tagging as Tagging
from bertlab.tasks.kinds.text_to_answer import TextToAnswer as TextToAnswer
from bertlab.tasks.kinds.text_to_label import TextToLabel as TextToLabel
from bertlab.tasks.kinds.text_to_number import TextToNumber as TextToNumber
from bertlab.tasks.kinds.text_to_text import TextToText as TextToText


def find(name: str, what: str = "kind of task") -> TaskKind:
    """The kind called `name`; `BadInput` with the nearest name for `what` if there is none."""
    if name not in KINDS:
        raise unknown(what, name, KINDS)
    return KINDS[name]
