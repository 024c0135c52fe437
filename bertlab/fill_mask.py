"""What a finished masked LM puts in the place of [MASK]: a look at what it has learnt, not a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bertlab.errors import BadInput
from bertlab.store.files import read_json

MASK = "[MASK]"


@dataclass(frozen=True)
class Guess:
    """A word piece in the place of a [MASK]."""

    piece: str
    probability: float


def fill(directory: Path, text: str, count: int) -> list[list[Guess]]:
    """For each [MASK] of `text` the `count` likeliest word pieces, the likeliest first.

    `directory` is that of a finished pre-training. Raises `BadInput` for a text without [MASK] or with more tokens than
    the model has positions, for a left-to-right model, and for a checkpoint without a masked-LM head.
    """
    import torch

    from bertlab.training.finetuning import open_pretrained

    parts = text.split(MASK)
    if len(parts) == 1:
        raise BadInput(f"the text has no {MASK}: write one where a word is to be guessed")
    if not read_json(directory / "result.json").get("predicts", True):
        raise BadInput(f"{directory.name} was published without its masked-LM head and predicts nothing: name another")
    opened = open_pretrained(directory)
    model, tokenizer = opened.model.eval(), opened.tokenizer
    if model.encoder.causal:
        raise BadInput(f"{directory.name} is a left-to-right model, which sees no word behind {MASK}: name a masked LM")
    ids = [tokenizer.cls]
    for number, part in enumerate(tokenizer.encode(parts)):
        ids += [tokenizer.mask, *part] if number else part
    ids.append(tokenizer.sep)
    if len(ids) > opened.positions:
        raise BadInput(f"the text has {len(ids)} tokens, and the model {opened.positions} positions: shorten it")
    tokens = torch.tensor([ids])
    places = (tokens == tokenizer.mask).nonzero()[:, 1]
    with torch.inference_mode():
        logits, _ = model.predictions(tokens, torch.zeros_like(tokens), None, places[None])
    best = logits[0].softmax(-1).topk(min(count, tokenizer.size))
    return [
        [Guess(tokenizer.vocabulary[piece], value) for value, piece in zip(values, pieces, strict=True)]
        for values, pieces in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
