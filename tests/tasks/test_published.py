"""Published tasks in their own columns, those of the MRQA shared task too: how they become texts and answers."""

import dataclasses
import gzip
import json

import numpy as np
import pytest

from bertlab import synthetic as microworld
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, data, kinds, mirror
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.span import Answers
from bertlab.tasks.locate import locate
from bertlab.tasks.task import columns_of

RACE = [
    {"article": "She rose.", "question": "Who rose?", "options": ["He", "She", "It", "They"], "answer": "B"},
    {"article": "She rose.", "question": "She _ .", "options": ["sat", "fell", "slept", "rose"], "answer": "D"},
]
CHOICES = {"label": ["A", "B", "C", "D", "E"], "text": ["a bank", "a tree", "a moon", "a cup", "a road"]}
COMMONSENSE = [
    {"question": "Where is money?", "question_concept": "money", "choices": CHOICES, "answerKey": "A"},
    {"question": "What is seen at night?", "question_concept": "night", "choices": CHOICES, "answerKey": "C"},
]


def refused(tmp_path, write, name, records, wrong):
    """The error for a training set whose second record is changed by `wrong`."""
    write(tmp_path / name / "train.jsonl", [records[0], records[1] | wrong])
    write(tmp_path / name / "validation.jsonl", records)
    with pytest.raises(BadInput) as caught:
        data.load(catalog.find(name), machine=Machine(data=tmp_path, cache=tmp_path / "cache"), world=False)
    return str(caught.value)


def test_questions_of_race_are_read_with_each_option(tmp_path, write):
    for split in ("train", "validation"):
        write(tmp_path / "race" / f"{split}.jsonl.gz", RACE)
    found = data.load(catalog.find("race"), machine=Machine(data=tmp_path, cache=tmp_path / "cache"), world=False)
    one, two = zip(*found.train.text, strict=True)
    assert one == ("She rose.", "Who rose? He", "Who rose? She", "Who rose? It", "Who rose? They")
    assert two == ("She rose.", "She sat .", "She fell .", "She slept .", "She rose .")
    assert (found.train.labels, found.labels) == ([1, 3], ("A", "B", "C", "D"))
    assert found.train.groups.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"answer": "E"}, "label 'E' in {file} column answer row 2: give one of 0 (A), 1 (B), 2 (C), 3 (D)"),
        (
            {"options": ["a", "b", "c"]},
            "{file} column options row 2 has 3 endings, the first row 4: give the same number",
        ),
        ({"question": None}, "{file} column question row 2 is None: give a text"),
    ],
)
def test_a_wrong_record_of_race_is_named(tmp_path, write, wrong, says):
    said = refused(tmp_path, write, "race", RACE, wrong)
    assert said == says.format(file=tmp_path / "race" / "train.jsonl")


def test_questions_of_commonsense_qa_have_endings_with_names(tmp_path, write):
    swapped = {"label": ["B", "A", "C", "D", "E"], "text": CHOICES["text"]}
    for split in ("train", "validation"):
        write(tmp_path / "commonsense_qa" / f"{split}.jsonl", [*COMMONSENSE, COMMONSENSE[0] | {"choices": swapped}])
    machine = Machine(data=tmp_path, cache=tmp_path / "cache")
    found = data.load(catalog.find("commonsense_qa"), machine=machine, world=False)
    assert [column[1] for column in found.train.text] == ["What is seen at night?", *CHOICES["text"]]
    assert found.labels == ("A", "B", "C", "D", "E")
    assert found.train.labels == [0, 2, 1], "by its own names"
    assert found.train.groups.tolist() == [0, 1, 0], "of one concept"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"answerKey": "F"}, "{file} column answerKey row 2 is 'F': give one of A, B, C, D, E"),
        ({"answerKey": ""}, "{file} column answerKey row 2 is '': give one of A, B, C, D, E"),
        ({"question": None}, "{file} column question row 2 is None: give a text"),
        (
            {"choices": {"label": ["A", "B"], "text": ["a", "b"]}},
            "{file} column choices row 2 has 2 endings, the first row 5: give the same number",
        ),
        (
            {"choices": {"label": ["A", "B"]}},
            "{file} column choices row 2 is {{'label': ['A', 'B']}}: give a list of two endings or more",
        ),
        (
            {"choices": {"text": list("abcde")}},
            "{file} column choices row 2 is {{'text': ['a', 'b', 'c', 'd', 'e']}}: "
            'give {{"label": [...], "text": [...]}}, a label per text',
        ),
    ],
)
def test_a_wrong_record_of_commonsense_qa_is_named(tmp_path, write, wrong, says):
    said = refused(tmp_path, write, "commonsense_qa", COMMONSENSE, wrong)
    assert said == says.format(file=tmp_path / "commonsense_qa" / "train.jsonl")


