"""Runs are found as `STUDY/VARIANT/SEED` from every study that needs them, and as they are shown."""

import json
import shutil

import pytest

import small_record
from bertlab.errors import BadInput
from bertlab.store import addresses, lookup
from bertlab.store.runs import Store
from bertlab.store.writes import write_json


def record(study, scale="micro", shared="aa", own="bb"):
    """A record of two variants, of which the first shares its runs with other studies."""
    pretrained = {"BERT": shared, "no NSP": own}
    values = [
        small_record.value(
            run_id,
            f"{run_id}{milestone}{seed}",
            variant=variant,
            measurement="MNLI",
            milestone=milestone,
            finetune_seed=seed,
        )
        for variant, run_id in pretrained.items()
        for milestone in (50, 100)
        for seed in (0, 1)
    ]
    rows = tuple(small_record.row(variant, run_id, "c0") for variant, run_id in pretrained.items())
    return small_record.record(study, scale=scale, rows=rows, cells=tuple(values))


def test_a_shared_run_has_an_address_in_each_study():
    records = [record("convergence", own="b1"), record("nsp", own="b2")]
    assert addresses.of_runs(records)["aa"] == ["convergence/BERT/0", "nsp/BERT/0"]
    assert addresses.of_runs(records)["b21001"] == ["nsp/no NSP/0/MNLI/finetune1"]
    for text in ("nsp/no NSP/0", "nsp/no-nsp/0", "NSP@micro/no nsp/0"):
        assert addresses.find(text, records) == {"b2"}
    assert addresses.find("nsp/BERT/0/MNLI", records) == {"aa1000"}, "after all steps, the first fine-tuning seed"
    assert addresses.find("nsp/BERT/0/MNLI/50%", records) == {"aa500"}
    assert addresses.find("nsp/BERT/1", records) == set()
    assert addresses.shown("nsp-bert-seed0", addresses.of_runs(records)["aa"]) == "nsp/BERT/0"
    assert addresses.shown("pretrain-seed0", []) == "pretrain-seed0"


def test_the_scale_is_added_where_one_study_has_several():
    records = [record("nsp", "micro", "a1", "b1"), record("nsp", "tiny", "a2", "b1")]
    assert addresses.find("nsp/BERT/0", records) == {"a1", "a2"}
    shown = addresses.of_runs(records)
    assert (shown["a1"], shown["a2"]) == (["nsp@micro/BERT/0"], ["nsp@tiny/BERT/0"])
    assert shown["b1"] == ["nsp/no NSP/0"]


def test_a_name_of_several_runs_is_answered_with_their_names(tmp_path, monkeypatch):
    store, records = Store(tmp_path), {}
    store.create_directories()
    for scale, run_id in (("micro", "a1" + 14 * "0"), ("tiny", "a2" + 14 * "0")):
        work = store.work("pretrain", run_id)
        write_json(work, "recipe.json", {"science": {"recipe": {}}})
        write_json(work, "result.json", {"status": "done"})
        store.finish("pretrain", run_id, "nsp BERT seed0")
        records[scale] = record("nsp", scale, shared=run_id)
    monkeypatch.setattr(Store, "records", lambda self, needed: records)
    with pytest.raises(BadInput, match=r"may be nsp@micro/BERT/0 or nsp@tiny/BERT/0: give one of these"):
        lookup.find(store, "nsp/BERT/0")
    assert lookup.find(store, "nsp@tiny/BERT/0").id == "a2" + 14 * "0"
    with pytest.raises(BadInput, match="may be nsp@micro/BERT/0 or nsp@tiny/BERT/0"):
        lookup.find(store, "a")


def test_what_is_listed_is_accepted(call, finished, capsys):
    capsys.readouterr()
    assert call("runs", "--json", "--study", "masking", "--runs", finished) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) == 13
    store = Store(finished)
    for run in listed:
        names = [*run["addresses"], run["label"], run["id"]]
        assert {lookup.find(store, name).id for name in names} == {run["id"]}
        assert {lookup.find(store, name, to_remove=True).id for name in names} == {run["id"]}
        assert len(run["addresses"]) == (run["kind"] != "corpus")
    assert call("runs", "--runs", finished) == 0
    table = capsys.readouterr().out
    assert all(address in table for run in listed for address in run["addresses"])
    assert call("runs", "--study", "markings", "--runs", finished) == 2
    assert "did you mean 'masking'?" in capsys.readouterr().err
    with pytest.raises(BadInput, match="no finished run"):
        lookup.find(store, "masking/80/10/10/1")


