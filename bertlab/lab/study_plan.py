"""The plan of one study: its values, each with the job that computes it."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput, at, suggestion, warn
from bertlab.lab.jobs import EnsembleEvaluation, Evaluation, HeldOutEvaluation, Job, Pretrained, Pretraining
from bertlab.lab.jobs.ensemble import unaveraged_reason
from bertlab.lab.shared_inputs import SharedInputs
from bertlab.lab.study import DEFAULT_METRIC, RANDOM_INIT, Measurement, Study, Variant, location
from bertlab.recipe import Recipe
from bertlab.recipe.identity import canonical, with_fields
from bertlab.tasks import catalog, kinds
from bertlab.tasks.kinds.scoring import of_all_examples
from bertlab.tasks.locate import LocatedTask
from bertlab.text import annotation

MOST = 100_000
"""The largest number of values of one study in a plan."""


class Cell(NamedTuple):
    """One value of a study: a variant, a measurement, and the job that computes it."""

    study: Study
    variant: str
    measurement: Measurement
    job: Job
    pretraining: Pretrained
    """The pre-training of the value, the job itself or the one on which it stands."""

    @property
    def milestone(self) -> int:
        """The percentage of the pre-training's steps after which it is measured."""
        return self.job.milestone


class StudyPlanner:
    """Plans one study."""

    def __init__(self, shared: SharedInputs, study: Study) -> None:
        self.shared, self.request, self.study = shared, shared.request, study
        self.scale = study.setting_at(self.request.scale)
        self.base = shared.base(self.scale)
        self.measurements = self.request.measurements(study)
        self.finetune_seeds = self.request.finetune_seeds or study.restarts or self.scale.finetune_seeds

    def cells(self) -> Iterator[Cell]:
        """The values of the study. Raises `BadInput` for a study that cannot run."""
        recipes = self.recipes
        with at(location(self.study)):
            values = len(recipes) * len(self.measurements) * len(self.request.seeds) * self.finetune_seeds
            if values > MOST:
                raise BadInput(f"--seeds and --finetune-seeds give it {values:,} values, over {MOST:,}: use less")
            if self.request.measured:  # last: it looks tasks up, perhaps on the Hub
                _check_different(self)
            for variant, recipe in recipes:
                yield from self.of_variant(variant, recipe)

    @cached_property
    def recipes(self) -> list[tuple[Variant, Recipe]]:
        """The chosen variants. Raises `BadInput` for options that do not go with them."""
        request, study = self.request, self.study
        study.check_set(request.scale.assigned)
        chosen = [variant for variant in study.variants if not request.only or variant.name in request.only]
        with at(location(study)):
            recipes = self.annotated(self.within_corpora([(variant, self.recipe(variant)) for variant in chosen]))
            baseline = study.variant(study.baseline)
            usual = self.shared.cleaned(study.recipe(baseline, self.base))
            if request.pretrained:  # all variants measure it, so they must not differ before
                several = {variant.name for variant, _ in recipes if variant.ensemble and variant.ensemble.pretrains}
                self.check_pretrained([one.name for one, recipe in recipes if recipe != usual or one.name in several])
            else:
                for variant, recipe in recipes:
                    with at(f"variant '{variant.name}'"):
                        self.check_recipe(recipe)
            if request.random_init or RANDOM_INIT in request.only:
                untrained = with_fields(usual, {"schedule.steps": 0})
                recipes.append((dataclasses.replace(baseline, name=RANDOM_INIT), untrained))
        return recipes

    def recipe(self, variant: Variant) -> Recipe:
        """The recipe of a variant, with its steps as timed if they were, and with the examples of its tasks."""
        recipe = self.shared.with_tasks(self.shared.cleaned(self.study.recipe(variant, self.base)))
        steps = self.request.timed.get(self.study.name, {}).get(variant.name)
        return recipe if steps is None else with_fields(recipe, {"schedule.steps": steps})

    def within_corpora(self, recipes: list[tuple[Variant, Recipe]]) -> list[tuple[Variant, Recipe]]:
        """The recipes without those that read corpora which the command lacks; a warning names them. All recipes if
        fewer than two would be left, if the baseline is one of those, or with `--only` or `--from`."""
        lacking = [variant.name for variant, recipe in recipes if lacks_corpora(recipe, len(self.shared.located))]
        left = [variant.name for variant, _ in recipes if variant.name not in lacking]
        named = self.request.pretrained is not None or self.request.only or self.study.baseline in lacking
        if not lacking or len(left) < 2 or named:
            return recipes
        warn(
            f"study {self.study.name} leaves out {' and '.join(map(repr, lacking))}, which read other corpora: name "
            "each with --corpus"
        )
        return [(variant, recipe) for variant, recipe in recipes if variant.name in left]

    def annotated(self, recipes: list[tuple[Variant, Recipe]]) -> list[tuple[Variant, Recipe]]:
        """The recipes, with the linguistic spans in the corpora of those that read them.

        If nothing is named that finds them in this text, these are left out with a warning, unless `--only` names them.
        """
        request, study = self.request, self.study
        reading = [variant.name for variant, recipe in recipes if recipe.annotated]
        if not reading or request.pretrained is not None:
            return recipes
        try:
            annotator = annotation.resolve(request.scale.recipe.corpus.annotator, self.shared.located)
        except BadInput as error:
            if request.scale.recipe.corpus.annotator or request.only or study.baseline in reading:
                raise BadInput(f"variant '{reading[0]}': {error}") from None
            warn(f"study {study.name} leaves out {' and '.join(map(repr, reading))}: {error}")
            return [(variant, recipe) for variant, recipe in recipes if not recipe.annotated]
        changes = {"corpus.annotator": annotator}
        return [(variant, with_fields(recipe, changes) if recipe.annotated else recipe) for variant, recipe in recipes]

    def check_pretrained(self, different: list[str]) -> None:
        """Raises `BadInput` for variants and measurements that need a pre-training of their own."""
        if different:
            others = ", ".join(map(repr, different))
            raise BadInput(f"--from: it pre-trains {others} differently: choose other variants with --only")
        for measurement in self.measurements:
            if not measurement.task:
                raise BadInput(
                    f"--from: measurement '{measurement.name}' needs a pre-training: name others with --measure"
                )

    def check_recipe(self, recipe: Recipe) -> None:
        """Raises `BadInput` for sequences longer than the model's positions, and for too few corpora."""
        if (positions := recipe.model.max_length(recipe.inputs.longest)) < recipe.inputs.longest:
            raise BadInput(
                f"model.max_positions is {positions} and sequences have {recipe.inputs.longest} tokens: give as many "
                "positions, or 0"
            )
        if lacks_corpora(recipe, there := len(self.shared.located)):
            corpora = f"inputs.corpora is {recipe.inputs.corpora}, and the number of corpora is {there}"
            raise BadInput(f"{corpora}: name {max(2, abs(recipe.inputs.corpora))} or more, each with --corpus")

    def of_variant(self, variant: Variant, recipe: Recipe) -> Iterator[Cell]:
        """The values of a variant."""
        # of the held-out values, those that the losses of the recipe evaluate
        evaluated = {name for loss in recipe.declared.objective for name in loss.all_metric_labels}
        measurable = [one for one in self.measurements if one.task or one.metric in evaluated] or self.measurements
        measurable = _of_models(self.study, variant, measurable)
        if not variant.without_measured:
            yield from self.of_recipe(variant, recipe, measurable)
            return
        for measurement in measurable:
            left_out = self.data(measurement) if measurement.task else None
            yield from self.of_recipe(variant, self.shared.with_tasks(recipe, left_out), [measurement])

    def of_recipe(self, variant: Variant, recipe: Recipe, measurements: Sequence[Measurement]) -> Iterator[Cell]:
        """The values of a variant in some measurements, with one recipe."""
        request, first = self.request, self.pretraining(variant, recipe)
        pretrainings = self.shared.over(first, lambda: map(first.with_seed, request.seeds[1:]))
        series = [
            (measurement, self.shared.over(job, partial(map, job.on, pretrainings[1:])))
            for measurement in measurements
            for job in self.jobs(first, variant, measurement)
        ]
        for number, pretraining in enumerate(pretrainings):
            for measurement, jobs in series:
                yield Cell(self.study, variant.name, measurement, jobs[number], pretraining)

    def pretraining(self, variant: Variant, recipe: Recipe) -> Pretrained:
        """The pre-training of a variant at the first seed: the model of `--from`, or one with this recipe."""
        request, study = self.request, self.study
        if request.pretrained is not None:
            return request.pretrained.untrained() if variant.name == RANDOM_INIT else request.pretrained
        return Pretraining(
            dataclasses.replace(recipe, seed=request.seeds[0]),
            self.shared.corpus_job(recipe),
            f"{study.name}-{variant.name}",
            request.scale.milestones,
            study=study.name,
            code=self.shared.code,
            trunk=self.shared.trunk(recipe, study.name),
            mixed=self.shared.mixed(recipe),
        )

    def jobs(self, pretraining: Pretrained, variant: Variant, measurement: Measurement) -> Iterator[Job]:
        """The jobs of one measurement on one pre-training, for each milestone and fine-tuning seed."""
        if not measurement.task:
            for milestone in pretraining.saved(measurement.milestones):
                name = f"{self.study.name}-{variant.name}-held-out-{milestone}%"
                at_end = milestone == 100  # where the pre-training evaluates itself
                yield pretraining if at_end else HeldOutEvaluation(pretraining, milestone, name, self.study.name)
            return
        request, study, data = self.request, self.study, self.data(measurement)
        kind = kinds.find(data.task.kind)
        with at(f"measurement '{measurement.name}'"):
            if measurement.split == "test" and not data.task.test:
                where = data.folder or f"{data.task.dataset} ({data.origin})"
                raise BadInput(
                    f"it reports a test split, which task '{data.name}' does not have with public labels in {where}: "
                    "report the evaluation split, or use data that have one"
                )
            adaptation = study.adaptation(variant, measurement, self.scale, kind.name, data.name)
            factor = request.rate(study, variant.name, data.name) * adaptation.lr_factor
            adaptation = dataclasses.replace(adaptation, lr_factor=factor)
            check_metrics(data, study, measurement, data.task.labels, adaptation)
            if problem := adaptation.unsupported_reason(kind):
                raise BadInput(f"variant '{variant.name}': {problem}" if variant.adaptation is not None else problem)
            if variant.ensemble and (problem := unaveraged_reason(variant.ensemble, adaptation, kind)):
                raise BadInput(f"variant '{variant.name}': {problem}")
            adaptation = pretraining.fitted(adaptation)
            adaptation.check_kind(kind, pretraining.read_recipe)
        before = self.shared.tasks.intermediate(measurement.task) if adaptation.intermediate else None
        for milestone in pretraining.saved(measurement.milestones):
            names = (study.name, variant.name, measurement.name, *([f"{milestone}%"] if milestone < 100 else []))
            fields = (pretraining, data, adaptation, 0, "-".join(names), milestone, before, request.held_back)
            parts = (*fields, self.shared.code, study.name)
            first = Evaluation(*parts, request.keep and adaptation.trains)
            if variant.ensemble is not None:
                first = EnsembleEvaluation(*parts, ensemble=variant.ensemble)
            for seed in range(self.finetune_seeds if adaptation.trains else 1):
                yield first.with_seed(seed) if seed else first

    def data(self, measurement: Measurement) -> LocatedTask:
        """The data of a measurement. Raises `BadInput` if there are none, which names `--measure` where that helps."""
        try:
            return self.shared.tasks.find(measurement.task)
        except BadInput as error:
            if len(self.study.measurements) == 1 or catalog.find(measurement.task).name in self.request.substitutes:
                raise
            others = "name other measurements with --measure"
            raise BadInput(f"{error}; or leave out '{measurement.name}': {others}") from None


