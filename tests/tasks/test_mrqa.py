"""The data sets of the MRQA shared task: a part each of one data set of the Hub, with answers in a form of its own."""

import dataclasses
import gzip
import json

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, data, kinds, mirror
from bertlab.tasks.kinds.span import Answers
from bertlab.tasks.locate import locate

SUBSETS = {
    "newsqa": "NewsQA",
    "triviaqa": "TriviaQA-web",
    "searchqa": "SearchQA",
    "hotpotqa": "HotpotQA",
    "natural_questions": "NaturalQuestionsShort",
}
CONTEXT = "[DOC] [TLE] Ann Lee [PAR] ann lee won, Ann Lee said."


def detected(*places):
    """The places of one text for each argument, as the Hub has them: structures of lists."""
    return {"text": ["?"] * len(places), "char_spans": [{"start": [*a], "end": [*b]} for a, b in places]}


def row(subset, question="Who won?", context=CONTEXT, **changes):
    """A question with the answer Ann Lee at all its three places, the last one first, and one text twice."""
    places = detected(([39, 12], [45, 18]), ([26], [32]), ([39], [45]))
    answers = {"detected_answers": places, "answers": ["Lee, Ann", "ann lee"]}
    tokens = {"context_tokens": {"tokens": context.split(), "offsets": [0] * len(context.split())}}
    return {"subset": subset, "context": context, "qid": "0", "question": question} | tokens | answers | changes


@pytest.fixture
def machine(tmp_path):
    (tmp_path / "mirror").mkdir()
    return Machine(data=tmp_path / "mirror", cache=tmp_path / "cache")


@pytest.fixture
def pushed(hub, tmp_path):
    """A stand-in of the data set of the Hub: questions of each part after one another, others in the test split."""
    import datasets

    value, whole = datasets.Value, datasets.Value("int32")
    places = {"start": datasets.List(whole), "end": datasets.List(whole)}
    features = datasets.Features(
        {name: value("string") for name in ("subset", "context", "qid", "question")}
        | {"context_tokens": {"tokens": datasets.List(value("string")), "offsets": datasets.List(whole)}}
        | {"detected_answers": {"text": datasets.List(value("string")), "char_spans": datasets.List(places)}}
        | {"answers": datasets.List(value("string"))}
    )
    files = {}
    for split in ("train", "validation", "test"):
        subsets = ["SQuAD", *SUBSETS.values()] if split != "test" else ["BioASQ"]
        rows = [row(each, f"{each} {split} {number}?") for each in subsets for number in range(2)]
        datasets.Dataset.from_list(rows, features=features).to_parquet(tmp_path / "rows.parquet")
        files[f"plain_text/{split}-00000-of-00001.parquet"] = (tmp_path / "rows.parquet").read_bytes()
    card = "---\nconfigs:\n- config_name: plain_text\n  data_files:\n" + "".join(
        f"  - {{split: {split}, path: plain_text/{split}-*}}\n" for split in ("train", "validation", "test")
    )
    return hub.push("datasets/mrqa-workshop/mrqa", {"README.md": f"{card}---\n".encode(), **files})


def test_each_task_is_its_part_of_the_data_set(pushed, tmp_path):
    machine = Machine(cache=tmp_path / "cache")
    contents = set()
    for name, subset in SUBSETS.items():
        found = data.load(catalog.find(name), machine=machine, world=False)
        assert found.train.text == ([f"{subset} train 0?", f"{subset} train 1?"], [CONTEXT] * 2)
        assert found.evaluation.text[0] == [f"{subset} validation 0?", f"{subset} validation 1?"]
        assert found.test is None
        assert found.train.groups.tolist() == [0, 0], "one context"
        contents.add(found.content)
    assert len(contents) == len(SUBSETS), "the same files are the examples of several tasks"


