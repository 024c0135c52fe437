"""What was run: the facts of a section, as names and sentences. Raw text; the page escapes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.report.cells import Cell, Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.summary import mean
from bertlab.tasks import kinds
from bertlab.wording import count, duration


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
    found += _pretraining([each for each in trained if not each.imported], evidence.baseline)
    found += _imported([each for each in trained if each.imported])
    found.append(("Seeds", _seeds(evidence)))
    found += [(name, _task(evidence, evidence.column(name))) for name in evidence.measurements]
    found += [
        (f"Before {task}", f"trained on {name}") for task, name in evidence.record.get("intermediate_task", {}).items()
    ]
    for task, setting in evidence.record.get("searched", {}).items():
        values = ", ".join(f"{name} {value:g}" for name, value in setting.items())
        chosen = "chosen on the baseline for all variants, by held-back training examples"
        found.append((f"Fine-tuning on {task}", f"{values}; {chosen}"))
    return found + _machine(evidence) + _time(evidence)


def _seeds(evidence: Evidence) -> str:
    tuned = f"{count(len({cell.finetune_seed for cell in evidence.cells}), 'fine-tuning seed')} of each measurement"
    if evidence.imported:
        return f"one checkpoint, {tuned}: n counts these"
    seeds = list(dict.fromkeys(str(each.seed) for each in evidence.pretrainings))
    return f"{count(len(seeds), 'seed')} of pre-training ({', '.join(seeds)}), paired across variants; {tuned}"


def _pretraining(runs: list[Pretraining], baseline: str) -> list[tuple[str, str]]:
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
    found += _tokens(runs)
    found += _multiples(runs, baseline)
    balances = [value for each in runs if isinstance(value := each.result.get("pair_balance"), float)]
    if balances:
        found.append(("True next segments", f"{100 * mean(balances):.1f} % of the pairs"))
    return found


def _tokens(runs: list[Pretraining]) -> list[tuple[str, str]]:
    """The real tokens of each variant, means over its seeds, where they differ by more than 1 %."""
    seen: dict[str, list[int]] = {}
    for each in runs:
        if isinstance(number := each.result.get("real_tokens"), int):
            seen.setdefault(each.variant, []).append(number)
    means = {variant: mean(numbers) for variant, numbers in seen.items()}
    if not means or max(means.values()) <= 1.01 * min(means.values()):
        return []
    return [("Real tokens a run differ", "; ".join(f"{variant}: {number:,.0f}" for variant, number in means.items()))]


def _multiples(runs: list[Pretraining], baseline: str) -> list[tuple[str, str]]:
    """Variants of another size than the baseline's, as multiples of its layers, width and heads."""
    shapes = {each.variant: _shape(each.recipe) for each in runs if each.recipe}
    own = shapes.get(baseline)
    if own is None:
        return []
    differing = []
    for variant, shape in shapes.items():
        parts = [f"{name} x {shape[name] / own[name]:.3g}" for name in shape if shape[name] != own[name]]
        if parts:
            differing.append(f"{variant}: {', '.join(parts)}")
    return [("Sizes relative to the baseline", "; ".join(differing))] if differing else []


def _imported(runs: list[Pretraining]) -> list[tuple[str, str]]:
    texts = dict.fromkeys(
        f"{each.imported} ({_content(each)}); {_size(each)}; {each.result.get('parameters', 0):,} "
        f"parameters, vocabulary {each.result.get('vocabulary', 0):,}"
        for each in runs
    )
    return [("Published checkpoint", text) for text in texts]


def _content(pretraining: Pretraining) -> str:
    commit = pretraining.result.get("commit")
    return f"commit {commit} on the Hub" if commit else str(pretraining.result.get("content"))


