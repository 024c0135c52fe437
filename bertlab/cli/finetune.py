"""`bertlab finetune`: measures a finished model on one task, outside of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertlab.cli.complete import MODEL
from bertlab.cli.console import print_json, say
from bertlab.cli.options import (
    JSON,
    KEEP,
    LOGGERS,
    RETRY,
    DeviceOptions,
    Names,
    StoreOptions,
    TaskOptions,
    by_name,
    in_store,
    option,
)
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bertlab.adaptation import Adaptation
    from bertlab.lab.study import Study
    from bertlab.store.result import Result
    from bertlab.tasks.locate import LocatedTask


def finetune(
    options: TaskOptions,
    folders: StoreOptions,
    devices: DeviceOptions,
    task: str = option(..., "TASK", "The task (see `bertlab tasks`)."),
    from_: str = option(..., MODEL, "The model to measure."),
    adaptation: str = option("finetune", "KIND", "How the model is adapted to the task, such as features or lora."),
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
    from bertlab.cli.jobs import run_jobs, write_options
    from bertlab.lab import plan as planning
    from bertlab.lab.jobs.find import find_pretrained
    from bertlab.recipe.ranges import arm
    from bertlab.store.runs import Store

    adapted = arm(Adaptation, adaptation)()
    machine, store = devices.machine(folders, logger), Store(folders.runs)
    if options.intermediate_task and not adapted.intermediate:
        raise BadInput(f"--intermediate-task has no effect with --adaptation {adaptation}: leave one out")
    pretrained = find_pretrained(from_, store, machine)
    study = _study(pretrained.label, task, adapted, options.set_ or ())
    plan = planning.make(options.request((study,), pretrained=pretrained, keep=keep), machine)
    complete = run_jobs(plan.jobs, store, machine, retry=retry)
    finished = [run for cell in plan.cells if (run := store.get(cell.job.id)) is not None]
    spelled = {"task": task, "from": from_, "adaptation": adaptation, "keep": keep or None}
    spelled |= by_name(options) | by_name(folders)
    write_options(finished, store, "finetune", spelled)
    if json:
        print_json([{"id": run.id, "path": str(run.path), **run.read("result.json", dict)} for run in finished])
    for run in finished:
        _print_result(run.result(), plan.cells[0].job.tasks[0])
    if keep and finished:
        say(f"Next: `bertlab predict {finished[0].id} FILE{in_store(store.root)}` answers the rows of a file.")
    return 0 if complete else 1


def _study(name: str, task: str, adaptation: Adaptation, assignments: Sequence[str]) -> Study:
    """A study that adapts one model to one task. Raises `BadInput` where `--set` has no effect on that."""
    from bertlab.lab.study import Measurement, Study
    from bertlab.tasks import catalog, kinds

    kind = kinds.find(catalog.find(task).kind)
    used = adaptation.group(kind)
    for assignment in assignments:
        if not assignment.startswith((f"{used}.", f"tasks.{task}.")):
            raise BadInput(f"--set {assignment}: only {used}. and tasks.{task}. have an effect in this command")
    measurement = Measurement(task, task=task, adaptation=adaptation, metric=kind.metrics[0])
    return Study.of_one(name, adaptation.kind, measurement)


def _print_result(result: Result, located: LocatedTask) -> None:
    """Prints the metrics of a fine-tuning on each of its splits, and what its examples are if not those of its task."""
    here = f"{located.task.name}, synthetic" if located.origin == "microworld" else located.task.name
    data = f" (here {here})" if located.task.name != result.task else ""
    for split in filter(None, (result, result.test)):
        floors = split.majority.items()
        points = [f"{name} {split.metrics[name]:.2f} (majority guess {floor:.2f})" for name, floor in floors]
        where = f"{result.task}{data}, {split.split}, fine-tuning seed {result.finetune_seed}"
        say(f"{where}: {', '.join(points)}")
    if result.status == "collapsed":
        say("collapsed: one answer for all examples")
