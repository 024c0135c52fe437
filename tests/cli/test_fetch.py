"""`bertlab fetch`: its files give `--data` the examples of the Hub, once; then no Hub is needed."""

import gzip
import json
import subprocess
import sys

import pytest

from bertlab.machine import Machine
from bertlab.tasks import catalog, data

PAIRS = [{"premise": f"p{number} é", "hypothesis": "h", "label": number % 3, "idx": number} for number in range(9)]
WORDS = [{"tokens": ["a", "b"], "ner_tags": [2, 1]}, {"tokens": ["c"], "ner_tags": [1]}]
NAMES = ["B-LOC", "O", "B-PER"]


def parquet(rows, path, names=None):
    import datasets

    features = None
    if names:
        tags = datasets.List(datasets.ClassLabel(names=names))
        features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "ner_tags": tags})
    datasets.Dataset.from_list(rows, features=features).to_parquet(path)
    return path.read_bytes()


@pytest.fixture
def pushed(hub, tmp_path, monkeypatch):
    """Stand-ins of the two data sets of `masking`, in the layout of the Hub."""
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path / "cache"))

    def push(pairs=PAIRS, card=""):
        glue = parquet(pairs, tmp_path / "rows.parquet")
        configs = "---\nconfigs:\n- config_name: mnli\n  data_files:\n" + "".join(
            f"  - {{split: {split}, path: mnli/{split}-*}}\n" for split in ("train", "validation_matched")
        )
        mnli = {f"mnli/{split}-00000-of-00001.parquet": glue for split in ("train", "validation_matched")}
        words = parquet(WORDS, tmp_path / "rows.parquet", NAMES)
        conll = {f"conll2003/{split}/0000.parquet": words for split in ("train", "validation", "test")}
        hub.push("datasets/eriktks/conll2003", conll, "refs/convert/parquet")
        return hub.push("datasets/nyu-mll/glue", {"README.md": f"{configs}---\n{card}".encode(), **mnli})

    push.first = push()
    return push


def rows(task, **options):
    """The examples for training and evaluation."""
    found = data.load(catalog.find(task), world=False, **options)
    parts = [part for part in (found.train, found.evaluation, found.test) if part is not None]
    return found.labels, [
        (part.text, [list(each) if task != "mnli" else each for each in part.labels]) for part in parts
    ]


def test_a_mirror_gives_the_rows_of_the_hub(pushed, hub, call, tmp_path, capsys):
    mirror = tmp_path / "new" / "mirror"
    assert call("fetch", "masking", mirror) == 0
    said = capsys.readouterr().out
    assert f"mnli/train.jsonl.gz: 9 rows of nyu-mll/glue:mnli at {pushed.first[:12]}" in said
    files = sorted(path.relative_to(mirror).as_posix() for path in mirror.rglob("*") if path.is_file())
    splits = ("conll2003/test", "conll2003/train", "conll2003/validation", "mnli/train", "mnli/validation_matched")
    assert files == sorted([*(f"{each}.jsonl.gz" for each in splits), "conll2003/manifest.json", "mnli/manifest.json"])
    lines = gzip.decompress((mirror / "mnli" / "train.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == PAIRS
    manifest = json.loads((mirror / "mnli" / "manifest.json").read_text())
    assert manifest == {"hub": "nyu-mll/glue:mnli", "commit": pushed.first}
    online = {task: rows(task, machine=Machine()) for task in ("mnli", "conll2003")}
    hub.offline()
    for task, found in online.items():
        assert rows(task, machine=Machine(data=mirror, cache=tmp_path / "other")) == found


def test_what_is_there_is_kept_and_the_rest_comes_from_the_same_commit(pushed, hub, call, tmp_path, capsys):
    mirror = tmp_path / "mirror"
    assert call("fetch", "masking", mirror) == 0
    before = {path: path.read_bytes() for path in mirror.rglob("*") if path.is_file()}
    pushed(PAIRS[:3])
    hub.again()
    (mirror / "mnli" / "train.jsonl.gz").unlink()
    capsys.readouterr()
    assert call("fetch", "masking", "nsp", mirror) == 2, "nsp needs more than this Hub has"
    said = capsys.readouterr()
    assert said.out.count("is kept") == 4
    assert said.err.count("\n") == 1
    assert {path: path.read_bytes() for path in before} == before
    hub.offline()
    assert call("fetch", "masking", mirror) == 0
    assert capsys.readouterr().out.count("is kept") == 5
    by_hand = tmp_path / "hand" / "mnli"
    by_hand.mkdir(parents=True)
    for split in ("train", "validation_matched"):
        (by_hand / f"{split}.jsonl").write_text("{}\n")
    call("fetch", "masking", by_hand.parent)
    assert [path.read_text() for path in by_hand.iterdir()] == ["{}\n"] * 2


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("[", "manifest.json' is damaged"),
        ('{"hub": 3}', "manifest.json' is damaged"),
        ('{"hub": "other/set", "commit": ""}', "holds other/set, not nyu-mll/glue:mnli"),
    ],
)
def test_a_folder_that_is_another_data_set_is_left_alone(manifest, message, pushed, call, tmp_path, capsys):
    folder = tmp_path / "mirror" / "mnli"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(manifest)
    assert call("fetch", "masking", folder.parent) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


