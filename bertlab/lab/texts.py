"""What is said of the texts of jobs before anything is trained on them."""

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import Any

from bertlab.errors import BadInput
from bertlab.inputs.targets import LOW
from bertlab.lab.jobs import Job, PrepareCorpus, Pretrain, text_of
from bertlab.store.runs import Store
from bertlab.text import facts
from bertlab.text.tokens import open_corpus


def known(jobs: Iterable[Job], store: Store) -> list[dict[str, Any]]:
    """The facts of the text of each corpus: all if it is prepared, else the files and, if they are small, documents."""
    before = cache(facts.before)  # corpora that differ in their vocabularies share their text
    found = []
    for job in jobs:
        if isinstance(job, PrepareCorpus):
            run = store.get(job.id)
            text = None if run is None else run.result().get("text")
            found.append(text or before(job.located, job.corpus.documents))
    return found


def planned(jobs: Iterable[Job], store: Store) -> tuple[list[str], list[str]]:
    """The lines that a plan says of its texts, and doubts about how they are read."""
    corpora = [job for job in jobs if isinstance(job, PrepareCorpus)]
    texts = zip(corpora, known(corpora, store), strict=True)
    lines = [f"text: {facts.sentence(text, facts.names(job.located))}" for job, text in texts]
    doubts = [each for job in corpora for each in facts.layout_doubts(job.located, job.corpus.documents)]
    return [*dict.fromkeys(lines)], [*dict.fromkeys(doubts)]


def prepared(jobs: Iterable[Job], store: Store) -> tuple[list[str], list[str]]:
    """The lines and the doubts about the prepared texts of pre-trainings, with the targets of their losses.

    Of several variants, a line has the lowest share. Raises `BadInput`, which names the variant, if a loss has none.
    """
    distinct = {
        (dataclasses.replace(job.recipe, seed=0), job.corpus.id): job
        for job in jobs
        if isinstance(job, Pretrain) and job.steps
    }
    read: list[dict[str, Any]] = []
    doubts: dict[str, None] = {}
    for job in distinct.values():
        if (run := store.get(job.corpus.id)) is None:
            continue
        try:
            text = text_of(job.recipe, open_corpus(run.path, job.recipe.tokenizer, check=False))
        except BadInput as error:
            raise BadInput(f"{job.name}: {error}") from None
        except Exception:  # of an own part, whose run says where it failed
            continue
        read.append(text)
        few = [f"{job.name}: only {share:.0%} {words}" for words, share in text["targets"].items() if share < LOW]
        doubts |= dict.fromkeys([*few, *facts.doubts(text)])
    return [f"text: {facts.sentence(each)}" for each in facts.merged(read)], [*doubts]
