"""Tasks whose answers are texts: what a decoder reads and is to write, and what its outputs are worth."""

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.recipe import T5, Model, Recipe
from bertlab.tasks import catalog
from bertlab.tasks.data import load
from bertlab.tasks.examples import IGNORED
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.scoring import LIKELIHOOD
from bertlab.tasks.task import RawExamples, Table, Task, TaskData
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENIZER = TrainedWordPiece(
    [*SPECIALS, *"abcdefg0123456789._-", *(f"##{letter}" for letter in "abcdefg0123456789")],
    WordPiece(vocabulary=100, sentinels=2),
)
PAD, UNKNOWN, END = TOKENIZER.pad, TOKENIZER.unk, TOKENIZER.sep
LENGTH = 8
CLASSES = ("a_b", "a", "c")


def ids(text):
    return TOKENIZER.encode([text])[0]


def data(kind, texts, answers, labels=()):
    rows = RawExamples(text=(list(texts),), labels=list(answers))
    return TaskData(
        name="t", dataset="t", kind=kind, labels=labels, train=rows, evaluation=rows, content="sha256:0"
    )  # fmt: skip


def predicted(kind, answers, outputs, labels=(), log_likelihood=-0.5):
    """What the kind predicts where a decoder wrote these texts, or ids, each with its end mark where it is a text."""
    task = data(kind, ["a"] * len(answers), answers, labels)
    examples = KINDS[kind].encode(task.evaluation, TOKENIZER, LENGTH)
    scores = np.zeros((len(answers), LENGTH, 2))
    for row, output, target in zip(scores, outputs, examples.targets.reshape(-1, LENGTH), strict=True):
        written = [*ids(output), END] if isinstance(output, str) else output
        row[: len(written), 0] = written
        row[:, 1] = np.where(target == IGNORED, 0, log_likelihood)
    found = KINDS[kind].predict(task, task.evaluation, examples, scores.reshape(-1, 2))
    said = KINDS[kind].outputs(labels, task.evaluation, examples, scores.reshape(-1, 2), None)
    return found, KINDS[kind].values(found.arrays, labels), said


def test_the_decoder_reads_each_target_before_the_next_one_and_the_last_is_the_end():
    rows = RawExamples(text=(["ab c", "a b c d e f g a b"],), labels=["abc", "d"])
    examples = KINDS["text-to-text"].encode(rows, TOKENIZER, LENGTH, training=True)
    assert examples.sequences[0].tolist() == [*ids("ab c"), END]
    assert examples.sequences[1].tolist() == [*ids("a b c d e f g"), END], "cut, with its end mark"
    batch = examples.batch(np.arange(2))
    right = [*ids("abc"), END]
    assert batch.targets.tolist() == [right, [*ids("d"), END, IGNORED, IGNORED]]
    assert batch.outputs.tolist() == [[PAD, *right[:-1]], [PAD, *ids("d"), END, PAD]]
    assert batch.end.tolist() == [END, END]
    assert set(examples.ids()) == set(range(TOKENIZER.size)), "every token may come next"
    evaluated = KINDS["text-to-text"].encode(rows, TOKENIZER, LENGTH)
    assert evaluated.counts.tolist() == [LENGTH, LENGTH]
    assert evaluated.targets[:LENGTH].tolist() == [*right, *[IGNORED] * 4]


def test_an_output_is_a_label_or_wrong():
    answers = ["a_b", "a", "c", "a"]
    found, values, said = predicted("text-to-label", answers, ["a_b", "c", "e", "a"], CLASSES)
    assert found.arrays["prediction"].tolist() == [0, 2, -1, 1]
    assert found.arrays["label"].tolist() == [0, 1, 2, 1]
    assert (values["accuracy"], values["no_label"], values["unfinished"]) == (50, 25, 0)
    assert not found.collapsed
    assert said[1] == {"text": "c", "finished": True}
    counts = np.array([2, 2, 2, 2])  # tokens of a_b with its end are 4
    counts[0] = 4
    assert KINDS["text-to-label"].metric(LIKELIHOOD, found.arrays, CLASSES).value == pytest.approx(
        100 * np.exp(-0.5 * counts).mean()
    )


def test_an_output_that_is_no_label_is_a_class_of_its_own_for_matthews_and_none_for_macro_f1():
    from sklearn.metrics import f1_score, matthews_corrcoef

    answers, outputs = ["a_b", "a", "c", "a", "c"], ["a_b", "e", "c", "a", "f"]
    found, values, _ = predicted("text-to-label", answers, outputs, CLASSES)
    prediction, label = found.arrays["prediction"], found.arrays["label"]
    assert values["matthews"] == pytest.approx(100 * matthews_corrcoef(label, prediction))
    assert values["macro_f1"] == pytest.approx(
        100 * f1_score(label, prediction, labels=range(3), average="macro", zero_division=0)
    )


