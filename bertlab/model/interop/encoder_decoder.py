"""The model of `Bert2Bert` as the `EncoderDecoderModel` of `transformers`: an encoder, and a decoder of its like that
reads it. Their one table of embeddings is written into both."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.interop.architectures import architecture_of
from bertlab.model.sharing import repeated
from bertlab.text.tokenizers.base import TrainedTokenizer

NAME = "EncoderDecoderModel"
_LIKE = {"decoder_layers.": "encoder.layers.", "cross_attention.": "attention.", "cross_norm.": "attention_norm."}
"""Parts of the names of a decoder's parameters, and of those of an encoder that are named alike."""


def write(
    directory: Path,
    length: int,
    start: int,
    model: nn.Module,
    pretrained: PretrainingModel,
    described: recipe.BackboneConfig,
    tokenizer: TrainedTokenizer,
    fields: Mapping[str, Any],
) -> str:
    """Writes the `model` of a task as `huggingface.write_task` does; `start` is the token that begins the outputs.

    Raises `BadInput` if `directory` is not empty, or if no decoder of `transformers` computes what this one does.
    """
    architecture, written = architecture_of(described, False, tokenizer.pad)
    if not architecture.decoder:
        raise BadInput(
            f"transformers has no decoder like that of this {architecture.title}: use `bertlab predict`, or pre-train "
            "with model.positions=learned"
        )
    stack = huggingface.config_of(architecture, written, pretrained.encoder, tokenizer)
    config = {
        "model_type": "encoder-decoder",
        "is_encoder_decoder": True,
        "encoder": stack,
        "decoder": stack | {"is_decoder": True, "add_cross_attention": True, "architectures": [architecture.decoder]},
        **{name: stack[name] for name in ("pad_token_id", "vocab_size", "tie_word_embeddings")},
        "decoder_start_token_id": start,
        "eos_token_id": tokenizer.sep,
        "architectures": [NAME],
    }
    # The class has a pooler, which nothing reads.
    tensors = {f"encoder.pooler.{name}": value.float() for name, value in pretrained.pooler.state_dict().items()}
    for name, value in repeated(model).items():
        ours = alike = name.removeprefix("encoder.")
        for part, other in _LIKE.items():
            alike = alike.replace(part, other)
        parts = huggingface.published(architecture, architecture.parameter(alike), value, written.heads)
        if ours.startswith("encoder."):
            tensors |= {f"encoder.{theirs.removeprefix(f'{architecture.base}.')}": one for theirs, one in parts.items()}
        if not ours.startswith("encoder.layers."):
            tensors |= {f"decoder.{_crossed(theirs, ours)}": one for theirs, one in parts.items()}
    huggingface.write_files(directory, config | dict(fields), tensors, tokenizer, length, written.segments)
    return NAME


def _crossed(theirs: str, ours: str) -> str:
    """The published name of a parameter of cross-attention, which is that of self-attention elsewhere."""
    return theirs.replace(".attention.", ".crossattention.") if ours.partition(".cross_")[2] else theirs
