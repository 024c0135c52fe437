"""What was run: the facts of a section, as names and sentences. Raw text; the page escapes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bertlab.recipe import Model
from bertlab.report.cells import Cell, Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.summary import mean
from bertlab.wording import count, duration

_METHODS = {"finetune": "all weights fine-tuned", "features": "frozen features"}


def progress(evidence: Evidence) -> str:
    """How much is measured, or nothing if all is."""
    missing = evidence.unfinished
    if not missing:
        return ""
    statuses = dict.fromkeys(cell.status for cell in missing)
    counts = ", ".join(f"{sum(cell.status == status for cell in missing)} {status}" for status in statuses)
    return f"{len(evidence.cells) - len(missing)} of {len(evidence.cells)} values are measured; {counts}."


def facts(evidence: Evidence) -> list[tuple[str, str]]:
    """Corpus, model, steps and tokens, seeds, tasks, machine and recorded time."""
    found = [("Corpus", ", ".join(evidence.corpus))] if evidence.corpus else []
    trained = [each for each in evidence.pretrainings if each.finished and not each.untrained]
    found += _pretraining([each for each in trained if not each.imported])
    found += _imported([each for each in trained if each.imported])
    found.append(("Seeds", _seeds(evidence)))
    found += [(name, _task(evidence.column(name))) for name in evidence.measurements]
    found += [(f"Before {task}", f"trained on {name}") for task, name in evidence.record.get("first", {}).items()]
    for task, setting in evidence.record.get("searched", {}).items():
        told = ", ".join(f"{name} {value:g}" for name, value in setting.items())
        found.append(
            (f"Fine-tuning on {task}", f"{told}; chosen for all rows on the baseline, by held-back training rows")
        )
    return found + _machine(evidence) + _time(evidence)


def _seeds(evidence: Evidence) -> str:
    restarts = f"{count(len({cell.restart for cell in evidence.cells}), 'restart')} of each measurement"
    if evidence.imported:
        return f"one checkpoint, {restarts}: n counts restarts on it"
    seeds = list(dict.fromkeys(str(each.seed) for each in evidence.pretrainings))
    return f"{count(len(seeds), 'seed')} of pre-training ({', '.join(seeds)}), paired across rows; {restarts}"


def _pretraining(runs: list[Pretraining]) -> list[tuple[str, str]]:
    if not runs:
        return []
    sizes = "; ".join(dict.fromkeys(_size(each) for each in runs))
    parameters, vocabulary, steps, tokens = (
        _span(each.result.get(name) for each in runs) for name in ("parameters", "vocabulary", "steps", "tokens")
    )
    real = _span(each.result.get("real_tokens") for each in runs)
    padding = "" if real == "unknown" else f", of which {real} are not padding"
    found = [
        ("Model", f"{sizes}; {parameters} parameters, vocabulary {vocabulary}"),
        ("Pre-training", f"{steps} steps, {tokens} tokens a run{padding}"),
    ]
    balances = [value for each in runs if isinstance(value := each.result.get("pair_balance"), float)]
    if balances:
        found.append(("True next segments", f"{100 * mean(balances):.1f} % of the pairs"))
    return found


def _imported(runs: list[Pretraining]) -> list[tuple[str, str]]:
    told = dict.fromkeys(
        f"{each.imported} ({_content(each)}); {_size(each)}; {each.result.get('parameters', 0):,} "
        f"parameters, vocabulary {each.result.get('vocabulary', 0):,}"
        for each in runs
    )
    return [("Pre-trained elsewhere", text) for text in told]


def _content(pretraining: Pretraining) -> str:
    commit = pretraining.result.get("commit")
    return f"commit {commit} on the Hub" if commit else str(pretraining.result.get("content"))


def _task(cells: list[Cell]) -> str:
    cell = next((cell for cell in cells if cell.value is not None), cells[0])
    if cell.method == "pretraining":
        return f"{cell.metric} on held-out text, of the pre-training itself"
    how = " or ".join(dict.fromkeys(_METHODS[each.method] for each in cells if each.method in _METHODS))
    dataset = cell.dataset if cell.dataset == cell.task else f"{cell.dataset} (for {cell.task})"
    text = f"{cell.metric} on {dataset}, split {cell.split}; {how}"
    if cell.train_rows or cell.evaluation_rows:
        text += f"; {cell.train_rows:,} training and {cell.evaluation_rows:,} evaluation rows"
    return text


def _machine(evidence: Evidence) -> list[tuple[str, str]]:
    runs = [each for each in evidence.pretrainings if each.finished]
    found = []
    for what, stamps in (
        ("Hardware", [each.host for each in runs]),
        ("Numerics", [each.numerics for each in runs]),
        ("Software", [each.software for each in runs]),
    ):
        texts = dict.fromkeys(", ".join(f"{name} {value}" for name, value in stamp) for stamp in stamps)
        found += [(what, text) for text in texts if text]
    return found


def _time(evidence: Evidence) -> list[tuple[str, str]]:
    # by id: rows that coincide are one run
    runs = [each for each in evidence.pretrainings if each.finished and not each.untrained and not each.imported]
    trained = {each.id: each.seconds for each in runs}
    judged = [cell for cell in evidence.cells if cell.value is not None and cell.method != "pretraining"]
    measured = {cell.run_id: cell.seconds for cell in judged}
    parts = [(evidence.preparation, "text")] if evidence.preparation else []
    parts += [(sum(trained.values()), count(len(trained), "pre-training"))] if trained else []
    parts += [(sum(measured.values()), count(len(measured), "measurement"))] if measured else []
    if not parts:
        return []
    told = ", ".join(f"{what} {duration(seconds)}" for seconds, what in parts)
    return [("Time", f"{duration(sum(seconds for seconds, _ in parts))}: {told}")]


def _size(run: Pretraining) -> str:
    model, given = run.group("model"), Model()
    layers, hidden, heads = (model.get(name, getattr(given, name)) for name in ("layers", "hidden", "heads"))
    return f"{layers} layers, {hidden} wide, {heads} heads, {model.get('positions', given.positions)} positions"


def _span(values: Iterable[Any]) -> str:
    known = sorted({value for value in values if value is not None})
    if not known:
        return "unknown"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
