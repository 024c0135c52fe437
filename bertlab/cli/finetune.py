"""`bertlab finetune`: measures a finished model on one task, outside of a study."""

from bertlab.cli import complete
from bertlab.cli.console import print_json, say
from bertlab.cli.options import (
    JSON,
    KEEP,
    LOGGERS,
    MODEL,
    RETRY,
    DeviceOptions,
    Names,
    StoreOptions,
    TaskOptions,
    option,
)
from bertlab.errors import BadInput


def finetune(
    options: TaskOptions,
    places: StoreOptions,
    devices: DeviceOptions,
    task: str = option(..., "--task", "TASK", "The task (see `bertlab tasks`).", autocompletion=complete.TASKS),
    from_: str = option(..., "--from", MODEL, "The model to measure.", autocompletion=complete.PRETRAINED),
    adaptation: str = option(
        "finetune",
        "--adaptation",
        "KIND",
        "How the model is adapted to the task, such as features or lora.",
        autocompletion=complete.ADAPTATIONS,
    ),
    keep: bool = KEEP,
    logger: Names = LOGGERS,
    retry: bool = RETRY,
    json: bool = JSON,
) -> int:
    """Fine-tune a finished model on one task and print its metrics.

    Uses the settings of a scale. `bertlab runs --prune` removes the result, unless --keep kept the model.

    Example: bertlab finetune --from masking/80/10/10/0 --task mnli
    """
    from bertlab.adaptation import Adaptation
    from bertlab.cli.carry_out import carry_out
    from bertlab.lab import plan as planning
    from bertlab.lab.jobs.find import find_pretrained
    from bertlab.lab.jobs.lists import check_kept
    from bertlab.lab.study import Measurement, Study, Variant
    from bertlab.recipe.ranges import arm
    from bertlab.store.config import write_run_config
    from bertlab.store.lookup import ids_of_studies
    from bertlab.store.runs import Store
    from bertlab.tasks import catalog, kinds

    adapted = arm(Adaptation, adaptation)()
    machine, store = devices.machine(places, logger), Store(places.runs)
    if options.intermediate_task and not adapted.intermediate:
        raise BadInput(f"--intermediate-task has no effect with --adaptation {adaptation}: leave one out")
    pretrained = find_pretrained(from_, store, machine)
    kind = kinds.find(catalog.find(task).kind)
    used = adapted.group(kind)
    for assignment in options.set_ or ():
        if not assignment.startswith((f"{used}.", f"tasks.{task}.")):
            raise BadInput(f"--set {assignment}: only {used}. and tasks.{task}. have an effect in this command")
    one = Study(
        name=pretrained.label,
        question="",
        source="",
        baseline=adaptation,
        variants=[Variant(adaptation)],
        measurements=[Measurement(task, task=task, adaptation=adapted, metric=kind.metrics[0])],
    )
    plan = planning.make(options.request((one,), pretrained=pretrained, keep=keep), machine)
    check_kept(plan.jobs, store)
    complete = carry_out(plan.jobs, store, machine, retry=retry)
    finished = [run for cell in plan.cells if (run := store.get(cell.job.id)) is not None]
    spelled = {"task": task, "from": from_, "adaptation": adaptation, "scale": options.scale, "set": options.set_}
    spelled |= {"substitute": options.substitute, "intermediate-task": options.intermediate_task}
    seeds = {"finetune-seeds": options.finetune_seeds, "data": places.data, "keep": keep or None}
    studied = ids_of_studies(store)  # whose commands are beside their records
    for run in finished:
        if run.id not in studied:
            write_run_config(run.path, "finetune", spelled | seeds)
    if json:
        print_json([{"id": run.id, "path": str(run.path), **run.read("result.json", dict)} for run in finished])
    counterpart = catalog.find(task).microworld
    data = f" (here {counterpart}, synthetic)" if plan.world and counterpart not in ("", task) else ""
    for result in [run.result() for run in finished]:
        for split in filter(None, (result, result.test)):
            points = [
                f"{name} {split.metrics[name]:.2f} (majority guess {floor:.2f})"
                for name, floor in split.majority.items()
            ]
            where = f"{result.task}{data}, {split.split}, fine-tuning seed {result.finetune_seed}"
            say(f"{where}: {', '.join(points)}")
        if result.status == "collapsed":
            say("collapsed: one answer for all examples")
    return 0 if complete else 1
