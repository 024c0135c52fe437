"""Proves what batches contain: draws them as training sees them and holds each figure against its definition.

Nothing here calls the code that makes batches. Rows are traced back to the corpus by their content, shares of random
draws are tested against the recipe's, and what must hold always is counted.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from bertlab.inputs.audit import prediction, sequences
from bertlab.inputs.audit.checks import Check
from bertlab.inputs.audit.drawing import Drawn, Source, Steps, draw
from bertlab.inputs.audit.tracing import structure, trace
from bertlab.inputs.batches import Batches, Corpus
from bertlab.recipe import Masking, Model, Objective, Optimizer, Recipe, Schedule
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


def same_batches(recipe: Recipe) -> Recipe:
    """The recipe without what its batches do not depend on: recipes that give equal ones have the same batches."""
    schedule = Schedule(batch_size=recipe.schedule.batch_size, steps=recipe.schedule.steps)
    if not (recipe.inputs.epochs or recipe.inputs.phase2_length):
        schedule = dataclasses.replace(schedule, steps=1)
    return dataclasses.replace(
        recipe,
        masking=Masking() if recipe.objective.causal else recipe.masking,
        objective=Objective(kind=recipe.objective.kind, next_sentence=False),
        model=Model(),
        schedule=schedule,
        optimizer=Optimizer(),
    )


def same_sequences(recipe: Recipe) -> Recipe:
    """The same without what is predicted: recipes that give equal ones have the same sequences in the same order."""
    return dataclasses.replace(
        same_batches(recipe), masking=Masking(), objective=Objective(kind="masked", next_sentence=False)
    )


def _audit(
    recipe: Recipe, corpus: Corpus, source: Source, length: int, first: int, until: int | None, most: int
) -> Audited:
    masking = None if recipe.objective.causal else recipe.masking
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
    checks += prediction.left_to_right(drawn, corpus) if masking is None else prediction.masked(rows, masking, corpus)
    seen: list[tuple[int, Drawn]] = [(0, drawn)]
    for number in sorted({copies, math.lcm(copies, recipe.masking.copies)} if masking else {copies}):
        later = draw(source, number, first, until, most // 8)
        if later is not None:
            seen.append((number, later))
            checks += prediction.between_passes(rows, structure(later, recipe, corpus), masking, number)
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
        recipe,
        inputs=dataclasses.replace(recipe.inputs, format=recipe.inputs.token_matched_to),
        objective=dataclasses.replace(recipe.objective, next_sentence=False),
    )
    most = _BESIDE * length * recipe.schedule.batch_size
    beside = draw(Batches(other, corpus).batch, 0, first, until, most)
    assert beside is not None
    return beside.steps
