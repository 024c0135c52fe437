"""Metrics, against scikit-learn, seqeval and cases counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.tasks import metrics, tagging

NAMES = ("O", "B-A", "I-A", "B-B", "I-B")


def of(true, guessed, sentences=None):
    number = {name: at for at, name in enumerate(NAMES)}
    true, guessed = (np.array([number[tag] for tag in tags.split()]) for tags in (true, guessed))
    owners = np.zeros(len(true), int) if sentences is None else np.array(sentences)
    return metrics.tagging(guessed, true, owners, NAMES)


def test_two_classes():
    found = metrics.classification(np.array([1, 1, 0, 0, 1]), np.array([1, 0, 0, 1, 1]), 2)
    assert found["accuracy"] == pytest.approx(60)
    assert found["f1"] == pytest.approx(100 * 2 / 3)
    assert found["matthews"] == pytest.approx(100 / 6)


def test_a_constant_guess():
    found = metrics.classification(np.zeros(4, int), np.array([1, 0, 0, 0]), 2)
    assert found == {"accuracy": 75, "f1": 0, "matthews": 0}
    assert "f1" not in metrics.classification(np.zeros(3, int), np.array([2, 1, 0]), 3)


def test_correlations():
    score = np.array([0.0, 1.0, 2.0, 3.0])
    assert metrics.pearson(2 * score + 1, score) == pytest.approx(100)
    assert metrics.spearman(score**3, score) == pytest.approx(100)
    assert metrics.pearson(score**3, score) == pytest.approx(100 * np.corrcoef(score**3, score)[0, 1])
    assert metrics.pearson(np.ones(4), score) == metrics.spearman(np.ones(4), score) == 0


def test_an_entity_needs_its_type_and_both_ends():
    found = of("B-A I-A O B-B O B-A", "B-A I-A O B-A O O")
    assert (found["precision"], found["recall"]) == (pytest.approx(50), pytest.approx(100 / 3))
    assert found["f1"] == pytest.approx(40)
    assert found["accuracy"] == pytest.approx(100 * 4 / 6)
    assert of("B-A I-A O", "B-A O O")["f1"] == 0


def test_entities_end_with_their_sentence():
    assert of("B-A B-A", "B-A I-A", sentences=[0, 0])["f1"] == 0
    assert of("B-A B-A", "B-A I-A", sentences=[0, 1])["f1"] == 100, "conlleval takes a leading I as an opening"


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), min_size=1, max_size=40))
def test_entity_f1_is_that_of_sets_of_spans(rows):
    true, guessed, breaks = (np.array(column) for column in zip(*rows, strict=True))
    owners = np.cumsum(breaks)

    def spans(tags):
        names = []
        for owner in np.unique(owners):
            names += [*tagging.bio([NAMES[tag] for tag in tags[owners == owner]]), "O"]
        found, start = set(), 0
        for at, name in enumerate([*names, "O"]):
            if not name.startswith("I") and start is not None and at > start and names[start][0] == "B":
                found.add((start, at, names[start][2:]))
            if not name.startswith("I"):
                start = at
        return found

    one, two = spans(true), spans(guessed)
    expected = 200 * len(one & two) / (len(one) + len(two)) if one or two else 0
    assert metrics.tagging(guessed, true, owners, NAMES)["f1"] == pytest.approx(expected)


def test_tags_that_are_no_entities_have_an_accuracy():
    assert metrics.tagging(np.array([0, 1]), np.array([1, 1]), np.array([0, 0]), ("NOUN", "VERB")) == {"accuracy": 50}


def test_the_majority_floor():
    train, label, owner = np.array([1, 1, 0]), np.array([0, 0, 1, 0]), np.arange(4)
    assert metrics.majority("classification", train, label, owner, ("no", "yes"))["accuracy"] == 25
    floor = metrics.majority("tagging", np.array([0, 0, 1]), np.array([0, 1, 0, 0]), np.zeros(4, int), NAMES)
    assert floor == {"accuracy": 75, "precision": 0, "recall": 0, "f1": 0}
