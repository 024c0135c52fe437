"""`bertlab finetune`: measures a finished model on one task, outside of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from bertlab.cli.console import print_json, print_table, say
from bertlab.cli.options import DeviceOptions, Json, Loggers, Retry, StoreOptions, TaskOptions, option
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.store.runs import Run


def finetune(
    task: Annotated[str, option("--task", "TASK", "Task: mnli, squad, conll2003, entities, ...")],
    from_: Annotated[str, option("--from", "RUN|DIR|HUB_NAME[@REVISION]", "The model to measure.")],
    options: TaskOptions,
    places: StoreOptions,
    devices: DeviceOptions,
    adaptation: Annotated[
        str, option("--adaptation", "KIND", "How to adapt the model: finetune, features or adapters.")
    ] = "finetune",
    logger: Loggers = None,
    retry: Retry = False,
    json: Json = False,
) -> int:
    """Fine-tune a finished model on one task and print its metrics.

    Uses the settings of a scale. `bertlab runs --prune` removes the result.
    """
    from bertlab.adaptation import Adaptation
    from bertlab.cli.carry_out import carry_out
    from bertlab.lab import plan as planning
    from bertlab.lab.pretrained import find
    from bertlab.lab.study import Measurement, Study, Variant
    from bertlab.recipe.ranges import arm
    from bertlab.store.runs import Store
    from bertlab.tasks import catalog, kinds

    adapted = arm(Adaptation, adaptation)()
    machine, store = devices.machine(places, logger), Store(places.runs)
    if options.intermediate_task and not adapted.intermediate:
        raise BadInput(f"--intermediate-task has no effect with --adaptation {adaptation}: leave one out")
    pretrained = find(from_, store, machine)
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
    plan = planning.make(options.request((one,), pretrained=pretrained), machine)
    complete = carry_out(plan.jobs, store, machine, retry=retry, quiet=json)
    found = [run for cell in plan.cells if (run := store.get(cell.job.id)) is not None]
    if json:
        print_json([{"id": run.id, "path": str(run.path), **run.result()} for run in found])
    elif found:
        _print(found)
    return 0 if complete else 1


def _print(runs: list[Run]) -> None:
    from statistics import fmean as mean

    results = [run.result() for run in runs]
    seeds = [f"fine-tuning seed {result['finetune_seed']}" for result in results]
    rows = []
    for split in [results, *([[each["test"] for each in results]] if "test" in results[0] else [])]:
        for name, floor in split[0]["majority"].items():
            values = [each["metrics"][name] for each in split]
            points = [*values, *([mean(values)] if len(values) > 1 else []), floor]
            rows.append([split[0]["split"], name, *(f"{each:.2f}" for each in points)])
    columns = ["split", "metric", *seeds, *(["mean"] if len(seeds) > 1 else []), "majority guess"]
    print_table(columns, rows, f"{results[0]['task']}: {results[0]['dataset']}, in points", left=2)
    if any(each["status"] == "collapsed" for each in results):
        say("collapsed: one fine-tuning seed predicts the same answer for all examples")