JOINED = [
    (
        "dream",
        {"dialogue": ["M: Tea?", "W: No."], "question": "What is it?", "choice": ["Tea.", "No."], "answer": "No."},
        ("M: Tea? W: No.", "What is it? Tea.", "What is it? No."),
        1,
    ),
    (
        "copa",
        {"premise": "It rained.", "choice1": "Mud.", "choice2": "Dust.", "question": "effect", "label": 0},
        ("It rained. What was the effect?", "Mud.", "Dust."),
        0,
    ),
    (
        "multirc",
        {"paragraph": "She rose.", "question": "Who rose?", "answer": "She", "label": 1},
        ("She rose.", "Who rose? She"),
        1,
    ),
    (
        "wic",
        {
            "word": "class",
            "sentence1": "The classes.",
            "sentence2": "First class.",
            "label": 0,
            "start1": 4,
            "end1": 11,
            "start2": 6,
            "end2": 11,
        },
        ("class: The [ classes ].", "class: First [ class ]."),
        0,
    ),
    (
        "wsc",
        {
            "text": "Ann saw that she won as she ran.",
            "span1_text": "Ann",
            "span1_index": 0,
            "span2_text": "she",
            "span2_index": 6,
            "label": 1,
        },
        ("Ann saw that she won as [ she ] ran.", "she is Ann"),
        1,
    ),
    (
        "winogrande",
        {"sentence": "Ann beat Eve, so _ won.", "option1": "Ann", "option2": "Eve", "answer": "1"},
        ("Ann beat Eve, so _ won.", "Ann", "Eve"),
        0,
    ),
]


@pytest.mark.parametrize(("name", "row", "texts", "label"), JOINED)
def test_a_text_may_join_columns(tmp_path, write, name, row, texts, label):
    for split in ("train", "validation"):
        write(tmp_path / name / f"{split}.jsonl", [row])
    found = data.load(catalog.find(name), machine=Machine(data=tmp_path, cache=tmp_path / "cache"), world=False)
    assert found.train.text == tuple([text] for text in texts)
    assert found.train.labels == [label]


def test_the_names_of_record_stand_between_commas_and_each_of_its_answers_is_right(tmp_path, write):
    row = {
        "passage": "Ann met Bo.",
        "query": "@placeholder was met.",
        "entities": ["Ann", "Bo"],
        "answers": ["Bo", "B"],
    }
    for split in ("train", "validation"):
        write(tmp_path / "record" / f"{split}.jsonl", [row])
    task = catalog.find("record-text")
    found = data.load(task, machine=Machine(data=tmp_path, cache=tmp_path / "cache"), world=False)
    assert found.train.text == (["record query: @placeholder was met. entities: Ann, Bo passage: Ann met Bo."],)
    assert found.train.labels == [("Bo", "B")]


def test_the_noun_of_a_pronoun_is_written_for_examples_in_which_it_is_right(tmp_path, write):
    row = {"text": "Ann met Bo after she left.", "span1_index": 0, "span2_index": 4, "span2_text": "she"}
    rows = [{**row, "span1_text": noun, "label": label} for noun, label in (("Ann", 1), ("Bo", 0))]
    for split in ("train", "validation"):
        write(tmp_path / "wsc-text" / f"{split}.jsonl", rows)
    found = data.load(catalog.find("wsc-text"), machine=Machine(data=tmp_path, cache=tmp_path / "cache"), world=False)
    assert found.train.text == (["wsc: Ann met Bo after [ she ] left."],)
    assert found.train.labels == [("Ann",)]


PAIR = {"premise": "a b", "hypothesis": "c", "label": 2}
PASSAGE = {"question": "is it", "passage": "It is.", "label": 1}
SUPERGLUE = [each for each in JOINED if each[0] not in ("dream", "winogrande")] + [
    ("boolq", PASSAGE, ("is it", "It is."), 1),
    ("cb", PAIR, ("a b", "c"), 2),
]


