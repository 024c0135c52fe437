"""ELMo's bidirectional language model (Peters et al. 2018, section 3.1): its fields and its cost."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

from bertlab.errors import BadInput
from bertlab.recipe.backbones.base import BackboneConfig, Size
from bertlab.recipe.ranges import DROPOUT, Range
from bertlab.wording import pluralise

CHARACTERS = 259
"""The bytes, a mark of the beginning, one of the end, and padding."""
CHARACTER_WIDTH = 16
LONGEST = 50
"""Characters of a token at most, with its marks."""
HIGHWAYS = 2


@dataclass(frozen=True, kw_only=True)
class BiLSTM(BackboneConfig):
    """LSTMs from left to right beside LSTMs from right to left over the same token embeddings, with a skip connection
    from each layer to the next. A vector is [left-to-right half; right-to-left half]: no layer joins them."""

    kind: ClassVar[str] = "bilstm"
    encoder: ClassVar[str] = "bertlab.model.bilstm.BiLSTMEncoder"
    apart: ClassVar[bool] = True
    compiled: ClassVar[bool] = False
    layers: Annotated[int, Range(1, 200)] = 2
    """Layers of LSTMs in each direction; two in ELMo."""
    cells: Annotated[int, Range(2, 1_000_000, or_zero=True)] = 0
    """Cells of each LSTM, whose output is projected to half of `hidden`, the width of a direction; 0 for eight times
    that width, as ELMo has 4,096 for 512. In a study 0 gives the layers as many parameters as those of the scale's
    model have."""
    dropout: Annotated[float, DROPOUT] = 0.1
    """Dropout of the embeddings and of the output of each layer; 0.1 in ELMo."""
    embeddings: Literal["tokens", "characters"] = "tokens"
    """What the vector of a token comes from: a table, or the characters of the token, by four times as many filters as
    a direction is wide, two highway layers and a projection (section 3.4: 2,048 for 512). The output matrix then is a
    table of its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % 2:
            raise BadInput(f"model.hidden is {self.hidden}: each direction has half of it, give an even one")
        if self.cells and self.cells <= self.hidden // 2:
            sizes = f"model.cells is {self.cells} and a direction is {self.hidden // 2} wide"
            raise BadInput(f"{sizes}: give more cells, which are projected to that width")

    @property
    def units(self) -> int:
        """Cells of each LSTM."""
        return self.cells or 4 * self.hidden

    @property
    def embedding_width(self) -> int:
        """The width of a direction."""
        return self.hidden // 2

    def scaled(self, size: Size) -> Self:
        """The model in this size, each direction at least one unit wide."""
        width = max(1, round(size.width * self.hidden / 2))
        return replace(super().scaled(replace(size, width=1)), hidden=2 * width)

    def as_large_as(self, other: BackboneConfig) -> Self:
        """With as many cells as give the layers the parameters of those of `other`, unless `cells` is set."""
        width, of_layers = self.embedding_width, other.parameters(0, 0)
        cells = round((of_layers / (2 * self.layers)) / (9 * width + 8))
        return self if self.cells else replace(self, cells=max(width + 1, cells))

    def parameters(self, vocabulary: int, max_length: int) -> int:
        """Normalised embeddings, and for each LSTM four gates with two biases, and the projection."""
        width = self.embedding_width
        lstm = 4 * self.units * (width + width + 2) + self.units * width
        return vocabulary * width + 2 * width + 2 * self.layers * lstm + self._of_characters[0]

    def flops_per_token(self, length: int, causal: bool) -> float:
        """Gates and projections of both directions, and the vector of each token if it comes from characters."""
        return 2.0 * 2 * self.layers * 9 * self.units * self.embedding_width + self._of_characters[1]

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        """The widths of the filters over characters, and how many have each: 32, 32, 64, ..., 1,024 in ELMo."""
        total = 4 * self.embedding_width
        return tuple((size, max(1, total >> (8 - max(2, size)))) for size in range(1, 8))

    @property
    def _of_characters(self) -> tuple[int, float]:
        """The parameters that embeddings from characters add, and their operations on a token."""
        if self.embeddings == "tokens":
            return 0, 0.0
        total = sum(count for _, count in self.filters)
        weights = sum(CHARACTER_WIDTH * size * count for size, count in self.filters)
        places = sum(CHARACTER_WIDTH * size * count * (LONGEST - size + 1) for size, count in self.filters)
        above = HIGHWAYS * 2 * total**2 + total * self.embedding_width
        biases = total + HIGHWAYS * 2 * total + self.embedding_width
        return CHARACTERS * CHARACTER_WIDTH + weights + above + biases, 2.0 * (places + above)

    @property
    def shape(self) -> str:
        """Layers, width and cells."""
        shape = f"BiLSTM of {pluralise(self.layers, 'layer')}, {self.hidden} wide, {pluralise(self.units, 'cell')}"
        return shape + ", embeddings from characters" * (self.embeddings == "characters")

    def deviation(self, name: str) -> float | tuple[float, ...]:
        """What gives the gates and projections inputs of unit scale; in embeddings from characters those of the
        released code; else 0.02."""
        if ".characters." in name:
            # uniform up to 1 and up to 0.05
            usual = {"embeddings": 3**-0.5, "convolutions": 0.05 * 3**-0.5}
            total = sum(count for _, count in self.filters)
            return usual.get(name.split(".characters.")[1].split(".")[0], float(total**-0.5))
        if ".weight_" not in name:
            return super().deviation(name)
        return float((self.units if "weight_hr" in name else self.embedding_width) ** -0.5)
