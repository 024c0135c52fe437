"""A batch is a function of recipe, corpus and step; epochs cover the corpus; evaluation is the same for all."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.inputs import batches
from bertlab.inputs.batches import FEWEST, Batches, fewer_passes, heldout, heldout_pairs, training_text
from bertlab.inputs.streams import Batch, joined
from bertlab.inputs.windows import Windows
from bertlab.objectives import CausalLM, Corruption, MaskedLM, NextSentence
from bertlab.objectives.selection import slots
from bertlab.optimizers import AdamW
from bertlab.recipe import Inputs, Model, Recipe, Schedule
from bertlab.text import tokens
from bertlab.text.tokens import Part, by_hash, share_of

PAD, CLS, SEP, MASK = 0, 2, 3, 4
TOKENS = 12_000


def _part(documents: int, seed: int, dtype: Any = np.uint16) -> Any:
    """Documents of one to twenty sentences of one to thirty tokens, in which no token comes twice."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 20, documents)
    lengths = draw.integers(2, 30, sizes.sum())
    sentences = np.cumsum([0, *lengths])
    return Part(
        tokens=np.arange(5, 5 + sentences[-1]).astype(dtype),
        sentences=sentences,
        documents=np.cumsum([0, *sizes]),
    )


def _corpus(dtype: Any = np.uint16) -> Any:
    train = _part(60, seed=1, dtype=dtype)
    assert len(train.tokens) < TOKENS
    tokenizer = SimpleNamespace(pad=PAD, cls=CLS, sep=SEP, mask=MASK, ordinary=np.arange(5, TOKENS, dtype=np.int32))
    return SimpleNamespace(tokenizer=tokenizer, train=train, heldout=_part(20, seed=2, dtype=dtype))


CORPUS = _corpus()
FIXED = (MaskedLM(), NextSentence())


FORMATS = ("segment-pair", "sentence-pair", "full-sentences", "doc-sentences")


def recipe(batch: int = 16, seed: int = 0, steps: int = 100, masked: MaskedLM | None = None, **inputs: Any) -> Recipe:
    paired = inputs.get("format") not in ("full-sentences", "doc-sentences")
    return Recipe(
        objective=(masked or MaskedLM(), *([NextSentence()] if paired else [])),
        inputs=Inputs(**{"length": 64, "dupe_factor": 3} | inputs),
        schedule=Schedule(batch_size=batch, steps=steps),
        seed=seed,
    )


def lm(batch: Batch) -> SimpleNamespace:
    """What the language model adds to a batch."""
    return SimpleNamespace(**next(iter(batch.arrays.values())))


def arrays(batch: Batch) -> dict[str, np.ndarray]:
    """All that a batch holds, and what the language model adds, by name."""
    own = {"sequence_ids": batch.sequence_ids, "epochs": batch.epochs}
    return {"tokens": batch.tokens, "lengths": batch.lengths, **own, **batch.format, **vars(lm(batch))}


def plain(batch: Batch) -> np.ndarray:
    """The tokens of a batch as they were before masking."""
    tokens = batch.tokens.copy()
    for sequence in range(len(tokens)):
        chosen = lm(batch).weights[sequence] > 0
        tokens[sequence, lm(batch).positions[sequence, chosen]] = lm(batch).targets[sequence, chosen]
    return tokens


def contents(batch: Batch) -> list[bytes]:
    names = "tokens segments lengths positions targets weights is_random_next sequence_ids epochs"
    nothing = {"segments": np.zeros_like(batch.tokens), "is_random_next": np.zeros_like(batch.lengths)}
    return [(nothing | arrays(batch))[name].tobytes() for name in names.split()]


def by_id(source: Batches, steps: int) -> dict[tuple[int, int], list[bytes]]:
    """The contents of each sequence of the first batches, by its epoch and its id."""
    found = {}
    for step in range(steps):
        batch = source.batch(step)
        for sequence in range(len(batch.sequence_ids)):
            found[int(batch.epochs[sequence]), int(batch.sequence_ids[sequence])] = contents(
                batch.rows(slice(sequence, sequence + 1))
            )
    return found


