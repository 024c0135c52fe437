"""Words of text that a pre-training reads: its budget and its milestones, as in BabyLM."""

from dataclasses import dataclass

import numpy as np

from bertlab.errors import BadInput
from bertlab.inputs.batches import paces, training_text
from bertlab.inputs.mixing import Mixture
from bertlab.recipe import Recipe
from bertlab.text.tokens import TokenisedCorpus

PASSES = 10
"""How often a training reads a text that is limited to a number of words, at most."""
MILLION = 1_000_000
MILESTONES = (*(MILLION * number * size for size in (1, 10, 100) for number in range(1, 10)), 1000 * MILLION)
"""The words after which BabyLM evaluates a model: each million up to ten, each ten up to a hundred, and so on."""
NEAR = 0.01
"""The last step stands for a milestone that it misses by this share at most: a text never has the words exactly."""


@dataclass(frozen=True)
class WordsRead:
    """The words that the steps of a recipe read, the same ones in each pass over a text."""

    words: float
    """Words of the text."""
    paces: list[tuple[int, float]]
    """The steps of each stage, and the share of the text that a step of it reads."""

    @classmethod
    def of(cls, recipe: Recipe, corpus: TokenisedCorpus) -> "WordsRead":
        """Those of a recipe on a corpus; a share of its text has this share of its words."""
        text = training_text(recipe, corpus.train)
        share = len(text.tokens) / len(corpus.train.tokens)
        of_text = Mixture(recipe, corpus, 0).rates[0] if recipe.multitask.tasks else 1.0
        read = [(steps, of_text * pace) for steps, pace in paces(recipe, text)]
        return cls(share * corpus.facts["train"]["words"], read)

    @property
    def steps(self) -> int:
        """All steps."""
        return sum(steps for steps, _ in self.paces)

    @property
    def passes(self) -> float:
        """How often all steps read the text."""
        return sum(steps * share for steps, share in self.paces)

    def check(self) -> None:
        """Raises `BadInput` if the steps read the text more than `PASSES` times."""
        if self.passes > PASSES:
            most = int(self.steps * PASSES / self.passes)
            raise BadInput(
                f"its {self.steps:,} steps read the {self.words:,.0f} words {self.passes:.1f} times: with --words it "
                f"makes {PASSES} passes at most, which are {most:,} steps (schedule.steps)"
            )

    @property
    def revisions(self) -> dict[str, int]:
        """The step after which each of `MILESTONES` is reached, by BabyLM's name of it."""
        total = self.passes * self.words
        ends = np.array([(0, 0.0), *((steps, steps * share * self.words) for steps, share in self.paces)]).cumsum(0)
        reached = [words for words in MILESTONES if words <= (1 + NEAR) * total]
        steps = np.interp(reached, ends[:, 1], ends[:, 0]).round().astype(int).tolist()
        return {f"chck_{words // MILLION}M": max(1, step) for words, step in zip(reached, steps, strict=True)}


def words_read(recipe: Recipe, corpus: TokenisedCorpus) -> int | None:
    """The words that all steps of a recipe read, rounded; None on a corpus of an earlier version, which counts none."""
    if "words" not in corpus.facts["train"]:
        return None
    read = WordsRead.of(recipe, corpus)
    return round(read.passes * read.words)


def revisions(recipe: Recipe, corpus: TokenisedCorpus) -> dict[str, int]:
    """`WordsRead.revisions` of a recipe; none if its text is not limited to a number of words."""
    return WordsRead.of(recipe, corpus).revisions if recipe.corpus.words else {}


def most_revisions(recipe: Recipe) -> int:
    """The number of revisions that a recipe has at most."""
    return sum(milestone <= (1 + NEAR) * PASSES * recipe.corpus.words for milestone in MILESTONES)
