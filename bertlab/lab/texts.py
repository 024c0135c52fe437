"""What is said of the texts of jobs before anything is trained on them."""

from collections.abc import Iterable, Sequence
from typing import Any

from bertlab.errors import BadInput
from bertlab.inputs.targets import LOW
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.lists import grouped
from bertlab.store.runs import Store
from bertlab.text import facts


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
