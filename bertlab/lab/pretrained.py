"""Opens pre-trained models: those of runs, with the parts of them that a study file defines, and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertlab.errors import BadInput
from bertlab.lab import user_code
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.store.run import Run

if TYPE_CHECKING:
    from bertlab.training.finetuning import Pretrained


def of_run(run: Run, study: str, option: str) -> Pretrained:
    """The model of a finished pre-training. `study` is the file that defines parts of it, whose code is run, and
    `option` what takes that.

    Raises `BadInput` as `load_user_code` and `open_pretrained` do.
    """
    run.verify()
    user_code.load_user_code(run, study, option)
    from bertlab.training.finetuning import open_pretrained

    return open_pretrained(run.path)


def opened(name: str, source: Run | Checkpoint, study: str) -> Pretrained:
    """The model of the run or the checkpoint that `name` names (see `jobs.find`). `study` is the file of `--study`.

    Raises `BadInput` as `of_run` does, and for a checkpoint with a study file.
    """
    if isinstance(source, Run):
        return of_run(source, study, user_code.OPTION)
    if study:
        raise BadInput(f"--study is for a run, and {name} is a checkpoint: leave it out")
    from bertlab.model.interop import huggingface
    from bertlab.training.finetuning import Pretrained

    _, model, tokenizer = huggingface.read(source.fetch())
    return Pretrained(model=model, tokenizer=tokenizer, positions=model.encoder.max_length)
