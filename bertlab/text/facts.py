"""Facts of a text that are said in one line before anything is trained, and that a report repeats.

They are JSON: `files` (those read, and all that could be), `filter` (see `text.filters`), `documents`, `words` (to
train on, where their number is limited), `sentences` of a document (their median), `single` (the share of documents of
one sentence), `unknown` (the share of the tokens that are [UNK]), `passes` (those of `inputs.epochs` and those that a
training makes, if they are fewer), and `targets` (of each loss, the share of a sample of sequences that have something
to predict, by words). What is not known is left out.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bertlab.arrays import Array
from bertlab.text import boundaries, filters, rows
from bertlab.text.sources import Located, documents, is_text
from bertlab.wording import pluralise

UNKNOWN = 0.01
"""The share of unknown tokens above which a vocabulary does not fit its text."""
SINGLE = 0.9
"""The share of documents of one sentence above which they are perhaps sentences of longer ones."""
SMALL = 16_000_000
"""Bytes of the files whose documents are counted for a plan, in less than a second."""
BEGINNING = 200_000
"""Characters of a text file that show how it is laid out."""
_RECORDS = 500
"""Records of a file that show whether they are lines."""
_LAYOUTS = {
    "babylm": "marks between documents (= = = TITLE = = =)",
    "article": "titles of articles (= Title =)",
    "blank-line": "a sentence a line, and blank lines",
}
"""What a file of several documents has, by the `corpus.documents` that separates them."""
_LOOKED_AT = 3
"""Files of a source that are looked at."""
_NAMED = 3
"""Files that a line names at most."""
_CHUNK = 1 << 24
"""Tokens that are looked at once."""


def before(located: Sequence[Located], unit: str) -> dict[str, Any]:
    """The facts of sources that are known before they are prepared: the files, and of small ones the documents."""
    facts = files(located)
    sizes = [path.stat().st_size for corpus in located for path in corpus.files]
    if not any(corpus.dataset for corpus in located) and sum(sizes) <= SMALL:
        # synthetic documents have a known number, and take a second to write
        facts["documents"] = sum(corpus.count or sum(1 for _ in documents(corpus, unit)) for corpus in located)
    return facts


def files(located: Sequence[Located]) -> dict[str, Any]:
    """How many files of the sources are read, and how many could be."""
    read = sum(len(corpus.files) for corpus in located)
    held = [corpus.dataset for corpus in located if corpus.dataset is not None]
    read += sum(len(dataset.files("train")) for dataset in held)
    every = read + sum(len(corpus.left) for corpus in located)
    every += sum(len({*path} - {*dataset.files("train")}) for dataset in held for path in dataset.splits.values())
    return {"files": [read, every]} if read else {}


def names(located: Iterable[Located]) -> str:
    """The names of the files that are read, where others of a folder are not; empty if there are no others."""
    read = [path.relative_to(corpus.folder).as_posix() for corpus in located if corpus.left for path in corpus.files]
    more = [f"{len(read) - _NAMED} more"] if len(read) > _NAMED else []
    return ", ".join([*read[:_NAMED], *more])


def of_text(tokens: Sequence[Array], offsets: Sequence[Array], unknown: int) -> dict[str, Any]:
    """The facts of a tokenised text in parts, in which the id of [UNK] is `unknown`.

    Of each part, `tokens` (T,) and the `offsets` (D + 1,) of its documents in its sentences.
    """
    sentences = np.concatenate([*map(np.diff, offsets)])
    chunks = (ids[start : start + _CHUNK] for ids in tokens for start in range(0, len(ids), _CHUNK))
    missed = sum(int(np.count_nonzero(chunk == unknown)) for chunk in chunks)
    return {
        "documents": len(sentences),
        "sentences": float(np.median(sentences)),
        "single": float((sentences == 1).mean()),
        "unknown": missed / sum(map(len, tokens)),
    }


def sentence(facts: Mapping[str, Any], files_read: str = "") -> str:
    """The facts in one line; `files_read` are the names of the files."""
    parts = []
    if facts.get("files"):
        read, every = facts["files"][0], facts["files"][-1]
        parts.append(f"{read:,} of {pluralise(every, 'file')}" if read < every else pluralise(read, "file"))
        parts[-1] += f" ({files_read})" if files_read else ""
    if "filter" in facts:
        parts.append(filters.sentence(facts["filter"]))
    if "documents" in facts:
        parts.append(pluralise(facts["documents"], "document"))
    if "words" in facts:
        parts.append(f"{pluralise(facts['words'], 'word')} to train on")
    if "sentences" in facts:
        parts.append(f"{facts['sentences']:.1f} sentences each (median)")
    if "unknown" in facts:
        parts.append(f"{100 * facts['unknown']:.1f} % unknown tokens")
    if facts.get("passes"):
        asked, passes = facts["passes"][0], facts["passes"][-1]
        parts.append(f"{passes:,} of {asked:,} passes")
    parts += [f"{100 * share:.0f} % {words}" for words, share in facts.get("targets", {}).items()]
    return ", ".join(parts)


def merged(texts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The distinct facts of texts, each with the lowest share of the `targets` of the recipes that read it."""
    distinct: list[tuple[dict[str, Any], dict[str, float]]] = []
    for text in texts:
        shared_facts = {name: value for name, value in text.items() if name != "targets"}
        lowest = next((shares for facts, shares in distinct if facts == shared_facts), None)
        if lowest is None:
            distinct.append((shared_facts, lowest := {}))
        for words, share in text.get("targets", {}).items():
            lowest[words] = min(share, lowest.get(words, share))
    return [{**facts, **({"targets": shares} if shares else {})} for facts, shares in distinct]


