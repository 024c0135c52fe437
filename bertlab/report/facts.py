"""How a study was run: the facts of a section, as names and sentences. Raw text; the page escapes it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from bertlab.grouping import grouped
from bertlab.report.cells import Cell, Pretraining
from bertlab.report.study_results import StudyResults
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.generated import DEFECT_WORDS
from bertlab.text import facts as text_facts
from bertlab.wording import duration, join_words, lowest_to_highest, pluralise

PAPERS = {
    "Clark et al. 2020": "https://arxiv.org/abs/2003.10555",
    "Devlin et al. 2019": "https://aclanthology.org/N19-1423/",
    "Dodge et al. 2020": "https://arxiv.org/abs/2002.06305",
    "Hao et al. 2019": "https://arxiv.org/abs/1908.05620",
    "Houlsby et al. 2019": "https://arxiv.org/abs/1902.00751",
    "Howard and Ruder 2018": "https://arxiv.org/abs/1801.06146",
    "Joshi et al. 2020": "https://arxiv.org/abs/1907.10529",
    "Lan et al. 2020": "https://arxiv.org/abs/1909.11942",
    "Liu et al. 2019": "https://arxiv.org/abs/1907.11692",
    "Mosbach et al. 2021": "https://arxiv.org/abs/2006.04884",
    "Peters et al. 2018": "https://arxiv.org/abs/1802.05365",
    "Radford et al. 2018": "https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf",
    "Shen et al. 2020": "https://arxiv.org/abs/2003.07845",
    "Wettig et al. 2022": "https://arxiv.org/abs/2202.08005",
    "Xiong et al. 2020": "https://arxiv.org/abs/2002.04745",
    "Zhang et al. 2021": "https://arxiv.org/abs/2006.05987",
}
"""Where the papers are that the shipped studies cite."""

NOTED = 1.0
"""Outputs with a defect that are noted, at least, in per cent of all."""


def cited(study: StudyResults) -> list[tuple[str, str]]:
    """The papers that the source of a study cites, as it does, each with its address; empty if that is not known."""
    papers = filter(None, study.record.source.split("; "))
    return [(paper, next((at for name, at in PAPERS.items() if paper.startswith(name)), "")) for paper in papers]


def progress(study: StudyResults) -> str:
    """How many values are measured; empty if all are."""
    counts = ", ".join(f"{n} {status}" for status, n in Counter(cell.status for cell in study.unfinished).items())
    measured = len(study.cells) - len(study.unfinished)
    return f"{measured} of {len(study.cells)} values are measured; {counts}." if counts else ""


def defects(study: StudyResults) -> list[str]:
    """The outputs with a defect, of each measurement the mean share of the variant that has most, from 1 % on. Those of
    a mixture are of the task that has most."""
    lines = []
    for name in study.distinct:
        most = []
        for defect, words in DEFECT_WORDS.items():
            shares = {variant: _share(study.at(variant, name), defect) for variant in study.variants}
            variant = max(shares, key=shares.__getitem__)
            if shares[variant] >= NOTED:
                most.append(f"{shares[variant]:.0f} % {words} ({variant})")
        lines += [f"{study.head(name)} {', '.join(most)}"] if most else []
    return lines


def _share(cells: Iterable[Cell], defect: str) -> float:
    """The mean share of outputs with a defect, in per cent; 0 of no outputs."""
    shares = []
    for cell in cells:
        task = cell.metric.rpartition("/")[0]
        of_task = (share for name, share in cell.metrics.items() if name.startswith(task) and name.endswith(defect))
        shares.append(max(of_task, default=0.0))
    return fmean(shares) if shares else 0.0


def facts(study: StudyResults) -> list[tuple[str, str]]:
    """Corpus, model, steps and tokens, seeds, tasks, machine and recorded time; an unknown fact is left out."""
    finished = [run for run in study.pretrainings if run.finished]
    trained = [run for run in finished if run.trained]
    lines = [("Corpus", ", ".join(study.record.corpus))]
    texts = text_facts.merged(run.result.text for run in trained if run.result.text)
    lines += [("Text", "; ".join([text_facts.sentence(text), *text_facts.doubts(text)])) for text in texts]
    lines += [("Set", ", ".join(study.overrides)), *_pretraining(trained, study.baseline)]
    for run in [run for run in finished if run.imported][:1]:
        commit = run.result.commit
        source = f"commit {commit} on the Hub" if commit else run.result.content or None
        lines.append(("Published checkpoint", f"{run.imported} ({source}); {_model([run])}"))
    lines.append(("Seeds", _seeds(study)))
    lines += [(name, _task(study, study.column(name))) for name in study.measurements]
    lines += [(f"Before {task}", f"trained on {name}") for task, name in study.record.intermediate_task.items()]
    for task, setting in study.record.searched.items():
        values = ", ".join(f"{name} {value:g}" for name, value in setting.items())
        chosen = "chosen on the baseline for all variants, by held-back training examples"
        lines.append((f"Fine-tuning on {task}", f"{values}; {chosen}"))
    for variant, factors in (study.record.rates or {}).items():
        values = ", ".join(f"{factor:g} on {task}" for task, factor in factors.items())
        chosen = "multiples of its usual one, chosen on held-back training examples"
        lines.append((f"Learning rate of {variant}", f"{values}; {chosen}"))
    for name, of in (("Machine", "host"), ("Numerics", "numerics")):
        distinct = dict.fromkeys(", ".join(map(" ".join, getattr(run, of).items())) for run in finished)
        lines += [(name, text) for text in distinct]
    lines += [("Date", dates(study)), ("Commit", ", ".join(_every(study, "commit"))), ("Time", _time(study))]
    return [(name, text) for name, text in lines if text]


def _seeds(study: StudyResults) -> str:
    """The seeds, and the fewest and the most fine-tuning seeds that a model has on a measurement."""
    restarts = Counter((cell.column, cell.pretrain_seed) for cell in study.cells if not cell.of_pretraining).values()
    fewest = f"{min(restarts)} to " if len({*restarts}) > 1 else ""
    tuned = f"; {fewest}{pluralise(max(restarts), 'fine-tuning seed')} of each measurement" if restarts else ""
    if study.pretrained:
        return f"one checkpoint{tuned}: n counts these"
    seeds = list(dict.fromkeys(str(run.seed) for run in study.pretrainings))
    return f"{pluralise(len(seeds), 'seed')} of pre-training ({', '.join(seeds)}), paired across variants{tuned}"


def _pretraining(runs: Sequence[Pretraining], baseline: str) -> list[tuple[str, str]]:
    """What the pre-trainings have in common, then what differs between variants: tokens and sizes."""
    if not runs:
        return []
    results = [run.result for run in runs]
    steps, tokens = _span(result.steps for result in results), _span(result.tokens for result in results)
    real, words = (_span(getattr(result, name) for result in results) for name in ("real_tokens", "words"))
    contents = "" if real == "unknown" else f", without padding {real}"
    contents += "" if words == "unknown" else f"; {words} words"
    models = {run.variant: run.model for run in runs if run.model}
    multiples = []
    for variant, model in models.items():
        base = models.get(baseline, model)
        ratios = {name: size / base.sizes[name] for name, size in model.sizes.items() if name in base.sizes}
        if parts := [f"{name} x {ratio:.3g}" for name, ratio in ratios.items() if ratio != 1]:
            multiples.append(f"{variant}: {', '.join(parts)}")
    balances = [result.pair_balance for result in results if result.pair_balance is not None]
    return [
        ("Model", _model(runs)),
        ("Pre-training", f"{steps} steps, {tokens} tokens a run{contents}"),
        ("Shared steps", _shared(runs)),
        ("Sizes relative to the baseline", "; ".join(multiples)),
        ("True next segments", f"{100 * fmean(balances):.1f} % of the pairs" if balances else ""),
    ]


def _shared(runs: Sequence[Pretraining]) -> str:
    """The first steps that pre-trainings share, and how many steps were trained; empty if they share none."""
    variants = grouped((trunk.steps, run.variant) for run in runs for trunk in run.trunks.trunks)
    if not variants:
        return ""
    distinct = {run.id: run for run in runs}.values()
    trunks = {trunk.id: trunk.steps - trunk.first for run in distinct for trunk in run.trunks.trunks}
    trained = sum(run.steps - run.trunks.steps for run in distinct) + sum(trunks.values())
    parts = [f"the first {steps:,} of {join_words(dict.fromkeys(names))}" for steps, names in sorted(variants.items())]
    alone = sum(run.steps for run in distinct)
    return f"{'; '.join(parts)}, trained once a seed: {trained:,} steps in place of {alone:,}"


def _task(study: StudyResults, cells: Sequence[Cell]) -> str:
    measured = [cell for cell in cells if cell.value is not None] or cells
    cell = measured[0]
    if cell.of_pretraining:
        return f"{cell.metric_name} on held-out text, of the pre-training itself"
    dataset = cell.dataset if cell.dataset == cell.task else f"{cell.dataset} (for {cell.task})"
    parts = [f"{cell.metric_name} on {dataset}, split {cell.split}"]
    described = (cell.adaptation or cell.result.defined for cell in measured)
    parts.append(" or ".join(dict.fromkeys(what.description for what in described if what.description)))
    if cell.rows.train or cell.rows.evaluation:
        parts.append(f"{cell.rows.train:,} training and {cell.rows.evaluation:,} evaluation examples")
    if cell.rows.unlabelled:
        parts.append(f"{pluralise(cell.rows.unlabelled, 'row')} without a label left out")
    trained = grouped((number, other.variant) for other in cells if (number := other.trained_parameters) is not None)
    if trained:
        names = [f" ({', '.join(dict.fromkeys(names))})" if len(trained) > 1 else "" for names in trained.values()]
        counts = [f"{number:,}{variants}" for number, variants in zip(trained, names, strict=True)]
        parts.append(f"{', '.join(counts)} trained parameters")
    if cell.result.length:
        parts.append(f"sequences of at most {cell.result.length} tokens")
    if cell.kind in KINDS and KINDS[cell.kind].cased:
        cases = {run.tokenizer.cased for run in study.pretrainings if run.tokenizer}
        text = ["cased text" if cased else "lower-cased text" for cased in sorted(cases)]
        contexts = {run.adaptation.context for run in measured if run.adaptation}
        documents = [f"with{'' if context else 'out'} the context of their document" for context in sorted(contexts)]
        parts.append(f"{' or '.join(text)}, sentences {' or '.join(documents)}")
    return "; ".join(filter(None, [*parts, _threshold(cells)]))


def _threshold(cells: Iterable[Cell]) -> str:
    """How a task whose questions may have no answer decides which have one."""
    thresholds = {cell.result.threshold: cell for cell in cells if cell.result.threshold is not None}
    if not thresholds:
        return ""
    cell = next(iter(thresholds.values()))
    if cell.kind in KINDS and cell.adaptation and cell.adaptation.options(KINDS[cell.kind]):
        return "a classifier trained with the span decides which questions are answered, at a probability of one half"
    ends = lowest_to_highest(thresholds, lambda end: f"{end + 0.0:.2f}")
    examples = "the reported examples" if cell.split != "test" else "the evaluation examples"
    return (
        f"answered above a threshold ({ends}) that is chosen for each run on {examples}, "
        "so the values are a little better than those of an unseen set"
    )


def _every(study: StudyResults, name: str) -> list[str]:
    """The known values of a fact of all runs, sorted."""
    return sorted({str(getattr(run.environment, name)) for run in (*study.pretrainings, *study.cells)} - {""})


def dates(study: StudyResults) -> str:
    """The first and the last day on which a run began."""
    days = _every(study, "date")
    return f"{lowest_to_highest(days)} (UTC)" if days else ""


def _seconds(study: StudyResults) -> dict[str, float]:
    """The recorded time of the pre-trainings and of the measurements."""
    # by id: duplicates are one run
    runs = {run.id: run for run in study.pretrainings if run.trained}.values()
    trained = {run.id: run.seconds - run.trunks.seconds for run in runs}
    shared = {trunk.id: trunk.seconds for run in runs for trunk in run.trunks.trunks}
    measured = {cell.run_id: cell.seconds for cell in study.cells if cell.seconds}
    kinds = {"pre-training": trained, "measurement": measured} | ({"shared beginning": shared} if shared else {})
    return {pluralise(len(seconds), name): sum(seconds.values()) for name, seconds in kinds.items()}


def spent(study: StudyResults) -> float:
    """The recorded time of a study, in seconds."""
    return sum(_seconds(study).values())


def _time(study: StudyResults) -> str:
    parts = ", ".join(f"{what} {duration(seconds)}" for what, seconds in _seconds(study).items() if seconds)
    return f"{duration(spent(study))}: {parts}" if parts else ""


def _model(runs: Sequence[Pretraining]) -> str:
    models = dict.fromkeys(run.model.description if run.model else "a model of unknown size" for run in runs)
    parameters, vocabulary = _span(run.result.parameters for run in runs), _span(run.result.vocabulary for run in runs)
    return f"{'; '.join(models)}; {parameters} parameters, vocabulary {vocabulary}"


def _span(values: Iterable[float | None]) -> str:
    """The least and the largest of the values that are known."""
    return lowest_to_highest([value for value in values if value is not None], "{:,}".format) or "unknown"
