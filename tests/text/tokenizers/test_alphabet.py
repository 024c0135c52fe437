"""Which characters have entries of their own."""

from bertlab.text.tokenizers import Unigram, WordPiece
from bertlab.text.tokenizers.alphabet import alphabet


def test_the_most_frequent_characters_are_enough_where_they_cover_the_text():
    frequency = {"a": 5_000, "b": 4_000, "c": 999, "d": 1}
    assert alphabet(frequency, 9) == ["a", "b", "c"], "a third of the entries, which cover 99.99 %"
    assert alphabet(frequency, 6) == ["a", "b", "c"], "two of six cover 90 %, and the third does the rest"


def test_a_thousand_characters_are_enough_for_letters_and_not_for_ideographs():
    letters = {chr(0x100 + place): 1_000_000 // (place + 1) ** 3 + 1 for place in range(2_000)}
    assert len(alphabet(letters, 30_000)) == 1_000
    ideographs = {chr(0x4E00 + place): 5 for place in range(3_000)}
    assert len(alphabet(ideographs, 30_000)) == 3_000
    assert len(alphabet(ideographs, 2_000)) == 1_500, "three quarters"
    assert len(alphabet(ideographs, 2_000, lambda character: 2)) == 750


def test_rare_characters_wait_until_the_text_is_covered():
    frequency = {chr(0x4E00 + place): 1_000 for place in range(1_200)} | {"r": 4, "q": 3}
    assert alphabet(frequency, 30_000)[1_200:] == ["r"], "it occurs more than a few times"


def test_a_script_of_many_characters_is_known():
    texts = ["".join(chr(0x4E00 + (7 * line + place) % 1_500) for place in range(300)) for line in range(400)]
    for tokenizer in (WordPiece(vocabulary=4_000), Unigram(vocabulary=4_000)):
        trained = tokenizer.train(texts)
        assert not any(trained.unk in ids for ids in trained.encode(texts[:50]))
