"""The documents: the same everywhere, readable, each with its own cast; and the words that they use."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter

from bertlab import synthetic as microworld
from bertlab.synthetic import language
from bertlab.synthetic.world import lexicon, names

GOLDEN = "1001d310cb206492fc105a050678ad510746468e1d8654195fd1cfd0b82400b4"


def test_golden_documents():
    """A change here changes every corpus: raise VERSION with it."""
    found = hashlib.sha256(json.dumps(list(microworld.documents(50))).encode()).hexdigest()
    assert (microworld.VERSION, found) == (1, GOLDEN)


def test_the_same_in_another_process_under_another_hash_seed():
    code = (
        "import hashlib; from bertlab import synthetic as microworld; "
        "print(hashlib.sha256(repr([list(microworld.documents(20)), "
        "microworld.rows('entities', 'test')]).encode()).hexdigest())"
    )
    printed = {
        subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_documents_depend_on_seed_and_number_alone():
    assert list(microworld.documents(3)) == list(microworld.documents(9))[:3]
    assert set(microworld.documents(20, seed=0)).isdisjoint(microworld.documents(20, seed=1))


def test_documents_read_like_english():
    for document in microworld.documents(300):
        assert document.isascii()
        assert "\n" not in document
        sentences = re.findall(r"[^.]+\.(?: |$)", document)
        assert 6 <= len(sentences) <= 20
        assert "".join(sentences) == document
        assert all(sentence[0].isupper() for sentence in sentences)
        assert not re.search(r"\b[Aa] [aeio]|\b[Aa]n [^aeiouh]|  | ,|[{}_\[\]]|(\w)\1\1", document)


def test_a_document_keeps_to_its_cast():
    """The halves of a document mostly share a name, the halves of two documents hardly ever do."""
    known = {name.lower() for name in lexicon().names}
    halves = []
    for document in microworld.documents(300):
        sentences = document.lower().split(". ")
        middle = len(sentences) // 2
        halves.append([known.intersection(" ".join(half).split()) for half in (sentences[:middle], sentences[middle:])])
    same = sum(bool(first & second) for first, second in halves)
    other = sum(bool(halves[number][0] & halves[number - 1][1]) for number in range(len(halves)))
    assert same > 0.75 * len(halves)
    assert other < 0.2 * len(halves)


def test_the_size_of_the_text_is_known():
    assert sum(len(document) for document in microworld.documents()) == microworld.BYTES


def test_the_default_corpus_is_quick():
    start = time.process_time()
    count = sum(len(document.split()) for document in microworld.documents(microworld.DOCUMENTS // 10))
    assert time.process_time() - start < 2
    assert 70_000 < count < 200_000


def test_names_are_no_words():
    world = lexicon()
    adjectives = {word for scales in world.scales.values() for scale in scales for pole in scale.poles for word in pole}
    kinds = {kind for group in world.categories.values() for category in group for kind in category.kinds}
    assert {name.lower() for name in world.names}.isdisjoint(adjectives | kinds)
    assert len(set(names("corpus"))) == sum(len(names(split)) for split in ("train", "validation", "test"))


def test_no_adjective_lies_on_two_scales_of_a_table():
    for scales in lexicon().scales.values():
        count = Counter(word for scale in scales for pole in scale.poles for word in pole)
        assert max(count.values()) == 1


def test_articles_agree():
    assert language.sentence("there was a owl and a useful crow") == "There was an owl and a useful crow."
