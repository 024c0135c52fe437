"""Formats numbers and times as text."""

from collections.abc import Callable, Collection, Iterable
from typing import Any


def pluralise(count: int, noun: str) -> str:
    """A number with its noun: `1 seed`, `3 seeds`, `1,200 measurements`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def join_words(names: Iterable[str]) -> str:
    """Names in a sentence: `A`, `A and B`, `A, B and C`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def lowest_to_highest(values: Collection[Any], form: Callable[[Any], str] = str) -> str:
    """The least and the largest of some values: `3 to 5`, `3` where they look the same, empty without any."""
    return " to ".join(dict.fromkeys(map(form, (min(values), max(values))))) if values else ""


def duration(seconds: float) -> str:
    """`4.2 s`, `80 s`, `12 min`, `3.4 h`, `3.0 days`."""
    if seconds < 90:
        return f"{seconds:.1f} s" if round(seconds, 1) < 10 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:,.1f} days"


def megabytes(size: float) -> str:
    """Bytes: `0.03 MB`, `2.4 MB`, `340 MB`, `12 GB`."""
    if size < 1e7:
        return f"{float(f'{size / 1e6:.2g}'):g} MB"
    return f"{size / 1e6:,.0f} MB" if size < 1e10 else f"{size / 1e9:,.0f} GB"


def format_count(number: float) -> str:
    """A large count, such as of parameters or tokens: `41K`, `4.2M`, `110M`, `8.5B`."""
    number = float(f"{number:.3g}")  # so that 999,900 is 1.0M
    if number < 1e6:
        return f"{number / 1e3:.0f}K"
    size, unit = (1e9, "B") if number >= 1e9 else (1e6, "M")
    return f"{number / size:,.{0 if number >= 9.95 * size else 1}f}{unit}"


def flops(number: float) -> str:
    """Floating-point operations: `9.9e10`."""
    return f"{number:.1e}".replace("e+", "e").replace("e0", "e")
