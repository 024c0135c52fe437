"""Linguistic spans of a text, named entities and noun phrases: found once, when its corpus is prepared.

Those of the synthetic text follow from its own lexicon (`synthetic.phrases`); for other text the user names a spaCy
pipeline. Each token has a byte of marks, two bits for each kind of span.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.arrays import Array
from bertlab.errors import BadInput, first_line, install
from bertlab.names import shown

if TYPE_CHECKING:
    from bertlab.text.sources import Located
    from bertlab.text.tokenizers.base import TrainedTokenizer

Span = tuple[int, int, int]
"""A kind, and the characters at which a span of it begins and ends."""
Annotator = Callable[[Sequence[str]], Iterable[Iterable[Span]]]
"""Maps sentences to their spans; those of one kind do not overlap."""

ENTITIES, NOUN_PHRASES = 0, 1
"""The kinds of spans."""
CONTINUES, BEGINS = 1, 2
"""The marks of each token of a span after the first one, and of the first one."""

NUMERICAL = ("CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME")
"""Labels of spaCy's entities that are numbers; they are left out."""
_WORLD = "microworld"


def marks_of(kind: int, marks: Array) -> Array:
    """Selects the marks of one kind of span: 0, `CONTINUES` or `BEGINS`."""
    marks_of_kind: Array = marks >> 2 * kind & 3
    return marks_of_kind


def resolve(annotator: str, located: Sequence[Located]) -> str:
    """The annotator of a text with its version, as recipes hold it: `annotator`, or that of the synthetic text.

    Raises `BadInput` if other text has none, or if the one given cannot be used.
    """
    name, _, version = annotator.partition("@")
    if not name:
        other = next((corpus.source.name for corpus in located if corpus.origin != _WORLD), None)
        if other is not None:
            raise BadInput(
                f"corpus '{other}' has no linguistic spans: name a spaCy pipeline that marks them, as in --set "
                "corpus.annotator=en_core_web_sm"
            )
        name = _WORLD
    current = _version(name)
    if version not in ("", current):
        raise BadInput(f"corpus.annotator is {annotator}, and version {current} is installed: install {version}")
    return f"{name}@{current}"


def load(annotator: str) -> Annotator:
    """The annotator that `resolve` names. Raises `BadInput` if another version is installed here."""
    resolve(annotator, ())
    name = annotator.partition("@")[0]
    if name == _WORLD:
        from bertlab.synthetic import phrases

        return phrases.annotate
    return functools.partial(_annotate, _pipeline(name))


def marks(texts: Sequence[str], tokenizer: TrainedTokenizer, annotate: Annotator) -> list[bytes]:
    """The marks of the tokens of each text, a byte each. A token is in a span if any of its characters is."""
    from bertlab.text.tokenizers.base import valid

    packed = []
    for (ids, offsets), spans in zip(tokenizer.offsets(texts), annotate([*map(valid, texts)]), strict=True):
        marked = np.zeros(len(ids), dtype=np.uint8)
        begins, ends = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
        for kind, begin, end in spans:
            # A space alone, as byte-level BPE has them in front of words, is a token of no characters.
            first, last = np.searchsorted(begins, begin), np.searchsorted(begins, end)
            first = min(first, np.searchsorted(ends, begin, side="right"))
            if first < last:
                marked[first:last] |= CONTINUES << 2 * kind
                marked[first] ^= CONTINUES << 2 * kind
                marked[first] |= BEGINS << 2 * kind
        packed.append(marked.tobytes())
    return packed


def _version(name: str) -> str:
    if name == _WORLD:
        from bertlab.synthetic import phrases

        return str(phrases.VERSION)
    return str(_pipeline(name).meta["version"])


def _annotate(pipeline: Any, texts: Sequence[str]) -> Iterator[list[Span]]:
    for text in pipeline.pipe(texts):
        entities = [(ENTITIES, span.start_char, span.end_char) for span in text.ents if span.label_ not in NUMERICAL]
        yield [*entities, *((NOUN_PHRASES, chunk.start_char, chunk.end_char) for chunk in text.noun_chunks)]


@functools.lru_cache(maxsize=1)
def _pipeline(name: str) -> Any:
    """The installed spaCy pipeline of this name. Raises `BadInput` if there is none, or if it finds too little."""
    what = f"corpus.annotator {shown(name)}"
    if not name.isidentifier():
        raise BadInput(f"{what} is no name of a spaCy pipeline: give that of an installed one, as en_core_web_sm")
    try:
        import spacy
    except ImportError:
        advice = f"{install('spacy')}, then `python -m spacy download {name}`"
        raise BadInput(f"{what} needs spaCy: {advice}") from None
    try:
        pipeline = spacy.load(name, exclude="lemmatizer")  # no span needs it
    except (ImportError, OSError, ValueError) as error:
        raise BadInput(
            f"{what} cannot be loaded ({first_line(error)}): run `python -m spacy download {name}`"
        ) from None
    try:
        probe = pipeline("Anna sees the old town.")
        chunks = probe.has_annotation("DEP") and list(probe.noun_chunks)
    except (NotImplementedError, ValueError):
        chunks = False
    if chunks is False:
        raise BadInput(
            f"{what} finds no noun phrases: name a pipeline with a parser, of a language that has them in spaCy"
        )
    if not probe.has_annotation("ENT_IOB"):
        raise BadInput(f"{what} finds no named entities: name a pipeline with an entity recogniser")
    return pipeline
