"""The documents: the same everywhere, readable, each with its own cast; and the tasks whose labels follow from them:
sayings, references, entities, answers, parts of speech."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter

import pytest

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


def status(word, field):
    """Whether a claim with this word is true (0), open (1) or false (2)."""
    return next(number for number, claim in enumerate(lexicon().claims) if word in getattr(claim, field))


def pole(adjective):
    """0 for a good trait of a person, 1 for a bad one, None for a neutral one."""
    scale = next(each for each in lexicon().scales["person"] if any(adjective in pole for pole in each.poles))
    return int(adjective in scale.poles[1]) if scale.moral else None


def report(start):
    """Who says or tells something, whether it is a saying or a tale, its status, and the word that decides this."""
    who, verb, noun = re.fullmatch(
        r"(?:It was |Then )?(\w+) (?:who (\w+)|told an? (\w+)) that .+\.", str(start)
    ).groups()
    return ("said", status(verb, "verbs"), who, verb) if verb else ("tale", status(noun, "nouns"), who, noun)


def verdict(text, who):
    """Which of a saying and a tale a text judges, and the status that it states."""
    opening, _, tail = text.removesuffix(".").partition(", ")
    assert opening in (f"So {who} said it", f"So {who} had it")
    return "said" if opening.endswith(" said it") else "tale", status(tail, "tails")


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_paraphrases_agree_and_other_pairs_do_not(rows, split):
    for row in rows("paraphrase", split)[:300]:
        (one, first), (two, second) = (
            re.fullmatch(r"\w+ (\w+) that (.+)\.", row[side]).groups() for side in ("sentence1", "sentence2")
        )
        assert first == second
        assert (status(one, "verbs") == status(two, "verbs")) == row["label"]


def test_similarity_is_the_share_of_agreement(rows):
    for row in rows("similarity", "validation")[:300]:
        (one, trait), (two, other) = (
            re.fullmatch(r"\w+ (\w+) that the ([\w-]+) .+", row[side]).groups() for side in ("sentence1", "sentence2")
        )
        same = (status(one, "verbs") == status(two, "verbs")) + (pole(trait) == pole(other))
        assert row["label"] == pytest.approx(2.5 * same, abs=0.21)
    scores = [row["label"] for row in rows("similarity", "train")]
    assert min(scores) >= 0
    assert max(scores) <= 5
    assert {round(score) for score in scores} == {0, 2, 3, 5}


def test_the_lexicon_decides_what_a_premise_entails(rows):
    used = {}
    for split in ("train", "validation"):
        for row in rows("inference", split)[:300]:
            about, known, who, word = report(row["premise"])
            supposed, side = verdict(row["hypothesis"], who)
            assert row["label"] == (1 if about != supposed else 0 if known == side else 2)
            used.setdefault(split, set()).add(word)
    assert used["train"].isdisjoint(used["validation"])


def test_one_ending_follows(rows):
    """All four endings are in each example; no evaluated example has a deciding word of training."""
    used = {}
    for split in ("train", "validation"):
        for row in rows("completion", split)[:600]:
            about, known, who, word = report(row["startphrase"])
            used.setdefault(split, set()).add(word)
            endings = [verdict(row[f"ending{number}"], who) for number in range(4)]
            assert [ending == (about, known) for ending in endings] == [number == row["label"] for number in range(4)]
            assert sorted(endings) == [("said", 0), ("said", 2), ("tale", 0), ("tale", 2)]
    assert used["train"].isdisjoint(used["validation"])


def test_the_lexicon_decides_praise_and_blame(rows):
    """The verb of a quotation may turn a trait into its opposite; no evaluated example has a verb of training."""
    used = {}
    for split in ("train", "validation"):
        for row in rows("sentiment", split)[:1_000]:
            verb, manner, trait = re.fullmatch(
                r"(?:It was \w+ who (\w+) that )?\w+ was (?:(\w+) )?([\w-]+)\.", row["sentence"]
            ).groups()
            assert (verb is None) == (manner is not None)
            turned = status(verb, "verbs") == 2 if verb else manner in ("not", "never", "hardly")
            assert row["label"] == (pole(trait) == (1 if turned else 0))
            used.setdefault(split, set()).add(verb)
    assert used["train"] & used["validation"] == {None}


def test_the_verb_decides_whether_a_sentence_answers_a_question(rows):
    questions = {"rightly sure": 0, "quite unsure": 1, "wrongly claim": 2}
    for row in rows("question-inference", "validation")[:300]:
        wanted = next(number for words, number in questions.items() if words in row["question"])
        assert (wanted == status(row["sentence"].split()[1], "verbs")) == (row["label"] == 0)


PRONOUNS = {"he", "him", "his", "she", "her", "it"}


@pytest.fixture
def documents(rows):
    """The mentions of each document, in order, with its clusters: (first word, text, cluster)."""

    def found(split):
        for row in rows("coreference-resolution", split):
            words = [word for sentence in row["sentences"] for word in sentence]
            mentions = [
                (first, " ".join(words[first : last + 1]).lower(), number)
                for number, cluster in enumerate(row["clusters"])
                for first, last in cluster
            ]
            yield row, sorted(mentions)

    return found


def test_mentions_are_names_pronouns_and_descriptions(documents):
    names = {name.lower() for name in lexicon().names}
    seen = Counter()
    for row, mentions in documents("validation"):
        assert 2 <= len(row["clusters"]) <= 3
        assert all(len(cluster) > 1 for cluster in row["clusters"])
        for _, text, _ in mentions:
            words = text.split()
            kind = "pronoun" if text in PRONOUNS else "description" if words[0] in ("the", "a", "an") else "name"
            assert kind != "name" or names.issuperset(words)
            seen[kind] += 1
    assert min(seen.values()) > 0.2 * seen.total()


def test_the_same_pronoun_or_the_nearest_mention_is_often_another(documents):
    same, near = Counter(), Counter()
    for _, mentions in documents("validation"):
        for at, (_, text, cluster) in enumerate(mentions):
            if text in PRONOUNS and at:
                near[mentions[at - 1][2] == cluster] += 1
                before = [each[2] for each in mentions[:at] if each[1] == text and text != "it"]
                same.update([before[-1] == cluster] if before else [])
    assert near[False] > 0.3 * near.total()
    assert same[False] > 0.2 * same.total()


def test_entities_are_bio_and_names_serve_every_type(rows):
    types = {}
    seen = Counter()
    for row in rows("entities", "train"):
        before = "O"
        for token, tag in zip(row["tokens"], row["ner_tags"], strict=True):
            if tag.startswith("I-"):
                assert before in (f"B-{tag[2:]}", tag)
            if tag != "O":
                types.setdefault(token, set()).add(tag[2:])
                seen[tag[2:]] += tag.startswith("B-")
            before = tag
    assert set(seen) == {"PER", "LOC", "ORG", "MISC"}
    assert min(seen.values()) > 0.1 * sum(seen.values())
    assert sum(len(kinds) > 1 for kinds in types.values()) > 0.4 * len(types)


@pytest.mark.parametrize("task", ["questions", "questions-unanswerable"])
def test_answers_are_at_their_starts(rows, task):
    examples = rows(task, "validation")
    for row in examples:
        for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True):
            assert row["context"][start : start + len(text)] == text
    without = sum(not row["answers"]["text"] for row in examples) / len(examples)
    assert without == 0 if task == "questions" else 0.2 < without < 0.5


def test_contexts_with_and_without_an_answer_have_one_form(rows):
    sizes = {True: Counter(), False: Counter()}
    for row in rows("questions-unanswerable", "test"):
        sizes[bool(row["answers"]["text"])][row["context"].count(".")] += 1
    shares = [count[4] / sum(count.values()) for count in sizes.values()]
    assert set(sizes[True]) == set(sizes[False]) == {4, 5}
    assert abs(shares[0] - shares[1]) < 0.04


def test_the_lexicon_decides_the_part_of_speech_and_evaluated_words_are_new(rows):
    from bertlab.tasks.kinds.tagging import is_bio

    world = lexicon()
    known = {
        "ADJ": {word for scales in world.scales.values() for scale in scales for pole in scale.poles for word in pole},
        "NOUN": {kind for group in world.categories.values() for category in group for kind in category.kinds},
        "PROPN": {name.lower() for name in world.names},
    }
    words = {}
    for split in ("train", "validation", "test"):
        for row in rows("parts-of-speech", split):
            for token, tag in zip(row["tokens"], row["upos"], strict=True):
                assert token == token.lower()
                if tag not in {"ADP", "CCONJ", "SCONJ"}:
                    words.setdefault(split, set()).add(token)
                    assert all((token in found) == (tag == part) for part, found in known.items())
        assert not is_bio({tag for row in rows("parts-of-speech", split) for tag in row["upos"]})
    assert words["train"].isdisjoint(words["validation"] | words["test"])
