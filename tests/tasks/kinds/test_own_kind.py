"""Kinds of tasks that a study file defines."""

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.lab import studies
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.tasks import catalog, kinds
from bertlab.tasks.kinds import Span
from bertlab.tasks.kinds.classification import Classification
from bertlab.tasks.locate import _substituted, locate
from bertlab.tasks.metrics import Mean
from bertlab.tasks.task import Task

ARRAYS = {"prediction": np.array([0, 1, 1]), "label": np.array([0, 0, 1]), "log_likelihood": np.log([0.5, 0.25, 1])}


@pytest.fixture(autouse=True)
def known():
    """The kinds, which are as before after the test."""
    yield kinds.KINDS
    kinds.KINDS.pop("own", None)


def own(scores):
    """A kind with a metric `mine` that has these scores."""

    class Own(Classification):
        name = "own"
        metrics = (*Classification.metrics, "mine")

        def score(self, name, arrays, labels):
            return Mean(scores) if name == "mine" else super().score(name, arrays, labels)

    return Own()


def test_its_metrics_are_beside_those_of_the_kind_that_it_extends(known):
    kind = own(np.array([1.0, 2.0, 6.0]))
    assert type(known["own"]) is type(kind)
    assert kind.base_kind == "classification"
    assert kind.values(ARRAYS, ("no", "yes"))["mine"] == 3.0
    assert kind.metrics_for_labels(("a", "b", "c")) == ("accuracy", "matthews", "macro_f1", "exact", "mine")
    kept = kind.contributions(ARRAYS, ("no", "yes"))
    assert [*kept["metric_mine"]] == [1.0, 2.0, 6.0]
    assert "metric_exact" not in kept, "of a task without questions"
    assert "metric_exact" in kind.contributions(ARRAYS | {"question": np.arange(3)}, ("no", "yes"))
    assert kept["metric_likelihood"] == pytest.approx([50.0, 25.0, 100.0])
    assert known["classification"].contributions(ARRAYS, ("no", "yes")) == {}


def test_a_task_of_the_catalogue_keeps_its_synthetic_counterpart_and_takes_substitutes(machine):
    own(np.zeros(3))
    task = Task(kind="own", name="sst2", dataset="sst2", text=("sentence",), microworld="sentiment")
    assert locate(task, machine=machine, world=True).task.kind == "own"
    assert _substituted(task, "sst2", "cola", machine).kind == "own"
    with pytest.raises(BadInput, match="sst2 is own, squad is span"):
        locate(task, machine=machine, world=True, substitute="squad")
    assert locate(catalog.find("sst2"), machine=machine, world=True).task.kind == "classification"


@pytest.mark.parametrize(
    ("scores", "wrong"),
    [
        (np.array([1.0, np.nan, 2.0]), "metric mine of the kind of task 'own' gives no finite number"),
        (np.array([1.0, 2.0]), "metric mine of the kind of task 'own' is of 2 examples, and likelihood of 3"),
    ],
)
def test_a_metric_that_is_wrong_is_named(scores, wrong):
    with pytest.raises(BadInput, match=wrong):
        own(scores).contributions(ARRAYS, ("no", "yes"))


@pytest.mark.parametrize(
    "kind",
    ["classification", "regression", "multiple-choice", "coreference", "coreference-resolution", "span", "tagging"],
)
def test_a_declared_metric_without_a_score_is_refused(known, kind):
    class Own(type(known[kind])):
        name = "own"
        metrics = ("missing",)

        def score(self, name, arrays, labels):
            return super().score(name, arrays, labels)

    arrays = ARRAYS | {"sentence": np.zeros(3, int), "feminine": np.zeros(3, int)}
    wrong = "the kind of task 'own' declares the metric 'missing' and has no score for it: let its score return one"
    with pytest.raises(BadInput, match=wrong):
        Own().metric("missing", arrays, ("O", "B-A"))


def test_a_metric_that_nothing_scores_is_refused_when_the_kind_is_tried(known):
    class Mine(type(known["classification"])):
        name = "own"
        metrics = ("accuracy", "mine")

    wrong = "the kind of task 'own' declares the metric 'mine' and has no score for it: let its score return one"
    with pytest.raises(BadInput, match=wrong):
        Mine().contributions(ARRAYS, ("no", "yes"))


def test_a_metric_of_what_the_predictions_of_a_kind_hold_needs_no_score_of_its_own():
    class Own(Span):
        name = "own"
        metrics = (*Span.metrics, "short")

        def predict(self, data, raw, examples, scores, threshold=None):
            raise NotImplementedError

    assert Own().metric("short", {"short": np.array([0.0, 1.0])}).value == 50.0


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("name = 'span'", "needs a name of its own, and 'span' is bertlab's:"),
        ("pass", "needs a name of its own, and 'classification' is bertlab's:"),
        ("name = 'own'; settings_group = 'mine'", "has the settings_group 'mine': give finetune, tagging, span"),
    ],
)
def test_a_kind_without_a_name_of_its_own_or_with_a_setting_of_its_own_is_refused(tmp_path, line, wrong):
    file = tmp_path / "mine.py"
    file.write_text(
        f"from bertlab.tasks.kinds.classification import Classification\n\nclass Mine(Classification):\n    {line}\n"
    )
    with pytest.raises(BadInput, match=f"the kind of task Mine {wrong}"):
        studies.find(str(file))


def test_a_study_made_in_python_cannot_keep_its_code():
    own(np.zeros(3))
    measured = Measurement("m", task=Task(kind="own", path="somewhere", text=("sentence",)))
    study = Study(name="s", question="?", source="me", baseline="a", variants=[Variant("a")], measurements=[measured])
    with pytest.raises(BadInput, match="results keep the code that they come from: define it and the study in a file"):
        studies.chosen([study])
