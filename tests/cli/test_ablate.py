"""The whole way at smoke scale: trained once, resumed after a signal, reported, listed, exported."""

import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from bertlab.cli.options import in_store
from bertlab.lab import jobs
from bertlab.store.files import read_lines
from bertlab.store.runs import Store
from bertlab.text.tokenizers import WordPiece


def contents(runs):
    """The files of a store, apart from times."""
    kept = {}
    for run in Store(runs).runs():
        for path in sorted(run.path.rglob("*")):
            if path.is_file() and path.name not in ("timing.jsonl", "manifest.json", "environment.json"):
                kept[run.path.name, path.relative_to(run.path).as_posix()] = path.read_bytes()
    return kept


def test_all_cells_are_there(finished):
    runs = Store(finished).runs()
    assert [sum(run.kind == kind for run in runs) for kind in ("corpus", "pretrain", "finetune", "features")] == [
        1, 3, 6, 3,
    ]  # fmt: skip
    for run in runs:
        run.verify()
        if run.kind in ("finetune", "features"):
            with np.load(run.path / "predictions.npz", allow_pickle=False) as kept:
                assert set(kept.files) >= {"prediction", "label", "log_likelihood"}
                assert len(kept["prediction"]) == len(kept["label"])
                assert (kept["log_likelihood"] <= 0).all()
                tested = run.result().test
                assert (tested is not None) is (run.result().task == "conll2003")
                if tested:
                    assert tested.metrics.keys() == run.result().metrics.keys() == tested.majority.keys()
                    right = kept["test_prediction"] == kept["test_label"]
                    assert tested.metrics["accuracy"] == pytest.approx(100 * right.mean())
                    assert len(set(kept["test_sentence"])) == tested.rows == 64
    assert not list(finished.rglob("*.ckpt")) + list(finished.rglob("checkpoint")) + list(finished.glob("*/.*.work"))


def test_a_second_time_everything_is_finished(smoke, call, finished, monkeypatch, capsys):
    monkeypatch.setattr(jobs.Pretraining, "run", None)
    monkeypatch.setattr(jobs.Evaluation, "run", None)
    monkeypatch.setattr(jobs.CorpusPreparation, "run", None)
    before = contents(finished)
    assert call(*smoke, "--runs", finished) == 0
    assert contents(finished) == before
    printed = capsys.readouterr().out
    assert "All runs are finished" in printed
    assert f"`bertlab report --runs {finished}`" in printed, "without --runs, the report is of another store"
    assert re.search(
        r"^masking works: (\d+) of \1 runs finished, scale smoke on microworld:2000$", printed, re.MULTILINE
    )


def test_a_command_that_is_printed_names_a_store_of_ones_own(monkeypatch):
    monkeypatch.delenv("BERTLAB_RUNS", raising=False)
    assert in_store(Path("runs")) == ""
    assert in_store(Path("my runs")) == " --runs 'my runs'"
    monkeypatch.setenv("BERTLAB_RUNS", "elsewhere")
    assert in_store(Path("elsewhere")) == ""
    assert in_store(Path("runs")) == " --runs runs"


def test_a_dry_run_writes_nothing(smoke, call, tmp_path, capsys):
    assert call(*smoke, "--dry-run", "--runs", tmp_path / "runs") == 0
    assert list(tmp_path.iterdir()) == []
    printed = capsys.readouterr().out
    assert "pretrain" in printed
    assert "15,360" not in printed  # the variant without steps trains on nothing
    assert "10,240" in printed


def with_corpus(runs, finished):
    """A store that has only the corpus of the finished one."""
    (corpus,) = finished.glob("corpus/[0-9a-f]*")
    shutil.copytree(corpus, runs / "corpus" / corpus.name)
    return runs


def pretrains(runs):
    return bool(list(runs.glob("pretrain/.*.work/metrics.jsonl")))