def _task(evidence: Evidence, cells: list[Cell]) -> str:
    cell = next((cell for cell in cells if cell.value is not None), cells[0])
    if cell.method == "pretraining":
        return f"{cell.metric} on held-out text, of the pre-training itself"
    measured = [each for each in cells if each.settings] or cells
    how = " or ".join(filter(None, dict.fromkeys(map(_adapted, measured))))
    dataset = cell.dataset if cell.dataset == cell.task else f"{cell.dataset} (for {cell.task})"
    text = f"{cell.metric} on {dataset}, split {cell.split}; {how}"
    if cell.train_examples or cell.eval_examples:
        text += f"; {cell.train_examples:,} training and {cell.eval_examples:,} evaluation examples"
    text += _trained(cells)
    if cell.length:
        text += f"; sequences of at most {cell.length} tokens"
    if cell.kind and kinds.find(cell.kind).cased:
        text += f"; {_tagged(evidence, cells)}"
    return text + _threshold(cells)


def _adapted(cell: Cell) -> str:
    """How the model is adapted to the task; empty for an adaptation that only its study file defines."""
    try:
        return load(Adaptation, {**cell.settings, "kind": cell.method}).description
    except BadInput:
        return ""


def _trained(cells: list[Cell]) -> str:
    """How many parameters the adaptation trains; by variant where these differ."""
    variants: dict[int, dict[str, None]] = {}
    for each in cells:
        if each.trained_parameters is not None:
            variants.setdefault(each.trained_parameters, {})[each.variant] = None
    if len(variants) < 2:
        return "".join(f"; {number:,} trained parameters" for number in variants)
    counts = [f"{number:,} ({', '.join(names)})" for number, names in variants.items()]
    return f"; {', '.join(counts)} trained parameters"


def _tagged(evidence: Evidence, cells: list[Cell]) -> str:
    """Whether a tagger sees capitals, and whether it sees the document."""
    text = [name for case, name in ((True, "lower-cased text"), (False, "cased text")) if case in evidence.lowercase]
    contexts = {bool(each.settings.get("context")) for each in cells if each.value is not None}
    seen = [f"with{'' if each else 'out'} the context of their document" for each in sorted(contexts)]
    return f"{' or '.join(text)}, sentences {' or '.join(seen)}"


def _threshold(cells: list[Cell]) -> str:
    """How a span task decides which questions have an answer."""
    known = [each for each in cells if each.threshold is not None]
    if not known:
        return ""
    if any(each.settings.get("answerability") for each in known):
        return "; a classifier trained with the span decides which questions are answered, at a probability of one half"
    least, most = (side(each.threshold or 0.0 for each in known) for side in (min, max))
    span = f"{least:.2f}" if len(known) == 1 else f"{least:.2f} to {most:.2f}"
    examples = "the reported examples" if known[0].split != "test" else "the evaluation examples"
    return (
        f"; answered above a threshold ({span}) that is chosen for each run on {examples}, "
        "so the figures are a little better than those of an unseen set"
    )


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
    # by id: duplicates are one run
    runs = [each for each in evidence.pretrainings if each.finished and not each.untrained and not each.imported]
    trained = {each.id: each.seconds for each in runs}
    judged = [cell for cell in evidence.cells if cell.value is not None and cell.method != "pretraining"]
    measured = {cell.run_id: cell.seconds for cell in judged}
    parts = [(evidence.preparation, "text")] if evidence.preparation else []
    parts += [(sum(trained.values()), count(len(trained), "pre-training"))] if trained else []
    parts += [(sum(measured.values()), count(len(measured), "measurement"))] if measured else []
    if not parts:
        return []
    spent = ", ".join(f"{what} {duration(seconds)}" for seconds, what in parts)
    return [("Time", f"{duration(sum(seconds for seconds, _ in parts))}: {spent}")]


def _shape(recipe: Recipe) -> dict[str, int]:
    return {"layers": recipe.model.layers, "width": recipe.model.hidden, "heads": recipe.model.heads}


def _size(run: Pretraining) -> str:
    assert run.recipe
    shape = _shape(run.recipe)
    positions = run.recipe.model.positions
    return f"{shape['layers']} layers, {shape['width']} wide, {shape['heads']} heads, {positions} positions"


def _span(values: Iterable[Any]) -> str:
    known = sorted({value for value in values if value is not None})
    if not known:
        return "unknown"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
