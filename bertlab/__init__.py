"""bertlab: reproduces the ablations behind BERT and its descendants, with the evidence for each finding.

What a study file needs is here by name: `from bertlab import Measurement, Study, Variant`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertlab.adaptation import Features as Features
    from bertlab.adaptation import FineTuning as FineTuning
    from bertlab.lab.study import Claim as Claim
    from bertlab.lab.study import Measurement as Measurement
    from bertlab.lab.study import Size as Size
    from bertlab.lab.study import Study as Study
    from bertlab.lab.study import Variant as Variant
    from bertlab.lab.study import table as table
    from bertlab.objectives import CausalLM as CausalLM
    from bertlab.objectives import Corruption as Corruption
    from bertlab.objectives import Loss as Loss
    from bertlab.objectives import MaskedLM as MaskedLM
    from bertlab.objectives import NextSentence as NextSentence
    from bertlab.recipe import Inputs as Inputs
    from bertlab.recipe import Model as Model
    from bertlab.recipe import Optimizer as Optimizer
    from bertlab.recipe import Schedule as Schedule
    from bertlab.recipe import Tokenizer as Tokenizer
    from bertlab.tasks.task import Task as Task

__version__ = "0.1.0"

__all__ = [
    "CausalLM",
    "Claim",
    "Corruption",
    "Features",
    "FineTuning",
    "Inputs",
    "Loss",
    "MaskedLM",
    "Measurement",
    "Model",
    "NextSentence",
    "Optimizer",
    "Schedule",
    "Size",
    "Study",
    "Task",
    "Tokenizer",
    "Variant",
    "__version__",
    "table",
]
_STUDY = ("Claim", "Measurement", "Size", "Study", "Task", "Variant", "table")
_OBJECTIVES = ("CausalLM", "Corruption", "Loss", "MaskedLM", "NextSentence")


def home(name: str) -> str | None:
    """The module of a public name; None if there is no such name."""
    if name not in __all__ or name == "__version__":
        return None
    if name in ("Features", "FineTuning"):
        return "bertlab.adaptation"
    if name in _OBJECTIVES:
        return "bertlab.objectives"
    return "bertlab.lab.study" if name in _STUDY else "bertlab.recipe"


if not TYPE_CHECKING:  # else no misspelt import from here would be an error to a type checker

    def __getattr__(name: str) -> Any:
        """Imports a public name when it is first used, so that `import bertlab` costs nothing."""
        module = home(name)
        if module is None:
            raise AttributeError(f"module 'bertlab' has no attribute {name!r}")
        return getattr(import_module(module), name)