def _of_models(study: Study, variant: Variant, measurements: list[Measurement]) -> list[Measurement]:
    """The measurements that a variant can have: of an ensemble those that train, since others are of one model. A
    warning names the rest. Raises `BadInput` if none is left."""
    if variant.ensemble is None:
        return measurements
    trained = [one for one in measurements if one.trains and _trains(variant.adaptation or one.adaptation)]
    left_out = [one.name for one in measurements if one not in trained]
    ensemble = f"variant '{variant.name}' is an ensemble, which answers where models are trained on a task"
    if not trained:
        raise BadInput(f"{ensemble}: name measurements of that with --measure, or other variants with --only")
    if left_out:
        warn(f"study {study.name} leaves out {' and '.join(map(repr, left_out))} of '{variant.name}': {ensemble}")
    return trained


def _trains(adaptation: Adaptation | None) -> bool:
    return adaptation is None or adaptation.trains


def lacks_corpora(recipe: Recipe, there: int) -> bool:
    """Whether a recipe reads more corpora than there are; the first of one is all of them."""
    needed = recipe.inputs.corpora
    return there < (max(2, needed) if needed > 0 else -needed)


def _check_different(planner: StudyPlanner) -> None:
    """Raises `BadInput` if all variants are the same runs."""
    study, runs = planner.study, set()
    for variant in study.variants:
        adaptations = []
        for measurement in filter(lambda measurement: measurement.task, planner.measurements):
            task = planner.data(measurement)
            adaptations.append(study.adaptation(variant, measurement, planner.scale, task.task.kind, task.name))
        runs.add(canonical([study.recipe(variant, planner.base), adaptations]))
    if len(runs) < min(2, len(study.variants)):
        if not planner.base.schedule.steps:
            raise BadInput("schedule.steps is 0: without pre-training, variants do not differ; set 1 or more")
        raise BadInput(
            f"all its variants are the same runs at scale {planner.scale.name}: let them differ in fields of the "
            "recipe, or in their adaptation"
        )


def check_metrics(
    data: LocatedTask, study: Study, measurement: Measurement, labels: tuple[str, ...], adaptation: Adaptation
) -> None:
    """Raises `BadInput` for a metric that fits neither a task with these labels (without labels, its kind) nor a
    diagnostic of the adaptation."""
    of_answers = kinds.find(data.task.kind).metrics_of(data.task, labels)
    metrics = [*of_answers, *(name for part in adaptation.diagnostics for name in part.metrics)]
    for metric in study.metrics(measurement):
        if metric not in metrics:
            task = f"a {data.task.kind} task{' with these labels' if labels else ''}"
            named = f"'{metric}'{', which is the default' if metric == DEFAULT_METRIC else ''}"
            of_part = "/" in metric
            advice = (
                suggestion(metric, metrics) if of_part else f"choose metric= from {', '.join(of_all_examples(metrics))}"
            )
            raise BadInput(f"{task} has no metric {named}: {advice}")
