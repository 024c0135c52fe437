"""Windows, answers out of their scores, and SQuAD's metrics against the official definition and another
implementation."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.tasks.kinds import span
from bertlab.tasks.kinds import span as squad
from bertlab.tasks.kinds.span import Answers
from bertlab.tasks.task import RawExamples, Table, Task

WORD = st.text("abcdefgh", min_size=1, max_size=4)
CONTEXT = st.lists(st.tuples(WORD, st.sampled_from([" ", "  ", "\n"])), min_size=1, max_size=40).map(
    lambda words: "".join(word + gap for word, gap in words)
)


def encode(text, right, tokenizer, length, **options):
    return span.Span().encode(RawExamples(text=tuple(text), labels=right), tokenizer, length, **options)


def answers(*values):
    task = Task(kind="span", text=("question", "context"), label="answers")
    return span.Span().answers(task, Table("file", {"context": ["b c"] * len(values), "answers": list(values)}), ())


def gold(windows):
    """Scores of a model that is sure of the targets, (2 R, T)."""
    scores = np.zeros((2 * len(windows), int(windows.lengths.max())))
    scores[np.arange(len(scores)), windows.targets] = 9
    return scores


@given(CONTEXT, st.lists(WORD, max_size=12).map(" ".join), st.integers(0, 30), st.integers(8, 40), st.data())
def test_the_answer_of_the_targets_is_the_answer(tokenizer, context, question, begin, length, data):
    begin = min(begin, len(context) - 1)
    end = data.draw(st.integers(begin + 1, len(context)))
    text = context[begin:end]
    if not text.strip():
        return
    windows = encode([[question], [context]], [Answers((text,), (begin,))], tokenizer, length)
    held = windows.targets.reshape(-1, 2).any(1)
    assert (held | (windows.targets.reshape(-1, 2).sum(1) == 0)).all()
    if not held.any() or len(text.replace(" ", "").replace("\n", "")) > span.LONGEST_ANSWER:
        assert len(text) > (length - length // 3 - 3) - length // 3, "a window should have held it"
        return
    [(begin, end)], _ = span.best(windows, gold(windows))
    # Every letter is a piece here: a span of pieces is a span of letters.
    assert context[begin:end] == text.strip()


@given(st.lists(CONTEXT, min_size=1, max_size=4), st.lists(WORD, max_size=20).map(" ".join), st.integers(10, 40))
def test_windows_cover_every_token_and_overlap(tokenizer, contexts, question, length):
    windows = encode([[question] * len(contexts), contexts], [Answers()] * len(contexts), tokenizer, length)
    assert (windows.lengths <= length).all()
    assert windows.raw_count == len(contexts)
    query = min(length // 3, len(question.replace(" ", "")))
    assert (windows.segment_b_start == query + 2).all()
    for number, context in enumerate(contexts):
        covered = []
        for row in np.flatnonzero(windows.questions == number):
            places = windows.char_spans[row, : windows.lengths[row], 0]
            assert (windows.char_spans[row, windows.lengths[row] :] == -1).all()
            inside = places >= 0
            assert inside.sum() == windows.lengths[row] - query - 3
            assert inside[query + 2 : -1].all(), "the context is one piece between [SEP] and [SEP]"
            begins = places[inside].tolist()
            letters = [tokenizer.vocabulary[token][-1] for token in windows.sequences[row][inside]]
            assert letters == [context[begin] for begin in begins]
            assert not covered or begins[0] <= covered[-1], "no overlap"
            covered += [begin for begin in begins if begin not in covered]
        assert covered == [at for at, letter in enumerate(context) if letter.strip()]


def test_windows_are_those_of_the_released_code(tokenizer):
    """max_query_length is 64 and doc_stride 128, at a length of 384."""
    windows = encode([["a " * 100], ["b " * 600]], [Answers()], tokenizer, 384)
    assert set(windows.segment_b_start) == {64 + 2}
    starts = [int(next(place for place in span[:, 0] if place >= 0)) // 2 for span in windows.char_spans]
    assert starts == [0, 128, 256, 384]  # the rest of the context, 600 - 384, fits into the 317 tokens left


def test_arrays_of_a_question(tokenizer):
    windows = encode(
        [["ab"], ["c dEf g"]], [Answers(("dEf", "g"), (2, 6))], tokenizer, 16
    )  # fmt: skip
    ids = [tokenizer.vocabulary[token] for token in windows.sequences[0]]
    assert ids == ["[CLS]", "a", "##b", "[SEP]", "c", "d", "##e", "##f", "g", "[SEP]"]
    assert windows.batch(np.array([0])).segments.tolist() == [[0] * 4 + [1] * 6]
    assert windows.targets.tolist() == [5, 7]
    assert windows.char_spans[0, :, 0].tolist() == [-1, -1, -1, -1, 0, 2, 3, 4, 6, -1]
    assert windows.char_spans[0, :, 1].tolist() == [-1, -1, -1, -1, 1, 3, 4, 5, 7, -1]


def test_an_answer_that_a_window_cuts_is_not_in_it(tokenizer):
    # Room for 12 - 3 - 1 = 8 pieces, a window every 4: the seventh to tenth letters are whole in the second alone.
    context = "a b c d e f g h a b c d"
    windows = encode([["a"], [context]], [Answers(("g h a b",), (12,))], tokenizer, 12)
    assert windows.targets.reshape(-1, 2).tolist() == [[0, 0], [5, 8]]


def test_few_windows_without_the_answer_are_trained_on(tokenizer):
    context = " ".join("abcdefgh" * 5)
    text, right = [["a b", "c"], [context] * 2], [Answers(("g h a b",), (12,)), Answers()]
    every, some = (encode(text, right, tokenizer, 12, training=training) for training in (False, True))
    assert np.bincount(every.questions).tolist() == [10, 9]
    assert np.bincount(some.questions).tolist() == [1 + span.SPARE_WINDOWS, span.SPARE_WINDOWS]
    assert (some.targets != 0).sum() == (every.targets != 0).sum() == 2
    several = encode([[*"abcdefgh"], [context] * 8], [Answers()] * 8, tokenizer, 12, training=True)
    begins = several.char_spans[..., 0].max(1, initial=-1, where=several.char_spans[..., 0] >= 0)
    assert len({*map(tuple, begins.reshape(8, -1).tolist())}) > 1, "each question has windows of its own"
    again = encode(text, right, tokenizer, 12, training=True)
    assert all((one == two).all() for one, two in zip(again.sequences, some.sequences, strict=True))


def scored(windows, *placed):
    scores = np.full((2 * len(windows), int(windows.lengths.max())), -5.0)
    for row, position, value in placed:
        scores[row, position] = value
    return scores


def test_the_best_span_ends_where_or_after_it_starts(tokenizer):
    windows = encode([["a"], ["b c d e"]], [Answers()], tokenizer, 16)  # the context is at 3, 4, 5, 6
    places, _ = span.best(windows, scored(windows, (0, 5, 4.0), (1, 4, 4.0), (0, 4, 1.0), (1, 6, 2.0)))
    assert places.tolist() == [[4, 7]], "4 then 2, not 4 then the earlier 4"
    question = scored(windows, (0, 1, 9.0), (1, 2, 9.0), (0, 3, 0.0), (1, 3, 0.0))
    assert span.best(windows, question)[0][0, 1] == 1, "a piece of the question is no answer"


def test_an_answer_is_not_longer_than_the_limit(tokenizer, monkeypatch):
    windows = encode([["a"], ["b c d e"]], [Answers()], tokenizer, 16)
    scores = scored(windows, (0, 3, 3.0), (1, 6, 3.0), (1, 5, 1.0), (1, 4, 0.0))
    for longest, end in ((30, 7), (3, 5), (2, 3)):
        monkeypatch.setattr(span, "LONGEST_ANSWER", longest)
        assert span.best(windows, scores)[0][0, 1] == end


def test_the_best_window_answers_and_the_surest_of_none_is_the_null(tokenizer):
    windows = encode(
        [["a", "a"], ["b c d e f g h", "b c"]], [Answers()] * 2, tokenizer, 8
    )  # fmt: skip
    assert windows.questions.tolist() == [0, 0, 0, 1]
    scores = scored(
        windows,
        (0, 0, 1.0), (1, 0, 2.0), (0, 3, 1.0), (1, 3, 1.0),  # none 3, a span 2
        (2, 0, 1.0), (3, 0, 1.0), (2, 4, 4.0), (3, 4, 3.0),  # none 2, a span 7: the fourth letter
        (4, 0, 5.0), (5, 0, 5.0), (4, 3, 0.0), (5, 3, 0.0),
        (6, 0, 4.0), (7, 0, 4.0), (6, 4, 1.0), (7, 4, 2.0),  # the other question
    )  # fmt: skip
    places, margins = span.best(windows, scores)
    assert places.tolist() == [[6, 7], [2, 3]]
    assert margins.tolist() == [7 - 2, 3 - 8]


def test_log_likelihoods_are_of_the_likeliest_right_answer(tokenizer):
    contexts = ["b c d e", "b c"]
    right = [Answers(("c", "d e"), (2, 4)), Answers()]
    windows = encode([["a", "a"], contexts], right, tokenizer, 16)
    logs = np.arange(4 * int(windows.lengths.max())).reshape(4, -1) / -10
    found = span.log_likelihoods(windows, right, logs)
    assert found == pytest.approx([max(logs[0, 4] + logs[1, 4], logs[0, 5] + logs[1, 6]), logs[2, 0] + logs[3, 0]])


def test_the_log_likelihood_of_no_answer_is_that_of_the_window_that_doubts_it_most(tokenizer):
    windows = encode([["a"], ["b c d e f g h"]], [Answers()], tokenizer, 8)
    assert windows.questions.tolist() == [0, 0, 0]
    logs = np.full((6, int(windows.lengths.max())), -9.0)
    logs[:, 0] = [-1.0, -1.0, -3.0, -0.5, -2.0, -1.0]  # of no answer -2, -3.5 and -3
    assert span.log_likelihoods(windows, [Answers()], logs) == [-3.5]


def predicted(tokenizer, contexts, right, *placed, threshold=None):
    """The answers to questions of one window each, in words, and the threshold."""
    raw = RawExamples(text=(["a"] * len(contexts), contexts), labels=right)
    windows = span.Span().encode(raw, tokenizer, 16)
    found = span.Span().predict(SimpleNamespace(train=raw), raw, windows, scored(windows, *placed), threshold)
    places = found.arrays["prediction"]
    return [context[begin:end] for context, (begin, end) in zip(contexts, places, strict=True)], found.threshold


def test_a_question_at_the_threshold_has_no_answer(tokenizer):
    contexts, right = ["b c", "d e"], [Answers(), Answers(("d",), (0,))]
    sure = ((0, 3, 1.0), (1, 3, 1.0), (2, 3, 0.0), (3, 3, 0.0))  # margins of 12 and 10
    assert predicted(tokenizer, contexts, right, *sure, threshold=10.0) == (["b", ""], 10.0)
    assert predicted(tokenizer, contexts, right, *sure, threshold=9.9) == (["b", "d"], 9.9)
    assert predicted(tokenizer, contexts, [Answers()] * 2, *sure) == (["", ""], 12.0)


def test_the_threshold_is_chosen_for_f1(tokenizer):
    # The surest answer is right but for a word: F1 of 2/3, no exact match. The other question has no answer.
    contexts, right = ["b c", "d e"], [Answers(("b c",), (0,)), Answers()]
    said = predicted(tokenizer, contexts, right, (0, 3, 1.0), (1, 3, 1.0), (2, 3, 0.0), (3, 3, 0.0))
    assert said == (["b", ""], 11.0)


def test_the_majority_floor_may_be_no_answer():
    def floor(*given):
        data = SimpleNamespace(train=SimpleNamespace(labels=given))
        return span.Span().majority(data, raw, None, None)["exact"].tolist()

    none, one, other = Answers(), Answers(("The b",), (0,)), Answers(("c",), (0,))
    raw = RawExamples(text=(["a"] * 3, ["The b c"] * 3), labels=[none, one, other])
    assert floor(none, one, none, other) == [1, 0, 0]
    assert floor(none, one, Answers(("b",), (4,)), other) == [0, 1, 0], "counted without articles"


def test_a_context_without_tokens_is_answered_by_nothing(tokenizer):
    windows = encode([["a"], [" "]], [Answers()], tokenizer, 16)
    places, margins = span.best(windows, scored(windows, (0, 1, 3.0)))
    assert (places.tolist(), margins.tolist()) == ([[0, 0]], [0])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "row 2 is None: give"),
        ("b", "row 2 is 'b': give"),
        ({"text": ["b"]}, "row 2 is {'text': ['b']}: give"),
        ({"text": ["b"], "answer_start": []}, "a start per text"),
        ({"text": "b", "answer_start": 0}, "give"),
        ({"text": [""], "answer_start": [0]}, "row 2 has the answer ''"),
        ({"text": [3], "answer_start": [0]}, "row 2 has the answer 3"),
        ({"text": ["b"], "answer_start": [1]}, "row 2: answer 'b' does not start at 1 of the context"),
        ({"text": ["b"], "answer_start": [-1]}, "at -1"),
        ({"text": ["b"], "answer_start": ["0"]}, "at '0'"),
        ({"text": ["b"], "answer_start": [99]}, "at 99"),
        ({"text": ["b"], "answer_start": [False]}, "at False"),
    ],
)
def test_wrong_answers_are_named(value, says):
    good = {"text": ["c"], "answer_start": [2]}
    assert answers(good) == [Answers(("c",), (2,))]
    with pytest.raises(BadInput) as caught:
        answers(good, value)
    assert str(caught.value).startswith("file column answers row 2")
    assert says in str(caught.value)


def test_with_a_classifier_the_windows_that_it_accepts_answer(tokenizer):
    contexts = ["b c d e f g h", "b c"]
    right = [Answers(("g",), (10,)), Answers()]
    windows = encode([["a", "a"], contexts], right, tokenizer, 8, options=("answerability",))
    plain = encode([["a", "a"], contexts], right, tokenizer, 8)
    assert (windows.targets_per_window, plain.targets_per_window) == (3, 2)
    assert windows.questions.tolist() == plain.questions.tolist() == [0, 0, 0, 1]
    targets = windows.targets.reshape(-1, 3)
    assert targets[:, :2].tolist() == plain.targets.reshape(-1, 2).tolist()
    assert targets[:, 2].tolist() == [int(first > 0) for first, _, _ in targets]
    scores = np.full((12, int(windows.lengths.max())), -5.0)
    scores[2::3] = -np.inf
    scores[2::3, :2] = [[0.0, 2.0], [0.0, -1.0], [0.0, 1.0], [3.0, 0.5]]  # yes, no, yes; no
    scores[0, 4] = scores[1, 4] = 1.0  # the second letter of the first window
    scores[3, 3] = scores[4, 3] = 9.0  # the best span, in the window that holds none
    places, margins = span.best(windows, scores)
    assert margins.tolist() == [2.0, -2.5]
    assert contexts[0][slice(*places[0])] == "c"
    logs = np.arange(12.0 * scores.shape[1]).reshape(12, -1) / -10
    both = span.log_likelihoods(windows, right, logs)
    assert both == pytest.approx(span.log_likelihoods(plain, right, logs[[0, 1, 3, 4, 6, 7, 9, 10]]))


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
