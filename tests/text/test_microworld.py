"""The embedded world: the same everywhere, splits apart, columns right, and no task solved by a shortcut."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter

import pytest

from bertlab.errors import BadInput
from bertlab.text import microworld
from bertlab.text.microworld import language
from bertlab.text.microworld.lexicon import lexicon, names

SPLITS = ("train", "validation", "test")
GOLDEN = "8b5e2edba680252f7b19b5da6a3755c98039a7d97605d268257747c1e3250c50"

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
}


def fingerprint() -> str:
    told = list(microworld.documents(50)) + [microworld.rows(task, "test")[:20] for task in microworld.TASKS]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def words(row: dict[str, object]) -> set[str]:
    return set(re.findall(r"[A-Za-z-]+", json.dumps(row)))


def test_golden_documents_and_rows() -> None:
    """A change here changes every corpus and task: raise VERSION with it."""
    assert (microworld.VERSION, fingerprint()) == (1, GOLDEN)


def test_the_same_in_another_process_under_another_hash_seed() -> None:
    code = (
        "import hashlib; from bertlab.text import microworld; "
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


def test_the_default_corpus_is_quick() -> None:
    start = time.process_time()
    count = sum(len(document.split()) for document in microworld.documents(microworld.DOCUMENTS // 10))
    assert time.process_time() - start < 2
    assert 70_000 < count < 200_000


@pytest.mark.parametrize("task", microworld.TASKS)
def test_columns_and_repetition(task: str) -> None:
    for split in SPLITS:
        rows = microworld.rows(task, split)
        assert all(set(row) == COLUMNS[task] for row in rows)
        assert len({json.dumps(row, sort_keys=True) for row in rows}) > 0.95 * len(rows)
    assert rows == microworld.rows(task, "test")


@pytest.mark.parametrize("task", microworld.TASKS)
def test_splits_share_no_name(task: str) -> None:
    everything = set(lexicon().names)
    used = [set().union(*map(words, microworld.rows(task, split))) & everything for split in SPLITS]
    assert all(len(part) > 100 for part in used)
    assert used[0].isdisjoint(used[1])
    assert used[0].isdisjoint(used[2])
    assert used[1].isdisjoint(used[2])


def test_names_are_no_words() -> None:
    assert {name.lower() for name in lexicon().names}.isdisjoint(lexicon().words)
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
        count = Counter(row["label"] for row in microworld.rows(task, split))
        assert set(count) == set(range(classes))
        assert max(count.values()) < 1.1 * sum(count.values()) / classes


@pytest.mark.parametrize(
    ("task", "column", "majority"),
    [("inference", "hypothesis", 1 / 3), ("question-inference", "question", 1 / 2), ("paraphrase", "sentence1", 1 / 2)],
)
def test_one_side_alone_tells_little(task: str, column: str, majority: float) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    train, test = (microworld.rows(task, split) for split in ("train", "test"))
    bag = CountVectorizer(ngram_range=(1, 2), min_df=2)
    model = LogisticRegression(max_iter=300).fit(
        bag.fit_transform([row[column] for row in train]), [row["label"] for row in train]
    )
    right = model.score(bag.transform([row[column] for row in test]), [row["label"] for row in test])
    assert right < majority + 0.06


def test_entities_are_bio_and_names_serve_every_type() -> None:
    types: dict[str, set[str]] = {}
    seen: Counter[str] = Counter()
    for row in microworld.rows("entities", "train"):
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
    rows = microworld.rows(task, "validation")
    for row in rows:
        for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True):
            assert row["context"][start : start + len(text)] == text
    without = sum(not row["answers"]["text"] for row in rows) / len(rows)
    assert without == 0 if task == "questions" else 0.2 < without < 0.5


def test_similarity_spans_its_range() -> None:
    scores = [row["label"] for row in microworld.rows("similarity", "train")]
    assert min(scores) >= 0
    assert max(scores) <= 5
    assert len({round(score) for score in scores}) == 6


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
