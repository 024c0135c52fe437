"""A task as data: a line of the catalogue, or what a study file says of a task of its own."""

from __future__ import annotations

from dataclasses import dataclass

from bertlab.recipe.ranges import Checked


@dataclass(frozen=True, kw_only=True)
class Task(Checked, group="task "):
    """A task as data: where its examples are and what its columns mean.

    A task of the catalogue gives `dataset`; a user's own gives `path`, a folder of `<split>.jsonl[.gz]`, `.parquet`,
    `.csv` or `.tsv` files.
    """

    kind: str
    """One of `tasks.kinds.KINDS`."""
    name: str = ""
    dataset: str = ""
    """The folder's name in a local mirror (`mnli`), and the name that reports show."""
    hub: str = ""
    """The data set on the Hugging Face Hub as `owner/name[:config][@revision]`."""
    path: str = ""
    """A folder of the user's own; where it is relative, from the folder of the study file."""
    train: str = "train"
    """The split that is trained on."""
    evaluation: str = "validation"
    """The split that is reported."""
    test: str = ""
    """A split with public labels that is judged too, for columns that report it; none if empty."""
    text: tuple[str, ...] = ()
    """Columns of text: one or two for classification and regression; the question, then the context for spans; the
    context, then each ending (or one column of lists of endings) for multiple choice; one of tokens for tagging."""
    label: str = "label"
    """The column of what is to be found: a label a row for classification, a number for regression, the number of the
    right ending for multiple choice, a label a token for tagging; for spans SQuAD's `answers`, that is
    `{"text": [...], "answer_start": [...]}` in characters of the context, empty if the question has no answer."""
    labels: tuple[str, ...] = ()
    """Names of the labels, in the order of their integers; empty to take them from the data."""
    group: tuple[str, ...] = ()
    """Columns of which equal values mark examples that hang together (an article, a paragraph, a premise), the widest
    first: the first that all splits have is used. Such examples are resampled together, and never held back apart."""
    microworld: str = ""
    """The counterpart in the embedded world, used when neither a mirror nor the Hub is asked for."""
