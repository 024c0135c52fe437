"""Tasks on two sentences: do they tell the same (paraphrase), and how much of it (similarity)?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.text.microworld import retelling
from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.language import sentence
from bertlab.text.microworld.stage import Stage

JOINT = " and "


def paraphrase(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Two sentences that tell the same one or two facts (1), or of which one fact is another (0)."""
    facts = 1 + draw.below(2)
    return _pair(Stage.of(draw, pool, rare=rare), facts, facts - 1 + label) | {"label": label}


def similarity(draw: Draw, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Two sentences of one or two facts each, and 5 times the share that they have in common, give or take 0.2."""
    facts = 1 + draw.below(2)
    shared = draw.below(facts + 1)
    score = 5 * shared / facts + 0.4 * (draw.uniform() - 0.5)
    return _pair(Stage.of(draw, pool, rare=rare), facts, shared) | {"label": round(min(5.0, max(0.0, score)), 2)}


def _pair(stage: Stage, count: int, shared: int) -> dict[str, str]:
    """Two sentences of `count` facts each about the same people, `shared` of them in both."""
    told = retelling.facts(stage, 2 * count - shared)
    first = [clause for clause, _ in told[:count]]
    second = [clause for _, clause in told[count - shared :]]
    return {
        f"sentence{number}": sentence(JOINT.join(stage.draw.some(clauses, count)))
        for number, clauses in enumerate((first, second), start=1)
    }
