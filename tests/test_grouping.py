"""Values by what they have in common."""

from bertlab.grouping import grouped


def test_items_and_keys_keep_their_order():
    groups = grouped([("b", 2), ("a", 3), ("b", 1), ("b", 2)])
    assert list(groups.items()) == [("b", [2, 1, 2]), ("a", [3])]
    assert grouped([]) == {}
