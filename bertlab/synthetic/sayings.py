"""Tasks on sayings: most examples have a claim, and a word that decides whether it is true.

Documents show which verbs ("knew that") and nouns ("a myth that") imply truth; evaluation examples of most tasks use
words that no training example has. Neither the length of an example nor one half of a pair predicts its label.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertlab.synthetic.language import WORDS, Draw, T, sentence
from bertlab.synthetic.world import Being, Certainty, lexicon, named

LEAN = 0.75
"""The fraction of the training examples whose supposition is the first of the two. In evaluation both are equally
frequent, so half of a pair carries no information. In training it carries some, and a model that has learnt to use one
half goes on to both; without it, small models stay at chance for a thousand updates."""
INFERENCE_LEAN = 0.85
"""`LEAN` for inference: with less, small models often learn only to recognise neutral examples."""


@dataclass(frozen=True)
class Sample:
    """The label of an example, and what samples the rest of it."""

    draw: Draw
    pool: Sequence[str]
    """Names of the split."""
    rare: bool
    """Whether to use rare words, two in three of most lists; no training example has them."""
    label: int
    """0 for tasks without classes."""
    id: str

    def named(self, on: str = "person") -> Being:
        """A being of the table `on` with a name of the split."""
        return named(self.draw, on, self.pool)

    def people(self) -> tuple[str, str, str]:
        """The name of a speaker, the name of someone else, and a deed of the latter."""
        other, speaker = self.named(), self.named()
        return speaker.name, other.name, self.draw.one(other.category.deeds)

    def either(self, lean: float = LEAN) -> int:
        """0 or 1 with equal probability; in training 0 with probability `lean`."""
        return int(self.draw.uniform() >= (0.5 if self.rare else lean))

    def item(self, items: Sequence[T]) -> T:
        """One of three or more `items` with equal probability; in training the first in more than half of the draws."""
        return items[0] if not self.rare and self.draw.chance(0.5) else self.draw.one(items)

    def word(self, words: Sequence[T]) -> T:
        """One of the `words`; in training the first of every three."""
        return self.draw.one(words if self.rare else words[::3])

    def apart(self, words: Sequence[str], *, first: bool) -> str:
        """One of the `words`: the first of every three if `first`, else one of the other two."""
        return self.draw.one([word for number, word in enumerate(words) if (number % 3 == 0) == first])

    def adjective(self, on: str, pole: int) -> str:
        """An adjective for a good (0) or a bad (1) member of the table `on`, rare or not."""
        return self.draw.one(self.draw.one([scale for scale in lexicon().scales[on] if scale.moral]).poles[pole])

    def saying(self, status: int) -> str:
        """A verb before `that` which makes the claim true (0), open (1) or false (2)."""
        return self.word(lexicon().claims[status].verbs)


def _claim(side: int) -> Certainty:
    """The words for what is true (0) or false (1)."""
    return lexicon().claims[2 * side]


def inference(sample: Sample) -> dict[str, Any]:
    """Does the premise entail the hypothesis (0), leave it open (1) or contradict it (2)? In the columns of MNLI.

    A premise reports a saying or a tale, and one word decides whether it is true. The hypothesis states that the saying
    or the tale is true or false, independently of the label, in the same number of words.
    """
    speaker, other, deed = sample.people()
    # a saying (0) or a tale (1); true (0) or false (1)
    about, supposed = sample.either(INFERENCE_LEAN), sample.either(INFERENCE_LEAN)
    reported = 1 - about if sample.label == 1 else about
    side = (supposed, sample.draw.below(2), 1 - supposed)[sample.label]
    words = _claim(side).nouns if reported else _claim(side).verbs
    word = sample.apart(words, first=sample.rare)
    start = f"then {speaker} told a {word}" if reported else f"it was {speaker} who {word}"
    hypothesis = f"so {speaker} {'had' if about else 'said'} it, {sample.draw.one(_claim(supposed).tails)}"
    return {
        "premise": sentence(f"{start} that {other} {deed}"),
        "hypothesis": sentence(hypothesis),
        "label": sample.label,
    }


def question_inference(sample: Sample) -> dict[str, Any]:
    """A question whether someone knew, guessed or lied, and a sentence with a claim of that status (0) or not (1)."""
    speaker, other, deed = sample.people()
    statuses = (0, 2, 1)  # of a claim: true, false, open
    asked = sample.item(statuses)
    saying = sample.saying(sample.draw.other(statuses, asked) if sample.label else asked)
    questions = ("of what was {} rightly sure", "of what was {} quite unsure", "what did {} wrongly claim")
    return {
        "question": sentence(questions[asked].format(speaker), "?"),
        "sentence": sentence(f"{speaker} {saying} that {other} {deed}"),
        "label": sample.label,
    }


def paraphrase(sample: Sample) -> dict[str, Any]:
    """Two sentences on the same deed: both imply that it was done or both that it was not (1), or only one (0)."""
    speaker, other, deed = sample.people()
    said = sample.either()
    sides = (said, said if sample.label else 1 - said)
    one, two = (sentence(f"{speaker} {sample.saying(2 * side)} that {other} {deed}") for side in sides)
    return {"sentence1": one, "sentence2": two, "label": sample.label}


def similarity(sample: Sample) -> dict[str, Any]:
    """Two sentences, each with a saying and a trait; the score is 2.5 for each of the two that agree, +/- 0.2."""
    draw = sample.draw
    speaker, other, deed = sample.people()
    first, second = (sample.either(), sample.either()), (draw.below(2), draw.below(2))
    score = 2.5 * sum(map(operator.eq, first, second)) + 0.4 * (draw.uniform() - 0.5)
    one, two = (
        sentence(f"{speaker} {sample.saying(2 * side)} that the {sample.adjective('person', pole)} {other} {deed}")
        for side, pole in (first, second)
    )
    return {"sentence1": one, "sentence2": two, "label": round(min(5.0, max(0.0, score)), 2)}


def sentiment(sample: Sample) -> dict[str, Any]:
    """Praise (1) or blame (0) of a person. Three in four examples quote somebody; false blame is praise.

    Adjectives of evaluation examples do occur in training, since small models do not transfer polarity to others. One
    in four examples states the adjective directly, or negates it.
    """
    draw, label = sample.draw, sample.label
    speaker, other, _ = sample.people()
    if draw.chance(0.25):
        negated = draw.chance(0.25)
        manner = draw.one(("not", "never", "hardly") if negated else ("very", "truly", "rather"))
        text = f"{other} was {manner} {sample.adjective('person', label if negated else 1 - label)}"
    else:
        side = sample.either()
        verb = sample.apart(_claim(side).verbs, first=sample.rare)
        adjective = sample.adjective("person", label if side else 1 - label)
        text = f"it was {speaker} who {verb} that {other} was {adjective}"
    return {"sentence": sentence(text), "label": label}


def acceptability(sample: Sample) -> dict[str, Any]:
    """An acceptable sentence (1), or one with a property, deed or tail that does not fit its subject or claim (0)."""
    draw, label = sample.draw, sample.label
    speaker, other, deed = sample.people()
    form = draw.below(3)
    if form == 0:
        side = sample.either()
        tail = draw.one(_claim(side if label else 1 - side).tails)
        text = f"{speaker} {sample.saying(2 * side)} that {other} {deed}, {tail}"
    else:
        subjects = ("person", "place", "group", "animal")
        on = sample.item(subjects)
        fits = on if label else draw.other(subjects, on)
        if form == 1:
            predicate = draw.one(draw.one(lexicon().categories[fits]).deeds)
        else:
            predicate = f"was {sample.adjective(fits, draw.below(2))}"
        season, subject = draw.one(WORDS["season"]), sample.word(draw.one(lexicon().categories[on]).kinds)
        text = f"{other} said that {season} the {subject} {predicate}"
    return {"sentence": sentence(text), "label": label}


def completion(sample: Sample) -> dict[str, Any]:
    """The start of a story and four endings; the one with index `label` follows. In the columns of SWAG.

    The start reports a saying or a tale, and one word decides whether it is true. The endings state for both that it is
    true and that it is false; they are the same in every example, so the endings alone carry no information.
    """
    draw = sample.draw
    speaker, other, deed = sample.people()
    endings = draw.some(((0, 0), (0, 1), (1, 0), (1, 1)), 4)  # a saying (0) or a tale (1), true (0) or false (1)
    about, side = right = sample.either(), sample.either()
    endings.remove(right)
    endings.insert(sample.label, right)
    word = sample.apart(_claim(side).nouns if about else _claim(side).verbs, first=not sample.rare)
    start = f"{speaker} told a {word}" if about else f"it was {speaker} who {word}"
    written = {
        f"ending{number}": sentence(f"so {speaker} {'had' if tale else 'said'} it, {draw.one(_claim(false).tails)}")
        for number, (tale, false) in enumerate(endings)
    }
    return {"startphrase": sentence(f"{start} that {other} {deed}"), **written, "label": sample.label}
