"""BERT's encoder (Devlin et al. 2019, section 3), with what its descendants vary: its fields and its cost."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from bertlab.recipe.backbones.transformer import Positions, TransformerConfig
from bertlab.recipe.ranges import Range

Sharing = Literal["none", "attention", "feed-forward", "all"]
Norm = Literal["layer", "power"]
NormPosition = Literal["post", "pre"]


@dataclass(frozen=True, kw_only=True)
class Model(TransformerConfig):
    """The encoder, by default BERT's: post-norm, GELU, LayerNorm eps 1e-12, tied output embedding."""

    kind: ClassVar[str] = "bert"
    encoder: ClassVar[str] = "bertlab.model.encoder.BertEncoder"
    decoder_made: ClassVar[bool] = True
    embedding_size: Annotated[int, Range(0, 65_536)] = 0
    """Width of the embeddings, which are projected to `hidden`, and to which the LM head projects back (ALBERT section
    3.1); 0 for `hidden`, without a projection."""
    sharing: Sharing = "none"
    """Sub-layers whose parameters, with their normalisation, are the same in all layers (ALBERT section 3.1)."""
    norm: Norm = "layer"
    """The normalisation in the layers: LayerNorm, or `power` for PowerNorm (Shen et al. 2020). Embeddings and heads
    keep LayerNorm."""
    norm_position: NormPosition = "post"
    """`post` normalises the sum of a sub-layer's input and output, as BERT does; `pre` the input of each sub-layer, and
    the output of the last layer (Xiong et al. 2020, Table 1). The LayerNorm of the embeddings stays."""
    positions: Positions = "learned"
    """`learned` is BERT's; small models need `rotary` to leave the unigram plateau."""
    segments: Annotated[int, Range(1, 2)] = 2
    """Segments that have embeddings of their own; 1 as in RoBERTa, where all tokens have the same."""

    def narrowed(self, width: float) -> Self:
        """With embeddings as wide as before, which are projected."""
        return dataclasses.replace(super().narrowed(width), embedding_size=self.embedding_width).declared

    def parameters(self, vocabulary: int, max_length: int) -> int:
        """Embeddings, what layers do not share, and the last normalisation of pre-norm."""
        hidden, wide, narrow = self.hidden, self.feedforward, self.embedding_width
        norm = 2 * hidden
        embeddings = (vocabulary + self.segments + (max_length if self.positions == "learned" else 0)) * narrow
        projection = narrow * hidden + hidden if narrow != hidden else 0
        attention = 4 * (hidden * hidden + hidden) + norm
        feedforward = hidden * wide + wide + wide * hidden + hidden + norm
        layers = (1 if self.shares_attention else self.layers) * attention
        layers += (1 if self.shares_feedforward else self.layers) * feedforward
        return embeddings + 2 * narrow + projection + layers + (norm if self.norm_position == "pre" else 0)

    def flops_per_token(self, length: int, causal: bool) -> float:
        """Matrices and attention of all layers, also those that share parameters, and the projection of embeddings."""
        hidden = self.hidden
        matrices = self.layers * (4 * hidden**2 + 2 * hidden * self.feedforward)
        matrices += self.embedding_width * hidden if self.embedding_width != hidden else 0
        seen = (length + 1) / 2 if causal else length  # tokens that a token attends to
        return 2.0 * (matrices + self.layers * 2 * seen * hidden)

    @property
    def declared(self) -> Self:
        """The model without fields that change nothing: embeddings as wide as it is, and sharing in a single layer."""
        embedding_size = 0 if self.embedding_size == self.hidden else self.embedding_size
        sharing: Sharing = "none" if self.layers == 1 else self.sharing
        return dataclasses.replace(self, embedding_size=embedding_size, sharing=sharing)

    @property
    def unshared(self) -> Self:
        """The same without sharing."""
        return dataclasses.replace(self, sharing="none")

    @property
    def shape(self) -> str:
        """The size in words, with what differs from BERT."""
        text, used = super().shape, self.declared
        if used.embedding_size:
            text += f", embeddings of {used.embedding_size}"
        if used.sharing != "none":
            text += f", {'all parameters' if used.sharing == 'all' else used.sharing} shared"
        text += ", pre-norm" * (used.norm_position == "pre") + ", PowerNorm" * (used.norm == "power")
        return text

    @property
    def embedding_width(self) -> int:
        """Width of the embeddings."""
        return self.embedding_size or self.hidden

    @property
    def shares_attention(self) -> bool:
        """Whether all layers have the same self-attention."""
        return self.sharing in ("attention", "all")

    @property
    def shares_feedforward(self) -> bool:
        """Whether all layers have the same feed-forward network."""
        return self.sharing in ("feed-forward", "all")
