"""Memory that a step frees is kept for the next one.

A step allocates and frees the same large arrays again and again. The C library hands them back to the system and gets
them back as zeroed pages, one fault each: with small models nearly a fifth of a step's time on the CPU.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as in glibc's malloc.h
_LARGEST_HEAP_BLOCK = 32 << 20  # bytes; glibc takes no larger threshold


def keep_freed_memory() -> bool:
    """Tells the C library to hold freed memory for this process; False where it is not glibc. Peak memory stays."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1)) and bool(mallopt(_MMAP_THRESHOLD, _LARGEST_HEAP_BLOCK))
