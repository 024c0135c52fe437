"""How commands end, also by a signal, an error or on a system that lacks what Linux has; and their tables on a
terminal."""

import builtins
import io
import os
import resource
import signal
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from bertlab.cli import console, table
from bertlab.cli import main as entry
from bertlab.errors import BadInput
from bertlab.lab import studies, study_file
from bertlab.progress import Interrupted
from bertlab.store.runs import Store


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(
    ("error", "status", "closed_status"),
    [
        (Interrupted(signal.SIGINT), 130, 130),
        (Interrupted(signal.SIGTERM), 143, 143),
        (Interrupted(signal.SIGUSR1), 143, 143),
        (BadInput("this is wrong"), 2, 1),
        (None, 0, 1),
    ],
)
def test_a_signal_decides_the_status_also_where_the_output_is_closed(
    monkeypatch, tmp_path, capsys, error, status, closed_status, closed
):
    def app(**named):
        if error:
            raise error

    def flush():
        if closed:
            raise BrokenPipeError

    monkeypatch.setattr(entry, "app", app)
    monkeypatch.setattr(entry.environment, "set_up", lambda: None)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=flush, fileno=out.fileno))
        with pytest.raises(SystemExit) as ended:
            entry.main()
    assert ended.value.code == (closed_status if closed else status)
    assert bool(capsys.readouterr().err) is (error is not None and not closed)


@pytest.mark.parametrize("place", ["", "mine.py, line 3"])
def test_a_study_file_that_ends_the_process_is_a_mistake_in_it(monkeypatch, capsys, place):
    def app(**named):
        raise SystemExit(3)

    monkeypatch.setattr(entry, "app", app)
    monkeypatch.setattr(study_file, "place_of", lambda error: place)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == (2 if place else 3)
    assert capsys.readouterr().err == (f"bertlab: SystemExit: 3 ({place}); correct it\n" if place else "")


@pytest.mark.parametrize("json", [False, True])
def test_an_output_that_a_study_file_has_closed_costs_one_line(monkeypatch, tmp_path, capsys, json):
    out = (tmp_path / "out").open("w")

    def app(**named):
        out.close()
        with console.json_alone(json):
            console.print_json({}) if json else console.say("done")

    monkeypatch.setattr(entry, "app", app)
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "bertlab: standard output is closed\n"


LINUX = (
    "sched_getaffinity", "sched_setaffinity", "posix_fadvise", "pipe2", "memfd_create", "pidfd_open", "waitid",
    "copy_file_range", "splice", "eventfd", "getrandom", "O_TMPFILE", "O_PATH", "O_DIRECT", "O_NOATIME",
)  # fmt: skip


@pytest.fixture
def macos(monkeypatch):
    for name in LINUX:
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(resource, "RLIMIT_AS")

    def absent(call):
        def called(path, *arguments, **options):
            if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(("/proc", "/sys")):
                raise FileNotFoundError(2, "No such file or directory", str(path))
            return call(path, *arguments, **options)

        return called

    for place, name in ((builtins, "open"), (io, "open"), (os, "open"), (os, "stat"), (os, "scandir")):
        monkeypatch.setattr(place, name, absent(getattr(place, name)))


@pytest.mark.usefixtures("macos")
def test_a_study_is_planned_and_a_model_trained(call, text_file, tmp_path, capsys):
    common = ("--scale", "smoke", "--runs", tmp_path / "runs", "--set", "schedule.steps=2")
    assert call("ablate", "masking", *common, "--dry-run") == 0
    assert "pretrain" in capsys.readouterr().out
    assert call("pretrain", *common, "--corpus", text_file) == 0
    (run,) = (run for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain")
    assert run.result().steps == 2
    assert run.environment().numerics["threads"] == os.cpu_count()


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
