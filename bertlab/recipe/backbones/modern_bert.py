"""ModernBERT's encoder (Warner et al. 2024, section 2.1): its fields and its cost."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab.recipe.backbones.transformer import Positions, TransformerConfig
from bertlab.recipe.ranges import Range

Base = Annotated[float, Range(1, 1e12)]


@dataclass(frozen=True, kw_only=True)
class ModernBert(TransformerConfig):
    """Pre-norm without biases, GeGLU, rotary positions, and attention to a window in most layers.

    Its size is the scale's, and its initial weights are BERT's. It has no segment embeddings.
    """

    kind: ClassVar[str] = "modernbert"
    encoder: ClassVar[str] = "bertlab.model.modern_bert.ModernBertEncoder"
    decoder_made: ClassVar[bool] = True
    biases: ClassVar[bool] = False
    global_every: Annotated[int, Range(1, 200, "layers")] = 3
    """The first of so many layers attends to all tokens, the others to a window; 1 for all tokens in all layers."""
    window: Annotated[int, Range(2, 1_000_000, "tokens")] = 128
    """Tokens that a token sees in the other layers besides itself: half of them on each side."""
    global_base: Base = 160_000.0
    """Base of the rotary positions where attention is global: the larger, the slower the angles change."""
    local_base: Base = 10_000.0
    """Base of the rotary positions where it is to a window."""

    @property
    def positions(self) -> Positions:
        """Rotary."""
        return "rotary"

    @property
    def segments(self) -> int:
        """The model has no segment embeddings."""
        return 0

    @property
    def shape(self) -> str:
        """The size in words, and the name of the model."""
        return f"{super().shape}, ModernBERT"

    @property
    def feedforward(self) -> int:
        """Width of the product of GeGLU, from an input matrix twice as wide; that of ModernBERT-base by default."""
        return self.intermediate or max(1, 3 * self.hidden // 2)

    @property
    def global_layers(self) -> int:
        """Layers that attend to all tokens."""
        return -(-self.layers // self.global_every)

    def parameters(self, vocabulary: int, max_length: int) -> int:
        """Embeddings, layers, and a gain for each normalisation; the first layer has none before its attention."""
        hidden = self.hidden
        layer = 4 * hidden**2 + 3 * hidden * self.feedforward + 2 * hidden
        return vocabulary * hidden + self.layers * layer + hidden  # those of embeddings and output, less the first one

    def flops_per_token(self, length: int, causal: bool) -> float:
        """Matrices, and attention to all tokens or to a window."""
        hidden, near = self.hidden, min(self.window // 2, length - 1)
        before = near * (near + 1) / 2 + (length - 1 - near) * near  # seen on one side, summed over a sequence
        seen = {"global": (length + 1) / 2 if causal else length, "local": 1 + (1 if causal else 2) * before / length}
        attended = self.global_layers * seen["global"] + (self.layers - self.global_layers) * seen["local"]
        return 2.0 * (self.layers * (4 * hidden**2 + 3 * hidden * self.feedforward) + 2 * attended * hidden)
