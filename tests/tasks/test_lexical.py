"""What counting words reaches on tasks of each kind, made up so that the answer is known."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from bertlab.tasks import lexical
from bertlab.tasks.data import sampled
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.span import Answers
from bertlab.tasks.task import RawExamples, TaskData

WORDS = ["crow", "pike", "moth", "jug", "cart", "lamp", "hill", "pond"]


def floor(data):
    return KINDS[data.kind].lexical_floor(data)


def task(kind, labels, make, count=400):
    def rows(seed):
        draw = np.random.default_rng(seed)
        text, found = zip(*(make(draw) for _ in range(count)), strict=True)
        return RawExamples(text=tuple(map(list, zip(*text, strict=True))), labels=list(found))

    return TaskData(
        name=f"{kind} {make.__name__}", dataset="toy", kind=kind, labels=labels, train=rows(0), evaluation=rows(1),
        test=rows(2), content="toy",
    )  # fmt: skip


def sum_of_two(draw):
    """Whether both words are from the same half: neither alone tells."""
    one, two = draw.integers(0, 4, 2)
    return (f"a {WORDS[one]}", f"the {WORDS[two]}"), int((one < 2) == (two < 2))


def the_same_word(draw):
    """Whether a word that comes once in all is in both texts."""
    new = [f"w{draw.integers(10**9)}" for _ in range(2)]
    label = int(draw.integers(2))
    return (f"a {new[0]}", f"the {new[0] if label else new[1]}"), label


def number_of_one(draw):
    word = int(draw.integers(8))
    return (f"the {WORDS[word]}", "it was"), float(word)


def ending_of_a_start(draw):
    word, label = int(draw.integers(8)), int(draw.integers(2))
    endings = [WORDS[word].upper(), WORDS[(word + 1) % 8].upper()]
    return (f"a {WORDS[word]}", *(endings if label == 0 else endings[::-1])), label


def word_after_the(draw):
    name = f"x{draw.integers(10**9)}"
    sentence, tags = (["the", name, "ran"], [0, 1, 0]) if draw.integers(2) else (["a", name, "ran"], [0, 0, 0])
    return (sentence,), np.array(tags)


def near_the_question(draw):
    one, two = (str(word) for word in draw.choice(WORDS, 2, replace=False))
    context = f"Anna saw the {one}. Some other things that happened were far from all of it. Berta lost the {two}."
    if draw.integers(3) == 0:
        return (f"Who praised someone else entirely {draw.integers(10**9)}?", context), Answers()
    asked, name = (f"Who saw the {one}?", "Anna") if draw.integers(2) else (f"Who lost the {two}?", "Berta")
    return (asked, context), Answers((name,), (context.index(name),))


@pytest.mark.parametrize(
    ("kind", "labels", "make", "metric", "least"),
    [
        ("classification", ("no", "yes"), sum_of_two, "accuracy", 99),
        ("classification", ("no", "yes"), the_same_word, "accuracy", 95),
        ("regression", (), number_of_one, "pearson", 95),
        ("multiple-choice", ("0", "1"), ending_of_a_start, "accuracy", 95),
        ("tagging", ("O", "B-X"), word_after_the, "f1", 95),
        ("span", (), near_the_question, "f1", 80),
    ],
)
def test_words_are_counted(kind, labels, make, metric, least):
    data = task(kind, labels, make)
    evaluated, tested = floor(data)
    assert min(evaluated[metric], tested[metric]) > least
    assert floor(dataclasses.replace(data)) is floor(data), "not computed once"


def test_half_of_a_pair_tells_nothing_where_it_is_built_so():
    data = task("classification", ("no", "yes"), sum_of_two)
    half = dataclasses.replace(
        data,
        content="half",
        **{
            name: dataclasses.replace(getattr(data, name), text=getattr(data, name).text[:1])
            for name in ("train", "evaluation", "test")
        },
    )
    assert 40 < floor(half)[0]["accuracy"] < 60
    alike = task("classification", ("no", "yes"), the_same_word)
    train, evaluated = (lexical.features(raw.text)[:, : lexical.COUNTS] for raw in (alike.train, alike.evaluation))
    labels = np.array(alike.train.labels)
    shared = lexical.fit(len(labels), np.arange(2), lambda rows: (train[rows], labels[rows])).predict(evaluated)
    assert np.mean(shared == alike.evaluation.labels) > 0.95


def test_one_label_alone_is_given_to_all():
    data = task("classification", ("no", "yes"), sum_of_two)
    ones = dataclasses.replace(
        data, content="ones", train=dataclasses.replace(data.train, labels=[1] * len(data.train))
    )
    assert floor(ones)[0]["accuracy"] == 100 * np.mean(data.evaluation.labels)


def test_it_is_fitted_on_as_many_examples_as_the_encoder_reads(monkeypatch):
    seen = []
    features = lexical.features
    monkeypatch.setattr(lexical, "features", lambda text: seen.append(len(text[0])) or features(text))
    for size in ("PART", "HELD_BACK", "TRIED"):
        monkeypatch.setattr(lexical, size, 80)  # a fifth of the examples
    data = dataclasses.replace(task("classification", ("no", "yes"), sum_of_two), content="as many")
    floor(data)
    assert (sum(seen[:-2]), seen[-2:]) == (len(data.train), [400, 400]), "each example is encoded once"
    assert max(seen[:-2]) == 80, "parts bound the memory"
    del seen[:]
    KINDS["classification"].lexical_floor(data, 20)
    assert sum(seen[2:-2]) == 20, "no more than the encoder trains on"
    assert len(lexical.words("word " * 999)) == lexical.WORDS


def test_more_examples_raise_it():
    draw = np.random.default_rng(0)
    few, many = (np.mean([_of_weak_words(count, draw) for _ in range(3)]) for count in (300, 9_000))
    assert many > few + 5


def _of_weak_words(count, draw):
    """The accuracy on new examples of 40 words, each of which tells a little of the label."""
    weights = np.random.default_rng(1).normal(size=500)

    def drawn(size):
        words = draw.integers(0, 500, (size, 40))
        labels = (weights[words].sum(1) + draw.normal(size=size) > 0).astype(int)
        return csr_matrix((np.ones(size * 40), words.ravel(), np.arange(size + 1) * 40), shape=(size, 500)), labels

    (inputs, labels), (others, right) = drawn(count), drawn(2000)
    model = lexical.fit(count, np.arange(2), lambda at: (inputs[at], labels[at]))
    return 100 * np.mean(model.predict(others) == right)


def test_the_penalty_is_chosen_on_held_back_examples(monkeypatch):
    draw = np.random.default_rng(0)
    inputs = csr_matrix(draw.normal(size=(300, 200)))  # of labels drawn without it: the larger penalty is better
    labels = draw.integers(0, 2, 300)
    weights = {}
    for penalties in ((1.0,), (1e-6,), (1e-6, 1.0)):
        monkeypatch.setattr(lexical, "PENALTIES", penalties)
        weights[penalties] = lexical.fit(300, np.arange(2), lambda at: (inputs[at], labels[at])).coef_
    assert np.array_equal(weights[1e-6, 1.0], weights[1.0,])
    assert not np.array_equal(weights[1.0,], weights[1e-6,])


def test_it_is_of_the_examples_that_are_evaluated():
    data = task("classification", ("no", "yes"), the_same_word)
    wrong = [label ^ (row % 5 == 0) for row, label in enumerate(data.evaluation.labels)]
    data = dataclasses.replace(data, content="wrong", evaluation=dataclasses.replace(data.evaluation, labels=wrong))
    few = sampled(data, 40)
    assert floor(data)[0]["accuracy"] == 80
    same = [one.split()[1] == two.split()[1] for one, two in zip(*few.evaluation.text, strict=True)]
    assert floor(few)[0]["accuracy"] == 100 * np.mean(np.array(same) == few.evaluation.labels)


def test_the_number_of_threads_changes_no_weight():
    draw = np.random.default_rng(0)
    rows, columns = 3000, 60_000  # BLAS divides vectors as long as this among its threads
    places = (draw.integers(0, columns, rows * 7), np.arange(rows + 1) * 7)
    inputs = csr_matrix((np.ones(rows * 7), *places), shape=(rows, columns))
    labels, weights = draw.integers(0, 2, rows), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            weights.append(lexical.fit(rows, np.arange(2), lambda at: (inputs[at], labels[at])).coef_)
    assert np.array_equal(*weights)
