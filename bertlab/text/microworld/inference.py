"""Three-way inference: does the premise entail the hypothesis (0), leave it open (1) or contradict it (2)?

A premise tells of somebody's saying or of a tale, and the word for it says whether it is so. The hypothesis says of the
same, or of what the premise has not, that it is so or that it is not. Which of them and which way are drawn without the
label, so that neither text alone tells it. What decides is which words for saying mean that something is so: the
documents show it, few training examples do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.language import sentence
from bertlab.text.microworld.lexicon import lexicon
from bertlab.text.microworld.stage import FALSE, TRUE, Stage

ENTAILED, NEUTRAL, CONTRADICTED = 0, 1, 2


def row(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """One example in the columns of MNLI; its people have names out of `pool`, see `Stage` for `rare`."""
    stage = Stage.of(draw, pool, rare=rare)
    about, supposed = stage.either(), stage.either()  # the saying or the tale; that it is so, or that it is not
    told = about if label != NEUTRAL else 1 - about
    side = {ENTAILED: supposed, CONTRADICTED: 1 - supposed, NEUTRAL: draw.below(2)}[label]
    premise, hypothesis = claim(stage, told, side), verdict(stage, about, supposed)
    return {"premise": sentence(premise), "hypothesis": sentence(hypothesis), "label": label}


def claim(stage: Stage, about: int, side: int) -> str:
    """A saying (0) or a tale (1) that is true (`side` 0) or false (1)."""
    status = (TRUE, FALSE)[side]
    done = f"that {stage.one.name} {stage.deed}"
    if about:
        return f"to {stage.two.name} it was a {stage.word(lexicon().claims[status].nouns)} {done}"
    return f"{stage.two.name} {stage.saying(status)} {done}"


def verdict(stage: Stage, about: int, side: int) -> str:
    """That the saying (0) or the tale (1) is true (`side` 0) or false (1)."""
    claimed = "so went the tale" if about else f"so said {stage.two.name}"
    return f"{claimed}, {stage.draw.one(lexicon().claims[(TRUE, FALSE)[side]].tails)}"
