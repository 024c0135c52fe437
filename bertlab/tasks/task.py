"""A task as data: an entry of the catalogue, or a task that a study file defines."""

from dataclasses import dataclass

from bertlab.recipe.ranges import Checked


@dataclass(frozen=True, kw_only=True)
class Task(Checked, group="task "):
    """A task as data: the location of its examples and the meaning of its columns.

    Tasks of the catalogue set `dataset`; a user's own task sets `path`, a folder of `<split>.jsonl[.gz]` or `.parquet`
    files.
    """

    kind: str
    """One of `tasks.kinds.KINDS`."""
    name: str = ""
    dataset: str = ""
    """The name of its folder in a local mirror (`mnli`), which reports show."""
    hub: str = ""
    """The data set on the Hugging Face Hub as `owner/name[:config][@revision]`."""
    path: str = ""
    """A folder of the user's own; a relative path starts at the folder of the study file."""
    train: str = "train"
    """The training split."""
    evaluation: str = "validation"
    """The split that measurements report by default."""
    test: str = ""
    """A test split with public labels, which measurements can report too; empty for none."""
    text: tuple[str, ...] = ()
    """Text columns: one or two for classification and regression; question and context for spans; context and endings
    (or one column of lists of endings, which one of questions may precede) for multiple choice; one column of tokens
    for tagging."""
    label: str = "label"
    """The target column: a label for classification, a number for regression, the index of the right ending for
    multiple choice, a label per token for tagging; for spans SQuAD's `answers`, `{"text": [...], "answer_start":
    [...]}` in characters of the context, with empty lists if the question has no answer."""
    labels: tuple[str, ...] = ()
    """Names of the labels, in the order of their integers; empty to read them from the data."""
    group: tuple[str, ...] = ()
    """Columns whose equal values mark dependent examples (of an article, a paragraph, a premise), widest group first;
    the first that all splits have applies. The bootstrap and the held-back split keep such examples together."""
    microworld: str = ""
    """The synthetic counterpart, for runs on the synthetic corpus."""
