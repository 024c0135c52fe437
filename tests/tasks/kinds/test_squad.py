"""SQuAD's metrics, against the official definition by hand and an implementation not ours; the threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.tasks.kinds import span as squad

CASES = [
    # said, right answers, exact, F1 as (words in common, words said, words right) or a number
    # Case, spaces
    ("Paris", ["Paris"], 1, 1),
    ("paris", ["PARIS"], 1, 1),
    ("  Paris ", ["Paris"], 1, 1),
    ("New  York", ["new york"], 1, 1),
    ("New\tYork\n", ["New York"], 1, 1),
    ("Paris", ["London"], 0, 0),
    ("Élan", ["élan"], 1, 1),
    ("elan", ["élan"], 0, 0),
    # Articles
    ("the cat", ["cat"], 1, 1),
    ("a cat", ["The cat"], 1, 1),
    ("an apple", ["apple"], 1, 1),
    ("cat the dog", ["cat dog"], 1, 1),
    ("theatre", ["atre"], 0, 0),
    ("another", ["other"], 0, 0),
    ("a b", ["b"], 1, 1),
    ("The The", ["cat"], 0, 0),
    ("Los Angeles the", ["Los Angeles"], 1, 1),
    ("a.", ["b"], 0, 0),
    # Punctuation
    ("U.S.", ["US"], 1, 1),
    ("U.S.", ["u s"], 0, 0),
    ("(1972)", ["1972"], 1, 1),
    ("$3.5", ["35"], 1, 1),
    ("well-known", ["wellknown"], 1, 1),
    ("well-known", ["well known"], 0, 0),
    ("don't", ["dont"], 1, 1),
    ("“Paris”", ["Paris"], 0, 0),  # only ASCII's own marks are taken away
    ("Paris, France", ["Paris France"], 1, 1),
    ("the, cat", ["cat"], 1, 1),
    ("th.e cat", ["cat"], 1, 1),  # marks go before articles do
    ("a-cat", ["cat"], 0, 0),
    # Words in common
    ("in October 1973", ["October 1973"], 0, (2, 3, 2)),
    ("October", ["October 1973"], 0, (1, 1, 2)),
    ("1973 October", ["October 1973"], 0, 1),
    ("the big black cat", ["black cat"], 0, (2, 3, 2)),
    ("one two three four", ["three four five six"], 0, (2, 4, 4)),
    ("x x x", ["x"], 0, (1, 3, 1)),
    ("x x y", ["x x z"], 0, (2, 3, 3)),
    ("y x", ["x x"], 0, (1, 2, 2)),
    # Several answers: the nearest counts
    ("1973", ["October 1973", "1973"], 1, 1),
    ("October", ["1973", "October 1973", "in October"], 0, (1, 1, 2)),
    ("October 1974", ["October", "1974 in the October crisis"], 0, (1, 2, 1)),
    ("cat", ["dog", "mouse"], 0, 0),
    ("cat", ["the cat", "cat", "a cat"], 1, 1),
    # Nothing said, nothing to say
    ("", [], 1, 1),
    ("", ["cat"], 0, 0),
    ("cat", [], 0, 0),
    ("the", [], 1, 1),
    ("...", [""], 1, 1),
    ("", ["the", "cat"], 0, 0),  # an answer of which nothing is left does not count beside another
    ("The", ["the"], 1, 1),
]


@pytest.mark.parametrize(("said", "right", "exact", "f1"), CASES)
def test_the_official_definition(said, right, exact, f1):
    if isinstance(f1, tuple):
        same, words, others = f1
        precision, recall = same / words, same / others
        f1 = 2 * precision * recall / (precision + recall)
    assert squad.exact(said, right) == exact
    assert squad.f1(said, right) == pytest.approx(f1)


def test_there_are_fifty_cases():
    assert len(CASES) == 50
    assert len({(said, *right) for said, right, *_ in CASES}) == 50


def test_two_hundred_random_predictions_against_torchmetrics():
    """Which has the script of 1.1: every question has an answer, of at least a word."""
    from torchmetrics.functional.text import squad as reference

    draw = np.random.default_rng(0)
    words = ["the", "a", "An", "cat", "Cat.", "dog", "big", "(red)", "1973", "St. John's", "u.s.", "—", "of"]
    texts = []
    while len(texts) < 200:
        said, *right = (" ".join(draw.choice(words, draw.integers(1, 6))) for _ in range(draw.integers(2, 5)))
        if squad.normalised(said) and all(map(squad.normalised, right)):
            texts.append((said, right))
    for number, (said, right) in enumerate(texts):
        found = reference(
            {"prediction_text": said, "id": str(number)},
            {"answers": {"text": right, "answer_start": [0] * len(right)}, "id": str(number)},
        )
        assert 100 * squad.exact(said, right) == pytest.approx(found["exact_match"].item())
        assert 100 * squad.f1(said, right) == pytest.approx(found["f1"].item())
    assert 0 < np.mean([squad.exact(said, right) for said, right in texts]) < 1


def test_the_threshold_of_a_case_counted_by_hand():
    # Answering the first 0, 1, ... 5 is worth 2, 3, 3.5, 2.5, 3.3, 2.3: silent, the third and the fifth are right.
    margins = np.array([9.0, 4.0, 2.0, -1.0, -3.0])
    answered = np.array([1.0, 0.5, 0.0, 0.8, 0.0])
    silent = np.array([0.0, 0.0, 1.0, 0.0, 1.0])
    assert squad.best_threshold(margins, answered, silent) == 3.0
    assert squad.best_threshold(margins, answered, silent * 0) == -2.0, "the fifth adds nothing"
    assert squad.best_threshold(margins, answered * 0, silent) == 9.0, "not one is answered: none has a margin above it"
    assert squad.best_threshold(margins, answered + 2, silent) < -3.0, "all are answered"


@given(
    st.lists(
        st.tuples(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0]), st.sampled_from([0.0, 0.3, 1.0]), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_no_threshold_is_better(questions):
    margins, answered, silent = (np.array(column, float) for column in zip(*questions, strict=True))

    def worth(tau):
        return np.where(margins > tau, answered, silent).sum()

    best = max(worth(tau) for tau in (-10.0, *margins, *(margins + 0.1)))
    assert worth(squad.best_threshold(margins, answered, silent)) == pytest.approx(best)
