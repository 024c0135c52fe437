"""How a study was run: the facts of a section, as names and sentences. Raw text; the page escapes it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from bertlab.recipe import Recipe
from bertlab.report.cells import Cell, Pretraining
from bertlab.report.evidence import Evidence
from bertlab.wording import count, duration

Facts = list[tuple[str, str]]


def progress(evidence: Evidence) -> str:
    """How many values are measured; empty if all are."""
    missing = evidence.unfinished
    if not missing:
        return ""
    counts = ", ".join(f"{number} {status}" for status, number in Counter(cell.status for cell in missing).items())
    return f"{len(evidence.cells) - len(missing)} of {len(evidence.cells)} values are measured; {counts}."


def facts(evidence: Evidence) -> Facts:
    """Corpus, model, steps and tokens, seeds, tasks, machine and recorded time; an unknown fact is left out."""
    finished = [each for each in evidence.pretrainings if each.finished]
    trained = [each for each in finished if not each.untrained and not each.imported]
    found = [("Corpus", ", ".join(evidence.corpus))]
    if trained:
        steps, tokens, real = (_span(each.result.get(name) for each in trained) for name in _AMOUNTS)
        found.append(("Model", _model(trained)))
        found.append(("Pre-training", f"{steps} steps, {tokens} tokens a run, {real} without padding"))
    for run in [each for each in finished if each.imported][:1]:
        commit = run.result.get("commit")
        source = f"commit {commit} on the Hub" if commit else run.result.get("content")
        found.append(("Published checkpoint", f"{run.imported} ({source}); {_model([run])}"))
    found.append(("Seeds", _seeds(evidence)))
    found += [(name, _task(evidence.column(name))) for name in evidence.measurements]
    found += [(f"Before {task}", f"trained on {name}") for task, name in evidence.intermediate_task.items()]
    for task, setting in evidence.searched.items():
        values = ", ".join(f"{name} {value:g}" for name, value in setting.items())
        chosen = "chosen on the baseline for all variants, by held-back training examples"
        found.append((f"Fine-tuning on {task}", f"{values}; {chosen}"))
    machines = dict.fromkeys(", ".join(map(" ".join, each.machine.items())) for each in finished)
    found += [("Machine", text) for text in machines]
    found.append(("Time", _time(evidence, trained)))
    return [(name, text) for name, text in found if text]


_AMOUNTS = ("steps", "tokens", "real_tokens")
"""What a pre-training was trained for, by the names in its result."""


def _model(runs: Sequence[Pretraining]) -> str:
    sizes = "; ".join(dict.fromkeys(_size(each.recipe) for each in runs))
    parameters, vocabulary = (_span(each.result.get(name) for each in runs) for name in ("parameters", "vocabulary"))
    return f"{sizes}; {parameters} parameters, vocabulary {vocabulary}"


def _size(recipe: Recipe | None) -> str:
    if recipe is None:
        return "a model of unknown size"
    model = recipe.model
    return f"{model.layers} layers, {model.hidden} wide, {model.heads} heads, {model.positions} positions"


def _seeds(evidence: Evidence) -> str:
    tuned = f"{count(len({cell.finetune_seed for cell in evidence.cells}), 'fine-tuning seed')} of each measurement"
    if evidence.imported:
        return f"one checkpoint, {tuned}: n counts these"
    seeds = list(dict.fromkeys(str(each.seed) for each in evidence.pretrainings))
    return f"{count(len(seeds), 'seed')} of pre-training ({', '.join(seeds)}), paired across variants; {tuned}"


def _task(cells: Sequence[Cell]) -> str:
    measured = [each for each in cells if each.value is not None] or cells
    cell = measured[0]
    if cell.of_pretraining:
        return f"{cell.metric} on held-out text, of the pre-training itself"
    dataset = cell.dataset if cell.dataset == cell.task else f"{cell.dataset} (for {cell.task})"
    parts = [
        f"{cell.metric} on {dataset}, split {cell.split}",
        " or ".join(dict.fromkeys(each.adaptation.description for each in measured if each.adaptation)),
    ]
    if cell.train_examples or cell.eval_examples:
        parts.append(f"{cell.train_examples:,} training and {cell.eval_examples:,} evaluation examples")
        parts.append(f"{_span(each.trained_parameters for each in measured)} trained parameters")
    if cell.length:
        parts.append(f"sequences of at most {cell.length} tokens")
    return "; ".join(filter(None, parts))


def _time(evidence: Evidence, trained: Iterable[Pretraining]) -> str:
    # by id: duplicates are one run
    pretrainings = {each.id: each.seconds for each in trained}
    measurements = {cell.run_id: cell.seconds for cell in evidence.cells if cell.seconds}
    parts = {
        count(len(pretrainings), "pre-training"): sum(pretrainings.values()),
        count(len(measurements), "measurement"): sum(measurements.values()),
    }
    spent = ", ".join(f"{what} {duration(seconds)}" for what, seconds in parts.items() if seconds)
    return f"{duration(sum(parts.values()))}: {spent}" if spent else ""


def _span(values: Iterable[Any]) -> str:
    """The least and the largest of the known values."""
    known = {value for value in values if value is not None}
    return " to ".join(dict.fromkeys(f"{each:,}" for each in (min(known), max(known)))) if known else "unknown"
