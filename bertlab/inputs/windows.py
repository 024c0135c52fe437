"""Sequences of values, gathered from an array with a value for each token of a text."""

import numpy as np

from bertlab.arrays import Array, Int32, Int64


class Windows:
    """An array with a value for each token of a text, from which sequences of T values are put together."""

    def __init__(self, values: Array, length: int) -> None:
        # a text longer than that stays on the disk
        self._values = values if len(values) >= length else np.pad(values, (0, length - len(values)))
        # The T values from each offset on, as one item: NumPy copies items twice as fast as the same bytes of an array.
        self._last = len(self._values) - length
        size = self._values.itemsize
        self._from_each = np.ndarray(self._last + 1, f"V{length * size}", self._values, strides=(size,))
        # All bits of the columns behind each one: copying masks is many times as fast as comparing.
        self.behind = np.where(np.tri(length + 1, length, dtype=np.bool_), 0, -1).astype(self._values.dtype)

    def joined(self, begins: Int64, separators: Int32) -> tuple[Array, Array]:
        """The values of sequences, and all bits of the columns behind the last of their separators, (B, T) each.

        Span s of a sequence begins at `begins[:, s]` in the text and, but for the first, behind `separators[:, s - 1]`.
        In the places of specials and padding are any values.
        """
        text = self._from(begins[:, 0] - 1)
        behind = np.zeros_like(text)
        for begin, separator in zip(begins.T[1:], separators.T, strict=True):
            behind = self.behind.take(separator, axis=0, mode="clip")
            text ^= (text ^ self._from(begin - separator - 1)) & behind
        return text, behind

    def _from(self, offsets: Int64) -> Array:
        """The T values from each of `offsets` (B,) on, (B, T); any values outside of the text."""
        nearest = offsets.clip(0, self._last)
        text: Array = self._from_each[nearest].view(self._values.dtype).reshape(len(offsets), -1)
        for sequence in np.flatnonzero(nearest != offsets):
            text[sequence] = self._values.take(offsets[sequence] + np.arange(text.shape[1]), mode="clip")
        return text
