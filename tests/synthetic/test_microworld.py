"""The embedded world: the same everywhere, splits apart, columns right, and no task solved by a shortcut."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from bertlab import synthetic as microworld
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.synthetic import language
from bertlab.synthetic.lexicon import lexicon, names
from bertlab.tasks import catalog
from bertlab.tasks.data import load

SPLITS = ("train", "validation", "test")
GOLDEN = "1001d310cb206492fc105a050678ad510746468e1d8654195fd1cfd0b82400b4"
GOLDEN_ROWS = {
    "1/inference@4": "0e15db82834fefb0",
    "1/question-inference@3": "dae5e09aa4de10e7",
    "1/paraphrase@3": "af2a8d1c0bca41d2",
    "1/similarity@3": "02e5c5b67daac2f2",
    "1/sentiment@4": "4a26784eb8329551",
    "1/acceptability@3": "dc383942a533328a",
    "1/entities@3": "270be18020588bc3",
    "1/questions@3": "983976b7ad62d4eb",
    "1/questions-unanswerable@3": "876da2f82daa1596",
    "1/completion@5": "763c261d22b3c5e1",
    "1/parts-of-speech@4": "5d69e37e43b8db06",
}

COLUMNS = {
    "inference": {"premise", "hypothesis", "label"},
    "question-inference": {"question", "sentence", "label"},
    "paraphrase": {"sentence1", "sentence2", "label"},
    "similarity": {"sentence1", "sentence2", "label"},
    "sentiment": {"sentence", "label"},
    "acceptability": {"sentence", "label"},
    "entities": {"tokens", "ner_tags"},
    "questions": {"id", "title", "context", "question", "answers"},
    "questions-unanswerable": {"id", "title", "context", "question", "answers"},
    "completion": {"startphrase", "ending0", "ending1", "ending2", "ending3", "label"},
    "parts-of-speech": {"tokens", "upos"},
}


def fingerprint(told: object) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def words(row: dict[str, object]) -> set[str]:
    """Those of a row, with a capital."""
    return {word.capitalize() for word in re.findall(r"[A-Za-z-]+", json.dumps(row))}


def status(word: str, field: str) -> int:
    """Whether a claim with this word is true (0), open (1) or false (2)."""
    return next(number for number, claim in enumerate(lexicon().claims) if word in getattr(claim, field))


@functools.cache
def rows(task: str, split: str) -> list[dict[str, object]]:
    return microworld.rows(task, split)


def pole(adjective: str) -> int | None:
    """0 of a good trait of a person, 1 of a bad one, None of one that is neither."""
    scale = next(each for each in lexicon().scales["person"] if any(adjective in pole for pole in each.poles))
    return int(adjective in scale.poles[1]) if scale.moral else None


def test_golden_documents() -> None:
    """A change here changes every corpus: raise VERSION with it."""
    assert (microworld.VERSION, fingerprint(list(microworld.documents(50)))) == (1, GOLDEN)


def test_golden_rows() -> None:
    """A change here changes what a task measures: raise its `revision` in TASKS with it, and no other."""
    told = {
        microworld.version(task): fingerprint(rows(task, "test")[:20] + rows(task, "train")[:20])[:16]
        for task in microworld.TASKS
    }
    assert told == GOLDEN_ROWS


def test_the_same_in_another_process_under_another_hash_seed() -> None:
    code = (
        "import hashlib; from bertlab import synthetic as microworld; "
        "print(hashlib.sha256(repr([list(microworld.documents(20)), "
        "microworld.rows('entities', 'test')]).encode()).hexdigest())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_documents_depend_on_seed_and_number_alone() -> None:
    assert list(microworld.documents(3)) == list(microworld.documents(9))[:3]
    assert set(microworld.documents(20, seed=0)).isdisjoint(microworld.documents(20, seed=1))


def test_documents_read_like_english() -> None:
    for document in microworld.documents(300):
        assert document.isascii()
        assert "\n" not in document
        sentences = re.findall(r"[^.]+\.(?: |$)", document)
        assert 6 <= len(sentences) <= 20
        assert "".join(sentences) == document
        assert all(sentence[0].isupper() for sentence in sentences)
        assert not re.search(r"\b[Aa] [aeio]|\b[Aa]n [^aeiouh]|  | ,|(\w)\1\1", document)


def test_a_document_keeps_to_its_cast() -> None:
    """The halves of a document mostly share a name, those of two documents hardly ever do."""
    known = {name.lower() for name in lexicon().names}

    def cast(text: str) -> set[str]:
        return {word for word in re.findall(r"[a-z]+", text.lower()) if word in known}

    halves = []
    for document in microworld.documents(300):
        told = document.split(". ")
        halves.append((cast(". ".join(told[: len(told) // 2])), cast(". ".join(told[len(told) // 2 :]))))
    same = sum(bool(first & second) for first, second in halves)
    other = sum(bool(halves[number][0] & halves[number - 1][1]) for number in range(len(halves)))
    assert same > 0.75 * len(halves)
    assert other < 0.2 * len(halves)


def test_the_size_of_the_text_is_known():
    assert sum(len(document) for document in microworld.documents()) == microworld.BYTES


def test_the_default_corpus_is_quick() -> None:
    start = time.process_time()
    count = sum(len(document.split()) for document in microworld.documents(microworld.DOCUMENTS // 10))
    assert time.process_time() - start < 2
    assert 70_000 < count < 200_000


@pytest.mark.parametrize("task", microworld.TASKS)
def test_columns_and_repetition(task: str) -> None:
    """No example comes twice but for chance, none of what is judged was trained on, and no name is in two splits."""
    everything = set(lexicon().names)
    seen, used = [], []
    for split in SPLITS:
        told = rows(task, split)
        assert all(set(row) == COLUMNS[task] for row in told)
        assert split == "train" or len(told) >= 4_000
        asked = [{name: value for name, value in row.items() if name not in ("id", "title", "label")} for row in told]
        seen.append({json.dumps(row, sort_keys=True) for row in asked})
        assert len(seen[-1]) > 0.95 * len(told)
        used.append(set().union(*map(words, told)) & everything)
    assert all(len(part) > (100 if task != "parts-of-speech" else 30) for part in used)
    for one, two in ((0, 1), (0, 2), (1, 2)):
        assert used[one].isdisjoint(used[two])
        assert one or seen[one].isdisjoint(seen[two])
    assert microworld.rows(task, "train")[:50] == microworld.rows(task, "train")[:50]


def test_names_are_no_words() -> None:
    world = lexicon()
    adjectives = {word for scales in world.scales.values() for scale in scales for pole in scale.poles for word in pole}
    kinds = {kind for group in world.categories.values() for category in group for kind in category.kinds}
    assert {name.lower() for name in world.names}.isdisjoint(adjectives | kinds)
    assert len(set(names("corpus"))) == sum(len(names(split)) for split in SPLITS)


def test_no_adjective_lies_on_two_scales_of_a_table() -> None:
    for scales in lexicon().scales.values():
        count = Counter(word for scale in scales for pole in scale.poles for word in pole)
        assert max(count.values()) == 1


@pytest.mark.parametrize(
    ("task", "classes"),
    [("inference", 3), ("question-inference", 2), ("paraphrase", 2), ("sentiment", 2), ("acceptability", 2),
     ("completion", 4)],
)  # fmt: skip
def test_labels_are_balanced(task: str, classes: int) -> None:
    for split in SPLITS:
        count = Counter(row["label"] for row in rows(task, split))
        assert set(count) == set(range(classes))
        assert max(count.values()) < 1.1 * sum(count.values()) / classes


CEILINGS = {
    "inference": 70, "question-inference": 68, "paraphrase": 60, "sentiment": 64, "acceptability": 62, "similarity": 25,
    "completion": 58, "questions": 50, "questions-unanswerable": 52, "entities": 70, "parts-of-speech": 75,
}  # fmt: skip
"""Points that no floor may reach: well below what a small pre-trained encoder does."""


@pytest.mark.parametrize("task", CEILINGS)
def test_neither_half_nor_words_alone_solve_a_task(task: str) -> None:
    """Half a pair stays within 3 points of the majority, counts of words below a ceiling: trained as the model is."""
    floors = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "floors.py"))["floors"]
    data = load(catalog.WORLD[task], machine=Machine(), world=True)
    majority = {"inference": 33.3, "completion": 25, "similarity": 0, "questions-unanswerable": 66.7}.get(task, 50)
    for name, reached in floors(data):
        assert reached < (CEILINGS[task] if name == "lexical" else majority + 3), name


@pytest.mark.parametrize(
    "task",
    ["inference", "question-inference", "paraphrase", "acceptability", "sentiment", "completion", "similarity"],
)
def test_the_number_of_words_tells_no_label(task: str) -> None:
    """Each text has the same number of words and sentences whatever the label, but for chance."""
    for column in catalog.WORLD[task].text:
        lengths: dict[object, list[int]] = {}
        for row in rows(task, "test"):
            label = round(row["label"] / 2.5) if task == "similarity" else row["label"]
            lengths.setdefault(label, []).append(len(re.findall(r"\w+|[.?!]", str(row[column]))))
        means = [sum(found) / len(found) for found in lengths.values()]
        assert max(means) - min(means) < 0.25


CLASSIFIED = {name: task for name, task in catalog.WORLD.items() if task.kind == "classification"}


@pytest.mark.parametrize("task", CLASSIFIED)
def test_the_lengths_of_all_texts_together_tell_no_label(task: str) -> None:
    """Numbers of words and sentences of each, learnt by boosted trees: a leak can lie in two together."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def told(split: str) -> tuple[list[list[int]], list[object]]:
        lengths = [
            [
                len(re.findall(pattern, str(row[column])))
                for column in CLASSIFIED[task].text
                for pattern in (r"\w+", "[.?!]")
            ]
            for row in rows(task, split)
        ]
        return lengths, [row["label"] for row in rows(task, split)]

    (lengths, labels), (asked, right) = told("validation"), told("test")
    majority = max(Counter(right).values()) / len(right)
    for given in ((lengths, labels), told("train")):
        found = HistGradientBoostingClassifier(max_depth=3, max_iter=50, random_state=0).fit(*given)
        assert found.score(asked, right) < majority + 0.03


