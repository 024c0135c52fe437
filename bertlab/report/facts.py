"""How a study was run: the facts of a section, as names and sentences. Raw text; the page escapes it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean as mean
from typing import Any

from bertlab.recipe import Recipe
from bertlab.report.cells import Cell, Pretraining
from bertlab.report.evidence import Evidence
from bertlab.tasks import kinds
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
    pretrained = [each for each in finished if not each.untrained]
    trained = [each for each in pretrained if not each.imported]
    found = [("Corpus", ", ".join(evidence.corpus)), *_pretraining(trained, evidence.baseline)]
    checkpoints = dict.fromkeys(_checkpoint(each) for each in pretrained if each.imported)
    found += [("Published checkpoint", text) for text in checkpoints]
    found.append(("Seeds", _seeds(evidence)))
    found += [(name, _task(evidence, evidence.column(name))) for name in evidence.measurements]
    found += [(f"Before {task}", f"trained on {name}") for task, name in evidence.intermediate_task.items()]
    for task, setting in evidence.searched.items():
        values = ", ".join(f"{name} {value:g}" for name, value in setting.items())
        chosen = "chosen on the baseline for all variants, by held-back training examples"
        found.append((f"Fine-tuning on {task}", f"{values}; {chosen}"))
    for name in ("host", "numerics", "software"):
        texts = dict.fromkeys(", ".join(map(" ".join, getattr(each, name).items())) for each in finished)
        found += [("Hardware" if name == "host" else name.capitalize(), text) for text in texts]
    found.append(("Time", _time(evidence, trained)))
    return [(name, text) for name, text in found if text]


def _seeds(evidence: Evidence) -> str:
    tuned = f"{count(len({cell.finetune_seed for cell in evidence.cells}), 'fine-tuning seed')} of each measurement"
    if evidence.imported:
        return f"one checkpoint, {tuned}: n counts these"
    seeds = list(dict.fromkeys(str(each.seed) for each in evidence.pretrainings))
    return f"{count(len(seeds), 'seed')} of pre-training ({', '.join(seeds)}), paired across variants; {tuned}"


def _pretraining(runs: Sequence[Pretraining], baseline: str) -> Facts:
    if not runs:
        return []
    sizes = "; ".join(dict.fromkeys(_size(each.recipe) for each in runs))
    parameters, vocabulary, steps, tokens, real = (
        _span(each.result.get(name) for each in runs)
        for name in ("parameters", "vocabulary", "steps", "tokens", "real_tokens")
    )
    padding = "" if real == "unknown" else f", without padding {real}"
    balances = [value for each in runs if isinstance(value := each.result.get("pair_balance"), float)]
    return [
        ("Model", f"{sizes}; {parameters} parameters, vocabulary {vocabulary}"),
        ("Pre-training", f"{steps} steps, {tokens} tokens a run{padding}"),
        ("Tokens a run without padding, where they differ", _real_tokens(runs)),
        ("Sizes relative to the baseline", _multiples(runs, baseline)),
        ("True next segments", f"{100 * mean(balances):.1f} % of the pairs" if balances else ""),
    ]


def _real_tokens(runs: Sequence[Pretraining]) -> str:
    """The tokens of each variant without padding, means over its seeds; empty if they differ by at most 1 %."""
    counts: dict[str, list[int]] = {}
    for each in runs:
        if isinstance(number := each.result.get("real_tokens"), int):
            counts.setdefault(each.variant, []).append(number)
    means = {variant: mean(numbers) for variant, numbers in counts.items()}
    if not means or max(means.values()) <= 1.01 * min(means.values()):
        return ""
    return "; ".join(f"{variant}: {number:,.0f}" for variant, number in means.items())


def _multiples(runs: Sequence[Pretraining], baseline: str) -> str:
    """Variants of another size than the baseline's, as multiples of its layers, width and heads."""
    models = {each.variant: each.recipe.model for each in runs if each.recipe}
    shapes = {name: {"layers": it.layers, "width": it.hidden, "heads": it.heads} for name, it in models.items()}
    own = shapes.get(baseline, {})
    differing = {
        variant: ", ".join(f"{name} x {shape[name] / own[name]:.3g}" for name in own if shape[name] != own[name])
        for variant, shape in shapes.items()
    }
    return "; ".join(f"{variant}: {parts}" for variant, parts in differing.items() if parts)


