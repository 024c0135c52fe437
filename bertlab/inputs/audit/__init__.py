"""Proves what batches contain: draws them as training sees them and holds each figure against its definition.

Nothing here calls the code that makes batches. Rows are traced back to the corpus by their content, shares of random
draws are tested against the recipe's, and what must hold always is counted.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from bertlab.inputs.audit import sequences
from bertlab.inputs.audit.checks import Check
from bertlab.inputs.audit.drawing import Drawn, Source, Steps, draw
from bertlab.inputs.audit.tracing import structure, trace
from bertlab.inputs.batches import Batches, Corpus
from bertlab.recipe import Recipe
from bertlab.recipe.cost import phases

__all__ = ["LESS", "MOST", "Audited", "Check", "audit", "same_batches", "same_sequences"]

MOST = 6_000_000
"""Tokens, padding included, that are drawn of the first pass at most, and an eighth of them of each later one."""
LESS = MOST // 4
"""The same where only masks are new: enough for them."""
_BESIDE = 200
"""Batches of another format that give the tokens of its batch."""


@dataclass(frozen=True)
class Audited:
    """What was found in the batches of one length of a recipe."""

    length: int
    """Tokens a sequence at most."""
    rows: int
    """Sequences drawn, over all passes."""
    tokens: int
    """Tokens in them, specials included."""
    passes: tuple[int, ...]
    """Passes over the data that were drawn from."""
    whole: bool
    """Whether the first pass was drawn whole."""
    checks: tuple[Check, ...]


def audit(recipe: Recipe, corpus: Corpus, source: Source | None = None, most: int = MOST) -> list[Audited]:
    """Audits the batches of a recipe, one entry for each length that it trains at.

    `source` gives batch number s of the training, in place of those of `recipe`; `most` tokens are drawn of a pass.
    Batches beyond the last step are drawn too: what a recipe asks for is seen better in many.
    """
    source = source or Batches(recipe, corpus).batch
    lengths = [length for length, _ in phases(recipe)]
    change = phases(recipe)[0][1] if len(lengths) > 1 else None
    spans = [(0, change), (change, None)] if change is not None else [(0, None)]
    return [
        _audit(recipe, corpus, source, length, first or 0, until, most)
        for length, (first, until) in zip(lengths, spans, strict=True)
    ]


def same_batches(recipe: Recipe) -> tuple[object, ...]:
    """What the batches of a recipe depend on: recipes that give the same have the same batches."""
    return (tuple(loss for loss in recipe.objective if not loss.labels_only), *same_sequences(recipe))


def same_sequences(recipe: Recipe) -> tuple[object, ...]:
    """The same without what is predicted: recipes that give the same have the same sequences in the same order."""
    whole = recipe.inputs.epochs or recipe.inputs.phase2_length
    steps = recipe.schedule.steps if whole else 1
    pairs = recipe.pairing if recipe.inputs.pairs else None
    return recipe.corpus, recipe.tokenizer, recipe.inputs, pairs, recipe.schedule.batch_size, steps, recipe.seed


def _audit(
    recipe: Recipe, corpus: Corpus, source: Source, length: int, first: int, until: int | None, most: int
) -> Audited:
    copies = recipe.inputs.dupe_factor if recipe.inputs.pairs else 1
    drawn = draw(source, 0, first, until, most)
    assert drawn is not None  # the first pass begins with the first step
    rows = structure(drawn, recipe, corpus)
    traced = trace(rows, recipe, corpus)
    checks = [
        *sequences.layout(rows, recipe, length, corpus),
        *sequences.batches(drawn.steps, recipe, length, _beside(recipe, corpus, length, first, until)),
        *sequences.content(rows, traced, recipe, corpus),
        *sequences.pairs(rows, traced, recipe),
        *sequences.form(rows, traced, recipe, corpus),
        *sequences.coverage(rows, traced, recipe, length, corpus),
        *sequences.passes(rows, traced, recipe),
    ]
    checks += [check for loss in recipe.objective for check in loss.audit(rows, corpus.tokenizer)]
    seen: list[tuple[int, Drawn]] = [(0, drawn)]
    for number in sorted({copies, *(loss.period(copies) for loss in recipe.objective)}):
        later = draw(source, number, first, until, most // 8)
        if later is not None:
            seen.append((number, later))
            others = structure(later, recipe, corpus)
            checks.append(sequences.same_again(rows, others, number))
            checks += [check for loss in recipe.objective for check in loss.audit_again(rows, others, number)]
    return Audited(
        length=length,
        rows=sum(len(each.batch.rows) for _, each in seen),
        tokens=sum(int(each.batch.lengths.sum()) for _, each in seen),
        passes=tuple(number for number, _ in seen),
        whole=drawn.whole,
        checks=tuple(checks),
    )


def _beside(recipe: Recipe, corpus: Corpus, length: int, first: int, until: int | None) -> Steps | None:
    """Batches in the format by whose tokens those of the recipe's are counted."""
    if recipe.inputs.token_matched_to is None:
        return None
    other = dataclasses.replace(
        recipe, inputs=dataclasses.replace(recipe.inputs, format=recipe.inputs.token_matched_to)
    )
    most = _BESIDE * length * recipe.schedule.batch_size
    beside = draw(Batches(other, corpus).batch, 0, first, until, most)
    assert beside is not None
    return beside.steps