def test_contexts_with_and_without_an_answer_are_of_one_form() -> None:
    sizes: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    for row in rows("questions-unanswerable", "test"):
        sizes[bool(row["answers"]["text"])][str(row["context"]).count(".")] += 1
    shares = [count[4] / sum(count.values()) for count in sizes.values()]
    assert set(sizes[True]) == set(sizes[False]) == {4, 5}
    assert abs(shares[0] - shares[1]) < 0.04


def test_entities_are_bio_and_names_serve_every_type() -> None:
    types: dict[str, set[str]] = {}
    seen: Counter[str] = Counter()
    for row in rows("entities", "train"):
        assert len(row["tokens"]) == len(row["ner_tags"])
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
    often = list(types.values())
    assert sum(len(kinds) > 1 for kinds in often) > 0.4 * len(often)


@pytest.mark.parametrize("task", ["questions", "questions-unanswerable"])
def test_answers_stand_where_they_are_said_to(task: str) -> None:
    told = rows(task, "validation")
    for row in told:
        for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True):
            assert row["context"][start : start + len(text)] == text
    without = sum(not row["answers"]["text"] for row in told) / len(told)
    assert without == 0 if task == "questions" else 0.2 < without < 0.5


def test_similarity_spans_its_range() -> None:
    scores = [row["label"] for row in rows("similarity", "train")]
    assert min(scores) >= 0
    assert max(scores) <= 5
    assert {round(score) for score in scores} == {0, 2, 3, 5}


