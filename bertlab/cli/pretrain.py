"""`bertlab pretrain`: one pre-training outside of a study."""

from bertlab import names
from bertlab.cli.console import print_json, say
from bertlab.cli.options import DRY_RUN, JSON, LOGGERS, RETRY, Names, TextOptions, TrainingOptions, in_store, option
from bertlab.errors import BadInput


def pretrain(
    options: TextOptions,
    devices: TrainingOptions,
    seed: int = option(0, "--seed", "N", "Seed of initial weights, data order and masks.", min=0),
    name: str = option(
        "", "--name", "NAME", "Label of the run, by which other commands find it.", show_default="pretrain-seedN"
    ),
    logger: Names = LOGGERS,
    retry: bool = RETRY,
    dry_run: bool = DRY_RUN,
    json: bool = JSON,
) -> int:
    """Pre-train one model outside of a study.

    Uses the recipe of a scale; --set changes any field. `bertlab runs --prune` removes the model.

    Example: bertlab pretrain --scale tiny --set masked_lm.mask_prob=0.4
    """
    from bertlab.cli.carry_out import carry_out, draw, unfinished
    from bertlab.lab import plan as planning
    from bertlab.lab import scales, texts
    from bertlab.lab.study import Measurement, Study, Variant
    from bertlab.store import addresses
    from bertlab.store.config import write_run_config
    from bertlab.store.lookup import addresses_of, ids_of_studies
    from bertlab.store.run import Run
    from bertlab.store.runs import Store

    scales.recipe_only(options.set_ or ())
    one = Study(
        name="pretrain",
        question="",
        source="",
        baseline="pretrain",
        variants=[Variant("pretrain")],
        measurements=[Measurement("perplexity", metric="perplexity")],
    )
    machine, store = devices.machine(options, logger), Store(options.runs)
    plan = planning.make(options.request((one,), seeds=(seed,)), machine)
    label = names.label(name) if name else f"pretrain-seed{seed}"
    job = plan.cells[0].pretraining.labelled(label)
    jobs = [*job.needs, job]

    def check_name(finished: Run | None) -> None:
        """Raises `BadInput` if the run is finished under another name: the name of its directory never changes."""
        if finished is not None and name and finished.label != label:
            address = addresses.shown(finished.label, addresses_of(store).get(finished.id, ()))
            raise BadInput(f"--name {name}: this pre-training is finished, as {address} ({finished.id}): use that name")

    if taken := [run for run in store.runs() if name and run.label == label and run.id != job.id]:
        raise BadInput(f"--name {name}: another run, {taken[0].id}, has this name: give another")
    check_name(store.get(job.id))
    cost = draw(plan, store, machine)
    if dry_run:
        if json:
            print_json(cost.to_json() | {"text": texts.known(plan.jobs, store)})
        return 0
    if not carry_out(jobs, store, machine, retry=retry):
        if json:
            print_json({"unfinished": unfinished(jobs, store)})
        return 1
    run = store.get(job.id)
    assert run is not None
    check_name(run)  # another command may have finished it meanwhile
    spelled = {"scale": options.scale, "set": options.set_, "corpus": options.corpus, "vocab": options.vocab}
    if run.id not in ids_of_studies(store):  # whose commands are beside their records
        write_run_config(run.path, "pretrain", {**spelled, "data": options.data, "seed": seed, "name": name})
    if json:
        print_json({"id": run.id, "path": str(run.path), **run.read("result.json", dict)})
        return 0
    figures = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in run.result().heldout.items())
    called = run.label if name else run.id  # without --name, other recipes have the same label
    say(f"{called} on held-out text: {figures} (losses in nats)")
    there = in_store(store.root)
    tuning = f"finetune --from {called} --task mnli --scale {options.scale}"  # its settings fit the size of the model
    ways = (tuning, f"fill-mask {called} TEXT", f"export {called} DIR")
    say("Next: " + ", ".join(f"`bertlab {way}{there}`" for way in ways))
    return 0
