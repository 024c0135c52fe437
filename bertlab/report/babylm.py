"""The file of predictions that BabyLM's evaluation makes of minimal pairs (its `predictions.json`)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from bertlab.arrays import Float


def predictions(pairs: Sequence[Sequence[str]], paradigms: Sequence[str], margin: Float) -> dict[str, Any]:
    """The preferred sentence of each of E pairs, `(good, bad)` columns of E sentences, by the paradigms of the pairs.

    `margin` (E,) is by how much the good one is likelier; where it is 0, the good and the bad one are taken in turn, as
    a tie counts one half. BabyLM's own evaluation takes the good one.
    """
    ties = np.cumsum(margin == 0)
    is_good = np.where(margin == 0, ties % 2 == 1, margin > 0)
    by_paradigm: dict[str, list[dict[str, str]]] = defaultdict(list)
    for good, bad, paradigm, right in zip(*pairs, paradigms, is_good.tolist(), strict=True):
        chosen = by_paradigm[paradigm]
        chosen.append({"id": f"{paradigm}_{len(chosen)}", "pred": good if right else bad})
    return {paradigm: {"predictions": chosen} for paradigm, chosen in by_paradigm.items()}
