"""BLEU and ROUGE against sacrebleu and rouge-score on noisy pairs, and what a resample of their statistics gives."""

import numpy as np
import pytest
from sacrebleu import corpus_bleu

from bertlab.tasks.text_metrics import Bleu, bleu_statistics, rouge, sari

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
