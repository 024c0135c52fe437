"""A small random model as a pre-training leaves it, and tasks that any model can learn, one of each kind."""

import json

import numpy as np
import pytest

from bertlab.model.heads import PretrainingModel
from bertlab.recipe import Inputs, Model, Recipe
from bertlab.recipe.identity import to_canonical
from bertlab.tasks.kinds.span import Answers
from bertlab.tasks.task import RawExamples, TaskData
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", *(f"##{letter}" for letter in "abcdefgh")]
RECIPE = Recipe(
    tokenizer=WordPiece(vocabulary=64),
    inputs=Inputs(length=32),
    model=Model(layers=2, hidden=32, heads=2, positions="rotary", initialisation="width", max_positions=32),
)


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory):
    """The directory of a pre-training of no steps."""
    directory = tmp_path_factory.mktemp("pretrained")
    TrainedWordPiece(PIECES).save(directory / "vocab.txt")
    PretrainingModel(RECIPE.model, len(PIECES), 32, 0).save(directory / "model.safetensors")
    record = {"kind": "pretrain", "id": "0" * 16, "science": {"recipe": to_canonical(RECIPE)}}
    (directory / "recipe.json").write_text(json.dumps(record), encoding="utf-8")
    return directory


@pytest.fixture(scope="session")
def pairs():
    """Classification: the first letter of the second text."""

    def rows(count, seed):
        draw = np.random.default_rng(seed)
        labels = draw.integers(0, 2, count)
        first = draw.integers(0, 2, count)
        tails = ["".join(draw.choice(list("cdefgh"), size)) for size in draw.integers(1, 12, 2 * count)]
        one = [f"{'ab'[letter]} {tail}" for letter, tail in zip(first, tails, strict=False)]
        two = [f"{'ab'[letter]} {tail}" for letter, tail in zip(labels, tails[count:], strict=True)]
        return RawExamples(text=(one, two), labels=labels.tolist())

    return TaskData(
        name="pairs",
        dataset="toy",
        kind="classification",
        labels=("a", "b"),
        train=rows(320, 0),
        evaluation=rows(120, 1),
        content="sha256:0",
    )


@pytest.fixture(scope="session")
def entities():
    """Tagging: a word of `a` opens an entity, a word of `b` behind one goes on with it; some sentences are long."""

    def rows(count, seed):
        draw = np.random.default_rng(seed)
        words, tags = [], []
        for size in draw.integers(2, 20, count):
            sentence = ["".join(draw.choice(list("cdef"), 2)) for _ in range(size)]
            marks = [0] * size
            at = int(draw.integers(0, size - 1))
            sentence[at : at + 2], marks[at : at + 2] = ["a", "b"], [1, 2]
            words.append(sentence)
            tags.append(np.array(marks))
        return RawExamples(text=(words,), labels=tags)

    return TaskData(
        name="entities",
        dataset="toy",
        kind="tagging",
        labels=("O", "B-X", "I-X"),
        train=rows(320, 0),
        evaluation=rows(100, 1),
        content="sha256:1",
    )


def task(kind, rows, labels=()):
    return TaskData(
        name=kind,
        dataset="toy",
        kind=kind,
        labels=labels,
        train=rows(320, 0),
        evaluation=rows(100, 1),
        content=f"sha256:{kind}",
    )


@pytest.fixture(scope="session")
def questions():
    """Spans: the word of `a` and `b`; a third of the contexts has none, and some are long."""

    def rows(count, seed):
        draw = np.random.default_rng(seed)
        contexts, right = [], []
        for number, size in enumerate(draw.integers(2, 16, count)):
            words = ["".join(draw.choice(list("cdef"), 2)) for _ in range(size)]
            if number % 3:
                words[int(draw.integers(0, size))] = "ab"
            contexts.append(" ".join(words))
            right.append(Answers(("ab",), (contexts[-1].index("ab"),)) if number % 3 else Answers())
        return RawExamples(text=(["g"] * count, contexts), labels=right)

    return task("span", rows)


@pytest.fixture(scope="session")
def choices():
    """Multiple choice: the ending that begins with an `a`."""

    def rows(count, seed):
        draw = np.random.default_rng(seed)
        labels = draw.integers(0, 4, count)
        tails = [["".join(draw.choice(list("cdef"), size)) for size in draw.integers(1, 8, count)] for _ in range(4)]
        columns = [
            [("a" if label == number else "b") + tail for label, tail in zip(labels, column, strict=True)]
            for number, column in enumerate(tails)
        ]
        return RawExamples(text=(["g h"] * count, *columns), labels=labels.tolist())

    return task("multiple-choice", rows, ("0", "1", "2", "3"))


@pytest.fixture(scope="session")
def scores():
    """Regression: how many of the first two letters are `a`, and a quarter."""

    def rows(count, seed):
        draw = np.random.default_rng(seed)
        letters = draw.choice(list("ab"), (count, 2))
        tails = ["".join(draw.choice(list("cdef"), size)) for size in draw.integers(1, 8, count)]
        one = [f"{letter} {tail}" for (letter, _), tail in zip(letters, tails, strict=True)]
        return RawExamples(text=(one, letters[:, 1].tolist()), labels=((letters == "a").sum(1) + 0.25).tolist())

    return task("regression", rows)
