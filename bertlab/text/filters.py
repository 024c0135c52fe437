"""The rules by which C4 cleans pages of the web (Raffel et al. 2020, section 2.2): `corpus.filter`.

A page is a document. Rules of pages see all of it, then those of lines what these leave of it, then those of sentences.
What several rules would remove counts for the first one. The paper also keeps English pages alone, by a model that is
far slower than all of these rules: the pages here are taken to be of one language.
"""

import hashlib
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, unknown
from bertlab.recipe import Corpus
from bertlab.wording import pluralise

SPAN = 3
"""Sentences of a span that a text has once."""
_ENDS = (".", "!", "?", '"', "”")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]»]*(?=\s|$)")
_CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
_WORD = re.compile(r"\w+")
_POLICIES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")

Removes = Callable[[str], bool]
PAGES: dict[str, Removes] = {
    "lorem-ipsum": lambda page: "lorem ipsum" in page.lower(),
    "curly-brackets": lambda page: "{" in page or "}" in page,
}
"""Whether a page is removed, by the name of the rule."""
LINES: dict[str, Removes] = {
    "terminal-punctuation": lambda line: not line.endswith(_ENDS) or line.endswith("..."),  # as in the released code
    "five-words": lambda line: len(line.split()) < 5,
    "javascript": lambda line: "javascript" in line.lower(),
    "policies": lambda line: any(phrase in line.lower() for phrase in _POLICIES),
}
"""Whether a line without the space around it is removed."""
SHORT: dict[str, Removes] = {
    "three-sentences": lambda page: len(_SENTENCE_END.findall(page)) < 3,
    "five-sentences": lambda page: len(_SENTENCE_END.findall(page)) < 5,  # in the paper's first version
}
"""Whether what is left of a page is removed."""
BAD_WORDS, CITATIONS, SPANS = "bad-words", "citations", "repeated-spans"
RULES = {
    **dict.fromkeys((BAD_WORDS, *PAGES), "page"),
    CITATIONS: "mark",
    **dict.fromkeys(LINES, "line"),
    SPANS: "sentence",
    **dict.fromkeys(SHORT, "page"),
}
"""What each rule removes, in the order of the rules."""
C4 = tuple(rule for rule in RULES if rule not in (BAD_WORDS, "five-sentences"))
"""The rules of `c4`, to which a file of bad words adds one."""
USELESS = "--bad-words has no effect: set corpus.filter to bad-words, c4 or both with others"
"""The error of a file of bad words that no rule reads."""


def rules(corpus: Corpus) -> tuple[str, ...]:
    """The rules of a corpus, in their order. Raises `BadInput` for an unknown one, and for bad words without a file."""
    names = _named(corpus)
    for name in sorted(names):
        if name not in ("c4", *RULES):
            raise unknown("rule of corpus.filter", name, ["c4", *RULES])
    if "c4" in names:
        names |= {*C4, *([BAD_WORDS] if corpus.bad_words else [])}
    if (BAD_WORDS in names) != bool(corpus.bad_words):
        raise BadInput(
            "corpus.filter has the rule bad-words: give a file of them, one a line, with --bad-words"
            if BAD_WORDS in names
            else USELESS
        )
    return tuple(rule for rule in RULES if rule in names)


def reads_bad_words(corpus: Corpus) -> bool:
    """Whether the rules of a corpus remove pages for bad words, if a file of them is given."""
    return not _named(corpus).isdisjoint(("c4", BAD_WORDS))


def _named(corpus: Corpus) -> set[str]:
    return {*filter(None, corpus.filter.split(","))}


