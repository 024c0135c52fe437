"""`bertlab pretrain`: one pre-training outside of a study."""

import dataclasses

from bertlab.cli.console import print_json, say
from bertlab.cli.options import DRY_RUN, JSON, LOGGERS, RETRY, Names, TextOptions, TrainingOptions, option


def pretrain(
    options: TextOptions,
    devices: TrainingOptions,
    seed: int = option(0, "--seed", "N", "Seed of initial weights, data order and masks.", min=0),
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
    from bertlab.lab import scales
    from bertlab.lab.study import Measurement, Study, Variant
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
    found = draw(plan, store, machine)
    if dry_run:
        if json:
            print_json(dataclasses.asdict(found))
        return 0
    if not carry_out(plan.jobs, store, machine, retry=retry):
        if json:
            print_json({"unfinished": unfinished(plan.jobs, store)})
        return 1
    run = store.get(plan.cells[0].job.id)
    assert run is not None
    if json:
        print_json({"id": run.id, "path": str(run.path), **run.result()})
        return 0
    figures = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in run.result()["heldout"].items())
    say(f"{run.id} on held-out text: {figures} (losses in nats)")
    say(f"Next: `bertlab finetune --from {run.id} --task mnli`, `bertlab fill-mask`, `bertlab export {run.id} DIR`")
    return 0
