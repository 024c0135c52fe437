"""A translator that knows the grammar of a dialect learns its words from the training pairs, and makes no error."""

import re
from collections import Counter

import pytest

from bertlab.synthetic.dialects import Coast, Hills, Valley
from bertlab.synthetic.language import WORDS
from bertlab.synthetic.world import lexicon

DIALECTS = {"translation-coast": Coast, "translation-valley": Valley, "translation-hills": Hills}
CATEGORY = {kind: c.name for on in ("person", "thing") for c in lexicon().categories[on] for kind in c.kinds}

LISTS = [
    *(c.kinds for on in ("person", "thing") for c in lexicon().categories[on]),
    *(pole for on in ("person", "thing") for scale in lexicon().scales[on] for pole in scale.poles),
    *(
        [verb.past for verb in side]
        for deeds in (lexicon().deeds, lexicon().treatments)
        for v in deeds
        for side in v.sides
    ),
]


def parsed(source):
    """The subject, verb and object, and what says when: at the beginning and at the end."""
    text = re.sub(r"\ban\b", "a", source.lower().removesuffix("."))
    first = next((season for season in WORDS["season"] if text.startswith(f"{season} ")), "")
    last = next((season for season in WORDS["season"] if text.endswith(f" {season}")), "")
    words = text.removeprefix(first).removesuffix(last).split()
    verb = next(at for at in range(1, len(words)) if words[at + 1] in ("the", "a"))
    return words[:verb], words[verb], words[verb + 1 :], first, last


def phrase(task, words):
    """The words of a phrase in the order of the dialect, each with the category of its noun if it agrees with it."""
    article, *adjectives, noun = words
    category = CATEGORY[noun]
    if task == "translation-coast":
        return [(article, ""), (noun, ""), *((adjective, category) for adjective in adjectives)]
    if task == "translation-valley":
        return [(article, category), *((word, "") for word in (*adjectives, noun))]
    return [(word, category if at == 0 and article == "the" else "") for at, word in enumerate((*adjectives, noun))]


def layout(task, source):
    subject, verb, object_, first, last = parsed(source)
    middle, behind = ([], [(verb, "")]) if task == "translation-valley" else ([(verb, "")], [])
    clause = [*phrase(task, subject), *middle, *phrase(task, object_), *behind]
    return [(word, "") for word in (first,) if word] + clause + [(word, "") for word in (last,) if word]


@pytest.fixture
def translator(rows):
    """Learns the words and the endings of a dialect from its training pairs."""

    def learn(task):
        words, endings = {}, {}
        for row in rows(task, "train"):
            written = row["target"].lower().removesuffix(".").split()
            for (word, category), target in zip(layout(task, row["source"]), written, strict=True):
                ending = next(end for end in DIALECTS[task].endings if target.endswith(end)) if category else ""
                assert words.setdefault(word, target.removesuffix(ending)) == target.removesuffix(ending)
                assert endings.setdefault(category, ending) == ending

        def translate(source):
            text = " ".join(words[word] + endings[category] for word, category in layout(task, source))
            return f"{text[0].upper()}{text[1:]}."

        return translate

    return learn


@pytest.mark.parametrize("task", DIALECTS)
def test_grammar_and_the_words_of_the_training_pairs_translate_all(rows, translator, task):
    translate = translator(task)
    for split in ("validation", "test"):
        assert all(translate(row["source"]) == row["target"] for row in rows(task, split))


@pytest.mark.parametrize("task", ["translation-valley", "translation-hills"])
def test_evaluated_pairs_combine_words_as_no_training_pair_does(rows, task):
    pairs = {split: {(s[-1], v) for s, v, *_ in (parsed(row["source"]) for row in rows(task, split))}
             for split in ("train", "validation", "test")}  # fmt: skip
    assert pairs["train"].isdisjoint(pairs["validation"] | pairs["test"])


@pytest.mark.parametrize("task", DIALECTS)
def test_a_third_of_the_evaluated_pairs_has_words_that_are_rare_in_training(rows, task):
    rare, common = ({word for words in LISTS for word in words[first::3]} for first in (1, 0))
    count = Counter(word for row in rows(task, "train") for word in content(row))
    assert count.keys() == rare | common
    assert 3 * sum(count[word] for word in rare) / len(rare) < sum(count[word] for word in common) / len(common)
    shares = Counter(sum(word in rare for word in content(row)) / len(content(row)) for row in rows(task, "test"))
    assert shares == {1: 400, 0: 800}


def content(row):
    """The nouns, adjectives and the verb of a source sentence."""
    subject, verb, object_, *_ = parsed(row["source"])
    return *subject[1:], verb, *object_[1:]


def test_dialects_have_different_words_and_synonyms_have_one():
    coast, valley, hills = (dialect().words for dialect in (Coast, Valley, Hills))
    assert len({coast["weaver"], valley["weaver"], hills["weaver"]}) == 3
    for words in (coast, valley, hills):
        for verbs in lexicon().deeds:
            assert [len({words[verb.past] for verb in side}) for side in verbs.sides] == [1, 1]
        kinds = [words[kind] for kind in CATEGORY]
        assert len(set(kinds)) == len(kinds)
