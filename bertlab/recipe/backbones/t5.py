"""T5's encoder and decoder (Raffel et al. 2020, sections 2.1 and 3.2): fields and cost."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from bertlab.errors import BadInput
from bertlab.recipe.backbones.base import Activation, Size
from bertlab.recipe.backbones.transformer import TransformerConfig
from bertlab.recipe.ranges import Range
from bertlab.wording import pluralise

Structure = Literal["encoder-decoder", "decoder", "prefix-decoder"]


@dataclass(frozen=True, kw_only=True)
class T5(TransformerConfig):
    """Pre-norm by the root mean square, without biases; products of attention that are not divided, and a learned bias
    for the distance of two tokens.

    Tasks that read vectors of the inputs read those of the encoder, or of the only stack. Version 1.1 is `gated`, with
    an output matrix that is not `tied`.
    """

    kind: ClassVar[str] = "t5"
    encoder: ClassVar[str] = "bertlab.model.t5.new_encoder"
    biases: ClassVar[bool] = False
    structure: Structure = "encoder-decoder"
    """`encoder-decoder`; a `decoder` alone, which reads the inputs and goes on with the outputs; or a `prefix-decoder`,
    whose inputs see each other on both sides (section 3.2.1)."""
    decoder_layers: Annotated[int, Range(0, 200)] = 0
    """Layers of the decoder beside an encoder; 0 for as many as the encoder has."""
    shared: bool = False
    """Whether encoder and decoder have the same self-attention and feed-forward networks (section 3.2.2)."""
    gated: bool = False
    """Whether the feed-forward network is GELU(a) * b, as in version 1.1, and not ReLU."""
    tied: bool = True
    """Whether the output matrix is that of the embeddings, divided by the root of the width."""
    buckets: Annotated[int, Range(4, 1024)] = 32
    """Buckets of distances, of which each head has a bias."""
    distance: Annotated[int, Range(8, 100_000, "tokens")] = 128
    """Distance from which on all tokens are in one bucket."""
    layer_norm_eps: Annotated[float, Range(1e-15, 0.1)] = 1e-6
    """What is added to the mean square."""
    activation: Activation = "gelu_new"
    """GELU of a gated feed-forward network, and of the heads of other losses."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance <= self.buckets // 2 or self.buckets % 4:
            sizes = f"model.buckets is {self.buckets} and model.distance {self.distance}"
            raise BadInput(f"{sizes}: buckets must be a multiple of 4, and distance above half of it")
        if self.shared and self.decoder_depth not in (0, self.layers):
            raise BadInput("model.shared needs as many layers in the decoder: set model.decoder_layers to 0")

    def check(self, causal: bool) -> None:
        """Raises `BadInput` for an encoder in which no token would see a later one."""
        if causal and self.structure == "encoder-decoder":
            raise BadInput(
                "the encoder of model t5 sees both sides of a token: set model.structure to decoder, or the objective "
                "to prefix_lm"
            )

    def check_decoding(self, kind: str, over_inputs: bool) -> None:
        """Raises `BadInput` if a loss shall predict inputs that see what comes later."""
        if over_inputs and self.structure != "decoder":
            raise BadInput(f"{kind}.over_inputs needs a model that reads from the left: set model.structure to decoder")

    @property
    def positions(self) -> Literal["relative"]:
        """A bias for the distance of two tokens."""
        return "relative"

    @property
    def segments(self) -> int:
        """The model has no segment embeddings."""
        return 0

    @property
    def decoder_depth(self) -> int:
        """Layers of the decoder beside an encoder."""
        return (self.decoder_layers or self.layers) if self.structure == "encoder-decoder" else 0

    @property
    def declared(self) -> Self:
        """The model without fields that change nothing."""
        apart = self.structure == "encoder-decoder"
        layers = self.decoder_layers if apart and self.decoder_layers != self.layers else 0
        shared = self.shared and apart
        return dataclasses.replace(self, decoder_layers=layers, shared=shared, initialisation="fixed")

    @property
    def unshared(self) -> Self:
        """The same without sharing."""
        return dataclasses.replace(self, shared=False)

    def scaled(self, size: Size) -> Self:
        """The model in this size, with as many times the layers in the decoder."""
        layers = max(min(1, self.decoder_layers), round(size.layers * self.decoder_layers))
        return dataclasses.replace(super().scaled(size), decoder_layers=layers)

    @property
    def shape(self) -> str:
        """The size in words, with the structure."""
        text = f"{super().shape}, T5 {self.structure}"
        if self.decoder_depth not in (0, self.layers):
            text += f" with {pluralise(self.decoder_depth, 'layer')} in the decoder"
        parts = {"shared": self.shared, "gated GELU": self.gated, "an output matrix of its own": not self.tied}
        return text + "".join(f", {words}" for words, has in parts.items() if has)

    @property
    def _feedforward_weights(self) -> int:
        return (3 if self.gated else 2) * self.hidden * self.feedforward

    def parameters(self, vocabulary: int, max_length: int) -> int:
        """Embeddings, and for each stack its layers, a bias for each bucket and head, and the last normalisation."""
        hidden = self.hidden
        attention, feedforward = 4 * hidden**2 + hidden, self._feedforward_weights + hidden
        stack = self.buckets * self.heads + hidden
        total = (vocabulary if self.tied else 2 * vocabulary) * hidden
        total += self.layers * (attention + feedforward) + stack
        if self.decoder_depth:
            of_layer = attention if self.shared else 2 * attention + feedforward
            total += self.decoder_depth * of_layer + stack
        return total

    def flops_per_token(self, length: int, causal: bool) -> float:
        """Matrices and attention of the encoder, or of the only stack."""
        seen = (length + 1) / 2 if causal or self.structure == "decoder" else length
        return 2.0 * self.layers * (4 * self.hidden**2 + self._feedforward_weights + 2 * seen * self.hidden)

    def decoder_flops(self, inputs: float, outputs: float) -> float:
        """Operations on `outputs` tokens of a sequence behind `inputs` tokens, beside those on the inputs alone."""
        hidden, seen = self.hidden, (outputs + 1) / 2
        if self.decoder_depth:
            of_output = 6 * hidden**2 + self._feedforward_weights + 2 * (seen + inputs) * hidden
            return 2.0 * self.decoder_depth * (outputs * of_output + inputs * 2 * hidden**2)
        of_output = 4 * hidden**2 + self._feedforward_weights + 2 * (seen + inputs) * hidden
        return 2.0 * self.layers * outputs * of_output

    def deviation(self, name: str) -> float | tuple[float, ...]:
        """What gives the results of each matrix unit scale; the queries are smaller by the root of the size of a head,
        since nothing else divides their products (released code)."""
        usual = self.hidden**-0.5
        if "embeddings.tokens" in name:
            return 1.0
        if "qkv_proj" in name:
            return float((self.hidden * (self.hidden // self.heads)) ** -0.5), usual, usual
        if ".fc2." in name:
            return float(self.feedforward**-0.5)
        return usual if name.startswith("encoder.") else super().deviation(name)
