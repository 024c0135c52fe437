"""Where the rows of a task come from, and what is refused."""

import dataclasses

import numpy as np
import pytest

from bertlab import synthetic as microworld
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, data, kinds
from bertlab.tasks.locate import Tasks, locate, public
from bertlab.tasks.task import RawExamples, Task

PAIRS = [{"premise": "a b", "hypothesis": "c", "label": label} for label in (0, 1, 2, 0)]
SENTENCES = [{"tokens": ["a", "b"], "ner_tags": ["B-PER", "O"]}, {"tokens": ["c"], "ner_tags": ["O"]}]
CHEMICALS = [{"tokens": ["a", "b"], "ner_tags": ["B-Chemical", "O"]}]
OWN = Task(kind="classification", text=("text",), label="class")


@pytest.fixture
def mirror(tmp_path, write):
    for split in ("train", "validation_matched"):
        write(tmp_path / "mirror" / "mnli" / f"{split}.jsonl.gz", PAIRS)
    for split in ("train", "validation"):
        write(tmp_path / "mirror" / "conll2003" / f"{split}.jsonl", SENTENCES)
        write(tmp_path / "mirror" / "bc5cdr" / f"{split}.parquet", CHEMICALS)
        write(tmp_path / "mirror" / "proteins" / f"{split}.jsonl", [{"tokens": ["a"], "ner_tags": ["B-Protein"]}])
    return Machine(data=tmp_path / "mirror", cache=tmp_path / "cache")


def message(task, machine, **options):
    with pytest.raises(BadInput) as caught:
        data.load(task, machine=machine, **{"world": False, **options})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_counterpart_in_the_embedded_world(tmp_path):
    machine = Machine(cache=tmp_path)
    found = data.load(catalog.find("mnli"), machine=machine, world=True)
    assert (found.name, found.dataset, found.kind) == ("mnli", "microworld", "classification")
    assert found.labels == ("entailment", "neutral", "contradiction")
    assert set(found.train.labels) == {0, 1, 2}
    assert found.content == locate(catalog.find("mnli"), machine=machine, world=True).content
    assert found.content.startswith("microworld:")
    entities = data.load(catalog.find("conll2003"), machine=machine, world=True)
    assert entities.content != found.content
    assert entities.labels[0] == "O"
    assert len(entities.labels) == 9
    assert [len(tags) for tags in entities.train.labels] == [len(words) for words in entities.train.text[0]]


def test_a_scale_may_have_another_synthetic_counterpart(machine):
    tasks = Tasks({"rte": "inference"}, {}, machine, True, {"mnli": "inference-large", "rte": "inference-large"})
    assert tasks.find("mnli").content == "microworld:1/inference-large@4"
    former = Tasks({}, {}, machine, True).find("rte")
    assert tasks.find("rte") == former  # a substitute that is named counts more
    assert former.content == "microworld:1/inference@4"


def test_the_large_task_begins_with_the_examples_of_the_small_one():
    small, large = (microworld.rows(name, "train") for name in ("inference", "inference-large"))
    assert (len(small), len(large), large[: len(small)]) == (4_000, 16_000, small)
    assert microworld.rows("inference", "test", 50) == microworld.rows("inference-large", "test", 50)


def test_rows_that_changed_while_the_documents_did_not_have_a_version_of_their_own(tmp_path):
    machine = Machine(cache=tmp_path)
    assert locate(catalog.find("rte"), machine=machine, world=True).content == "microworld:1/inference@4"
    assert locate(catalog.find("mrpc"), machine=machine, world=True).content == "microworld:1/paraphrase@3"


