"""An audit passes clean batches of every format and schedule, and finds each planted fault with the check for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from bertlab import keyed
from bertlab.audit import Audited, audit, same_batches
from bertlab.audit.sequences import batches
from bertlab.inputs.batches import Batches
from bertlab.inputs.checks import always
from bertlab.inputs.formats import DocSentences, FullSentences, Layout, full_sentences, segment_pair
from bertlab.inputs.sample import elsewhere
from bertlab.inputs.streams import Batch
from bertlab.objectives import CausalLM, Corruption, MaskedLM, Tokens
from bertlab.objectives.selection import Choice
from bertlab.recipe import Format, Inputs, Model, Recipe, Schedule
from bertlab.recipe.objective import bert
from bertlab.recipe.ranges import arms
from bertlab.text.tokens import some_corpora

FORMATS = ("segment-pair", "sentence-pair", "full-sentences", "doc-sentences")
BALANCE = "pairs from another document"
COVERAGE = "tokens of the text in an epoch"
FROM = "documents of the sequences"
MASK, KEEP, RANDOM = "chosen, shown as [MASK]", "chosen, kept", "chosen, another shown"
AGAIN = "another choice after 10 epochs"

Altered = Callable[[Batch], Batch]


def recipe(masked: MaskedLM | None = None, causal: bool = False, batch: int = 16, **inputs: Any) -> Recipe:
    return Recipe(
        objective=(CausalLM() if causal else masked or MaskedLM(),),
        inputs=Inputs(**{"length": 48} | inputs),
        schedule=Schedule(batch_size=batch, steps=1000),
    )


def lm(batch: Batch) -> SimpleNamespace:
    """What a language model adds to a batch."""
    return SimpleNamespace(**next(iter(batch.arrays.values())))


def failing(audited: list[Audited]) -> set[str]:
    return {check.figure for each in audited for check in each.checks if check.holds is False}


def found(corpus: Any, given: Recipe, drawn: Recipe | None = None, alter: Altered | None = None) -> set[str]:
    """The figures that fail when `given` is audited in batches of `drawn`, each as `alter` leaves it."""
    source = Batches(drawn or given, corpus)
    return failing(audit(given, corpus, lambda step: (alter or (lambda batch: batch))(source.batch(step))))


def named(given: Recipe, corpus: Any, suits: Callable[[Batch], Any]) -> int:
    """The id of a sequence of the first epoch that suits."""
    batch = Batches(given, corpus).batch(0)
    return int(batch.sequence_ids[np.flatnonzero(suits(batch))[0]])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [8, 48, 200])
def test_clean_batches_of_every_format_pass(corpus: Any, name: str, causal: bool, length: int) -> None:
    audited = audit(recipe(causal=causal, format=name, length=length), corpus)
    assert failing(audited) == set()
    assert audited[0].sample.endswith("all of epoch 0")


@pytest.mark.parametrize(
    "given",
    [
        recipe(short_seq_prob=0.0, dupe_factor=1),
        recipe(short_seq_prob=1.0, dupe_factor=3),
        recipe(MaskedLM(schedule="static"), dupe_factor=1),
        recipe(MaskedLM(schedule="duplicated"), dupe_factor=1),
        recipe(MaskedLM(schedule="duplicated", copies=4), format="full-sentences"),
        recipe(MaskedLM(schedule="duplicated", copies=3), dupe_factor=2),
        recipe(MaskedLM(mask_prob=0.4, corruption=Corruption(mask=0.0, keep=0.0, random=1.0))),
        recipe(MaskedLM(mask_prob=0.01, corruption=Corruption(mask=0.0, keep=1.0, random=0.0)), format="doc-sentences"),
        recipe(epochs=40, dupe_factor=1),
        recipe(epochs=300, dupe_factor=1, format="full-sentences"),
        recipe(epochs=50, dupe_factor=4),
        recipe(document_share=0.3, format="full-sentences"),
        recipe(phase2_length=64, phase2_share=0.999),
        recipe(MaskedLM(mask_prob=0.99), length=8),
        recipe(batch=1),
        recipe(batch=5000),
    ],
)
def test_clean_batches_of_other_recipes_pass(corpus: Any, given: Recipe) -> None:
    assert failing(audit(given, corpus)) == set()


def of_three(corpus: Any) -> Any:
    """The corpus as one of three sources."""
    documents = len(corpus.train.documents) - 1
    train = dataclasses.replace(
        corpus.train, by_source=(documents // 3, documents // 3, documents - 2 * (documents // 3))
    )
    return dataclasses.replace(corpus, train=train)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("corpora", "expected"), [(1, "of the first corpus"), (2, "of the first 2 corpora")])
def test_clean_batches_of_some_corpora_pass(corpus: Any, name: str, corpora: int, expected: str) -> None:
    audited = audit(recipe(corpora=corpora, format=name), of_three(corpus))
    assert failing(audited) == set()
    (check,) = (check for each in audited for check in each.checks if check.figure == FROM)
    assert (check.found, check.expected) == ("always", expected)
    documents = of_three(corpus).train.by_source[0] * corpora
    assert check.test == f"exact, {documents:,} documents"


def test_text_of_other_corpora_is_found(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = recipe(corpora=2)
    assert "labels put back" in found(of_three(corpus), given, drawn=recipe()), "batches of all corpora"
    size = of_three(corpus).train.by_source[0]
    for more in (1, size):  # whatever the batches take for the text of the recipe
        text = some_corpora(dataclasses.replace(corpus.train, by_source=(2 * size + more,)), 1)
        for module in ("bertlab.inputs.batches", "bertlab.audit"):
            monkeypatch.setattr(f"{module}.training_text", lambda *given, text=text: text)
        assert found(of_three(corpus), given) == {FROM}


def test_each_length_is_audited_in_its_own_steps(corpus: Any) -> None:
    audited = audit(recipe(phase2_length=96, phase2_share=0.2), corpus)
    assert [each.length for each in audited] == [48, 96]
    assert failing(audited) == set()


def test_part_of_an_epoch_is_not_whole(corpus: Any) -> None:
    (audited,) = audit(recipe(), corpus, most=20_000)
    assert audited.sample.endswith("part of epoch 0")
    assert failing([audited]) == set()


def test_figures_are_those_of_the_batches(corpus: Any) -> None:
    given = recipe(format="doc-sentences")
    (audited,) = audit(given, corpus)
    source, first = Batches(given, corpus), []
    while not first or first[-1].epochs.max() == 0:
        first.append(source.batch(len(first)))
    chosen = sum(int((lm(batch).weights > 0)[batch.epochs == 0].sum()) for batch in first)
    checks = {check.figure: check for check in audited.checks}
    assert checks["tokens chosen"].found == f"{chosen / len(corpus.train.tokens):.2%} of {len(corpus.train.tokens):,}"
    assert checks[MASK].test.endswith(f", {chosen:,} tokens")
    assert checks[COVERAGE].found == "0 lost, 0 twice"


def test_batches_of_as_many_tokens_begin_and_end_within_sequences() -> None:
    matched, lengths = recipe(format="doc-sentences"), [100 - 31, 100 + 31, *[101] * 5, *[99] * 5, 101, 101, 98, 98, 98]
    filled = [SimpleNamespace(lengths=np.array([tokens])) for tokens in lengths]
    sample: Any = SimpleNamespace(batches=filled, recipe=matched, length=32, start=0)
    assert np.median(lengths) == 99
    assert batches(sample).holds
    filled[0].lengths[0] -= 5
    assert batches(sample).holds is False


# What is predicted


def test_a_wrong_share_of_chosen_tokens(corpus: Any) -> None:
    assert found(corpus, recipe(), recipe(MaskedLM(mask_prob=0.17))) == {"tokens chosen"}


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ((0.85, 0.10, 0.05), {MASK, RANDOM}),
        ((0.80, 0.20, 0.00), {KEEP, RANDOM}),
        ((0.70, 0.20, 0.10), {MASK, KEEP}),
    ],
)
def test_wrong_shares_of_what_is_shown(corpus: Any, shares: tuple[float, ...], expected: set[str]) -> None:
    mask, keep, random = shares
    assert (
        found(corpus, recipe(), recipe(MaskedLM(corruption=Corruption(mask=mask, keep=keep, random=random))))
        == expected
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfEachOther(Tokens):
    """Leaves out the last chosen token of each other sequence."""

    kind: ClassVar[str] = "of-each-other"

    def chooser(self, mask_prob: float, tokenizer: Any, length: int) -> Any:
        choose = super().chooser(mask_prob, tokenizer, length)

        def chosen(sequences: Any, keys: Any) -> Choice:
            choice = choose(sequences, keys)
            used = choice.valid.copy()
            used[np.arange(len(used)), used.sum(axis=1) - 1] = sequences.sequence_ids % 2
            return Choice(choice.indices, used, choice.group)

        return chosen


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fewer(OfEachOther):
    kind: ClassVar[str] = "fewer"
    fewer: ClassVar[bool] = True


def test_a_selection_that_chooses_fewer_says_so(corpus: Any) -> None:
    undeclared, declared = (recipe(MaskedLM(selection=each)) for each in (OfEachOther(), Fewer()))
    assert found(corpus, undeclared) == {"tokens chosen"}
    assert found(corpus, declared) == set()
    assert found(corpus, declared, recipe(MaskedLM(mask_prob=0.4, selection=Fewer()))) == {"tokens chosen"}


def test_a_special_is_chosen(corpus: Any) -> None:
    name = named(recipe(), corpus, lambda batch: lm(batch).weights[:, 0] > 0)

    def alter(batch: Batch) -> Batch:
        for sequence in np.flatnonzero(batch.sequence_ids == name):
            last = batch.lengths[sequence] - 1
            batch.tokens[sequence, lm(batch).positions[sequence, 0]] = lm(batch).targets[sequence, 0]
            lm(batch).positions[sequence, 0], lm(batch).targets[sequence, 0] = last, corpus.tokenizer.sep
            batch.tokens[sequence, last] = corpus.tokenizer.mask
        return batch

    assert found(corpus, recipe(), alter=alter) == {"specials chosen"}


def test_a_position_is_chosen_twice(corpus: Any) -> None:
    def alter(batch: Batch) -> Batch:
        for sequence in np.flatnonzero(lm(batch).weights[:, 1])[:1]:
            batch.tokens[sequence, lm(batch).positions[sequence, 0]] = lm(batch).targets[sequence, 0]
            lm(batch).positions[sequence, 0], lm(batch).targets[sequence, 0] = (
                lm(batch).positions[sequence, 1],
                lm(batch).targets[sequence, 1],
            )
        return batch

    assert found(corpus, recipe(), alter=alter) == {"tokens chosen"}


def test_a_wrong_label(corpus: Any) -> None:
    given = recipe(format="full-sentences")
    name = named(given, corpus, lambda batch: lm(batch).weights[:, 0] > 0)

    def alter(batch: Batch) -> Batch:
        lm(batch).targets[(batch.sequence_ids == name) & (batch.epochs == 0), 0] += 1
        return batch

    assert found(corpus, given, alter=alter) == {"labels put back"}


def test_random_tokens_that_are_specials(corpus: Any) -> None:
    every = np.append(corpus.tokenizer.ordinary, corpus.tokenizer.unk).astype(np.int32)
    more = dataclasses.replace(corpus, tokenizer=_tokenizer(corpus, every))
    assert found_in(corpus, recipe(), Batches(recipe(), more).batch) == {"shown for the chosen"}


def test_the_first_tokens_of_a_sequence_are_chosen(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ascending(keys: Any, counters: Any) -> Any:
        return np.broadcast_to(counters << np.uint32(16), (len(keys), len(counters))).copy()

    monkeypatch.setattr(keyed, "words", ascending)
    assert found(corpus, recipe()) == {AGAIN}


# How it changes from epoch to epoch

OFTEN = {
    schedule: recipe(MaskedLM(schedule=schedule), dupe_factor=1) for schedule in ("static", "duplicated", "dynamic")
}


@pytest.mark.parametrize(
    ("given", "drawn", "expected"),
    [
        ("dynamic", "static", {"another choice after 1 epoch", AGAIN}),
        ("dynamic", "duplicated", {AGAIN}),
        ("duplicated", "static", {"another choice after 1 epoch"}),
        ("duplicated", "dynamic", {"masks after 10 epochs"}),
        ("static", "duplicated", {"masks after 1 epoch"}),
        ("static", "dynamic", {"masks after 1 epoch", "masks after 10 epochs"}),
    ],
)
def test_masks_that_repeat_or_change_where_they_should_not(
    corpus: Any, given: str, drawn: str, expected: set[str]
) -> None:
    assert found(corpus, OFTEN[given], OFTEN[drawn]) == expected


def test_masks_are_the_same_but_what_is_shown_is_not(corpus: Any) -> None:
    def alter(batch: Batch) -> Batch:
        chosen = np.flatnonzero((batch.epochs > 0) & (lm(batch).weights[:, 0] > 0))[:1]
        batch.tokens[chosen, lm(batch).positions[chosen, 0]] = (
            5 + (batch.tokens[chosen, lm(batch).positions[chosen, 0]] + 1) % 50
        )
        return batch

    assert found(corpus, OFTEN["static"], alter=alter) == {"masks after 1 epoch", "masks after 10 epochs"}


# How sequences are laid out


def test_padding_is_not_pad(corpus: Any) -> None:
    def alter(batch: Batch) -> Batch:
        batch.tokens[np.arange(48) >= batch.lengths[:, None]] = 9
        return batch

    assert found(corpus, recipe(), alter=alter) == {"beyond a sequence"}


def test_segments_are_exchanged(corpus: Any) -> None:
    def alter(batch: Batch) -> Batch:
        inside = np.arange(48) < batch.lengths[:, None]
        batch.format["segments"][inside] ^= 1
        return batch

    assert found(corpus, recipe(), alter=alter) == {"segments"}


def test_a_sequence_begins_without_cls(corpus: Any) -> None:
    def alter(batch: Batch) -> Batch:
        batch.tokens[0, 0] = corpus.tokenizer.sep
        return batch

    assert found(corpus, recipe(), alter=alter) == {"specials"}


def test_a_batch_lacks_a_sequence(corpus: Any) -> None:
    given = recipe(format="doc-sentences")
    lost = named(given, corpus, lambda batch: batch.lengths > 0)

    def alter(batch: Batch) -> Batch:
        kept = np.flatnonzero(batch.sequence_ids != lost)
        return batch.rows(kept)

    # A batch of these holds as many tokens as a batch may, to a sequence.
    assert found(corpus, given, alter=alter) == {COVERAGE}


def test_batches_that_are_too_small(corpus: Any) -> None:
    small = dataclasses.replace(recipe(), schedule=Schedule(batch_size=15))
    assert found(corpus, recipe(), small) == {"sequences a batch"}


# What is cut from the text


def planted(monkeypatch: pytest.MonkeyPatch, change: Callable[[Layout], Layout]) -> None:
    """Every layout as `change` leaves it."""
    for each in arms(Format).values():
        made = each.lay_out
        monkeypatch.setattr(each, "lay_out", lambda *given, made=made, **more: change(made(*given, **more)))


@pytest.mark.parametrize("name", ["full-sentences", "doc-sentences"])
def test_a_lost_sentence(corpus: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sentences = np.asarray(corpus.train.sentences)

    def change(layout: Layout) -> Layout:
        lengths = layout.first_length.copy()
        end = int(layout.first[7] + lengths[7])
        lengths[7] -= end - int(sentences[np.searchsorted(sentences, end) - 1])
        return dataclasses.replace(layout, first_length=lengths)

    planted(monkeypatch, change)
    assert found(corpus, recipe(format=name)) == {COVERAGE}


@pytest.mark.parametrize("name", FORMATS[2:])
def test_a_sequence_that_is_never_seen(corpus: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    planted(monkeypatch, lambda layout: _chosen(layout, np.arange(1, len(layout))))
    assert found(corpus, recipe(format=name)) == {COVERAGE}


@pytest.mark.parametrize("name", FORMATS)
def test_a_sequence_that_is_seen_twice(corpus: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    planted(monkeypatch, lambda layout: _chosen(layout, np.append(5, np.arange(len(layout)))))
    assert found(corpus, recipe(format=name)) == {COVERAGE}


def test_a_sequence_crosses_documents(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full sentences without the separator, in place of doc sentences."""

    def without(self: Any, text: Any, recipe: Any, length: int, copy: int) -> Layout:
        return dataclasses.replace(full_sentences(text, length=length), breaks=np.zeros(0, dtype=np.int64))

    for each in (DocSentences, FullSentences):
        monkeypatch.setattr(each, "lay_out", without)
    assert "a segment's text" in found(corpus, recipe(format="doc-sentences"))
    assert "[SEP] within a sequence" in found(corpus, recipe(format="full-sentences"))