class Filter:
    """Makes pages of a text what the rules of its corpus leave of them, in their order, and counts what each removes.

    With `repeated-spans` it remembers all spans, which takes about 100 bytes of memory a sentence.
    """

    def __init__(self, corpus: Corpus, bad_words: Path | None = None) -> None:
        self._name = corpus.filter
        self.removed = dict.fromkeys(rules(corpus), 0)
        self._pages = {name: removes for name, removes in PAGES.items() if name in self.removed}
        if bad_words is not None:
            self._pages = {BAD_WORDS: _holding_any(bad_words), **self._pages}
        self._lines = {name: removes for name, removes in LINES.items() if name in self.removed}
        self._short = {name: removes for name, removes in SHORT.items() if name in self.removed}
        self._seen = set[bytes]()
        self.pages = self.left = 0

    def __call__(self, page: str) -> str:
        """What is left of a page; nothing if it is removed."""
        self.pages += 1
        page = self._filtered(page)
        self.left += bool(page)
        return page

    def _filtered(self, page: str) -> str:
        if self._any(self._pages, page):
            return ""
        if CITATIONS in self.removed:
            page, marks = _CITATION.subn("", page)
            self.removed[CITATIONS] += marks
        if self._lines:
            lines = map(str.strip, page.splitlines())
            page = "\n".join(line for line in lines if not (line and self._any(self._lines, line))).strip()
        spans = set[bytes]()
        if SPANS in self.removed:
            page = self._once(page, spans)
        if self._any(self._short, page):
            return ""
        self._seen |= spans
        return page

    def _any(self, removing: dict[str, Removes], text: str) -> bool:
        """Whether a rule removes a text, which counts for that rule."""
        for name, removes in removing.items():
            if removes(text):
                self.removed[name] += 1
                return True
        return False

    def _once(self, page: str, spans: set[bytes]) -> str:
        """A page without the spans that this page or one before it, of which something is left, has; adds its own to
        `spans`."""
        ends = [match.end() for match in _SENTENCE_END.finditer(page)]
        sentences = [page[begin:end] for begin, end in pairwise([0, *ends])]
        words, repeated = [" ".join(sentence.split()) for sentence in sentences], set[int]()
        for first in range(len(sentences) - SPAN + 1):
            span = "\n".join(words[first : first + SPAN]).encode("utf-8", "replace")
            hashed = hashlib.blake2b(span, digest_size=8).digest()
            if hashed in self._seen or hashed in spans:
                repeated.update(range(first, first + SPAN))
            spans.add(hashed)
        self.removed[SPANS] += len(repeated)
        if not repeated:
            return page
        sentences = [sentence for number, sentence in enumerate(sentences) if number not in repeated]
        return "".join((*sentences, page[ends[-1] :])).strip()

    def facts(self) -> dict[str, Any]:
        """What it did: the `rules` as they are set, the `pages`, those `left`, and the numbers `removed` by rule."""
        return {"rules": self._name, "pages": self.pages, "left": self.left, "removed": self.removed}


def sentence(facts: dict[str, Any]) -> str:
    """What a filter did, or before that its rules, in words."""
    if "pages" not in facts:
        return f"filter {facts['rules']}"
    removed = [f"{pluralise(n, RULES.get(rule, 'part'))} ({rule})" for rule, n in facts["removed"].items() if n]
    keeps = f"filter {facts['rules']} keeps {facts['left']:,} of {pluralise(facts['pages'], 'page')}"
    return f"{keeps} and removes {', '.join(removed) or 'nothing'}"


def _holding_any(path: Path) -> Removes:
    """Whether a page has one of the words or phrases in a file, one a line, upper and lower case alike."""
    try:
        lines = path.read_text(encoding="utf-8-sig").lower().splitlines()  # Windows puts a mark in front
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--bad-words {path} cannot be read ({error}): give a text file, one word a line") from None
    entries = {line.strip() for line in lines} - {""}
    if not entries:
        raise BadInput(f"--bad-words {path} has no words: give a text file, one word a line")
    words = {entry for entry in entries if _WORD.fullmatch(entry)}
    phrases = [re.compile(rf"(?<!\w){re.escape(entry)}(?!\w)") for entry in sorted(entries - words)]

    def removes(page: str) -> bool:
        lower = page.lower()
        return not words.isdisjoint(_WORD.findall(lower)) or any(phrase.search(lower) for phrase in phrases)

    return removes
