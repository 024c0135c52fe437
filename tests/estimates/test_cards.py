"""Graphics cards by name, and operations to time."""

import pytest

from bertlab.errors import BadInput
from bertlab.estimates import cards


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [("8xH100", 8, "H100"), ("A100", 1, "A100"), ("2x RTX4090", 2, "RTX 4090"), ("1×l4", 1, "L4"), (" T4 ", 1, "T4")],
)
def test_cards_are_found_by_number_and_name(text, count, name):
    found, card = cards.find(text)
    assert (found, card.name) == (count, name)


@pytest.mark.parametrize("text", ["8xFOO", "", "x", "8x", "-1xH100", "8"])
def test_other_names_are_refused(text):
    with pytest.raises(BadInput, match="--on"):
        cards.find(text)


def test_no_cards_are_refused():
    with pytest.raises(BadInput, match="at least one"):
        cards.find("0xH100")


def test_operations_to_time():
    """3e15 operations at 30 % of 1e15 a second take 10 s; 100 steps of 12 layers at least 100 x 13 x 1.5 ms."""
    card = cards.Accelerator("card", 1e15, 80e9, 400)
    assert card.seconds(3e15, 0, 12) == pytest.approx(3 + 10)
    assert card.seconds(0, 100, 12) == pytest.approx(3 + 1.95)
    assert card.seconds(3e15, 100, 12) == pytest.approx(3 + 10 + 1.95)
