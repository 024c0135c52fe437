"""The kinds of tasks, one file each: `Task.kind` names one of `KINDS`."""

from bertlab.errors import unknown
from bertlab.tasks.kinds.base import TaskKind
from bertlab.tasks.kinds.classification import Classification
from bertlab.tasks.kinds.coreference import Coreference
from bertlab.tasks.kinds.coreference_resolution import CoreferenceResolution
from bertlab.tasks.kinds.multiple_choice import MultipleChoice
from bertlab.tasks.kinds.regression import Regression
from bertlab.tasks.kinds.span import Span
from bertlab.tasks.kinds.tagging import Tagging

KINDS: dict[str, TaskKind] = {
    kind.name: kind
    for kind in (
        Classification(),
        Regression(),
        MultipleChoice(),
        Coreference(),
        CoreferenceResolution(),
        Span(),
        Tagging(),
    )
}
"""Every kind by its name."""


def find(name: str, what: str = "kind of task") -> TaskKind:
    """The kind called `name`; `BadInput` with the nearest name for `what` if there is none."""
    if name not in KINDS:
        raise unknown(what, name, KINDS)
    return KINDS[name]
