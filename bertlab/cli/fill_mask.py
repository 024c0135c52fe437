"""`bertlab fill-mask`: the words that a model predicts, to inspect it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.cli.complete import MODEL
from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, RUNS, STUDY_FILE, argument, option
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.model.heads import PretrainingModel
    from bertlab.model.interop.checkpoint import Checkpoint
    from bertlab.store.run import Run
    from bertlab.text.tokenizers.base import TrainedTokenizer

MASK = "[MASK]"


def fill_mask(
    run: str = argument(..., MODEL, "A finished pre-training (see `bertlab runs`) or a checkpoint."),
    text: str = argument(..., "TEXT", 'A text with [MASK] in it, such as "the [MASK] sat down".'),
    top: int = option(5, "N", "Words per [MASK].", min=1, max=1000),
    study: str = STUDY_FILE,
    runs: Path = RUNS,
    json: bool = JSON,
) -> None:
    """Print the most probable words for each [MASK] of a text.

    Example: bertlab fill-mask masking/80/10/10/0 "the [MASK] sat down"
    """
    from bertlab.lab.jobs.find import run_or_checkpoint
    from bertlab.machine import Machine
    from bertlab.store.runs import Store

    source = run_or_checkpoint(run, Store(runs), Machine(), "RUN")
    parts = text.replace("<mask>", MASK).split(MASK)  # <mask> is RoBERTa's
    if len(parts) == 1:
        raise BadInput(f"the text has no {MASK}: write {MASK} in place of a word")

    model, tokenizer = _masked_lm(run, source, study)
    guesses = _guesses(model, tokenizer, parts, top)
    if json:
        print_json(guesses)
        return
    for candidates in guesses:
        say(f"{MASK}: " + ", ".join(f"{guess['piece']} {guess['probability']:.1%}" for guess in candidates))


def _masked_lm(name: str, source: Run | Checkpoint, study: str) -> tuple[PretrainingModel, TrainedTokenizer]:
    """The model of a run or a checkpoint, and its tokenizer. Raises `BadInput` if it predicts no masked words."""
    from bertlab.lab import pretrained
    from bertlab.model.interop import huggingface
    from bertlab.store.run import Run

    opened = pretrained.opened(name, source, study)
    if not (source.result().predicts if isinstance(source, Run) else huggingface.predicts(source.fetch())):
        raise BadInput(f"{name} was published without its LM head and cannot predict words: use another")
    if not _kind(opened.model):
        raise BadInput(f"{name} is not a masked LM and cannot see words after {MASK}: use another")
    return opened.model, opened.tokenizer


def _kind(model: PretrainingModel) -> str:
    """The kind of the masked LM among the losses of a model; empty if there is none."""
    return next((loss.kind for loss in model.objective if loss.hub_task == "fill-mask"), "")


def _guesses(
    model: PretrainingModel, tokenizer: TrainedTokenizer, parts: list[str], top: int
) -> list[list[dict[str, Any]]]:
    """The `top` pieces for each mask between the `parts` of a text, with their probabilities."""
    import torch

    from bertlab.model.streams import TensorBatch

    ids = [tokenizer.cls]
    for number, part in enumerate(tokenizer.encode_around(parts)):
        ids += [tokenizer.mask, *part] if number else part
    ids.append(tokenizer.sep)
    if len(ids) > (positions := model.encoder.max_length):
        raise BadInput(f"the text has {len(ids)} tokens, and the model {positions} positions: shorten it")
    tokens, kind = torch.tensor([ids]), _kind(model)
    masks = (tokens == tokenizer.mask).nonzero()[:, 1]
    model.eval()
    with torch.inference_mode():
        logits = model.logits(TensorBatch.of(tokens, None, {kind: {"positions": masks[None]}}), kind)
    best = logits[0].softmax(-1).topk(min(top, tokenizer.size))
    return [
        [{"piece": tokenizer.shown(piece), "probability": share} for share, piece in zip(*rank, strict=True)]
        for rank in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
