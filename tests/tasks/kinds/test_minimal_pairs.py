"""Pairs of sentences, their metrics by part, and the rules on words that are their floors."""

import dataclasses
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.adaptation import FineTuning
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, ngrams
from bertlab.tasks.data import load, sampled
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.minimal_pairs import babylm_predictions
from bertlab.tasks.kinds.scoring import LIKELIHOOD
from bertlab.tasks.task import RawExamples, Task
from bertlab.text.tokens import Part

KIND = KINDS["minimal-pairs"]
LABELS = ("binding/one", "binding/two", "islands/three")
PAIRS = [
    {"good": "a b", "bad": "b a", "what": "binding", "which": "one"},
    {"good": "a b c", "bad": "a b", "what": "binding", "which": "two"},
    {"good": "a", "bad": "b c", "what": "binding", "which": "two"},
    {"good": "c", "bad": "d", "what": "islands", "which": "three"},
]
PHENOMENA = Task(kind="minimal-pairs", path="pairs", text=("good", "bad"), label="{what}/{which}", evaluation="test")


@pytest.fixture
def read(tmp_path, write):
    """Reads a task of the user's own from rows."""

    def pairs(rows, suffix="jsonl", **fields):
        folder = tmp_path / suffix
        write(folder / f"test.{suffix}", rows)
        task = dataclasses.replace(PHENOMENA, path=str(folder), **fields)
        return load(task, machine=Machine(), world=False)

    return pairs


def predicted(margins, labels, second=None):
    """What the kind predicts where good sentences are this much likelier."""
    scores = np.array(margins, np.float64)[:, None] * [0.5, -0.5] - 20
    if second is not None:
        scores = np.concatenate([scores, np.array(second)[:, None] * [1, 0]], 1)
    examples = SimpleNamespace(targets=np.array(labels))
    return KIND.predict(None, None, examples, scores)


def test_all_pairs_count_by_their_paradigms_and_a_tie_counts_half():
    # paradigm 0: one right; paradigm 1: right, wrong, tie, wrong; paradigm 2: wrong
    arrays = predicted([1, 2, -1, 0, -3, -math.log(3)], [0, 1, 1, 1, 1, 2]).arrays
    values = KIND.values(arrays, LABELS)
    assert values["accuracy"] == pytest.approx((100 + 37.5 + 0) / 3)
    assert values["ties"] == pytest.approx(25 / 3)
    assert values["binding/accuracy"] == pytest.approx((100 + 37.5) / 2)
    assert values["binding/two/accuracy"] == pytest.approx(37.5)
    assert values["islands/right_share"] == values["islands/three/right_share"] == pytest.approx(25)
    assert "accuracy_within_words" not in values
    shares = [100 / (1 + math.exp(-margin)) for margin in (2, -1, 0, -3)]
    assert values["binding/two/right_share"] == pytest.approx(sum(shares) / 4)
    likely = KIND.metric(LIKELIHOOD, arrays, LABELS)
    assert likely.value == pytest.approx(values["right_share"])
    assert KIND.likelihood_of("accuracy") == LIKELIHOOD
    part = KIND.metric(KIND.likelihood_of("binding/two/accuracy"), arrays, LABELS)
    assert part.value == pytest.approx(values["binding/two/right_share"])


def test_a_masked_model_has_a_second_way_of_scoring():
    arrays = predicted([1, 1, 1], [0, 1, 2], second=[-1, 1, 0]).arrays
    values = KIND.values(arrays, LABELS)
    assert values["accuracy"] == 100
    assert values["accuracy_within_words"] == pytest.approx(50)
    assert values["ties_within_words"] == pytest.approx(100 / 3)
    assert values["binding/accuracy_within_words"] == pytest.approx(50)
    assert set(values) == set(KIND.metrics_for_labels(LABELS))


