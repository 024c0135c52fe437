"""Records of studies joined with their finished runs. No study code, no logs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bertlab.errors import BadInput, warn
from bertlab.names import plain
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.report.cells import Cell, Point, Pretraining, number
from bertlab.report.evidence import NUMERICS, Evidence
from bertlab.report.findings import claimed
from bertlab.report.predictions import Predictions
from bertlab.store.forms import REPORTED
from bertlab.store.runs import Run, Store

SCALES = ("paper", "base", "mini", "tiny", "smoke")
"""The order of sections: largest first."""


def gather(store: Store, records: Iterable[Mapping[str, Any]]) -> list[Evidence]:
    """The evidence of these records of the store, in their order."""
    runs = {run.id: run for run in store.runs()}
    damaged, predictions = _damaged(store), Predictions(runs)
    return [_join(store, record, runs, damaged, predictions) for record in records]


def gather_all(store: Store) -> list[Evidence]:
    """The evidence of all records of the store: studies by name, within them the largest scale first."""
    found = gather(store, _complete(store))
    return sorted(found, key=lambda each: (each.study, _rank(each.scale), each.scale, each.corpus, each.key))


def _complete(store: Store) -> Iterator[dict[str, Any]]:
    """The records that a report can read; a warning names the others."""
    for name, record in store.records(REPORTED, needed=()).items():
        try:
            claimed(record)
        except BadInput as error:
            warn(f"'{store.root / 'studies' / name}.json': {error}; the record is skipped")
        else:
            yield record


def _rank(scale: str) -> int:
    return SCALES.index(scale) if scale in SCALES else len(SCALES)


def _damaged(store: Store) -> dict[str, str]:
    """Why runs that were finished do not count, by id."""
    return {
        run.id: f"{path.relative_to(run.path)} has changed on disk: the same `bertlab ablate` repeats the run"
        for run, path in store.damaged()
    }


def _plain(value: Any) -> Any:
    """JSON data with all text on one line and without control characters."""
    if isinstance(value, Mapping):
        return {plain(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return plain(value) if isinstance(value, str) else value


def _join(
    store: Store,
    record: Mapping[str, Any],
    runs: Mapping[str, Run],
    damaged: Mapping[str, str],
    predictions: Predictions,
) -> Evidence:
    record = _plain(record)
    pretrainings = []
    for row in record["rows"]:
        run = runs.get(row["pretrain_id"])
        status, reason = _fate(store, damaged, [row["pretrain_id"]])
        result, science = (_plain(run.result()), run.science()) if run else ({}, {})
        environment = run.environment() if run else {}
        versions = environment.get("versions", {})
        pretrainings.append(
            Pretraining(
                variant=row["variant"],
                seed=row["pretrain_seed"],
                id=row["pretrain_id"],
                status=str(result.get("status", "done")) if run else status,
                reason="" if run else reason,
                result=result,
                recipe=load(Recipe, science.get("recipe", {})) if run else None,
                corpus=str(science.get("corpus", "")),
                curve=_curve(run, result) if run else (),
                seconds=run.seconds() if run else 0.0,
                numerics=_stamp({"compiled": "no"} | environment.get("numerics", {}) if run else {}, NUMERICS),
                host=_stamp(environment, ("processor", "cores", "system", "python")),
                software=_stamp(versions, sorted(versions.keys() - set(NUMERICS))),
            )
        )
    cells = [_cell(store, cell, runs.get(cell["run_id"]), damaged) for cell in record["cells"]]
    corpora = sorted({each.corpus for each in pretrainings} & runs.keys())
    preparation = math.fsum(runs[run_id].seconds() for run_id in corpora)
    return Evidence(record, tuple(cells), tuple(pretrainings), preparation, predictions)


def _cell(store: Store, cell: Mapping[str, Any], run: Run | None, damaged: Mapping[str, str]) -> Cell:
    status, reason = ("", "") if run else _fate(store, damaged, [cell["run_id"], cell["pretrain_id"]])
    result = _plain(run.result()) if run else {}
    examples = result.get("rows", {})
    judged = result  # of the evaluation split; the result of the test split stands in it
    if result.get("split", cell["split"]) != cell["split"]:
        judged = result.get("test", {})
        examples = {**examples, "evaluation": judged.get("rows", 0)}
    metrics = judged.get("heldout" if cell["method"] == "pretraining" else "metrics", {})
    value = number(metrics.get(cell["metric"]))
    if run:
        status = str(result.get("status", "done"))
        if value is None and status == "done":
            status, reason = "failed", f"its result has no finite {cell['metric']}"
    return Cell(
        variant=cell["variant"],
        measurement=cell["measurement"],
        task=cell["task"],
        dataset=cell["dataset"],
        split=cell["split"],
        method=cell["method"],
        metric=cell["metric"],
        milestone=cell["milestone"],
        pretrain_seed=cell["pretrain_seed"],
        finetune_seed=cell["finetune_seed"],
        pretrain_id=cell["pretrain_id"],
        run_id=cell["run_id"],
        published=number(cell["published"]),
        status=status,
        reason=reason,
        value=value,
        majority=number(judged.get("majority", {}).get(cell["metric"])),
        lexical=number(judged.get("lexical", {}).get(cell["metric"])),
        exchanged=number(judged.get("exchanged", {}).get(cell["metric"])),
        train_examples=int(examples.get("train", 0)),
        eval_examples=int(examples.get("evaluation", 0)),
        trained_parameters=result.get("trained_parameters"),
        # what is read off a pre-training takes no time of its own
        seconds=run.seconds() if run and cell["method"] != "pretraining" else 0.0,
        numerics=_stamp(run.environment().get("numerics", {}), NUMERICS) if run else (),
        kind=str(run.science().get("task", {}).get("kind", "")) if run else "",
        length=int(result.get("length", 0)),
        settings=result.get("settings", {}),
        threshold=number(result.get("threshold")),
    )


def _fate(store: Store, damaged: Mapping[str, str], run_ids: Iterable[str]) -> tuple[str, str]:
    """Why there is no result: the failure of the first run that has one, else `pending`."""
    for run_id in run_ids:
        if run_id in damaged:
            return "damaged", damaged[run_id]
        failure = store.failure(run_id)
        if failure:
            return plain(str(failure.get("status", "failed"))), plain(str(failure.get("reason", "")))
    return "pending", ""


def _curve(run: Run, result: Mapping[str, Any]) -> tuple[Point, ...]:
    """The held-out evaluations in order. Steps all hold the same number of tokens, up to padding."""
    steps = result.get("steps") or 0
    if not steps:
        return ()
    each = float(result.get("tokens", 0)) / steps
    trained = [(line["step"], line["seconds"]) for line in run.timing() if line["stage"] == "train"]
    points = {}
    for line in run.metrics():
        names = [name for name in line if name.startswith("heldout_") and name.endswith("_loss")]
        measured = {name.removeprefix("heldout_"): number(line[name]) for name in names}
        if losses := {name: loss for name, loss in measured.items() if loss is not None}:
            step = int(line["step"])
            seconds = math.fsum(taken for until, taken in trained if until <= step) if trained else None
            points[step] = Point(step, step * each, seconds, losses)
    return tuple(points[step] for step in sorted(points))


def _stamp(facts: Mapping[str, Any], names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(facts[name])) for name in names if name in facts)
