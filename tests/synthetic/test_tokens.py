"""The synthetic tasks whose targets are tokens: entities, answers, parts of speech."""

from collections import Counter

import pytest

from bertlab.synthetic.world import lexicon


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
