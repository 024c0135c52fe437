"""Three-way inference: does the premise entail the hypothesis (0), leave it open (1) or contradict it (2)?

A premise tells of somebody's saying or of a tale, and the word for it says whether it is so. The hypothesis says of the
same, or of what the premise has not, that it is so or that it is not. Which of them and which way are drawn without the
label, so that neither text alone tells it, and what is about a saying ("said it") has as many words as what is about a
tale ("had it"), so that lengths do not either. What decides is which words for saying mean that something is so: the
documents show it; those of the evaluation examples are in no training example.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.stage import FALSE, TRUE, Stage

ENTAILED, NEUTRAL, CONTRADICTED = 0, 1, 2

_LEAN = 0.85
"""As `LEAN` of the stage, for this task: with less, small models that have learnt what is open often stay there."""


def row(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """One example in the columns of MNLI; its people have names out of `pool`, see `Stage` for `rare`."""
    stage = Stage.of(draw, pool, rare=rare)
    # the saying or the tale; that it is so, or that it is not
    about, supposed = stage.either(_LEAN), stage.either(_LEAN)
    told = about if label != NEUTRAL else 1 - about
    side = {ENTAILED: supposed, CONTRADICTED: 1 - supposed, NEUTRAL: draw.below(2)}[label]
    premise, hypothesis = claim(stage, told, side), verdict(stage, about, supposed)
    return {"premise": sentence(premise), "hypothesis": sentence(hypothesis), "label": label}


def claim(stage: Stage, about: int, side: int) -> str:
    """A saying (0) or a tale (1) that is true (`side` 0) or false (1)."""
    words, who = lexicon().claims[(TRUE, FALSE)[side]], stage.two.name
    told = f"then {who} told a {stage.apart(words.nouns)}" if about else f"it was {who} who {stage.apart(words.verbs)}"
    return f"{told} that {stage.one.name} {stage.deed}"


def verdict(stage: Stage, about: int, side: int) -> str:
    """That the saying (0) or the tale (1) is true (`side` 0) or false (1)."""
    claimed = f"so {stage.two.name} {'had' if about else 'said'} it"
    return f"{claimed}, {stage.draw.one(lexicon().claims[(TRUE, FALSE)[side]].tails)}"
