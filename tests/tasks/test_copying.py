"""Floors of texts: the input, its first sentence, and its words as pairs of texts translate them."""

import numpy as np

from bertlab.tasks.copying import rules, translator
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.task import RawExamples, TaskData

LEXICON = {word: f"{word}o" for word in ["the", "a", "dog", "cat", "bird", "sees", "hears", "old", "red", "house"]}


def sentences(count, seed):
    """Sentences of this lexicon and their translations, which have another order."""
    draw = np.random.default_rng(seed)
    sources = [draw.choice([*LEXICON], draw.integers(3, 7)).tolist() for _ in range(count)]
    targets = [[LEXICON[word] for word in reversed(words)] for words in sources]
    return [" ".join(words) for words in sources], [" ".join(words) for words in targets]


def test_words_are_translated_as_pairs_of_texts_do():
    rule = translator(*sentences(400, 0))
    assert rule("the cat sees, unknown!") == "theo cato seeso , unknown !"


def test_a_word_that_stands_for_nothing_does_not_take_the_place_of_another():
    """Model 1 by hand (Brown et al. 1993): b is the second word of b c, as a is that of the first pair."""
    rule = translator(["b c", "b"], ["x y", "x"])
    assert rule("b c") == "x y"


def test_texts_without_words_translate_nothing():
    assert translator(["a b", "", "c"], ["", "x", "y"])("c a") == "y a"
    assert translator(["a"], [""])("a b") == "a b"


def test_what_all_inputs_begin_with_is_no_part_of_an_answer():
    copy, lead, word_by_word = rules(["sum up: The dog runs. It stops.", "sum up: That cat sleeps."], ["q", "r"])
    assert copy("sum up: The dog sleeps. It runs.") == "The dog sleeps. It runs."
    assert lead("sum up: The dog sleeps. It runs.") == "The dog sleeps."
    assert word_by_word("sum up: bird") == "bird"


def test_the_floor_of_a_translation_is_the_best_of_the_rules():
    def examples(count, seed):
        sources, targets = sentences(count, seed)
        return RawExamples(text=([f"translate: {text}" for text in sources],), labels=targets)

    task = TaskData(
        name="t", dataset="t", kind="text-to-text", labels=(), train=examples(400, 0), evaluation=examples(50, 1),
        content="sha256:translation",
    )  # fmt: skip
    (floor,) = KINDS["text-to-text"].lexical_floor(task)
    assert floor["rouge1"] == 100, "all words are right"
    assert floor["bleu"] < 50, "and their order is wrong"
    summaries = RawExamples(
        text=(["The dog runs. It stops.", "That cat sleeps. Look!"],), labels=["The dog runs.", "That cat sleeps."]
    )
    predict = KINDS["text-to-text"].lexical(summaries)
    assert predict(summaries)["exact"].all(), "the first sentence"
