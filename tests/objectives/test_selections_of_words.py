"""Whole words, spans and n-grams: beside a plain version of their definition, and what is shown for their tokens."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bertlab import keyed
from bertlab.audit import Audited, audit
from bertlab.inputs.batches import Batches
from bertlab.inputs.streams import Sequences, Stream
from bertlab.objectives import Corruption, MaskedLM
from bertlab.objectives.selection import GeometricSpans, NGrams, Selection, Tokens, WholeWords, chosen, slots
from bertlab.recipe import Inputs, Recipe, Schedule
from bertlab.recipe.identity import set_fields, to_canonical
from bertlab.recipe.objective import INPUTS
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

PAD, CLS, SEP, MASK, SIZE = 0, 2, 3, 4, 1005
STARTS = np.arange(SIZE) < 700  # 31 % of the ordinary tokens continue a word
VOCABULARY = SimpleNamespace(
    pad=PAD, cls=CLS, sep=SEP, mask=MASK, ordinary=np.arange(5, SIZE, dtype=np.int32), word_starts=STARTS
)
UNLIKELY = 1e-6
SELECTIONS = [WholeWords(), GeometricSpans(), GeometricSpans(p=0.9, longest=3), NGrams(), NGrams(longest=5)]


def sequences(segments: list[list[list[int]]], length: int) -> Sequences:
    """Sequences of segments of tokens, two in each."""
    tokens = np.full((len(segments), length), PAD, dtype=np.int32)
    for sequence, (one, two) in zip(tokens, segments, strict=True):
        content = [CLS, *one, SEP, *two, SEP]
        sequence[: len(content)] = content
    first, second = (np.array([len(pair[number]) for pair in segments], dtype=np.int32) for number in range(2))
    return Sequences(
        {INPUTS: Stream(tokens, first + second + 3)},
        separator_offsets=first[:, None],
        ordinary=first + second,
        sequence_ids=np.arange(len(segments)),
        epoch=0,
    )


def between(made: Sequences, low: int, high: int) -> Sequences:
    """The sequences from `low` up to `high`."""
    names = ("tokens", "lengths", "separator_offsets", "ordinary", "sequence_ids", "marks")
    tokens, lengths, *rest, marks = (getattr(made, name)[low:high] for name in names)
    return Sequences({INPUTS: Stream(tokens, lengths)}, *rest, epoch=0, marks=marks)


def random_sequences(count: int, length: int) -> Sequences:
    draw = np.random.default_rng(3)
    first = draw.integers(1, length - 4, count)
    second = [int(draw.integers(1, length - 3 - size + 1)) for size in first]
    return sequences(
        [[draw.integers(5, SIZE, size).tolist() for size in pair] for pair in zip(first, second, strict=True)], length
    )


def plainly(selection: Any, made: Sequences, number: int, key: Any, count: int) -> set[int]:
    """The definition, one word after the other, with the draws of the package."""
    first, total = int(made.separator_offsets[number, 0]), int(made.ordinary[number])
    ordinary = np.delete(made.tokens[number, 1 : total + 2], first)
    begins = [n for n in range(total) if STARTS[ordinary[n]] or n in (0, first)]
    words = {begin: range(begin, end) for begin, end in zip(begins, [*begins[1:], total], strict=True)}
    bits = np.uint32((1 << (made.tokens.shape[1] - 1).bit_length()) - 1)

    def drawn(key: Any) -> Any:
        return keyed.words(np.array([key]), np.array(begins, dtype=np.uint32))[0]

    by_rank = [begins[number] for number in np.argsort((drawn(key) & ~bits) | np.array(begins, dtype=np.uint32))]
    spans = {begin: [begin] for begin in begins}
    if not isinstance(selection, WholeWords):
        if isinstance(selection, GeometricSpans):
            shares = [selection.p * (1 - selection.p) ** (size - 1) for size in range(1, selection.longest + 1)]
        else:
            shares = [1 / size for size in range(1, selection.longest + 1)]
        until = np.round(np.cumsum(shares) / sum(shares) * 2**32)
        for number, size in enumerate(drawn(key ^ np.uint64(keyed.key("span length")))):
            ahead = begins[number : number + 1 + int(np.searchsorted(until[:-1], size, side="right"))]
            spans[begins[number]] = [begin for begin in ahead if (begin < first) == (begins[number] < first)]
    taken: set[int] = set()
    for word in (words[begin] for rank in by_rank for begin in spans[rank]):
        if not taken.issuperset(word):
            if len(word) > count - len(taken):
                break
            taken |= set(word)
    for word in (words[begin] for begin in by_rank):
        if word.start not in taken and len(word) <= count - len(taken):
            taken |= set(word)
    if len(taken) < count:
        cut = next(words[begin] for begin in by_rank if begin not in taken)
        taken |= set(cut[: count - len(taken)])
    return taken


@pytest.mark.parametrize("rate", [0.02, 0.15, 0.6, 0.99])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_same_tokens_as_by_the_definition(selection: Selection, rate: float) -> None:
    made = random_sequences(120, 48)
    keys = keyed.bits(9, np.arange(120))
    choice = selection.chooser(rate, VOCABULARY, 48)(made, keys)
    assert choice.indices.shape == choice.valid.shape == choice.group.shape == (120, slots(rate, 48))
    for number, (numbers, used) in enumerate(zip(choice.indices, choice.valid, strict=True)):
        count = chosen(rate, int(made.ordinary[number]))
        assert used.tolist() == [1] * count + [0] * (len(used) - count)
        assert len(set(numbers[:count])) == count
        assert set(numbers[:count].tolist()) == plainly(selection, made, number, keys[number], count)


def test_a_word_is_cut_only_where_no_other_fits() -> None:
    long, short = [10, 800, 801, 802], [11]

    def taken(one: list[int], two: list[int]) -> list[int]:
        made = sequences([[one, two]], 32)
        choice = WholeWords().chooser(0.15, VOCABULARY, 32)(made, keyed.bits(1, np.arange(1)))
        return sorted(choice.indices[choice.valid > 0].tolist())

    assert taken(long, long) in ([0], [4])  # 1 of 8 tokens
    low, high, last = taken(long * 2, long * 2 + short)  # 3 of 17: the short word, and two pieces of a long one
    assert (low % 4, high, last) == (0, low + 1, 16)


def test_lengths_of_spans_are_geometric_clipped_and_renormalised() -> None:
    spans = GeometricSpans()
    shares = np.diff([spans.at_most(words) for words in range(11)])
    assert shares @ np.arange(1, 11) == pytest.approx(3.797, abs=0.001)  # "a mean span length of 3.8"
    assert (shares[1:] / shares[:-1]).tolist() == pytest.approx([0.8] * 9)
    # With b tokens to spend, the first span takes them all where it has b words of one piece, or more.
    made = sequences([[[7] * 240, [7]]] * 4000, 256)
    for budget in (2, 5, 10):
        choice = spans.chooser(budget / 241, VOCABULARY, 256)(made, keyed.bits(5, np.arange(4000)))
        assert choice.valid.sum(axis=1).tolist() == [budget] * 4000
        single = (np.ptp(choice.indices[:, :budget], axis=1) == budget - 1).mean()
        assert single == pytest.approx(1 - spans.at_most(budget - 1), abs=0.035), budget


def test_lengths_of_ngrams_are_as_1_to_n() -> None:
    ngrams = NGrams()
    assert [ngrams.at_most(words) for words in (1, 2, 3)] == pytest.approx([6 / 11, 9 / 11, 1])  # 1, 1/2 and 1/3
    made = sequences([[[7] * 240, [7]]] * 4000, 256)
    for budget in (2, 3):  # the first n-gram takes all tokens where it has as many words, or more
        choice = ngrams.chooser(budget / 241, VOCABULARY, 256)(made, keyed.bits(5, np.arange(4000)))
        single = (np.ptp(choice.indices[:, :budget], axis=1) == budget - 1).mean()
        assert single == pytest.approx(1 - ngrams.at_most(budget - 1), abs=0.035), budget


def test_groups_are_runs_and_end_at_sep() -> None:
    made = random_sequences(50, 48)
    everything = GeometricSpans().chooser(0.99, VOCABULARY, 48)(made, keyed.bits(5, np.arange(50)))
    for number, (groups, used) in enumerate(zip(everything.group, everything.valid, strict=True)):
        first, total = int(made.separator_offsets[number, 0]), int(made.ordinary[number])
        assert groups[used > 0].tolist() == [0] * first + [first] * (total - first)  # of 48 tokens, 0.99 is all


def test_a_span_is_replaced_as_a_whole_and_a_word_piece_by_piece() -> None:
    made = random_sequences(3000, 64)
    keys = keyed.bits(5, np.arange(3000))
    shares = {}
    for selection in (WholeWords(), GeometricSpans(), NGrams()):
        choice = selection.chooser(0.15, VOCABULARY, 64)(made, keys)
        there = np.zeros_like(choice.indices)  # nothing random is a [PAD]
        shown = Corruption().replacer(VOCABULARY)(there, keys, choice)
        what = np.where(shown == MASK, 0, np.where(shown == PAD, 1, 2))
        pairs = (choice.valid[:, 1:] > 0) & (choice.group[:, 1:] == choice.group[:, :-1])
        if isinstance(selection, GeometricSpans):
            assert (what[:, 1:] == what[:, :-1])[pairs].all()
            assert pairs.sum() > 5000
            random = pairs & (what[:, 1:] == 2)
            assert (shown[:, 1:] != shown[:, :-1])[random].mean() > 0.98
        used = choice.valid > 0
        leads = used & (choice.group == choice.indices)
        shares[selection.kind] = np.bincount(what[leads], minlength=3)
    for counts in shares.values():
        assert stats.chisquare(counts, counts.sum() * np.array([0.8, 0.1, 0.1])).pvalue > UNLIKELY


@pytest.mark.parametrize("selection", SELECTIONS[:2])
def test_a_choice_does_not_depend_on_the_other_sequences(selection: Selection) -> None:
    made = random_sequences(40, 48)
    keys = keyed.bits(5, np.arange(40))
    choose = selection.chooser(0.15, VOCABULARY, 48)
    whole = choose(made, keys)
    for one, other in zip(choose(between(made, 7, 9), keys[7:9]), whole, strict=True):
        assert (one == other[7:9])[whole.valid[7:9] > 0].all()


def test_no_sequences_and_no_words() -> None:
    for made in (sequences([], 16), sequences([[[], []]], 16)):
        for selection in SELECTIONS:
            choice = selection.chooser(0.15, VOCABULARY, 16)(made, keyed.bits(5, np.arange(len(made.sequence_ids))))
            assert not choice.valid.any()


def test_word_starts_are_all_but_continuation_pieces() -> None:
    tokenizer = TrainedWordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##a", "#", "##"])
    assert tokenizer.word_starts.tolist() == [True] * 6 + [False, True, False]


def test_selections_have_json_and_options() -> None:
    assert to_canonical(MaskedLM(selection=Tokens())) == {"kind": "masked_lm"}
    found = set_fields(Recipe(), {"masked_lm.selection": "geometric_spans", "masked_lm.selection.p": "0.5"})
    assert to_canonical(found.objective[0])["selection"] == {"kind": "geometric_spans", "p": 0.5}


@pytest.mark.parametrize("selection", SELECTIONS[:2])
def test_the_fixed_evaluation_masks_single_tokens_and_another_the_own_ones(corpus: Any, selection: Selection) -> None:
    recipe = Recipe(objective=(MaskedLM(selection=selection),), inputs=Inputs(length=48))
    fixed, own = recipe.objective[0].evaluations(recipe, corpus, 64, True)
    (plain,) = MaskedLM().evaluations(recipe, corpus, 64, True)
    for ours, theirs in zip(fixed.batches, plain.batches, strict=True):
        assert (ours.tokens == theirs.tokens).all()
    assert (own.batches[0].tokens != fixed.batches[0].tokens).any()
    assert set(own.metrics({"loss": 1.0, "count": 2.0})) == {"own_loss"}


# Audits


def recipe(selection: Selection, **inputs: Any) -> Recipe:
    return Recipe(
        objective=(MaskedLM(selection=selection),),
        inputs=Inputs(**{"length": 48} | inputs),
        schedule=Schedule(batch_size=16, steps=1000),
    )


def failing(audited: list[Audited]) -> set[str]:
    return {check.figure for each in audited for check in each.checks if check.holds is False}


def found(corpus: Any, given: Selection, drawn: Selection, **inputs: Any) -> set[str]:
    return failing(audit(recipe(given, **inputs), corpus, Batches(recipe(drawn, **inputs), corpus).batch))


@pytest.mark.parametrize(
    ("selection", "name"),
    [
        (WholeWords(), "segment-pair"),
        (GeometricSpans(), "full-sentences"),
        *((each, "doc-sentences") for each in SELECTIONS[2:]),
    ],
)
def test_clean_batches_pass(corpus: Any, selection: Selection, name: Any) -> None:
    assert found(corpus, selection, selection, format=name) == set()


def test_audits_find_another_selection(corpus: Any) -> None:
    assert {"chosen words"} <= found(corpus, WholeWords(), Tokens())
    assert found(corpus, GeometricSpans(), WholeWords()) == {"tokens of a span"}
    assert found(corpus, NGrams(), Tokens()) == {"chosen words"}


def test_an_audit_finds_masks_that_repeat(corpus: Any) -> None:
    static = dataclasses.replace(recipe(Tokens()), objective=(MaskedLM(schedule="static"),))
    assert failing(audit(recipe(Tokens()), corpus, Batches(static, corpus).batch)) == {"another choice after 10 epochs"}


def test_the_mean_run_beside_a_plain_count():
    """Runs of a selection, counted in sequences of one segment; long sequences have the law's spans, joined where they
    touch."""
    selection, ordinary = GeometricSpans(), 29
    tokenizer = SimpleNamespace(**{**vars(VOCABULARY), "word_starts": np.ones(SIZE, np.bool_)})
    batch = sequences([[[7] * ordinary, []]] * 4000, ordinary + 3)
    batch = dataclasses.replace(batch, sequence_ids=np.arange(4000))
    choice = selection.chooser(0.15, tokenizer, ordinary + 3)(batch, keyed.bits(5, np.arange(4000)))
    runs = words = 0
    for numbers, used in zip(choice.indices, choice.valid, strict=True):
        places = {int(number) for number, one in zip(numbers, used, strict=True) if one}
        words += len(places)
        runs += sum(place - 1 not in places for place in places)
    assert selection.mean_run(0.15, ordinary) == pytest.approx(words / runs, rel=0.05)
    assert selection.mean_run(0.15, 6) == 1.0, "a single word"
    assert 3.7 < selection.mean_run(0.15, 512) < 4.3
    assert NGrams().mean_run(0.15, 32) < NGrams().mean_run(0.15, 512)
    assert Tokens().mean_run(0.15, 32) is WholeWords().mean_run(0.15, 32) is None