def _checkpoint(run: Pretraining) -> str:
    commit, content = run.result.get("commit"), run.result.get("content")
    source = f"commit {commit} on the Hub" if commit else str(content)
    parameters, vocabulary = (run.result.get(name, 0) for name in ("parameters", "vocabulary"))
    return f"{run.imported} ({source}); {_size(run.recipe)}; {parameters:,} parameters, vocabulary {vocabulary:,}"


def _task(evidence: Evidence, cells: Sequence[Cell]) -> str:
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
    parts.append(_trained(cells))
    if cell.length:
        parts.append(f"sequences of at most {cell.length} tokens")
    if cell.kind and kinds.find(cell.kind).cased:
        parts.append(_casing(evidence, measured))
    return "; ".join(filter(None, [*parts, _threshold(cells)]))


def _trained(cells: Iterable[Cell]) -> str:
    """The parameters that the adaptation trains; by variant where they differ."""
    variants: dict[int, dict[str, None]] = {}
    for each in cells:
        if each.trained_parameters is not None:
            variants.setdefault(each.trained_parameters, {})[each.variant] = None
    counts = [
        f"{number:,}" + (f" ({', '.join(names)})" if len(variants) > 1 else "") for number, names in variants.items()
    ]
    return f"{', '.join(counts)} trained parameters" if counts else ""


def _casing(evidence: Evidence, cells: Iterable[Cell]) -> str:
    """Whether a task that papers read with capitals has them, and whether sentences come with their document."""
    cases = {each.recipe.tokenizer.cased for each in evidence.pretrainings if each.recipe}
    text = ["cased text" if each else "lower-cased text" for each in sorted(cases)]
    contexts = {cell.adaptation.context for cell in cells if cell.adaptation}
    documents = [f"with{'' if each else 'out'} the context of their document" for each in sorted(contexts)]
    return f"{' or '.join(text)}, sentences {' or '.join(documents)}"


def _threshold(cells: Iterable[Cell]) -> str:
    """How a task whose questions may have no answer decides which have one."""
    known = {cell.threshold: cell for cell in cells if cell.threshold is not None}
    if not known:
        return ""
    cell = next(iter(known.values()))
    if cell.kind and cell.adaptation and cell.adaptation.options(kinds.find(cell.kind)):
        return "a classifier trained with the span decides which questions are answered, at a probability of one half"
    ends = dict.fromkeys(f"{end + 0.0:.2f}" for end in (min(known), max(known)))
    examples = "the reported examples" if cell.split != "test" else "the evaluation examples"
    return (
        f"answered above a threshold ({' to '.join(ends)}) that is chosen for each run on {examples}, "
        "so the values are a little better than those of an unseen set"
    )


def _time(evidence: Evidence, trained: Iterable[Pretraining]) -> str:
    # by id: duplicates are one run
    pretrainings = {each.id: each.seconds for each in trained}
    cells = [cell for cell in evidence.cells if cell.value is not None and not cell.of_pretraining]
    measurements = {cell.run_id: cell.seconds for cell in cells}
    parts = {
        "text": evidence.preparation,
        count(len(pretrainings), "pre-training"): sum(pretrainings.values()),
        count(len(measurements), "measurement"): sum(measurements.values()),
    }
    spent = ", ".join(f"{what} {duration(seconds)}" for what, seconds in parts.items() if seconds)
    return f"{duration(sum(parts.values()))}: {spent}" if spent else ""


def _size(recipe: Recipe | None) -> str:
    if recipe is None:
        return "a model of unknown size"
    model = recipe.model
    return f"{model.layers} layers, {model.hidden} wide, {model.heads} heads, {model.positions} positions"


def _span(values: Iterable[Any]) -> str:
    """The least and the largest of the known values."""
    known = {value for value in values if value is not None}
    return " to ".join(dict.fromkeys(f"{each:,}" for each in (min(known), max(known)))) if known else "unknown"
