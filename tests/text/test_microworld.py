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
GOLDEN = "becca3b8a069862e81e81a7f34ef95040475c1a8019d463d85129259f6ac8652"
"""Of the documents, and the rows of the tasks that are as they were in the first version."""

GOLDEN_ROWS = {
    "question-inference": "844fc092fc289d955911078d98afc0315924efbe75c4dd07d2457a8b9379feb6",
    "paraphrase": "0e7429e8bc7939f70d1623b9a991ce35107dc51360c2d738d1433586033fd82f",
    "similarity": "f8f451294a25e28a37ed258d198f947dc493600f409d03089869ea603f2b1028",
    "completion": "1f5ec77b89ba9bdb2517bafcc7ad176fbccec83fcd229ded449d554b072e87da",
    "parts-of-speech": "6c9fc965d05f028daf62b4569bb2032d23eb14f650ae6d757d3eea300bbc4f37",
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
    return set(re.findall(r"[A-Za-z-]+", json.dumps(row)))


def status(word: str, field: str) -> int:
    """Whether a claim with this word is true (0), open (1) or false (2)."""
    return next(number for number, claim in enumerate(lexicon().claims) if word in getattr(claim, field))


def meanings(text: str) -> set[tuple[object, ...]]:
    """What a sentence of one or two facts says, read by the lexicon: the same however a fact is told."""
    clauses = re.split(
        r"(?:,)? (?:and|but|yet|while|whereas|although) (?=[A-Z]|the \w+ was |to [A-Z])", text.rstrip(".")
    )
    return {
        meaning(clause[0].lower() + clause[1:] if clause.startswith(("The ", "To ")) else clause) for clause in clauses
    }


def meaning(clause: str) -> tuple[object, ...]:
    name, world = r"([A-Z]\w+(?: [A-Z]\w+)?)", lexicon()
    if found := re.fullmatch(rf"{name} (\w+) that (.+)", clause):
        return "claim", found[1], status(found[2], "verbs"), found[3]
    if found := re.fullmatch(rf"{name} left {name} and \w+ to {name}", clause) or re.fullmatch(
        rf"{name} \w+ from {name} to {name}", clause
    ):
        return "journey", *found.groups()
    if found := re.fullmatch(rf"{name} worked as an? (\w+)|{name}, an? (\w+), was an? \w+", clause):
        return "work", found[1] or found[3], found[2] or found[4]
    if found := re.fullmatch(rf"{name} was an? (\w+) that {name} (\w+)", clause):
        return "dealing", found[3], found[4], found[1]
    if found := re.fullmatch(rf"{name} (\w+) the \w+ {name}", clause):
        return "dealing", found[1], found[2], found[3]
    if found := re.fullmatch(rf"{name} was (.+) than {name}", clause):
        for number, scale in enumerate(world.scales["person"]):
            for pole, words in enumerate(scale.poles):
                if found[2] in map(language.comparative, words):
                    return "comparison", number, *((found[1], found[3]) if pole == 0 else (found[3], found[1]))
    if found := re.fullmatch(rf"{name} was ([\w-]+)", clause):
        for number, scale in enumerate(world.scales["person"]):
            for pole, words in enumerate(scale.poles):
                if found[2] in words:
                    return "trait", found[1], number, pole
    if "the " in clause:
        return transfer(clause, name)
    found = re.fullmatch(rf"{name} was (\w+) by {name}", clause)
    agent, verb, patient = (
        (found[3], found[2], found[1]) if found else re.fullmatch(rf"{name} (\w+) {name}", clause).groups()
    )
    side = next(
        (number, side)
        for number, deed in enumerate(world.deeds)
        for side, verbs in enumerate(deed.sides)
        if any(verb in (each.past, each.participle) for each in verbs)
    )
    return "deed", agent, side, patient


def transfer(clause: str, name: str) -> tuple[object, ...]:
    """Who gave what to whom, whoever it is told of."""
    forms = {
        rf"(?P<giver>{name}) (?P<verb>\w+) the (?P<thing>\w+) to (?P<receiver>{name})": 0,
        rf"the (?P<thing>\w+) was (?P<verb>\w+) to (?P<receiver>{name}) by (?P<giver>{name})": 0,
        rf"to (?P<receiver>{name}) (?P<giver>{name}) (?P<verb>\w+) the (?P<thing>\w+)": 0,
        rf"(?P<giver>{name}) (?P<verb>\w+) (?P<receiver>{name}) the (?P<thing>\w+)": 0,
        rf"the (?P<thing>\w+) was (?P<verb>\w+) from (?P<giver>{name}) by (?P<receiver>{name})": 1,
        rf"(?P<receiver>{name}) (?P<verb>\w+) the (?P<thing>\w+) from (?P<giver>{name})": 1,
    }
    found, side = next((found, side) for form, side in forms.items() if (found := re.fullmatch(form, clause)))
    number = next(
        number
        for number, verbs in enumerate(lexicon().transfers)
        if any(found["verb"] in (verb.past, verb.participle) for verb in verbs[side])
    )
    return "transfer", number, found["giver"], found["thing"], found["receiver"]


def test_golden_documents_and_rows() -> None:
    """A change here changes every corpus and task: raise VERSION with it."""
    same = [microworld.rows(task, "test")[:20] for task in microworld.TASKS if task not in GOLDEN_ROWS]
    assert (microworld.VERSION, fingerprint(list(microworld.documents(50)) + same)) == (1, GOLDEN)


@pytest.mark.parametrize("task", GOLDEN_ROWS)
def test_golden_rows_of_tasks_with_a_version_of_their_own(task: str) -> None:
    """A change here changes what the task measures: raise its version with it."""
    assert fingerprint(microworld.rows(task, "test")[:20]) == GOLDEN_ROWS[task]
    assert microworld.version(task) == (f"1/{task}" if task == "parts-of-speech" else f"1/{task}@2")


def test_tasks_that_have_not_changed_keep_their_version() -> None:
    assert microworld.version("inference") == "1/inference"


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


def test_the_size_of_the_text_is_known():
    assert sum(len(document) for document in microworld.documents()) == microworld.BYTES


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
    assert all(len(part) > (100 if task != "parts-of-speech" else 30) for part in used)
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
    [("inference", "hypothesis", 1 / 3), ("question-inference", "question", 1 / 2),
     ("question-inference", "sentence", 1 / 2), ("paraphrase", "sentence1", 1 / 2), ("paraphrase", "sentence2", 1 / 2)],
)  # fmt: skip
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
    assert {round(score) for score in scores} == {0, 2, 3, 5}


