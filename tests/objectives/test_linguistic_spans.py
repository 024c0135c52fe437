"""Named entities and noun phrases: beside a plain version of their definition, and the marks that they read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from bertlab import keyed
from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.inputs.streams import Sequences
from bertlab.objectives import Entities, MaskedLM, NounPhrases, SentenceOrder, WholeWords
from bertlab.objectives.selection import Selection, chosen
from bertlab.objectives.selection.linguistic import LinguisticSelection, _up_to_half
from bertlab.progress import silent
from bertlab.recipe import Corpus, Inputs, Recipe, Schedule
from bertlab.text import sources, tokens
from bertlab.text.annotation import BEGINS, CONTINUES, marks_of
from bertlab.text.tokenizers import WordPiece
from objectives.test_selections_of_words import STARTS, VOCABULARY, between, random_sequences, sequences

SELECTIONS = [Entities(), NounPhrases()]


def with_marks(made: Sequences, seed: int = 7) -> Sequences:
    """Random marks of both kinds for every position, specials too."""
    entities, phrases = np.random.default_rng(seed).choice([0, CONTINUES, BEGINS], (2, *made.tokens.shape))
    return dataclasses.replace(made, marks=(entities | phrases << 2).astype(np.uint8))


def spans_of(made: Sequences, number: int, selection: LinguisticSelection) -> tuple[dict[int, range], list[list[int]]]:
    """The words of a sequence by their first number, and its spans, lists of these numbers."""
    first, total = int(made.separator_offsets[number, 0]), int(made.ordinary[number])
    columns = [column for column in range(1, total + 2) if column != first + 1]
    tokens, marks = made.tokens[number, columns], marks_of(selection.span, made.marks[number, columns])
    begins = [n for n in range(total) if STARTS[tokens[n]] or n in (0, first)]
    words = {begin: range(begin, end) for begin, end in zip(begins, [*begins[1:], total], strict=True)}
    spans: list[list[int]] = []
    before = 0
    for begin in begins:
        if marks[begin] and (marks[begin] == BEGINS or not before or begin == first):
            spans.append([])
        if marks[begin]:
            spans[-1].append(begin)
        before = marks[begin]
    return words, spans


def plainly(selection: LinguisticSelection, made: Sequences, number: int, key: Any, count: int) -> set[int]:
    """The definition, one span and one word after the other, with the draws of the package."""
    words, spans = spans_of(made, number, selection)
    bits = (1 << (made.tokens.shape[1] - 1).bit_length()) - 1

    def drawn(purpose: str, number: int) -> int:
        own = key ^ np.uint64(keyed.key(purpose)) if purpose else key
        return int(keyed.words(np.array([own]), np.array([number], dtype=np.uint32))[0, 0])

    taken: set[int] = set()
    for span in sorted(spans, key=lambda each: drawn("linguistic span", each[0]) & ~bits | each[0]):
        size = sum(len(words[begin]) for begin in span)
        left = count / 2 - len(taken)
        if left <= 0:
            break
        if size > count - len(taken):
            continue
        if drawn("beyond the half", span[0]) / 2**32 * size < left:
            taken |= {token for begin in span for token in words[begin]}
        if size > left:
            break
    order = sorted(words, key=lambda begin: drawn("", begin) & ~bits | begin)
    for begin in order:
        if begin not in taken and len(words[begin]) > count - len(taken):
            break
        taken |= set(words[begin])
    for begin in order:
        if begin not in taken and len(words[begin]) <= count - len(taken):
            taken |= set(words[begin])
    if len(taken) < count:
        taken |= set([*next(words[begin] for begin in order if begin not in taken)][: count - len(taken)])
    return taken


def choose(selection: Selection, made: Sequences, rate: float, seed: int = 9) -> list[set[int]]:
    length, keys = made.tokens.shape[1], keyed.bits(seed, made.sequence_ids)
    choice = selection.chooser(rate, VOCABULARY, length)(made, keys)
    return [set(numbers[used > 0].tolist()) for numbers, used in zip(choice.indices, choice.valid, strict=True)]


@pytest.mark.parametrize("rate", [0.02, 0.15, 0.6, 0.99])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_same_tokens_as_by_the_definition(selection: LinguisticSelection, rate: float) -> None:
    made = with_marks(random_sequences(80, 48))
    keys = keyed.bits(9, np.arange(80))
    for number, found in enumerate(choose(selection, made, rate)):
        count = chosen(rate, int(made.ordinary[number]))
        assert len(found) == count
        assert found == plainly(selection, made, number, keys[number], count)


def test_spans_up_to_the_half_by_hand() -> None:
    def taken(sizes: list[int], budget: int, draws: list[float]) -> list[int]:
        flags = _up_to_half(np.array([sizes], dtype=float), np.array([draws]), np.array([budget], dtype=np.int32))
        return np.flatnonzero(flags[0]).tolist()

    assert taken([2, 1, 2, 1], 10, [0.9] * 4) == [0, 1, 2]  # 5 of 10, however the draws are
    assert taken([2, 4, 1], 8, [0.9, 0.4, 0]) == [0, 1]  # 2 are left of the half: the 4 are taken in half of the cases
    assert taken([2, 4, 1], 8, [0.9, 0.6, 0]) == [0]
    assert taken([9, 3, 1], 8, [0, 0.9, 0.9]) == [1, 2]  # 9 do not fit at all
    assert taken([1, 0, 0], 8, [0, 0, 0]) == [0]
    assert taken([3], 1, [0]) == []
    draws = np.random.default_rng(1).random((4000, 40))
    sizes = np.random.default_rng(2).integers(1, 7, draws.shape)
    for budget in (5, 6, 20):
        flags = _up_to_half(sizes.astype(float), draws, np.full(4000, budget, dtype=np.int32))
        assert (sizes * flags).sum(axis=1).mean() / budget == pytest.approx(0.5, abs=0.02)


def test_half_of_the_tokens_are_of_whole_spans() -> None:
    """Of a text in which a fifth of the words are in spans of two and three, of one piece each."""
    made = sequences([[[7] * 120, [7] * 120]] * 100, 256)
    marks = np.zeros(made.tokens.shape, dtype=np.uint8)
    for begin, size in ((1, 2), (11, 3)):
        marks[:, begin::20] |= BEGINS
        for later in range(1, size):
            marks[:, begin + later :: 20] |= CONTINUES
    made = dataclasses.replace(made, marks=marks)
    of_spans = dict.fromkeys(("entities", "whole_words"), 0)
    for selection in (Entities(), WholeWords()):
        for number, found in enumerate(choose(selection, made, 0.15)):
            _, spans = spans_of(made, number, Entities())
            of_spans[selection.kind] += sum(len(span) for span in spans if found.issuperset(span))
    count = 100 * chosen(0.15, 240)
    assert of_spans["entities"] / count == pytest.approx(0.5, abs=0.02)
    assert of_spans["whole_words"] / count < 0.05
    none = dataclasses.replace(made, marks=0 * marks)
    assert choose(Entities(), none, 0.15) == choose(WholeWords(), none, 0.15)
    assert choose(NounPhrases(), made, 0.15) == choose(WholeWords(), made, 0.15)  # it reads the other bits


@pytest.mark.parametrize("selection", SELECTIONS)
def test_masks_are_functions_of_keys(selection: LinguisticSelection) -> None:
    made = with_marks(random_sequences(40, 48))
    whole = choose(selection, made, 0.15)
    assert whole == choose(selection, made, 0.15)
    assert whole != choose(selection, made, 0.15, seed=10)
    assert choose(selection, between(made, 7, 9), 0.15) == whole[7:9]
    for nothing in (sequences([], 16), sequences([[[], []]], 16)):
        assert not any(choose(selection, with_marks(nothing), 0.15))


# Marks of the text


@pytest.fixture(scope="module")
def reader() -> Any:
    """A loss that keeps what it is given, before a masked LM changes it; its class is no arm of other tests."""

    @dataclass(frozen=True, kw_only=True)
    class Reads(MaskedLM):
        kind: ClassVar[str] = "reads_marks"

        @property
        def annotated(self) -> bool:
            return True

        def batch_transform(self, tokenizer: Any, length: int, seed: int | str) -> Callable[[Sequences], Any]:
            def examples(made: Sequences) -> Any:
                nothing = np.zeros((len(made.tokens), 1), np.int32)
                return {"marks": made.marks.copy(), "tokens": made.tokens.copy(), "positions": nothing}

            return examples

    return Reads()


@pytest.mark.parametrize(("other", "inputs"), [
    (MaskedLM(), Inputs(length=24)), (MaskedLM(), Inputs(length=24, document_share=0.5)),
    (MaskedLM(), Inputs(length=24, corpora=1)),
    (MaskedLM(), Inputs(length=24, epochs=12)), (MaskedLM(), Inputs(length=24, format="full-sentences")),
    (MaskedLM(), Inputs(length=500, format="sentence-pair")), (SentenceOrder(), Inputs(length=24)),
])  # fmt: skip
def test_marks_are_those_of_the_tokens(corpus: Any, reader: Any, other: Any, inputs: Inputs) -> None:
    marks, documents = (np.asarray(corpus.train.tokens) % 251).astype(np.uint8), len(corpus.train.documents) - 1
    train = dataclasses.replace(corpus.train, marks=marks, by_source=(documents // 2, documents - documents // 2))
    recipe = Recipe(objective=(reader, other), inputs=inputs, schedule=Schedule(batch_size=32, steps=200))
    batch = Batches(recipe, dataclasses.replace(corpus, train=train), trimmed=False).batch(1)
    found, tokenizer = batch.arrays["reads_marks"], corpus.tokenizer
    ordinary = ~np.isin(found["tokens"], [tokenizer.pad, tokenizer.cls, tokenizer.sep])
    assert ordinary.sum() > 200
    assert (found["marks"] == found["tokens"] % 251)[ordinary].all()
    with pytest.raises(BadInput, match="no linguistic spans"):
        Batches(recipe, corpus).batch(0)


@pytest.fixture(scope="module")
def annotated(text_file: Any, machine: Any, tmp_path_factory: Any) -> Any:
    located, directory = sources.resolve(str(text_file), machine=machine), tmp_path_factory.mktemp("annotated")
    given = Corpus(sources=(located.source,), heldout=0.1, annotator="microworld@1")
    tokens.prepare(given, WordPiece(vocabulary=1500), [located], directory, progress=silent)
    return tokens.open_corpus(directory, WordPiece())


def failing(annotated: Any, audited: Selection, drawn: Selection) -> set[str]:
    inputs, schedule = Inputs(length=64), Schedule(batch_size=16, steps=1000)
    one, other = (
        Recipe(objective=(MaskedLM(selection=each),), inputs=inputs, schedule=schedule) for each in (audited, drawn)
    )
    audits = audit(one, annotated, Batches(other, annotated).batch, most=40_000)
    checks = [check for each in audits for check in each.checks]
    assert any("of whole" in check.figure and check.holds is not None for check in checks)
    return {check.figure for check in checks if check.holds is False}


def test_audits_pass_and_find_another_selection(annotated: Any) -> None:
    assert [failing(annotated, each, each) for each in SELECTIONS] == [set(), set()]
    wrong = failing(annotated, Entities(), WholeWords())
    assert wrong == {"tokens of whole named entities", "tokens of a span"}


def test_own_masks_of_the_held_out_text_are_linguistic(annotated: Any) -> None:
    recipe = Recipe(objective=(MaskedLM(selection=Entities()),), inputs=Inputs(length=48))
    fixed, own = recipe.objective[0].evaluations(recipe, annotated, 64, True)
    assert (own.batches[0].tokens != fixed.batches[0].tokens).any()
