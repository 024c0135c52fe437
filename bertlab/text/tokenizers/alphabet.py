"""Which characters have entries of their own in a trained vocabulary; text with others becomes [UNK]."""

from collections.abc import Callable, Mapping

USUAL = 1_000
"""Characters, the most frequent ones, that are enough if they cover `COVERED` of a text, as in alphabetic scripts."""
COVERED = 0.999
"""The share of the characters of a text that have entries while there is room."""
FEW = 3
"""A character that occurs more often has an entry while there is room."""
ROOM = 0.75
"""The share of a vocabulary that characters have at most: pieces of words need the rest."""


def alphabet(frequency: Mapping[str, int], entries: int, cost: Callable[[str], int] = lambda character: 1) -> list[str]:
    """The characters of a text, whose occurrences `frequency` counts, that have entries, the most frequent first.

    They are the `USUAL` ones, in a third of the `entries` at most, unless these cover too little; then as many as
    cover the text and occur more than `FEW` times, each at its `cost` in entries.
    """
    in_order = sorted(frequency, key=lambda character: (-frequency[character], character))
    usual = min(USUAL, entries // 3)
    enough = COVERED * sum(frequency.values())
    covered = sum(frequency[character] for character in in_order[:usual])
    if covered >= enough:
        return in_order[:usual]
    used = sum(map(cost, in_order[:usual]))
    for rank, character in enumerate(in_order[usual:], start=usual):
        used += cost(character)
        if used > ROOM * entries or (covered >= enough and frequency[character] <= FEW):
            return in_order[:rank]
        covered += frequency[character]
    return in_order
