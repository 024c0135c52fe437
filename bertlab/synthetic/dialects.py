"""Translation into three invented dialects, each with words, an order of words and an agreement of its own.

All synonyms have one word in a dialect, so a rare word is easier for a model that knows what it means. The gender of a
noun, on which endings depend, is that of its category: of every artisan, say. Evaluated pairs combine the words of the
training pairs as no training pair does, and a third of them has words that are rare there.
"""

import functools
import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from bertlab.synthetic.language import VERSION, WORDS, Draw, sentence
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import Verbs, lexicon

RARE = 1 / 5
"""The share of training pairs whose nouns, adjectives and verb are rare words."""
_SYLLABLE = (
    ["b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w", "z"],
    ["a", "e", "i", "o", "u", "ai", "ea", "oo"],
    ["b", "d", "f", "g", "k", "l", "m", "n", "nd", "p", "r", "rk", "s", "ss", "st", "t", "v"],
)


@dataclass(frozen=True)
class Phrase:
    """A noun with an article and perhaps an adjective, in English."""

    article: str
    adjectives: list[str]
    """One adjective or none."""
    noun: str

    @property
    def english(self) -> str:
        """The phrase as it stands in a sentence."""
        return " ".join([self.article, *self.adjectives, self.noun])

    @property
    def gender(self) -> int:
        """The gender of the noun: 0, 1 or 2."""
        categories = itertools.chain.from_iterable(lexicon().categories.values())
        return next(number for number, category in enumerate(categories) if self.noun in category.kinds) % 3


class Dialect(ABC):
    """The words of a dialect and the order of a clause; its phrases are those of a subclass."""

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    """The endings by gender."""

    @functools.cached_property
    def words(self) -> dict[str, str]:
        """The word of the dialect for each English word, and for each phrase that says when."""
        world = lexicon()
        synonyms = [["the"], ["a"], *([season] for season in WORDS["season"])]
        for on in ("person", "thing"):
            synonyms += [[kind] for category in world.categories[on] for kind in category.kinds]
            synonyms += [pole for scale in world.scales[on] for pole in scale.poles]
            synonyms += [[verb.past for verb in side] for deed in _deeds(on) for side in deed.sides]
        syllables = ["".join(sounds) for sounds in itertools.product(*_SYLLABLE)]
        stems = Draw("microworld", VERSION, "dialect", self.name).some(syllables, len(synonyms))
        return {word: stem for words, stem in zip(synonyms, stems, strict=True) for word in words}

    @abstractmethod
    def phrase(self, phrase: Phrase) -> list[str]:
        """The words of a phrase, in their order."""

    def clause(self, subject: Phrase, verb: str, patient: Phrase) -> list[str]:
        """The words of a clause, in their order; by default the verb stands between its subject and its object."""
        return [*self.phrase(subject), self.words[verb], *self.phrase(patient)]


class Coast(Dialect):
    """Adjectives stand behind their noun and end as its gender demands."""

    name, endings = "coast", ("e", "i", "u")

    def phrase(self, phrase: Phrase) -> list[str]:
        """The article, the noun and the adjective."""
        adjectives = [self.words[adjective] + self.endings[phrase.gender] for adjective in phrase.adjectives]
        return [self.words[phrase.article], self.words[phrase.noun], *adjectives]


class Valley(Dialect):
    """The verb stands behind its object, and articles end as the gender of their noun demands."""

    name, endings = "valley", ("er", "ie", "as")

    def phrase(self, phrase: Phrase) -> list[str]:
        """The article, the adjective and the noun."""
        article = self.words[phrase.article] + self.endings[phrase.gender]
        return [article, *(self.words[word] for word in (*phrase.adjectives, phrase.noun))]

    def clause(self, subject: Phrase, verb: str, patient: Phrase) -> list[str]:
        """The subject, the object and the verb."""
        return [*self.phrase(subject), *self.phrase(patient), self.words[verb]]


class Hills(Dialect):
    """The definite article is the ending of the first word behind it, by gender, and there is no other article."""

    name, endings = "hills", ("ul", "et", "im")

    def phrase(self, phrase: Phrase) -> list[str]:
        """The adjective and the noun, the first of them with the article."""
        first, *others = [self.words[word] for word in (*phrase.adjectives, phrase.noun)]
        return [first + self.endings[phrase.gender] if phrase.article == "the" else first, *others]


def _deeds(on: str) -> list[Verbs]:
    """What is done to people or to things."""
    return lexicon().deeds if on == "person" else lexicon().treatments


@functools.cache
def vocabulary(on: str, rare: bool) -> list[list[str]]:
    """Nouns for members of the table `on`, adjectives for them, and verbs for what is done to them.

    The first of each three synonyms or kinds is a common word and the second a rare one; the third is not used.
    """
    nouns = [category.kinds for category in lexicon().categories[on]]
    adjectives = [pole for scale in lexicon().scales[on] for pole in scale.poles]
    verbs = [[verb.past for verb in side] for deed in _deeds(on) for side in deed.sides]
    return [[word for words in lists for word in words[rare::3]] for lists in (nouns, adjectives, verbs)]


def translation(dialect: Dialect, sample: Sample) -> dict[str, Any]:
    """A `source` sentence and its `target` in a dialect; the words of evaluated pairs of label 1 are rare.

    The numbers of the subject's noun and of the verb are both odd or both even in training pairs, and not in others.
    """
    draw = sample.draw
    rare = sample.label == 1 if sample.rare else draw.chance(RARE)

    def phrase(on: str) -> Phrase:
        nouns, adjectives, _ = vocabulary(on, rare)
        adjective = [draw.one(adjectives)] if draw.chance(0.6) else []
        return Phrase("the" if draw.chance(0.6) else "a", adjective, draw.one(nouns))

    on = draw.one(("person", "thing"))
    subject, patient = phrase("person"), phrase(on)
    is_odd = (vocabulary("person", rare)[0].index(subject.noun) + sample.rare) % 2
    verb = draw.one(vocabulary(on, rare)[2][is_odd::2])
    written = [[subject.english, verb, patient.english], dialect.clause(subject, verb, patient)]
    if draw.chance(0.5):
        season, is_last = draw.one(WORDS["season"]), draw.below(2)
        for words, when in zip(written, (season, dialect.words[season]), strict=True):
            words.insert(is_last * len(words), when)
    source, target = (sentence(" ".join(words)) for words in written)
    return {"source": source, "target": target}


coast, valley, hills = (functools.partial(translation, dialect()) for dialect in (Coast, Valley, Hills))
