"""Audits what losses add to sequences: each figure with its definition. Calls none of the code that makes batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Check, Flags, Numbers, always, evenly, share, total
from bertlab.inputs.audit.drawing import Drawn
from bertlab.inputs.audit.tracing import Structure, again

if TYPE_CHECKING:
    from bertlab.inputs.collator import Tokenizer
    from bertlab.objectives.masked_lm import MaskedLM


def left_to_right(rows: Structure, kind: str, tokenizer: Tokenizer) -> list[Check]:
    """Each token but the first is predicted from those before it, and none is hidden."""
    drawn, batch, arrays = rows.drawn, rows.drawn.batch, rows.drawn.batch.arrays[kind]
    slots = np.arange(arrays["positions"].shape[1])
    real = slots < batch.lengths[:, None] - 1
    following = np.zeros(real.shape, dtype=np.int64)
    width = min(real.shape[1], batch.tokens.shape[1] - 1)
    following[:, :width] = batch.tokens[:, 1 : width + 1]
    wrong = (arrays["targets"] != following) | (arrays["positions"] != slots) | (arrays["weights"] != 1)
    enough = batch.lengths - 1 <= real.shape[1]
    return [
        always("targets", "the next token at each position", (wrong & real).any(axis=1) | ~enough, drawn.name),
        always("[MASK]", "never shown", (batch.tokens == tokenizer.mask).any(axis=1), drawn.name),
        _empty_slots(drawn, kind, ~real),
    ]


def pair_labels(rows: Structure, kind: str) -> list[Check]:
    """Each label is the one that its pair was drawn with."""
    batch = rows.drawn.batch
    wrong = batch.arrays[kind]["labels"] != batch.random_second
    return [always("labels of pairs", "those that they were drawn with", wrong, rows.drawn.name)]


def order_labels(rows: Structure, kind: str) -> list[Check]:
    """Each label is the one that its pair was drawn with; pairs without an order have none."""
    order, labels = rows.drawn.batch.order, rows.drawn.batch.arrays[kind]["labels"]
    wrong = np.where(order < 0, labels >= 0, labels != order)
    said = f"{(labels >= 0).mean():.2%} of the pairs have one"
    return [always("labels of order", "those that pairs were drawn with", wrong, rows.drawn.name, said)]


def masked(rows: Structure, loss: MaskedLM, tokenizer: Tokenizer) -> list[Check]:
    """The chosen tokens of one epoch and their replacements."""
    drawn, chosen = rows.drawn, rows.drawn.chosen(loss.kind)
    active = drawn.batch.arrays[loss.kind]["weights"] > 0
    sizes, counts, corruption = rows.sizes, chosen.sum(axis=1), loss.corruption
    expected = np.minimum(sizes, np.maximum(1, np.floor(loss.mask_prob * sizes + 0.5)))
    miscounted = (counts != expected) | (active.sum(axis=1) != expected)
    special = (chosen & ~rows.ordinary).any(axis=1)
    chosen &= rows.ordinary
    shown, then = drawn.batch.tokens, rows.tokens
    hidden = chosen & (shown == tokenizer.mask)
    same = chosen & (shown == then) & ~hidden
    replaced = chosen & ~hidden & ~same
    vocabulary = np.asarray(tokenizer.ordinary)
    apart = loss.selection.apart(chosen)
    draws = int(apart.sum())
    # A random token is the one that was there as often as chance has it.
    alike = corruption.random * float(np.isin(then[chosen], vocabulary).mean()) / len(vocabulary)
    strange = replaced & ~np.isin(shown, vocabulary)
    return [
        always(
            "tokens chosen",
            f"max(1, floor({loss.mask_prob:g} n + 0.5)) a row",
            miscounted,
            drawn.name,
            f"{counts.sum() / sizes.sum():.2%} of {sizes.sum():,}",
        ),
        always("specials chosen", "never", special, drawn.name, "never"),
        _empty_slots(drawn, loss.kind, ~active),
        share("chosen, shown as [MASK]", int((hidden & apart).sum()), draws, corruption.mask),
        share("chosen, kept", int((same & apart).sum()), draws, corruption.keep + alike),
        share("chosen, another shown", int((replaced & apart).sum()), draws, corruption.random - alike),
        always("shown for the chosen", "[MASK] or ordinary tokens", strange.any(axis=1), drawn.name),
        *([_random(shown[replaced], then[chosen], vocabulary)] if corruption.random else []),
        *loss.selection.audit(rows, chosen, tokenizer),
    ]


def masked_again(rows: Structure, others: Structure, loss: MaskedLM, epochs: int) -> list[Check]:
    """Whether the same sequences have the same masks `epochs` epochs later."""
    after, first, second = again(rows, others, epochs)
    if not len(first):
        return []
    chosen = rows.drawn.chosen(loss.kind)[first], others.drawn.chosen(loss.kind)[second]
    if loss.schedule == "static" or (loss.schedule == "duplicated" and epochs % loss.copies == 0):
        moved = chosen[0] != chosen[1]
        moved |= chosen[0] & (rows.drawn.batch.tokens[first] != others.drawn.batch.tokens[second])
        return [always(f"masks {after}", "the same", moved.any(axis=1), lambda row: others.drawn.name(second[row]))]
    return loss.selection.audit_again(f"chosen again {after}", rows, first, *chosen)


def _empty_slots(drawn: Drawn, kind: str, empty: Flags) -> Check:
    """Slots without a prediction hold zeros, and the others a weight of 1."""
    arrays = drawn.batch.arrays[kind]
    filled = (arrays["positions"] != 0) | (arrays["targets"] != 0) | (arrays["weights"] != 0)
    wrong = (filled & empty) | ((arrays["weights"] != 1) & ~empty)
    return always("weights", "1, and in empty slots all 0", wrong.any(axis=1), drawn.name)


def _random(shown: npt.NDArray[Any], then: npt.NDArray[Any], vocabulary: npt.NDArray[Any]) -> Check:
    """Random tokens come evenly from the ordinary vocabulary; that one is replaced by itself is not seen."""
    size = int(max(shown.max(initial=0), then.max(initial=0), vocabulary.max())) + 1
    counts, kept = (np.bincount(each, minlength=size)[vocabulary] for each in (shown, then))
    return evenly("random tokens", "each ordinary token as often", counts, (len(then) - kept).astype(np.float64))


def spread(rows: Structure, chosen: Flags) -> Check:
    """Early tokens of a sequence are chosen as often as late ones: the mean position of the chosen, 0 to 1."""
    sizes, counts = rows.sizes, chosen.sum(axis=1)
    found = float(rows.rank[chosen].sum())
    variance = float((counts * (sizes - counts) * (sizes + 1) / 12).sum())
    span = float((counts * (sizes - 1)).sum())
    return total("place of the chosen in a row", found, span / 2, variance, span, int(counts.sum()))


def places_differ(rows: Structure, chosen: Flags) -> Check:
    """Sequences of equal length have masks of their own: compares the chosen positions of pairs of them."""
    places = np.zeros(chosen.shape, dtype=np.bool_)
    row, column = np.nonzero(chosen)
    places[row, rows.rank[row, column]] = True
    order = np.argsort(rows.sizes, kind="stable")
    one, other = order[:-1:2], order[1::2]
    alike = rows.sizes[one] == rows.sizes[other]
    one, other = one[alike], other[alike]
    return overlap("chosen in another row too", places[one], places[other], rows.sizes[one])


def overlap(figure: str, one: Flags, other: Flags, sizes: Numbers) -> Check:
    """The positions that two independent draws share, of `sizes` (R,) tokens in each sequence: hypergeometric."""
    counts, others = one.sum(axis=1), other.sum(axis=1)
    expected = counts * others / sizes
    variance = expected * (1 - others / sizes) * (sizes - counts) / np.maximum(sizes - 1, 1)
    found = float((one & other).sum())
    return total(figure, found, float(expected.sum()), float(variance.sum()), float(counts.sum()), int(counts.sum()))
