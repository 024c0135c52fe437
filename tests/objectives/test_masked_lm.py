"""Exact counts, the proportions of every variant of the masking study, and what the schedules share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bertlab.errors import BadInput
from bertlab.inputs.streams import Sequences, Stream
from bertlab.lab.study import Study
from bertlab.objectives import Corruption, MaskedLM
from bertlab.objectives.selection import chosen as chosen_of
from bertlab.objectives.selection import slots
from bertlab.recipe import Recipe
from bertlab.recipe.objective import INPUTS

UNLIKELY = 1e-6
"""Draws are fixed by their keys: a test below this fails always or never."""

PAD, CLS, SEP, MASK = 0, 2, 3, 4
VOCABULARY = SimpleNamespace(mask=MASK, ordinary=np.arange(5, 105, dtype=np.int32))


def _study() -> Study:
    path = Path(__file__).parents[2] / "ablations" / "masking.py"
    spec = importlib.util.spec_from_file_location("masking_study", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    study: Study = module.study
    return study


VARIANTS = {variant.name: variant.objective[0] for variant in _study().variants}


def sequences_of(first: list[int], second: list[int], length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sequences with segments of the given lengths (a second of 0 for none), of random ordinary tokens."""
    tokens = np.full((len(first), length), PAD, dtype=np.uint16)
    draw = np.random.default_rng(1)
    for sequence, (one, two) in enumerate(zip(first, second, strict=True)):
        ids = draw.integers(5, 105, one + two)
        content = [CLS, *ids[:one], SEP, *([*ids[one:], SEP] if two else [])]
        tokens[sequence, : len(content)] = content
    return tokens, np.array(first, dtype=np.int32), np.array(first, dtype=np.int32) + np.array(second, dtype=np.int32)


def apply(
    loss: Any,
    tokens: np.ndarray,
    first: np.ndarray,
    ordinary: np.ndarray,
    epoch: int = 0,
    seed: int | str = 7,
    names: np.ndarray | None = None,
) -> Any:
    """What is shown, and positions, targets and weights."""
    shown = tokens.copy()
    sequences = Sequences(
        {INPUTS: Stream(shown, ordinary + 3)},
        separator_offsets=first[:, None],
        ordinary=ordinary,
        sequence_ids=np.arange(len(tokens)) if names is None else names,
        epoch=epoch,
    )
    arrays = loss.batch_transform(VOCABULARY, tokens.shape[1], seed)(sequences)
    return shown, arrays["positions"], arrays["targets"], arrays["weights"]


@pytest.fixture(scope="module")
def many() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    first = draw.integers(1, 60, 6000)
    return sequences_of(first.tolist(), draw.integers(1, 66, 6000).tolist(), 128)


@pytest.mark.parametrize("name", VARIANTS)
def test_proportions_of_every_variant_of_the_study(name: str, many: Any) -> None:
    masking = VARIANTS[name].corruption
    tokens, first, ordinary = many
    shown, positions, targets, weights = apply(VARIANTS[name], tokens, first, ordinary)
    chosen = weights > 0
    now = np.take_along_axis(shown, positions, 1)[chosen].astype(int)
    then = targets[chosen]
    # A random token is the one that was there once in as many times as there are ordinary tokens.
    same = masking.random / len(VOCABULARY.ordinary)
    expected = np.array([masking.mask, masking.keep + same, masking.random - same]) * len(now)
    counts = np.array([(now == MASK).sum(), (now == then).sum(), ((now != MASK) & (now != then)).sum()])
    assert counts.sum() == len(now)
    assert (counts[expected == 0] == 0).all()
    if (expected > 0).sum() > 1:
        assert stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue > UNLIKELY
    # Outside the chosen nothing changes, and what is shown there is ordinary or [MASK].
    untouched = np.ones(tokens.shape, dtype=bool)
    np.put_along_axis(untouched, np.where(chosen, positions, 0), False, 1)
    untouched[:, 0] = True
    assert (shown == tokens)[untouched].all()
    assert set(now) <= {MASK, *VOCABULARY.ordinary.tolist()}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20)), min_size=1, max_size=20),
    st.sampled_from([0.01, 0.15, 0.4, 0.8, 0.99]),
    st.integers(43, 70),
)
def test_the_number_of_chosen_tokens_is_exact(segments: list[tuple[int, int]], rate: float, length: int) -> None:
    tokens, first, ordinary = sequences_of([one for one, _ in segments], [two for _, two in segments], length)
    masking = MaskedLM(mask_prob=rate)
    _, positions, targets, weights = apply(masking, tokens, first, ordinary)
    assert positions.shape == targets.shape == weights.shape == (len(tokens), slots(rate, length))
    assert weights.sum(axis=1).tolist() == [chosen_of(rate, number) for number in ordinary.tolist()]
    for sequence in range(len(tokens)):
        chosen = weights[sequence] > 0
        assert len(set(positions[sequence, chosen])) == chosen.sum()
        assert (tokens[sequence, positions[sequence, chosen]] == targets[sequence, chosen]).all()
        assert not set(targets[sequence, chosen]) & {PAD, CLS, SEP, MASK}
        assert not positions[sequence, ~chosen].any()
        assert not targets[sequence, ~chosen].any()