def test_answers_are_all_places_in_their_order_and_the_accepted_texts_are_scored(machine, write):
    for split in ("train", "validation"):
        write(machine.data / "newsqa" / f"{split}.parquet", [row("NewsQA")])
    found = data.load(catalog.find("newsqa"), machine=machine, world=False)
    (answer,) = found.evaluation.labels
    assert answer == Answers(("Ann Lee", "ann lee", "Ann Lee"), (12, 26, 39), ("Lee, Ann", "ann lee"))
    assert all(CONTEXT[start:].startswith(text) for text, start in zip(answer.texts, answer.starts, strict=True))
    assert kinds.find("span").majority(found, found.evaluation, None, None)["exact"].tolist() == [1.0]
    other = dataclasses.replace(answer, accepted=("Lee of Ann",))
    raw = dataclasses.replace(found.evaluation, labels=[other])
    scores = kinds.find("span").majority(found, raw, None, None)
    assert scores["exact"].tolist() == [0.0], "the text in the context alone is not accepted"
    assert np.isclose(scores["f1"], 2 * 2 / 5)


def test_the_target_of_a_window_is_the_first_place_in_it(tokenizer):
    answers = Answers(("c", "c"), (4, 20), ("C",))
    text = "a b c d e f g h a b c d"
    windows = kinds.find("span").encode(
        data.RawExamples(text=(["a"], [text]), labels=[answers]), tokenizer, 12, training=True
    )
    assert windows.targets.reshape(-1, 2).tolist()[0] == [5, 5]
    assert (windows.targets.reshape(-1, 2)[-1] > 0).all(), "the second place in the last window"


def test_a_mirror_has_the_columns_of_mrqa_or_of_squad(machine, write):
    squad = {"question": "Who won?", "context": CONTEXT, "answers": {"text": ["Ann Lee"], "answer_start": [12]}}
    write(machine.data / "newsqa" / "train.jsonl", [row("SQuAD", "Other?"), row("NewsQA")])
    write(machine.data / "newsqa" / "validation.jsonl.gz", [squad])
    found = data.load(catalog.find("newsqa"), machine=machine, world=False)
    assert found.train.text[0] == ["Who won?"], "rows of other parts are left out"
    assert found.evaluation.labels == [Answers(("Ann Lee",), (12,))]


def test_fetched_files_are_the_rows_of_the_hub(pushed, hub, call, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own.py").write_text(
        "from bertlab import MaskedLM, Measurement, Study, Variant\n"
        "study = Study(name='own', question='?', source='me', baseline='a', variants=[Variant('a'),"
        " Variant('b', objective=(MaskedLM(mask_prob=0.4),))], measurements=[Measurement('N', task='newsqa'),"
        " Measurement('T', task='triviaqa')])\n"
    )
    assert call("fetch", tmp_path / "own.py", tmp_path / "mirror") == 0
    assert f"newsqa/train.jsonl.gz: 2 rows of mrqa-workshop/mrqa:plain_text at {pushed[:12]}" in capsys.readouterr().out
    (line, _) = gzip.decompress((tmp_path / "mirror" / "newsqa" / "train.jsonl.gz").read_bytes()).splitlines()
    assert set(json.loads(line)) == {"subset", "context", "question", "detected_answers", "answers"}
    machine = Machine(cache=tmp_path / "cache")
    online = [data.load(catalog.find(name), machine=machine, world=False) for name in ("newsqa", "triviaqa")]
    hub.offline()
    machine = dataclasses.replace(machine, data=tmp_path / "mirror", cache=tmp_path / "other")
    for found in online:
        again = data.load(catalog.find(found.name), machine=machine, world=False)
        assert (again.train.text, again.train.labels) == (found.train.text, found.train.labels)
        assert (again.evaluation.text, again.evaluation.labels) == (found.evaluation.text, found.evaluation.labels)