def test_a_signal_leaves_a_store_from_which_the_same_command_goes_on(smoke, call, finished, tmp_path, until):
    """The end equals, byte for byte, that of the command that was never stopped."""
    runs = with_corpus(tmp_path / "runs", finished)
    command = [sys.executable, "-m", "bertlab", *smoke, "--runs", str(runs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: pretrains(runs) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=600)
    assert process.returncode == 130, complaint
    assert "give the same command again" in complaint
    assert "Traceback" not in complaint
    assert call(*smoke, "--runs", runs) == 0
    assert contents(runs) == contents(finished)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_other_signals_leave_the_same(smoke, call, finished, tmp_path, until, capsys, number):
    runs = with_corpus(tmp_path / "runs", finished)
    before = signal.signal(number, signal.SIG_IGN)  # if it came too late, it would end the tests

    def send():
        until(lambda: pretrains(runs))
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        assert call(*smoke, "--runs", runs) == 143
    finally:
        sender.join()
        signal.signal(number, before)
    assert "give the same command again" in capsys.readouterr().err
    assert contents(runs).items() < contents(finished).items()


def test_a_run_that_fails_is_named_and_the_others_go_on(smoke, call, tmp_path, finished, monkeypatch, capsys):
    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    store = Store(runs)
    lost = [run for run in store.runs() if run.kind in ("features", "finetune")]
    store.remove(lost)
    run = jobs.Evaluation.run

    def broken(self, *arguments):
        if self.kind == "features":
            raise RuntimeError("a broken\npart")
        return run(self, *arguments)

    monkeypatch.setattr(jobs.Evaluation, "run", broken)
    assert call(*smoke, "--runs", runs) == 1
    printed = capsys.readouterr()
    assert "3 of 13 jobs have no result" in printed.err
    assert "failed: a broken part" in printed.err
    assert sum(run.kind == "finetune" for run in store.runs()) == 6
    assert call("runs", "--json", "--runs", runs) == 0
    listed = json.loads(capsys.readouterr().out)
    assert sum(each["status"] == "failed" and "broken" in each["reason"] for each in listed) == 3
    monkeypatch.undo()
    assert call(*smoke, "--runs", runs) == 0
    assert contents(runs) == contents(finished)


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ("missing", "NameError: name 'missing' is not defined (mine.py, line 7)"),
        ("[1]", "Mine.batch_transform (mine.py, line 6) returns [1]: give a collections.abc.Callable"),
    ],
)
def test_an_error_in_a_study_file_is_placed_before_anything_is_trained(
    call, finished, tmp_path, capsys, returned, says
):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from bertlab import MaskedLM, Measurement, Study, Variant\n"
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Mine(MaskedLM):\n"
        "    kind = 'mine_of_a_mistake'\n"
        "    def batch_transform(self, *arguments):\n"
        f"        return {returned}\n"
        "study = Study(name='wrong', question='?', source='me', baseline='a',\n"
        "    variants=[Variant('a', objective=(Mine(),))],\n"
        "    measurements=[Measurement('loss', metric='masked_lm_loss')])\n"
    )
    runs = with_corpus(tmp_path / "runs", finished)
    command = ("ablate", mine, "--scale", "smoke", "--threads", "1", "--workers", "0", "--runs", runs)
    assert call(*command) == 2
    assert capsys.readouterr().err == f"bertlab: {says}; correct it\n"
    assert {run.kind for run in Store(runs).runs()} == {"corpus"}