@given(st.lists(st.floats(-700, 0), min_size=1, max_size=20))
def test_a_constant_model_has_half_the_points(scores):
    """Equal scores are ties, also if they differ by the rounding of sums; both sentences have half the probability."""
    labels = np.arange(len(scores)) % 2
    noise = np.linspace(-4e-6, 4e-6, len(scores))
    examples = SimpleNamespace(targets=labels)
    found = KIND.predict(None, None, examples, np.stack([scores, scores + noise], 1))
    values = KIND.values(found.arrays, LABELS[:2])
    assert (values["accuracy"], values["right_share"], values["ties"]) == (50, 50, 100)
    assert found.collapsed


def test_the_kept_predictions_give_the_values():
    """Predictions are kept in 32 bits."""
    generator = np.random.default_rng(0)
    arrays = predicted(generator.normal(0, 20, 300), generator.integers(0, 3, 300)).arrays
    kept = {
        name: values.astype(np.float32 if values.dtype.kind == "f" else np.uint8) for name, values in arrays.items()
    }
    assert KIND.values(kept, LABELS) == pytest.approx(KIND.values(arrays, LABELS), rel=1e-6)


@given(st.data())
def test_contributions_average_to_the_value_and_measure_its_variance(data):
    """Of all pairs, paradigms are the examples; of a part, pairs within their paradigms."""
    labels = np.array([0, 1, 2, *data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=30))])
    margins = np.array(data.draw(st.lists(st.floats(-3, 3), min_size=len(labels), max_size=len(labels))))
    arrays = predicted(margins, labels).arrays
    of_all = KIND.metric("right_share", arrays, LABELS)
    scores = 100 / (1 + np.exp(-arrays["margin"]))
    means = [scores[labels == number].mean() for number in range(3)]
    assert of_all.contributions() == pytest.approx(means)
    assert of_all.per_example() == pytest.approx(scores)
    of_part = KIND.metric("binding/right_share", arrays, LABELS)
    contributions = of_part.contributions()
    assert of_part.value == contributions.mean() == pytest.approx(np.mean(means[:2]))
    wanted = sum(((scores[labels == n] - means[n]) ** 2).sum() / (labels == n).sum() ** 2 for n in (0, 1)) / 4
    assert ((contributions - of_part.value) ** 2).sum() / len(labels) ** 2 == pytest.approx(wanted)


def test_pairs_of_one_paradigm_are_the_examples():
    arrays = predicted([1, -1, 2, 0], [0] * 4).arrays
    assert KIND.metric("accuracy", arrays, ("all",)).contributions().tolist() == [100, 0, 100, 50]
    assert KIND.metrics_for_labels(("all",)) == KIND.metrics


def test_unknown_metrics_and_absent_parts():
    arrays = predicted([1, -1], [0, 0]).arrays
    with pytest.raises(ValueError, match="no metric f1"):
        KIND.metric("f1", arrays, LABELS)
    for absent in ("islands/accuracy", "accuracy_within_words"):
        with pytest.raises(KeyError):
            KIND.metric(absent, arrays, LABELS)
        assert absent not in KIND.values(arrays, LABELS)


def test_each_sentence_is_a_sequence_and_each_pair_an_example(tokenizer):
    raw = RawExamples(text=(["a b", "abc"], ["b a", "abcdefgh"]), labels=[1, 0])
    found = KIND.encode(raw, tokenizer, 6)
    assert (len(found), found.raw_count, found.choices) == (2, 2, 2)
    batch = found.batch(np.array([0, 1]))
    read = [
        "".join(tokenizer.vocabulary[one] for one in row[:n])
        for row, n in zip(batch.tokens, batch.lengths, strict=True)
    ]
    assert read == ["[CLS]ab[SEP]", "[CLS]ba[SEP]", "[CLS]a##b##c[SEP]", "[CLS]a##b##c##d[SEP]"]
    assert batch.targets.tolist() == [[1], [0]]
    assert not batch.segments.any()


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_a_file_with_phenomena(read, suffix):
    data = read(PAIRS, suffix)
    assert data.labels == LABELS
    assert data.evaluation.labels == [0, 1, 1, 2]
    assert data.evaluation.text == (["a b", "a b c", "a", "c"], ["b a", "a b", "b c", "d"])
    assert (len(data.train), data.test) == (0, None)
    assert len(sampled(data, 2).evaluation) == 2


