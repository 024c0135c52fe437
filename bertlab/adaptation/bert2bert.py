"""Fine-tuning of an encoder with a decoder of its like (Rothe et al. 2020, section 3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bertlab import keyed
from bertlab.adaptation.base import Adaptation, Inputs
from bertlab.arrays import Integer
from bertlab.errors import BadInput
from bertlab.recipe import Recipe
from bertlab.tasks.examples import Examples, TaskBatch
from bertlab.tasks.kinds.base import TaskKind
from bertlab.tasks.kinds.generated import BEAM_SEARCH

if TYPE_CHECKING:
    from pathlib import Path

    from bertlab.machine import Machine
    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import PretrainingModel
    from bertlab.progress import Progress
    from bertlab.text.tokenizers.base import TrainedTokenizer

_STACKS = ("encoder", "decoder")
_PRETRAINED = {
    **dict.fromkeys(("both", "shared"), ("embeddings", *_STACKS)),
    **{stack: ("embeddings", stack) for stack in _STACKS},
    **{"embeddings": ("embeddings",), "none": ()},
}


@dataclass(frozen=True, kw_only=True)
class Bert2Bert(Adaptation):
    """Trains all weights of an encoder, and of a decoder of as many layers, on a task whose answers are texts.

    Cross-attention starts from new weights, and so does what is not pre-trained. Both stacks have the same embeddings,
    which are the output matrix too. Inputs stand between [CLS] and [SEP].
    """

    kind = "bert2bert"
    stage = "fine-tuning"
    searched = True

    start: Literal["both", "shared", "encoder", "decoder", "embeddings", "none"] = "both"
    """What has the weights of the pre-training: embeddings and `both` stacks, which may be one `shared` stack, or one
    of them, or `embeddings` alone; or nothing."""
    decoder_start: Literal["[CLS]", "[PAD]"] = "[CLS]"
    """The token with which the decoder begins; T5's is [PAD]."""
    beam_search: bool = False
    """The best of four beams instead of the most probable token of each step, as in `FineTuning`."""

    @property
    def description(self) -> str:
        """What is pre-trained of the weights."""
        begun = {
            "both": "both from it",
            "shared": "both from it, with the same layers",
            "none": "both from new weights",
        }
        begun |= {stack: f"the {stack} from it" for stack in _STACKS} | {"embeddings": "the embeddings from it"}
        return f"an encoder and a decoder, {begun[self.start]}"

    @property
    def trained_share(self) -> float:
        """Twice the weights of an encoder, or once, and cross-attention (the paper's Table 1)."""
        return 1.24 if self.start == "shared" else 2.0

    def unsupported_reason(self, kind: TaskKind) -> str:
        """Only texts are written."""
        if BEAM_SEARCH not in kind.options:
            return f"bert2bert writes texts, and its task is of kind {kind.name}: use FineTuning"
        return super().unsupported_reason(kind)

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` for what is no BERT."""
        if recipe.causal or not recipe.model.decoder_made:
            kind = "reads from the left" if recipe.causal else f"is of the kind {recipe.model.kind}"
            raise BadInput(f"bert2bert makes a decoder of a BERT, and the model {kind}: use FineTuning, or model=bert")

    def check_kind(self, kind: TaskKind, read_recipe: Callable[[], Recipe]) -> None:
        """Every model gets a decoder."""

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder with its decoder."""
        from bertlab.model import bert2bert

        shared, seed = self.start == "shared", keyed.key(*key, "decoder")
        return bert2bert.Bert2Bert(model, _PRETRAINED[self.start], shared, seed)

    def begins(self, tokenizer: TrainedTokenizer) -> tuple[list[int], int]:
        """[CLS] in front of a text, and `decoder_start`."""
        return [tokenizer.cls], tokenizer.cls if self.decoder_start == "[CLS]" else tokenizer.pad

    def write(self, directory: Path, *of_model: Any) -> str:
        """Writes an `EncoderDecoderModel`."""
        from bertlab.model.interop import encoder_decoder

        model, pretrained, described, tokenizer, _, fields = of_model
        start = self.begins(tokenizer)[1]
        return encoder_decoder.write(directory, self.length, start, model, pretrained, described, tokenizer, fields)

    def inputs(self, model: PretrainingModel, part: Examples, machine: Machine, progress: Progress) -> Inputs:
        """The word pieces between [CLS] and [SEP], and what the decoder begins with."""
        assert model.tokenizer is not None
        (front, start), room = self.begins(model.tokenizer), self.length - 2
        cls = np.array(front, np.int32)
        sequences = [np.concatenate([cls, one[:-1][:room], one[-1:]]) for one in part.sequences]
        starts = np.array([len(one) for one in sequences])
        read = super().inputs(
            model, dataclasses.replace(part, sequences=sequences, segment_b_start=starts), machine, progress
        )

        def build(indices: Integer) -> TaskBatch:
            batch = read.build(indices)
            batch["outputs"][:, 0] = start
            return batch

        return dataclasses.replace(read, build=build)
