"""Metrics of coreference clusters, as CoNLL-2012 scores them (Pradhan et al. 2014): MUC (Vilain et al. 1995), B-cubed
(Bagga and Baldwin 1998) and CEAF-e, which is CEAF with the similarity phi4 (Luo 2005).

A cluster is a set of mentions, each a pair of positions. Of every document a metric counts the numerator and the
denominator of precision, then those of recall: those of a test set are sums over its documents.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

import numpy as np

from bertlab.arrays import Float
from bertlab.tasks.metrics import quotient

Cluster = Collection[Hashable]
Counts = tuple[float, float, float, float]
"""The numerator and the denominator of precision, those of recall."""


def muc(predicted: Sequence[Cluster], gold: Sequence[Cluster]) -> Counts:
    """Links: a cluster of n mentions has n - 1, or n - k of them if the other clusters divide it into k parts."""

    def links(clusters: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, float]:
        of = _numbers(others)
        divided = (len({of.get(mention, (mention,)) for mention in cluster}) for cluster in clusters)
        every = sum(map(len, clusters))
        return every - sum(divided), every - len(clusters)

    return *links(predicted, gold), *links(gold, predicted)


def b_cubed(predicted: Sequence[Cluster], gold: Sequence[Cluster]) -> Counts:
    """Mentions, each with the share of its own cluster that is in its cluster on the other side."""

    def shares(clusters: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, float]:
        both = _common(clusters, others)
        sizes = np.array([len(cluster) for cluster in clusters])
        return float(((both**2).sum(1) / sizes).sum()), float(sizes.sum())

    return *shares(predicted, gold), *shares(gold, predicted)


def ceaf_e(predicted: Sequence[Cluster], gold: Sequence[Cluster]) -> Counts:
    """Clusters, each with its similarity to the one that it is aligned with: the Dice coefficient of their mentions."""
    from scipy.optimize import linear_sum_assignment

    sizes = [np.array([len(cluster) for cluster in clusters], np.float64) for clusters in (predicted, gold)]
    similar = 2 * _common(predicted, gold) / np.add.outer(*sizes)
    aligned = float(similar[linear_sum_assignment(similar, maximize=True)].sum())
    return aligned, float(len(predicted)), aligned, float(len(gold))


METRICS: Mapping[str, Callable[[Sequence[Cluster], Sequence[Cluster]], Counts]] = {
    "muc": muc,
    "b_cubed": b_cubed,
    "ceaf_e": ceaf_e,
}
"""The three whose mean is the score of CoNLL-2012."""


def f1_of_counts(means: Float) -> Float:
    """The mean F1 of metrics in points, from the means of their `Counts` (..., 4 M)."""
    counts = means.reshape(*means.shape[:-1], -1, 4)
    precision, recall = (quotient(counts[..., at], counts[..., at + 1]) for at in (0, 2))
    return np.asarray(200 * quotient(precision * recall, precision + recall).mean(-1))


def clusters_of(links: Iterable[tuple[Hashable, Hashable]]) -> list[list[Hashable]]:
    """The clusters that links between mentions give, in the order of their first links."""
    cluster_of: dict[Hashable, list[Hashable]] = {}
    for pair in links:
        one, two = (cluster_of.setdefault(mention, [mention]) for mention in pair)
        if one is not two:
            one += two
            cluster_of.update(dict.fromkeys(two, one))
    return list({id(cluster): cluster for cluster in cluster_of.values()}.values())


def _numbers(clusters: Sequence[Cluster]) -> dict[Hashable, int]:
    """The number of the cluster of each mention."""
    return {mention: number for number, cluster in enumerate(clusters) for mention in cluster}


def _common(clusters: Sequence[Cluster], others: Sequence[Cluster]) -> Float:
    """(clusters, others): the mentions that each two have in common."""
    of, shared = _numbers(others), np.zeros((len(clusters), len(others)))
    for number, cluster in enumerate(clusters):
        for mention in cluster:
            if mention in of:
                shared[number, of[mention]] += 1
    return shared