def test_a_file_with_one_column_of_groups_and_with_none(read):
    numbered = [{"good": "a", "bad": "b", "group": number} for number in (7, 3, 7)]
    for suffix in ("jsonl", "csv"):
        data = read(numbered, suffix, label="group")
        assert (data.labels, data.evaluation.labels) == (("7", "3"), [0, 1, 0])
    assert read(PAIRS, label="").evaluation.labels == [0] * 4


@pytest.mark.parametrize(
    ("change", "fields", "says"),
    [
        ({"good": "d", "bad": "d"}, {}, "row 2 has twice 'd', as 1 of 2 rows: give sentences that differ"),
        ({"bad": " "}, {}, "column bad row 2 is empty: give a sentence"),
        ({"bad": 3}, {}, "column bad row 2 is 3: give a text"),
        ({"which": None}, {}, "column which row 2 is None: give a text"),
        ({"which": "ones"}, {"labels": LABELS}, "row 2 is 'binding/ones': did you mean 'binding/one'"),
        ({}, {"text": ("right", "bad")}, "has no column 'right', which the task reads"),
        ({}, {"text": ("good",)}, "names 1 text column: minimal-pairs takes 2"),
    ],
)
def test_bad_files_are_refused_in_one_line(read, change, fields, says):
    rows = [PAIRS[0], PAIRS[1] | change]
    with pytest.raises(BadInput, match=re.escape(says)) as error:
        read(rows, **fields)
    assert "\n" not in str(error.value)


def test_a_file_without_rows_is_refused(tmp_path, read):
    read(PAIRS)
    (tmp_path / "jsonl" / "test.jsonl").write_text("")
    task = dataclasses.replace(PHENOMENA, path=str(tmp_path / "jsonl"))
    with pytest.raises(BadInput, match="has no rows: give at least one"):
        load(task, machine=Machine(), world=False)


def test_equal_sentences_of_a_published_set_are_ties(tmp_path, write):
    """BLiMP has seven such pairs."""
    of = {"phenomenon": "binding", "paradigm": "principle_A_case_1"}
    rows = [{"good": "a", "bad": bad, **of} for bad in ("a", *["b"] * 99)]
    write(tmp_path / "blimp" / "test.jsonl.gz", rows)
    data = load(catalog.find("blimp"), machine=Machine(data=tmp_path), world=False)
    assert {data.labels[number] for number in data.evaluation.labels} == {"binding/principle_A_case_1"}
    assert len(data.evaluation) == 100


def test_adaptations_that_train_refuse_it():
    assert "has no training examples: measure it with ZeroShot" in FineTuning().unsupported_reason(KIND)
    assert not FineTuning().unsupported_reason(KINDS["classification"])


def text_of(*documents):
    """A text of sentences of ids, all in one document."""
    sizes = [len(sentence) for sentence in documents]
    tokens = np.array([token for sentence in documents for token in sentence], np.uint16)
    return Part(tokens, np.cumsum([0, *sizes]), np.array([0, len(sizes)]))


def test_n_grams_are_counted_in_the_text():
    """By hand: a text of two sentences, 0 1 2 and 0 1 1, and eight kinds of tokens."""
    text = text_of([0, 1, 2], [0, 1, 1])
    frequency, score = ngrams.scores([[0, 1, 2], [2, 5], [0, 1, 1]], text, 8)
    zero, one, two, five = (math.log((count + 1) / (6 + 8)) for count in (2, 3, 1, 0))
    assert frequency == pytest.approx([(zero + one + two) / 3, (two + five) / 2, (zero + 2 * one) / 3])
    seen = math.log(1) + math.log(1) + math.log(1 / 2)  # 0 behind the begin, 1 behind that, then 2 in one of two
    back_off = math.log(0.4)
    unseen = 2 * back_off + two + 2 * back_off + five  # no run of two is in the text
    end = 2 * back_off + math.log((4 + 1) / (6 + 8))  # two boundaries are before each sentence
    assert score == pytest.approx([seen, unseen + end, seen])