@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("squadshifts-reddit", "squadshifts/reddit.jsonl"),
        ("squadshifts-amazon", "squadshifts/amazon.jsonl"),
        ("squadshifts-wikipedia", "squadshifts/new_wiki.jsonl"),
        ("nq_short", "nq_short/validation.jsonl"),
    ],
)
def test_a_set_without_training_examples_is_trained_on_squad(tmp_path, write, task, file):
    row = {"question": "Who rose?", "context": "She rose.", "answers": {"text": ["She"], "answer_start": [0]}}
    task, machine = catalog.find(task), Machine(data=tmp_path, cache=tmp_path / "cache")
    write(tmp_path / file, [row | {"question": "Who won?"}])
    assert message(task, machine).startswith(f"{(tmp_path / file).parent} has no ../squad/train.jsonl")
    write(tmp_path / "squad" / "train.jsonl", [row, row])
    found = data.load(task, machine=machine, world=False)
    assert (found.train.text[0], found.evaluation.text[0]) == (["Who rose?"] * 2, ["Who won?"])
    before = data.locate(task, machine=machine, world=False).content
    write(tmp_path / "squad" / "train.jsonl", [row])
    assert data.locate(task, machine=machine, world=False).content != before


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"text": ("{text} {title}",)},
            "{file} row 1 has no column 'title', which the task reads: choose from class, text",
        ),
        ({"text": ("{text}: {text}",), "kind": "tagging"}, "text '{{text}}: {{text}}': a task with a label for each"),
        (
            {"text": ("class", "{text} a", "{text} b"), "kind": "multiple-choice"},
            "label 'x' in {file} column class row 1: give one of 0, 1",
        ),
        (
            {"text": ("class", "text"), "kind": "multiple-choice"},
            "{file} column class row 1 is 'x': give the text of an ending",
        ),
    ],
)
def test_columns_and_answers_that_cannot_be_read(tmp_path, write, changes, says):
    write(tmp_path / "own" / "train.jsonl", [{"text": ["a", "b"], "class": "x"}])
    write(tmp_path / "own" / "validation.jsonl", [{"text": ["a", "b"], "class": "x"}])
    task = dataclasses.replace(OWN, path=str(tmp_path / "own"), **changes)
    assert says.format(file=tmp_path / "own" / "train.jsonl") in message(task, Machine())


def test_parts_of_speech_are_measured_by_accuracy(tmp_path):
    found = data.load(catalog.find("ud_gum"), machine=Machine(cache=tmp_path), world=True)
    assert kinds.find(found.kind).metrics_for_labels(found.labels) == ("accuracy",)
    most = np.bincount(np.concatenate(found.train.labels)).argmax()
    assert (np.concatenate(found.evaluation.labels) == most).mean() < 0.35


def test_tasks_of_the_embedded_world_have_names_of_their_own(tmp_path):
    found = data.load(catalog.find("sentiment"), machine=Machine(cache=tmp_path), world=False)
    assert found.dataset == "microworld"


def test_a_mirror(mirror):
    found = data.load(catalog.find("mnli"), machine=mirror, world=False)
    assert found.train.text == (["a b"] * 4, ["c"] * 4)
    assert found.train.labels == [0, 1, 2, 0]
    assert found.dataset == "mnli"
    entities = data.load(catalog.find("conll2003"), machine=mirror, world=False)
    assert [tags.tolist() for tags in entities.evaluation.labels] == [[1, 0], [0]]


def test_content_follows_the_files(mirror, write):
    task = catalog.find("mnli")
    before = locate(task, machine=mirror, world=False).content
    assert before == data.load(task, machine=mirror, world=False).content
    assert before.startswith("sha256:")
    write(mirror.data / "mnli" / "validation_matched.jsonl.gz", PAIRS[:3])
    assert locate(task, machine=mirror, world=False).content != before


def test_a_substitute_of_the_catalogue(mirror):
    found = data.load(catalog.find("conll2003"), machine=mirror, world=True, substitute="bc5cdr")
    assert (found.name, found.dataset) == ("conll2003", "bc5cdr")
    assert found.labels == ("O", "B-Chemical", "I-Chemical", "B-Disease", "I-Disease")
    assert found.train.labels[0].tolist() == [1, 0]


def test_a_substitute_that_is_a_folder_of_the_mirror(mirror):
    found = data.load(catalog.find("conll2003"), machine=mirror, world=False, substitute="proteins")
    assert found.labels == ("O", "B-Protein", "I-Protein")
    assert found.dataset == "proteins"


