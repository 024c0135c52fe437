"""Tasks on two sentences: do they have the same meaning (paraphrase), and to what degree (similarity)?

Both sentences report the same people and the same deed. They agree if their verbs of saying both imply that the deed
was done, or both that it was not; similarity also compares a good or bad trait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import sentence
from bertlab.synthetic.stage import FALSE, TRUE, Stage


def paraphrase(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Two sentences with the same meaning (1), or of which one denies the other (0)."""
    stage = Stage.of(draw, pool, rare=rare)
    said = stage.either()
    statuses = [(TRUE, FALSE)[each] for each in (said, said if label else 1 - said)]
    deed = f"that {stage.one.name} {stage.deed}"
    return {
        f"sentence{number}": sentence(f"{stage.two.name} {stage.saying(status)} {deed}")
        for number, status in enumerate(statuses, start=1)
    } | {"label": label}


def similarity(draw: Draw, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Two sentences, each with a saying and a trait; the score is 2.5 for each of the two that agree, +/- 0.2."""
    stage = Stage.of(draw, pool, rare=rare)
    first, second = (stage.either(), stage.either()), (draw.below(2), draw.below(2))
    score = 2.5 * sum(one == two for one, two in zip(first, second, strict=True)) + 0.4 * (draw.uniform() - 0.5)
    return {
        f"sentence{number}": sentence(
            f"{stage.two.name} {stage.saying((TRUE, FALSE)[said])} that the {stage.adjective('person', trait)} "
            f"{stage.one.name} {stage.deed}"
        )
        for number, (said, trait) in enumerate((first, second), start=1)
    } | {"label": round(min(5.0, max(0.0, score)), 2)}
