"""GAP's rows as choices, the window around the pronoun, and F1 by gender counted by hand."""

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, data
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.task import RawExamples

KIND = KINDS["coreference"]
WHERE = "of the text: give its position in characters"
TEXT = "Ann saw that Eve had lost her key when she fell."


def row(pronoun="she", at=39, a=True, b=False, text=TEXT):
    names = {"A": "Ann", "A-offset": 0, "A-coref": a, "B": "Eve", "B-offset": 13, "B-coref": b}
    return {"ID": "x-1", "Text": text, "Pronoun": pronoun, "Pronoun-offset": at, **names, "URL": "some page"}


@pytest.fixture
def load(tmp_path, write):
    def loaded(*rows, suffix=".jsonl"):
        for split, these in (("train", rows), ("validation", [row()])):
            write(tmp_path / "gap" / f"{split}{suffix}", these)
        return data.load(catalog.find("gap"), machine=Machine(data=tmp_path, cache=tmp_path / "cache"), world=False)

    return loaded


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".tsv"])
def test_the_pronoun_is_marked_and_each_answer_is_an_ending(load, suffix):
    found = load(row(), row("her", 26, a=False, b=True), row("her", 26, a=False), suffix=suffix)
    marked, one, other, neither = found.train.text
    assert marked[0] == "Ann saw that Eve had lost her key when [ she ] fell."
    assert marked[1] == marked[2] == "Ann saw that Eve had lost [ her ] key when she fell."
    assert (one[0], other[1], neither[2]) == ("she means Ann", "her means Eve", "her means neither")
    assert (found.labels, found.train.labels) == (("A", "B", "neither"), [0, 1, 2])
    assert found.train.groups.tolist() == [0, 0, 0], "of one article"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"Pronoun": "it"}, "{file} column Pronoun row 2 is 'it': give one of she, her, hers, he, him, his"),
        ({"Pronoun": None}, "{file} column Pronoun row 2 is None: give a text"),
        ({"Pronoun-offset": 3}, f"{{file}} column Pronoun-offset row 2: 'she' does not start at 3 {WHERE}"),
        ({"Pronoun-offset": None}, f"{{file}} column Pronoun-offset row 2: 'she' does not start at None {WHERE}"),
        ({"B": 7}, "{file} column B row 2 is 7: give a text"),
        ({"B-coref": "maybe"}, "{file} column B-coref row 2 is 'maybe': give true or false"),
        ({"B-coref": True}, "{file} row 2 has A-coref and B-coref true: give one true at most"),
    ],
)
def test_a_wrong_row_is_named(load, tmp_path, wrong, says):
    with pytest.raises(BadInput) as caught:
        load(row(), row() | wrong)
    assert str(caught.value) == says.format(file=tmp_path / "gap" / "train.jsonl")


def test_a_missing_column_is_named(load):
    with pytest.raises(
        BadInput, match=r"train\.jsonl row 1 has no column 'B-coref', which the task reads: did you mean 'A-coref'"
    ):
        load({name: value for name, value in row().items() if name != "B-coref"})


def test_a_task_of_the_users_own_names_two_columns_of_answers(tmp_path, write):
    for split in ("train", "validation"):
        write(tmp_path / f"{split}.jsonl", [row()])
    gap, machine = catalog.find("gap"), Machine(cache=tmp_path / "cache")
    own = {"kind": "coreference", "path": str(tmp_path), "text": gap.text}
    assert data.load(type(gap)(**own, label=gap.label), machine=machine, world=False).train.labels == [0]
    with pytest.raises(BadInput, match="label 'A-coref': give two columns in braces, such as"):
        data.load(type(gap)(**own, label="A-coref"), machine=machine, world=False)


def test_a_long_text_keeps_what_is_around_the_pronoun():
    from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

    words = ["she", "means", "neither", "[", "]", *"abcdefghijklmnop"]
    tokenizer = TrainedWordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])

    def kept(before, after, length):
        texts = f"{before} [ she ] {after}", "she means a", "she means b", "she means neither"
        raw = RawExamples(text=tuple([text] for text in texts), labels=[1])
        found = KIND.encode(raw, tokenizer, length)
        assert (found.choices, found.targets.tolist()) == (3, [1])
        assert {len(sequence) for sequence in found.sequences} == {int(found.lengths[0])}
        first = " ".join(tokenizer.vocabulary[token] for token in found.sequences[0])
        assert first.endswith("[SEP] she means a [SEP]")
        return first.removeprefix("[CLS] ").removesuffix(" [SEP] she means a [SEP]")

    assert kept("a b", "c", 64) == "a b [ she ] c"
    assert kept("a b c d e f g h", "i j k l m n o p", 13) == "g h [ she ] i j"
    assert kept("a b c d e f g h", "i", 13) == "f g h [ she ] i", "the end of the text leaves more room before"
    assert kept("a", "i j k l m n o p", 13) == "a [ she ] i j k"


PREDICTED = [0, 0, 1, 2, 1, 0, 2, 1]
LABELS = [0, 1, 1, 0, 2, 0, 2, 0]
WOMEN = [1, 1, 1, 1, 0, 0, 0, 0]


def test_f1_by_gender():
    """Feminine: 2 true positives, 3 predicted, 4 true: 2 * 2 / 7. Masculine: 1 true positive, 3 predicted, 2 true:
    2 / 5. A name that is guessed wrongly counts twice, as a false positive and as a miss of the other."""
    arrays = {"prediction": np.array(PREDICTED), "label": np.array(LABELS), "feminine": np.array(WOMEN, bool)}
    found = KIND.values(arrays, ())
    assert list(found) == ["f1", "f1_masculine", "f1_feminine", "bias"]
    assert found["f1_feminine"] == pytest.approx(100 * 4 / 7)
    assert found["f1_masculine"] == pytest.approx(100 * 2 / 5)
    assert found["f1"] == pytest.approx(100 * 6 / 12)
    assert found["bias"] == pytest.approx(100 * (4 / 7) / (2 / 5))
    neither = KIND.values(arrays | {"prediction": np.full(8, 2)}, ())
    assert set(neither.values()) == {0}


def test_predictions_and_the_majority_guess_know_the_gender(load):
    from types import SimpleNamespace

    pairs = ("She", 0, "She fell."), ("his", 0, "his key fell.")
    raw = load(*(row(pronoun, at, text=text) for pronoun, at, text in pairs)).train
    encoded = SimpleNamespace(targets=np.array(raw.labels))
    scores = np.log([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    found = KIND.predict(None, raw, encoded, scores).arrays | KIND.example_arrays(raw)
    assert found["feminine"].tolist() == [True, False]
    assert KIND.values(found, ()) == {"f1": 50, "f1_masculine": 0, "f1_feminine": 100, "bias": 0}
    assert np.exp(found["log_likelihood"]) == pytest.approx([0.5, 0.25])
    guess = KIND.majority(None, raw, encoded, encoded)
    assert KIND.floor(guess, raw, ()) == {"f1": 100, "f1_masculine": 100, "f1_feminine": 100, "bias": 100}
