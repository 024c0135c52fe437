"""Tokenizers, one file each, behind the protocol `bertlab.recipe.Tokenizer`."""

from bertlab.text.tokenizers.base import SPECIALS, TrainedTokenizer
from bertlab.text.tokenizers.byte_level_bpe import ByteLevelBPE
from bertlab.text.tokenizers.modern_bpe import ModernBPE
from bertlab.text.tokenizers.t5_unigram import T5Unigram
from bertlab.text.tokenizers.unigram import Unigram
from bertlab.text.tokenizers.wordpiece import WordPiece

__all__ = ["SPECIALS", "ByteLevelBPE", "ModernBPE", "T5Unigram", "TrainedTokenizer", "Unigram", "WordPiece"]
