"""`bertlab judge` on a table of a stranger: what it prints, writes, and exits with."""

import json

import pytest


@pytest.fixture
def table(tmp_path):
    """Six seeds of a baseline, a better, a worse and a similar variant."""
    noise = (0.1, -0.2, 0.3, 0.0, -0.1, 0.2)
    lines = [
        f"{name},{seed},{10 + by + of_seed * (-1) ** seed + of_seed * by}"
        for name, by in (("base", 0), ("good", 2), ("bad", -2), ("alike", 0.1))
        for seed, of_seed in enumerate(noise)
    ]
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["variant,seed,value", *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("--claim", "good > base"), 0),
        (("--claim", "bad > base"), 10),
        (("--claim", "alike > base", "--claim", "good > base"), 11),
        (("--claim", "bad > base", "--claim", "good > base"), 10),
        (("--baseline", "base", "--lower-is-better", "value"), 10),
        (("--baseline", "nothing"), 2),
        (("--register",), 2),
    ],
)
def test_the_status_tells_the_decision(call, table, options, status, capsys):
    options = (table, *options)
    if status == 11:
        lines = [line for line in table.read_text().splitlines() if not line.endswith(".0") and line[-1] != "5"]
        table.write_text("\n".join(line for line in lines if line.split(",")[1] in ("seed", "0", "1")) + "\n")
    assert call("judge", *options) == status


def test_tables_and_decisions_are_printed(call, table, capsys, tmp_path):
    assert call("judge", table, "--baseline", "base", "--out", tmp_path / "page") in (10, 11)
    printed = capsys.readouterr().out
    assert "variant minus baseline" in printed
    assert "keep: good is better than base (reproduced)" in printed
    assert "discard: bad is better than base (contradicted)" in printed
    page = (tmp_path / "page" / "judgement.html").read_text()
    assert '<span class="badge yes">keep</span>' in page
    assert "bertlab judge" in page


def test_json_has_the_numbers(call, table, capsys):
    assert call("judge", table, "--claim", "good > base", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["decision"] == "keep"
    (line,) = found["hypotheses"]
    assert (line["decision"], line["more_seeds"], line["n"], line["level"]) == ("keep", 0, 6, 0.05)
    assert line["low"] < line["effect"] < line["high"]


def test_a_hypothesis_is_registered_then_judged(call, table, capsys, tmp_path):
    ledger = tmp_path / "ledger.jsonl"
    first = ("judge", "--ledger", ledger, "--name", "first")
    assert call(*first, "--register", "--claim", "good > base", "--max-seeds", 6, "--json") == 0
    assert json.loads(capsys.readouterr().out)["max_seeds"] == 6
    assert call("judge", table, "--ledger", ledger, "--name", "first") == 0
    assert "keep: good is better than base" in capsys.readouterr().out
    assert call(*first, "--register", "--claim", "bad > base") == 2
    assert "a new one needs a new --name" in capsys.readouterr().err
