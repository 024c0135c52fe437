"""A left-to-right and a right-to-left Transformer side by side (Devlin et al. 2019, section 5.1): fields and cost."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from bertlab.errors import BadInput
from bertlab.recipe.backbones.bert import Model


@dataclass(frozen=True, kw_only=True)
class BiTransformer(Model):
    """Two transformers over the same embeddings, each with half of the width and half of the heads. A vector is
    [left-to-right half; right-to-left half]: no layer joins them."""

    kind: ClassVar[str] = "bitransformer"
    encoder: ClassVar[str] = "bertlab.model.bitransformer.BiTransformerEncoder"
    apart: ClassVar[bool] = True
    decoder_made: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % 2 or self.heads % 2:
            sizes = f"model.hidden is {self.hidden} and model.heads {self.heads}"
            raise BadInput(f"{sizes}: each direction of a bitransformer has half of both, give even ones")
        if self.embedding_size:
            raise BadInput("model.embedding_size has no effect on a bitransformer: leave it out")

    @property
    def half(self) -> Model:
        """The model of one direction."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(Model)}
        halves = {name: fields[name] // 2 for name in ("hidden", "heads", "intermediate")}
        return Model(**fields | halves)

    @property
    def embedding_width(self) -> int:
        """The width of a direction."""
        return self.hidden // 2

    @property
    def init_std(self) -> float:
        """The standard deviation of a direction."""
        return self.half.init_std

    @property
    def shape(self) -> str:
        """The size in words."""
        return f"{super().shape}, half from left to right and half from right to left"

    def parameters(self, vocabulary: int, max_length: int) -> int:
        """The layers of both directions; the embeddings once."""
        half = self.half
        layers = half.parameters(0, 0) - (half.segments + 2) * half.hidden
        return half.parameters(vocabulary, max_length) + layers

    def flops_per_token(self, length: int, causal: bool) -> float:
        """Both directions; each token attends to itself and those on one side."""
        return 2 * self.half.flops_per_token(length, causal=True)