@pytest.mark.parametrize("split", SPLITS)
def test_paraphrases_tell_the_same_and_nothing_else_does(split: str) -> None:
    for row in microworld.rows("paraphrase", split)[:300]:
        first, second = (meanings(row[side]) for side in ("sentence1", "sentence2"))
        assert (first == second) == row["label"]
        assert len(first & second) == len(first) - 1 + row["label"]


def test_similarity_is_the_share_of_facts_in_common() -> None:
    for row in microworld.rows("similarity", "validation")[:300]:
        first, second = (meanings(row[side]) for side in ("sentence1", "sentence2"))
        assert row["label"] == pytest.approx(5 * len(first & second) / len(first), abs=0.21)


def test_one_ending_follows() -> None:
    """It tells the start again, or says of it how sure it is; the others do not."""
    told = 0
    for row in microworld.rows("completion", "validation")[:300]:
        endings = [row[f"ending{number}"].removesuffix(".") for number in range(4)]
        start = row["startphrase"]
        if verb := re.search(r"^[A-Z]\w+ (\w+) that [^.]*,$", start):
            tails = [status(tail, "tails") for tail in endings]
            follows = [tail == status(verb[1], "verbs") for tail in tails]
        else:
            told += 1
            start = start[: start.index(".") + 1]
            follows = [meanings(ending) == meanings(start) for ending in endings]
        assert follows == [number == row["label"] for number in range(4)]
    assert 150 < told < 250


def test_a_sentence_answers_a_question_of_its_kind() -> None:
    """`who was brave`, `who was an artisan`, `where did X go`: asked of a trait, a trade, a journey."""
    kinds = {"trait": r"^Who was (?!an? )", "work": r"^Who was an? ", "journey": r"^Where|leave\?$"}
    seen = 0
    for row in microworld.rows("question-inference", "validation"):
        for kind, pattern in kinds.items():
            if re.search(pattern, row["question"]):
                seen += 1
                assert any(each[0] == kind for each in meanings(row["sentence"])) == (row["label"] == 0)
    assert seen > 100


def test_the_words_of_a_part_of_speech_row_are_new_and_tagged_by_the_lexicon() -> None:
    from bertlab.tasks.tagging import is_bio

    world = lexicon()
    adjectives = {word for scales in world.scales.values() for scale in scales for pole in scale.poles for word in pole}
    kinds = {kind for group in world.categories.values() for category in group for kind in category.kinds}
    closed = {"DET", "AUX", "ADP", "CCONJ", "SCONJ", "NUM", "PUNCT"}
    seasons = set(" ".join(language.SEASONS).split())
    words: list[set[str]] = []
    for split in SPLITS:
        words.append(set())
        for row in microworld.rows("parts-of-speech", split):
            assert len(row["tokens"]) == len(row["upos"])
            for token, tag in zip(row["tokens"], row["upos"], strict=True):
                if tag in closed or token in seasons:
                    continue
                words[-1].add(token.lower())
                assert tag != "ADJ" or token.lower() in adjectives
                assert tag != "NOUN" or token.lower() in kinds
                assert tag != "VERB" or token.lower() not in adjectives | kinds
                assert tag != "PROPN" or token[0].isupper()
        assert not is_bio({tag for row in microworld.rows("parts-of-speech", split) for tag in row["upos"]})
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
