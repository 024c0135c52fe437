"""Types of NumPy arrays, by what they hold."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bool = npt.NDArray[np.bool_]
Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Float64 = npt.NDArray[np.float64]
Integer = npt.NDArray[np.integer[Any]]
"""Whole numbers of any width."""
Float = npt.NDArray[np.floating[Any]]
"""Numbers of any precision."""
