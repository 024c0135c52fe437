"""Keyed draws: what they are functions of, and that they look random."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bertlab import keyed

UNLIKELY = 1e-6
"""Draws are fixed by their keys: a test below this fails always or never."""

keys = st.integers(0, 2**64 - 1)


def test_draws_are_those_of_every_other_process() -> None:
    code = "from bertlab import keyed; print(keyed.key(3, 'order'), keyed.bits(7, 11), keyed.permutation(5, 6))"
    others = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        others.add(subprocess.check_output([sys.executable, "-c", code], text=True, env=environment))
    assert others == {f"{keyed.key(3, 'order')} {keyed.bits(7, 11)} {keyed.permutation(5, 6)}\n"}


def test_bits_are_the_published_splitmix64() -> None:
    """The test values of the reference implementation, for the seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert keyed.bits(1234567, np.arange(3)).tolist() == expected


def test_meaning_of_a_key_never_changes() -> None:
    """Finished runs were drawn with these: a change of them is a change of SCIENCE_VERSION."""
    assert keyed.key(0, "order", 3) == 13380725468550442205
    assert keyed.bits(1, np.arange(2), 5).tolist() == [14285143330637538260, 14743681520078325604]
    words = keyed.words(keyed.bits(1, np.arange(1)), np.arange(3, dtype=np.uint32))
    assert words.tolist() == [[3389431606, 1669085555, 1741183446]]


@pytest.mark.parametrize(
    ("one", "other"), [((1, 2), (2, 1)), ((1,), ("1",)), (("ab", "c"), ("a", "bc")), ((12,), (1, 2)), ((0,), (0, 0))]
)
def test_different_parts_give_different_keys(one: tuple[int | str, ...], other: tuple[int | str, ...]) -> None:
    assert keyed.key(*one) != keyed.key(*other)


@given(keys, st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30), st.integers(0, 1000))
def test_a_draw_depends_on_its_own_counters_alone(key: int, counters: list[int], other: int) -> None:
    together = keyed.bits(key, np.array(counters), other)
    assert together.tolist() == [int(keyed.bits(key, counter, other)) for counter in counters]
    assert keyed.bits(np.uint64(key), np.array(counters), np.array([[other]])).tolist() == [together.tolist()]


@given(keys, st.integers(1, 2**53), st.integers(0, 2**40))
def test_whole_numbers_stay_below_their_bound(key: int, bound: int, counter: int) -> None:
    assert 0 <= keyed.integers(bound, key, counter) < bound


@given(keys, st.integers(0, 300))
def test_permutation_holds_each_number_once(key: int, size: int) -> None:
    assert sorted(keyed.permutation(key, size).tolist()) == list(range(size))


def test_permutations_are_equally_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for key in range(6000):
        order = tuple(keyed.permutation(key, 3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > UNLIKELY


def _sixty_four(key: int, count: int) -> np.ndarray:
    return keyed.bits(key, np.arange(count))


def _thirty_two(key: int, count: int) -> np.ndarray:
    return keyed.words(keyed.bits(key, np.arange(1)), np.arange(count, dtype=np.uint32))[0]


def _down_the_rows(key: int, count: int) -> np.ndarray:
    return keyed.words(keyed.bits(key, np.arange(count)), np.array([5], dtype=np.uint32))[:, 0]


def _neighbouring_keys(key: int, count: int) -> np.ndarray:
    keys = np.uint64(key) + np.arange(count, dtype=np.uint64)
    return keyed.words(keys, np.array([5], dtype=np.uint32))[:, 0]


streams = pytest.mark.parametrize("stream", [_sixty_four, _thirty_two, _down_the_rows, _neighbouring_keys])


@streams
@pytest.mark.parametrize("key", [0, 1, 2**63 + 5])
def test_every_byte_is_uniform(stream, key: int) -> None:  # type: ignore[no-untyped-def]
    draws = stream(key, 100_000)
    for byte in draws.view(np.uint8).reshape(len(draws), -1).T:
        assert stats.chisquare(np.bincount(byte, minlength=256)).pvalue > UNLIKELY


@streams
def test_neighbours_are_not_related(stream) -> None:  # type: ignore[no-untyped-def]
    draws = stream(1, 100_001)
    top = draws >> (draws.dtype.itemsize * 8 - 4)
    for lag in (1, 2, 16):
        pairs = np.bincount((top[lag:] * 16 + top[:-lag]).astype(np.int64), minlength=256)
        assert stats.chisquare(pairs).pvalue > UNLIKELY
    ascents = int((draws[1:] > draws[:-1]).sum())
    assert abs(ascents - 50_000) < 5 * np.sqrt(100_000 / 12)


@pytest.mark.parametrize("which", ["key", "counter"])
def test_one_bit_of_input_turns_half_of_the_output(which: str) -> None:
    base = keyed.bits(9, np.arange(2000))
    for bit in range(64):
        flipped = base ^ np.uint64(1 << bit)
        if which == "key":
            changed = keyed.bits(base, 3) ^ keyed.bits(flipped, 3)
        else:
            changed = keyed.bits(4, base) ^ keyed.bits(4, flipped)
        assert 31.4 < np.bitwise_count(changed).mean() < 32.6  # 5 deviations of the mean


def test_one_bit_of_a_row_turns_half_of_a_word() -> None:
    rows = keyed.bits(9, np.arange(2000))
    counters = np.array([17], dtype=np.uint32)
    for bit in range(64):
        flipped = rows ^ np.uint64(1 << bit)
        changed = keyed.words(keyed.bits(4, rows), counters) ^ keyed.words(keyed.bits(4, flipped), counters)
        assert 15.4 < np.bitwise_count(changed).mean() < 16.6


def test_words_of_a_row_are_distinct() -> None:
    words = keyed.words(keyed.bits(2, np.arange(20)), np.arange(8192, dtype=np.uint32))
    assert all(len(set(row)) == 8192 for row in words.tolist())
