"""Joins the records of studies with their finished runs, by what bertlab's own studies say now. Runs no code of study
files, reads no logs."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput, warn
from bertlab.lab.claim import GUESS, Claim
from bertlab.lab.needs import Needs, sizes
from bertlab.lab.scales import SCALES
from bertlab.lab.statement import restated
from bertlab.machine import Machine
from bertlab.names import plain_data
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.report.apart import told_apart
from bertlab.report.averages import AverageColumn
from bertlab.report.cells import FLOORS, Cell, Point, Pretraining, number
from bertlab.report.evidence import Evidence
from bertlab.report.looks import Looks, hypothesis
from bertlab.report.numerics import NUMERICS
from bertlab.report.predictions import Predictions
from bertlab.report.units import is_loss, is_share
from bertlab.store import union
from bertlab.store.addenda import floor_key
from bertlab.store.record import Record, Row, Speeds, StatedAverage, Value
from bertlab.store.run import Run
from bertlab.store.runs import Store

LEXICAL_EXAMPLES = 4_000
"""At most so many training examples fit the lexical floors of earlier versions."""
UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a record or a result of another form raises where it is read; `BadInput` is a `ValueError`."""


def gather(store: Store, records: Iterable[Record]) -> list[Evidence]:
    """The evidence of these records of the store, in their order."""
    reader = _Reader(store)
    return [reader.evidence(record) for record in records]


def gather_all(store: Store, machine: Machine | None = None) -> list[Evidence]:
    """The evidence of all records of the store: studies by name, within them the largest scale first.

    With a `machine`, examples of its local tasks have texts. Warns of records that it cannot read.
    """
    reader, sections = _Reader(store, machine), list[tuple[Evidence, Record]]()
    for name, record in store.records(needed=()).items():
        try:
            sections.append((reader.evidence(record), record))
        except UNFIT as error:
            problem = str(error) if isinstance(error, BadInput) else f"no report can be made of it ({error!r})"
            warn(f"'{store.root / 'studies' / name}.json': {problem}; the record is skipped")
    rank = {scale: position for position, scale in enumerate(reversed(SCALES))}

    def order(section: Evidence) -> tuple[object, ...]:
        setting = section.corpus, section.setting_name, section.own_options, section.key
        return section.study, rank.get(section.scale, 9), section.scale, *setting

    return sorted(told_apart(sections), key=order)