def test_numbers_are_written_in_fifths_and_read_with_spaces_around_the_point():
    kind = KINDS["text-to-number"]
    assert [kind.written(number) for number in (3.25, 0.0, 4.7, 5, 2.31)] == ["3.2", "0.0", "4.8", "5.0", "2.4"]
    found, values, _ = predicted("text-to-number", [1.0, 2.0, 3.0, 4.0], ["1.0", "2.2", "b", "4"])
    assert found.arrays["prediction"].tolist() == [1.0, 2.2, -1.0, 4.0]
    assert values["no_number"] == 25
    assert values["pearson"] == pytest.approx(100 * np.corrcoef([1, 2.2, -1, 4], [1, 2, 3, 4])[0, 1])


def test_answers_are_compared_as_those_of_squad_with_each_right_one():
    answers = [("a-b c", "d"), ("e",), ("f g", "a")]
    _, values, _ = predicted("text-to-answer", answers, ["D", "ab", "g"])
    assert values["exact"] == pytest.approx(100 / 3)
    assert values["f1"] == pytest.approx(100 * (1 + 0 + 2 / 3) / 3)


def test_texts_are_compared_as_the_tokenizer_spells_them_and_an_unknown_character_matches_nothing():
    same = ["A-b. c", "a b c d e"]
    _, values, _ = predicted("text-to-text", same, same)
    assert (values["bleu"], values["rouge2"], values["exact"]) == (pytest.approx(100), 100, 100)
    outputs = [[*ids("a b c"), UNKNOWN, *ids("d"), END]]
    _, values, _ = predicted("text-to-text", ["a b c x d"], outputs)
    assert values["exact"] == 0
    assert values["rouge1"] == pytest.approx(100 * 2 * 4 / (4 + 5))


def test_the_likelihood_of_a_long_text_is_that_of_its_mean_token():
    found, _, _ = predicted("text-to-text", ["a b c d", "a"], ["a", "a"], log_likelihood=-2.0)
    assert found.arrays["log_likelihood"].tolist() == [-2, -2]


def test_outputs_with_defects_are_counted():
    sentinel = int(TOKENIZER.sentinels[1])
    outputs = [[*ids("a b c d e f g a")], [sentinel, *ids("a"), END], [*ids("a"), END, sentinel]]
    found, values, said = predicted("text-to-text", ["a", "a", "a b c d e f g a"], outputs)
    assert found.arrays["unfinished"].tolist() == [True, False, False]
    assert found.arrays["with_sentinels"].tolist() == [False, True, False], "what is behind the end is no output"
    assert found.arrays["cut"].tolist() == [False, False, True]
    assert [round(values[name], 3) for name in ("unfinished", "with_sentinels", "cut")] == [33.333] * 3
    assert [one["finished"] for one in said] == [False, True, True]
    assert predicted("text-to-text", ["a", "b"], ["c", "c"])[0].collapsed


@pytest.mark.parametrize(
    ("kind", "answers", "labels", "name", "best"),
    [
        ("text-to-label", ["a", "c", "a"], CLASSES, "accuracy", 200 / 3),
        ("text-to-answer", [("b",), ("c",), ("B", "d")], (), "exact", 200 / 3),
        ("text-to-text", ["a b c d e", "c", "a b c d e"], (), "exact", 200 / 3),
        ("text-to-number", [1.0, 2.0, 3.0], (), "pearson", 0),
    ],
)
def test_the_majority_is_the_most_frequent_answer(kind, answers, labels, name, best):
    task = data(kind, ["e", "f", "g"], answers, labels)
    examples = KINDS[kind].encode(task.evaluation, TOKENIZER, LENGTH)
    guess = KINDS[kind].majority(task, task.evaluation, examples, examples)
    values = KINDS[kind].floor(guess, task.evaluation, labels)
    assert values[name] == pytest.approx(best)
    assert values["unfinished"] == 0
    assert values.keys() == KINDS[kind].values(predicted(kind, answers, "abc", labels)[0].arrays, labels).keys()


def test_words_of_the_input_are_the_lexical_floor_of_a_label():
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(list("abcdefg"), 4)) for _ in range(400)]
    task = data("text-to-label", texts, ["a" if "d" in text else "c" for text in texts], CLASSES)
    (floor,) = KINDS["text-to-label"].lexical_floor(task)
    assert floor["accuracy"] > 95
    assert floor["no_label"] == 0


