"""Records of studies joined with the finished runs that are their cells. No study code, no logs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bertlab.errors import BadInput, warn
from bertlab.report.cells import Cell, Point, Pretraining, number
from bertlab.report.claims import claimed
from bertlab.report.evidence import NUMERICS, Evidence
from bertlab.report.predictions import Predictions
from bertlab.store.forms import REPORTED
from bertlab.store.runs import Run, Store

SCALES = ("paper", "base", "mini", "tiny", "smoke")
"""The order of sections: the most evidence first."""


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
    """The records that a report can be made of; the others are named on standard error."""
    for name, record in store.records(REPORTED, needed=()).items():
        try:
            claimed(record)
        except BadInput as error:
            warn(f"'{store.root / 'studies' / name}.json': {error}; the record is passed over")
        else:
            yield record


def _rank(scale: str) -> int:
    return SCALES.index(scale) if scale in SCALES else len(SCALES)


def _damaged(store: Store) -> dict[str, str]:
    """Why runs that were finished do not count any more, by id."""
    return {
        run.id: f"{path.relative_to(run.path)} is not as it was: the same `bertlab ablate` makes the run anew"
        for run, path in store.damaged()
    }


def _join(
    store: Store,
    record: Mapping[str, Any],
    runs: Mapping[str, Run],
    damaged: Mapping[str, str],
    predictions: Predictions,
) -> Evidence:
    pretrainings = []
    for row in record["rows"]:
        run = runs.get(row["pretrain_id"])
        status, reason = _fate(store, damaged, [row["pretrain_id"]])
        result = run.result() if run else {}
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
                science=run.science() if run else {},
                curve=_curve(run, result) if run else (),
                seconds=run.seconds() if run else 0.0,
                numerics=_stamp({"compiled": "no"} | environment.get("numerics", {}) if run else {}, NUMERICS),
                host=_stamp(environment, ("processor", "cores", "system", "python")),
                software=_stamp(versions, sorted(versions.keys() - set(NUMERICS))),
            )
        )
    cells = [_cell(store, cell, runs.get(cell["run_id"]), damaged) for cell in record["cells"]]
    corpora = sorted({str(each.science.get("corpus")) for each in pretrainings} & runs.keys())
    preparation = math.fsum(runs[run_id].seconds() for run_id in corpora)
    return Evidence(record, tuple(cells), tuple(pretrainings), preparation, predictions)


def _cell(store: Store, cell: Mapping[str, Any], run: Run | None, damaged: Mapping[str, str]) -> Cell:
    status, reason = ("", "") if run else _fate(store, damaged, [cell["run_id"], cell["pretrain_id"]])
    result = run.result() if run else {}
    rows = result.get("rows", {})
    judged = result  # on the evaluation split; the test split, if it is that which is asked for, stands beside it
    if result.get("split", cell["split"]) != cell["split"]:
        judged = result.get("test", {})
        rows = {**rows, "evaluation": judged.get("rows", 0)}
    figures = judged.get("heldout" if cell["method"] == "pretraining" else "metrics", {})
    value = number(figures.get(cell["metric"]))
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
        train_rows=int(rows.get("train", 0)),
        evaluation_rows=int(rows.get("evaluation", 0)),
        # what is read off a pre-training takes none of its own
        seconds=run.seconds() if run and cell["method"] != "pretraining" else 0.0,
        numerics=_stamp(run.environment().get("numerics", {}), NUMERICS) if run else (),
        kind=str(run.science().get("task", {}).get("kind", "")) if run else "",
        length=int(result.get("length", 0)),
        settings=result.get("settings", {}),
        threshold=number(result.get("threshold")),
    )


def _fate(store: Store, damaged: Mapping[str, str], run_ids: Iterable[str]) -> tuple[str, str]:
    """Why there is no result: the first of the runs that ended without one says it, else it is still to come."""
    for run_id in run_ids:
        if run_id in damaged:
            return "damaged", damaged[run_id]
        failure = store.failure(run_id)
        if failure:
            return str(failure.get("status", "failed")), str(failure.get("reason", ""))
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
        names = ("heldout_masked_lm_loss", "heldout_own_loss", "heldout_causal_loss")
        losses = [number(line.get(name)) for name in names]
        if any(loss is not None for loss in losses):
            step = int(line["step"])
            seconds = math.fsum(taken for until, taken in trained if until <= step) if trained else None
            points[step] = Point(step, step * each, seconds, *losses)
    return tuple(points[step] for step in sorted(points))


def _stamp(facts: Mapping[str, Any], names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(facts[name])) for name in names if name in facts)