def test_a_test_split_is_read_where_it_is(mirror, write):
    task = catalog.find("conll2003")
    before = data.load(task, machine=mirror, world=False)
    assert before.test is None
    write(mirror.data / "conll2003" / "test.jsonl", SENTENCES[:1])
    after = data.load(task, machine=mirror, world=False)
    assert [tags.tolist() for tags in after.test.labels] == [[1, 0]]
    assert [tags.tolist() for tags in after.evaluation.labels] == [[1, 0], [0]]
    assert after.content != before.content, "its rows are part of what is measured"
    write(mirror.data / "bc5cdr" / "test.parquet", CHEMICALS * 3)
    assert len(data.load(task, machine=mirror, world=False, substitute="bc5cdr").test) == 3
    assert data.load(task, machine=mirror, world=False, substitute="proteins").test is None
    write(mirror.data / "mnli" / "test.jsonl", PAIRS)
    assert data.load(catalog.find("mnli"), machine=mirror, world=False).test is None, "its labels are not public"


def test_the_counterpart_is_tested_if_the_task_is(tmp_path):
    machine = Machine(cache=tmp_path)
    entities = data.load(catalog.find("conll2003"), machine=machine, world=True)
    assert entities.test is not None
    assert set(map(tuple, entities.test.text[0])).isdisjoint(map(tuple, entities.evaluation.text[0]))
    assert data.load(catalog.find("mnli"), machine=machine, world=True).test is None
    assert data.load(catalog.find("inference"), machine=machine, world=False).test is not None


def test_a_test_split_that_a_task_of_the_users_own_names_must_be_there(tmp_path, write):
    for split in ("train", "validation"):
        write(tmp_path / f"{split}.jsonl", [{"text": "a", "class": "x"}, {"text": "b", "class": "y"}])
    task = dataclasses.replace(OWN, path=str(tmp_path), test="later")
    assert "has no later.jsonl" in message(task, Machine(cache=tmp_path / "cache"))


def test_where_the_hub_hides_the_labels_there_is_no_test_split():
    for name, test in (("stsb", ""), ("mrpc", "test")):
        assert public(catalog.find(name)).test == test


def test_substitutes_that_cannot_be(mirror):
    assert "mnli is classification" in message(catalog.find("conll2003"), mirror, substitute="mnli")
    assert "did you mean 'proteins'" in message(catalog.find("conll2003"), mirror, substitute="protein")


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet", ".csv", ".tsv"])
def test_a_task_of_the_users_own(tmp_path, write, suffix):
    rows = [{"text": "a b", "class": "good"}, {"text": "c", "class": "bad"}]
    for split in ("train", "validation"):
        write(tmp_path / "mine" / f"{split}{suffix}", rows)
    task = dataclasses.replace(OWN, path=str(tmp_path / "mine"))
    found = data.load(task, machine=Machine(cache=tmp_path / "cache"), world=True)
    assert (found.name, found.labels, found.train.labels) == ("mine", ("bad", "good"), [1, 0])


def test_bad_rows_are_named(tmp_path, write):
    machine = Machine(cache=tmp_path / "cache")
    task = dataclasses.replace(OWN, path=str(tmp_path))
    good = [{"text": "a", "class": "x"}, {"text": "b", "class": "y"}]
    train, validation = tmp_path / "train.jsonl", tmp_path / "validation.jsonl"
    write(train, good)
    assert "has no validation.jsonl" in message(task, machine)
    write(validation, [])
    assert f"{validation} has no rows" in message(task, machine)
    write(validation, [good[0], {"text": None, "class": "x"}])
    assert f"{validation} column text row 2 is None" in message(task, machine)
    write(validation, [good[0], {"text": "b", "class": "z"}])
    named = dataclasses.replace(task, labels=("x", "y"))
    assert f"label 'z' in {validation} column class row 2: give one of 0 (x), 1 (y)" in message(named, machine)
    write(validation, good)
    assert "has no column 'clas', which the task reads: did you mean 'class'?" in message(
        dataclasses.replace(task, label="clas"), machine
    )
    write(train, good[:1])
    write(validation, good[:1])
    assert "has the label 'x' alone" in message(task, machine)
    assert "no folder" in message(dataclasses.replace(task, path=str(tmp_path / "nowhere")), machine)
    assert "names 3 text columns" in message(dataclasses.replace(task, text=("a", "b", "c")), machine)


