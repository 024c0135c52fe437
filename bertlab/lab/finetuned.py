"""Opens the fine-tuned model of a run, with the parts of it that a study file defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertlab.adaptation import Adaptation
from bertlab.lab import user_code
from bertlab.machine import Machine
from bertlab.recipe.identity import load
from bertlab.store import lookup
from bertlab.store.runs import Store
from bertlab.tasks import kinds

if TYPE_CHECKING:
    from bertlab.training.finetuned import Finetuned

NO_MODEL = (
    "keeps no fine-tuned model: `bertlab finetune --keep` makes one of a pre-training; to have one, a measurement is "
    "removed (`bertlab runs --remove`) and its command repeated with --keep"
)


def opened(store: Store, name: str, study: str, option: str, machine: Machine) -> Finetuned:
    """The fine-tuned model of the run that `name` names. `study` is the file that defines parts of it, whose code is
    run, and `option` what takes that.

    Raises `BadInput` for a run that keeps none, and as `open_finetuned` does.
    """
    run = lookup.find(store, name, lambda run: run.holds_task_model, otherwise=NO_MODEL)
    definition = run.definition()
    pretraining = store.get(str(definition["pretrain"]))
    if study:
        user_code.load_user_code(run, study, option)
    elif pretraining is not None:
        user_code.load_user_code(pretraining, "", option)
    with user_code.needing_file(run, option):
        load(Adaptation, definition["settings"])
        kinds.find(definition["task"]["kind"])
    from bertlab.training.finetuned import open_finetuned

    return open_finetuned(store, run, machine)
