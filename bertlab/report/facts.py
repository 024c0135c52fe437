"""How a study was run: the facts of a section, as names and sentences. Raw text; the page escapes it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from bertlab.report.cells import Cell, Pretraining
from bertlab.report.evidence import Evidence
from bertlab.tasks.kinds import KINDS
from bertlab.text import facts as text_facts
from bertlab.wording import count, duration

PAPERS = {
    "Clark et al. 2020": "https://arxiv.org/abs/2003.10555",
    "Devlin et al. 2019": "https://aclanthology.org/N19-1423/",
    "Houlsby et al. 2019": "https://arxiv.org/abs/1902.00751",
    "Howard and Ruder 2018": "https://arxiv.org/abs/1801.06146",
    "Joshi et al. 2020": "https://arxiv.org/abs/1907.10529",
    "Lan et al. 2020": "https://arxiv.org/abs/1909.11942",
    "Liu et al. 2019": "https://arxiv.org/abs/1907.11692",
    "Shen et al. 2020": "https://arxiv.org/abs/2003.07845",
    "Wettig et al. 2022": "https://arxiv.org/abs/2202.08005",
    "Xiong et al. 2020": "https://arxiv.org/abs/2002.04745",
}
"""Where the papers are that the shipped studies cite."""


def cited(evidence: Evidence) -> list[tuple[str, str]]:
    """The papers that the source of a study cites, as it does, each with its address; empty if that is not known."""
    parts = filter(None, evidence.source.split("; "))
    return [(part, next((at for name, at in PAPERS.items() if part.startswith(name)), "")) for part in parts]


def progress(evidence: Evidence) -> str:
    """How many values are measured; empty if all are."""
    missing = evidence.unfinished
    if not missing:
        return ""
    counts = ", ".join(f"{number} {status}" for status, number in Counter(cell.status for cell in missing).items())
    return f"{len(evidence.cells) - len(missing)} of {len(evidence.cells)} values are measured; {counts}."


def facts(evidence: Evidence) -> list[tuple[str, str]]:
    """Corpus, model, steps and tokens, seeds, tasks, machine and recorded time; an unknown fact is left out."""
    finished = [each for each in evidence.pretrainings if each.finished]
    trained = [each for each in finished if not each.untrained and not each.imported]
    read = text_facts.merged(run.result.text for run in trained if run.result.text)
    found = [("Corpus", ", ".join(evidence.corpus))]
    found += [("Text", "; ".join([text_facts.sentence(each), *text_facts.doubts(each)])) for each in read]
    found.append(("Set", ", ".join(evidence.overrides)))
    found += _pretraining(trained, evidence.baseline)
    for run in [each for each in finished if each.imported and not each.untrained][:1]:
        commit = run.result.commit
        source = f"commit {commit} on the Hub" if commit else run.result.content or None
        found.append(("Published checkpoint", f"{run.imported} ({source}); {_model([run])}"))
    seeds = list(dict.fromkeys(str(each.seed) for each in evidence.pretrainings))
    if evidence.pretrained:
        found.append(("Seeds", f"one checkpoint{_restarts(evidence)}: n counts these"))
    else:
        number = f"{count(len(seeds), 'seed')} of pre-training ({', '.join(seeds)})"
        found.append(("Seeds", f"{number}, paired across variants{_restarts(evidence)}"))
    found += [(name, _task(evidence, evidence.column(name))) for name in evidence.measurements]
    found += [(f"Before {task}", f"trained on {name}") for task, name in evidence.intermediate_task.items()]
    for task, setting in evidence.searched.items():
        values = ", ".join(f"{name} {value:g}" for name, value in setting.items())
        chosen = "chosen on the baseline for all variants, by held-back training examples"
        found.append((f"Fine-tuning on {task}", f"{values}; {chosen}"))
    for name, of in (("Machine", "host"), ("Numerics", "numerics")):
        texts = dict.fromkeys(", ".join(map(" ".join, getattr(each, of).items())) for each in finished)
        found += [(name, text) for text in texts]
    found += [("Date", dates(evidence)), ("Commit", ", ".join(_every(evidence, "commit"))), ("Time", _time(evidence))]
    return [(name, text) for name, text in found if text]


def _restarts(evidence: Evidence) -> str:
    """The fewest and the most fine-tuning seeds that a model has on a measurement; empty without tasks."""
    tasks = [each for each in evidence.cells if not each.of_pretraining]
    known = Counter((each.variant, each.measurement, each.milestone, each.pretrain_seed) for each in tasks).values()
    if not known:
        return ""
    fewest = "" if min(known) == max(known) else f"{min(known)} to "
    return f"; {fewest}{count(max(known), 'fine-tuning seed')} of each measurement"


def _pretraining(runs: Sequence[Pretraining], baseline: str) -> list[tuple[str, str]]:
    """What the pre-trainings have in common, then what differs between variants: tokens and sizes."""
    if not runs:
        return []
    steps, tokens, real = (
        _span([run.result.steps for run in runs]),
        _span([run.result.tokens for run in runs]),
        _span([run.result.real_tokens for run in runs]),
    )
    padding = "" if real == "unknown" else f", without padding {real}"
    found = [("Model", _model(runs)), ("Pre-training", f"{steps} steps, {tokens} tokens a run{padding}")]
    by_variant = {each.variant: [run for run in runs if run.variant == each.variant] for each in runs}
    sizes = {name: model for name, own in by_variant.items() if (model := own[-1].model)}
    multiples = []
    for variant, model in sizes.items():
        own = sizes.get(baseline, model)
        ratios = {name: size / own.sizes[name] for name, size in model.sizes.items() if name in own.sizes}
        if parts := [f"{name} x {ratio:.3g}" for name, ratio in ratios.items() if ratio != 1]:
            multiples.append(f"{variant}: {', '.join(parts)}")
    found.append(("Sizes relative to the baseline", "; ".join(multiples)))
    balances = [run.result.pair_balance for run in runs if run.result.pair_balance is not None]
    found.append(("True next segments", f"{100 * fmean(balances):.1f} % of the pairs" if balances else ""))
    return found


def _task(evidence: Evidence, cells: Sequence[Cell]) -> str:
    measured = [each for each in cells if each.value is not None] or cells
    cell = measured[0]
    if cell.of_pretraining:
        return f"{cell.metric_name} on held-out text, of the pre-training itself"
    dataset = cell.dataset if cell.dataset == cell.task else f"{cell.dataset} (for {cell.task})"
    parts = [
        f"{cell.metric_name} on {dataset}, split {cell.split}",
        " or ".join(dict.fromkeys(each.description for each in measured if each.description)),
    ]
    if cell.train_examples or cell.eval_examples:
        parts.append(f"{cell.train_examples:,} training and {cell.eval_examples:,} evaluation examples")
    if cell.unlabelled:
        parts.append(f"{count(cell.unlabelled, 'row')} without a label left out")
    trained: dict[int, dict[str, None]] = {}
    for each in cells:
        if each.trained_parameters is not None:
            trained.setdefault(each.trained_parameters, {})[each.variant] = None
    if trained:
        counts = [
            f"{each:,} ({', '.join(names)})" if len(trained) > 1 else f"{each:,}" for each, names in trained.items()
        ]
        parts.append(f"{', '.join(counts)} trained parameters")
    if cell.length:
        parts.append(f"sequences of at most {cell.length} tokens")
    if cell.kind in KINDS and KINDS[cell.kind].cased:
        cases = {each.tokenizer.cased for each in evidence.pretrainings if each.tokenizer}
        text = ["cased text" if each else "lower-cased text" for each in sorted(cases)]
        contexts = {each.adaptation.context for each in measured if each.adaptation}
        documents = [f"with{'' if each else 'out'} the context of their document" for each in sorted(contexts)]
        parts.append(f"{' or '.join(text)}, sentences {' or '.join(documents)}")
    return "; ".join(filter(None, [*parts, _threshold(cells)]))


def _threshold(cells: Iterable[Cell]) -> str:
    """How a task whose questions may have no answer decides which have one."""
    known = {cell.threshold: cell for cell in cells if cell.threshold is not None}
    if not known:
        return ""
    cell = next(iter(known.values()))
    if cell.kind in KINDS and cell.adaptation and cell.adaptation.options(KINDS[cell.kind]):
        return "a classifier trained with the span decides which questions are answered, at a probability of one half"
    ends = dict.fromkeys(f"{end + 0.0:.2f}" for end in (min(known), max(known)))
    examples = "the reported examples" if cell.split != "test" else "the evaluation examples"
    return (
        f"answered above a threshold ({' to '.join(ends)}) that is chosen for each run on {examples}, "
        "so the values are a little better than those of an unseen set"
    )


def _every(evidence: Evidence, name: str) -> list[str]:
    """The known values of a fact of all runs, sorted."""
    return sorted({known for each in (*evidence.pretrainings, *evidence.cells) if (known := getattr(each, name))})


def dates(evidence: Evidence) -> str:
    """The first and the last day on which a run began."""
    days = _every(evidence, "date")
    return " to ".join(dict.fromkeys((days[0], days[-1]))) + " (UTC)" if days else ""


def _seconds(evidence: Evidence) -> dict[str, float]:
    """The recorded time of the pre-trainings and of the measurements."""
    # by id: duplicates are one run
    trained = [each for each in evidence.pretrainings if each.finished and not each.untrained and not each.imported]
    pretrainings = {each.id: each.seconds for each in trained}
    measurements = {cell.run_id: cell.seconds for cell in evidence.cells if cell.seconds}
    return {
        count(len(pretrainings), "pre-training"): sum(pretrainings.values()),
        count(len(measurements), "measurement"): sum(measurements.values()),
    }


def spent(evidence: Evidence) -> float:
    """The recorded time of a study, in seconds."""
    return sum(_seconds(evidence).values())


def _time(evidence: Evidence) -> str:
    parts = ", ".join(f"{what} {duration(seconds)}" for what, seconds in _seconds(evidence).items() if seconds)
    return f"{duration(spent(evidence))}: {parts}" if parts else ""


def _model(runs: Sequence[Pretraining]) -> str:
    models = [each.model for each in runs]
    sizes = [model.description if model else "a model of unknown size" for model in models]
    text = "; ".join(dict.fromkeys(sizes))
    parameters, vocabulary = (
        _span([run.result.parameters for run in runs]),
        _span([run.result.vocabulary for run in runs]),
    )
    return f"{text}; {parameters} parameters, vocabulary {vocabulary}"


def _span(values: Sequence[float | None]) -> str:
    """The least and the largest of the values that are known."""
    numbers = [value for value in values if value is not None]
    return " to ".join(dict.fromkeys(f"{end:,}" for end in (min(numbers), max(numbers)))) if numbers else "unknown"
