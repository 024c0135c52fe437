"""LoRA (Hu et al. 2022): trains low-rank changes of the weight matrices of a frozen encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from bertlab import keyed
from bertlab.adaptation.base import Adaptation
from bertlab.errors import BadInput
from bertlab.recipe.ranges import FieldError, Range

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import PretrainingModel
    from bertlab.model.interop.peft import LowRankChange

Matrix = Literal["query", "key", "value", "output", "fc1", "fc2"]
LINEAR = {"query": "qkv_proj", "key": "qkv_proj", "value": "qkv_proj", "output": "out_proj", "fc1": "fc1", "fc2": "fc2"}
"""The linear layer that has each matrix."""
STACKED: tuple[Matrix, ...] = ("query", "key", "value")
"""The matrices that are one below another in the weight of `qkv_proj`."""


@dataclass(frozen=True, kw_only=True)
class LoRA(Adaptation):
    """Adds (alpha / rank) B A to each of some weight matrices of every layer; trains A and B, the head of the task and
    a missing pooler. A starts at random and B at zero, so that at first the encoder computes what it did."""

    kind = "lora"
    stage = "training low-rank changes"
    searched = True
    trained_share = 0.1
    """With `rank` 64 in queries, values and the feed-forward network; with 8 in the first two it is 0.01."""
    rate_factor = 10.0
    """The paper has 4e-4 and 5e-4 for RoBERTa base (Table 9), RoBERTa's own fine-tuning 1e-5 to 3e-5."""

    rank: Annotated[int, Range(1, 65_536)] = 8
    """Columns of B and rows of A."""
    alpha: Annotated[float, Range(0, 1e6, above=True)] = 8.0
    """The factor of the changes times `rank`."""
    matrices: tuple[Matrix, ...] = ("query", "value")
    """What is changed: matrices of the attention, or of the feed-forward network, `fc1` and `fc2`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < len(self.matrices) == len({*self.matrices}):
            raise FieldError(self._group, "matrices", f"is {self.matrices}: name one or several, each once")

    @property
    def description(self) -> str:
        """The rank and the matrices."""
        return f"changes of rank {self.rank} of {', '.join(self.matrices)} trained in a frozen encoder"

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder with the changes, which alone are trained. Raises `BadInput` if it lacks one of the matrices."""
        from torch import nn
        from torch.nn.utils.parametrize import register_parametrization

        model.requires_grad_(False)
        named = [(name, module) for name, module in model.encoder.named_modules() if isinstance(module, nn.Linear)]
        for matrix in self.matrices:
            changed = [module for name, module in named if name.endswith(f".{LINEAR[matrix]}")]
            if not changed:
                raise BadInput(f"the adaptation lora changes {matrix}, which this encoder lacks: leave it out")
            for index, module in enumerate(changed):
                seed = keyed.key(*key, "lora", matrix, index)
                register_parametrization(module, "weight", self._change(module, self._part(matrix), seed))
        return model.encoder

    @staticmethod
    def _part(matrix: Matrix) -> int | None:
        """The number of a matrix in the weight of its linear layer, from above; None if it is the whole weight, as that
        of a gated feed-forward network, whose two matrices read the same."""
        return STACKED.index(matrix) if matrix in STACKED else None

    def _change(self, linear: nn.Linear, part: int | None, seed: int) -> nn.Module:
        """The change of a `part` of the weight of a linear layer, a map from weight to weight."""
        import torch
        from torch import nn
        from torch.nn import functional

        from bertlab.model.initial import initialise

        scale, columns = self.alpha / self.rank, linear.in_features
        rows = linear.out_features // (1 if part is None else len(STACKED))
        above = (part or 0) * rows
        below = linear.out_features - above - rows

        class LowRank(nn.Module):
            def __init__(self, rank: int) -> None:
                super().__init__()
                self.down = nn.Parameter(torch.empty(rank, columns))
                self.up = nn.Parameter(torch.empty(rows, rank))
                initialise(self, columns**-0.5, seed)
                nn.init.zeros_(self.up)

            def forward(self, weight: Tensor) -> Tensor:
                return weight + functional.pad(scale * (self.up @ self.down), (0, 0, above, below))

        return LowRank(self.rank)

    def low_rank_changes(self, tensors: Mapping[str, Tensor]) -> Iterator[LowRankChange]:
        """The change of each matrix in each layer; those of one linear layer are numbered as in `matrices`."""
        from bertlab.model.interop.peft import LowRankChange

        for name, down in tensors.items():
            layer, _, end = name.partition(".parametrizations.weight.")
            number, _, side = end.partition(".")
            if side == "down":
                matrices = [matrix for matrix in self.matrices if LINEAR[matrix] == layer.rpartition(".")[2]]
                up, part = tensors[name.removesuffix(side) + "up"], self._part(matrices[int(number)])
                yield LowRankChange(f"{layer}.weight", part, down, up, self.alpha)

    def merge(self, model: nn.Module) -> None:
        """Adds the changes to the weights, which then have the names of other encoders' again (section 4.1)."""
        from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

        for module in [module for module in model.modules() if is_parametrized(module, "weight")]:
            remove_parametrizations(module, "weight", leave_parametrized=True)
