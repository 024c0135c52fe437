"""Tokenizers, one file each, behind the protocol of `bertlab.recipe.tokenizer`."""

from bertlab.text.tokenizers.base import SPECIALS, TrainedTokenizer
from bertlab.text.tokenizers.wordpiece import WordPiece

__all__ = ["SPECIALS", "TrainedTokenizer", "WordPiece"]
