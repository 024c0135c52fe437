"""Three-way inference: does the premise entail the hypothesis (0), leave it open (1) or contradict it (2)?

A premise reports a saying or a tale, and one word decides whether it is true. The hypothesis states that the saying or
the tale is true or false. Both choices are independent of the label, so neither text alone predicts it; sentences about
a saying ("said it") and about a tale ("had it") have the same length, so lengths do not predict it either. The label
depends on which words imply truth. The documents show that; evaluation examples use words that no training example has.
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
"""`LEAN` for this task: with less, small models often learn only to recognise neutral examples."""


def example(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """One example in the columns of MNLI, with names from `pool`; see `Stage` for `rare`."""
    stage = Stage.of(draw, pool, rare=rare)
    # a saying (0) or a tale (1); true (0) or false (1)
    about, supposed = stage.either(_LEAN), stage.either(_LEAN)
    reported = about if label != NEUTRAL else 1 - about
    side = {ENTAILED: supposed, CONTRADICTED: 1 - supposed, NEUTRAL: draw.below(2)}[label]
    premise, hypothesis = claim(stage, reported, side), verdict(stage, about, supposed)
    return {"premise": sentence(premise), "hypothesis": sentence(hypothesis), "label": label}


def claim(stage: Stage, about: int, side: int) -> str:
    """A saying (0) or a tale (1) that is true (`side` 0) or false (1)."""
    words, who = lexicon().claims[(TRUE, FALSE)[side]], stage.two.name
    start = f"then {who} told a {stage.apart(words.nouns)}" if about else f"it was {who} who {stage.apart(words.verbs)}"
    return f"{start} that {stage.one.name} {stage.deed}"


def verdict(stage: Stage, about: int, side: int) -> str:
    """States that the saying (0) or the tale (1) is true (`side` 0) or false (1)."""
    claimed = f"so {stage.two.name} {'had' if about else 'said'} it"
    return f"{claimed}, {stage.draw.one(lexicon().claims[(TRUE, FALSE)[side]].tails)}"
