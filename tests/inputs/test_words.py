"""How much of a text in words the steps of a recipe read: the limit of ten passes, and BabyLM's milestones."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bertlab.errors import BadInput
from bertlab.inputs import words
from bertlab.inputs.batches import Batches
from bertlab.inputs.formats import FullSentences
from bertlab.inputs.words import MILLION, WordsRead
from bertlab.objectives import MaskedLM, NextSentence
from bertlab.recipe import Inputs, Recipe, Schedule
from bertlab.recipe.schedules import Ramp
from bertlab.text import tokens


@pytest.fixture(scope="module")
def corpus(corpus_directory: Any) -> Any:
    from bertlab.text.tokenizers import WordPiece

    return tokens.open_corpus(corpus_directory, WordPiece())


PAIRS = (MaskedLM(), NextSentence())


def recipe(steps: int, objective: Any = PAIRS, **inputs: Any) -> Recipe:
    schedule = Schedule(steps=steps, batch_size=16)
    return Recipe(inputs=Inputs(length=32, **inputs), objective=objective, schedule=schedule)


def test_a_pass_is_an_epoch(corpus: Any) -> None:
    given = recipe(1000, dupe_factor=1)
    sequences = Batches(given, corpus).sequences_in(0)
    read = WordsRead.of(given, corpus)
    assert read.words == corpus.facts["train"]["words"]
    assert read.passes == pytest.approx(1000 * 16 / sequences)
    assert Batches(given, corpus).batch(999).epochs.max() == int((1000 * 16 - 1) // sequences)


def test_a_part_of_the_text_has_its_share_of_the_words_and_is_passed_over_more_often(corpus: Any) -> None:
    every, half = (WordsRead.of(recipe(100, document_share=share), corpus) for share in (1.0, 0.5))
    assert half.words == pytest.approx(every.words / 2, rel=0.1)
    assert half.passes == pytest.approx(2 * every.passes, rel=0.1)


def test_steps_of_other_lengths_read_more(corpus: Any) -> None:
    one_segment = {"objective": (MaskedLM(),), "format": FullSentences()}
    plain, phases = (recipe(100, **one_segment, **more) for more in ({}, {"phase2_length": 64, "phase2_share": 0.5}))
    assert WordsRead.of(phases, corpus).passes > 1.2 * WordsRead.of(plain, corpus).passes
    changing = Schedule(steps=100, batch_size=16, over_steps={"schedule.batch_size": Ramp()})
    assert WordsRead.of(dataclasses.replace(plain, schedule=changing), corpus).passes == pytest.approx(
        0.75 * WordsRead.of(plain, corpus).passes, rel=0.02
    )


def test_the_steps_that_the_limit_names_are_allowed_and_one_more_is_not(corpus: Any) -> None:
    read = WordsRead.of(recipe(100_000), corpus)
    with pytest.raises(BadInput, match=r"makes 10 passes at most, which are [\d,]+ steps") as refused:
        read.check()
    most = int(str(refused.value).rpartition(" steps")[0].rpartition(" ")[2].replace(",", ""))
    WordsRead.of(recipe(most), corpus).check()
    with pytest.raises(BadInput, match=f"its {most + 1:,} steps read the {read.words:,.0f} words 10.0 times"):
        WordsRead.of(recipe(most + 1), corpus).check()


def test_milestones_have_babylms_names_and_are_at_the_nearest_step() -> None:
    assert WordsRead(2.6 * MILLION, [(26, 0.1)]).revisions == {
        **{"chck_1M": 4, "chck_2M": 8, "chck_3M": 12, "chck_4M": 15, "chck_5M": 19, "chck_6M": 23},
    }
    two_stages = WordsRead(1e6, [(10, 0.1), (10, 0.2)])
    assert two_stages.revisions == {"chck_1M": 10, "chck_2M": 15, "chck_3M": 20}
    assert WordsRead(0.3 * MILLION, [(30, 0.1)]).revisions == {}


def test_the_end_of_ten_passes_over_ten_million_words_is_a_hundred_million() -> None:
    """Whole documents have a little less."""
    revisions = WordsRead(9_997_400, [(5000, 0.002)]).revisions
    assert [*revisions] == [f"chck_{number}M" for number in (*range(1, 10), *range(10, 101, 10))]
    assert revisions["chck_100M"] == 5000
    assert "chck_100M" not in WordsRead(9_800_000, [(5000, 0.002)]).revisions
    assert (words.MILESTONES[-2:], len(words.MILESTONES)) == ((900 * MILLION, 1000 * MILLION), 28)


def test_the_words_that_a_training_reads_are_its_passes_over_them(corpus: Any) -> None:
    given = recipe(100, dupe_factor=1)
    epoch = Batches(given, corpus).sequences_in(0)
    assert words.words_read(given, corpus) == pytest.approx(corpus.facts["train"]["words"] * 100 * 16 / epoch, abs=1)
    assert words.words_read(recipe(0), corpus) == 0
    train = {name: fact for name, fact in corpus.facts["train"].items() if name != "words"}
    earlier = dataclasses.replace(corpus, facts=corpus.facts | {"train": train})
    assert words.words_read(given, earlier) is None
