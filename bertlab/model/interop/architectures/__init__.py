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

ARCHITECTURES: dict[str, Architecture[Any]] = {
    each.kind: each for each in (Roberta(), RobertaPreLayerNorm(), Bert(), RoFormer(), Albert(), ModernBert())
}
"""By the `model_type` of config.json. A model is written as the first that holds it."""


def architecture_of(model: recipe.Transformer, causal: bool, pad: int) -> Architecture[Any]:
    """The architecture that computes exactly what `model` does with padding of the id `pad`. Raises `BadInput` if there
    is none."""
    for each in ARCHITECTURES.values():
        if type(model) is each.model and each.pad in (None, pad) and each.holds(model.declared, causal):
            return each
    shape = f"{model.shape}, {model.positions} positions" + ", left to right" * causal
    raise BadInput(
        f"transformers has no architecture for {shape}: of shared parameters only ALBERT's (all of them, learned "
        "positions, not left to right), of narrower embeddings only those of ALBERT and RoFormer, of normalisations "
        "only LayerNorm (pre-norm only in RoBERTa: learned positions, one segment, padding of id 1); ModernBERT is not "
        "left to right"
    )
