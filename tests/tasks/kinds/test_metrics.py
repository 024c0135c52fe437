"""Metrics of each kind, against scikit-learn, scipy, seqeval and cases counted by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from bertlab.tasks.kinds import KINDS
from multibootstrap import weighted

NAMES = ("O", "B-A", "I-A", "B-B", "I-B")


def of(true, guessed, sentences=None):
    number = {name: at for at, name in enumerate(NAMES)}
    true, guessed = (np.array([number[tag] for tag in tags.split()]) for tags in (true, guessed))
    owners = np.zeros(len(true), int) if sentences is None else np.array(sentences)
    return values("tagging", guessed, true, NAMES, owners)


def values(kind, prediction, label, names=(), sentence=None):
    arrays = {"prediction": np.array(prediction), "label": np.array(label), "sentence": sentence}
    return KINDS[kind].values(arrays, names)


def test_two_classes():
    found = values("classification", [1, 1, 0, 0, 1], [1, 0, 0, 1, 1], ("no", "yes"))
    assert found["accuracy"] == pytest.approx(60)
    assert found["f1"] == pytest.approx(100 * 2 / 3)
    assert found["matthews"] == pytest.approx(100 / 6)


def test_a_constant_guess():
    found = values("classification", [0] * 4, [1, 0, 0, 0], ("no", "yes"))
    assert found == {"accuracy": 75, "f1": 0, "matthews": 0}
    assert "f1" not in values("classification", [0] * 3, [2, 1, 0], ("a", "b", "c"))


def test_a_class_that_is_neither_predicted_nor_present_has_no_part_in_macro_f1():
    """F1 of a is 1 / 2 and of c 0, and b has none, as in scikit-learn."""
    found = values("classification", [0, 0, 2], [0, 2, 0], ("a", "b", "c"))
    assert found["macro_f1"] == pytest.approx(100 * (1 / 2 + 0) / 2)
    assert found["macro_f1"] == pytest.approx(100 * f1_score([0, 2, 0], [0, 0, 2], average="macro"))
    assert values("classification", [0, 0, 1], [0, 2, 0], ("a", "b", "c"))["macro_f1"] == pytest.approx(50 / 3)
    metric = KINDS["classification"].metric("macro_f1", {"prediction": np.array([0, 1, 2]), "label": np.arange(3)})
    assert weighted(metric, np.array([[1.0, 1, 1], [2, 1, 0]])).tolist() == [100, 100], "nor in a resample without it"


QUESTIONS = {"question": np.array([3, 3, 5, 3, 5, 9]), "label": np.array([0, 1, 1, 0, 1, 0])}


def test_a_question_is_right_if_all_its_examples_are():
    """Of question 3 one of three answers is wrong; 5 and 9 are right: two of three questions, five of six answers."""
    kind, guess = KINDS["classification"], QUESTIONS | {"prediction": np.array([0, 1, 1, 1, 1, 0])}
    found = kind.values(guess, ("wrong", "right"))
    assert found["exact"] == pytest.approx(200 / 3)
    assert found["accuracy"] == pytest.approx(500 / 6)
    assert "exact" not in kind.values({name: each for name, each in guess.items() if name != "question"}, ())
    assert kind.values(QUESTIONS | {"prediction": QUESTIONS["label"]}, ())["exact"] == 100
    assert kind.values(QUESTIONS | {"prediction": 1 - QUESTIONS["label"]}, ())["exact"] == 0


def test_a_resample_of_paragraphs_weighs_their_questions():
    """Paragraph 0 has questions 3 and 5, of which one is right; 1 has question 9, which is."""
    groups = {"group": np.array([0, 0, 0, 0, 0, 1]), "prediction": np.array([0, 1, 1, 1, 1, 0])}
    metric = KINDS["classification"].metric("exact", QUESTIONS | groups)
    assert metric.value == pytest.approx(200 / 3)
    assert weighted(metric, np.array([[1.0, 1], [2, 0], [0, 2], [1, 3]])) == pytest.approx([200 / 3, 50, 100, 80])
    assert metric.contributions().mean() == pytest.approx(metric.value)


def test_correlations():
    score = np.array([0.0, 1.0, 2.0, 3.0])
    assert values("regression", 2 * score + 1, score) == pytest.approx({"pearson": 100, "spearman": 100})
    cube = values("regression", score**3, score)
    assert cube == pytest.approx({"pearson": 100 * np.corrcoef(score**3, score)[0, 1], "spearman": 100})
    assert values("regression", np.ones(4), score) == {"pearson": 0, "spearman": 0}


@given(st.lists(st.tuples(st.floats(-9, 9, width=16), st.integers(0, 5)), min_size=3))
def test_correlations_are_those_of_scipy(rows):
    prediction, label = (np.array(column, float) for column in zip(*rows, strict=True))
    if min(prediction.std(), label.std()) < 0.01:
        return
    found = values("regression", prediction, label)
    assert found["pearson"] == pytest.approx(100 * pearsonr(prediction, label).statistic, abs=1e-5)
    assert found["spearman"] == pytest.approx(100 * spearmanr(prediction, label).statistic, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1), st.booleans())
def test_labels_are_judged_as_by_scikit_learn(rows, three):
    prediction, label = (np.minimum(column, 1 + three) for column in zip(*rows, strict=True))
    found = values("classification", prediction, label, ("a", "b", "c")[: 2 + three])
    assert found["accuracy"] == pytest.approx(100 * accuracy_score(label, prediction))
    if len({*prediction, *label}) > 1:
        assert found["matthews"] == pytest.approx(100 * matthews_corrcoef(label, prediction))
    if three:
        assert found["macro_f1"] == pytest.approx(100 * f1_score(label, prediction, average="macro", zero_division=0))
    else:
        assert found["f1"] == pytest.approx(100 * f1_score(label, prediction, zero_division=0))


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
            before = "O"
            for name in (NAMES[tag] for tag in tags[owners == owner]):
                names.append(f"B{name[1:]}" if name[0] == "I" and before[1:] != name[1:] else name)
                before = name
            names.append("O")
        found, start = set(), 0
        for at, name in enumerate([*names, "O"]):
            if not name.startswith("I") and start is not None and at > start and names[start][0] == "B":
                found.add((start, at, names[start][2:]))
            if not name.startswith("I"):
                start = at
        return found

    one, two = spans(true), spans(guessed)
    expected = 200 * len(one & two) / (len(one) + len(two)) if one or two else 0
    assert values("tagging", guessed, true, NAMES, owners)["f1"] == pytest.approx(expected)


def test_tags_that_are_no_entities_have_an_accuracy():
    assert values("tagging", [0, 1], [1, 1], ("NOUN", "VERB"), np.zeros(2, int)) == {"accuracy": 50}


@given(st.lists(st.tuples(st.sampled_from(range(5)), st.sampled_from(range(5)), st.booleans()), min_size=1))
def test_entities_are_those_of_seqeval(words):
    prediction, label = (np.array([word[place] for word in words]) for place in (0, 1))
    sentence = np.cumsum([word[2] for word in words])
    starts = np.flatnonzero(np.diff(sentence)) + 1
    guessed, true = ([[NAMES[tag] for tag in part] for part in np.split(tags, starts)] for tags in (prediction, label))
    expected = precision_recall_fscore_support(true, guessed, average="micro", zero_division=0)[:3]
    found = values("tagging", prediction, label, NAMES, sentence)
    assert [found[name] for name in ("precision", "recall", "f1")] == pytest.approx([100 * each for each in expected])


def test_the_majority_floor():
    train, label = (SimpleNamespace(targets=np.array(each)) for each in
                    ([1, 1, 0], [0, 0, 1, 0]))  # fmt: skip
    guess = KINDS["classification"].majority(None, None, train, label)
    assert KINDS["classification"].values(guess, ("no", "yes"))["accuracy"] == 25
    train.targets = np.array([0, 0, 1])
    floor = {**KINDS["tagging"].majority(None, None, train, label), "sentence": np.zeros(4, int)}
    assert KINDS["tagging"].values(floor, NAMES) == {"accuracy": 75, "precision": 0, "recall": 0, "f1": 0}