def test_a_part_that_is_not_there_is_named(pushed, machine, write, tmp_path):
    lost = dataclasses.replace(catalog.find("newsqa"), only={"subset": "News"})
    with pytest.raises(BadInput, match=r"^mrqa-workshop/mrqa:plain_text train \(subset News\) has no rows: give"):
        data.load(lost, machine=Machine(cache=tmp_path / "cache"), world=False)
    with pytest.raises(BadInput, match="train has no row of task 'newsqa': correct its field only"):
        [*mirror.write([lost], tmp_path / "fetched", Machine(cache=tmp_path / "cache"))]
    for split in ("train", "validation"):
        write(tmp_path / "own" / f"{split}.jsonl", [{"question": "Who?", "context": "a", "answers": None}])
    own = dataclasses.replace(catalog.find("newsqa"), path=str(tmp_path / "own"))
    with pytest.raises(BadInput, match=r"train.jsonl \(subset NewsQA\) has no rows: give at least one"):
        data.load(own, machine=machine, world=False)


def test_a_substitute_has_all_its_rows(machine, write):
    for split in ("train", "validation"):
        write(machine.data / "other" / f"{split}.jsonl", [row("Other")])
        write(machine.data / "triviaqa" / f"{split}.jsonl", [row("TriviaQA-web")])
    task = catalog.find("newsqa")
    assert len(data.load(task, machine=machine, world=False, substitute="other").train) == 1
    assert len(data.load(task, machine=machine, world=False, substitute="triviaqa").train) == 1
    assert (
        locate(task, machine=machine, world=True).content
        == locate(catalog.find("squad"), machine=machine, world=True).content
    ), "the counterpart has no parts"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"answers": None}, "column answers row 2 is None: give a list of accepted texts"),
        ({"answers": []}, "column answers row 2 is []: give a list of accepted texts"),
        ({"answers": ["a", 3]}, "column answers row 2 is ['a', 3]: give a list of accepted texts"),
        ({"detected_answers": None}, "column detected_answers row 2 is None: give {form}"),
        ({"detected_answers": {"text": []}}, "column detected_answers row 2 is {{'text': []}}: give {form}"),
        (
            {"detected_answers": {"char_spans": []}},
            "column detected_answers row 2 is {{'char_spans': []}}: give {form}",
        ),
        ({"detected_answers": {"char_spans": [[12, 18]]}}, "row 2 is {{'char_spans': [[12, 18]]}}: give {form}"),
        ({"detected_answers": detected(([1, 2], [3]))}, "[{{'start': [1, 2], 'end': [3]}}]}}: give {form}"),
        ({"detected_answers": detected(([50], [60]))}, "row 2: no answer is at 50 to 60 of the context: give the pos"),
        ({"detected_answers": detected(([3], [1]))}, "row 2: no answer is at 3 to 1 of the context"),
        ({"detected_answers": detected(([-2], [1]))}, "row 2: no answer is at -2 to 1 of the context"),
        ({"detected_answers": detected(([5], [5]))}, "row 2: no answer is at 5 to 5 of the context"),
        ({"detected_answers": detected((["0"], [1]))}, "row 2: no answer is at '0' to 1 of the context"),
        ({"detected_answers": detected(([False], [True]))}, "row 2: no answer is at False to True of the context"),
        ({"context": None}, "column context row 2 is None: give a text"),
    ],
)
def test_wrong_answers_are_named(machine, write, changes, says):
    write(machine.data / "newsqa" / "train.jsonl", [row("NewsQA"), row("NewsQA") | changes])
    write(machine.data / "newsqa" / "validation.jsonl", [row("NewsQA")])
    with pytest.raises(BadInput) as caught:
        data.load(catalog.find("newsqa"), machine=machine, world=False)
    said = str(caught.value)
    assert said.startswith(f"{machine.data / 'newsqa' / 'train.jsonl'} (subset NewsQA) column ")
    assert says.format(form='{"char_spans": [{"start": [...], "end": [...]}, ...]}, one place or more') in said
    assert "\n" not in said
