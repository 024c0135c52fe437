"""Joins the records of studies with their finished runs, by what bertlab's own studies say now. Runs no code of study
files, reads no logs."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
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
from bertlab.recipe.identity import load, to_canonical
from bertlab.report.cells import EXCHANGED, LEXICAL, Cell, Point, Pretraining, number
from bertlab.report.disambiguation import disambiguated
from bertlab.report.looks import hypothesis
from bertlab.report.predictions import Predictions
from bertlab.report.study_results import StudyResults
from bertlab.report.units import is_loss, is_share
from bertlab.store import commands, union
from bertlab.store.addenda import floor_key
from bertlab.store.record import Record, Row, Value
from bertlab.store.result import Defined, Environment, Evaluated, Metrics, Result, Rows, Tested, Trunks
from bertlab.store.run import Run
from bertlab.store.runs import Store

LEXICAL_EXAMPLES = 4_000
"""The most training examples that the lexical floors of earlier versions are fitted on."""
UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a record or a result of another form raises where it is read; `BadInput` is a `ValueError`."""


def gather(store: Store, records: Iterable[Record]) -> list[StudyResults]:
    """The results of these records of the store, in their order."""
    reader = _Reader(store)
    return [reader.study(record) for record in records]


def gather_all(store: Store, machine: Machine | None = None) -> list[StudyResults]:
    """The results of all records of the store: studies by name, within them the largest scale first.

    With a `machine`, examples of its local tasks have texts. Warns of records that it cannot read.
    """
    reader, sections = _Reader(store, machine), list[StudyResults]()
    for name, record in store.records(needed=()).items():
        try:
            sections.append(reader.study(record))
        except UNFIT as error:
            problem = str(error) if isinstance(error, BadInput) else f"no report can be made of it ({error!r})"
            warn(f"'{store.root / 'studies' / name}.json': {problem}; the record is skipped")
    rank = {scale: position for position, scale in enumerate(reversed(SCALES))}

    def order(section: StudyResults) -> tuple[object, ...]:
        setting = section.record.corpus, section.setting_name, section.own_options, section.key
        return section.name, rank.get(section.scale, 9), section.scale, *setting

    return sorted(disambiguated(sections), key=order)


class _Reader:
    """The finished and the damaged runs of a store."""

    def __init__(self, store: Store, machine: Machine | None = None) -> None:
        self.store = store
        self.runs = {run.id: run for run in store.runs()}
        self.damaged = {
            run.id: f"{path.relative_to(run.path)} has changed on disk: the same bertlab ablate repeats the run"
            for run, path in store.damaged()
        }
        self._read: dict[str, tuple[Result, Environment]] = {}
        self.predictions = Predictions(self.runs, machine)
        self.addenda = store.addenda()

    def study(self, record: Record) -> StudyResults:
        """A record with its runs, and with the words of its study now.

        Raises `BadInput` for a claim or an average that compares or averages nothing.
        """
        name, before = union.name_of(record), {(claim.on, hypothesis(claim)) for claim in _claims(record)}
        record = plain_data(restated(record))
        for average in record.averages:
            if not average.of or not all(average.of):
                raise BadInput(f"average '{average.name}' is of nothing")
        claims = _claims(record)
        corpora = {row.pretrain_id: row.corpus_id for row in record.rows}
        pretrainings = tuple(map(self.pretraining, record.rows))
        trained = {run.variant: sizes(run.recipe) for run in pretrainings if run.recipe}
        return StudyResults(
            record=record,
            key=hashlib.sha256(name.encode()).hexdigest()[:8],
            command=commands.line(record.requests, record.name),
            claims=claims,
            later=frozenset(claim for claim in claims if (claim.on, hypothesis(claim)) not in before),
            sizes=trained | dict(record.sizes or {}),
            cells=tuple(self.cell(value, corpora.get(value.pretrain_id, "")) for value in record.cells),
            pretrainings=pretrainings,
            remarks=tuple(remark for remark in self.addenda.remarks if remark.study == record.study),
            predictions=self.predictions,
        )

    def pretraining(self, row: Row) -> Pretraining:
        """A pre-training of a record."""
        run, (result, environment) = self.runs.get(row.pretrain_id), self.read(row.pretrain_id)
        status, reason = (result.status, "") if run else self.missing(row.pretrain_id, row.corpus_id)
        written = run.definition().get("recipe", {}) if run else {}
        recipe = _load(Recipe, written) if run else None
        trunks = run.trunks() if run else Trunks()
        return Pretraining(
            variant=row.variant,
            seed=row.pretrain_seed,
            id=row.pretrain_id,
            status=status,
            reason=reason,
            finished=run is not None,
            result=result,
            recipe=recipe,
            model=_part(written, "model") if run else None,
            tokenizer=_part(written, "tokenizer") if run else None,
            defined=_defined(recipe) if recipe else result.defined,
            curve=_curve(run, result, trunks) if run else (),
            seconds=run.seconds() + trunks.seconds if run else 0.0,
            trunks=trunks,
            environment=replace(environment, numerics={"compiled": "no", **environment.numerics}),
        )

    def cell(self, planned: Value, corpus_id: str) -> Cell:
        """A value of a record, and the corpus that its pre-training reads."""
        run, (result, environment) = self.runs.get(planned.run_id), self.read(planned.run_id)
        of_pretraining = planned.method == "pretraining"
        evaluated, rows = _on_split(result, planned.split)
        value = number((result.heldout if of_pretraining else evaluated.metrics).get(planned.metric))
        floors, fitted = self.floors(planned, run, evaluated, rows)
        status, reason = (result.status, "") if run else self.missing(planned.run_id, planned.pretrain_id, corpus_id)
        if status == "done" and value is None:
            status, reason = "failed", f"its result has no finite {planned.metric}"
        if of_pretraining and is_share(planned.metric):
            guess = number(result.heldout.get(f"{planned.metric.removesuffix('accuracy')}majority"))
            value, floors[GUESS] = (None if share is None else 100 * share for share in (value, guess))
        return Cell(
            **{**vars(planned), "published": number(planned.published)},
            status=status,
            reason=reason,
            value=value,
            metrics=finite(evaluated.metrics),
            guesses=finite(evaluated.majority),
            floors=finite(floors),
            lexical_examples=fitted,
            rows=rows,
            result=result,
            seconds=run.seconds() if run and planned.run_id != planned.pretrain_id else 0.0,
            environment=environment,
            kind=str(run.definition().get("task", {}).get("kind", "")) if run else "",
            adaptation=_load(Adaptation, {**result.settings, "kind": planned.method}),
        )

    def floors(
        self, planned: Value, run: Run | None, evaluated: Evaluated, rows: Rows
    ) -> tuple[dict[str, float | None], int]:
        """The floors of a value by `FLOORS`, and the training examples that the lexical one is fitted on, if any."""
        lexical = evaluated.lexical
        fitted = evaluated.lexical_examples if isinstance(evaluated, Result) else 0
        fitted = fitted or min(LEXICAL_EXAMPLES, rows.train)
        if run and self.addenda.floors and (later := self.addenda.floors.get(floor_key(run.definition()))):
            lexical = later.evaluation if isinstance(evaluated, Result) else later.test or {}
            fitted = later.examples
        metrics = {GUESS: evaluated.majority, LEXICAL: lexical, EXCHANGED: evaluated.exchanged}
        floors = {name: number(points.get(planned.metric)) for name, points in metrics.items()}
        return floors, fitted if lexical else 0

    def read(self, run_id: str) -> tuple[Result, Environment]:
        """What a run says, read once; at its defaults if it is not finished."""
        if run_id not in self._read:
            run = self.runs.get(run_id)
            self._read[run_id] = plain_data((run.result(), run.environment())) if run else (Result(), Environment())
        return self._read[run_id]

    def missing(self, *run_ids: str) -> tuple[str, str]:
        """Status and reason of a run without a result: the failure of the first that has one, else `pending`."""
        for run_id in run_ids:
            if run_id in self.damaged:
                return "damaged", self.damaged[run_id]
            if failure := plain_data(self.store.failure(run_id)):
                return failure.status, failure.reason
        return "pending", ""