@pytest.mark.parametrize("split", SPLITS)
def test_paraphrases_say_the_same_and_nothing_else_does(split: str) -> None:
    for row in rows("paraphrase", split)[:300]:
        (one, first), (two, second) = (
            re.fullmatch(r"\w+ (\w+) that (.+)\.", str(row[side])).groups() for side in ("sentence1", "sentence2")
        )
        assert first == second
        assert (status(one, "verbs") == status(two, "verbs")) == row["label"]


def test_similarity_is_the_share_of_agreement() -> None:
    for row in rows("similarity", "validation")[:300]:
        (said, trait), (again, other) = (
            re.fullmatch(r"\w+ (\w+) that the ([\w-]+) .+", str(row[side])).groups()
            for side in ("sentence1", "sentence2")
        )
        same = (status(said, "verbs") == status(again, "verbs")) + (pole(trait) == pole(other))
        assert row["label"] == pytest.approx(2.5 * same, abs=0.21)


def claimed(start: str) -> tuple[str, int, str]:
    """Of what a premise tells, whether it is so (0) or not (1), and who says it."""
    if found := re.fullmatch(r"Then (\w+) told an? (\w+) that .+\.", start):
        return "tale", status(found[2], "nouns") // 2, found[1]
    who, said = re.fullmatch(r"It was (\w+) who (\w+) that .+\.", start).groups()
    return "said", status(said, "verbs") // 2, who


def supposed(text: str, who: str) -> tuple[str, int]:
    """Of which claim a text says that it is so (0) or not (1)."""
    opening, _, tail = text.removesuffix(".").partition(", ")
    assert opening in (f"So {who} said it", f"So {who} had it")
    return "said" if opening.endswith(" said it") else "tale", status(tail, "tails") // 2


