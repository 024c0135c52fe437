"""Backbones: one file each, behind the protocol `BackboneConfig`."""

from bertlab.recipe.backbones.base import BackboneConfig as BackboneConfig
from bertlab.recipe.backbones.base import Size as Size
from bertlab.recipe.backbones.bert import Model as Model
from bertlab.recipe.backbones.bert import NormPosition as NormPosition
from bertlab.recipe.backbones.bilstm import BiLSTM as BiLSTM
from bertlab.recipe.backbones.bitransformer import BiTransformer as BiTransformer
from bertlab.recipe.backbones.lstm import LSTM as LSTM
from bertlab.recipe.backbones.modern_bert import ModernBert as ModernBert
from bertlab.recipe.backbones.t5 import T5 as T5
from bertlab.recipe.backbones.transformer import Positions as Positions
from bertlab.recipe.backbones.transformer import TransformerConfig as TransformerConfig