def test_what_a_running_command_needs_is_not_removed(call, finished, capsys):
    store = Store(finished)
    run = lookup.find(store, "masking/80/10/10/0")
    with store.locks.reserved([run.id]):
        assert call("runs", "--runs", finished, "--remove", run.id) == 2
    assert "--remove: a running command needs masking-80-10-10-seed0: wait until it ends" in capsys.readouterr().err
    assert store.get(run.id) == run


def test_commands_take_addresses(call, finished, tmp_path, capsys):
    assert call("fill-mask", "masking/80/10/10/0", "the [MASK] sat", "--runs", finished) == 0
    assert call("export", "masking/80-10-10/0", tmp_path / "out", "--runs", finished) == 0
    capsys.readouterr()
    command = ("ablate", "features", "--only", "last", "--scale", "smoke", "--dry-run", "--runs", finished)
    assert call(*command, "--from", "masking/80/10/10/0") == 0
    assert "from masking-80-10-10-seed0\n" in capsys.readouterr().out


def test_a_failed_run_is_named_by_its_address(call, smoke, finished, tmp_path, monkeypatch, capsys):
    from bertlab.lab import jobs

    store = Store(shutil.copytree(finished, tmp_path / "runs"))
    store.remove([lookup.find(store, "masking/0/0/100/0/NER feature-based")])

    def broken(self, *arguments):
        raise RuntimeError("a broken part")

    monkeypatch.setattr(jobs.Evaluation, "run", broken)
    assert call(*smoke, "--runs", store.root) == 1
    assert "  features masking/0/0/100/0/NER feature-based: failed: a broken part" in capsys.readouterr().err


def test_a_pre_training_has_the_name_that_it_is_given(call, tmp_path, capsys):
    steps = ("--scale", "smoke", "--set", "schedule.steps=1", "--threads", "1", "--runs", tmp_path)
    assert call("pretrain", "--name", "My model", *steps) == 0
    printed = capsys.readouterr().out
    assert f"`bertlab finetune --from my-model --task mnli --scale smoke --runs {tmp_path}`" in printed
    assert f"`bertlab fill-mask my-model TEXT --runs {tmp_path}`" in printed
    assert f"`bertlab export my-model DIR --runs {tmp_path}`" in printed
    run = lookup.find(Store(tmp_path), "My model")
    assert (run.kind, run.label) == ("pretrain", "my-model")
    assert call("pretrain", "--config", run.path / "config.toml", "--runs", tmp_path, "--threads", "1") == 0
    assert [each.id for each in Store(tmp_path).runs() if each.kind == "pretrain"] == [run.id]
    assert call("pretrain", "--name", "my-model", *steps, "--seed", "1") == 2
    assert f"another run, {run.id}, has this name" in capsys.readouterr().err
    there = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for more in ((), ("--dry-run",), ("--json",)):
        assert call("pretrain", "--name", "other", *steps, *more) == 2
        printed = capsys.readouterr()
        assert f"--name other: this pre-training is finished, as my-model ({run.id}): use that name" in printed.err
        assert not printed.out
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == there


def test_a_model_that_fills_no_masks_and_is_none_of_transformers_is_not_offered_for_it(call, tmp_path, capsys):
    fields = ("model=bilstm", "objective=bidirectional_lm", "schedule.steps=1")
    settings = [part for field in fields for part in ("--set", field)]
    command = ("pretrain", "--name", "elmo", "--scale", "smoke", "--threads", "1", "--runs", tmp_path)
    assert call(*command, *settings) == 0
    printed = capsys.readouterr().out
    assert "`bertlab finetune --from elmo" in printed
    assert "fill-mask" not in printed
    assert "export" not in printed
    assert call("fill-mask", "elmo", "the [MASK] sat", "--runs", tmp_path) == 2
    assert "is not a masked LM" in capsys.readouterr().err


def test_the_pre_training_of_a_study_gets_no_second_name(call, tmp_path, finished, capsys):
    runs = shutil.copytree(finished, tmp_path / "runs")
    run = lookup.find(Store(runs), "masking/80/10/10/0")
    command = ("pretrain", "--scale", "smoke", "--threads", "1", "--precision", "fp32", "--runs", runs)
    assert call(*command, "--name", "mine") == 2
    assert f"is finished, as masking/80/10/10/0 ({run.id})" in capsys.readouterr().err
    assert not (run.path / "config.toml").exists()
    assert call(*command) == 0
    assert f"`bertlab fill-mask {run.id} TEXT --runs {runs}`" in capsys.readouterr().out
    assert not (run.path / "config.toml").exists(), "the study's command is beside its record"
