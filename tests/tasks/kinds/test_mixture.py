"""Several tasks as one: each keeps its examples and metrics, and the average is that of their means."""

import numpy as np
import pytest

from bertlab import synthetic
from bertlab.adaptation import FineTuning
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.recipe import Equal, Proportional
from bertlab.tasks import catalog
from bertlab.tasks.data import load, sampled
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.mixture import Answer, MeanOfTasks
from bertlab.tasks.kinds.scoring import LIKELIHOOD
from bertlab.tasks.locate import locate
from bertlab.tasks.metrics import Mean, MetricOfMeans, percentage
from bertlab.tasks.task import RawExamples, Task, TaskData
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

KIND = KINDS["mixture"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789._-"]
TOKENIZER = TrainedWordPiece(
    [*PIECES, *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789")], WordPiece(vocabulary=100)
)
LABELS = ("sentiment-text:accuracy", "similarity-text:pearson+spearman", "question-inference-text:f1+accuracy")
LENGTH = 20


def answers():
    """Three examples of the first task, four of the second, two of the third, which are of one group."""
    first = [Answer("sentiment-text", name, name, -1, -1) for name in ("negative", "positive", "negative")]
    second = [Answer("similarity-text", value, f"{value}", -1, -1) for value in (1.0, 2.0, 3.0, 4.0)]
    third = [Answer("question-inference-text", "entailment", "entailment", 7, -1) for _ in range(2)]
    return [first[0], second[0], third[0], first[1], second[1], second[2], third[1], first[2], second[3]]


def predicted(texts):
    rows = RawExamples(text=(["a"] * len(texts),), labels=answers())
    task = TaskData(
        name="m", dataset="", kind="mixture", labels=LABELS, train=rows, evaluation=rows, content="sha256:mixture"
    )  # fmt: skip
    examples = KIND.encode(rows, TOKENIZER, LENGTH)
    scores = np.zeros((len(texts), LENGTH, 2))
    for row, text in zip(scores, texts, strict=True):
        written = [*TOKENIZER.encode([text])[0], TOKENIZER.sep]
        row[: len(written), 0], row[0, 1] = written, -1.0
    return task, rows, examples, KIND.predict(task, rows, examples, scores.reshape(-1, 2))


RIGHT = [answer.text for answer in answers()]


def test_rates_are_an_option_of_mixtures_of_tasks():
    settings = FineTuning(mixing=Equal())
    assert settings.unsupported_reason(KIND) == ""
    assert "mixing is an option of mixture" in settings.unsupported_reason(KINDS["text-to-text"])
    assert FineTuning(mixing=Proportional()) == FineTuning()
    rows = RawExamples(text=(["a"] * 9,), labels=answers())
    assert KIND.encode(rows, TOKENIZER, LENGTH, training=True).parts.tolist() == [0, 1, 2, 0, 1, 1, 2, 0, 1]


def test_each_task_is_judged_on_its_own_examples():
    texts = [*RIGHT]
    texts[3] = "negative"  # of the first task
    texts[6] = "not_entailment"  # of the third
    arrays = predicted(texts)[-1].arrays
    values = KIND.values(arrays, LABELS)
    assert values["sentiment-text/accuracy"] == pytest.approx(200 / 3)
    assert values["similarity-text/pearson"] == values["similarity-text/spearman"] == pytest.approx(100)
    assert values["question-inference-text/accuracy"] == 50
    f1 = values["question-inference-text/f1"]
    assert values["average"] == pytest.approx((200 / 3 + 100 + (f1 + 50) / 2) / 3)
    assert arrays["question-inference-text/group"].tolist() == [7, 7], "examples of one group are resampled together"
    assert KIND.metric("question-inference-text/accuracy", arrays, LABELS).examples == 1
    with pytest.raises(ValueError, match="no metric none/accuracy"):
        KIND.metric("none/accuracy", arrays, LABELS)


def test_the_likelihood_is_that_of_the_same_task_or_the_mean_over_tasks():
    arrays = predicted(RIGHT)[-1].arrays
    assert KIND.likelihood_of("sentiment-text/accuracy") == "sentiment-text/likelihood"
    one = KIND.metric("sentiment-text/likelihood", arrays, LABELS).value
    assert one == pytest.approx(100 * np.exp(-1))
    assert KIND.likelihood_of("average") == LIKELIHOOD
    assert KIND.metric(LIKELIHOOD, arrays, LABELS).value == pytest.approx((2 * one + 100) / 3)


def test_a_guess_is_that_of_each_task():
    task, rows, examples, _ = predicted(RIGHT)
    floor = KIND.floor(KIND.majority(task, rows, examples, examples), rows, LABELS)
    assert floor["sentiment-text/accuracy"] == pytest.approx(200 / 3)
    assert floor["average"] == pytest.approx((200 / 3 + 0 + (0 + 100) / 2) / 3)


def test_a_bootstrap_of_the_average_draws_within_tasks():
    """The variance of the mean of contributions is that of drawing new examples of each task by themselves."""
    draw = np.random.default_rng(0)
    scores = draw.normal(50, 20, 400)
    hits = draw.integers(0, 2, (100, 2)).astype(float)
    hits[:, 1] = 1
    metrics = [[Mean(scores)], [MetricOfMeans(hits, percentage), Mean(100 * hits[:, 0])]]
    metric = MeanOfTasks(metrics)
    assert metric.value == pytest.approx((scores.mean() + 100 * hits[:, 0].mean()) / 2)
    assert metric.examples == 500
    resampled = [
        (scores[draw.integers(0, 400, 400)].mean() + 100 * hits[draw.integers(0, 100, 100), 0].mean()) / 2
        for _ in range(20_000)
    ]
    assert metric.contributions().std() / np.sqrt(500) == pytest.approx(np.std(resampled), rel=0.03)


def test_glue_in_words_is_read_from_its_tasks_on_the_synthetic_corpus():
    located = locate(catalog.find("glue-text"), machine=Machine(), world=True)
    assert [part.name for part in located.parts] == [*KIND.parts(catalog.WORLD["sayings-text"])]
    found = load(catalog.find("glue-text"), machine=Machine(), world=True)
    single = load(catalog.find("similarity-text"), machine=Machine(), world=True)
    rows = [row for row, answer in enumerate(found.evaluation.labels) if answer.part == "similarity-text"]
    assert sorted(found.evaluation.text[0][row] for row in rows) == sorted(single.evaluation.text[0])
    assert [found.evaluation.text[0][row] for row in rows] != single.evaluation.text[0], "in another order"
    assert found.test is None
    assert len(found.train) == sum(synthetic.size(part.task.microworld, "train") for part in located.parts)
    few = sampled(found, 300)
    (floor,) = KIND.lexical_floor(few, 300)
    assert 0 < floor["average"] < 60
    assert {answer.part for answer in few.evaluation.labels} == {part.name for part in located.parts}
    assert locate(catalog.find("sayings-text"), machine=Machine(), world=False).content == located.content
    other = locate(catalog.find("superglue-text"), machine=Machine(), world=True)
    assert other.content != located.content


def test_a_mixture_of_files_is_missing_where_one_task_is(tmp_path, write):
    for split in ("train", "validation"):
        write(tmp_path / "cola" / f"{split}.jsonl", [{"sentence": "a", "label": 0}, {"sentence": "b", "label": 1}])
    task = Task(kind="mixture", name="own", text=("text",), labels=("cola-text:matthews", "xsum-text:rouge2"))
    with pytest.raises(BadInput, match="xsum-text"):
        load(
            Task(kind="mixture", name="own", text=("text",), labels=("cola-text:matthews", "xsumm-text:rouge2")),
            machine=Machine(data=tmp_path), world=False,
        )  # fmt: skip
    write(tmp_path / "xsum" / "train.jsonl", [{"document": "a", "summary": "b"}])
    with pytest.raises(BadInput, match=r"has no validation\.jsonl"):
        load(task, machine=Machine(data=tmp_path), world=False)
    write(tmp_path / "xsum" / "validation.jsonl", [{"document": "a", "summary": "b"}])
    found = load(task, machine=Machine(data=tmp_path), world=False)
    assert sorted(found.train.text[0]) == ["cola sentence: a", "cola sentence: b", "summarize: a"]
    assert sorted(answer.text for answer in found.evaluation.labels) == ["acceptable", "b", "unacceptable"]