def test_a_model_without_a_decoder_is_refused_before_anything_is_trained():
    KINDS["text-to-text"].check(lambda: Recipe(model=T5(layers=1, hidden=32, heads=2)))
    with pytest.raises(BadInput, match="text-to-text needs a decoder"):
        KINDS["text-to-text"].check(lambda: Recipe(model=Model(layers=1, hidden=32, heads=2)))


@pytest.mark.parametrize("wrong", [None, 3, ["a", 1], [" "], {"text": "a"}])
def test_what_is_no_answer_is_named(wrong):
    task = Task(kind="text-to-answer", text=("q",), label="answers")
    table = Table("file", {"answers": ["a", wrong]})
    with pytest.raises(BadInput, match=r"file column answers row 2 is .*: give a text, a list of texts"):
        KINDS["text-to-answer"].answers(task, table, ())


@pytest.mark.parametrize(
    ("kind", "answer"), [("text-to-label", "b/c"), ("text-to-number", 1.0)], ids=["label", "number"]
)
def test_labels_and_numbers_that_the_vocabulary_cannot_write_are_refused(kind, answer):
    letters = TrainedWordPiece([*SPECIALS, *"abc"], WordPiece(vocabulary=100))
    with pytest.raises(BadInput, match="has characters that the vocabulary lacks"):
        KINDS[kind].encode(RawExamples(text=(["a"],), labels=[answer]), letters, LENGTH)


def test_answers_have_three_forms():
    task = Task(kind="text-to-answer", text=("q",), label="answers")
    table = Table("file", {"answers": ["a", ["b", "c"], {"text": ["d"], "answer_start": [0]}, []]})
    assert KINDS["text-to-answer"].answers(task, table, ()) == [("a",), ("b", "c"), ("d",), ()]


def test_a_task_reads_members_of_records(tmp_path, write):
    rows = [{"translation": {"en": "a", "de": "b"}}, {"translation": {"en": "c", "de": "d"}}]
    for split in ("train", "validation"):
        write(tmp_path / f"{split}.jsonl", rows)
    fields = {"text": ("to German: {translation.en}",), "label": "{translation.de}"}
    found = load(Task(kind="text-to-text", path=str(tmp_path), **fields), machine=Machine(), world=False)
    assert found.evaluation.text == (["to German: a", "to German: c"],)
    assert found.evaluation.labels == ["b", "d"]
    with pytest.raises(BadInput, match=r"row 1 has no column 'translation.fr'.*did you mean 'translation"):
        load(
            Task(kind="text-to-text", path=str(tmp_path), **fields | {"label": "{translation.fr}"}),
            machine=Machine(), world=False,
        )  # fmt: skip


@pytest.mark.parametrize(("name", "text", "answer"), [
    ("mnli-text", r"mnli hypothesis: \w.* premise: \w.*", {"entailment", "neutral", "contradiction"}),
    ("cola-text", r"cola sentence: \w.*", {"acceptable", "unacceptable"}),
])  # fmt: skip
def test_published_tasks_have_the_forms_of_t5_on_the_synthetic_corpus(name, text, answer):
    import re

    found = load(catalog.find(name), machine=Machine(), world=True)
    assert all(re.fullmatch(text, one) for one in found.evaluation.text[0][:50])
    assert set(found.evaluation.labels) == answer
    assert found.dataset == "microworld"


def test_no_label_is_no_class_that_happens_to_have_no_right_answer():
    """The last label is written and right nowhere: an output that is no label is yet another class."""
    from sklearn.metrics import matthews_corrcoef

    answers, outputs = ["a_b", "a", "a", "a_b", "a"], ["a_b", "c", "a", "e", "f"]
    found, values, _ = predicted("text-to-label", answers, outputs, CLASSES)
    classes = np.where(found.arrays["prediction"] < 0, len(CLASSES), found.arrays["prediction"])
    assert values["matthews"] == pytest.approx(100 * matthews_corrcoef(found.arrays["label"], classes))


def test_labels_that_the_tokenizer_spells_alike_are_refused():
    rows = RawExamples(text=(["a", "b", "c"],), labels=["A b", "c", "a b"])
    with pytest.raises(BadInput, match=r"answers 'A b' and 'a b' are the same text .* tokenizer\.lowercase=false"):
        KINDS["text-to-label"].encode(rows, TOKENIZER, LENGTH)
    KINDS["text-to-text"].encode(rows, TOKENIZER, LENGTH)


def test_two_numbers_are_no_number():
    found, *_ = predicted("text-to-number", [1.0] * 5, ["3 5", "3 . 5", "- 1 . 2", "3 . 5 . 1", "3"])
    assert found.arrays["prediction"].tolist() == [-1.0, 3.5, -1.2, -1.0, 3.0]
    assert found.arrays["no_number"].tolist() == [True, False, False, True, False]
