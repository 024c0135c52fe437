"""bertlab: reproduces the ablations behind BERT and its descendants, with the evidence for each finding.

Study files import from here: `from bertlab import Measurement, Study, Variant`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bertlab.public import MODULES
from bertlab.public import __version__ as __version__

if TYPE_CHECKING:
    from bertlab.adaptation import Adapters as Adapters
    from bertlab.adaptation import Features as Features
    from bertlab.adaptation import FineTuning as FineTuning
    from bertlab.api import make_recipe as make_recipe
    from bertlab.api import open_run as open_run
    from bertlab.api import prepare_corpus as prepare_corpus
    from bertlab.api import results as results
    from bertlab.lab.study import Claim as Claim
    from bertlab.lab.study import Measurement as Measurement
    from bertlab.lab.study import Size as Size
    from bertlab.lab.study import Study as Study
    from bertlab.lab.study import Variant as Variant
    from bertlab.lab.study import table as table
    from bertlab.objectives import CausalLM as CausalLM
    from bertlab.objectives import Corruption as Corruption
    from bertlab.objectives import GeometricSpans as GeometricSpans
    from bertlab.objectives import Loss as Loss
    from bertlab.objectives import MaskedLM as MaskedLM
    from bertlab.objectives import NextSentence as NextSentence
    from bertlab.objectives import Selection as Selection
    from bertlab.objectives import SentenceOrder as SentenceOrder
    from bertlab.objectives import Tokens as Tokens
    from bertlab.objectives import WholeWords as WholeWords
    from bertlab.recipe import Inputs as Inputs
    from bertlab.recipe import Model as Model
    from bertlab.recipe import Optimizer as Optimizer
    from bertlab.recipe import Recipe as Recipe
    from bertlab.recipe import Schedule as Schedule
    from bertlab.recipe import Tokenizer as Tokenizer
    from bertlab.tasks.task import Task as Task
    from bertlab.text.tokenizers import TrainedTokenizer as TrainedTokenizer
    from bertlab.text.tokenizers import WordPiece as WordPiece
    from bertlab.training.data import PretrainingDataModule as PretrainingDataModule
    from bertlab.training.data import TaskDataModule as TaskDataModule
    from bertlab.training.finetuning import FinetuningModule as FinetuningModule
    from bertlab.training.pretraining import PretrainingModule as PretrainingModule

if not TYPE_CHECKING:  # a type checker then reports misspelt imports from here
    __all__ = list(MODULES)

    def __getattr__(name: str) -> Any:
        """Imports a public name on its first use, so that `import bertlab` costs nothing."""
        if name not in MODULES:
            raise AttributeError(f"module 'bertlab' has no attribute {name!r}")
        return getattr(import_module(MODULES[name]), name)
