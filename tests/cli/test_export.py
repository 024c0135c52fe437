"""`bertlab export`: a directory that transformers opens, that others can read, that goes to the Hub with a card, and
that comes back as it went."""

import json
import os
import re
import resource
import shutil
import stat

import pytest
import torch
from huggingface_hub import ModelCard

import bertlab
from bertlab.hub import Reference, dataset
from bertlab.recipe import Recipe
from bertlab.store.result import Failure
from bertlab.store.runs import Store

RUN = "masking-80-10-10-seed0"
TEXT = "The old king, who lives near the river, met a friend."


@pytest.fixture(scope="module")
def exported(call, finished, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "out"
    before = os.umask(0o022)
    try:
        assert call("export", RUN, folder, "--runs", finished, "--license", "Apache-2.0") == 0
    finally:
        os.umask(before)
    return folder


def test_every_file_can_be_read_by_everyone(exported, call, finished, tmp_path):
    names = ["README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    assert sorted(path.name for path in exported.iterdir()) == names
    assert {stat.S_IMODE(path.stat().st_mode) for path in exported.iterdir()} == {0o644}
    before = os.umask(0o077)
    try:
        assert call("export", RUN, tmp_path / "private", "--runs", finished) == 0
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "private").iterdir()} == {0o600}


@pytest.mark.parametrize(("arguments", "size"), [((RUN,), 100), ((RUN,), 20_000), (("masking", "--results"), 100)])
def test_a_full_disk_gives_one_line_and_leaves_nothing(call, finished, tmp_path, capsys, arguments, size):
    capsys.readouterr()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        code = call("export", *arguments, tmp_path / "new" / "out", "--runs", finished)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (line,) = capsys.readouterr().err.splitlines()
    assert code == 2
    assert f"export target '{tmp_path / 'new' / 'out'}' cannot be written" in line
    assert not list(tmp_path.iterdir())


def test_results_keep_why_a_run_has_none(call, finished, tmp_path):
    """A training that diverged is a result, also for those who have no weights; its log may name paths."""
    runs = shutil.copytree(finished, tmp_path / "runs")
    store = Store(runs)
    run = next(run for run in store.runs() if run.kind == "finetune")
    store.remove([run])
    why = "diverged at step 7: the loss is not finite"
    store.fail(Failure(id=run.id, kind=run.kind, label=run.label, status="diverged", reason=why, log="/home/of/one"))
    assert call("export", "masking", tmp_path / "out", "--results", "--runs", runs) == 0
    kept = Store(tmp_path / "out").failure(run.id)
    assert (kept.status, kept.reason, kept.log) == ("diverged", why, "")
    assert "diverged" in (tmp_path / "out" / "README.md").read_text()


def test_results_without_weights_are_no_model(call, finished, tmp_path, capsys):
    assert call("export", "masking", tmp_path / "results", "--results", "--runs", finished) == 0
    capsys.readouterr()
    for command in (("export", RUN, tmp_path / "out"), ("fill-mask", RUN, "the [MASK] sat down")):
        assert call(*command, "--runs", tmp_path / "results") == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "model.safetensors' does not exist (`export --results` leaves weights out)" in line
    assert not (tmp_path / "out").exists()


def test_transformers_gives_the_ids_and_the_vectors_of_the_run(exported, finished):
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    from bertlab.model.streams import TensorBatch
    from bertlab.training.finetuning import open_pretrained

    (run,) = (run for run in Store(finished).runs() if run.label == RUN)
    opened = open_pretrained(run.path)
    inputs = AutoTokenizer.from_pretrained(exported)(TEXT, return_tensors="pt")
    (ids,) = opened.tokenizer.encode([TEXT])
    assert inputs["input_ids"].tolist() == [[opened.tokenizer.cls, *ids, opened.tokenizer.sep]]
    tokens, every = inputs["input_ids"], torch.arange(inputs["input_ids"].shape[1])[None]
    with torch.inference_mode():
        vectors = AutoModel.from_pretrained(exported).eval()(**inputs).last_hidden_state
        logits = AutoModelForMaskedLM.from_pretrained(exported).eval()(**inputs).logits
        model = opened.model.eval()
        torch.testing.assert_close(model.encoder(TensorBatch.of(tokens)), vectors, rtol=0, atol=1e-5)
        batch = TensorBatch.of(tokens, None, {"masked_lm": {"positions": every}})
        masked = model.logits(batch, "masked_lm")
        torch.testing.assert_close(masked.view_as(logits), logits, rtol=0, atol=1e-5)