def test_blocks_of_a_text_count_alike(monkeypatch):
    generator = np.random.default_rng(0)
    sentences = [generator.integers(0, 20, generator.integers(1, 6)).tolist() for _ in range(200)]
    text, asked = text_of(*sentences), [*sentences[:50], [19], [3, 3, 3, 3]]
    whole = ngrams.scores(asked, text, 20)
    monkeypatch.setattr(ngrams, "BLOCK", 7)
    assert np.array(ngrams.scores(asked, text, 20)) == pytest.approx(np.array(whole))


def test_the_floor_is_the_best_rule_on_words(read, tokenizer):
    data = read(PAIRS)
    (alone,) = KIND.lexical_floor(data)
    # the shorter sentence: a tie, then wrong and right, then a tie
    assert (alone["accuracy"], alone["binding/two/accuracy"]) == (50, 50)
    words = tokenizer.encode(["c", "a b c", "a b c", "a"])
    text = text_of(*words)
    corpus = SimpleNamespace(tokenizer=tokenizer, train=text, facts={})
    (counted,) = KIND.word_floor(data, 0, lambda: corpus)
    # trigrams of the text like `a b` and `a b c` better, and it has no `d`
    assert counted["binding/one/accuracy"] == counted["islands/three/accuracy"] == 100
    assert counted["accuracy"] > 80


def test_a_model_that_tells_nothing_apart_is_the_guess():
    examples = SimpleNamespace(targets=np.array([0, 1, 2]), __len__=lambda: 3)
    floor = KIND.floor(
        {"margin": np.zeros(3), "label": examples.targets}, RawExamples(text=([], []), labels=[]), LABELS
    )
    assert floor["accuracy"] == floor["right_share"] == floor["islands/accuracy"] == 50


def test_a_kind_of_a_study_file_keeps_the_metrics_of_all_pairs(monkeypatch):
    """Reports do not run study files; the parts have other examples than all pairs."""
    monkeypatch.setattr(type(KIND), "user_defined", True)
    kept = KIND.contributions(predicted([1, 2, -1], [0, 1, 2]).arrays, LABELS)
    assert {*kept} == {"metric_accuracy", "metric_right_share", "metric_ties"}
    assert kept["metric_accuracy"].tolist() == [100, 100, 0]


SENTENCES = (["a b", "a c", "b a", "b c", "c a"], ["b b", "c c", "a a", "c b", "a c"])
PARADIGMS = ["order", "order", "number", "order", "number"]


def pipelines_score(predicted, paradigm):
    """The points that BabyLM gives a paradigm: its file is compared with the good sentences, line by line."""
    rows = [good for good, of_pair in zip(SENTENCES[0], PARADIGMS, strict=True) if of_pair == paradigm]
    hits = [one["pred"] == good for one, good in zip(predicted[paradigm]["predictions"], rows, strict=True)]
    return 100 * sum(hits) / len(hits)


def test_babylms_file_has_the_likelier_sentences_in_order_by_paradigm():
    margin = np.array([1.5, -0.1, 0.2, -3.0, -7.0])
    predicted = babylm_predictions(SENTENCES, PARADIGMS, margin)
    assert predicted == {
        "order": {
            "predictions": [
                {"id": "order_0", "pred": "a b"},
                {"id": "order_1", "pred": "c c"},
                {"id": "order_2", "pred": "c b"},
            ]
        },
        "number": {"predictions": [{"id": "number_0", "pred": "b a"}, {"id": "number_1", "pred": "a c"}]},
    }
    assert [pipelines_score(predicted, name) for name in ("order", "number")] == [100 / 3, 50]


def test_a_model_that_tells_nothing_apart_has_half_of_the_points():
    pairs, margin = ([f"{number}" for number in range(100)], ["-"] * 100), np.zeros(100)
    chosen = babylm_predictions(pairs, ["all"] * 100, margin)["all"]["predictions"]
    assert sum(one["pred"] != "-" for one in chosen) == 50