class _Reader:
    """The finished and the damaged runs of a store."""

    def __init__(self, store: Store, machine: Machine | None = None) -> None:
        self.store = store
        self.runs = {run.id: run for run in store.runs()}
        self.damaged = {
            run.id: f"{path.relative_to(run.path)} has changed on disk: the same bertlab ablate repeats the run"
            for run, path in store.damaged()
        }
        self.predictions = Predictions(self.runs, machine)
        self.addenda = store.addenda()

    def evidence(self, record: Record) -> Evidence:
        """A record with its runs, and with the words of its study now.

        Raises `BadInput` for a claim or an average that compares or averages nothing.
        """
        name, before = union.name_of(record), {(claim.on, hypothesis(claim)) for claim in _claims(record)}
        record = plain_data(restated(record))
        claims = _claims(record)
        corpora = {row.pretrain_id: row.corpus_id for row in record.rows}
        pretrainings = tuple(map(self.pretraining, record.rows))
        trained = {run.variant: sizes(run.recipe) for run in pretrainings if run.recipe}
        return Evidence(
            name=name,
            study=record.study,
            scale=record.scale,
            question=record.question,
            source=record.source,
            baseline=record.baseline,
            corpus=record.corpus,
            pretrained=record.pretrained,
            substitutes=record.substitutes,
            notes=record.notes,
            intermediate_task=record.intermediate_task,
            searched=record.searched,
            command=union.command(record.requests, record.name),
            defined={
                "variants": list(record.definition.variants),
                "measurements": list(record.definition.measurements),
            },
            synthetic=record.world,
            medians=record.summary == "median",
            deviations=[(difference.on, difference.what) for difference in record.differences],
            claims=claims,
            later=frozenset(claim for claim in claims if (claim.on, hypothesis(claim)) not in before),
            sizes=trained | dict(record.sizes or {}),
            averages=tuple(map(_average, record.averages)),
            cells=tuple(self.cell(value, corpora.get(value.pretrain_id, "")) for value in record.cells),
            pretrainings=pretrainings,
            remarks=tuple(remark for remark in self.addenda.remarks if remark.study == record.study),
            looks=Looks.of(record),
            speeds=record.speeds or Speeds(published={}, measured={}),
            predictions=self.predictions,
        )

    def pretraining(self, row: Row) -> Pretraining:
        """A pre-training of a record."""
        run = self.runs.get(row.pretrain_id)
        result = plain_data(run.result()) if run else {}
        status, reason = (result.get("status", "done"), "") if run else self.missing(row.pretrain_id, row.corpus_id)
        environment = plain_data(run.environment()) if run else {}
        versions = environment.get("versions", {})
        shown = sorted(versions.keys() - set(NUMERICS))
        written = run.science().get("recipe", {}) if run else {}
        numerics = {"compiled": "no"} | environment.get("numerics", {}) if run else {}
        return Pretraining(
            variant=row.variant,
            seed=row.pretrain_seed,
            id=row.pretrain_id,
            status=status,
            reason=reason,
            result=result,
            recipe=_load(Recipe, written) if run else None,
            parts={name: _part(written, name) for name in ("model", "tokenizer")} if run else {},
            written=result.get("defined", {}).get("recipe", {}),
            curve=_curve(run, result) if run else (),
            seconds=run.seconds() if run else 0.0,
            numerics=_facts(numerics, NUMERICS),
            date=str(environment.get("date", "")),
            commit=str(environment.get("commit", "")),
            host=_facts(environment | versions, ("processor", "cores", "system", "python", *shown)),
        )

    def cell(self, planned: Value, corpus_id: str) -> Cell:
        """A cell of a record, and the corpus that its pre-training reads. The result of the evaluation split holds that
        of the test split."""
        run = self.runs.get(planned.run_id)
        result = plain_data(run.result()) if run else {}
        environment = plain_data(run.environment()) if run else {}
        of_pretraining, metric = planned.method == "pretraining", planned.metric
        split, examples = result, result.get("rows", {})
        if result.get("split", planned.split) != planned.split:
            split = result.get("test", {})
            examples = {**examples, "evaluation": split.get("rows", 0)}
        value = number(split.get("heldout" if of_pretraining else "metrics", {}).get(metric))
        found = {key: split.get(key, {}) for key, _ in FLOORS.values()}
        fitted = int(result.get("lexical_examples") or min(LEXICAL_EXAMPLES, int(examples.get("train", 0))))
        if run and self.addenda.floors and (later := self.addenda.floors.get(floor_key(run.science()))):
            fitted, found["lexical"] = later["examples"], later.get("evaluation" if split is result else "test", {})
        floors = {name: number(found[key].get(metric)) for name, (key, _) in FLOORS.items()}
        if run is None:
            status, reason = self.missing(planned.run_id, planned.pretrain_id, corpus_id)
        else:
            status, reason = str(result.get("status", "done")), ""
            if value is None and status == "done":
                status, reason = "failed", f"its result has no finite {metric}"
        if of_pretraining and is_share(metric):
            guess = number(split.get("heldout", {}).get(f"{metric.removesuffix('accuracy')}majority"))
            value, floors[GUESS] = (None if share is None else 100 * share for share in (value, guess))
        return Cell(
            **{**vars(planned), "published": number(planned.published)},
            status=status,
            reason=reason,
            value=value,
            metrics={
                name: points for name, each in split.get("metrics", {}).items() if (points := number(each)) is not None
            },
            floors={name: points for name, points in floors.items() if points is not None},
            lexical_examples=fitted if found["lexical"] else 0,
            train_examples=int(examples.get("train", 0)),
            eval_examples=int(examples.get("evaluation", 0)),
            unlabelled=int(examples.get("unlabelled", 0)),
            trained_parameters=result.get("trained_parameters"),
            seconds=run.seconds() if run and not of_pretraining else 0.0,
            numerics=_facts(environment.get("numerics", {}), NUMERICS),
            date=str(environment.get("date", "")),
            commit=str(environment.get("commit", "")),
            kind=str(run.science().get("task", {}).get("kind", "")) if run else "",
            length=int(result.get("length", 0)),
            adaptation=_load(Adaptation, {**result.get("settings", {}), "kind": planned.method}),
            written=result.get("defined", {}).get("settings", {}),
            described=result.get("defined", {}).get("description", ""),
            threshold=number(result.get("threshold")),
            curve=tuple((int(each["step"]), float(each["loss"])) for each in result.get("curve", ())),
        )

    def missing(self, *run_ids: str) -> tuple[str, str]:
        """Status and reason of a run without a result: the failure of the first that has one, else `pending`."""
        for run_id in run_ids:
            if run_id in self.damaged:
                return "damaged", self.damaged[run_id]
            if failure := plain_data(self.store.failure(run_id)):
                return failure.get("status", "failed"), failure.get("reason", "")
        return "pending", ""


def _claims(record: Record) -> tuple[Claim, ...]:
    """The claims of a record. Raises `BadInput` for one without variants to compare."""
    claims = []
    for stated in plain_data(record.claims):
        claim = Claim(**{**vars(stated), "than": stated.than or (), "needs": load(Needs, stated.needs or {})})
        if not claim.pairs:
            raise BadInput(f"claim '{claim.text}' compares no variants")
        claims.append(claim)
    return tuple(claims)


def _average(stated: StatedAverage) -> AverageColumn:
    """An average of a record. Raises `BadInput` for one without measurements."""
    if not stated.of or not all(stated.of):
        raise BadInput(f"average '{stated.name}' is of nothing")
    return AverageColumn(stated.name, tuple((name, tuple(metrics)) for name, *metrics in stated.of), stated.published)


def _load(kind: type, data: Mapping[str, Any]) -> Any:
    """A recipe or an adaptation; None where a study file, which a report does not run, defines a part of it."""
    try:
        return load(kind, data)
    except BadInput:
        return None


def _part(recipe: Mapping[str, Any], name: str) -> Any:
    """A field of a recipe, whatever its other fields are; None where a study file defines it."""
    part = _load(Recipe, {name: recipe[name]} if name in recipe else {})
    return part and getattr(part, name)


def _curve(run: Run, result: Mapping[str, Any]) -> tuple[Point, ...]:
    """The held-out evaluations in order. All steps hold the same number of tokens, up to padding."""
    steps = result.get("steps") or 0
    if not steps:
        return ()
    tokens_per_step = float(result.get("tokens", 0)) / steps
    trained = [(line["step"], line["seconds"]) for line in run.timing() if line["stage"] == "train"]
    points = {}
    for line in run.metrics():
        names = [name for name in line if name.startswith("heldout_") and is_loss(name)]
        measured = {name.removeprefix("heldout_"): number(line[name]) for name in names}
        if losses := {name: loss for name, loss in measured.items() if loss is not None}:
            step = int(line["step"])
            seconds = math.fsum(taken for until, taken in trained if until <= step) if trained else None
            points[step] = Point(step, step * tokens_per_step, seconds, losses)
    return tuple(points[step] for step in sorted(points))


def _facts(known: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    return {name: str(known[name]) for name in names if name in known}
