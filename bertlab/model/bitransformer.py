"""A left-to-right and a right-to-left Transformer over the same embeddings (Devlin et al. 2019, section 5.1)."""

from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.bilstm import TwoDirections
from bertlab.model.encoder import BertEncoder
from bertlab.model.streams import TensorBatch


class BiTransformerEncoder(TwoDirections):
    """Two of BERT's encoders, each left to right: the second one reads each sequence from its last token back."""

    rightward: BertEncoder
    leftward: BertEncoder

    def __init__(self, model: recipe.BiTransformer, vocabulary: int, max_length: int, causal: bool = False) -> None:
        super().__init__(model.hidden, model.layers, max_length, causal)
        self.rightward = BertEncoder(model.half, vocabulary, max_length, causal=True)
        self.leftward = BertEncoder(model.half, 1, 1, causal=True)
        self.leftward.rotary = self.rightward.rotary
        del self.leftward.embeddings

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings, and each layer of both directions."""
        embeddings, *right = self.rightward.levels
        return [embeddings, *map(nn.ModuleList, zip(right, self.leftward.layer_levels, strict=True))]

    @property
    def output_embeddings(self) -> Tensor:
        """The token embeddings (V, D / 2)."""
        return self.rightward.output_embeddings

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The embeddings (B, T, D / 2) of the stream `INPUTS`."""
        return self.rightward.embed(batch)