def test_superglue_is_one_data_set_of_the_hub_with_a_configuration_for_each_task(hub, tmp_path, write):
    """As the Hub has it: one repository, a folder for each configuration, which the card lists; no other is read."""
    configurations = {name: "wsc.fixed" if name == "wsc" else name for name, *_ in SUPERGLUE}
    card = "---\nconfigs:\n"
    files = {}
    for name, row, *_ in SUPERGLUE:
        folder = configurations[name]
        card += f"- config_name: {folder}\n  data_files:\n"
        for split in ("train", "validation", "test"):
            card += f"  - split: {split}\n    path: {folder}/{split}-*\n"
            path = f"{folder}/{split}-00000-of-00001.parquet"
            hidden = [row | {"label": -1}] if split == "test" else [row]
            files[path] = write(tmp_path / "rows.parquet", hidden).read_bytes()
    hub.push("datasets/aps/super_glue", {"README.md": f"{card}---\n".encode(), **files})
    machine = Machine(cache=tmp_path / "cache")
    for name, _, texts, label in SUPERGLUE:
        hub.asked.clear()
        found = data.load(catalog.find(name), machine=machine, world=False)
        assert (found.train.text, found.train.labels) == (tuple([text] for text in texts), [label])
        assert found.test is None, "its labels are not public"
        read = {path.rpartition("/resolve/")[2].partition("/")[2] for path in hub.asked if path.endswith(".parquet")}
        assert read == {f"{configurations[name]}/{split}-00000-of-00001.parquet" for split in ("train", "validation")}
    assert {catalog.find(name).hub for name in configurations} == {
        f"aps/super_glue:{each}" for each in configurations.values()
    }


def test_the_other_choices_of_the_hub(hub, tmp_path, write):
    """WinoGrande's largest training set among its configurations, CommonsenseQA's only one, and GAP as the Hub itself
    converts it."""

    def stored(row):
        return write(tmp_path / "rows.parquet", [row]).read_bytes()

    (_, blank, texts, _), splits = JOINED[-1], ("train", "validation", "test")
    sizes = "---\nconfigs:\n" + "".join(
        f"- config_name: {size}\n  data_files:\n"
        + "".join(f"  - {{split: {split}, path: {size}/{split}-*}}\n" for split in splits)
        for size in ("winogrande_xl", "winogrande_xs")
    )
    sizes = {"README.md": f"{sizes}---\n".encode()}
    for size, answer in (("winogrande_xl", "1"), ("winogrande_xs", "2")):
        row = stored(blank | {"answer": answer})
        sizes |= {f"{size}/{split}-00000-of-00001.parquet": row for split in splits}
    hub.push("datasets/allenai/winogrande", sizes)
    common = {f"data/{split}-00000-of-00001.parquet": stored(COMMONSENSE[1]) for split in splits}
    hub.push("datasets/tau/commonsense_qa", common)
    meant = {"Pronoun": "she", "Pronoun-offset": 0, "A": "Ann", "A-coref": False, "B": "Eve", "B-coref": True}
    converted = stored({"Text": "she fell.", **meant, "URL": "some page"})
    hub.push("datasets/google-research-datasets/gap", {"gap.py": b"a script"})
    gap = {f"default/{split}/0000.parquet": converted for split in splits}
    hub.push("datasets/google-research-datasets/gap", gap, "refs/convert/parquet")

    def load(name):
        return data.load(catalog.find(name), machine=Machine(cache=tmp_path / "cache"), world=False)

    assert (load("winogrande").train.text, load("winogrande").train.labels) == (tuple([text] for text in texts), [0])
    assert (load("commonsense_qa").train.labels, load("commonsense_qa").test) == ([2], None)
    assert (load("gap").train.labels, load("gap").test.labels) == ([1], [1])
    assert load("gap").evaluation.text == (
        ["[ she ] fell."], ["she means Ann"], ["she means Eve"], ["she means neither"],
    )  # fmt: skip


def test_every_task_of_a_kind_that_the_embedded_world_has_can_be_measured_on_it():
    for name, task in catalog.TASKS.items():
        assert task.name == name
        kinds = {each.kind for each in catalog.WORLD.values()}
        assert task.microworld in catalog.WORLD or task.kind not in kinds
        assert not task.microworld or catalog.WORLD[task.microworld].kind == task.kind


@pytest.mark.parametrize("name", [name for name, task in catalog.WORLD.items() if task.kind != "mixture"])
def test_the_embedded_world_has_the_columns_and_labels_of_its_rows(name):
    task = catalog.WORLD[name]
    row = microworld.rows(name, "validation")[0]
    read = {column for text in task.text for column in columns_of(text)}
    assert {*read, *KINDS[task.kind].label_columns(task)} <= set(row)
    if task.labels and KINDS[task.kind].trained:
        assert {each[task.label] for each in microworld.rows(name, "train")} == set(range(len(task.labels)))


def test_a_misspelt_task_gets_the_nearest_name():
    assert catalog.find("mnli").evaluation == "validation_matched"
    with pytest.raises(BadInput, match="unknown task 'conl2003': did you mean 'conll2003'"):
        catalog.find("conl2003")


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
