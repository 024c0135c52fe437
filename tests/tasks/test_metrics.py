"""Metrics and what their examples contribute: against their definition, sacrebleu and rouge-score, and resampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sacrebleu import corpus_bleu

from bertlab.tasks.kinds import KINDS as TASK_KINDS
from bertlab.tasks.kinds import regression
from bertlab.tasks.metrics import Grouped, Mean, Metric, MetricOfMeans
from bertlab.tasks.text_metrics import Bleu, bleu_statistics, rouge, sari
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


PLAIN = "the a cat dog runs, 3.5 costs $4 don't (well) 1,000 x-y 50% end. a.b e.g. 10. I'm A"
WORDS = [*PLAIN.split(" "), "«ja»", "naïve", "über", "§", "—", "٣,٤", "½.", "中文。"]


def noisy(count):
    """Pairs of texts that agree in part: words are dropped, replaced, turned round."""
    draw = np.random.default_rng(0)
    pairs = []
    for _ in range(count):
        right = [WORDS[number] for number in draw.integers(0, len(WORDS), draw.integers(0, 25))]
        text = [word if draw.random() < 0.7 else str(draw.choice(WORDS)) for word in right if draw.random() < 0.9]
        pairs.append((" ".join(text[:: -1 if draw.random() < 0.1 else 1]), " ".join(right)))
    return map(list, zip(*pairs, strict=True))


TEXTS, RIGHT = noisy(1000)


def bleu(rows):
    return Bleu(bleu_statistics([TEXTS[row] for row in rows], [RIGHT[row] for row in rows]).astype(np.float64))


def theirs(rows):
    texts, right = [TEXTS[row] for row in rows], [RIGHT[row] for row in rows]
    return corpus_bleu(texts, [right], tokenize="intl", smooth_method="exp").score


def test_bleu_is_that_of_sacrebleu():
    assert bleu(range(1000)).value == pytest.approx(theirs(range(1000)), abs=1e-9)
    few = [bleu(range(start, start + 3)).value for start in range(0, 300, 3)]
    assert few == pytest.approx([theirs(range(start, start + 3)) for start in range(0, 300, 3)], abs=1e-9)
    single = bleu(range(200)).per_example()
    assert single.tolist() == pytest.approx([theirs([row]) for row in range(200)], abs=1e-9)
    assert (single == 0).any()
    assert len({*few}) > 90


def test_a_resample_has_the_bleu_of_its_examples():
    """What a bootstrap computes from the statistics, without the texts."""
    rows = np.random.default_rng(1).integers(0, 1000, 1000)
    metric = bleu(range(1000))
    resampled = metric.function(metric.statistics[rows].mean(0))
    assert resampled == pytest.approx(theirs(rows), abs=1e-9)
    assert metric.contributions().mean() == pytest.approx(metric.value)


def test_an_output_of_no_words_has_no_points():
    assert bleu_statistics([""], ["a b"]).tolist() == [[0] * 8 + [0, 2]]
    assert Bleu(bleu_statistics([""], ["a b"]).astype(np.float64)).value == 0


FROZEN = {
    "rouge1": (0.6747349210730297, 0.6771396456031041),
    "rouge2": (0.44610435094349443, 0.443941335206616),
    "rougeL": (0.6173192411787466, 0.6191860095095797),
}


def test_rouge_is_that_of_rouge_score():
    """The means and weighted means of rouge-score 0.1.2 without stemming, computed once on the same pairs: the package
    brings two others with it."""
    scores = rouge(TEXTS, RIGHT)
    weights = np.arange(1000)
    means = {name: (values.mean(), np.average(values, weights=weights)) for name, values in scores.items()}
    assert means == {name: pytest.approx(pair, abs=1e-12) for name, pair in FROZEN.items()}


def test_rouge_of_a_case_counted_by_hand():
    """Of 4 and 5 words 3 are common, one run of two words, and 3 in this order."""
    scores = rouge(["The cat sat down!"], ["a cat sat right down"])
    assert {name: round(float(values[0]), 6) for name, values in scores.items()} == {
        "rouge1": round(6 / 9, 6),
        "rouge2": round(2 / 7, 6),
        "rougeL": round(6 / 9, 6),
    }
    assert rouge(["down sat cat"], ["cat sat down"])["rougeL"] == pytest.approx(1 / 3)
    assert all(values == 0 for values in rouge(["", "b"], ["a", ""])["rougeL"])


@pytest.mark.parametrize(
    ("prediction", "right", "points"),
    [
        ("a b d", "a b d e", 10 / 12),  # added: 2/3 of words, pairs and triples, 0 of fours; kept and deleted: all
        ("a b d e", "a b d e", 1),
        ("A b D e", "a B d e", 1),
        ("a b c", "a b c", 1),
        ("a b c", "a b", (6 + 4 / 5 + 2 / 3) / 12),  # a word too many is kept, and with it a pair and a triple
    ],
)
def test_sari_counts_what_is_added_kept_and_deleted(prediction, right, points):
    """By hand, with the source `a b c`."""
    assert sari(["a b c"], [prediction], [right]) == pytest.approx(100 * points)