def test_the_card_has_the_recipe_and_what_was_measured(exported, finished):
    card = (exported / "README.md").read_text(encoding="utf-8")
    runs = Store(finished).runs()
    (run,) = (run for run in runs if run.label == RUN)
    (recipe,) = re.findall(r"```json\n(.*?)\n```", card, re.DOTALL)
    assert json.loads(recipe) == run.definition()["recipe"]
    assert re.search(rf"\| held out: perplexity +\| +{run.result().heldout['perplexity']:.4g} \|", card)
    measured = [measurement.result() for measurement in runs if measurement.kind in ("finetune", "features")]
    own = [result for result in measured if result.pretrain_id == run.id]
    assert 0 < len(own) < len(measured)
    for result in own:
        metric, value = next(iter(result.metrics.items()))
        assert re.search(rf"\| {result.task} *\| +microworld \| +{result.split} \|.*\b{metric} {value:.4g}", card)
    assert len(re.findall(r"\| +microworld \| ", card)) == len(own) + sum(result.test is not None for result in own)


def test_the_card_has_the_licence_and_no_language_of_synthetic_text(exported):
    data = ModelCard.load(exported / "README.md").data
    assert (data.license, data.language, data.base_model) == ("apache-2.0", None, None)


def test_a_licence_that_the_hub_cannot_name_is_one_line(call, finished, tmp_path, capsys):
    assert call("export", RUN, tmp_path / "x", "--runs", finished, "--license", "my own: licence") == 2
    assert "is no identifier of the Hub" in capsys.readouterr().err


def test_the_card_shows_how_to_use_the_model_and_what_it_has_not_learned(exported):
    card = (exported / "README.md").read_text(encoding="utf-8")
    assert "> masking, scale smoke on microworld:2000: 2 of 2 models learned next to nothing in pre-training" in card
    (code,) = re.findall(r"```python\n(.*?)\n```", card, re.DOTALL)
    defined = {}
    exec(code.replace("OWNER/NAME", str(exported)), defined)
    inputs = defined["tokenizer"](TEXT, return_tensors="pt")
    assert defined["model"](**inputs).last_hidden_state.shape[:2] == inputs["input_ids"].shape


@pytest.mark.parametrize("again", ["as it is", "saved by transformers"])
def test_what_was_exported_comes_back(again, exported, finished, call, tmp_path):
    """Its weights are those of the run, and so is its recipe, as far as a checkpoint records it."""
    from safetensors.torch import load_file
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = exported
    if again == "saved by transformers":
        folder = tmp_path / "saved"
        AutoModelForMaskedLM.from_pretrained(exported).save_pretrained(folder)
        AutoTokenizer.from_pretrained(exported).save_pretrained(folder)
        assert not (folder / "vocab.txt").exists()
    runs = tmp_path / "runs"
    command = ("finetune", "--from", folder, "--task", "sentiment", "--scale", "smoke", "--threads", "1")
    assert call(*command, "--runs", runs) == 0
    (run,) = (run for run in Store(finished).runs() if run.label == RUN)
    (back,) = (run for run in Store(runs).runs() if run.kind == "import")
    assert (back.path / "vocab.txt").read_bytes() == (run.path / "vocab.txt").read_bytes()
    before, after = (load_file(directory.path / "model.safetensors") for directory in (run, back))
    names = [name for name in before if again == "as it is" or not name.startswith("nsp_head.")]
    assert len(names) > 40
    assert all(torch.equal(before[name], after[name]) for name in names)
    model = back.definition().get("recipe") or json.loads((back.path / "recipe.json").read_text())["science"]["recipe"]
    assert model["model"]["positions"] == "rotary"
    assert model["tokenizer"].get("lowercase", Recipe().tokenizer.lowercase)


@pytest.mark.parametrize("target", ["new/..", "new/../there", "new/deep/../../there/out/.."])
def test_a_target_that_is_refused_leaves_nothing(call, finished, tmp_path, target):
    (tmp_path / "there").mkdir()
    assert call("export", RUN, tmp_path / target, "--runs", finished) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_what_is_on_the_way_to_a_target_is_not_made_unless_it_is_needed(call, finished, tmp_path):
    assert call("export", "masking", tmp_path / "new" / ".." / "out", "--results", "--runs", finished) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


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
