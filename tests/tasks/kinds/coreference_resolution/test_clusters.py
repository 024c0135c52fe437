"""Metrics of clusters: the reference scorer's own cases, Luo's examples, and sums over documents."""

import numpy as np
import pytest

from bertlab.tasks.kinds.coreference_resolution.clusters import METRICS, clusters_of, f1_of_counts

KEY = ["a", "bc", "def"]
LUO = ["12345", "67", "89ABC"]


def scored(name, predicted, gold):
    """Recall, precision and F1."""
    true, predicted_count, found, gold_count = counts = METRICS[name](
        *([set(each) for each in of] for of in (predicted, gold))
    )
    return found / gold_count, true / predicted_count, f1_of_counts(np.array(counts, np.float64)) / 100


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (["a", "bc", "def"], (1, 1, 1)),
        (["a", "de"], (0.6, 0.9, 0.72)),
        (["a", "bcx", "defy", "z"], (0.88571, 0.66429, 0.75918)),
        (["a", "bcx", "dy", "z"], (0.73333, 0.55, 0.62857)),
        (["a", "bcxB", "dy", "z"], (0.68889, 0.51667, 0.59048)),
        (["a", "bcx", "dy", "Bz"], (0.73333, 0.55, 0.62857)),
    ],
)
def test_ceaf_e_of_the_reference_scorers_cases(response, expected):
    assert scored("ceaf_e", response, KEY) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("response", "muc", "b_cubed"),
    [
        (["12345", "6789ABC"], 9 / 10, (5 + (4 + 25) / 7) / 12),
        (["1234589ABC", "67"], 9 / 10, (2 + (25 + 25) / 10) / 12),
        (["123456789ABC"], 9 / 11, (25 + 4 + 25) / 12 / 12),
    ],
)
def test_merged_clusters_lose_precision_alone(response, muc, b_cubed):
    """Luo 2005, figure 1: B-cubed loses less by a small cluster in a large one than by two large ones, MUC the same."""
    for name, precision in (("muc", muc), ("b_cubed", b_cubed)):
        assert scored(name, response, LUO)[:2] == pytest.approx((1, precision))
        assert scored(name, LUO, response)[:2] == pytest.approx((precision, 1))


def test_counts_of_mentions_that_one_side_lacks():
    """MUC: of {d y} one link, which the key lacks; of {d e f} two, none found. B-cubed: z and y have no share."""
    assert METRICS["muc"](["bcx", "dy"], ["bc", "def"]) == (1, 3, 1, 3)
    assert METRICS["b_cubed"](["bcx", "dy"], ["bc", "def"]) == pytest.approx((4 / 3 + 1 / 2, 5, 2 + 1 / 3, 5))
    assert [metric([], ["bc"]) for metric in METRICS.values()] == [(0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 1)]
    assert [metric(["bc"], []) for metric in METRICS.values()] == [(0, 1, 0, 0), (0, 2, 0, 0), (0, 1, 0, 0)]


def test_the_score_of_a_set_is_of_sums_over_its_documents():
    """Precision 3 of 4 and recall 3 of 6; F1 is not the mean of those of the documents."""
    documents = np.array([[1, 1, 1, 2], [2, 3, 2, 4]], np.float64)
    assert f1_of_counts(documents.mean(0)) == pytest.approx(100 * 2 * 0.75 * 0.5 / 1.25)
    both = np.concatenate([documents, np.array([[1, 1, 1, 1], [0, 1, 0, 1]])], 1)
    assert f1_of_counts(both.mean(0)) == pytest.approx((60 + 50) / 2)


def test_links_give_clusters():
    links = [(1, 2), (3, 4), (5, 6), (2, 3), (7, 7), (4, 1)]
    assert [sorted(each) for each in clusters_of(links)] == [[1, 2, 3, 4], [5, 6], [7]]
