"""`bertlab fill-mask`: the words that a masked LM predicts for [MASK]. To inspect a model, not to measure it."""

from pathlib import Path
from typing import Annotated, Any

from bertlab.cli.console import print_json, print_table
from bertlab.cli.options import Json, Run, Runs, argument, option
from bertlab.errors import BadInput

MASK = "[MASK]"


def fill_mask(
    run: Run,
    text: Annotated[str, argument("TEXT", 'A text with [MASK] in it, such as "the [MASK] sat down".')],
    top: Annotated[int, option("--top", "N", "Words per [MASK].", min=1, max=1000)] = 5,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Print the most probable words for each [MASK] of a text."""
    from bertlab.store.runs import PRETRAINED, Store

    found = Store(runs).match(run, lambda each: each.kind in PRETRAINED)
    found.verify()
    places = fill(found.path, text, top)
    if json:
        print_json(places)
        return
    names = [MASK] if len(places) == 1 else [f"{MASK} {number}" for number in range(1, len(places) + 1)]
    cells = [
        [(guess["piece"], f"{100 * guess['probability']:.1f}") for guess in rank] for rank in zip(*places, strict=True)
    ]
    print_table([each for name in names for each in (name, "%")], [sum(rank, ()) for rank in cells])


def fill(directory: Path, text: str, count: int) -> list[list[dict[str, Any]]]:
    """The `count` most probable word pieces for each [MASK] of `text`, as `piece` and `probability`.

    `directory` holds a finished pre-training. Raises `BadInput` for a text without [MASK] or longer than the model's
    positions, for a causal model, and for a checkpoint without an LM head.
    """
    import torch

    from bertlab.model.heads import TensorBatch
    from bertlab.objectives import MaskedLM
    from bertlab.store.files import read_json
    from bertlab.training.finetuning import open_pretrained

    parts = text.split(MASK)
    if len(parts) == 1:
        raise BadInput(f"the text has no {MASK}: write {MASK} in place of a word")
    if not read_json(directory / "result.json").get("predicts", True):
        raise BadInput(f"{directory.name} was published without its LM head and cannot predict words: use another")
    opened = open_pretrained(directory)
    model, tokenizer = opened.model.eval(), opened.tokenizer
    if not any(isinstance(loss, MaskedLM) for loss in model.objective):
        raise BadInput(f"{directory.name} is not a masked LM and cannot see words after {MASK}: use another")
    ids = [tokenizer.cls]
    for number, part in enumerate(tokenizer.encode(parts)):
        ids += [tokenizer.mask, *part] if number else part
    ids.append(tokenizer.sep)
    if len(ids) > opened.positions:
        raise BadInput(f"the text has {len(ids)} tokens, and the model {opened.positions} positions: shorten it")
    tokens = torch.tensor([ids])
    places = (tokens == tokenizer.mask).nonzero()[:, 1]
    with torch.inference_mode():
        batch = TensorBatch(tokens, torch.zeros_like(tokens), None, {MaskedLM.kind: {"positions": places[None]}})
        logits = model.logits(batch, MaskedLM.kind)
    best = logits[0].softmax(-1).topk(min(count, tokenizer.size))
    return [
        [
            {"piece": tokenizer.vocabulary[piece], "probability": probability}
            for probability, piece in zip(probabilities, pieces, strict=True)
        ]
        for probabilities, pieces in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
