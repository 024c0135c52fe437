"""The models of `transformers` that are read and written, one file each."""

from typing import Any

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.interop.architectures.albert import Albert
from bertlab.model.interop.architectures.base import Architecture
from bertlab.model.interop.architectures.bert import Bert
from bertlab.model.interop.architectures.modern_bert import ModernBert
from bertlab.model.interop.architectures.roberta import Roberta
from bertlab.model.interop.architectures.roberta_prelayernorm import RobertaPreLayerNorm
from bertlab.model.interop.architectures.roformer import RoFormer
from bertlab.model.interop.architectures.t5 import T5

ARCHITECTURES: dict[str, Architecture[Any]] = {
    architecture.kind: architecture
    for architecture in (Roberta(), RobertaPreLayerNorm(), Bert(), RoFormer(), Albert(), ModernBert(), T5())
}
"""Each architecture by the `model_type` of config.json. A model is written as the first that holds it."""


def architecture_of(model: recipe.BackboneConfig, causal: bool, pad: int) -> tuple[Architecture[Any], Any]:
    """The architecture that computes exactly what `model` does with padding of the id `pad`, and the model as it is
    written: one whose layers share parameters that no architecture shares has them in each layer.

    Raises `BadInput` if there is none.
    """
    for written in (model.declared, model.declared.unshared):
        for architecture in (registered.padded(pad) for registered in ARCHITECTURES.values()):
            if type(model) is architecture.model and architecture.holds(written, causal):
                return architecture, written
    shape = model.description + ", left to right" * causal
    raise BadInput(
        f"transformers has no architecture for {shape}: of narrower embeddings only those of ALBERT (learned "
        "positions, not left to right) and RoFormer, of normalisations only LayerNorm, of pre-norm only RoBERTa's "
        "(learned positions, gelu, not left to right); ModernBERT is not left to right; a T5 has an encoder and a "
        "decoder that share nothing"
    )
