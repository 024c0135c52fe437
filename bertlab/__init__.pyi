"""The public names, for type checkers and for `__init__.py`, which imports each from its module on first use."""

from bertlab.adaptation import Adapters as Adapters
from bertlab.adaptation import Features as Features
from bertlab.adaptation import FineTuning as FineTuning
from bertlab.api import ablate as ablate
from bertlab.api import make_recipe as make_recipe
from bertlab.api import open_run as open_run
from bertlab.api import prepare_corpus as prepare_corpus
from bertlab.api import report as report
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
from bertlab.objectives import NGrams as NGrams
from bertlab.objectives import Selection as Selection
from bertlab.objectives import SentenceOrder as SentenceOrder
from bertlab.objectives import SpanBoundary as SpanBoundary
from bertlab.objectives import Tokens as Tokens
from bertlab.objectives import WholeWords as WholeWords
from bertlab.recipe import Inputs as Inputs
from bertlab.recipe import Model as Model
from bertlab.recipe import Optimizer as Optimizer
from bertlab.recipe import Recipe as Recipe
from bertlab.recipe import Schedule as Schedule
from bertlab.recipe import Tokenizer as Tokenizer
from bertlab.report.ablation import Ablation as Ablation
from bertlab.tasks.task import Task as Task
from bertlab.text.tokenizers import ByteLevelBPE as ByteLevelBPE
from bertlab.text.tokenizers import TrainedTokenizer as TrainedTokenizer
from bertlab.text.tokenizers import WordPiece as WordPiece
from bertlab.training.data import PretrainingDataModule as PretrainingDataModule
from bertlab.training.data import TaskDataModule as TaskDataModule
from bertlab.training.finetuning import FinetuningModule as FinetuningModule
from bertlab.training.pretraining import PretrainingModule as PretrainingModule

__version__: str
