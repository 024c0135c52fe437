"""The minimal pairs of the world's language: one word differs, the right one is right, and counting tells nothing."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab import synthetic as microworld
from bertlab.synthetic.language import VERSION, Draw
from bertlab.synthetic.minimal_pairs import PARADIGMS, minimal_pair
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.stories import documents
from bertlab.synthetic.world import lexicon, names
from bertlab.tasks import ngrams
from bertlab.tasks.kinds import KINDS
from bertlab.text.tokens import Part

LABELS = tuple(PARADIGMS)


def words(sentence):
    return re.findall(r"[a-z-]+|[.,]", sentence.lower())


def label_of(row):
    return LABELS.index(f"{row['phenomenon']}/{row['paradigm']}")


@given(st.integers(0, 2 * len(PARADIGMS) - 1), st.integers(0), st.sampled_from(["validation", "test"]))
def test_the_sentences_of_a_pair_differ_in_one_word(label, number, split):
    draw = Draw("microworld", VERSION, "minimal-pairs", split, number)
    row = minimal_pair(Sample(draw, names(split), rare=True, label=label, id="one"))
    assert label_of(row) == label // 2
    good, bad = words(row["good"]), words(row["bad"])
    assert len(good) == len(bad)
    different = [pair for pair in zip(good, bad, strict=True) if {*pair} - {"a", "an"}]
    assert sum(one != two for one, two in different) == 1, "an article may follow the word"
    assert all(row[name][0].isupper() and row[name].endswith(".") for name in ("good", "bad"))


def test_the_right_word_agrees_with_what_decides(rows):
    """By the words of the world, without the templates."""
    world = lexicon()
    pole_of = {word: (id(scale), pole) for group in world.scales["person"] for scale in [group]
               for pole, synonyms in enumerate(scale.poles) for word in synonyms}  # fmt: skip
    side_of = {verb.past: side for verbs in world.transfers for side, both in enumerate(verbs.sides) for verb in both}
    status = {word: number for number, claim in enumerate(world.claims) for word in (*claim.verbs, *claim.nouns)}
    for row in rows("minimal-pairs", "test"):
        for name in ("good", "bad"):
            sentence, is_good = words(row[name]), name == "good"
            if row["phenomenon"] == "anaphor_agreement":
                feminine = not {"she", "her"}.isdisjoint(sentence)
                assert (("woman" in sentence) == feminine) == is_good
            elif row["phenomenon"] == "argument_structure":
                side = next(side_of[word] for word in sentence if word in side_of)
                assert (("from" in sentence) == side) == is_good
            elif row["paradigm"] == "opposite_adjective":
                one, two, three = (pole_of[word] for word in sentence if word in pole_of)
                assert one == two
                assert three[0] == one[0]
                assert (three[1] != one[1]) == is_good
            elif row["phenomenon"] == "factivity":
                said = next(status[word] for word in sentence if word in status)
                true = any(row[name].endswith(f"{tail}.") for tail in world.claims[0].tails)
                assert ((said == 0) == true) == is_good
            elif row["paradigm"] == "order_of_events":
                assert ((sentence[0] == "first") == ("then" in sentence)) == is_good


@pytest.mark.parametrize("split", ["validation", "test"])
def test_each_paradigm_has_as_many_pairs(rows, split):
    count = Counter(map(label_of, rows("minimal-pairs", split)))
    assert set(count.values()) == {100}
    assert len(count) == len(PARADIGMS)


def test_there_are_no_training_examples():
    assert microworld.rows("minimal-pairs", "train") == []


def test_lengths_frequencies_and_short_runs_of_words_tell_nothing(rows):
    """By paradigm within the noise of a hundred pairs, in all near 50 points."""
    vocabulary = {}

    def encoded(sentence):
        return [vocabulary.setdefault(word, len(vocabulary)) for word in words(sentence)]

    sentences = [encoded(sentence) for document in documents(4_000) for sentence in re.split(r"(?<=\.) ", document)]
    pairs = rows("minimal-pairs", "validation")
    asked = [encoded(row[name]) for name in ("good", "bad") for row in pairs]
    sizes = [*map(len, sentences)]
    tokens = np.array([token for sentence in sentences for token in sentence], np.uint16)
    text = Part(tokens, np.cumsum([0, *sizes]), np.array([0, len(sizes)]))
    labels = np.array([*map(label_of, pairs)])
    lengths = -np.array([*map(len, asked)], np.float64)
    for scores in (lengths, *ngrams.scores(asked, text, len(vocabulary))):
        good, bad = np.split(scores, 2)
        values = KINDS["minimal-pairs"].values({"margin": good - bad, "label": labels}, LABELS)
        assert values["accuracy"] == pytest.approx(50, abs=3)
        assert all(30 < points < 70 for name, points in values.items() if name.endswith("/accuracy"))
