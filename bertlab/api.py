"""Functions for notebooks and scripts: `from bertlab import make_recipe, results`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus, Recipe
from bertlab.store.runs import PRETRAINED, Store

if TYPE_CHECKING:
    import pandas

    from bertlab.text.tokens import TokenisedCorpus
    from bertlab.training.finetuning import Pretrained


def make_recipe(scale: str = "micro", **fields: Any) -> Recipe:
    """The recipe of a scale with other values of some fields, such as `objective=(MaskedLM(mask_prob=0.4),)`.

    Raises `BadInput` for an unknown scale or values out of range.
    """
    from bertlab.lab import scales

    return dataclasses.replace(scales.find(scale).recipe, **fields)


def prepare_corpus(
    directory: str | Path, recipe: Recipe, text: Sequence[str] = ("microworld",), column: str = "text"
) -> TokenisedCorpus:
    """The tokenised corpus in `directory`, which is built first if there is none, with the recipe's tokenizer.

    `text` names files, folders or data sets of the Hub, whose documents are in `column`, or the embedded corpus.
    Raises `BadInput` for text that cannot be used.
    """
    from bertlab.text import sources, tokens

    directory = Path(directory)
    if not (directory / "corpus.json").exists():
        directory.mkdir(parents=True, exist_ok=True)
        machine = Machine()
        located = [sources.resolve(name, machine=machine, column=column) for name in text]
        corpus = Corpus(sources=tuple(each.source for each in located))
        tokens.prepare(corpus, recipe.tokenizer, located, directory, workers=machine.num_threads, progress=silent)
    return tokens.open_corpus(directory, recipe.tokenizer)


def open_run(store: str | Path, name: str) -> Pretrained:
    """The model and tokenizer of a finished pre-training: the beginning of its id, its label or its directory.

    Raises `BadInput` if no run matches, or several do.
    """
    from bertlab.training.finetuning import open_pretrained

    run = Store(Path(store)).match(name, lambda each: each.kind in PRETRAINED)
    run.verify()
    return open_pretrained(run.path)


def results(store: str | Path) -> pandas.DataFrame:
    """All measured values of a store in points, with the columns of a report's `<study>.csv`."""
    from bertlab.report import tidy
    from bertlab.report.gather import gather_all

    return tidy.values(gather_all(Store(Path(store))))
