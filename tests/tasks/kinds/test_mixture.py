"""Several tasks as one: each keeps its examples and metrics, and the average is that of their means."""

import numpy as np
import pytest

from bertlab import synthetic
from bertlab.adaptation import FineTuning
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.recipe import Equal, Proportional
from bertlab.tasks import catalog
from bertlab.tasks.data import beginning, held_back, load, sampled
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
    unnamed = Task(kind="mixture", text=("text",), labels=task.labels)
    assert locate(unnamed, machine=Machine(data=tmp_path), world=False).name == "cola-text + xsum-text"
    assert sorted(found.train.text[0]) == ["cola sentence: a", "cola sentence: b", "summarize: a"]
    assert sorted(answer.text for answer in found.evaluation.labels) == ["acceptable", "b", "unacceptable"]


def test_a_task_of_few_examples_is_in_every_sample_of_a_mixture(tmp_path, write):
    """Without one of its examples it has no metrics, and the mixture no average."""
    rows = {"cola": [{"sentence": f"a {row}", "label": row % 2} for row in range(400)]}
    rows["rte"] = [{"sentence1": "b", "sentence2": f"c {row}", "label": row} for row in range(2)]
    for name in ("cola", "rte"):
        for split in ("train", "validation"):
            write(tmp_path / name / f"{split}.jsonl", rows[name])
    labels = ("cola-text:matthews", "rte-text:accuracy")
    task = Task(kind="mixture", name="own", text=("text",), labels=labels)
    data = load(task, machine=Machine(data=tmp_path), world=False)
    for count in (1, 5, 20):
        few = sampled(data, count).evaluation
        assert {answer.part for answer in few.labels} == {"cola-text", "rte-text"}
        assert count <= len(few) <= count + 1
    assert {answer.part for answer in held_back(data).evaluation.labels} == {"cola-text", "rte-text"}
    assert {answer.part for answer in beginning(data.evaluation, 3).labels} == {"cola-text", "rte-text"}
    assert len(held_back(data).train) + len(held_back(data).evaluation) == 402


def test_the_lexical_baseline_reads_the_examples_of_a_task_that_a_model_reads(tmp_path, write, monkeypatch):
    for name, count in (("cola", 60), ("sst2", 20), ("wic", 4)):
        texts = {"sentence": "a", "sentence1": "a", "sentence2": "b", "word": "c"}
        for split in ("train", "validation"):
            write(tmp_path / name / f"{split}.jsonl", [{**texts, "label": row % 2} for row in range(count)])
    labels = ("cola-text:accuracy", "sst2-text:accuracy", "wic-text:accuracy")
    data = load(
        Task(kind="mixture", name="own", text=("text",), labels=labels), machine=Machine(data=tmp_path), world=False
    )
    fitted = []
    plain = KINDS["text-to-label"].lexical
    monkeypatch.setattr(
        type(KINDS["text-to-label"]), "lexical", lambda kind, train: fitted.append(len(train)) or plain(train)
    )
    for most, counts in ((42, [30, 10, 2]), (5, [4, 1, 1]), (0, [60, 20, 4]), (1000, [60, 20, 4])):
        fitted.clear()
        KIND.lexical_floor(data, most)
        assert fitted in (counts, [])  # the floors of all examples are computed once


def test_a_sample_of_a_mixture_has_whole_questions(tmp_path, write):
    answers = [
        {"paragraph": f"p {row // 8}", "question": f"q {row // 4}", "answer": f"a {row}", "label": row % 2}
        for row in range(80)
    ]
    for split in ("train", "validation"):
        write(tmp_path / "multirc" / f"{split}.jsonl", answers)
        write(tmp_path / "cola" / f"{split}.jsonl", [{"sentence": f"b {row}", "label": row % 2} for row in range(80)])
    task = Task(kind="mixture", name="own", text=("text",), labels=("multirc-text:exact", "cola-text:matthews"))
    data = load(task, machine=Machine(data=tmp_path), world=False)
    for few in (sampled(data, 40).evaluation, beginning(data.evaluation, 40)):
        questions = [answer.question for answer in few.labels if answer.part == "multirc-text"]
        assert len(questions) >= 4
        assert all(questions.count(question) == 4 for question in questions)
        assert 30 <= len(few) <= 41
    assert sampled(data, 0).evaluation is data.evaluation


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (("cola-text:matthews", "sst2-text:accuracy", "cola-text:accuracy"), "'cola-text:matthews': .* there twice"),
        (("mnli:accuracy",), "'mnli:accuracy': its answers are no texts of one task: name one such as cola-text"),
        (("glue-text:average",), "'glue-text:average': its answers are no texts of one task"),
        (("cola-text",), "unknown metric of cola-text '': choose from"),
        (("cola-text:mathews",), "unknown metric of cola-text 'mathews': did you mean 'matthews'"),
        (("colla-text:matthews",), "unknown task 'colla-text': did you mean 'cola-text'"),
        ((), "'own' is a mixture without tasks: name some of the catalogue in its labels"),
    ],
)
def test_what_is_no_mixture_is_refused_before_anything_is_read(labels, says):
    task = Task(kind="mixture", name="own", text=("text",), labels=labels)
    with pytest.raises(BadInput, match=says):
        locate(task, machine=Machine(), world=True)


def test_answers_of_a_mixture_have_to_be_texts_that_a_model_can_write():
    letters = TrainedWordPiece([*PIECES[:5], *"abc"], WordPiece(vocabulary=100))
    rows = RawExamples(text=(["a"],), labels=[Answer("sentiment-text", "positive", "positive", -1, -1)])
    with pytest.raises(BadInput, match="answer 'positive' has characters that the vocabulary lacks"):
        KIND.encode(rows, letters, LENGTH)