def test_cells_of_a_table_become_labels_one_by_one(tmp_path):
    """A wrong cell does not make the others wrong, and names that are numbers stay names."""
    task = dataclasses.replace(OWN, path=str(tmp_path), labels=("1", "2", "3"))
    for split in ("train", "validation"):
        (tmp_path / f"{split}.csv").write_text("text,class\n7,1\n8,2\n9,3\n")
    machine = Machine(cache=tmp_path / "cache")
    found = data.load(task, machine=machine, world=False)
    assert (found.train.text[0], found.train.labels) == (["7", "8", "9"], [0, 1, 2])
    (tmp_path / "train.csv").write_text("text,class\na,1\nb,0\nc,x\n")
    named = dataclasses.replace(task, labels=("no", "yes"))
    assert f"label 'x' in {tmp_path / 'train.csv'} column class row 3: give one of 0 (no), 1 (yes)" in message(
        named, machine
    )


def test_a_table_without_a_header(tmp_path):
    task = dataclasses.replace(OWN, text=("sentence",), path=str(tmp_path), labels=("no", "yes"))
    for split in ("train", "validation"):
        (tmp_path / f"{split}.tsv").write_text("k1\t0\t*\tShe fell.\nk1\t1\t\tShe rose.\n")
    assert (
        "row 1 has no column 'sentence', which the task reads (its first line is taken for the header: if it is a row, "
        "name its cells in the task's field columns)"
    ) in message(task, Machine(cache=tmp_path / "cache"))
    task = dataclasses.replace(task, columns=("source", "class", "mark", "sentence"))
    found = data.load(task, machine=Machine(cache=tmp_path / "cache"), world=False)
    assert (found.train.text, found.train.labels) == ((["She fell.", "She rose."],), [0, 1])
    few = dataclasses.replace(task, columns=("source", "class", "sentence"))
    assert "line 1 has 4 cells, columns 3" in message(few, Machine(cache=tmp_path / "cache"))
    (tmp_path / "train.tsv").write_text("source\tclass\tmark\tsentence\nk1\t0\t*\tShe fell.\n")
    assert "its first line is a header: leave out the task's field columns" in message(task, Machine())


def test_bad_tags_are_named(tmp_path, write):
    task = Task(kind="tagging", path=str(tmp_path), text=("tokens",), label="ner_tags")
    machine = Machine(cache=tmp_path / "cache")
    write(tmp_path / "train.jsonl", SENTENCES)
    validation = write(tmp_path / "validation.jsonl", [{"tokens": ["a"], "ner_tags": [3]}])
    assert f"tag 3 in {validation} column ner_tags row 1: give tags as texts" in message(task, machine)
    write(validation, [{"tokens": ["a"], "ner_tags": ["O", "O"]}])
    assert f"{validation} column ner_tags row 1 is ['O', 'O']: give a list of 1 tags" in message(task, machine)
    write(validation, [{"tokens": ["a", "b"], "ner_tags": ["B-PER", "B-Per"]}])
    assert "has the labels 'B-PER' and 'B-Per', which differ in spaces, case" in message(task, machine)
    write(validation, [{"tokens": [], "ner_tags": []}])
    assert f"{validation} has no words" in message(task, machine)


@pytest.fixture
def conll(hub, tmp_path):
    """Pushes CoNLL in the layout of the Hub's own conversion; its tags are integers, in another order than ours."""
    import datasets

    names = datasets.List(datasets.ClassLabel(names=["B-LOC", "O", "B-PER"]))
    features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "ner_tags": names})

    def push(revision="refs/convert/parquet", words=("a", "b"), **more):
        files = dict(more)
        for split in ("train", "validation", "test"):
            rows = datasets.Dataset.from_list([{"tokens": list(words), "ner_tags": [2, 1]}], features=features)
            rows.to_parquet(tmp_path / "rows.parquet")
            files[f"conll2003/{split}/0000.parquet"] = (tmp_path / "rows.parquet").read_bytes()
        return hub.push("datasets/eriktks/conll2003", files, revision)

    return push