def test_layout_of_a_sequence() -> None:
    source = CORPUS.train
    home = np.repeat(np.arange(len(source.documents) - 1), np.diff(source.sentences[source.documents]))
    for step in range(20):
        batch = Batches(recipe(), CORPUS).batch(step)
        assert batch.tokens.shape == (16, 64)
        assert lm(batch).positions.shape == (16, slots(0.15, 64))
        for name, array in arrays(batch).items():
            assert array.dtype == {"sequence_ids": np.int64, "epochs": np.int64, "weights": np.float32}.get(
                name, np.int32
            )
        tokens = plain(batch)
        for sequence in range(16):
            length = batch.lengths[sequence]
            assert not tokens[sequence, length:].any()
            assert not batch.format["segments"][sequence, length:].any()
            ends = np.flatnonzero(tokens[sequence] == SEP)
            assert tokens[sequence, 0] == CLS
            assert ends.tolist() == [ends[0], length - 1]
            assert batch.format["segments"][sequence, :length].tolist() == [0] * (ends[0] + 1) + [1] * (
                length - 1 - ends[0]
            )
            first, second = tokens[sequence, 1 : ends[0]] - 5, tokens[sequence, ends[0] + 1 : length - 1] - 5
            assert (np.diff(first) == 1).all()
            assert (np.diff(second) == 1).all()
            assert len(set(home[first])) == len(set(home[second])) == 1
            assert (home[first[0]] != home[second[0]]) == batch.format["is_random_next"][sequence]
            assert batch.format["is_random_next"][sequence] or second[0] > first[-1]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=6), st.integers(1, 40), st.integers(0, 2))
