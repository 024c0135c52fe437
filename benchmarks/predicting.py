"""`bertlab predict` beside a `pipeline` of transformers, in rows a second of one thread.

    python benchmarks/predicting.py [--pairs 4] [--seconds 10] [--out FILE.json]

Both read the same file of sentences as long as SST-2's (median 20 words, 60 at most) and label them with the same
weights, in fp32: a classifier of 6 layers, 384 wide, that `bertlab export` writes. The peer is the pipeline at the best
of several batch sizes, which is found first. A block is the whole file, from its lines to labels with probabilities.
The clock is that of the processor, as other work on the machine is no part of either.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import script
import torch
import transformers
from blocks import Block, Found, Settings, compare, repeated

from bertlab.adaptation import FineTuning
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.recipe import Model
from bertlab.tasks.kinds import KINDS
from bertlab.text import lines
from bertlab.text.tokenizers import SPECIALS, WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from bertlab.training.finetuned import Description, Finetuned
from bertlab.training.finetuning import Pretrained

ROWS = 512
LENGTH = 128
BATCHES = (1, 8, 32, 128)
LABELS = ("negative", "positive")
SHAPE = Model(layers=6, hidden=384, heads=12, positions="learned", max_positions=LENGTH)

transformers.logging.set_verbosity_error()


def words() -> list[str]:
    """30,000 words, each a token."""
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz"])
    draw = np.random.default_rng(0)
    return sorted({"".join(draw.choice(letters, size)) for size in draw.integers(3, 9, 30_000)})


def file(folder: Path) -> Path:
    """The sentences, as JSON lines."""
    draw, vocabulary = np.random.default_rng(1), words()
    lengths = np.clip(np.exp(draw.normal(3.0, 0.55, ROWS)).astype(int), 3, 60)
    rows = [{"sentence": " ".join(draw.choice(vocabulary, length))} for length in lengths]
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def model(here: Machine) -> Finetuned:
    """A classifier with random weights."""
    letters = [f"{mark}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##")]
    tokenizer = TrainedWordPiece([*SPECIALS, *letters, *words()], WordPiece())
    pretrained = PretrainingModel(SHAPE, tokenizer.size, LENGTH, 0)
    adaptation, kind = FineTuning(length=LENGTH), KINDS["classification"]
    adapted = adaptation.adapt(pretrained, kind, LABELS, ("task", 0, 0)).eval()
    described = Description(
        pretrained="0" * 16, weights="0" * 64, tokenizer="0" * 64, task="task", kind=kind.name, text=("sentence",),
        label="label", labels=LABELS, settings={},
    )  # fmt: skip
    return Finetuned(
        description=described,
        pretrained=Pretrained(model=pretrained, tokenizer=tokenizer, positions=LENGTH),
        model=adapted,
        adaptation=adaptation,
        kind=kind,
        machine=here,
    )


def ours(classifier: Finetuned, path: Path) -> Block:
    """A block of ours."""

    def work() -> float:
        with lines.opened(str(path)) as rows:
            return float(sum(1 for _ in classifier.outputs(rows)))

    return repeated(work, 1, time.process_time)


def peer(folder: Path, path: Path, batch: int) -> Block:
    """A block of the peer at a batch size."""
    classify = transformers.pipeline("text-classification", model=str(folder), device="cpu", top_k=None)

    def work() -> float:
        with path.open(encoding="utf-8") as rows:
            texts = [json.loads(row)["sentence"] for row in rows]
        return float(len(classify(texts, batch_size=batch, truncation=True)))

    return repeated(work, 1, time.process_time)


def beside(settings: Settings) -> Found:
    """Ours against the peer at its best."""
    torch.set_num_threads(settings.machine.num_threads)
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name) / "model", file(Path(name))
        classifier = model(settings.machine)
        parts = classifier.pretrained.model, SHAPE, classifier.pretrained.tokenizer
        fields = classifier.kind.published_fields(LABELS)
        huggingface.write_task(folder, classifier.model, *parts, classifier.kind.published_head, fields, LENGTH)
        speeds = {batch: peer(folder, path, batch)(0.0) for batch in BATCHES}
        best = max(speeds, key=speeds.__getitem__)
        print(f"the pipeline's best batch size: {best}", file=sys.stderr)
        return compare(ours(classifier, path), peer(folder, path, best), settings)


MEASURED = {"predicting": beside}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, pairs=4, seconds=10.0, threads=1))