def doubts(facts: Mapping[str, Any]) -> list[str]:
    """What a user should know of a text that is perhaps not what it is taken for, a sentence each."""
    warnings = []
    if facts.get("unknown", 0) > UNKNOWN:
        warnings.append(
            f"{facts['unknown']:.1%} of the tokens are unknown ([UNK]), and models learn to predict them: take a "
            "larger tokenizer.vocabulary, one of bytes (tokenizer=byte_level_bpe), or another --vocab"
        )
    if facts.get("single", 0) >= SINGLE:
        warnings.append(
            f"{facts['single']:.0%} of the documents have one sentence: if they are sentences or lines of longer "
            "ones, say where these end, as with --set corpus.documents=blank-line (or article)"
        )
    if facts.get("passes"):
        asked, passes = facts["passes"][0], facts["passes"][-1]
        warnings.append(
            f"inputs.epochs is {asked:,}, but a training passes over its text {passes:,} times only: the fewest "
            "documents that it uses are too long; split them (--set corpus.documents=), or take more steps"
        )
    return warnings


def layout_doubts(located: Iterable[Located], unit: str) -> list[str]:
    """A sentence about the first file that looks like one of other documents than its type has."""
    by_type = (corpus for corpus in located if not corpus.source.lines)
    first = [(path, corpus.source.column) for corpus in by_type for path in corpus.files[:_LOOKED_AT]]
    for path, column in first if unit in ("by-type", "file", "record") else ():
        lines = [line.strip() for line in _beginning(path, column)]
        for other, what in _LAYOUTS.items():
            if boundaries.SIGNS[other](lines):
                return [f"{path.name} has {what}: if documents begin there, set corpus.documents={other}"]
    return []


def _beginning(path: Path, column: str) -> list[str]:
    """The first lines of a text file, or the first records of one line each."""
    if is_text(path):
        with rows.opened(path) as stream:
            text = stream.read(BEGINNING).decode("utf-8-sig", "ignore")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    records = [row.get(column) for row in itertools.islice(rows.read(path, column), _RECORDS)]
    return [text for text in records if isinstance(text, str) and "\n" not in text.strip()]
