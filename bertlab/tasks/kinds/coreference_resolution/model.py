"""Coreference resolution over spans: Lee et al. 2018 on an encoder's vectors, as in SpanBERT section 4.2.

Each span of words is scored as a mention, the best are kept, and each kept span chooses an antecedent among those
before it, or none. s(x, y) = s_m(x) + s_m(y) + s_c(x, y); no antecedent has the score 0.

Shapes: B documents of N words, R segments of T tokens, S spans, A antecedents, G gold mentions, D hidden.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.model.attention import gather
from bertlab.model.backbone import Backbone
from bertlab.model.initial import HEAD_STD, initialise
from bertlab.model.layers import set_dropout
from bertlab.model.streams import TensorBatch

LONGEST_SPAN = 30
"""Words of the longest spans, as in the paper (there: word pieces)."""
ANTECEDENTS = 50
"""The largest number of antecedents that a span chooses among: those with the best coarse scores (Lee et al. 2018,
section 4)."""
FEATURE_SIZE = 20
"""Units of the embeddings of widths and distances."""
FFNN_FACTOR = 3
"""Units of the feed-forward networks as a multiple of the encoder's width: the paper's 3,000 for 1,024."""
DISTANCES = (1, 2, 3, 4, 5, 8, 16, 32, 64)
"""The distances, counted in kept spans, at which buckets begin."""
NONE, KEPT, GOLD = 0, 1, 2
"""What a row of the output is: empty, a kept span, a gold mention."""


class CoreferenceModel(nn.Module):
    """An encoder with scores of spans as mentions, and of pairs of spans."""

    def __init__(self, encoder: Backbone, dropout: float, seed: int) -> None:
        """Takes over `encoder` and sets the dropout of all; what is new starts from `seed`."""
        super().__init__()
        self.encoder = encoder
        width, units = 3 * encoder.hidden_size + FEATURE_SIZE, FFNN_FACTOR * encoder.hidden_size
        self.attention = nn.Linear(encoder.hidden_size, 1)
        self.widths = nn.Embedding(LONGEST_SPAN, FEATURE_SIZE)
        self.distances = nn.Embedding(len(DISTANCES) + 1, FEATURE_SIZE)
        self.mention = _ffnn(width, units)
        self.coarse = nn.Linear(width, width)
        self.pair = _ffnn(3 * width + FEATURE_SIZE, units)
        set_dropout(self, dropout)
        new = {name: child for name, child in self.named_children() if child is not encoder}
        initialise(nn.ModuleDict(new), HEAD_STD, seed)

    def forward(
        self,
        inputs: TensorBatch,
        firsts: Tensor,
        lasts: Tensor,
        sentences: Tensor,
        num_spans: Tensor,
        mentions: Tensor,
    ) -> Tensor:
        """Scores the antecedents of the spans of B documents, (B, S, 3 + 3 A) in fp32.

        `inputs` has R sequences of T tokens. `firsts` and `lasts` (B, N) say which of the R x T tokens each word begins
        and ends with, `sentences` (B, N) its sentence, -1 for padding. `num_spans` (B,) spans of a document are kept.
        `mentions` (B, G, 3) are gold: first word, last word and cluster, -1 for padding.

        A row of the output is a span: its kind, its first and its last word, and then for each of A antecedents the
        score, the first and the last word. The score is minus infinity where there is no antecedent. Rows are the kept
        spans as they follow each other in the document. In evaluation, gold mentions come after them: their antecedents
        are chosen among gold mentions.
        """
        states = self.encoder(inputs).float()
        states = states.view(1, -1, states.shape[-1])
        first, last = (
            gather(states, positions.view(1, -1)).view(*positions.shape, -1) for positions in (firsts, lasts)
        )
        with torch.no_grad():
            starts, widths, rows = self._keep(first, last, sentences, num_spans)
        parts = [self._rows(first, last, starts, widths, rows)]
        if not self.training:
            starts, ends, _ = mentions.clamp(min=0).unbind(-1)
            rows = GOLD * (mentions[..., 2] >= 0).long()
            parts.append(self._rows(first, last, starts, ends - starts, rows))
        width = max(part.shape[-1] for part in parts)
        return torch.cat([F.pad(part, (0, width - part.shape[-1]), value=-torch.inf) for part in parts], 1)

    def _keep(self, first: Tensor, last: Tensor, sentences: Tensor, num_spans: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The spans with the best scores as mentions: their starts and widths minus 1, and what each row is, (B, S).

        The first layer of the scores is linear in the parts of a span, so it is applied to them before they are put
        together: there are many more spans than words.
        """
        words = sentences.shape[1]
        places = torch.arange(words, device=sentences.device)[:, None]
        ends = places + torch.arange(min(LONGEST_SPAN, words), device=sentences.device)
        inside = ends.clamp(max=words - 1)
        valid = (ends < words) & (sentences[:, inside] == sentences[..., None]) & (sentences >= 0)[..., None]
        valid = valid[..., : int(valid.sum(-1).max())]  # of the longest sentence
        inside, longest = inside[:, : valid.shape[-1]], valid.shape[-1]

        def windows(x: Tensor) -> Tensor:
            return x[:, inside]

        layer, hidden = cast(nn.Linear, self.mention[0]), first.shape[-1]
        start, end, inner, width = torch.split(layer.weight, [hidden, hidden, hidden, FEATURE_SIZE], 1)
        scores = windows(self.attention(first)[..., 0])[:, :, None].expand(-1, -1, longest, -1)
        later = torch.ones(longest, longest, device=first.device).triu(1).bool()
        weights = scores.masked_fill(later, -torch.inf).softmax(-1)  # of the words of a span
        x = (
            F.linear(first, start)[:, :, None]
            + windows(F.linear(last, end))
            + weights @ windows(F.linear(first, inner))
        )
        x = x + F.linear(self.widths.weight[:longest], width, layer.bias)
        scores = self.mention[1:](x)[..., 0].masked_fill(~valid, -torch.inf).flatten(1)
        best = scores.topk(int(num_spans.max()), 1).indices
        used = torch.arange(best.shape[1], device=best.device) < num_spans[:, None]
        best = best.masked_fill(~used, scores.shape[1]).sort(1).values  # empty rows are the last
        used = best < scores.shape[1]
        best = best.masked_fill(~used, 0)
        return best // longest, best % longest, KEPT * used.long()

    def _rows(self, first: Tensor, last: Tensor, starts: Tensor, widths: Tensor, rows: Tensor) -> Tensor:
        """The output for spans (B, S) in order; those with `rows` 0 are empty."""
        count = starts.shape[1]
        spans = self._vectors(first, last, starts, widths)
        mention = self.mention(spans)[..., 0]
        distance = torch.arange(count, device=starts.device)[:, None] - torch.arange(count, device=starts.device)
        allowed = (distance > 0) & (rows > 0)[:, :, None] & (rows > 0)[:, None]
        coarse = mention[:, :, None] + mention[:, None] + self.coarse(spans) @ spans.transpose(1, 2)
        scores, chosen = coarse.masked_fill(~allowed, -torch.inf).topk(min(ANTECEDENTS, count), -1)
        far = torch.arange(count, device=starts.device)[:, None] - chosen
        buckets = (far[..., None] >= far.new_tensor(DISTANCES)).sum(-1)

        def of_chosen(x: Tensor) -> Tensor:
            return gather(x, chosen.flatten(1)).view(*chosen.shape, -1)

        # As above, the first layer is applied to the parts of a pair: x, y, their product, their distance.
        layer, width = cast(nn.Linear, self.pair[0]), spans.shape[-1]
        current, before, both, distant = torch.split(layer.weight, [width, width, width, FEATURE_SIZE], 1)
        x = F.linear(spans, current)[:, :, None] + of_chosen(F.linear(spans, before))
        x = x + F.linear(spans[:, :, None] * of_chosen(spans), both)
        x = x + F.embedding(buckets, F.linear(self.distances.weight, distant, layer.bias))
        scores = scores + self.pair[1:](x)[..., 0]
        places = torch.stack([starts, starts + widths], -1).float()
        pairs = torch.cat([scores.float()[..., None], of_chosen(places)], -1).flatten(2)
        return torch.cat([rows.float()[..., None], places, pairs], -1)

    def _vectors(self, first: Tensor, last: Tensor, starts: Tensor, widths: Tensor) -> Tensor:
        """(B, S, 3 D + F): the first and the last token of each span, its words weighted by attention, its width."""
        words, hidden = first.shape[1:]
        widths = widths.clamp(max=LONGEST_SPAN - 1)
        more = torch.arange(int(widths.max()) + 1, device=starts.device)
        places = (starts[..., None] + more).clamp(max=words - 1)
        inside = gather(first, places.flatten(1)).view(*places.shape, hidden)
        scores = self.attention(inside)[..., 0].masked_fill(more > widths[..., None], -torch.inf)
        attended = (scores.softmax(-1)[..., None] * inside).sum(2)
        return torch.cat([gather(first, starts), gather(last, starts + widths), attended, self.widths(widths)], -1)


