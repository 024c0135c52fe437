"""Names have the room that they are given."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlab.report.plots.labels import cut, width, wrapped
from bertlab.report.plots.units import TIMES, unit


def test_a_name_with_room_is_left_as_it_is() -> None:
    assert cut("80/10/10", 2) == wrapped("80/10/10", 2) == "80/10/10"
    assert wrapped("masked LM, learned positions", 1.5) == "masked LM, learned\npositions"


def test_names_that_differ_in_their_end_still_do() -> None:
    name = "a row with a very long name indeed, of learning rate"
    one, two = cut(f"{name} 1e-3", 1.5), cut(f"{name} 1e-4", 1.5)
    assert one != two
    assert "…" in one


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x17F), max_size=60), st.floats(0.5, 4))
def test_no_line_is_wider_than_its_room(name: str, inches: float) -> None:
    lines = wrapped(name, inches).split("\n")
    assert 1 <= len(lines) <= 2
    assert all(width(line) <= inches for line in lines)


@pytest.mark.parametrize(
    ("most", "says"), [(59.0, (1.0, " (seconds)")), (90.0, (60.0, " (minutes)")), (7e5, (3600.0, " (hours)"))]
)
def test_an_axis_has_the_largest_unit_that_it_holds(most: float, says: tuple[float, str]) -> None:
    assert unit(most, TIMES) == says
