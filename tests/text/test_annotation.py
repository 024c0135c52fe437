"""Linguistic spans of text: those of the embedded text by its lexicon, those of a spaCy pipeline, and their marks."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus
from bertlab.synthetic import phrases, stories
from bertlab.synthetic.world import lexicon
from bertlab.text import annotation, document_file, sources, tokens
from bertlab.text.annotation import ENTITIES, NOUN_PHRASES
from bertlab.text.sentences import sentences
from bertlab.text.tokenizers import ByteLevelBPE, WordPiece


@pytest.fixture(autouse=True)
def _forget():
    yield
    annotation._pipeline.cache_clear()


def found(sentence):
    (spans,) = phrases.annotate([sentence])
    return [[sentence[begin:end] for kind, begin, end in spans if kind == each] for each in (ENTITIES, NOUN_PHRASES)]


# The embedded text


def test_spans_of_the_embedded_text_by_hand():
    one, two, three = lexicon().names[:3]
    assert found(f"Once there was a cruel weaver called {one} {two}.") == [
        [f"{one} {two}"],
        ["a cruel weaver", f"{one} {two}"],
    ]
    assert found(f"The trader {one} was happy, and her brand-new coat fell on {three}.") == [
        [one, three],
        [f"The trader {one}", "her brand-new coat", three],
    ]
    assert found(f"Indeed, to {one} {two} gave the jug.") == [[one, two], [one, two, "the jug"]]
    assert found(f"She moved to {one} {two}.") == [[f"{one} {two}"]] * 2
    assert found("She was sad and leaned on a stick.") == [[], []]


def test_a_token_with_any_character_of_a_span_is_in_it():
    """Also one that begins before it, and a space alone, which is a part of the word behind it."""
    tokenizer = SimpleNamespace(offsets=lambda texts: [([1, 2, 3, 4], [(0, 5), (5, 5), (5, 8), (8, 9)])])
    for begin, end, marks in ((2, 6, [2, 1, 1, 0]), (5, 8, [0, 2, 1, 0]), (4, 9, [2, 1, 1, 1])):
        (found,) = annotation.marks(["a text"], tokenizer, lambda texts, span=(begin, end): [[(ENTITIES, *span)]])
        assert [*found] == marks


def test_entities_are_the_names_of_the_cast_and_all_of_them(monkeypatch):
    names, full, cast = set(lexicon().names), 0, []
    named = stories.named
    monkeypatch.setattr(stories, "named", lambda *given: cast.append(named(*given)) or cast[-1])
    for document in stories.documents(300):
        for sentence in sentences(document):
            (entities, nouns), written = found(sentence), sentence.replace(",", "").replace(".", "").split()
            assert " ".join(entities).split() == [word for word in written if word in names]
            assert all(any(name in phrase for phrase in nouns) for name in entities)
            for name in entities:
                assert name in {each.full for each in cast} | {each.name for each in cast}
                full += " " in name
            longer = {each.full for each in cast if " " in each.full}
            assert sum(" " in name for name in entities) == sum(sentence.count(each) for each in longer)
        cast.clear()
    assert full > 300


# spaCy


class Pipeline:
    """What bertlab uses of a spaCy pipeline: capitals are persons, digits numbers, `the` begins a noun chunk of two."""

    def __init__(self, annotated=("DEP", "ENT_IOB"), version="3.1"):
        self.annotated, self.meta = annotated, {"version": version}

    def __call__(self, text):
        words, place = [], 0
        for word in text.replace(".", "").split():
            begin = text.index(word, place)
            place = begin + len(word)
            words.append(SimpleNamespace(text=word, start_char=begin, end_char=place))
        for word in words:
            word.label_ = "PERSON" if word.text.istitle() else "CARDINAL"
        pairs = [pair for pair in itertools.pairwise(words) if pair[0].text == "the"]
        return SimpleNamespace(
            ents=[word for word in words if word.text.istitle() or word.text.isdigit()],
            noun_chunks=[SimpleNamespace(start_char=one.start_char, end_char=two.end_char) for one, two in pairs],
            has_annotation=lambda name: name in self.annotated,
        )

    def pipe(self, texts):
        return map(self, texts)


def install(monkeypatch, pipeline):
    def load(name, exclude):
        if name != "made_up":
            raise OSError(f"[E050] Can't find model '{name}'.")
        return pipeline

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))


def text(tmp_path):
    path = tmp_path / "text.jsonl"
    path.write_text('{"text": "Anna saw the mice. She fed 12 of them to the cat."}\n{"text": "Bob slept. The end."}\n')
    return sources.resolve(str(path), machine=Machine(cache=tmp_path / "cache"))


def test_a_corpus_has_the_spans_of_a_pipeline(monkeypatch, tmp_path):
    install(monkeypatch, Pipeline())
    located = text(tmp_path)
    annotator = annotation.resolve("made_up", [located])
    assert annotator == annotation.resolve(annotator, [located]) == "made_up@3.1"
    vocabulary = tmp_path / "vocab.txt"
    entries = ["anna", "saw", "the", "mi", "##ce", "she", "fed", "12", "of", "them", "to", "cat", "bob", "slept", "end"]
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *entries]))
    settings, built = WordPiece(), {}
    for each in ("", annotator):
        directory = tmp_path / f"corpus{each}"
        directory.mkdir()
        corpus = Corpus(sources=(located.source,), annotator=each)
        tokens.prepare(corpus, settings, [located], directory, vocabulary_file=vocabulary, progress=silent)
        built[each] = tokens.open_corpus(directory, settings)
    marked, plain = built[annotator], built[""]
    assert plain.train.marks is None
    assert marked.facts["fingerprint"] != plain.facts["fingerprint"]
    read = {}
    for part, other in ((marked.train, plain.train), (marked.heldout, plain.heldout)):
        assert part.tokens.tolist() == other.tokens.tolist()
        pieces = [marked.tokenizer.vocabulary[number] for number in part.tokens]
        for kind in (ENTITIES, NOUN_PHRASES):
            marks = annotation.marks_of(kind, part.marks).tolist()
            read[kind, pieces[0]] = [(piece, mark) for piece, mark in zip(pieces, marks, strict=True) if mark]
    assert read == {
        (ENTITIES, "anna"): [("anna", 2), ("she", 2)],  # 12 is a number
        (NOUN_PHRASES, "anna"): [("the", 2), ("mi", 1), ("##ce", 1), ("the", 2), ("cat", 1)],
        (ENTITIES, "bob"): [("bob", 2), ("the", 2)],
        (NOUN_PHRASES, "bob"): [],
    }


def test_marks_with_byte_level_bpe_and_no_tokens(monkeypatch):
    tokenizer = ByteLevelBPE(vocabulary=300).train(["the café of Zoë", "the tea"] * 5)
    texts = ["the café of Zoë", ""]
    marks = annotation.marks(texts, tokenizer, lambda given: [[(1, 0, 8), (0, 12, 15)], []])
    assert marks[1] == b""
    (ids, offsets), marked = tokenizer.offsets(texts)[0], np.frombuffer(marks[0], dtype=np.uint8)
    assert len(ids) == len(marked)
    for (begin, _), entity, phrase in zip(offsets, marked & 3, marked >> 2, strict=True):  # a space is in front of Zoë
        assert (entity > 0) == (begin >= 12)
        assert (phrase > 0) == (begin < 8)
    assert [(marked & 3).tolist().count(2), (marked >> 2).tolist().count(2)] == [1, 1]


def test_a_token_in_which_two_spans_begin_begins_one():
    tokenizer = ByteLevelBPE(vocabulary=300).train(["a 10km b"] * 9)
    (_, offsets), *_ = tokenizer.offsets(["10km"])
    assert len(offsets) < 4
    marks = annotation.marks(["10km"], tokenizer, lambda given: [[(0, 0, 1), (0, 1, 4)]])
    assert np.frombuffer(marks[0], dtype=np.uint8)[0] & 3 == annotation.BEGINS


def test_blocks_are_annotated_in_batches(monkeypatch):
    monkeypatch.setattr(document_file, "BATCH", 20)
    tokenizer = ByteLevelBPE(vocabulary=300).train(["the cat of Anna"] * 5)
    texts = ["Anna slept. Bob saw the cat.", "x", "The cat slept. Anna too."]
    made = document_file.tokenise(texts, tokenizer, lambda given: [[(0, 0, 1)] for _ in given])
    marks = np.frombuffer(made.marks, dtype=np.uint8)
    begins = np.cumsum(made.sentences) - made.sentences
    assert len(marks) == made.sentences.sum()
    assert np.flatnonzero(marks == annotation.BEGINS).tolist() == begins.tolist()
    monkeypatch.setattr(tokenizer, "offsets", lambda texts: [([5], [(0, 1)]) for _ in texts])
    with pytest.raises(BadInput, match="pack and offsets"):
        document_file.tokenise(texts, tokenizer, lambda given: [[] for _ in given])


@pytest.mark.parametrize(
    ("name", "pipeline", "said"),
    [
        ("../mine", Pipeline(), "is no name of a spaCy pipeline"),
        ("other", Pipeline(), "cannot be loaded"),
        ("made_up", Pipeline(annotated=["DEP"]), "finds no named entities"),
        ("made_up", Pipeline(annotated=["ENT_IOB"]), "finds no noun phrases"),
        ("made_up@3.0", Pipeline(), "version 3.1 is installed"),
        ("", Pipeline(), "--set corpus.annotator=en_core_web_sm"),
    ],
)
def test_a_pipeline_that_cannot_be_used_is_one_line(monkeypatch, tmp_path, name, pipeline, said):
    install(monkeypatch, pipeline)
    with pytest.raises(BadInput, match=said) as error:
        annotation.resolve(name, [text(tmp_path)])
    assert "\n" not in str(error.value)


def test_without_spacy_the_line_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(BadInput, match=r"needs spaCy: run `pip install -c .* '\.\[spacy\]'` in the source tree"):
        annotation.resolve("en_core_web_sm", [text(tmp_path)])


@pytest.mark.skipif(importlib.util.find_spec("spacy") is None, reason="spaCy is not installed")
def test_a_pipeline_of_spacy_itself(monkeypatch, tmp_path):
    import spacy
    from spacy.language import Language

    @Language.component("heads")
    def heads(document):
        for token in document:
            token.pos_, token.dep_ = ("PROPN", "nsubj") if token.text.istitle() else ("ADJ", "amod")
        return document

    pipeline = spacy.blank("en")
    monkeypatch.setattr(spacy, "load", lambda name, exclude: pipeline)
    for component, missing in (("heads", "finds no noun phrases"), ("entity_ruler", "finds no named entities")):
        annotation._pipeline.cache_clear()
        with pytest.raises(BadInput, match=missing):
            annotation.resolve("made_up", [text(tmp_path)])
        pipeline.add_pipe(component)
    patterns = [{"label": "PERSON", "pattern": "Anna Smith"}, {"label": "DATE", "pattern": "May"}]
    pipeline.get_pipe("entity_ruler").add_patterns(patterns)
    annotation._pipeline.cache_clear()
    annotate = annotation.load(annotation.resolve("made_up", [text(tmp_path)]))
    assert [*annotate(["in May old Anna Smith ran", "x"])] == [
        [(ENTITIES, 11, 21), (NOUN_PHRASES, 3, 6), (NOUN_PHRASES, 11, 15), (NOUN_PHRASES, 16, 21)],
        [],
    ]
