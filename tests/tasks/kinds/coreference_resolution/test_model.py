"""The coreference model: its scores, kept spans and likelihoods equal those of plain loops."""

import pytest
import torch

from bertlab.model.encoder import BertEncoder
from bertlab.model.streams import TensorBatch
from bertlab.recipe import Model
from bertlab.tasks.kinds.coreference_resolution.model import (
    DISTANCES,
    GOLD,
    KEPT,
    NONE,
    CoreferenceModel,
    log_likelihoods,
)

SENTENCES = [[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, -1, -1, -1]]
KEEP = [4, 2]
MENTIONS = [[[0, 1, 0], [3, 3, 0], [5, 6, 1]], [[2, 2, 4], [-1, -1, -1], [-1, -1, -1]]]


@pytest.fixture
def model():
    found = CoreferenceModel(BertEncoder(Model(layers=1, hidden=8, heads=2, dropout=0.0), 30, 16), 0.0, 0).eval()
    with torch.no_grad():
        for each in found.parameters():  # weights at which scores differ
            each.add_(torch.randn(each.shape, generator=torch.Generator().manual_seed(each.numel())) * 0.3)
    return found


@pytest.fixture
def batch():
    """Two documents: one of two segments of 4 words, the second word in two pieces; one of one segment."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(5, 30, (3, 7), generator=generator)
    lengths = torch.tensor([6, 6, 6])
    firsts = torch.tensor([[1, 2, 4, 8, 9, 10, 11], [15, 16, 17, 18, 0, 0, 0]])
    lasts = firsts.clone()
    lasts[0, 1] = 3
    sentences = torch.tensor(SENTENCES)
    return (
        TensorBatch.of(tokens, lengths),
        firsts,
        lasts,
        sentences,
        torch.tensor(KEEP),
        torch.tensor(MENTIONS),
    )


def naive(model, batch, document, spans):
    """The mention score of each span, and the score of each pair, antecedent second."""
    inputs, firsts, lasts, *_ = batch
    states = model.encoder(inputs).flatten(0, 1)

    def vector(first, last):
        inside = states[firsts[document, first : last + 1]]
        attended = (model.attention(inside).softmax(0) * inside).sum(0)
        ends = states[firsts[document, first]], states[lasts[document, last]]
        return torch.cat([*ends, attended, model.widths.weight[last - first]])

    vectors = [vector(*span) for span in spans]
    mention = [model.mention(each) for each in vectors]

    def pair(one, two):
        bucket = sum(one - two >= begin for begin in DISTANCES)
        own, before = vectors[one], vectors[two]
        fine = model.pair(torch.cat([own, before, own * before, model.distances.weight[bucket]]))
        return mention[one] + mention[two] + model.coarse(own) @ before + fine

    return [float(each) for each in mention], {
        (one, two): float(pair(one, two)) for one in range(len(spans)) for two in range(one)
    }


@torch.no_grad()
def test_rows_are_the_best_spans_and_the_gold_mentions_with_their_antecedents(model, batch):
    rows = model(*batch)
    kinds = [[KEPT] * 4 + [GOLD] * 3, [KEPT] * 2 + [NONE] * 2 + [GOLD] + [NONE] * 2]
    assert rows[..., 0].tolist() == kinds
    for document, (sentences, keep) in enumerate(zip(SENTENCES, KEEP, strict=True)):
        spans = [
            (first, last)
            for first in range(7)
            for last in range(first, 7)
            if sentences[first] >= 0 and sentences[first] == sentences[last]
        ]
        mention, _ = naive(model, batch, document, spans)
        best = sorted(sorted(range(len(spans)), key=lambda at, mention=mention: -mention[at])[:keep])
        kept = [spans[at] for at in best]
        gold = [tuple(each[:2]) for each in MENTIONS[document] if each[2] >= 0]
        for begin, group in ((0, kept), (4, gold)):
            assert [tuple(row) for row in rows[document, begin : begin + len(group), 1:3].tolist()] == group
            _, scores = naive(model, batch, document, group)
            for one in range(len(group)):
                found = rows[document, begin + one, 3:].view(-1, 3)
                found = {(first, last): score for score, first, last in found.tolist() if score > -1e30}
                assert found == pytest.approx({group[two]: scores[one, two] for two in range(one)}, rel=1e-4)
    model.train()
    assert torch.equal(model(*batch)[..., 1:3], rows[:, :4, 1:3]), "in training, kept spans alone"


def test_the_likelihood_is_that_of_all_right_antecedents_together():
    """Spans a, b, c, d; a, b, d are one cluster, c is no mention."""
    inf = float("inf")
    none, mentions = [-inf, 0, 0], torch.tensor([[[0, 0, 5], [1, 2, 5], [6, 6, 5], [9, 9, 8], [-1, -1, -1]]])
    a, b, c = [0, 0], [1, 2], [4, 4]
    rows = torch.tensor([[
        [KEPT, *a, *none, *none, *none],
        [KEPT, *b, 1.0, *a, *none, *none],
        [KEPT, *c, 2.0, *a, 1.0, *b, *none],
        [KEPT, 6, 6, 0.5, *c, 1.0, *b, 2.0, *a],
        [KEPT, 9, 9, 0.5, *c, 1.0, *b, 2.0, *a],
    ]])  # fmt: skip
    e = torch.tensor([0.5, 1.0, 2.0]).exp()
    every = 1 + e.sum()
    expected = torch.stack(
        [torch.tensor(1.0), e[1] / (1 + e[1]), 1 / (1 + e[1] + e[2]), (e[1] + e[2]) / every, 1 / every]
    )
    torch.testing.assert_close(log_likelihoods(rows, mentions)[0], expected.log())