def test_the_report_has_every_value_and_the_same_bytes_each_time(call, finished, tmp_path, capsys):
    for name in ("one", "two"):
        assert call("report", "--runs", finished, "--out", tmp_path / name) == 0
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes(), path
    assert {str(path) for path in files} >= {"index.md", "masking.md", "masking.csv"}
    with (tmp_path / "one" / "masking.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    results = {run.id: run.result() for run in Store(finished).runs()}
    assert len(rows) == 9
    for row in rows:
        assert float(row["value"]) == pytest.approx(results[row["run_id"]].metrics[row["metric"]], abs=0.005)
    page = (tmp_path / "one" / "masking.md").read_text()
    assert "84.2" in page
    assert "no pre-training" in page


def test_floors_are_of_the_examples_that_are_evaluated(finished):
    (one, *_) = (run.result() for run in Store(finished).runs() if run.kind == "finetune" and "mnli" in run.label)
    assert one.rows.evaluation == 64
    for floor in (one.majority, one.lexical):
        right = floor["accuracy"] * 64 / 100
        assert right == pytest.approx(round(right))


def test_a_checkpoint_goes_out_to_transformers(call, finished, tmp_path):
    import torch
    import transformers

    assert call("export", "masking-80-10-10-seed0", tmp_path / "out", "--runs", finished) == 0
    model, report = transformers.RoFormerForMaskedLM.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == "roformer"
    logits = model(torch.tensor([[2, 40, 41, 3]])).logits
    assert logits.shape == (1, 4, len((tmp_path / "out" / "vocab.txt").read_text().splitlines()))


def test_fill_mask_gives_the_probabilities_of_the_exported_model(call, finished, tmp_path, capsys):
    import torch
    import transformers

    capsys.readouterr()
    text = "the old [MASK] lives near [MASK]."
    run = "masking-80-10-10-seed0"
    assert call("fill-mask", run, text, "--runs", finished, "--top", "3", "--json") == 0
    places = json.loads(capsys.readouterr().out)
    assert [len(guesses) for guesses in places] == [3, 3]

    assert call("export", run, tmp_path / "out", "--runs", finished) == 0
    capsys.readouterr()
    assert call("fill-mask", tmp_path / "out", text, "--top", "3", "--json") == 0
    for place, theirs in zip(places, json.loads(capsys.readouterr().out), strict=True):
        assert [each["piece"] for each in theirs] == [each["piece"] for each in place]
    model = transformers.RoFormerForMaskedLM.from_pretrained(tmp_path / "out").eval()
    tokenizer = WordPiece().load(tmp_path / "out" / "vocab.txt")
    one, two, three = tokenizer.encode(["the old", "lives near", "."])
    ids = [tokenizer.cls, *one, tokenizer.mask, *two, tokenizer.mask, *three, tokenizer.sep]
    with torch.inference_mode():
        shares = model(input_ids=torch.tensor([ids])).logits[0].softmax(-1)
    for place, guesses in zip((len(one) + 1, len(one) + len(two) + 2), places, strict=True):
        values, pieces = shares[place].topk(3)
        assert [each["piece"] for each in guesses] == [tokenizer.vocabulary[piece] for piece in pieces]
        assert [each["probability"] for each in guesses] == pytest.approx(values.tolist(), rel=1e-4)
    capsys.readouterr()
    assert call("fill-mask", run, text, "--runs", finished) == 0
    assert places[0][0]["piece"] in capsys.readouterr().out


@pytest.mark.parametrize("what", ["masking", "all"])
def test_results_go_out_without_weights_and_report_alike(call, finished, tmp_path, what):
    assert call("export", "--results", what, tmp_path / "shared", "--runs", finished) == 0
    assert not list((tmp_path / "shared").rglob("*.safetensors"))
    for runs, out in ((finished, "mine"), (tmp_path / "shared", "theirs")):
        assert call("report", "--runs", runs, "--out", tmp_path / out) == 0
    assert (tmp_path / "mine" / "masking.csv").read_bytes() == (tmp_path / "theirs" / "masking.csv").read_bytes()
    for run in Store(tmp_path / "shared").runs():
        run.verify()


def test_runs_are_listed_removed_and_pruned(call, finished, tmp_path, capsys):
    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    assert call("runs", "--json", "--runs", runs) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) == 13
    assert all(set(each) >= {"id", "kind", "label", "status", "reason", "path"} for each in listed)
    assert call("runs", "--remove", "masking-0-0-100-seed0", "--runs", runs) == 0
    assert len(Store(runs).runs()) == 12
    next(runs.glob("studies/*.json")).unlink()
    assert call("runs", "--prune", "--runs", runs) == 0
    assert Store(runs).runs() == []


