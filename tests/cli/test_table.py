"""Tables on a terminal: whatever its width, no number is broken or lost."""

import io
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from bertlab.cli import console, table
from bertlab.lab import studies

COLUMNS = ("variant", "MNLI fine-tuned", "paper", "SQuAD 2.0 F1", "paper", "NER", "LAMBADA accuracy", "paper")
ROWS = [
    ("80/10/10 (baseline)", "86.44 (2.98)", "84.2", "82.62 (16.70)", "78.1", "57.0", "40.1 (0.5); 1 collapsed", "61.2"),
    ("a variant with a very long name, longer than any line", "-1.00 ±7.17", "+0.6", "", "", "-6.81", "+3", "-0.25"),
]


@pytest.fixture
def on_terminal(monkeypatch):
    """The lines that a function prints on a terminal of some columns."""

    def lines(width, function, *arguments, **options):
        out = io.StringIO()
        made = Console(width=width, file=out, force_terminal=True, no_color=True, markup=False, highlight=False)
        for module in (console, table):
            monkeypatch.setattr(module, "console", lambda: made)
        function(*arguments, **options)
        return out.getvalue().replace("\x1b[1m", "").replace("\x1b[3m", "").replace("\x1b[0m", "").splitlines()

    return lines


@pytest.fixture
def printed(on_terminal):
    """The lines of a table on a terminal of some columns."""

    def lines(width, **options):
        return on_terminal(width, table.print_table, COLUMNS, ROWS, "a title", beside=("paper",), **options)

    return lines


def words(lines):
    """How often each word is there; rules are none."""
    return Counter(word for line in lines for word in line.split() if any(map(str.isalnum, word)))


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


def test_names_are_wrapped_before_a_column_moves(on_terminal):
    columns, rows = ("variant", "a", "b"), [("80/10/10 (baseline)", "1" * 20, "2" * 20)]
    found = {width: on_terminal(width, table.print_table, columns, rows) for width in (59, 62, 64)}
    assert [len(lines) for lines in found.values()] == [7, 4, 3]
    assert [line.split()[0] for line in found[62]][2:] == ["80/10/10", "(baseline)"]


def test_a_published_value_stays_beside_its_own(printed):
    heads = [line.split() for line in printed(60) if line.startswith("variant")]
    assert len(heads) > 1
    for head in heads:
        assert head[1] != "paper", "a part that begins with another one's published values"


@pytest.mark.parametrize("command", [["scales"], ["tasks"], ["studies"], *(["show", each] for each in studies.names())])
def test_no_word_of_a_list_is_broken_on_80_columns(on_terminal, call, command):
    lines = on_terminal(80, call, *command)
    assert max(map(len, lines)) <= 80
    assert len(lines) > 8
    left = 22  # characters of `coreference-resolution`, the longest name of a task
    missing = words(on_terminal(1000, call, *command)) - words(lines)
    assert all(left + 2 + len(word) > 80 for word in missing), "a word that fits beside the first column"


def test_tokens_of_a_scale_are_short(on_terminal, call):
    lines = on_terminal(80, call, "scales")
    assert [line.split()[-2:] for line in lines if line.startswith("base ")] == [["8.5B", "wikipedia"]]
    assert sum("scale " in line for line in lines) == 1, "one table"


CELLS = st.lists(st.text("a0,-/", min_size=1, max_size=16), max_size=4).map(" ".join)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    table_of=st.integers(1, 7).flatmap(
        lambda size: st.lists(st.lists(CELLS, min_size=size, max_size=size), min_size=2, max_size=4)
    ),
    width=st.integers(36, 120),
    data=st.data(),
)
def test_no_word_of_any_table_of_texts_is_broken(on_terminal, table_of, width, data):
    heads, *rows = table_of
    left = data.draw(st.sampled_from([1, len(heads)]))
    if left == 1 and any(len(cell) > 17 for line in table_of for cell in line[1:]):
        return  # 36 characters hold no more beside a word of 16, with the gaps
    lines = on_terminal(width, table.print_table, heads, rows, left=left)
    assert max(map(len, lines), default=0) <= width
    assert not words(" ".join(line) for line in (heads, *rows)) - words(lines)
