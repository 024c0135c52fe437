"""What is predicted: how many tokens and which, what is shown in their place, and how that changes between passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Check, Flags, Numbers, always, evenly, share, total, untested
from bertlab.inputs.audit.drawing import Drawn
from bertlab.inputs.audit.tracing import Structure
from bertlab.inputs.batches import Corpus
from bertlab.recipe import Masking


def left_to_right(drawn: Drawn, corpus: Corpus) -> list[Check]:
    """Each token but the first is predicted from those before it, and none is hidden."""
    batch = drawn.batch
    slots = np.arange(batch.positions.shape[1])
    real = slots < batch.lengths[:, None] - 1
    following = np.zeros(real.shape, dtype=np.int64)
    width = min(real.shape[1], batch.tokens.shape[1] - 1)
    following[:, :width] = batch.tokens[:, 1 : width + 1]
    wrong = ((batch.targets != following) | (batch.positions != slots) | (batch.weights != 1)) & real
    enough = batch.lengths - 1 <= real.shape[1]
    return [
        always("targets", "the next token at each position", wrong.any(axis=1) | ~enough, drawn.name),
        always("[MASK]", "never shown", (batch.tokens == corpus.tokenizer.mask).any(axis=1), drawn.name),
        _empty_slots(drawn, ~real),
    ]


def masked(rows: Structure, masking: Masking, corpus: Corpus) -> list[Check]:
    """The chosen tokens of one pass, and what is shown in their place."""
    drawn, tokenizer, chosen = rows.drawn, corpus.tokenizer, rows.drawn.chosen
    sizes, counts, active = rows.sizes, chosen.sum(axis=1), drawn.batch.weights > 0
    expected = np.minimum(sizes, np.maximum(1, np.floor(masking.mask_prob * sizes + 0.5)))
    miscounted = (counts != expected) | (active.sum(axis=1) != expected)
    special = (chosen & ~rows.ordinary).any(axis=1)
    chosen &= rows.ordinary
    shown, then = drawn.batch.tokens[chosen], rows.tokens[chosen]
    hidden = np.asarray(shown == tokenizer.mask)
    same = np.asarray(shown == then) & ~hidden
    vocabulary = np.asarray(tokenizer.ordinary)
    # A random token is the one that was there as often as chance has it.
    alike = masking.random * float(np.isin(then, vocabulary).mean()) / len(vocabulary)
    strange = np.zeros(chosen.shape, dtype=np.bool_)
    strange[chosen] = ~(hidden | same | np.isin(shown, vocabulary))
    replaced = ~hidden & ~same
    return [
        always(
            "tokens chosen",
            f"max(1, floor({masking.mask_prob:g} n + 0.5)) a row",
            miscounted,
            drawn.name,
            f"{counts.sum() / sizes.sum():.2%} of {sizes.sum():,}",
        ),
        always("specials chosen", "never", special, drawn.name, "never"),
        _empty_slots(drawn, ~active),
        share("chosen, shown as [MASK]", int(hidden.sum()), len(shown), masking.mask),
        share("chosen, kept", int(same.sum()), len(shown), masking.keep + alike),
        share("chosen, another shown", int(replaced.sum()), len(shown), masking.random - alike),
        always("shown for the chosen", "[MASK] or ordinary tokens", strange.any(axis=1), drawn.name),
        *([_random(shown[replaced], then, vocabulary)] if masking.random else []),
        _spread(rows, chosen),
        _unalike(rows, chosen),
    ]


def between_passes(one: Structure, other: Structure, masking: Masking | None, passes: int) -> list[Check]:
    """What the rows of the same name in two passes, so many `passes` apart, share: their text, and masks or none."""
    after = f"after {passes} pass{'es' if passes > 1 else ''}"
    _, first, second = np.intersect1d(one.drawn.batch.rows, other.drawn.batch.rows, return_indices=True)
    if not len(first):
        return [untested(f"rows {after}", "the same text", "no row drawn twice")]

    def name(row: int) -> str:
        return other.drawn.name(second[row])

    tokens = one.tokens[first], other.tokens[second]
    ordinary = one.ordinary[first], other.ordinary[second]
    changed = (ordinary[0] != ordinary[1]) | (ordinary[0] & (tokens[0] != tokens[1]))
    relabelled = one.drawn.batch.next_sentence[first] != other.drawn.batch.next_sentence[second]
    checks = [always(f"rows {after}", "the same text", changed.any(axis=1) | relabelled, name)]
    if masking is None:
        return checks
    chosen = one.drawn.chosen[first], other.drawn.chosen[second]
    if masking.schedule == "static" or (masking.schedule == "duplicated" and passes % masking.copies == 0):
        moved = chosen[0] != chosen[1]
        moved |= chosen[0] & (one.drawn.batch.tokens[first] != other.drawn.batch.tokens[second])
        return [*checks, always(f"masks {after}", "the same", moved.any(axis=1), name)]
    return [*checks, _overlap(f"chosen again {after}", chosen[0], chosen[1], one.sizes[first])]


def _empty_slots(drawn: Drawn, empty: Flags) -> Check:
    """Slots without a prediction hold zeros, and the others a weight of 1."""
    batch = drawn.batch
    filled = (batch.positions != 0) | (batch.targets != 0) | (batch.weights != 0)
    wrong = (filled & empty) | ((batch.weights != 1) & ~empty)
    return always("weights", "1, and in empty slots all 0", wrong.any(axis=1), drawn.name)


def _random(shown: npt.NDArray[Any], then: npt.NDArray[Any], vocabulary: npt.NDArray[Any]) -> Check:
    """Random tokens come evenly from the ordinary vocabulary; that one is replaced by itself is not seen."""
    size = int(max(shown.max(initial=0), then.max(initial=0), vocabulary.max())) + 1
    counts, kept = (np.bincount(each, minlength=size)[vocabulary] for each in (shown, then))
    return evenly("random tokens", "each ordinary token as often", counts, (len(then) - kept).astype(np.float64))


def _spread(rows: Structure, chosen: Flags) -> Check:
    """Early tokens of a row are chosen as often as late ones: the mean place of the chosen, 0 to 1."""
    sizes, counts = rows.sizes, chosen.sum(axis=1)
    found = float(rows.rank[chosen].sum())
    variance = float((counts * (sizes - counts) * (sizes + 1) / 12).sum())
    span = float((counts * (sizes - 1)).sum())
    return total("place of the chosen in a row", found, span / 2, variance, span, int(counts.sum()))


def _unalike(rows: Structure, chosen: Flags) -> Check:
    """Rows of as many tokens are masked at other places: pairs of them, compared by the places of the chosen."""
    places = np.zeros(chosen.shape, dtype=np.bool_)
    row, column = np.nonzero(chosen)
    places[row, rows.rank[row, column]] = True
    order = np.argsort(rows.sizes, kind="stable")
    one, other = order[:-1:2], order[1::2]
    alike = rows.sizes[one] == rows.sizes[other]
    one, other = one[alike], other[alike]
    return _overlap("chosen in another row too", places[one], places[other], rows.sizes[one])


def _overlap(figure: str, one: Flags, other: Flags, sizes: Numbers) -> Check:
    """How many of the places that were chosen of `sizes` (R,) are chosen in two independent draws: hypergeometric."""
    counts, others = one.sum(axis=1), other.sum(axis=1)
    expected = counts * others / sizes
    variance = expected * (1 - others / sizes) * (sizes - counts) / np.maximum(sizes - 1, 1)
    found = float((one & other).sum())
    return total(figure, found, float(expected.sum()), float(variance.sum()), float(counts.sum()), int(counts.sum()))