def test_a_later_command_with_less_takes_nothing_from_the_report(call, finished, smoke, tmp_path, capsys):
    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    less = shlex.split(shlex.join(smoke).replace("--only 0/0/100 --random-init", ""))
    assert call(*less, "--runs", runs) == 0
    assert call("runs", "--prune", "--runs", runs) == 0
    assert "removed 0 finished" in capsys.readouterr().out
    assert contents(runs) == contents(finished)
    for store, out in ((finished, "before"), (runs, "after")):
        assert call("report", "--runs", store, "--out", tmp_path / out) == 0
    for path in (tmp_path / "before").rglob("*.*"):
        assert (tmp_path / "after" / path.relative_to(tmp_path / "before")).read_bytes() == path.read_bytes(), path


def test_another_study_of_a_name_is_refused_before_anything_is_trained(call, finished, tmp_path, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from bertlab import MaskedLM, Measurement, Study, Variant\n"
        "study = Study(name='masking', question='?', source='me', baseline='80/10/10', variants=[\n"
        "    Variant('80/10/10', objective=(MaskedLM(),)), Variant('0/0/100', objective=(MaskedLM(mask_prob=0.4),))],\n"
        "    measurements=[Measurement('loss', metric='masked_lm_loss')])\n"
    )
    before = contents(finished)
    for more in ((), ("--dry-run",), ("--search",)):
        assert call("ablate", mine, "--scale", "smoke", *more, "--runs", finished) == 2
        complaint = capsys.readouterr().err
        assert "is not the study with that name" in complaint
        assert "variant '" in complaint
    assert contents(finished) == before


def test_studies_are_listed_for_machines(call, capsys):
    assert call("studies", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    masking = next(study for study in listed if study["name"] == "masking")
    assert masking["source"] == "Devlin et al. 2019, Table 8"
    assert len(masking["variants"]) == 6
    assert len(masking["measurements"]) == 3


def test_the_curve_has_a_line_a_step_and_no_clock(finished):
    run = next(run for run in Store(finished).runs() if run.kind == "pretrain" and run.result().steps)
    lines = read_lines((run.path / "metrics.jsonl").read_bytes(), dict)
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 21))
    assert [line["step"] for line in lines if "heldout_masked_lm_loss" in line] == [10, 20]
    assert not any("second" in name and name != "next_sentence_loss" for line in lines for name in line)
    assert sum(line.seconds for line in run.timing()) > 0


def test_search_tries_on_the_baseline_and_measures_with_what_won(call, finished, smoke, tmp_path, capsys):
    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    searched = (*smoke, "--only", "80/10/10", "--search", "--intermediate-task", "conll2003=entities", "--runs", runs)
    assert call(*searched, "--dry-run") == 0
    assert "settings to try on the baseline" in capsys.readouterr().out
    before = {run.id for run in Store(runs).runs()}
    assert call(*searched) == 0
    new = [run for run in Store(runs).runs() if run.id not in before]
    tries = [run for run in new if run.result().split == "held back"]
    assert len(tries) == 4, "two settings on each of two tasks"
    assert all(run.result().rows.evaluation <= 64 for run in tries)
    assert {run.result().intermediate_task for run in new if run.result().task == "conll2003"} == {"entities"}
    assert call("report", "--runs", runs, "--out", tmp_path / "reports") == 0
    page = (tmp_path / "reports" / "masking.md").read_text(encoding="utf-8")
    assert "chosen on the baseline for all variants" in page
    assert "trained on entities" in page
    capsys.readouterr()
    assert call(*searched) == 0
    assert "settings to try" not in capsys.readouterr().out
