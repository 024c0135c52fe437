"""`bertlab export --push`: models and results on the Hub, with cards that it reads, and back from there."""

import pytest
import torch

import bertlab
from bertlab.hub import Reference, dataset
from bertlab.store.runs import Store

RUN = "masking-80-10-10-seed0"


@pytest.fixture
def writable(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", hub.token)
    return hub


def test_a_model_comes_back_from_the_hub(call, finished, writable, tmp_path, capsys):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    assert call("export", RUN, tmp_path / "out", "--push", "me/masking", "--runs", finished) == 0
    assert "/me/masking" in capsys.readouterr().out
    assert writable.created["me/masking"]["visibility"] == "private"
    folder = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert writable.commits[writable.references["me/masking", "main"]] == folder
    pushed, local = (
        AutoModelForMaskedLM.from_pretrained(name, cache_dir=tmp_path / "cache").state_dict()
        for name in ("me/masking", tmp_path / "out")
    )
    assert all(torch.equal(value, pushed[name]) for name, value in local.items())
    assert AutoTokenizer.from_pretrained("me/masking", cache_dir=tmp_path / "cache")("the king")["input_ids"]


def test_a_second_push_changes_files_and_keeps_others(call, finished, writable, tmp_path):
    for number in range(2):
        assert call("export", RUN, tmp_path / f"{number}", "--push", "me/m", "--public", "--runs", finished) == 0
        writable.push("me/m", {**writable.commits[writable.references["me/m", "main"]], "own.txt": b"!"})
    assert writable.created["me/m"]["visibility"] == "public"
    assert writable.commits[writable.references["me/m", "main"]]["own.txt"] == b"!"


def test_the_results_on_a_model_card_are_those_that_were_measured(call, finished, tmp_path):
    from huggingface_hub import ModelCard

    assert call("export", RUN, tmp_path / "out", "--runs", finished) == 0
    card = ModelCard.load(tmp_path / "out" / "README.md")
    assert card.data.library_name == "transformers"
    assert card.data.model_name == RUN
    tasks = {"mnli": "text-classification", "conll2003": "token-classification", "held-out text": "fill-mask"}
    found = {}
    for each in card.data.eval_results:
        task = each.task_name.removesuffix(" (synthetic counterpart)")
        assert each.task_type == tasks[task]
        method = (each.metric_name or "").split(", ")[1:]
        assert task == "held-out text" or each.dataset_name == each.task_name != task
        found[task, each.dataset_split, *method, each.metric_type] = each.metric_value
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in card.text.splitlines()]
    values = bertlab.results(finished).query("variant == '80/10/10'")
    assert len(values) == 3
    for each in values.itertuples():
        assert found[each.task, each.split, each.method, each.metric] == pytest.approx(each.value, abs=1e-4)
        shown = f"{each.value:.1f}"
        (line,) = (line for line in lines if line[:4] == ["masking", "smoke", "80/10/10", each.measurement])
        assert line[4:] == [each.metric, shown, f"{shown} (n = 1)", f"{each.published}"]
    (run,) = (run for run in Store(finished).runs() if run.label == RUN)
    assert found["held-out text", None, "perplexity"] == pytest.approx(run.result().heldout["perplexity"], abs=1e-4)


def test_results_are_a_data_set_and_still_a_store(call, finished, writable, tmp_path, capsys):
    import datasets

    out = tmp_path / "out"
    assert call("export", "all", out, "--results", "--push", "me/results", "--runs", finished) == 0
    assert writable.created["datasets/me/results"]["visibility"] == "private"
    values, again = bertlab.results(finished), bertlab.results(out)
    assert again.equals(values)
    (table,) = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache")).values()
    assert table.to_list() == values.astype(object).where(values.notna(), None).to_dict("records")
    for name in ("summary", "claims"):
        loaded = datasets.load_dataset(str(out), name, split="train", cache_dir=str(tmp_path / "cache"))
        assert set(loaded["study"]) == {"masking"}
    pushed = dataset(Reference("me/results", "values"), tmp_path / "index", "results", "connect")
    assert [*pushed.open("train", "connect")] == table.to_list()
    for folder in (finished, out):
        assert call("report", "--runs", folder, "--out", tmp_path / "pages" / folder.name) == 0
    ours, theirs = (tmp_path / "pages" / folder.name / "masking.csv" for folder in (finished, out))
    assert ours.read_bytes() == theirs.read_bytes()
    assert call("merge", out, "--into", tmp_path / "joined") == 0
    assert not (tmp_path / "joined" / "values.parquet").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "token", "what"),
    [
        (("--push", "masking"), True, "give OWNER/NAME"),
        (("--push", "me/masking@main"), True, "give OWNER/NAME"),
        (("--push", "me/masking"), False, "set HF_TOKEN to a token that may write to 'me'"),
        (("--public",), True, "give --push OWNER/NAME too"),
    ],
)
def test_what_cannot_be_pushed_is_one_line_and_leaves_nothing(
    call, finished, writable, tmp_path, capsys, monkeypatch, more, token, what
):
    if not token:
        monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert call("export", RUN, tmp_path / "out" / "model", *more, "--runs", finished) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert what in line
    assert not (tmp_path / "out").exists()
    assert not writable.created