@pytest.mark.parametrize("number", [1, 3, 4, 10, 50, 125, 126])
def test_count_is_the_designs(number: int) -> None:
    tokens, first, ordinary = sequences_of([number], [0], 128)
    weights = apply(MaskedLM(), tokens, first, ordinary)[3]
    assert weights.sum() == max(1, int(0.15 * number + 0.5))


def test_every_place_is_chosen_equally_often() -> None:
    tokens, first, ordinary = sequences_of([30] * 10_000, [95] * 10_000, 128)
    _, positions, _, weights = apply(MaskedLM(), tokens, first, ordinary)
    counts = np.bincount(positions[weights > 0], minlength=128)
    assert counts[[0, 31, 127]].tolist() == [0, 0, 0]
    counts = np.delete(counts, [0, 31, 127])
    # Drawn without replacement: the counts vary less than a multinomial's, by the share that is not chosen.
    statistic = ((counts - counts.mean()) ** 2 / (counts.mean() * (1 - 19 / 125))).sum()
    assert UNLIKELY < stats.chi2.sf(statistic, 124) < 1 - UNLIKELY


def test_neighbouring_places_are_chosen_independently() -> None:
    tokens, first, ordinary = sequences_of([126] * 10_000, [0] * 10_000, 128)
    _, positions, _, weights = apply(MaskedLM(), tokens, first, ordinary)
    chosen = np.zeros((10_000, 128), dtype=bool)
    np.put_along_axis(chosen, positions, weights > 0, 1)
    both = chosen[:, 1:-2] & chosen[:, 2:-1]
    assert both.mean() == pytest.approx(19 / 126 * 18 / 125, rel=0.02)
    following = chosen[:-1, 1:-1] & chosen[1:, 1:-1]
    assert following.mean() == pytest.approx((19 / 126) ** 2, rel=0.02)


def test_random_tokens_are_any_ordinary_ones(many: Any) -> None:
    tokens, first, ordinary = many
    shown, positions, _, weights = apply(
        MaskedLM(corruption=Corruption(mask=0.0, keep=0.0, random=1.0)), tokens, first, ordinary
    )
    now = np.take_along_axis(shown, positions, 1)[weights > 0]
    counts = np.bincount(now, minlength=105)
    assert not counts[:5].any()
    assert stats.chisquare(counts[5:]).pvalue > UNLIKELY


def test_which_random_token_is_shown_does_not_depend_on_the_draw_that_shows_one(many: Any) -> None:
    tokens, first, ordinary = many
    shown, positions, targets, weights = apply(MaskedLM(), tokens, first, ordinary)
    now = np.take_along_axis(shown, positions, 1)
    counts = np.bincount(now[(weights > 0) & (now != MASK) & (now != targets)], minlength=105)[5:]
    assert counts.sum() > 5000
    assert stats.chisquare(counts).pvalue > UNLIKELY


def test_variants_of_the_study_differ_only_in_what_they_show(many: Any) -> None:
    tokens, first, ordinary = many
    results = {name: apply(masking, tokens, first, ordinary) for name, masking in VARIANTS.items()}
    shown, positions, targets, weights = results["80/10/10"]
    for other in results.values():
        assert (other[1] == positions).all()
        assert (other[2] == targets).all()
        assert (other[3] == weights).all()
    masked = shown == MASK
    assert (results["100/0/0"][0] == MASK)[masked].all()
    assert ((results["80/0/20"][0] == MASK) == masked).all()
    assert ((results["80/20/0"][0] == MASK) == masked).all()
    assert not (results["0/0/100"][0] == MASK).any()


