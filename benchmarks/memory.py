"""Peak resident memory of pre-training at scale mini, beside the Trainer of transformers at its defaults.

    python benchmarks/memory.py [--pairs 3] [--out FILE.json]

Each training is a fresh process: what it imports counts, and what the others left does not. It ends after a
few steps, when all that a step needs has been had.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import ids
import script
from blocks import Block, Found, Settings, found
from shapes import MINI

from bertlab.inputs.batches import Batches
from bertlab.machine import Machine

Side = Callable[[Batches, Machine], Block]


def ours(batches: Batches, machine: Machine) -> Block:
    """Our training, as jobs do it."""
    from ours import through_lightning

    return through_lightning(MINI, machine, batches)


def peer(batches: Batches, machine: Machine) -> Block:
    """The Trainer, with the same threads."""
    import torch
    from peers import through_trainer

    torch.set_num_threads(machine.num_threads)
    return through_trainer(MINI, batches)


def peak(side: Side, directory: Path, machine: Machine) -> int:
    """Peak resident bytes of this process after it has trained on what is in `directory`."""
    block = side(Batches(MINI.recipe, ids.read(directory, MINI.vocabulary)), machine)
    block(0.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def afresh(side: Side, directory: Path, machine: Machine) -> int:
    """The same in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(peak, side, directory, machine).result()


def memory(settings: Settings) -> Found:
    """Ours against the peer; nothing of it depends on how busy the machine is."""
    with tempfile.TemporaryDirectory() as folder:
        ids.write(Path(folder), MINI.vocabulary)
        mine, theirs = (
            [afresh(side, Path(folder), settings.machine) for _ in range(settings.pairs)] for side in (ours, peer)
        )
    return found(list(zip(mine, theirs, strict=True)))


MEASURED = {"memory": memory}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, pairs=3))