def test_what_needs_no_mirror_and_what_cannot_be_one(call, tmp_path, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "own.py").write_text(
        "from bertlab import MaskedLM, Measurement, Study, Variant\n"
        "study = Study(name='own', question='?', source='me', baseline='a', variants=[Variant('a'),"
        " Variant('b', objective=(MaskedLM(mask_prob=0.4),))], measurements=[Measurement('M', task='sentiment')])\n"
    )
    for command, message in (
        (("masking", tmp_path / "file"), "is not a directory"),
        ((tmp_path / "own.py", tmp_path / "mirror"), "nothing to download"),
        (("maskin", tmp_path / "mirror"), "did you mean 'masking'"),
        (("masking",), "'masking' is a study: name DIR, the directory to write, after the studies"),
        ((tmp_path / "mirror", "masking"), "'masking' is a study: name DIR"),
        ((tmp_path / "own.py",), "is a study: name DIR"),
        ((tmp_path / "mirror",), "STUDY is missing: name studies before the directory"),
    ):
        assert call("fetch", *command) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "mirror").exists()


def test_without_the_hub_the_environment_says_so_and_what_is_cached_is_used(pushed, hub, call, tmp_path, monkeypatch):
    """A process of its own, as on a compute node: HF_HUB_OFFLINE is read when the client is imported."""
    import os

    from huggingface_hub import constants

    data.load(catalog.find("mnli"), machine=Machine(), world=False)
    hub.asked.clear()
    program = (
        "from bertlab.machine import Machine; from bertlab.tasks import catalog, data\n"
        "print(len(data.load(catalog.find('mnli'), machine=Machine(), world=False).train))\n"
        "data.load(catalog.find('sst2'), machine=Machine(), world=False)"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": constants.HF_HUB_CACHE}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert ended.stdout == "9\n", ended.stderr
    (complaint,) = (line for line in ended.stderr.splitlines() if line.startswith("bertlab.errors.BadInput"))
    assert "task 'sst2' (nyu-mll/glue:sst2) cannot be downloaded from the Hub (OfflineModeIsEnabled" in complaint
    assert "`bertlab fetch` writes one" in complaint
    assert not hub.asked


def test_an_answer_of_another_form_is_asked_for_again(pushed, hub, tmp_path):
    machine = Machine(cache=tmp_path / "cache")
    first = data.load(catalog.find("mnli"), machine=machine, world=False)
    index = machine.cache / "hashes.json"
    entries = json.loads(index.read_text())
    index.write_text(json.dumps({name: {"files": {}} for name in entries if name.startswith("dataset ")}))
    assert len(data.load(catalog.find("mnli"), machine=machine, world=False).train) == len(first.train)
    assert {name: json.loads(index.read_text())[name] for name in entries} == entries


def test_a_new_card_changes_no_id_of_a_study_and_new_rows_change_theirs(pushed, hub, tmp_path):
    """Corpus and tasks of the Hub: the plan is the same after somebody has edited the cards."""
    from bertlab.lab import plan, scales, studies

    def push(card=b"", text="A text."):
        data = parquet([{"text": f"{text} {number}"} for number in range(50)], tmp_path / "rows.parquet")
        hub.push("datasets/some-one/books", {"train.parquet": data, "README.md": card})
        hub.again()

    def ids(*names):
        request = plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke"), corpora=names)
        jobs = plan.make(request, Machine(cache=tmp_path / "cache")).jobs
        return {job.id: job.kind for job in jobs}

    push()
    before = ids("some-one/books")
    push(card=b"a card")
    pushed(card="edited")
    after = ids("some-one/books")
    assert after == before
    pushed(PAIRS[:3])
    hub.again()
    changed = [kind for job, kind in ids("some-one/books").items() if job not in before]
    assert set(changed) == {"finetune"}, "MNLI alone is measured anew"
    push(text="Another.")
    assert not set(ids("some-one/books")) & set(before)
    hub.offline()
    assert not set(ids("some-one/books")) & set(before)


def test_results_keep_the_commit_and_a_compute_node_needs_no_hub(pushed, hub, call, tmp_path):
    from bertlab import synthetic as microworld
    from bertlab.store.runs import Store

    rows = parquet([{"text": text} for text in microworld.documents(300)], tmp_path / "rows.parquet")
    books = hub.push("datasets/some-one/books", {"train.parquet": rows})
    runs = tmp_path / "runs"
    command = (
        "ablate",
        "masking",
        "--only",
        "80/10/10",
        "--corpus",
        "some-one/books",
        "--scale",
        "smoke",
        "--runs",
        runs,
    )
    conll = "conll2003=eriktks/conll2003@refs/convert/parquet"
    assert call("audit", *command[1:]) in (0, 1)
    data.load(catalog.find("mnli"), machine=Machine(), world=False)
    data.load(catalog.find("conll2003"), machine=Machine(), world=False)
    hub.offline()
    assert call(*command, "--threads", "1", "--substitute", conll) == 0
    found = Store(runs).runs()
    (corpus,) = (run.read("result.json", dict) for run in found if run.kind == "corpus")
    assert corpus["commits"] == {"some-one/books": books}
    measured = {run.result().dataset: run.result().commit for run in found if run.kind == "finetune"}
    assert measured == {
        "mnli": pushed.first,
        "eriktks/conll2003": hub.references["datasets/eriktks/conll2003", "refs/convert/parquet"],
    }