def test_a_hypothesis_follows_or_not_by_the_lexicon() -> None:
    for row in rows("inference", "validation")[:300]:
        told, known, who = claimed(str(row["premise"]))
        about, side = supposed(str(row["hypothesis"]), who)
        assert row["label"] == (1 if about != told else 0 if known == side else 2)


def test_a_sentence_praises_or_blames_by_the_lexicon() -> None:
    """The word for saying turns a trait round or not, and evaluation has none that was trained on."""
    used: dict[str, set[str]] = {}
    for split in ("train", "validation"):
        for row in rows("sentiment", split)[:1_000]:
            said, manner, trait = re.fullmatch(
                r"(?:It was \w+ who (\w+) that )?\w+ was (?:(\w+) )?([\w-]+)\.", str(row["sentence"])
            ).groups()
            assert (said is None) == (manner is not None)
            turned = status(said, "verbs") == 2 if said else manner in ("not", "never", "hardly")
            assert row["label"] == (pole(trait) == (1 if turned else 0))
            used.setdefault(split, set()).add(said)
    assert used["train"] & used["validation"] == {None}


def test_one_ending_follows() -> None:
    """What is told, the way it is; all four endings are there in each row, and words tell no more than they mean."""
    used: dict[str, set[str]] = {}
    for split in ("train", "validation"):
        for row in rows("completion", split)[:600]:
            who, said, noun = re.fullmatch(
                r"(?:It was )?(\w+) (?:who (\w+)|told an? (\w+)) that .+\.", str(row["startphrase"])
            ).groups()
            told = ("said", status(said, "verbs")) if said else ("tale", status(noun, "nouns"))
            used.setdefault(split, set()).add(said or noun)
            endings = []
            for number in range(4):
                opening, _, tail = str(row[f"ending{number}"]).removesuffix(".").partition(", ")
                assert opening in (f"So {who} said it", f"So {who} had it")
                endings.append(("said" if opening.endswith(" said it") else "tale", status(tail, "tails")))
            assert [ending == told for ending in endings] == [number == row["label"] for number in range(4)]
            assert sorted(endings) == [("said", 0), ("said", 2), ("tale", 0), ("tale", 2)]
    assert used["train"].isdisjoint(used["validation"])


def test_a_sentence_answers_a_question_by_the_word_for_saying() -> None:
    asked = {"rightly sure": 0, "quite unsure": 1, "wrongly claim": 2}
    for row in rows("question-inference", "validation")[:300]:
        wanted = next(number for words, number in asked.items() if words in str(row["question"]))
        said = status(str(row["sentence"]).split()[1], "verbs")
        assert (wanted == said) == (row["label"] == 0)


def test_the_words_of_a_part_of_speech_row_are_new_and_tagged_by_the_lexicon() -> None:
    from bertlab.tasks.kinds.tagging import is_bio

    world = lexicon()
    adjectives = {word for scales in world.scales.values() for scale in scales for pole in scale.poles for word in pole}
    kinds = {kind for group in world.categories.values() for category in group for kind in category.kinds}
    people = {name.lower() for name in world.names}
    known = {"ADJ": adjectives, "NOUN": kinds, "PROPN": people}
    words: list[set[str]] = []
    for split in SPLITS:
        words.append(set())
        for row in rows("parts-of-speech", split):
            assert len(row["tokens"]) == len(row["upos"])
            for token, tag in zip(row["tokens"], row["upos"], strict=True):
                assert token == token.lower()
                if tag in {"ADP", "CCONJ", "SCONJ"}:
                    continue
                words[-1].add(token)
                assert all((token in found) == (tag == part) for part, found in known.items())
        assert not is_bio({tag for row in rows("parts-of-speech", split) for tag in row["upos"]})
    assert words[0].isdisjoint(words[1] | words[2])


def test_unknown_task_and_split() -> None:
    with pytest.raises(BadInput, match="did you mean 'entities'"):
        microworld.rows("entitys", "train")
    with pytest.raises(BadInput, match="split"):
        microworld.rows("entities", "dev")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "form"),
    [("tall", "taller"), ("big", "bigger"), ("wise", "wiser"), ("happy", "happier"), ("famous", "more famous"),
     ("unused", "more unused"), ("weak", "weaker")],
)  # fmt: skip
def test_comparatives(word: str, form: str) -> None:
    assert language.comparative(word) == form


def test_articles_agree() -> None:
    assert language.sentence("there was a owl and a useful crow") == "There was an owl and a useful crow."