def test_a_mask_does_not_depend_on_the_other_sequences(many: Any) -> None:
    tokens, first, ordinary = many
    names = np.arange(len(tokens))
    whole = apply(MaskedLM(), tokens, first, ordinary)
    for part in (slice(0, 1), slice(10, 13), slice(5999, None, -7)):
        result = apply(MaskedLM(), tokens[part], first[part], ordinary[part], names=names[part])
        for one, other in zip(result, whole, strict=True):
            assert (one == other[part]).all()


def test_schedules_agree_where_they_should(many: Any) -> None:
    tokens, first, ordinary = (part[:50] for part in many)

    def epochs(schedule: Any, copies: int = 3) -> list[bytes]:
        masking = MaskedLM(schedule=schedule, copies=copies)
        results = (apply(masking, tokens, first, ordinary, epoch) for epoch in range(9))
        return [b"".join(part.tobytes() for part in result) for result in results]

    static, duplicated, dynamic = epochs("static"), epochs("duplicated"), epochs("dynamic")
    assert len(set(static)) == 1
    assert len(set(dynamic)) == 9
    assert duplicated == dynamic[:3] * 3
    assert static[0] == dynamic[0]
    assert epochs("duplicated", copies=1) == static


def test_epochs_choose_independently(many: Any) -> None:
    tokens, first, ordinary = sequences_of([126] * 3000, [0] * 3000, 128)
    chosen = []
    for epoch in (0, 1):
        _, positions, _, weights = apply(MaskedLM(), tokens, first, ordinary, epoch)
        flags = np.zeros(tokens.shape, dtype=bool)
        np.put_along_axis(flags, positions, weights > 0, 1)
        chosen.append(flags)
    assert (chosen[0] & chosen[1]).sum(axis=1).mean() == pytest.approx(19 * 19 / 126, rel=0.03)


def test_other_seeds_mask_otherwise(many: Any) -> None:
    tokens, first, ordinary = (part[:50] for part in many)
    results = {apply(MaskedLM(), tokens, first, ordinary, seed=seed)[1].tobytes() for seed in (0, 1, "0")}
    assert len(results) == 3


def test_shares_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(BadInput, match=r"corruption\.mask, keep and random are 0\.5, 0\.1 and 0\.1"):
        Corruption(mask=0.5)


def test_what_is_evaluated_otherwise_has_a_loss_of_its_own() -> None:
    assert MaskedLM(corruption=Corruption(mask=0.0, keep=0.0, random=1.0)).selection_metric == "own_loss"
    assert MaskedLM(corruption=Corruption(mask=0.1, keep=0.0, random=0.9)).selection_metric == "masked_lm_loss"
    assert MaskedLM(schedule="static").cost_equivalent() == MaskedLM()
    assert MaskedLM(corruption=Corruption(mask=0.1, keep=0.0, random=0.9)).cost_equivalent() != MaskedLM()


def test_the_figures_of_the_fixed_evaluation_are_of_the_chosen_tokens_alone(corpus: Any) -> None:
    """Two predictions, of probability 1/2 and 1/5, the first one right; the empty slot has its target by chance."""
    import torch

    (found,) = MaskedLM().evaluations(Recipe(objective=(MaskedLM(),)), corpus, 8, final=True)
    probabilities = torch.tensor([[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.9, 0.05, 0.05]]])
    arrays = {"targets": torch.tensor([[0, 1, 0]]), "weights": torch.tensor([[1.0, 1.0, 0.0]])}
    model = SimpleNamespace(logits=lambda *_: probabilities.log())
    sums = found.sums(model, SimpleNamespace(arrays={"masked_lm": arrays}))
    figures = found.metrics({name: float(sums[name]) for name in found.names})
    loss = np.log(10) / 2
    heldout = corpus.facts["heldout"]
    assert figures == pytest.approx({
        "masked_lm_loss": loss,
        "perplexity": np.sqrt(10),
        "accuracy": 0.5,
        "bits_per_byte": np.log2(10) / 2 * heldout["tokens"] / heldout["bytes"],
        "own_loss": loss,
    })  # fmt: skip
    assert heldout["tokens"] < heldout["bytes"]
