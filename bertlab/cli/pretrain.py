"""`bertlab pretrain`: one pre-training outside of a study."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bertlab import names
from bertlab.cli.console import print_json, say
from bertlab.cli.options import (
    DRY_RUN,
    JSON,
    LOGGERS,
    RETRY,
    Names,
    TextOptions,
    TrainingOptions,
    by_name,
    in_store,
    option,
)
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.lab.jobs import Job
    from bertlab.store.run import Run
    from bertlab.store.runs import Store


def pretrain(
    options: TextOptions,
    devices: TrainingOptions,
    seed: int = option(0, "N", "Seed of initial weights, data order and masks.", min=0),
    name: str = option("", "NAME", "Label of the run, by which other commands find it.", show_default="pretrain-seedN"),
    logger: Names = LOGGERS,
    retry: bool = RETRY,
    dry_run: bool = DRY_RUN,
    json: bool = JSON,
) -> int:
    """Pre-train one model outside of a study.

    Uses the recipe of a scale; --set changes any field. `bertlab runs --prune` removes the model.

    Example: bertlab pretrain --scale tiny --set masked_lm.mask_prob=0.4
    """
    from bertlab.cli.jobs import print_plan, run_jobs, unfinished, write_options
    from bertlab.lab import plan as planning
    from bertlab.lab import scales, texts
    from bertlab.lab.study import Measurement, Study
    from bertlab.store.runs import Store

    scales.recipe_only(options.set_ or ())
    machine, store = devices.machine(options, logger), Store(options.runs)
    study = Study.of_one("pretrain", "pretrain", Measurement("perplexity", metric="perplexity"))
    plan = planning.make(options.request((study,), seeds=(seed,)), machine)
    job = plan.cells[0].pretraining.labelled(names.label(name) if name else f"pretrain-seed{seed}")
    jobs = [*job.needs, job]
    _check_name(store, job, name)
    cost = print_plan(plan, store, machine)
    if dry_run:
        if json:
            print_json(cost.to_json() | {"text": texts.corpus_facts(plan.jobs, store)})
        return 0
    if not run_jobs(jobs, store, machine, retry=retry):
        if json:
            print_json({"unfinished": unfinished(jobs, store)})
        return 1
    _check_name(store, job, name)  # another command may have finished it meanwhile
    run = store.wait_for(job.id)
    write_options([run], store, "pretrain", {**by_name(options), "seed": seed, "name": name})
    if json:
        print_json({"id": run.id, "path": str(run.path), **run.read("result.json", dict)})
    else:
        _tell(run, run.label if name else run.id, options.scale)  # without --name, other recipes have the same label
    return 0


def _check_name(store: Store, job: Job, name: str) -> None:
    """Raises `BadInput` if another run has the `name` of a job, or if the job is finished under another name.

    The name of a run's directory never changes.
    """
    from bertlab.store import addresses
    from bertlab.store.lookup import addresses_of

    for run in store.runs() if name else ():
        if run.label == job.label and run.id != job.id:
            raise BadInput(f"--name {name}: another run, {run.id}, has this name: give another")
        if run.id == job.id and run.label != job.label:
            address = addresses.shown(run.label, addresses_of(store).get(run.id, ()))
            raise BadInput(f"--name {name}: this pre-training is finished, as {address} ({run.id}): use that name")


def _tell(run: Run, called: str, scale: str) -> None:
    """Prints the losses of a pre-training, and what can be done with it."""
    from bertlab.model.interop.architectures import architecture_of
    from bertlab.recipe import Recipe
    from bertlab.recipe.identity import load

    recipe = load(Recipe, run.definition()["recipe"])
    figures = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in run.result().heldout.items())
    say(f"{called} on held-out text: {figures} (losses in nats)")
    tuning = f"finetune --from {called} --task mnli --scale {scale}"  # its settings fit the size of the model
    ways = [tuning]
    tasks = {loss.hub_task for loss in recipe.objective}
    ways += [f"fill-mask {called} TEXT"] * ("fill-mask" in tasks)
    ways += [f"generate {called} TEXT"] * ("text2text-generation" in tasks)
    with suppress(BadInput):  # of a model that transformers lacks
        architecture_of(recipe.model, recipe.causal, recipe.tokenizer.load(run.path / recipe.tokenizer.file).pad)
        ways.append(f"export {called} DIR")
    say("Next: " + ", ".join(f"`bertlab {way}{in_store(run.root)}`" for way in ways))