def test_a_task_of_the_hub(conll, tmp_path):
    commit, machine = conll(), Machine(cache=tmp_path / "cache")
    task = catalog.find("conll2003")
    located = locate(task, machine=machine, world=False)
    assert (located.origin, located.hub.commit) == ("hub", commit)
    found = data.read(located)
    assert found.labels == task.labels
    assert found.train.labels[0].tolist() == [found.labels.index("B-PER"), 0]
    assert len(found.test) == 1
    missing = dataclasses.replace(task, label="ner_tag")
    assert "did you mean 'ner_tags'" in message(missing, machine)
    assert "split of 'eriktks/conll2003'" in message(dataclasses.replace(task, evaluation="dev"), machine)
    assert "write owner/name[:config][@revision]" in message(dataclasses.replace(task, hub="a b"), machine)


def test_rows_of_the_hub_are_known_by_their_files_and_not_by_the_commit(conll, hub, tmp_path):
    machine, task = Machine(cache=tmp_path / "cache"), catalog.find("conll2003")

    def content():
        hub.again()
        return locate(task, machine=machine, world=False).content

    conll()
    before = content()
    conll(**{"README.md": b"a card", "unread.txt": b"more"})
    assert content() == before
    conll(words=("a", "c"))
    assert content() != before


def test_names_of_labels_on_the_card_are_part_of_what_is_read(hub, tmp_path):
    machine = Machine(cache=tmp_path / "cache")
    rows = b'{"sentence": "a", "label": 0}\n{"sentence": "b", "label": 1}\n'
    task = dataclasses.replace(catalog.find("sst2"), hub="some/own", labels=())
    found = {}
    for names, prose in (("ab", "one"), ("ab", "two"), ("ba", "one")):
        card = (
            "---\ndataset_info:\n  features:\n  - {name: sentence, dtype: string}\n  - name: label\n    dtype:\n"
            f"      class_label:\n        names:\n          '0': {names[0]}\n          '1': {names[1]}\n---\n{prose}"
        )
        hub.push("datasets/some/own", {"README.md": card.encode(), "train.jsonl": rows, "validation.jsonl": rows})
        hub.again()
        read = data.load(task, machine=machine, world=False)
        assert read.labels == tuple(names)
        found[names, prose] = read.content
        named = data.load(dataclasses.replace(task, labels=("a", "b")), machine=machine, world=False)
        assert [named.labels[place] for place in named.train.labels] == [*names], "in whatever order"
        other = data.load(dataclasses.replace(task, labels=("no", "yes")), machine=machine, world=False)
        assert other.train.labels == [0, 1]
    assert found["ab", "one"] == found["ab", "two"] != found["ba", "one"]


def test_cached_rows_need_no_hub(conll, hub, tmp_path):
    conll()
    machine, task = Machine(cache=tmp_path / "cache"), catalog.find("conll2003")
    online = data.load(task, machine=machine, world=False)
    hub.offline()
    again = data.load(task, machine=machine, world=False)
    assert (again.content, again.labels) == (online.content, online.labels)
    assert again.train.text == online.train.text
    asked = message(catalog.find("mnli"), machine)
    assert "task 'mnli' (nyu-mll/glue:mnli) cannot be downloaded from the Hub (OfflineModeIsEnabled" in asked
    assert "give --data DIR with a folder 'mnli'" in asked
    assert "no copy on the Hub" in message(catalog.find("btc"), machine)


def test_substitutes_of_the_hub(conll, hub, mirror):
    """At a revision, and any data set with the columns of the task: not what the mirror has under the name."""
    conll()
    old = conll("v1", ("old",) * 2)
    task = catalog.find("conll2003")
    at_revision = data.load(task, machine=mirror, world=True, substitute="conll2003@v1")
    assert at_revision.train.text == ([["old", "old"]],)
    assert at_revision.dataset == "conll2003"
    same = data.load(task, machine=mirror, world=True, substitute=f"conll2003@{old}")
    assert same.content == at_revision.content
    own = data.load(task, machine=mirror, world=True, substitute="eriktks/conll2003@v1")
    assert set(own.labels) == {"O", "B-LOC", "B-PER"}
    assert own.dataset == "eriktks/conll2003"
    assert "no copy on the Hub, or no revision" in message(task, mirror, substitute="btc@v1")
    assert "no copy on the Hub, or no revision" in message(task, mirror, substitute="conll2003@")
    assert "no such revision" in message(task, mirror, substitute="conll2003@v2")


