"""Which variants have the same runs, and which one stands for all of them."""

from collections.abc import Mapping
from typing import Any


def originals(members: Mapping[str, Mapping[Any, str]]) -> dict[str, str]:
    """By variant, the one that stands for all with the same runs: that with the most, the first of equals.

    `members` has the runs of each variant by place. Two have the same runs if they share a place, and if the run is the
    same at every place that they share.
    """
    found: dict[str, str] = {}
    for name, runs in sorted(members.items(), key=lambda each: -len(each[1])):
        found[name] = next((each for each in found.values() if _agree(members[each], runs)), name)
    return found


def _agree(one: Mapping[Any, str], other: Mapping[Any, str]) -> bool:
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[place] == other[place] for place in shared)