def test_a_batch_does_not_depend_on_earlier_ones(name: str, steps: list[int], batch: int, seed: int) -> None:
    given = recipe(batch=batch, seed=seed, format=name)
    used = Batches(given, CORPUS)
    for step in steps:
        used.batch(step)
    whole = used.batch(steps[0])
    assert contents(whole) == contents(Batches(given, CORPUS).batch(steps[0]))
    for shares in (1, 2, 4):  # the parts of several processes
        cuts = [len(whole.sequence_ids) * share // shares for share in range(shares + 1)]
        parts = [Batches(given, CORPUS).batch(steps[0]).rows(slice(*cut)) for cut in itertools.pairwise(cuts)]
        assert contents(joined(parts)) == contents(whole)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("batch", [1, 7, 16])
def test_every_sequence_is_in_one_batch_of_each_epoch(name: str, batch: int) -> None:
    source = Batches(recipe(batch=batch, format=name), CORPUS)
    parts, epochs_drawn = [], 4
    while not parts or parts[-1].epochs.max() < epochs_drawn:
        parts.append(source.batch(len(parts)))
    assert all(len(part.sequence_ids) for part in parts)
    names = np.concatenate([part.sequence_ids for part in parts])
    epochs = np.concatenate([part.epochs for part in parts])
    for epoch in range(epochs_drawn):
        found = names[epochs == epoch]
        assert len(found) == len(set(found.tolist())) == source.sequences_in(epoch)
    for steps in (0, 1, len(parts) // 2, len(parts)):
        assert source.tokens(steps) == sum(int(part.lengths.sum()) for part in parts[:steps])


@pytest.mark.parametrize(("name", "other"), [("sentence-pair", "segment-pair"), ("doc-sentences", "full-sentences")])
def test_batches_of_short_sequences_grow_to_the_tokens_of_the_others(name: str, other: str) -> None:
    given = recipe(format=other)
    mean = given.inputs.format.lay_out(CORPUS.train, given, 64, copy=0).lengths.mean()
    source = Batches(recipe(format=name), CORPUS)
    parts = [source.batch(step) for step in range(50)]
    assert all(abs(part.lengths.sum() - 16 * mean) <= 64 for part in parts)
    assert source.tokens(50) == pytest.approx(50 * 16 * mean, abs=64 + 50)
    assert min(len(part.sequence_ids) for part in parts) >= 16
    # No column stands empty but those up to the next eighth, no slot at all.
    assert all(0 <= part.tokens.shape[1] - part.lengths.max() < 8 for part in parts)
    assert all(lm(part).weights.any(axis=0).all() for part in parts)


def test_tokens_are_counted_over_both_lengths() -> None:
    source = Batches(recipe(steps=20, phase2_length=96, phase2_share=0.25), CORPUS)
    for steps in (3, 15, 18):
        assert source.tokens(steps) == sum(int(source.batch(step).lengths.sum()) for step in range(steps))


@pytest.mark.parametrize("name", FORMATS)
def test_left_to_right_sees_the_sequences_of_masking_unmasked(name: str) -> None:
    masked = dataclasses.replace(recipe(format=name), objective=(MaskedLM(),))
    causal = dataclasses.replace(masked, objective=(CausalLM(),))
    one, two = Batches(masked, CORPUS).batch(3), Batches(causal, CORPUS).batch(3)
    assert (plain(one) == two.tokens).all()
    assert (one.sequence_ids == two.sequence_ids).all()
    for sequence in range(len(two.sequence_ids)):
        length = two.lengths[sequence]
        real = lm(two).weights[sequence] > 0
        assert lm(two).positions[sequence, real].tolist() == list(range(length - 1))
        assert lm(two).targets[sequence, real].tolist() == two.tokens[sequence, 1:length].tolist()


@pytest.mark.parametrize("schedule", ["static", "duplicated", "dynamic"])
def test_schedules_differ_in_their_masks_alone(schedule: Any) -> None:
    """RoBERTa Table 1: over three epochs order and pairs are those of dynamic masking, if pairs are drawn once."""
    dynamic = Batches(recipe(batch=50, dupe_factor=1), CORPUS)
    source = Batches(recipe(batch=50, dupe_factor=1, masked=MaskedLM(schedule=schedule, copies=2)), CORPUS)
    masks: list[dict[int, bytes]] = [{}, {}, {}]
    for step in range(3 * source.sequences_in(0) // 50):
        one, two = source.batch(step), dynamic.batch(step)
        assert (plain(one) == plain(two)).all()
        for name in ("sequence_ids", "epochs", "is_random_next", "lengths"):
            assert (arrays(one)[name] == arrays(two)[name]).all()
        for sequence, epoch in enumerate(one.epochs.tolist()):
            masks[epoch][int(one.sequence_ids[sequence])] = (
                one.tokens[sequence].tobytes() + lm(one).positions[sequence].tobytes()
            )

    def same(one: int, other: int) -> float:
        return float(np.mean([masks[other][name] == mask for name, mask in masks[one].items() if name in masks[other]]))

    new = pytest.approx(0.0, abs=0.05)
    expected = {"static": (1.0, 1.0), "duplicated": (new, 1.0), "dynamic": (new, new)}
    assert (same(0, 1), same(0, 2)) == expected[schedule]


def test_pairs_are_drawn_anew_in_each_copy_whatever_the_schedule() -> None:
    source = Batches(recipe(batch=50, dupe_factor=2, masked=MaskedLM(schedule="static")), CORPUS)
    found = by_id(source, (source.sequences_in(0) + source.sequences_in(1)) // 50)
    assert not {name for epoch, name in found if epoch == 0} & {name for epoch, name in found if epoch == 1}


def test_segment_pairs_are_what_they_were() -> None:
    """Frozen: other bytes mean that the same recipe is no longer trained on the same batches."""
    source = Batches(recipe(phase2_length=96, phase2_share=0.3, short_seq_prob=0.4), CORPUS)
    made = [source.batch(step) for step in (0, 1, 17, 69, 70, 99)]
    made += heldout(recipe(), CORPUS, FIXED, 100) + heldout_pairs(recipe(), CORPUS, FIXED, 100)
    found = hashlib.sha256(b"".join(array for batch in made for array in contents(batch))).hexdigest()
    assert found[:16] == "e69b4a1bfcf3ab4f"


def test_a_batch_that_its_user_changed_is_made_anew() -> None:
    source = Batches(recipe(), CORPUS)
    before = contents(source.batch(3))
    source.batch(3).tokens[:] = -1
    assert contents(source.batch(3)) == before


@pytest.mark.parametrize("name", FORMATS)
def test_a_batch_that_its_user_changed_leaves_the_next_as_they_are(name: str) -> None:
    expected = [contents(Batches(recipe(format=name), CORPUS).batch(step)) for step in range(20)]
    source, found = Batches(recipe(format=name), CORPUS), []
    for step in range(20):
        batch = source.batch(step)
        found.append(contents(batch))
        for array in arrays(batch).values():
            array[:] = -1
    assert found == expected


def test_layouts_that_were_let_go_come_back_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [contents(Batches(recipe(), CORPUS).batch(step)) for step in range(0, 120, 7)]
    monkeypatch.setattr(batches, "_KEPT", 1)
    source = Batches(recipe(), CORPUS)
    again = [contents(source.batch(step)) for step in reversed(range(0, 120, 7))]
    assert kept == again[::-1]


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_sequences_do_not_depend_on_the_batch_size(batch: int) -> None:
    count = 700
    usual = by_id(Batches(recipe(batch=10), CORPUS), count // 10)
    other = by_id(Batches(recipe(batch=batch), CORPUS), -(-count // batch))
    assert set(usual) <= set(other)
    assert all(other[name] == sequence for name, sequence in usual.items())


def test_epochs_follow_each_other_without_loss() -> None:
    source = Batches(recipe(batch=50), CORPUS)
    sizes = [source.sequences_in(copy) for copy in range(3)]
    assert len(set(sizes)) > 1
    parts = [source.batch(step) for step in range(2 * sum(sizes) // 50 + 1)]
    names = np.concatenate([batch.sequence_ids for batch in parts])
    epochs = np.concatenate([batch.epochs for batch in parts])
    assert (np.diff(epochs) >= 0).all()
    assert np.bincount(epochs)[:6].tolist() == sizes * 2
    in_epoch = [names[epochs == epoch] for epoch in range(6)]
    for epoch in range(6):
        assert len(set(in_epoch[epoch])) == sizes[epoch % 3]
    # The same sequences come back after all copies, in another order; another copy has others.
    assert set(in_epoch[0]) == set(in_epoch[3])
    assert in_epoch[0].tolist() != in_epoch[3].tolist()
    assert not set(in_epoch[0]) & set(in_epoch[1])


def test_an_epoch_shows_the_corpus() -> None:
    """Every token of the corpus is in the own part of one sequence, or in one that overflowed."""
    source = Batches(recipe(batch=1, short_seq_prob=0.0), CORPUS)
    seen = np.zeros(len(CORPUS.train.tokens), dtype=int)
    full = 0
    for step in range(source.sequences_in(0)):
        batch = source.batch(step)
        tokens, true = plain(batch)[0], batch.format["is_random_next"][0] == 0
        own = (batch.format["segments"][0] == 0) | true
        seen[tokens[own & (tokens > MASK)] - 5] += 1
        full += int(true and batch.lengths[0] == 64)
    assert seen.max() == 1
    missing = int((seen == 0).sum())
    assert 0 < missing < full * 30
    assert missing < 0.12 * len(seen)


@pytest.mark.parametrize(("schedule", "same"), [("static", True), ("duplicated", False), ("dynamic", False)], ids=str)
def test_masks_come_back_with_the_schedule(schedule: Any, same: bool) -> None:
    masked = MaskedLM(schedule=schedule, copies=2)
    source = Batches(recipe(batch=50, masked=masked, dupe_factor=1), CORPUS)
    found = by_id(source, 4 * source.sequences_in(0) // 50)
    epochs = [
        {name: list(sequence[:-1]) for (epoch, name), sequence in found.items() if epoch == number}
        for number in range(4)
    ]
    common = set.intersection(*map(set, epochs))
    assert len(common) > 100

    def equal(one: int, other: int) -> float:
        return float(np.mean([epochs[one][name] == epochs[other][name] for name in common]))

    assert equal(0, 1) == (1.0 if same else pytest.approx(0.0, abs=0.05))
    assert equal(0, 2) == (pytest.approx(0.0, abs=0.05) if schedule == "dynamic" else 1.0)
    # Static, duplicated and dynamic masking begin alike.
    dynamic = by_id(Batches(recipe(batch=50, dupe_factor=1), CORPUS), 2)
    assert all(found[name] == sequence for name, sequence in dynamic.items())


def test_recipes_that_differ_in_training_alone_see_the_same_sequences() -> None:
    usual = recipe()
    others = [
        dataclasses.replace(
            usual,
            objective=(
                MaskedLM(mask_prob=0.4, schedule="static", corruption=Corruption(mask=0.0, keep=0.0, random=1.0)),
                NextSentence(),
            ),
        ),
        dataclasses.replace(usual, objective=(MaskedLM(),)),
        dataclasses.replace(usual, model=Model(layers=2), optimizer=AdamW(beta1=0.5)),
        dataclasses.replace(usual, schedule=Schedule(batch_size=16, steps=7, peak_lr=0.1)),
    ]
    for other in others:
        for step in (0, 3, 60):
            one, two = Batches(usual, CORPUS).batch(step), Batches(other, CORPUS).batch(step)
            assert (plain(one) == plain(two)).all()
            assert (one.sequence_ids == two.sequence_ids).all()
            assert (one.format["is_random_next"] == two.format["is_random_next"]).all()
    assert (Batches(usual, CORPUS).batch(0).sequence_ids != Batches(recipe(seed=1), CORPUS).batch(0).sequence_ids).any()


def test_wider_ids_make_the_same_batches() -> None:
    wide = _corpus(np.uint32)
    assert contents(Batches(recipe(), wide).batch(5)) == contents(Batches(recipe(), CORPUS).batch(5))


def test_last_steps_are_longer() -> None:
    source = Batches(recipe(steps=20, phase2_length=96, phase2_share=0.25), CORPUS)
    assert [source.batch(step).tokens.shape[1] for step in range(20)] == [64] * 15 + [96] * 5
    assert [lm(source.batch(step)).positions.shape[1] for step in (14, 15)] == [10, 15]
    assert source.batch(15).lengths.max() > 64
    # They begin a first epoch of their own; the steps before them are the same without them.
    assert not source.batch(15).epochs.any()
    assert contents(source.batch(14)) == contents(Batches(recipe(steps=20), CORPUS).batch(14))


def test_evaluation_is_the_same_for_every_recipe_of_a_length() -> None:
    other = dataclasses.replace(
        recipe(seed=5, batch=3, short_seq_prob=0.5, dupe_factor=7),
        objective=(MaskedLM(mask_prob=0.4, corruption=Corruption(mask=0.0, keep=0.0, random=1.0)), NextSentence()),
    )
    for evaluation in (
        lambda each: heldout(each, CORPUS, FIXED, 40),
        lambda each: heldout_pairs(each, CORPUS, FIXED, 40),
    ):
        assert [contents(part) for part in evaluation(recipe())] == [contents(part) for part in evaluation(other)]
    own = heldout(other, CORPUS, other.objective, 40)
    usual = heldout(other, CORPUS, FIXED, 40)
    assert [plain(part).tobytes() for part in own] == [plain(part).tobytes() for part in usual]
    assert lm(own[0]).weights.sum() > 2 * lm(usual[0]).weights.sum()
    assert not (own[0].tokens == MASK).any()
    assert contents(heldout(recipe(), CORPUS, recipe().objective, 40)[0]) == contents(usual[0])


def test_evaluation_takes_single_segments_and_pairs_of_the_heldout_documents() -> None:
    singles = heldout(recipe(), CORPUS, FIXED, 10_000)
    tokens = [sequence[sequence > MASK] for part in singles for sequence in plain(part)]
    assert sum(map(len, tokens)) > 0.85 * len(CORPUS.heldout.tokens)
    assert len(np.unique(np.concatenate(tokens))) == sum(map(len, tokens))
    assert all((np.diff(sequence) == 1).all() for sequence in tokens)
    assert not any(part.format for part in singles)
    assert sum(len(part.sequence_ids) for part in heldout(recipe(), CORPUS, FIXED, 7)) == 7

    pairs = heldout_pairs(recipe(), CORPUS, FIXED, 10_000)
    share = np.concatenate([part.format["is_random_next"] for part in pairs]).mean()
    assert 0.3 < share < 0.7
    assert all(part.format["segments"].any(axis=1).all() for part in pairs)


def test_a_text_on_the_disk_stays_there() -> None:
    """But for one that is shorter than a sequence."""
    text = np.arange(100, dtype=np.uint16)
    assert np.shares_memory(Windows(text, 64)._values, text)
    assert not np.shares_memory(Windows(text[:9], 64)._values, text)


def test_unusable_corpora_say_so() -> None:
    one = Part(tokens=CORPUS.train.tokens, sentences=CORPUS.train.sentences, documents=CORPUS.train.documents[[0, -1]])
    none = Part(tokens=np.array([], np.uint16), sentences=np.array([0]), documents=np.array([0]))
    lonely = SimpleNamespace(tokenizer=CORPUS.tokenizer, train=one, heldout=one)
    with pytest.raises(BadInput, match="1 document"):
        Batches(recipe(), lonely).batch(0)
    assert heldout_pairs(recipe(), lonely, FIXED, 10) == []
    assert heldout(recipe(), lonely, FIXED, 10)
    with pytest.raises(BadInput, match="held out"):
        heldout(recipe(), SimpleNamespace(tokenizer=CORPUS.tokenizer, train=one, heldout=none), FIXED, 10)


@pytest.mark.parametrize("count", [11, 20])
@pytest.mark.parametrize("name", ["segment-pair", "sentence-pair", "full-sentences", "doc-sentences"])
def test_the_number_of_epochs_is_that_of_all_phases_in_every_format(count: int, name: str) -> None:
    many = recipe(batch=16, steps=60, epochs=count, dupe_factor=1, format=name)
    made = Batches(many, CORPUS)
    text = training_text(many, CORPUS.train)
    assert made.batch(59).epochs.max() + 1 == pytest.approx(count, abs=2)
    assert len(text.tokens) < len(CORPUS.train.tokens) / 2
    if name == "segment-pair":
        phased = Batches(recipe(batch=16, steps=60, epochs=count, phase2_length=96, phase2_share=0.5), CORPUS)
        passes = phased.batch(29).epochs.max() + phased.batch(59).epochs.max() + 2
        assert passes == pytest.approx(count, abs=2)


def test_with_epochs_documents_of_the_whole_text_are_used() -> None:
    many = recipe(batch=16, steps=60, epochs=20, dupe_factor=1)
    text = training_text(many, CORPUS.train)
    half = CORPUS.train.tokens[len(CORPUS.train.tokens) // 2]
    assert 0.3 < (text.tokens < half).mean() < 0.7, "the tokens of this text are numbered"
    static = dataclasses.replace(many, objective=(MaskedLM(schedule="static"), NextSentence()))
    one, other = (Batches(each, CORPUS).batch(7).sequence_ids.tolist() for each in (many, static))
    assert one == other


def test_a_share_of_the_documents_is_part_of_a_larger_one_and_whole_documents() -> None:
    def texts(part: Part) -> set[bytes]:
        bounds = part.sentences[part.documents]
        return {part.tokens[begin:end].tobytes() for begin, end in itertools.pairwise(bounds)}

    every = CORPUS.train
    less, more = (share_of(every, share, 2) for share in (0.2, 0.5))
    assert share_of(every, 1.0, 2) is every
    assert texts(less) < texts(more) < texts(every)
    for part, share in ((less, 0.2), (more, 0.5)):
        assert len(part.documents) - 1 == round(share * (len(every.documents) - 1))
        assert (part.sentences[-1], part.documents[-1]) == (len(part.tokens), len(part.sentences) - 1)
        assert set(np.diff(part.sentences)) <= set(np.diff(every.sentences))
    assert Batches(recipe(document_share=0.2), CORPUS).sequences_in(0) < Batches(recipe(), CORPUS).sequences_in(0) / 3


SOURCES = (25, 20, 15)
"""Documents of three sources of the text, as they are in it."""


def of_sources(corpus: Any) -> Any:
    train = dataclasses.replace(corpus.train, by_source=SOURCES)
    return SimpleNamespace(**vars(corpus) | {"train": train})


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("others", [{}, {"document_share": 0.5}, {"epochs": 40}])
@pytest.mark.parametrize("corpora", [1, 2])
def test_of_some_corpora_sequences_hold_the_first_alone(name: str, others: dict[str, Any], corpora: int) -> None:
    corpus, given = of_sources(CORPUS), recipe(corpora=corpora, format=name, **others)
    source, train = Batches(given, corpus), CORPUS.train
    assert sum(SOURCES) == len(train.documents) - 1
    first = train.tokens[: train.sentences[train.documents[sum(SOURCES[:corpora])]]]
    assert len(first) < len(train.tokens)
    drawn = [source.batch(step) for step in range(60)]
    assert drawn[-1].epochs.max() > 0
    held = set(np.concatenate([plain(each).ravel() for each in drawn]).tolist()) - {PAD, CLS, SEP}
    assert held <= set(first.tolist())
    if not others and name == "full-sentences":
        assert held == set(first.tolist())
    evaluated = [heldout(each, corpus, FIXED[:1], 20) for each in (given, recipe(format=name))]
    assert [contents(each) for each in evaluated[0]] == [contents(each) for each in evaluated[1]]
    again = Batches(given, corpus)
    assert [contents(again.batch(step)) for step in (59, 7)] == [contents(drawn[step]) for step in (59, 7)]


def test_all_corpora_give_the_batches_of_the_whole_text_and_more_are_refused() -> None:
    corpus = of_sources(CORPUS)
    every, whole = Batches(recipe(corpora=3), corpus), Batches(recipe(), CORPUS)
    assert [contents(every.batch(step)) for step in range(9)] == [contents(whole.batch(step)) for step in range(9)]
    with pytest.raises(BadInput, match=r"^inputs.corpora is 4, and the number of corpora is 3"):
        Batches(recipe(corpora=4), corpus)


def test_documents_are_in_the_order_of_their_hashes_and_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    every = CORPUS.train
    twice = Part(  # equal documents are in the order of the text
        np.concatenate([every.tokens, every.tokens]),
        np.concatenate([every.sentences, every.sentences[1:] + len(every.tokens)]),
        np.concatenate([every.documents, every.documents[1:] + len(every.sentences) - 1]),
    )
    bounds = twice.sentences[twice.documents]
    hashes = [hashlib.sha256(twice.tokens[low:high].tobytes()).digest() for low, high in itertools.pairwise(bounds)]
    assert by_hash(twice).tolist() == sorted(range(len(hashes)), key=hashes.__getitem__)
    calls: list[Part] = []
    for module in (batches, tokens):
        monkeypatch.setattr(module, "by_hash", lambda text: calls.append(text) or by_hash(text))
    training_text(recipe(batch=16, steps=60, epochs=20), every)
    assert len(calls) == 1


def test_passes_over_the_fewest_documents_are_fewer_than_those_that_are_asked_for() -> None:
    assert fewer_passes(recipe(batch=16, steps=60), CORPUS.train) is None
    assert fewer_passes(recipe(batch=16, steps=60, epochs=20), CORPUS.train) is None
    many = recipe(batch=16, steps=60, epochs=4096, dupe_factor=1)
    assert len(training_text(many, CORPUS.train).documents) - 1 == FEWEST
    asked, made = fewer_passes(many, CORPUS.train)
    assert (asked, made) == (4096, pytest.approx(Batches(many, CORPUS).batch(59).epochs.max() + 1, abs=1))


def test_a_text_too_short_for_a_few_epochs_is_refused() -> None:
    with pytest.raises(BadInput, match="give more text, fewer steps or more epochs"):
        Batches(recipe(batch=64, steps=1000, epochs=11), CORPUS)


def test_masks_that_repeat_need_many_epochs() -> None:
    with pytest.raises(BadInput, match="11 or more"):
        recipe(epochs=10, masked=MaskedLM(schedule="static"))
    assert recipe(epochs=10).inputs.epochs == 10
