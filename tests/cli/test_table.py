"""Tables on a terminal: whatever its width, no number is broken or lost."""

import io

import pytest
from rich.console import Console

from bertlab.cli import console, table

COLUMNS = ("variant", "MNLI fine-tuned", "paper", "SQuAD 2.0 F1", "paper", "NER", "LAMBADA accuracy", "paper")
ROWS = [
    ("80/10/10 (baseline)", "86.44 (2.98)", "84.2", "82.62 (16.70)", "78.1", "57.0", "40.1 (0.5); 1 collapsed", "61.2"),
    ("a variant with a very long name, longer than any line", "-1.00 ±7.17", "+0.6", "", "", "-6.81", "+3", "-0.25"),
]


@pytest.fixture
def printed(monkeypatch):
    """The lines of a table on a terminal of some columns."""

    def lines(width, **options):
        out = io.StringIO()
        made = Console(width=width, file=out, force_terminal=True, no_color=True, markup=False)
        for module in (console, table):
            monkeypatch.setattr(module, "console", lambda: made)
        table.print_table(COLUMNS, ROWS, "a title", beside=("paper",), **options)
        return out.getvalue().replace("\x1b[1m", "").replace("\x1b[3m", "").replace("\x1b[0m", "").splitlines()

    return lines


@pytest.mark.parametrize("width", [50, 60, 80, 100, 132, 400])
def test_every_number_is_whole_at_any_width(printed, width):
    lines = printed(width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for number in (cell for row in ROWS for cell in row[1:] if cell):
        assert number in text, number
    assert text.count("a title") == 1


def test_what_fits_is_one_table(printed):
    (head,) = (line for line in printed(150) if line.startswith("variant"))
    assert head.split() == [word for name in COLUMNS for word in name.split()]
    assert [line.split()[-1] for line in printed(150) if line.startswith("80/10/10")] == ["61.2"]


def test_a_published_value_stays_beside_its_own(printed):
    heads = [line.split() for line in printed(60) if line.startswith("variant")]
    assert len(heads) > 2
    for head in heads:
        assert head[1] != "paper", "a part that begins with another one's published values"
