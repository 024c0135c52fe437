"""The cards of exported checkpoints and results for the Hugging Face Hub: metadata in YAML, and tables of a report."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bertlab.adaptation import Adaptation
from bertlab.hub import Reference
from bertlab.names import plain
from bertlab.recipe import Recipe
from bertlab.recipe.identity import canonical, to_canonical
from bertlab.report.gather import finite, gather_all
from bertlab.report.pages import render
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table, center, with_details
from bertlab.store.result import Result
from bertlab.store.run import Run
from bertlab.store.runs import Store
from bertlab.tasks import catalog
from bertlab.tasks.kinds import KINDS
from bertlab.text.sources import WIKITEXT

if TYPE_CHECKING:
    from huggingface_hub import EvalResult


def results(studies: Sequence[StudyResults], tables: Sequence[str], licence: str = "") -> str:
    """The card of exported results: a data set of tables, each in a file of its name, the first one by default.

    `licence` is the Hub's identifier; empty for none.
    """
    from huggingface_hub import DatasetCardData

    configs: list[dict[str, Any]] = [{"config_name": name, "data_files": f"{name}.parquet"} for name in tables]
    configs[0]["default"] = True
    names = ", ".join(dict.fromkeys(study.name for study in studies))
    pretty_name = f"Results of {names}"
    data = DatasetCardData(license=licence or None, pretty_name=pretty_name, tags=["bertlab"], configs=configs)
    return render("dataset_card.md.j2", metadata=data.to_yaml(), names=names, studies=studies, tables_of=tables)


def model(run: Run, recipe: Recipe, store: Store, architecture: str, licence: str = "") -> str:
    """The card of a pre-training: its recipe, its measurements in the store, and the tables of studies that have it.

    `architecture` is the title of its architecture, such as `BERT`; `licence` is the Hub's identifier, empty for none.
    """
    result = run.result()
    numbers = ("steps", "tokens", "real_tokens", "words", "parameters", "vocabulary", "unigram_entropy")
    figures: dict[str, Any] = {name: getattr(result, name) for name in numbers}
    figures |= {f"held out: {name}": value for name, value in result.heldout.items()}
    figures |= {name: getattr(result, name) or None for name in ("checkpoint", "commit", "content", "corpus")}
    rows = [(name.replace("_", " "), _text(value)) for name, value in figures.items() if value is not None]
    columns = ("task", "data set", "split", "method", "fine-tuning seed", "after", "examples", "metrics")
    measured = {
        evaluation: outcome
        for evaluation in store.runs()
        if (outcome := evaluation.result()).pretrain_id == run.id and outcome.whole
    }
    at_end = {evaluation: outcome for evaluation, outcome in measured.items() if outcome.milestone == 100}
    measurements = sorted(line for outcome in measured.values() for line in _measurements(outcome))
    studies = [study for study in gather_all(store) if any(run.id == cell.pretrain_id for cell in study.cells)]
    return render(
        "model_card.md.j2",
        metadata=_metadata(run, recipe, at_end, architecture, licence),
        studies=studies,
        in_studies=_in_studies(studies, run.id),
        synthetic=any(map(_is_synthetic, measured)),
        run=run,
        recipe=recipe,
        architecture=architecture,
        version=run.environment().versions.get("bertlab", ""),
        pretraining=Table(("figure", "value"), tuple(rows)),
        measurements=Table(columns, tuple(measurements), columns[1:4]),
        # in ASCII and without backticks, no name ends the block
        science=json.dumps(to_canonical(recipe), indent=2).replace("`", "\\u0060"),
    )


def task_model(
    run: Run,
    pretraining: Run,
    pipeline: str,
    architecture: str,
    licence: str,
    *,
    columns: Sequence[str],
    labels: int,
    adapter: bool,
) -> str:
    """The card of a fine-tuned model, of the class `architecture` of `transformers`: its scores, and its settings.

    `pipeline` is its task on the Hub, `licence` the Hub's identifier or empty. `columns` are those that it reads,
    `labels` is the number of labels, 0 if the class has its own, and `adapter` says whether it is only what was
    trained, for `peft`.
    """
    from huggingface_hub import ModelCardData

    result = run.result()
    data = ModelCardData(
        license=licence or None,
        model_name=run.label,
        library_name="peft" if adapter else "transformers",
        pipeline_tag=pipeline,
        tags=["bertlab"],
        eval_results=[*_evaluated({run: result})] or None,
    )
    scores = [
        (part.split, name, _text(part.metrics[name]), _text(part.majority[name]))
        for part in (result, *([result.test] if result.test else []))
        for name in finite(part.metrics).keys() & finite(part.majority).keys()
    ]
    return render(
        "task_card.md.j2",
        metadata=data.to_yaml(),
        run=run,
        pretraining=pretraining,
        result=result,
        architecture=architecture,
        adapter=adapter,
        labels=labels,
        method=_method(result),
        columns=columns,
        synthetic=_is_synthetic(run),
        version=run.environment().versions.get("bertlab", ""),
        scores=Table(("split", "metric", "points", "majority guess"), tuple(sorted(scores)), ("metric",)),
        settings=json.dumps(result.settings, indent=2).replace("`", "\\u0060"),
    )


def _measurements(result: Result) -> Iterator[tuple[str, ...]]:
    """A line for each split of the result of a measurement."""
    for split, examples, metrics in _splits(result):
        values = ", ".join(f"{name} {_text(value)}" for name, value in metrics.items())
        method = _method(result) + " (collapsed)" * (result.status == "collapsed")
        about = (result.task, result.dataset, split, method, str(result.finetune_seed))
        yield (*about, f"{result.milestone} %", f"{examples:,}", values)


def _splits(result: Result) -> list[tuple[str, int, dict[str, float]]]:
    """The splits of a result with their examples and metrics, except training examples that a search held back."""
    if result.split == "held back":
        return []
    test = [(result.test.split, result.test.rows, finite(result.test.metrics))] if result.test else []
    return [(result.split, result.rows.evaluation, finite(result.metrics)), *test]


def _method(result: Result) -> str:
    """The adaptation of a result with the fields of its own: `adapters, bottleneck 8`."""
    common = {"kind", *(field.name for field in dataclasses.fields(Adaptation))}
    special = [(name, value) for name, value in result.settings.items() if name not in common]
    return ", ".join([result.method, *(name if value is True else f"{name} {value}" for name, value in special)])


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


def _metadata(run: Run, recipe: Recipe, measured: Mapping[Run, Result], architecture: str, licence: str) -> str:
    """What the Hub reads of a pre-training, in YAML, with what was measured on it in the form of `model-index`."""
    from huggingface_hub import ModelCardData

    sources = [source.name if source.content.startswith("hub:") else "" for source in recipe.corpus.sources]
    texts = [*map(Reference.parse, sources)]
    result = run.result()
    trained = result.checkpoint if result.commit and not result.fresh else ""
    base = Reference.parse(trained, owned=False)
    losses = [loss for loss in recipe.objective if loss.causal == recipe.causal]
    data = ModelCardData(
        license=licence or None,
        language="en" if texts and all(map(_is_english, texts)) else None,
        base_model=base.repository if base else None,
        model_name=run.label,
        library_name="transformers",
        pipeline_tag=next((loss.hub_task for loss in losses if loss.hub_task), None),
        tags=["bertlab", architecture.lower()],
        datasets=[reference.repository for reference in texts if reference] or None,
        eval_results=[*_heldout(run, recipe), *_evaluated(measured)] or None,
    )
    return data.to_yaml()


def _is_english(text: Reference | None) -> bool:
    """Whether a data set of the Hub is known to be English: by its name, or a configuration such as `20231101.en`."""
    return text is not None and (text.repository == WIKITEXT or text.configuration.split(".")[-1] == "en")


def _heldout(run: Run, recipe: Recipe) -> Iterator[EvalResult]:
    """The main figures of a pre-training on held-out text."""
    from huggingface_hub import EvalResult

    result = run.result()
    text, figures = plain(" and ".join(result.corpus)) or "held-out text", finite(result.heldout)
    for name in dict.fromkeys((result.judged_by, "perplexity")):
        if name in figures:
            tasks = (loss.hub_task for loss in recipe.objective if name in loss.metric_labels)
            yield EvalResult(
                task_type=next(tasks, "") or "other",
                task_name="held-out text",
                dataset_type=text,
                dataset_name=text,
                metric_type=name,
                metric_value=round(figures[name], 4),
            )


def _evaluated(measured: Mapping[Run, Result]) -> Iterator[EvalResult]:
    """Each metric of each task, split and method: the mean over fine-tuning seeds."""
    from huggingface_hub import EvalResult

    by_setting: dict[tuple[str, ...], list[float]] = {}  # what other settings gave is another result
    for run, result in measured.items():
        kind = str(run.definition().get("task", {}).get("kind", "classification"))
        setting = canonical({name: value for name, value in run.definition().items() if name != "finetune_seed"})
        for split, _, metrics in _splits(result):
            for name, value in metrics.items():
                key = (kind, *_names(run, result), result.dataset, split, _method(result), name)
                by_setting.setdefault((*map(plain, key), setting), []).append(value)
    for (kind, task, named, dataset, split, method, name, _), values in sorted(by_setting.items()):
        reference = Reference.parse(dataset) or Reference(dataset, task)
        yield EvalResult(
            task_type=KINDS.get(kind, KINDS["classification"]).hub_task,
            task_name=task,
            dataset_type=reference.repository,
            dataset_name=named,
            dataset_config=reference.configuration or None,
            dataset_split=split,
            metric_type=name,
            metric_name=f"{name}, {method}" + (f", mean of {len(values)} fine-tuning seeds" if len(values) > 1 else ""),
            metric_value=round(fmean(values), 4),
        )


def _names(measured: Run, result: Result) -> tuple[str, str]:
    """The names of the task and of its data set for the Hub: those of a synthetic task are no published one's."""
    if not _is_synthetic(measured):
        return result.task, result.dataset
    name = f"{result.task} (synthetic{'' if result.task in catalog.WORLD else ' counterpart'})"
    return name, name


def _is_synthetic(measured: Run) -> bool:
    """Whether the task of a measurement is one of the synthetic corpus."""
    return str(measured.definition().get("data", "")).startswith("microworld:")


def _in_studies(studies: Sequence[StudyResults], pretrain_id: str) -> Table:
    """A line for each measurement of a pre-training in a study: its value, and what the report has of its variant."""
    rows = []
    for study in studies:
        for name, variant in itertools.product(study.measurements, study.variants):
            cells = [cell for cell in study.at(variant, name) if cell.pretrain_id == pretrain_id]
            values = [cell.value for cell in cells if cell.value is not None]
            if values and (summary := study.summary(variant, name)):
                published = study.published(variant, name)
                this_run = f"{fmean(values):.{study.digits(name)}f}"
                every_seed = with_details(*center(study, variant, name), f"n = {summary.seeds}")
                about = study.name, study.scale, variant, name, cells[0].metric
                rows.append((*about, this_run, every_seed, "" if published is None else str(published)))
    words = ("scale", "variant", "measurement", "metric")
    return Table(("study", *words, "this run", "all seeds", "published"), tuple(rows), words)