def _ffnn(inputs: int, units: int) -> nn.Sequential:
    """A feed-forward network with one hidden layer and one output."""
    return nn.Sequential(nn.Linear(inputs, units), nn.ReLU(), nn.Dropout(), nn.Linear(units, 1))


def log_likelihoods(rows: Tensor, mentions: Tensor) -> Tensor:
    """(B, S) the log-likelihood of the right antecedents of each row of an output, nats: the sum of their
    probabilities; of none for a span that is no gold mention, or whose antecedents are not among those it can choose.

    `mentions` (B, G, 3) has first word, last word and cluster, -1 for padding.
    """
    antecedents = rows[..., 3:].reshape(*rows.shape[:2], (rows.shape[2] - 3) // 3, 3)
    scores, clusters = antecedents[..., 0], _clusters(rows[..., 1:3], mentions)
    same = _clusters(antecedents[..., 1:].flatten(1, 2), mentions).view(scores.shape) == clusters[..., None]
    right = same & (clusters >= 0)[..., None] & scores.isfinite()
    every = torch.cat([torch.zeros_like(scores[..., :1]), scores], -1)
    right = torch.cat([~right.any(-1, keepdim=True), right], -1)
    return every.masked_fill(~right, -torch.inf).logsumexp(-1) - every.logsumexp(-1)


def _clusters(spans: Tensor, mentions: Tensor) -> Tensor:
    """The cluster of each span (B, S, 2), -1 for those that are no mention."""
    same = (spans[:, :, None] == mentions[:, None, :, :2]).all(-1)
    clusters = torch.where(same, mentions[:, None, :, 2], -1)
    return F.pad(clusters, (0, 1), value=-1).amax(-1)  # there may be no mentions
