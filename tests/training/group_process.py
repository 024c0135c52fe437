"""One process of a group that pre-trains: `python group_process.py RANK RANKS PLACE CORPUS`, PLACE being all the same.

Each training of `TRAININGS` is made in `PLACE/<name>`, and what ended it is written to `PLACE/<name>-<RANK>.json`.
"""

import dataclasses
import datetime
import json
import os
import sys
import time
from pathlib import Path

from bertlab.lab import scales
from bertlab.machine import Machine
from bertlab.objectives import CausalLM, MaskedLM, ReplacedTokens, TokenGenerator
from bertlab.optimizers import LAMB, Adafactor
from bertlab.recipe import Inputs

SMOKE = scales.find("smoke").recipe
ALONE = (MaskedLM(),)


def exact(batch, micro_batch=0, norm="layer", **changes):
    """20 steps without dropout, so that a group's losses are those of one process, and their micro-batches."""
    model = dataclasses.replace(SMOKE.model, dropout=0.0, norm=norm)
    schedule = dataclasses.replace(SMOKE.schedule, steps=20, batch_size=batch)
    return dataclasses.replace(SMOKE, model=model, schedule=schedule, **changes), micro_batch


EXACT = {
    "pairs": exact(7, 2, norm="power"),
    "sentences": exact(1, inputs=Inputs(length=32, format="doc-sentences"), objective=ALONE, optimizer=LAMB()),
    "left-to-right": exact(3, objective=(CausalLM(),), optimizer=Adafactor()),
    "replaced": exact(5, 2, objective=(TokenGenerator(), ReplacedTokens())),
}
"""In float64; where a batch is one row, a process has none."""


def machine(micro_batch=0):
    gpus = int(os.environ.get("BERTLAB_GROUP_GPUS", "0"))
    return Machine(gpus=gpus, threads=1, precision="fp32", micro_batch=micro_batch)


def main(rank, ranks, place, corpus_directory):
    import torch
    from lightning.pytorch import Trainer
    from lightning.pytorch.plugins.environments import LightningEnvironment
    from lightning.pytorch.strategies import DDPStrategy
    from torch import distributed

    from bertlab import progress
    from bertlab.errors import RunFailed
    from bertlab.model.heads import PretrainingModel
    from bertlab.progress import Interrupted, silent
    from bertlab.text.tokenizers import WordPiece
    from bertlab.text.tokens import open_corpus
    from bertlab.training import callbacks, module, pretraining
    from bertlab.training.process_group import ProcessGroup
    from bertlab.training.trainer import REDUCTION

    # NCCL refuses two processes on one card, gloo sums what lies on any device.
    cards = bool(machine().gpus and torch.cuda.device_count() >= ranks)
    backend = "cpu:gloo,cuda:nccl" if cards else "gloo"
    if cards:
        torch.cuda.set_device(rank)

    class Place(LightningEnvironment):
        creates_processes_externally = True

        def world_size(self):
            return ranks

        def global_rank(self):
            return rank

        def local_rank(self):
            return rank if cards else 0

        def set_world_size(self, size): ...

        def set_global_rank(self, rank): ...

    def train(name, recipe, work, micro_batch=0, watch=silent):
        work = place / work
        work.mkdir(exist_ok=True)
        try:
            strategy = DDPStrategy(cluster_environment=Place(), **REDUCTION)
            group = ProcessGroup(rank, ranks)
            ended = pretraining.pretrain(recipe, corpus, work, machine(micro_batch), (50, 100), watch, group, strategy)
        except RunFailed as error:
            ended = {"status": error.status, "reason": str(error)}
        except Interrupted as error:
            ended = {"status": "interrupted", "number": error.number}
        except RuntimeError as error:  # of what the processes send each other
            ended = {"status": "broken", "reason": str(error)}
        (place / f"{name}-{rank}.json").write_text(json.dumps(ended))

    corpus = open_corpus(corpus_directory, WordPiece())
    distributed.init_process_group(
        backend, f"file://{place}/meeting", datetime.timedelta(seconds=600), world_size=ranks, rank=rank
    )
    torch.set_default_dtype(torch.float64)
    for name, (recipe, micro_batch) in EXACT.items():
        train(name, recipe, name, micro_batch)
    torch.set_default_dtype(torch.float32)

    train("whole", SMOKE, "whole")

    def ask_one(done, total, stage="", /, **figures):
        if done == 7 and rank == 1:
            progress._received.append(2)

    train("stopped", SMOKE, "resumed", watch=ask_one)
    progress._received.clear()
    train("resumed", SMOKE, "resumed")

    losses = PretrainingModel.losses
    calls = iter(range(1000))

    def poisoned(self, batch):
        sums = losses(self, batch)
        return sums | ({"masked_lm": sums["masked_lm"] * float("nan")} if rank == 1 and next(calls) == 5 else {})

    PretrainingModel.losses = poisoned
    train("poisoned", SMOKE, "poisoned")
    PretrainingModel.losses = losses

    # On an accelerator figures are read late, and no two processes have the same clock.
    now, saves, broadcasts = [0.0], [], []
    save, broadcast = Trainer.save_checkpoint, distributed.broadcast

    def tick(done, total, stage="", /, **figures):
        now[0] = done * (1.0 if rank == 0 else 3.1)
        broadcasts.append(len(sent))
        if done == 38 and rank == 1:
            progress._received.append(2)

    sent = []
    distributed.broadcast = lambda *arguments, **options: sent.append(1) or broadcast(*arguments, **options)
    module.MetricBuffer.due = property(lambda self: len(self._steps) >= module.STEPS)
    Trainer.save_checkpoint = lambda self, path: saves.append(self.global_step) or save(self, path)
    callbacks.SECONDS_BETWEEN_CHECKPOINTS = 7.5
    time.monotonic = lambda: now[0]
    distributed.destroy_process_group()
    distributed.init_process_group(
        backend, f"file://{place}/again", datetime.timedelta(seconds=600), world_size=ranks, rank=rank
    )
    schedule = dataclasses.replace(SMOKE.schedule, steps=300)  # figures are read at every third step
    train("clocks", dataclasses.replace(SMOKE, schedule=schedule), "clocks", watch=tick)
    (place / f"saves-{rank}.json").write_text(json.dumps([saves, broadcasts[-1] - broadcasts[0]]))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
