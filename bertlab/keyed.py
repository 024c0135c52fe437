"""Random numbers as a function of keys and counters: without state, any draw can be repeated anywhere, in any order.

The 64-bit draws apply SplitMix64 (Steele, Lea and Flood 2014) once for each counter. The faster 32-bit draws, for
batches, apply C. Wellons' low-bias 32-bit mix to counters under a 64-bit key for each sequence.
"""

import hashlib

import numpy as np

from bertlab.arrays import Float64, Int64, Integer, UInt32, UInt64

Counter = int | Integer
Key = int | UInt64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


def key(*parts: int | str) -> int:
    """A 64-bit key from numbers and strings; different sequences of parts give unrelated keys."""
    text = "\0".join(f"{type(part).__name__}:{len(str(part))}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little")


def bits(key: Key, *counters: Counter) -> UInt64:
    """64 random bits for each key and combination of counters, which broadcast against each other."""
    # At least one axis throughout: NumPy warns of an overflow in scalars, and wraps around silently in arrays.
    state = np.atleast_1d(np.asarray(key, dtype=np.uint64))
    scalar = np.ndim(key) == 0
    for counter in counters or (0,):
        number = np.atleast_1d(counter)
        mixed = (number if number.dtype == np.uint64 else number.astype(np.int64).view(np.uint64)) * _GOLDEN
        mixed = mixed + (state + _GOLDEN)
        shifted = mixed >> _SHIFT_1
        mixed ^= shifted
        mixed *= _MIX_1
        mixed ^= np.right_shift(mixed, _SHIFT_2, out=shifted)
        mixed *= _MIX_2
        mixed ^= np.right_shift(mixed, _SHIFT_3, out=shifted)
        state = mixed
        scalar = scalar and np.ndim(counter) == 0
    return state.reshape(()) if scalar else state


def uniform(key: Key, *counters: Counter) -> Float64:
    """Numbers in [0, 1), multiples of 2^-53."""
    draws = np.asarray((bits(key, *counters) >> np.uint64(11)).astype(np.float64))
    draws *= 2.0**-53
    return draws


def integers(bound: int | Int64, key: Key, *counters: Counter) -> Int64:
    """Whole numbers in [0, bound); `bound` (1 to 2^53) broadcasts like a counter."""
    return np.asarray(np.floor(uniform(key, *counters) * bound).astype(np.int64))


def permutation(key: int, size: int) -> Int64:
    """A random order of 0 .. size - 1."""
    # The index in the low bits makes the words distinct, so that any sorting algorithm gives the same order.
    index_bits = np.uint64((1 << max(1, (size - 1).bit_length())) - 1)
    index = np.arange(size, dtype=np.uint64)
    words = bits(key, index)
    words &= ~index_bits
    words |= index
    words.sort()
    words &= index_bits
    return words.view(np.int64)


def words(keys: UInt64, counters: UInt32) -> UInt32:
    """32 random bits for each key and counter: keys (B,), counters (N,) or (B, N) -> (B, N).

    The keys must be random themselves, as `bits` returns them. Distinct counters of a key give distinct words. Several
    times faster than 64-bit words.
    """
    low = keys.astype(np.uint32)[:, None]
    high = (keys >> np.uint64(32)).astype(np.uint32)[:, None]
    mixed = counters * np.uint32(0x9E3779B9) + low
    shifted = mixed >> np.uint32(16)
    mixed ^= shifted
    mixed *= np.uint32(0x21F0AAAD)
    mixed ^= np.right_shift(mixed, np.uint32(15), out=shifted)
    mixed += high
    mixed *= np.uint32(0xD35A2D97)
    mixed ^= np.right_shift(mixed, np.uint32(15), out=shifted)
    return mixed
