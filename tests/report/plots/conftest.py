"""Figures before they are written, and a study with everything that is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bertlab.report.gather import gather
from bertlab.report.plots import pictures
from bertlab.report.plots.figure import applied
from bertlab.report.study_results import StudyResults
from bertlab.store.runs import Store

LONG = "a variant with a very long name indeed, longer than any panel"


@pytest.fixture(autouse=True)
def styled() -> Iterator[None]:
    with applied():
        yield


@pytest.fixture
def figures(builder: Any) -> Callable[..., dict[str, Any]]:
    """The figures of what a builder has written, by kind."""

    def drawn(study: StudyResults | None = None, **record: Any) -> dict[str, Any]:
        study = study or gather(Store(builder.root), [builder.record(**record)])[0]
        return {each.kind: each.figure for each in pictures(study)}

    return drawn


def timed(*seconds: float, evaluation: float = 100.0) -> list[dict[str, Any]]:
    """What a run of 1,000 steps leaves: the time of its updates, of an evaluation, and an odd line of a checkpoint."""
    lines: list[dict[str, Any]] = [{"stage": "train", "step": 50, "seconds": 0.0}]
    for number, each in enumerate(seconds, start=1):
        lines.append({"stage": "train", "step": 100 * number, "seconds": each})
        lines.append({"stage": "evaluate", "step": 100 * number, "seconds": evaluation})
    return lines


def everything(builder: Any, seeds: int, rows: int = 6, measurements: int = 5, name: str = LONG) -> dict[str, Any]:
    """A study for all figures: variants of several sizes, milestones, a variant far off and one untrained."""
    names = [f"{name} {place}" for place in range(rows)]
    for place, row in enumerate([*names, "without pre-training, and with a long name as well"]):
        scratch = place == rows
        for seed in range(seeds):
            run_id = builder.pretrain(
                row,
                seed,
                causal=place == 1,
                own=4.6 if place == 2 else None,
                loss=4.0 + place / 10 + seed / 9,
                steps=0 if scratch else 1000,
                parameters=700_000 * (place + 1),
                perplexity=80.0 - 7 * place + 3 * (seed % 3),
                timing=timed(*[3000.0 + 400 * place + 100 * seed] * 10),
            )
            for number in range(measurements):
                for milestone in (100,) if scratch else (50, 100):
                    value = 60.0 - 2 * place + (seed * 7 + place * 3 + number) % 5 / 2 - (number == 1) * place**3 / 4
                    value -= 30 * (scratch or (place == 3 and number == 2)) + (100 - milestone) / 10
                    builder.cell(row, "MNLI", value, seed, pretrain_id=run_id, milestone=milestone)
                    if not scratch:
                        builder.cells[-1]["published"] = 84.0 - place / 4 + number / 3
                    builder.cells[-1]["measurement"] = f"a measurement of a very long name {number}"
    return {"baseline": names[0]}