def test_an_eighth_of_the_training_rows_is_held_back(machine):
    found = data.load(catalog.find("sentiment"), machine=machine, world=True)
    held = data.held_back(found)
    assert len(held.evaluation) == len(found.train) // 8
    assert held.test is None
    whole = list(zip(found.train.text[0], found.train.labels, strict=True))
    parts = [list(zip(part.text[0], part.labels, strict=True)) for part in (held.train, held.evaluation)]
    assert sorted(parts[0] + parts[1]) == sorted(whole)
    assert parts[1] != whole[: len(parts[1])], "they are drawn, not the first"
    assert data.held_back(found).evaluation.text == held.evaluation.text


def questions(names, column="title"):
    """Rows of two questions on each of some articles, the second paragraphs apart."""
    answers = {"text": ["a"], "answer_start": [0]}
    both = [(name, turn) for turn in range(2) for name in names]
    return [{"question": "g", "context": f"a {name} {turn}", column: name, "answers": answers} for name, turn in both]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_examples_of_one_article_are_a_group(tmp_path, write, suffix):
    for split, names in (("train", "cde"), ("validation", "cdfgc")):
        write(tmp_path / "mirror" / "squad" / f"{split}.{suffix}", questions(names))
    found = data.load(catalog.find("squad"), machine=Machine(data=tmp_path / "mirror", cache=tmp_path), world=False)
    assert found.evaluation.groups.tolist() == [0, 1, 2, 3, 0] * 2
    assert found.train.take(np.array([1, 4, 5])).groups.tolist() == [1, 1, 2]


def test_without_articles_a_group_is_of_one_paragraph(tmp_path, write):
    for split in ("train", "validation"):
        rows = questions("cd", column="title" if split == "train" else "other")
        write(tmp_path / "mirror" / "squad" / f"{split}.jsonl", [*rows, rows[0]])
    found = data.load(catalog.find("squad"), machine=Machine(data=tmp_path / "mirror", cache=tmp_path), world=False)
    assert found.evaluation.groups.tolist() == [0, 1, 2, 3, 0]
    assert found.train.groups.tolist() == [0, 1, 2, 3, 0], "one column for all splits"


def test_a_group_without_a_name_is_refused(tmp_path, write):
    rows = [*questions("cd"), {**questions("e")[0], "title": None}]
    for split in ("train", "validation"):
        write(tmp_path / "mirror" / "squad" / f"{split}.jsonl", rows)
    machine = Machine(data=tmp_path / "mirror", cache=tmp_path)
    assert "train.jsonl column title row 5 is None" in message(catalog.find("squad"), machine)


def test_tasks_of_the_catalogue_are_grouped_in_the_embedded_world_too(tmp_path):
    found = data.load(catalog.find("mnli"), machine=Machine(cache=tmp_path), world=True)
    premises = found.evaluation.text[0]
    numbers = dict(zip(premises, found.evaluation.groups.tolist(), strict=True))
    assert [numbers[premise] for premise in premises] == found.evaluation.groups.tolist()
    assert len(set(numbers.values())) == len(numbers)


def test_no_group_is_held_back_in_part():
    groups = np.random.default_rng(0).integers(0, 30, 400).astype(np.int32)
    rows = RawExamples(text=([str(row) for row in range(400)],), labels=[0, 1] * 200, groups=groups)
    whole = data.TaskData(
        name="a", dataset="a", kind="classification", labels=("n", "y"), train=rows, evaluation=rows, content=""
    )
    held = data.held_back(whole)
    assert not set(held.train.groups) & set(held.evaluation.groups)
    assert sorted([*held.train.text[0], *held.evaluation.text[0]]) == sorted(rows.text[0])
    assert 50 <= len(held.evaluation) < 50 + np.bincount(groups).max()
    one = dataclasses.replace(whole, train=dataclasses.replace(rows, groups=np.zeros(400, np.int32)))
    with pytest.raises(BadInput, match="training examples form one group"):
        data.held_back(one)


