"""Recipes of pre-trainings: frozen dataclasses, the ranges of their fields, their ids and their cost. No torch."""

from bertlab.recipe.backbones import LSTM as LSTM
from bertlab.recipe.backbones import T5 as T5
from bertlab.recipe.backbones import BackboneConfig as BackboneConfig
from bertlab.recipe.backbones import BiLSTM as BiLSTM
from bertlab.recipe.backbones import BiTransformer as BiTransformer
from bertlab.recipe.backbones import Model as Model
from bertlab.recipe.backbones import ModernBert as ModernBert
from bertlab.recipe.backbones import NormPosition as NormPosition
from bertlab.recipe.backbones import Positions as Positions
from bertlab.recipe.backbones import Size as Size
from bertlab.recipe.backbones import TransformerConfig as TransformerConfig
from bertlab.recipe.objective import Loss as Loss
from bertlab.recipe.objective import Pairing as Pairing
from bertlab.recipe.recipe import OPTIONS as OPTIONS
from bertlab.recipe.recipe import SEED as SEED
from bertlab.recipe.recipe import Corpus as Corpus
from bertlab.recipe.recipe import Format as Format
from bertlab.recipe.recipe import Inputs as Inputs
from bertlab.recipe.recipe import Optimizer as Optimizer
from bertlab.recipe.recipe import Recipe as Recipe
from bertlab.recipe.recipe import Schedule as Schedule
from bertlab.recipe.recipe import Source as Source
from bertlab.recipe.recipe import Tokenizer as Tokenizer
