"""Tasks on two sentences: do they say the same (paraphrase), and how much of it (similarity)?

Both tell of the same people and the same deed. Whether they agree lies in the words for saying, one of which means that
the deed was done and the other maybe that it was not, and for similarity in a good or a bad trait besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import sentence
from bertlab.synthetic.stage import FALSE, TRUE, Stage


def paraphrase(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Two sentences that say the same (1), or of which one says that what the other says is not so (0)."""
    stage = Stage.of(draw, pool, rare=rare)
    said = stage.either()
    statuses = [(TRUE, FALSE)[each] for each in (said, said if label else 1 - said)]
    deed = f"that {stage.one.name} {stage.deed}"
    return {
        f"sentence{number}": sentence(f"{stage.two.name} {stage.saying(status)} {deed}")
        for number, status in enumerate(statuses, start=1)
    } | {"label": label}


def similarity(draw: Draw, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Two sentences, each a saying and a trait, and 2.5 for each of the two in which they agree, give or take 0.2."""
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
