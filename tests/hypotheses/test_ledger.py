"""A ledger fixes each hypothesis and its level before the results, and remembers what was looked at."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab import judge, register
from bertlab.errors import BadInput
from bertlab.hypotheses import online
from simulated import numbers


def test_levels_are_those_of_the_published_recursion():
    """By hand, of the shares 50 / (50 x 51), 50 / (51 x 52) and 50 / (52 x 53), times the discoveries, or 1."""
    assert online.level(1, 0) == pytest.approx(0.05 / 51)
    assert online.level(2, 0) == online.level(2, 1) == pytest.approx(0.05 * 50 / 2652)
    assert online.level(3, 2) == pytest.approx(2 * 0.05 * 50 / 2756)


@given(st.integers(1, 3000))
def test_shares_fall_and_never_add_up_to_more_than_1(number):
    total = sum(map(online.share, range(1, number + 1)))
    assert total == pytest.approx(number / (number + online.FIRST))
    assert online.share(number + 1) < online.share(number)


@pytest.fixture
def ledger(tmp_path):
    register(tmp_path / "ledger.jsonl", "first", "a > base")
    return tmp_path / "ledger.jsonl"


def entries(ledger):
    return [json.loads(line) for line in ledger.read_text().splitlines()]


def test_a_hypothesis_is_kept_at_its_level_and_raises_those_of_later_ones(ledger):
    found = judge(numbers(a=3.0, seeds=12), ledger=ledger, name="first")
    assert found.decision == "keep"
    (line,) = found.decisions.itertuples()
    assert line.level == pytest.approx(2 * 0.05 / 51)
    assert line.sequential_p <= line.level
    levels = [register(ledger, name, f"{name} > base")["level"] for name in ("b", "c")]
    assert levels == pytest.approx([online.level(2, 1), online.level(3, 1)])
    assert judge(numbers(b=3.0, seeds=12), ledger=ledger, name="b").decision == "keep"
    assert register(ledger, "d", "d > base")["level"] == pytest.approx(online.level(4, 2))


def test_what_a_test_of_one_hypothesis_reproduces_may_need_more_seeds(ledger):
    table = numbers(a=1.5, seeds=8)
    assert judge(table, baseline="base").decision == "keep"
    found = judge(table, ledger=ledger, name="first")
    assert (found.decision, found.judged[0].more > 0) == ("more seeds", True)


def test_a_ledger_only_grows_and_a_table_is_looked_at_once(ledger):
    before = ledger.read_bytes()
    table = numbers(a=1.5, seeds=12)
    early = table[table.seed < 4]
    assert judge(early, ledger=ledger, name="first").decision == "more seeds"
    after = ledger.read_bytes()
    assert after.startswith(before)
    again = judge(early, ledger=ledger, name="first")
    assert again.decision == "more seeds"
    assert ledger.read_bytes() == after
    assert judge(table[table.seed < 3], baseline="base").decision == "more seeds"
    found = judge(table, ledger=ledger, name="first")
    assert [entry["looked"]["numbers"]["n"] for entry in entries(ledger)[1:]] == [4, 12]
    assert found.decisions.looks.tolist() == [2]


def test_what_was_registered_cannot_be_changed_by_results(ledger):
    table = numbers(a=-3.0, seeds=13)
    with pytest.raises(BadInput, match="13 seeds, and 12 were planned"):
        judge(table, ledger=ledger, name="first")
    for option in ({"claims": "base > a"}, {"lower_is_better": "value"}, {"max_seeds": 13}, {"baseline": "a"}):
        with pytest.raises(BadInput, match="the ledger has the claim"):
            judge(table, ledger=ledger, name="first", **option)
    with pytest.raises(BadInput, match="has several looks: a ledger counts its own, so leave out the column look"):
        judge(table.assign(look=table.seed // 4), ledger=ledger, name="first")
    with pytest.raises(BadInput, match="first is registered in"):
        register(ledger, "first", "base > a")
    assert len(entries(ledger)) == 1
    assert judge(table[table.seed < 6], ledger=ledger, name="first").decision == "discard"
    with pytest.raises(BadInput, match=r"was decided with 6 seeds \(discard\)"):
        judge(table[table.seed < 8], ledger=ledger, name="first")


def test_seeds_that_were_looked_at_stay(ledger):
    table = numbers(a=1.5, seeds=12)
    judge(table[table.seed < 4], ledger=ledger, name="first")
    changed = table.assign(value=table.value + (table.seed == 2) * (table.variant == "a"))
    for other in (changed, table[table.seed > 0]):
        with pytest.raises(BadInput, match="an earlier look saw"):
            judge(other, ledger=ledger, name="first")


def test_a_direction_is_registered(tmp_path):
    ledger = tmp_path / "ledger.jsonl"
    register(ledger, "loss", "a > base on loss", lower_is_better="loss", max_seeds=6)
    table = numbers(a=-3.0).assign(measurement="loss")
    assert judge(table, ledger=ledger, name="loss").decision == "keep"


@pytest.mark.parametrize(
    ("claim", "options", "message"),
    [
        ("a", {}, "write 'A > B on M'"),
        ("a > b on loss", {}, "'loss' sounds as if less were better: give --lower-is-better"),
        ("a > b on f1", {"lower_is_better": "loss"}, "the claim is on f1"),
        ("a > b", {"max_seeds": 3}, "--max-seeds is 3"),
        ("a > b", {"max_seeds": 49}, "--max-seeds is 49"),
        ("a > b", {"name": " \n"}, "--name is blank"),
    ],
)
def test_what_cannot_be_registered_is_refused(tmp_path, claim, options, message):
    with pytest.raises(BadInput, match=message):
        register(tmp_path / "new" / "ledger.jsonl", **{"name": "first", "claim": claim, **options})
    assert not [*tmp_path.iterdir()]


def test_judging_begins_no_ledger(tmp_path):
    with pytest.raises(BadInput, match="there is no ledger"):
        judge(numbers(a=1.0), ledger=tmp_path / "new" / "ledger.jsonl", name="first")
    assert not [*tmp_path.iterdir()]


def test_a_ledger_behind_a_link_grows(ledger, tmp_path):
    (tmp_path / "project").mkdir()
    link = tmp_path / "project" / "ideas.jsonl"
    link.symlink_to(ledger)
    register(link, "second", "b > base")
    assert link.is_symlink()
    assert [entry["registered"]["name"] for entry in entries(ledger)] == ["first", "second"]


def test_names_are_on_one_line(ledger):
    assert register(ledger, " deep\n\x1b[1m", "deep > base")["name"] == "deep [1m"


def test_two_registrations_of_a_name_are_refused(ledger):
    """As a merge of two branches leaves them."""
    ledger.write_text(ledger.read_text() * 2)
    with pytest.raises(BadInput, match="registers first twice"):
        judge(numbers(a=1.0), ledger=ledger, name="first")


@pytest.mark.parametrize(
    "line", ["{}", "x", '{"registered": {"name": 1}}', '{"looked": {"name": "a"}}', "[]", '{"looked": 3}']
)
def test_another_file_is_no_ledger(ledger, line):
    ledger.write_text(ledger.read_text() + line + "\n")
    with pytest.raises(BadInput, match="line 2"):
        judge(numbers(a=1.0), ledger=ledger, name="first")


def test_an_unknown_name_lists_those_there_are(ledger):
    with pytest.raises(BadInput, match="did you mean 'first'"):
        judge(numbers(a=1.0), ledger=ledger, name="frist")
    with pytest.raises(BadInput, match="give --name"):
        judge(numbers(a=1.0), ledger=ledger)
