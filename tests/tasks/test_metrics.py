"""Metrics and what their examples contribute, against the metrics of the tasks and against their own definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bertlab.tasks.kinds import KINDS as TASK_KINDS
from bertlab.tasks.kinds import regression
from bertlab.tasks.metrics import Grouped, Mean, Metric, MetricOfMeans
from multibootstrap import weighted

TAGS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
KINDS: list[tuple[str, str]] = [
    ("classification", "accuracy"),
    ("classification", "f1"),
    ("classification", "matthews"),
    ("multiple-choice", "accuracy"),
    ("coreference", "f1"),
    ("coreference", "f1_feminine"),
    ("coreference", "bias"),
    ("regression", "pearson"),
    ("regression", "spearman"),
    ("tagging", "accuracy"),
    ("tagging", "precision"),
    ("tagging", "recall"),
    ("tagging", "f1"),
]


def metric_of(kind: str, metric: str, found: dict[str, np.ndarray], labels: Sequence[str] = ()) -> Metric:
    return TASK_KINDS[kind].metric(metric, found, labels)


def predictions(kind: str, rng: np.random.Generator, classes: int = 2, size: int = 40) -> dict[str, np.ndarray]:
    """Predictions that are right more often than not."""
    if kind == "regression":
        right = rng.integers(0, 6, size)  # ties among the right numbers, as in STS-B
        return {"prediction": np.float32(right + rng.normal(size=size)), "label": np.float32(right)}
    words, classes = {"tagging": (6 * size, len(TAGS)), "coreference": (size, 3)}.get(kind, (size, classes))
    label = rng.integers(0, classes, words)
    prediction = np.where(rng.random(words) < 0.7, label, rng.permutation(label))
    sentence = np.sort(rng.integers(0, size, words))
    return {"prediction": prediction, "label": label, "sentence": sentence, "feminine": rng.random(words) < 0.5}


def by_task(kind: str, metric: str, found: dict[str, np.ndarray], names: Sequence[str]) -> float:
    """The metric as the runs report it."""
    return TASK_KINDS[kind].values(found, names)[metric]


@pytest.mark.parametrize(("kind", "metric"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_value_is_the_reported_one(kind: str, metric: str, seed: int) -> None:
    found = predictions(kind, np.random.default_rng(seed))
    measure = metric_of(kind, metric, found, TAGS)
    names = TAGS if kind == "tagging" else ("no", "yes")
    expected = by_task(kind, metric, found, names)
    assert measure.value == pytest.approx(expected, abs=1e-9)
    assert measure.contributions().mean() == pytest.approx(expected, abs=1e-9)
    assert len(measure.contributions()) == measure.examples


@pytest.mark.parametrize(("kind", "metric"), KINDS)
def test_a_weight_is_a_repetition(kind: str, metric: str) -> None:
    rng = np.random.default_rng(5)
    found = predictions(kind, rng)
    measure = metric_of(kind, metric, found, TAGS)
    weights = rng.integers(0, 4, (3, measure.examples))
    owner = np.unique(found["sentence"], return_inverse=True)[1] if kind == "tagging" else np.arange(measure.examples)
    names = TAGS if kind == "tagging" else ("no", "yes")
    for row, value in zip(weights, weighted(measure, weights.astype(float)), strict=True):
        drawn = np.repeat(np.arange(measure.examples), row)
        words = [np.flatnonzero(owner == example) for example in drawn]
        sample = {name: values[np.concatenate(words)] for name, values in found.items()}
        sample["sentence"] = np.repeat(np.arange(len(drawn)), [len(each) for each in words])
        assert value == pytest.approx(by_task(kind, metric, sample, names), abs=1e-9)


@pytest.mark.parametrize(("kind", "metric"), KINDS)
def test_contributions_spread_as_the_bootstrap_does(kind: str, metric: str) -> None:
    rng = np.random.default_rng(6)
    measure = metric_of(kind, metric, predictions(kind, rng, size=400), TAGS)
    weights = rng.multinomial(measure.examples, np.full(measure.examples, 1 / measure.examples), 3000)
    by_bootstrap = weighted(measure, weights.astype(float)).std()
    by_contribution = measure.contributions().std() / np.sqrt(measure.examples)
    assert by_contribution == pytest.approx(by_bootstrap, rel=0.1)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "matthews"])
def test_a_constant_answer(metric: str) -> None:
    found = {"prediction": np.zeros(5, int), "label": np.array([0, 1, 0, 0, 1])}
    expected = {"accuracy": 60.0, "f1": 0.0, "matthews": 0.0}[metric]
    measure = metric_of("classification", metric, found)
    assert measure.value == pytest.approx(expected)
    assert measure.contributions().mean() == pytest.approx(expected)


@pytest.mark.parametrize("measure", [regression.pearson, regression.Spearman])
def test_a_constant_number_correlates_with_nothing(measure: type[regression.Spearman]) -> None:
    found = measure(np.full(6, 2.5), np.arange(6.0))
    assert found.value == 0
    assert not found.contributions().any()


def test_jackknife_of_a_mean_is_the_scores() -> None:
    scores = np.array([1.0, 4.0, 7.0])
    ratio = MetricOfMeans(np.stack([scores, np.ones(3)], -1), lambda means: means[..., 0] / means[..., 1])
    np.testing.assert_allclose(ratio.contributions(), scores)


def test_likelihood_and_answers() -> None:
    found = {
        "log_likelihood": np.log([0.5, 0.125, 0.25]),
        "exact": np.array([0.0, 1.0, 1.0], np.float32),
        "f1": np.array([0.5, 1.0, 1.0], np.float32),
        "sentence": np.array([4, 4, 9]),
    }
    values: list[Metric] = [
        metric_of("classification", "likelihood", found),
        metric_of("span", "f1", found),
        metric_of("tagging", "likelihood", found),
    ]
    assert [each.contributions().mean() for each in values] == pytest.approx([87.5 / 3, 250 / 3, (6.25 + 25) / 2])
    assert [each.examples for each in values] == [3, 3, 2]
    # Both words of the first sentence are drawn with it.
    assert weighted(values[2], np.array([[2.0, 0.0]])) == pytest.approx([6.25])
    of_sentences = metric_of("tagging", "likelihood", found | {"log_likelihood": np.log([0.0625, 0.25])})
    assert of_sentences.contributions() == pytest.approx(values[2].contributions())


def test_a_metric_that_a_kind_has_not() -> None:
    with pytest.raises(ValueError, match="multiple-choice has no metric f1"):
        metric_of("multiple-choice", "f1", {"prediction": np.zeros(1), "label": np.zeros(1)})


@pytest.mark.parametrize(("kind", "metric"), KINDS)
def test_a_group_is_drawn_and_left_out_as_a_whole(kind: str, metric: str) -> None:
    rng = np.random.default_rng(9)
    found = predictions(kind, rng, size=300)
    rows = metric_of(kind, metric, found, TAGS)
    group = np.append(np.arange(25), rng.integers(0, 25, 275))  # of unequal sizes, not side by side
    grouped = metric_of(kind, metric, found | {"group": 7 * group}, TAGS)
    assert grouped.examples == 25
    ones = np.ones((1, 25))
    assert grouped.contributions().mean() == pytest.approx(rows.value, abs=1e-9)
    # leaving one group out moves the metric as its contribution says, up to the curvature of the metric
    without = ones - np.eye(25)
    jackknife = 24 * (weighted(grouped, ones) - weighted(grouped, without))
    contributed = grouped.contributions() - grouped.contributions().mean()
    assert np.corrcoef(jackknife, contributed)[0, 1] > 0.99
    assert contributed.std() == pytest.approx(jackknife.std(), rel=0.15)
    assert weighted(grouped, without)[3] == pytest.approx(weighted(rows, without[3:4, _owners(found, kind, group)])[0])


def _owners(found: dict[str, np.ndarray], kind: str, group: np.ndarray) -> np.ndarray:
    """The group of each example; a sentence without words is none."""
    return group[np.unique(found["sentence"])] if kind == "tagging" else group


def test_groups_of_other_examples_do_not_fit() -> None:
    found = predictions("classification", np.random.default_rng(0))
    with pytest.raises(ValueError, match="39 group numbers do not fit 40 examples"):
        metric_of("classification", "accuracy", found | {"group": np.arange(39)})


def test_each_example_has_the_metric_of_itself_whatever_its_group() -> None:
    # sentences of two words and of one; both are of one article
    found = {"label": np.array([1, 2, 0]), "prediction": np.array([1, 0, 0]), "sentence": np.array([0, 0, 1])}
    found |= {"log_likelihood": np.log([0.5, 0.125, 0.75]), "group": np.array([7, 7])}
    metric = metric_of("tagging", "likelihood", found, TAGS)
    assert metric.examples == 1
    assert metric.per_example() == pytest.approx([6.25, 75.0])
    scores = {"label": np.zeros(3), "prediction": np.zeros(3), "log_likelihood": np.log([0.5, 0.25, 1.0])}
    assert metric_of("classification", "likelihood", scores).per_example() == pytest.approx([50.0, 25.0, 100.0])


def test_groups_of_equal_size_contribute_their_means() -> None:
    scores = np.array([0.0, 50.0, 100.0, 90.0])
    assert Grouped(Mean(scores), np.array([0, 0, 1, 1])).contributions() == pytest.approx([25, 95])


def test_a_sentence_without_words_is_no_example_and_needs_no_group() -> None:
    zeros = np.zeros(3, int)
    arrays = {"prediction": zeros, "label": zeros, "sentence": np.array([0, 0, 2]), "group": np.array([0, 1, 1])}
    found = TASK_KINDS["tagging"].metric("accuracy", arrays, ("O", "B-a", "I-a"))
    assert found.contributions().tolist() == [100, 100]
    with pytest.raises(ValueError, match="2 group numbers do not fit 3 examples"):
        TASK_KINDS["classification"].metric("accuracy", arrays | {"group": np.zeros(2, int)})