def _on_split(result: Result, split: str) -> tuple[Evaluated, Rows]:
    """What a result says of a split: the result of the evaluation split holds that of the test split."""
    if result.split in ("", split):
        return result, result.rows
    test = result.test or Tested()
    return test, replace(result.rows, evaluation=test.rows)


def finite(metrics: Metrics) -> dict[str, float]:
    """The metrics that have a value."""
    return {name: points for name, metric in metrics.items() if (points := number(metric)) is not None}


def _claims(record: Record) -> tuple[Claim, ...]:
    """The claims of a record. Raises `BadInput` for one without variants to compare."""
    claims = []
    for stated in plain_data(record.claims):
        claim = Claim(**{**vars(stated), "than": stated.than or (), "needs": load(Needs, stated.needs or {})})
        if not claim.pairs:
            raise BadInput(f"claim '{claim.text}' compares no variants")
        claims.append(claim)
    return tuple(claims)


def _load(kind: type, data: Mapping[str, Any]) -> Any:
    """A recipe or an adaptation; None where a study file, which a report does not run, defines a part of it."""
    try:
        return load(kind, data)
    except BadInput:
        return None


def _defined(recipe: Recipe) -> Defined:
    """What a result says of a recipe with parts that a study file defines."""
    return Defined(
        recipe=to_canonical(recipe, whole=True),
        premises=tuple(premise for loss in recipe.objective for premise in loss.premises(recipe)),
        figures={name: label for loss in recipe.objective for name, label in loss.all_metric_labels.items()},
        unseen=tuple(name for loss in recipe.objective for name in loss.out_of_distribution_metrics),
        meanings=tuple(loss.meaning for loss in recipe.objective),
    )


def _part(recipe: Mapping[str, Any], name: str) -> Any:
    """A field of a recipe, whatever its other fields are; None where a study file defines it."""
    part = _load(Recipe, {name: recipe[name]} if name in recipe else {})
    return part and getattr(part, name)


def _curve(run: Run, result: Result, trunks: Trunks) -> tuple[Point, ...]:
    """The held-out evaluations in order. All steps hold the same number of tokens, up to padding."""
    if not result.steps:
        return ()
    tokens_per_step = (result.tokens or 0) / result.steps
    trained = [(line.step, line.seconds) for line in run.timing() if line.stage == "train"]
    points = {}
    for line in run.metrics():
        names = [name for name in line if name.startswith("heldout_") and is_loss(name)]
        if losses := finite({name.removeprefix("heldout_"): line[name] for name in names}):
            step = int(line["step"] or 0)
            taken = [trunks.training, *(seconds for until, seconds in trained if until <= step)]
            seconds = math.fsum(taken) if trained and step >= trunks.steps else None
            points[step] = Point(step, step * tokens_per_step, seconds, losses)
    return tuple(points[step] for step in sorted(points))
