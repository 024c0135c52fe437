"""Formats numbers and times as text."""


def count(number: int, what: str) -> str:
    """A number with its noun: `1 seed`, `3 seeds`, `1,200 measurements`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Measured seconds: `4.2 s`, `3 min 5 s`, `2 h 7 min`."""
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def roughly(seconds: float) -> str:
    """Estimated seconds: `80 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:,.1f} days"


def megabytes(size: float) -> str:
    """Bytes: `340 MB`, `12 GB`."""
    return f"{size / 1e6:,.0f} MB" if size < 1e10 else f"{size / 1e9:,.0f} GB"
