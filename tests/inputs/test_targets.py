"""What losses have to predict in a text."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.targets import SEQUENCES, Targets, require, targets
from bertlab.machine import Machine
from bertlab.objectives import CausalLM, MaskedLM, NextSentence, SentenceOrder
from bertlab.objectives.selection import Entities
from bertlab.progress import silent
from bertlab.recipe import Corpus, Inputs, Recipe, Schedule
from bertlab.text import sources, tokens
from bertlab.text.annotation import BEGINS
from bertlab.text.tokenizers import WordPiece

ANIMALS = ("fox", "hen", "owl", "cow", "dog", "ant", "bee", "eel")


def prepared(folder, texts, vocabulary=200):
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    located = (sources.resolve(str(path), machine=Machine(cache=folder / "cache")),)
    (folder / "corpus").mkdir()
    made = Corpus(sources=tuple(each.source for each in located), heldout=0.1)
    tokenizer = WordPiece(vocabulary=vocabulary)
    tokens.prepare(made, tokenizer, located, folder / "corpus", progress=silent)
    return tokens.open_corpus(folder / "corpus", tokenizer)


def lines(place):
    """Three sentences about two animals."""
    one, other = ANIMALS[place % 8], ANIMALS[place // 8 % 8]
    return [f"The {one} number {place} sees the {other}.", f"It was the {other} that ran away.", f"So the {one} slept."]


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """Documents of one sentence."""
    return prepared(tmp_path_factory.mktemp("single"), [lines(place)[0] for place in range(60)])


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Documents of three sentences."""
    return prepared(tmp_path_factory.mktemp("several"), [" ".join(lines(place)) for place in range(400)])


def recipe(*objective, **inputs):
    return Recipe(objective=objective, inputs=Inputs(**{"length": 48} | inputs), schedule=Schedule(steps=9, warmup=0))


def found(given, corpus):
    return {each.words: each for each in targets(given, corpus)}


def test_the_order_of_sentences_has_no_target_where_documents_have_one(single, several):
    given = recipe(MaskedLM(), SentenceOrder())
    order = found(given, single)["of the pairs have an order"]
    assert (order.loss, order.having) == ("sentence_order", 0)
    assert order.sequences == len(single.train.documents) - 1, "each is one sequence, counted once"
    with pytest.raises(BadInput, match=f"sentence_order has no target in {order.sequences} sampled sequences"):
        require(targets(given, single))
    require(targets(given, several))
    assert found(given, several)["of the pairs have an order"].share > 0.9
    assert found(recipe(MaskedLM(), NextSentence()), single)["of the pairs have a label"].share == 1


def test_a_sample_is_bounded_and_the_same_each_time(several):
    given = recipe(MaskedLM(), SentenceOrder(), document_share=0.5)
    first, again = targets(given, several), targets(replace(given, seed=3), several)
    assert first == targets(given, several)
    assert {each.sequences for each in first + again} == {SEQUENCES}


@pytest.mark.parametrize("name", ["segment-pair", "sentence-pair", "full-sentences", "doc-sentences"])
def test_language_models_predict_something_in_every_format(several, name):
    for loss in (MaskedLM(), CausalLM()):
        (words, each), *_ = found(recipe(loss, format=name), several).items()
        assert (words, each.share) == ("of the sequences have something to predict", 1)


def test_spans_that_an_annotator_never_finds(several):
    size = len(several.train.tokens)
    bare = replace(several, train=replace(several.train, marks=np.zeros(size, dtype=np.uint8)))
    given = recipe(MaskedLM(selection=Entities()))
    assert found(given, bare)["of the sequences have named entities"].having == 0
    with pytest.raises(BadInput, match=r"masked_lm has no target .* named entities"):
        require(targets(given, bare))
    full = replace(several, train=replace(several.train, marks=np.full(size, BEGINS, dtype=np.uint8)))
    assert found(given, full)["of the sequences have named entities"].share == 1


@pytest.mark.parametrize(
    ("having", "sequences", "lacks"), [(0, 1, True), (4, 256, True), (5, 256, False), (3, 3, False)]
)
def test_fewer_than_a_handful_are_none(having, sequences, lacks):
    assert Targets("own", "of the pairs have a label", having, sequences).lacking is lacks


def test_an_audit_fails_without_targets_and_with_unknown_tokens(single, several, tmp_path):
    def failing(corpus, *objective):
        return {
            check.figure: check.found
            for each in audit(recipe(*objective), corpus)
            for check in each.checks
            if check.holds is False and check.figure.startswith(("targets", "unknown"))
        }

    order = MaskedLM(), SentenceOrder()
    assert failing(several, *order) == {}
    assert failing(single, *order) == {"targets of sentence_order": "0.00% of the pairs have an order"}
    many = ["".join(chr(0x4E00 + (97 * place + each) % 900) for each in range(60)) + "。" for place in range(60)]
    narrow = prepared(tmp_path, many, vocabulary=80)
    assert "unknown tokens" in failing(narrow, MaskedLM())
    assert narrow.facts["text"]["unknown"] > 0.5