def test_a_sample_of_evaluation_rows_is_keyed():
    rows = RawExamples(text=([str(row) for row in range(400)],), labels=list(range(400)), groups=np.arange(400) // 8)
    whole = data.TaskData(
        name="a", dataset="a", kind="classification", labels=(), train=rows, evaluation=rows, test=rows, content=""
    )
    kept = data.sampled(whole, 50)
    assert len(kept.evaluation) == len(kept.test) == 50
    assert kept.evaluation.labels == sorted(set(kept.evaluation.labels)), "in their order, none twice"
    assert len(set(kept.evaluation.groups)) > 25, "of many groups, not the first"
    assert (kept.evaluation.groups == np.array(kept.evaluation.labels) // 8).all()
    assert data.sampled(whole, 50).evaluation.labels == kept.evaluation.labels
    assert data.sampled(whole, 0).evaluation.labels == data.sampled(whole, 400).evaluation.labels == rows.labels


ANSWERS = [
    {"paragraph": paragraph, "question": question, "answer": answer, "label": int(answer == "She")}
    for paragraph in ("She rose.", "She fell.")
    for question in ("Who?", "Who else?")
    for answer in ("She", "He", "It")
]


@pytest.fixture
def multirc(tmp_path, write):
    for split in ("train", "validation"):
        write(tmp_path / "multirc" / f"{split}.jsonl", ANSWERS[::2] + ANSWERS[1::2])
    return Machine(data=tmp_path, cache=tmp_path / "cache")


def test_the_answers_to_a_question_have_its_number(multirc, write):
    """Two paragraphs have the same questions, which are others."""
    found = data.load(catalog.find("multirc"), machine=multirc, world=False).evaluation
    names = [*zip(found.text[0], (text.rpartition("? ")[0] for text in found.text[1]), strict=True)]
    numbers = dict(zip(names, found.questions.tolist(), strict=True))
    assert sorted(numbers.values()) == [0, 1, 2, 3]
    assert [numbers[name] for name in names] == found.questions.tolist()
    assert found.take(np.array([1, 7])).questions.tolist() == found.questions[[1, 7]].tolist()
    assert len(set(found.groups)) == 2, "a group is a paragraph"
    assert data.load(catalog.find("boolq"), machine=multirc, world=True).evaluation.questions is None


def test_without_another_group_a_question_is_one(multirc):
    task = dataclasses.replace(catalog.find("multirc"), group=())
    found = data.load(task, machine=multirc, world=False)
    assert found.train.groups.tolist() == found.train.questions.tolist()
    held = data.held_back(found)
    assert not {*held.train.questions} & {*held.evaluation.questions}


def test_a_question_may_have_a_number_for_its_name(multirc, write, tmp_path):
    task = dataclasses.replace(catalog.find("multirc"), question="id", group=())
    for split in ("train", "validation"):
        write(tmp_path / "multirc" / f"{split}.jsonl", [row | {"id": 7 + row["label"]} for row in ANSWERS[:3]])
    assert data.load(task, machine=multirc, world=False).train.questions.tolist() == [0, 1, 1]
    write(tmp_path / "multirc" / "train.jsonl", [row | {"id": None} for row in ANSWERS])
    assert "train.jsonl column id row 1 is None: give the name of its group as text" in message(task, multirc)
    assert "row 1 has no column 'ids', which the task reads" in message(
        dataclasses.replace(task, question="ids"), multirc
    )


def test_a_sample_has_whole_questions(multirc):
    found = data.load(catalog.find("multirc"), machine=multirc, world=False)
    for count, kept in ((1, 3), (3, 3), (8, 6), (11, 9), (12, 12), (0, 12)):
        sample = data.sampled(found, count).evaluation
        assert len(sample) == kept
        assert set(np.bincount(sample.questions)) <= {0, 3}, "the first question, even if it is larger than the sample"


def test_the_lexical_floor_has_exact_match(multirc):
    found = data.load(catalog.find("multirc"), machine=multirc, world=False)
    (floor,) = kinds.find(found.kind).lexical_floor(found)
    assert set(floor) == {"accuracy", "matthews", "f1", "exact"}


def test_a_task_without_data_says_what_it_lacks(machine):
    assert "a task of the study names no data: give path=" in message(
        Task(kind="classification", text=("text",)), machine
    )
