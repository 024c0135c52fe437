"""A left-to-right LSTM (Hochreiter and Schmidhuber 1997), which GPT's ablation has in place of its Transformer."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from bertlab.errors import BadInput
from bertlab.recipe.backbones.base import BackboneConfig, Size
from bertlab.recipe.ranges import DROPOUT, FieldError, Range


@dataclass(frozen=True, kw_only=True)
class LSTM(BackboneConfig):
    """Layers of an LSTM that reads from left to right, for left-to-right language models alone."""

    kind: ClassVar[str] = "lstm"
    encoder: ClassVar[str] = "bertlab.model.lstm.LSTMEncoder"
    compiled: ClassVar[bool] = False
    embedding_size: Annotated[int, Range(0, 65_536)] = 0
    """Width of the embeddings, to which the LM head projects back; 0 for `hidden`."""
    dropout: Annotated[float, DROPOUT] = 0.1
    """Probability of dropout on the input of each layer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedding_size > self.hidden:
            raise FieldError("model.", "embedding_size", f"is above model.hidden, {self.hidden}: give that at most")

    def check(self, causal: bool) -> None:
        """Raises `BadInput` for an objective that sees both sides of a token."""
        if not causal:
            raise BadInput("the model lstm reads from left to right: set objective=causal_lm, or take another model")

    def parameters(self, vocabulary: int, max_length: int) -> int:
        """Embeddings; four gates a unit in each layer, with torch's two biases."""
        gates = sum(4 * self.hidden * (width + self.hidden + 2) for width in self.input_widths)
        return vocabulary * self.embedding_width + gates

    def flops_per_token(self, length: int, causal: bool) -> float:
        """The matrices of the gates."""
        return sum(2.0 * 4 * self.hidden * (width + self.hidden) for width in self.input_widths)

    def scaled(self, size: Size) -> Self:
        """The model in this size, with at least one layer."""
        scaled = super().scaled(dataclasses.replace(size, embeddings=1.0))
        if size.embeddings == 1:
            return scaled
        return dataclasses.replace(scaled, embedding_size=max(1, round(size.embeddings * scaled.embedding_width)))

    def deviation(self, name: str) -> float:
        """1 / sqrt(units) in an LSTM, which gives the inputs of the gates unit scale; BERT's elsewhere."""
        return self.hidden**-0.5 if ".lstms." in name else 0.02

    @property
    def input_widths(self) -> list[int]:
        """Features of the input of each layer."""
        return [self.embedding_width] + [self.hidden] * (self.layers - 1)

    @property
    def embedding_width(self) -> int:
        """Width of the embeddings."""
        return self.embedding_size or self.hidden

    @property
    def shape(self) -> str:
        """Layers, units and the width of the embeddings."""
        return f"{super().shape}, LSTM" + (f", embeddings of {self.embedding_size}" if self.embedding_size else "")
