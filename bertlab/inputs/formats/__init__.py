"""How sequences are cut out of documents, one file a format, behind the protocol `bertlab.recipe.Format`."""

from bertlab.inputs.formats.base import Layout
from bertlab.inputs.formats.segment_pair import SegmentPairs, segment_pairs, single_segments
from bertlab.inputs.formats.sentence_pair import SentencePairs, sentence_pairs
from bertlab.inputs.formats.whole_sentences import DocSentences, FullSentences, doc_sentences, full_sentences

__all__ = [
    "DocSentences",
    "FullSentences",
    "Layout",
    "SegmentPairs",
    "SentencePairs",
    "doc_sentences",
    "full_sentences",
    "segment_pairs",
    "sentence_pairs",
    "single_segments",
]
