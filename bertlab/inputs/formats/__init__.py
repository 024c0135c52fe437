"""How sequences are cut out of documents, one file a format, behind the protocol `bertlab.recipe.Format`."""

from bertlab.inputs.formats.base import Layout as Layout
from bertlab.inputs.formats.chunks import Chunks as Chunks
from bertlab.inputs.formats.chunks import chunks as chunks
from bertlab.inputs.formats.segment_pair import SegmentPairs as SegmentPairs
from bertlab.inputs.formats.segment_pair import segment_pairs as segment_pairs
from bertlab.inputs.formats.segment_pair import single_segments as single_segments
from bertlab.inputs.formats.sentence_pair import SentencePairs as SentencePairs
from bertlab.inputs.formats.sentence_pair import sentence_pairs as sentence_pairs
from bertlab.inputs.formats.whole_sentences import DocSentences as DocSentences
from bertlab.inputs.formats.whole_sentences import FullSentences as FullSentences
from bertlab.inputs.formats.whole_sentences import doc_sentences as doc_sentences
from bertlab.inputs.formats.whole_sentences import full_sentences as full_sentences
