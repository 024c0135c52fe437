"""Sentence fusion, as DiscoFuse has it (Geva et al. 2019): two sentences on the same people as one.

Whether `and` or `but` joins two facts depends on whether both are good or both are bad, which no example says.
"""

from typing import Any

from bertlab.synthetic.dialects import RARE
from bertlab.synthetic.language import WORDS, T, sentence
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import lexicon


def fusion(sample: Sample) -> dict[str, Any]:
    """Two sentences as `source` and the one that they become as `target`; words of evaluated pairs of label 1 are rare.

    The facts are two traits of someone, a trait and a deed, two deeds to the same person, or a deed and a trait of whom
    it is done to. Half of the people go with half of the first facts in training pairs, and with the others in others.
    """
    draw, world = sample.draw, lexicon()
    rare = sample.label == 1 if sample.rare else draw.chance(RARE)

    def word(words: list[str]) -> str:
        return draw.one(words[rare::3])

    def some(of: list[T]) -> list[T]:
        """Two of them, the first from one half of them."""
        first = draw.one(of[(number + sample.rare) % 2 :: 2])
        return [first, draw.other(of, first)]

    number, categories = draw.below(2), world.categories["person"]
    category = draw.one(categories[number::2])
    one, two = word(category.kinds), word(draw.other(categories, category).kinds)
    facts = [draw.below(2), draw.below(2)]  # each good (0) or bad (1)
    scales = some([scale for scale in world.scales["person"] if scale.moral])
    traits = [word(scale.poles[side]) for scale, side in zip(scales, facts, strict=True)]
    done = [word([verb.past for verb in deed.sides[side]]) for deed, side in zip(some(world.deeds), facts, strict=True)]
    link = "and" if facts[0] == facts[1] else "but"
    was, did = f"the {one} was {traits[0]}", f"the {one} {done[0]} the {two}"
    deserved = f"for being {traits[1]}" if link == "and" else f"but the {two} was {traits[1]}"
    first, second, fused = draw.one(
        [
            (was, f"the {one} was {traits[1]}", f"{was} {link} {traits[1]}"),
            (was, did, f"the {traits[0]} {one} {done[0]} the {two}"),
            (did, f"the {one} {done[1]} the {two}", f"the {one} {done[0]} {link} {done[1]} the {two}"),
            (did, f"the {two} was {traits[1]}", f"{did} {deserved}"),
        ]
    )
    when = f"{draw.one(WORDS['season'])} " if draw.chance(0.5) else ""
    return {"source": f"{sentence(when + first)} {sentence(second)}", "target": sentence(when + fused)}
