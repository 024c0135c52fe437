"""Minimal pairs beside minicons, in pairs of sentences a second of one thread.

    python benchmarks/scoring.py [--pairs 4] [--seconds 10] [--out FILE.json]

Both give the sentences of BLiMP's size (7.4 words on average) both pseudo-log-likelihoods, with each token masked alone
and with the later tokens of its word, by the same random masked LM in fp32: 6 layers, 384 wide, 30,000 entries. Two
sentences of a pair differ in one word, and one word in seven has two tokens. The peer is the scorer of minicons at the
best of several batch sizes, which is found first; the rows of one measure compare the first of the two alone. A block
is all sentences, from texts to scores. The clock is that of the processor, as other work on the machine is no part of
either. `pip install minicons`; without it, the script measures nothing.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import script
import torch
from blocks import Block, Found, Settings, compare, repeated

from bertlab.adaptation.zero_shot import sentence_scores
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.progress import silent
from bertlab.recipe import Model
from bertlab.text.tokenizers import SPECIALS, WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

PAIRS = 64
BATCHES = (1, 2, 8, 32)
"""Sentences that the peer is handed at once; it masks each token of each."""
SHAPE = Model(layers=6, hidden=384, heads=12, positions="learned", max_positions=64)
METRICS = ("original", "within_word_l2r")
WORDS, ENDS = 29_000, 1_000


def pieces() -> tuple[list[str], list[str]]:
    """Words that are a token each, and ends of words."""
    letters, draw = np.array([*"abcdefghijklmnopqrstuvwxyz"]), np.random.default_rng(0)
    drawn = ["".join(draw.choice(letters, size)) for size in draw.integers(4, 9, WORDS)]
    return sorted({*drawn}), sorted({"".join(draw.choice(letters, 3)) for _ in range(ENDS)})


def sentences() -> list[str]:
    """The sentences of all pairs, the two of a pair one after the other."""
    words, ends = pieces()
    draw = np.random.default_rng(1)

    def word() -> str:
        return draw.choice(words) + (draw.choice(ends) if draw.random() < 1 / 7 else "")

    texts = []
    for _ in range(PAIRS):
        good = [word() for _ in range(int(np.clip(draw.normal(7.4, 2), 3, 20)))]
        bad = [*good]
        bad[draw.integers(len(bad))] = word()
        texts += [" ".join(good), " ".join(bad)]
    return texts


def model() -> PretrainingModel:
    """A masked LM with random weights, and its tokenizer."""
    words, ends = pieces()
    letters = [f"{mark}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##")]
    tokenizer = TrainedWordPiece([*SPECIALS, *letters, *words, *(f"##{end}" for end in ends)], WordPiece())
    scored = PretrainingModel(SHAPE, tokenizer.size, SHAPE.max_positions, 0)
    scored.tokenizer = tokenizer
    return scored.eval()


def ours(scored: PretrainingModel, texts: list[str]) -> Any:
    """Both measures of each text, (S, 2)."""
    tokenizer: Any = scored.tokenizer
    ids = [np.array([tokenizer.cls, *row, tokenizer.sep], np.int32) for row in tokenizer.encode(texts)]
    return sentence_scores(scored, ids, silent)


def peer(folder: Path) -> Callable[[list[str], int, tuple[str, ...]], Any]:
    """The peer's measures of texts in batches, (S, M)."""
    if not find_spec("minicons"):
        raise script.Lacking("minicons is not installed: pip install minicons")
    from minicons.scorer import MaskedLMScorer

    scorer = MaskedLMScorer(str(folder), "cpu")
    if not hasattr(scorer.tokenizer, "batch_encode_plus"):  # which version 5 of transformers calls by its other name
        scorer.tokenizer.batch_encode_plus = scorer.tokenizer.__call__

    def scores(texts: list[str], batch: int, metrics: tuple[str, ...]) -> Any:
        def of(metric: str) -> list[float]:
            parts = (texts[begin : begin + batch] for begin in range(0, len(texts), batch))
            given = {"reduction": lambda values: values.sum(0).item(), "PLL_metric": metric}
            return [score for part in parts for score in scorer.sequence_score(part, **given)]

        return np.array([of(metric) for metric in metrics]).T

    return scores


@contextmanager
def written(scored: PretrainingModel) -> Iterator[Path]:
    """A folder of the model as a checkpoint."""
    with tempfile.TemporaryDirectory() as name:
        huggingface.write(Path(name) / "model", scored, SHAPE, scored.tokenizer)
        yield Path(name) / "model"


def beside(metrics: tuple[str, ...], settings: Settings) -> Found:
    """Ours, which always gives both measures, against the peer at its best."""
    torch.set_num_threads(settings.machine.num_threads)
    scored, texts = model(), sentences()

    def block(score: Callable[[], Any]) -> Block:
        def work() -> float:
            return len(score()) / 2

        return repeated(work, 1, time.process_time)

    with written(scored) as folder:
        theirs = peer(folder)
        speeds = {size: block(partial(theirs, texts[:32], size, metrics))(0.0) for size in BATCHES}
        best = max(speeds, key=speeds.__getitem__)
        difference = np.abs(ours(scored, texts)[:, : len(metrics)] - theirs(texts, best, metrics)).max()
        print(f"the peer's best batch size: {best}; scores differ by at most {difference:.1e} nats", file=sys.stderr)
        return compare(block(partial(ours, scored, texts)), block(partial(theirs, texts, best, metrics)), settings)


MEASURED = {"scoring": partial(beside, METRICS), "scoring-one": partial(beside, METRICS[:1])}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, pairs=4, seconds=10.0, threads=1))
