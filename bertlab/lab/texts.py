"""What is said of jobs before anything is trained: of their texts, their models, and what they lack."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from bertlab.errors import BadInput
from bertlab.inputs.targets import LOW
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.lists import grouped
from bertlab.lab.plan import Plan
from bertlab.lab.record import differences
from bertlab.store.runs import Store
from bertlab.text import facts
from bertlab.wording import join_words, pluralise


def corpus_facts(jobs: Iterable[Job], store: Store) -> list[dict[str, Any]]:
    """The facts of the text of each corpus: all if it is prepared, else the files and, if they are small, documents."""
    return [notes.facts for job in jobs if (notes := job.describe_source(store))]


def describe_planned(jobs: Iterable[Job], store: Store) -> tuple[list[str], list[str]]:
    """The lines that a plan says of its texts, and doubts about how they are read."""
    texts = [notes for job in jobs if (notes := job.describe_source(store))]
    lines = [f"text: {facts.sentence(text.facts, text.files)}" for text in texts]
    return [*dict.fromkeys(lines)], [*dict.fromkeys(doubt for text in texts for doubt in text.doubts)]


def describe_prepared(jobs: Sequence[Job], store: Store) -> tuple[list[str], list[str]]:
    """The lines and the doubts about the prepared texts of pre-trainings, with the targets of their losses.

    Of several variants, a line has the lowest share. Raises `BadInput`, which names the variant, if a loss has none.
    """
    texts: list[dict[str, Any]] = []
    doubts: dict[str, None] = {}
    for job, _ in grouped(jobs):
        try:
            text = job.describe_text(store)
        except BadInput as error:
            raise BadInput(f"{job.name}: {error}") from None
        if text is not None:
            texts.append(text)
            few = [f"{job.name}: only {share:.0%} {words}" for words, share in text["targets"].items() if share < LOW]
            doubts |= dict.fromkeys([*few, *facts.doubts(text)])
    return [f"text: {facts.sentence(text)}" for text in facts.merged(texts)], [*doubts]


def describe_models(jobs: Sequence[Job]) -> list[str]:
    """A line for each model and schedule that jobs pre-train: shape and parameters; batch, steps and lengths."""
    numbers = Counter[str]()
    for job, number in grouped(jobs):
        numbers[job.describe_model()] += number
    return [f"{number} x {line}" for line, number in numbers.items() if line]


def unlike_paper(plan: Plan) -> list[str]:
    """A line for each study whose setting differs from its paper's."""
    lines = []
    for study in plan.request.studies:
        concerned: dict[str, list[str]] = {}
        for difference in differences(plan, study):
            concerned.setdefault(difference.what, []).append(difference.on)
        parts = [f"{what} ({', '.join(on)})" if any(on) else what for what, on in concerned.items()]
        if parts:
            lines.append(f"Differs from {study.source}, so only signs can be compared: {'; '.join(parts)}.")
    return lines


def lacking(pending: Iterable[Job], store: Store) -> str:
    """What to do if pending jobs need the weights of results without weights; empty if none does."""
    stored = {run.id: run for run in store.runs()}
    needing = [(job.id, corpus.id) for job in pending for corpus in job.needs if corpus.id in stored] if stored else []
    bare = sorted(need for need in {need for _, need in needing} if stored[need].bare)
    if not bare:
        return ""
    failing = len({run_id for run_id, need in needing if need in bare})
    first = join_words([*bare[:2], *([f"{len(bare) - 2:,} more"] if len(bare) > 2 else [])])
    return (
        f"{pluralise(failing, 'job')} will fail: they need the weights of {pluralise(len(bare), 'run')}, whose results "
        f"are in the store without them; remove these runs (`bertlab runs --remove ID`: {first}), and the same command "
        "trains them again"
    )
