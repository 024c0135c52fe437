"""The held-out evaluations of losses, checked."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import torch

from bertlab.errors import ArmFailed
from bertlab.inputs.batches import Evaluation
from bertlab.inputs.streams import Batch
from bertlab.names import shown
from bertlab.recipe import Loss
from bertlab.wording import listed


def checked(loss: Loss, evaluations: Any) -> list[Evaluation]:
    """The evaluations that a loss returns, which raise `ArmFailed` for sums that they do not name.

    Those of a study file also raise it for figures that are no finite numbers, or that the loss does not declare.
    """
    if not isinstance(evaluations, list | tuple) or not all(map(_whole, evaluations)):
        advice = "return a list of Evaluation(batches, names, sums, figures)"
        raise ArmFailed.of(loss, "evaluations", f"returns {shown(evaluations)}: {advice}")
    return [_checked(loss, evaluation) for evaluation in evaluations]


def _whole(evaluation: Any) -> bool:
    """Whether it is an `Evaluation` of lists of batches and names, with two functions."""
    return (
        isinstance(evaluation, Evaluation)
        and isinstance(evaluation.batches, list | tuple)
        and all(isinstance(batch, Batch) for batch in evaluation.batches)
        and isinstance(evaluation.names, list | tuple)
        and all(isinstance(name, str) for name in evaluation.names)
        and callable(evaluation.sums)
        and callable(evaluation.figures)
    )


def _checked(loss: Loss, evaluation: Evaluation) -> Evaluation:
    def wrong(problem: str) -> ArmFailed:
        return ArmFailed.of(loss, "evaluations", problem)

    def sums(model: Any, batch: Any) -> Mapping[str, Any]:
        values = evaluation.sums(model, batch)
        if not isinstance(values, Mapping) or values.keys() != {*evaluation.names}:
            gives = listed(sorted(map(str, values))) if isinstance(values, Mapping) else shown(values)
            has = listed(sorted(evaluation.names))
            raise wrong(f"gives an Evaluation with the names {has} and sums of {gives}: name what sums returns")
        for name, value in values.items():
            if not isinstance(value, int | float | torch.Tensor) or (isinstance(value, torch.Tensor) and value.ndim):
                raise wrong(f"gives an Evaluation whose sums have {shown(value)} for {name}: return a number for each")
        return values

    def figures(totals: Mapping[str, float]) -> dict[str, float]:
        values = evaluation.figures(totals)
        if not isinstance(values, Mapping):
            raise wrong(f"gives an Evaluation whose figures are {shown(values)}: return numbers by name")
        for name, value in values.items() if loss._own else ():
            if name not in loss.measured:
                raise wrong(f"gives the figure {shown(name)}, which {type(loss).__name__}.figures lacks: name it there")
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise wrong(f"gives {shown(value)} for {name}: give a finite number")
        return dict(values)

    return dataclasses.replace(evaluation, sums=sums, figures=figures)