def test_a_segment_of_two_sentences(corpus: Any) -> None:
    drawn = Batches(recipe(dupe_factor=10), corpus).batch
    assert "a segment" in found_in(corpus, recipe(format="sentence-pair"), drawn)


def test_more_pairs_are_cut_short(corpus: Any) -> None:
    assert found(corpus, recipe(), recipe(short_seq_prob=0.3)) == {"pairs cut short"}


# Pairs


@pytest.mark.parametrize("name", FORMATS[:2])
def test_an_unbalanced_pair(corpus: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    purposes = {"segment-pair": ("pairs", "random"), "sentence-pair": ("sentence pairs", "true")}[name]
    keys = {keyed.key(0, *purposes, copy) for copy in range(10)}
    uniform = keyed.uniform
    monkeypatch.setattr(
        segment_pair.keyed, "uniform", lambda key, *counters: uniform(key, *counters) * (0.8 if key in keys else 1.0)
    )
    assert found(corpus, recipe(format=name)) == {BALANCE}


@pytest.mark.parametrize("name", FORMATS[:2])
def test_another_document_is_the_same(corpus: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def at_home(self: Any, forms: Any, bounds: Any, document: Any, *more: Any) -> Any:
        return self._documents[document]

    monkeypatch.setattr(segment_pair.FormIndex, "draw", at_home)
    assert "'another document'" in found(corpus, recipe(format=name))


@pytest.mark.parametrize("name", FORMATS[:2])
def test_random_pairs_of_another_form(corpus: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The second segment of random pairs always begins at a sentence, or lacks its last token."""
    sentences = np.asarray(corpus.train.sentences)

    def at_a_sentence(layout: Layout) -> Layout:
        begins = sentences[np.searchsorted(sentences, layout.second, side="right") - 1]
        return dataclasses.replace(layout, second=np.where(layout.is_random_next, begins, layout.second))

    def shorter(layout: Layout) -> Layout:
        less = (layout.is_random_next & (layout.second_length > 1)).astype(np.int32)
        return dataclasses.replace(layout, second_length=layout.second_length - less)

    change, figure = {
        "segment-pair": (at_a_sentence, "second segment begins a sentence"),
        "sentence-pair": (shorter, "second segment ends a sentence"),
    }[name]
    planted(monkeypatch, change)
    assert figure in found(corpus, recipe(format=name))


@pytest.mark.parametrize(("label", "figure"), [(0, "'another document'"), (1, "'follows'")])
@pytest.mark.parametrize("name", FORMATS[:2])
def test_a_wrong_label_of_a_pair(corpus: Any, name: str, label: int, figure: str) -> None:
    given = recipe(format=name)
    sequence = named(given, corpus, lambda batch: (batch.format["is_random_next"] == label) & (batch.lengths > 25))

    def alter(batch: Batch) -> Batch:
        batch.format["is_random_next"][batch.sequence_ids == sequence] = 1 - label
        return batch

    assert found(corpus, given, alter=alter) == {figure}


# Left to right


def test_a_token_predicts_itself(corpus: Any) -> None:
    def alter(batch: Batch) -> Batch:
        lm(batch).targets[:] = batch.tokens[:, :-1] * (lm(batch).weights > 0)
        return batch

    assert found(corpus, recipe(causal=True), alter=alter) == {"targets"}


def test_something_is_hidden_from_left_to_right(corpus: Any) -> None:
    def alter(batch: Batch) -> Batch:
        batch.tokens[0, 3] = corpus.tokenizer.mask
        return batch

    assert {"[MASK]", "targets", "labels put back"} <= found(corpus, recipe(causal=True), alter=alter)


def test_a_failure_says_where(corpus: Any) -> None:
    source = Batches(recipe(), corpus)

    def altered(step: int) -> Batch:
        batch = source.batch(step)
        if step == 3:
            batch.format["segments"][5, 0] = 1
        return batch

    (audited,) = audit(recipe(), corpus, altered)
    (failed,) = [check for check in audited.checks if check.holds is False]
    assert (failed.figure, failed.where) == ("segments", "step 3, sequence 5")


# What the audit stands on


def test_segments_are_found_in_other_documents() -> None:
    draw = np.random.default_rng(0)
    text = draw.integers(5, 9, 1200)
    ends = np.arange(30, 1201, 30)
    sizes = draw.integers(8, 12, 200)
    begins = draw.integers(0, 1200 - 12, 200)
    wanted = [text[begin : begin + size].copy() for begin, size in zip(begins, sizes, strict=True)]
    for segment in wanted[::5]:
        segment[0] = 8
    home = draw.integers(0, 40, 200)
    for query, place in enumerate(elsewhere(text, ends, wanted, home)):
        size = sizes[query]
        stands = [
            place
            for place in range(1200 - size + 1)
            if (text[place : place + size] == wanted[query]).all() and place // 30 == (place + size - 1) // 30
        ]
        away = [place for place in stands if place // 30 != home[query]]
        assert place in (away or stands or [-1])


def test_recipes_that_share_their_batches() -> None:
    base = recipe()
    assert same_batches(base) == same_batches(dataclasses.replace(base, model=Model(layers=1)))
    assert same_batches(base) == same_batches(dataclasses.replace(base, objective=bert()))
    assert same_batches(base) != same_batches(recipe(MaskedLM(mask_prob=0.2)))
    assert same_batches(base) != same_batches(recipe(causal=True))
    assert same_batches(base) != same_batches(recipe(dupe_factor=3))


def found_in(corpus: Any, given: Recipe, source: Callable[[int], Batch]) -> set[str]:
    return failing(audit(given, corpus, source))


def _tokenizer(corpus: Any, ordinary: Any) -> Any:
    tokenizer = corpus.tokenizer
    same = {name: getattr(tokenizer, name) for name in ("pad", "cls", "sep", "mask", "unk")}
    return SimpleNamespace(**same, ordinary=ordinary)


def _chosen(layout: Layout, chosen: Any) -> Layout:
    arrays = {name: array if name == "breaks" else array[chosen] for name, array in vars(layout).items()}
    return type(layout)(**arrays)


@pytest.mark.parametrize(
    ("found", "wrong", "says"),
    [
        ("always", [False], "always"),
        ("always", [False, True], "wrong in 1"),
        ("never", [True], "wrong in 1"),
        ("15%", [True], "15%, wrong in 1"),
    ],
)
def test_a_property_is_either_always_there_or_wrong_in_some(found: str, wrong: list[bool], says: str) -> None:
    assert always("figure", "rule", np.array(wrong), str, found).found == says
