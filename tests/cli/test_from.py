"""Models that were pre-trained before: a published checkpoint and a run of the store, on studies and single tasks."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

from bertlab.model.streams import TensorBatch
from bertlab.store.runs import Store
from bertlab.synthetic import documents
from bertlab.text.tokenizers import SPECIALS, WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

TAGGED = ("finetune", "--task", "conll2003")
FEATURES = ("ablate", "features", "--scale", "smoke", "--substitute", "conll2003=entities", "--threads", "1")
VARIANTS = 7


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A small random BERT as transformers saves it, its token table padded beyond the vocabulary."""
    from transformers import BertConfig, BertForPreTraining

    folder = tmp_path_factory.mktemp("checkpoints") / "tiny-bert"
    words = sorted({word for text in documents(20) for word in text.lower().replace(".", " ").split()})
    letters = [f"{mark}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz.,?'-" for mark in ("", "##")]
    pieces = [*SPECIALS, *letters, *(word for word in words if word.isalpha() and len(word) > 1)]
    torch.manual_seed(0)
    shape = BertConfig(
        vocab_size=len(pieces) + 3, hidden_size=32, num_hidden_layers=5, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=48,
    )  # fmt: skip
    BertForPreTraining(shape).save_pretrained(folder)
    TrainedWordPiece(pieces).save(folder / "vocab.txt")
    return folder


@pytest.fixture(scope="module")
def imported(checkpoint, call, tmp_path_factory):
    """A store with `features` measured on the checkpoint, and its variant from scratch."""
    runs = tmp_path_factory.mktemp("imported") / "runs"
    assert call(*FEATURES, "--from", checkpoint, "--random-init", "--finetune-seeds", "2", "--runs", runs) == 0
    return runs


def test_all_variants_are_measured_on_the_checkpoint(imported):
    runs = Store(imported).runs()
    kinds = [run.kind for run in runs]
    assert (kinds.count("import"), kinds.count("pretrain"), kinds.count("corpus")) == (2, 0, 0)
    assert (kinds.count("finetune"), kinds.count("features")) == (2 * 2, 2 * (VARIANTS - 1))
    taken, fresh = (
        next(run for run in runs if run.kind == "import" and bool(run.result().fresh) is new) for new in (False, True)
    )
    assert {run.result().pretrain_id for run in runs if run.kind == "features"} == {taken.id}
    assert fresh.result().parameters == taken.result().parameters


def test_the_weights_are_the_checkpoints(imported, checkpoint):
    from transformers import BertModel

    from bertlab.training.finetuning import open_pretrained

    (run,) = (run for run in Store(imported).runs() if run.kind == "import" and not run.result().fresh)
    opened = open_pretrained(run.path)
    theirs = BertModel.from_pretrained(checkpoint, attn_implementation="eager").eval()
    tokens = torch.arange(5, 25)[None]
    with torch.inference_mode():
        ours = opened.model.encoder.eval().hidden_states(TensorBatch.of(tokens))
        expected = theirs(tokens, output_hidden_states=True).hidden_states
    assert len(ours) == len(expected) == 6
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(ours, expected, strict=True))
    assert opened.positions == 48


def test_the_report_says_what_was_trained_elsewhere(imported, call, tmp_path):
    assert call("report", "--runs", imported, "--out", tmp_path) == 0
    page = (tmp_path / "features.md").read_text(encoding="utf-8")
    assert "## Scale smoke from tiny-bert" in page
    assert "**Published checkpoint:** tiny-bert (sha256:" in page
    assert "n counts fine-tuning seeds" in page
    assert "holds for this checkpoint" in page
    assert "1 seed of pre-training" not in page
    assert "n = 2)" in page
    assert "mean over the fine-tuning seeds that both variants have" in page
    assert "pre-training seed" not in page.replace("by pre-training seed](figures", "")
    assert "1 pre-training" not in page, "its time was spent elsewhere"
    table = (tmp_path / "features.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == 1 + (VARIANTS + 1) * 2 * 2, "variants, fine-tuning seeds, dev and test"


def test_the_same_command_does_nothing_anew_and_a_copy_is_the_same_checkpoint(
    imported, checkpoint, call, tmp_path, capsys
):
    copy = tmp_path / "other-name"
    shutil.copytree(checkpoint, copy)
    before = {run.id for run in Store(imported).runs()}
    assert call(*FEATURES, "--from", copy, "--random-init", "--finetune-seeds", "2", "--runs", imported) == 0
    assert {run.id for run in Store(imported).runs()} == before
    (copy / "vocab.txt").write_text((copy / "vocab.txt").read_text() + "zzz\n")
    assert call(*FEATURES, "--from", copy, "--only", "last", "--dry-run", "--runs", imported) == 0
    assert re.search(r"import +0 +1\b", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("ablate", "masking", "--only", "100/0/0"), "pre-trains '100/0/0' differently"),
        (
            ("ablate", "size", "--only", "L, H (Base)"),
            "study 'size': --from: measurement 'LM perplexity' needs a pre-training",
        ),
        (("ablate", "features", "--seeds", "2"), "leave out --corpus, --words, --vocab and --seeds"),
        (("ablate", "features", "--corpus", "microworld"), "leave out --corpus, --words, --vocab and --seeds"),
        (("ablate", "features", "--set", "schedule.steps=3"), "--set cannot change it"),
        (("finetune", "--task", "mnlli"), "did you mean 'mnli'"),
        (
            ("finetune", "--task", "squad", "--set", "finetune.frozen=true"),
            "only span. and tasks.squad. have an effect",
        ),
        (
            (*TAGGED, "--adaptation", "features", "--intermediate-task", "conll2003=wnut17"),
            "--intermediate-task has no effect with --adaptation features: leave one out",
        ),
        ((*TAGGED, "--adaptation", "adapter"), "unknown adaptation 'adapter': did you mean 'adapters'"),
    ],
)
def test_what_would_have_no_effect_is_refused(command, message, checkpoint, call, tmp_path, capsys):
    runs = tmp_path / "runs"
    assert call(*command, "--from", checkpoint, "--runs", runs) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not runs.exists()


def test_a_checkpoint_that_cannot_be_read_is_one_line(checkpoint, call, tmp_path, capsys):
    broken, runs = tmp_path / "broken", tmp_path / "runs"
    shutil.copytree(checkpoint, broken)
    (broken / "model.safetensors").rename(broken / "pytorch_model.bin")
    assert call("finetune", "--from", broken, "--task", "entities", "--scale", "smoke", "--runs", runs) == 2
    assert "they must be safetensors" in capsys.readouterr().err
    assert not runs.exists()
    wrong = ((tmp_path / "none", "is no directory"), (tmp_path, "has none of config.json"), ("", "--from is empty"))
    for name, message in wrong:
        assert call("finetune", "--from", name, "--task", "entities", "--runs", runs) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("vocab.txt", None, "has neither tokenizer.json nor vocab.txt"),
        ("model.safetensors", None, "has no model.safetensors"),
        ("config.json", ('"model_type": "bert"', '"model_type": "gpt2"'), "only roberta, "),
    ],
)
def test_a_study_on_a_checkpoint_that_cannot_be_read_leaves_no_store(
    file, change, message, checkpoint, call, tmp_path, capsys
):
    broken, runs = tmp_path / "broken", tmp_path / "runs"
    shutil.copytree(checkpoint, broken)
    if change is None:
        (broken / file).unlink()
    else:
        (broken / file).write_text((broken / file).read_text().replace(*change))
    assert call(*FEATURES, "--only", "last", "--from", broken, "--runs", runs) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not runs.exists()


def test_an_imported_run_is_started_from_its_files_alone(imported, call, capsys):
    (run,) = (run for run in Store(imported).runs() if run.kind == "import" and not run.result().fresh)
    before = {each.id for each in Store(imported).runs()}
    command = (*FEATURES, "--from", run.id, "--finetune-seeds", "2", "--runs", imported)
    assert call(*command, "--random-init") == 2
    assert "give its directory with --from" in capsys.readouterr().err
    assert call(*command) == 0
    assert {each.id for each in Store(imported).runs()} == before, "measured from its directory already"


def test_an_imported_model_fills_masks_and_is_exported(imported, checkpoint, call, tmp_path, capsys):
    from transformers import BertForPreTraining

    assert call("fill-mask", "tiny-bert", "the [MASK] sat down", "--json", "--runs", imported) == 0
    ((guess, *_),) = json.loads(capsys.readouterr().out)
    tokenizer = WordPiece().load(checkpoint / "vocab.txt")
    (before, after) = tokenizer.encode(["the", "sat down"])
    tokens = torch.tensor([[tokenizer.cls, *before, tokenizer.mask, *after, tokenizer.sep]])
    with torch.inference_mode():
        logits = BertForPreTraining.from_pretrained(checkpoint).eval()(tokens).prediction_logits
    scores = logits[0, 1 + len(before), : tokenizer.size].softmax(-1)
    assert guess["piece"] == tokenizer.vocabulary[int(scores.argmax())]
    assert guess["probability"] == pytest.approx(float(scores.max()), rel=1e-4)

    assert call("export", "tiny-bert", tmp_path / "out", "--runs", imported) == 0
    again = BertForPreTraining.from_pretrained(tmp_path / "out").eval()
    with torch.inference_mode():
        torch.testing.assert_close(again(tokens).prediction_logits, logits[..., : tokenizer.size], rtol=0, atol=1e-5)


def test_a_bare_encoder_is_measured_and_predicts_no_words(checkpoint, call, tmp_path, capsys):
    from transformers import BertModel

    bare, runs = tmp_path / "bare", tmp_path / "runs"
    BertModel.from_pretrained(checkpoint).save_pretrained(bare)
    shutil.copy(checkpoint / "vocab.txt", bare)
    assert call(*FEATURES, "--only", "last", "--from", bare, "--runs", runs) == 0
    smoke = ("--task", "inference", "--scale", "smoke", "--threads", "1")
    assert call("finetune", "--from", bare, *smoke, "--runs", runs) == 0
    assert sorted(run.kind for run in Store(runs).runs() if run.kind != "import") == ["features", "finetune"]
    capsys.readouterr()
    for model in ("bare", bare):
        assert call("fill-mask", model, "the [MASK] sat down", "--runs", runs) == 2
        assert "without its LM head" in capsys.readouterr().err


def test_of_the_hub_the_files_of_one_commit_are_fetched(checkpoint, hub, call, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path / "cache"))
    files = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
    first = hub.push("owner/name", files | {"pytorch_model.bin": b"no", "model.py": b"no"})
    runs = tmp_path / "runs"
    command = ("--task", "entities", "--scale", "smoke", "--threads", "1", "--runs", runs)
    for name in ("owner/name", f"owner/name@{first}"):
        assert call("finetune", "--from", name, *command) == 0
    (run,) = (run for run in Store(runs).runs() if run.kind == "import")
    assert (run.result().checkpoint, run.result().commit) == ("owner/name", first)
    fetched = {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}
    assert fetched == {"config.json", "model.safetensors", "vocab.txt"}
    before = {run.id for run in Store(runs).runs()}
    hub.push("owner/name", files | {"README.md": b"another card"})
    hub.again()
    assert call("finetune", "--from", "owner/name", *command) == 0
    hub.offline()
    assert call("finetune", "--from", "owner/name", *command) == 0
    assert {run.id for run in Store(runs).runs()} == before, "the card is no part of a checkpoint"
    shutil.rmtree(runs)
    assert call("finetune", "--from", f"owner/name@{first}", *command) == 0, "from the cache"
    capsys.readouterr()
    for name in ("owner/other", "owner/name@v1", "owner/name:config"):
        assert call("finetune", "--from", name, *command) == 2
        said = capsys.readouterr().err
        assert f"'{name}' is no directory and no run of the store" in said
        assert said.count("\n") == 1


def test_a_run_is_fine_tuned_and_its_metrics_are_printed_and_kept(finished, call, tmp_path, capsys):
    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    run = next(each for each in Store(runs).runs() if each.kind == "pretrain" and "80-10-10" in each.label)
    command = (
        "finetune",
        "--from",
        run.id,
        "--task",
        "sst2",
        "--scale",
        "smoke",
        "--finetune-seeds",
        "2",
        "--threads",
        "1",
    )
    before = {each.id for each in Store(runs).runs()}
    assert call(*command, "--runs", runs) == 0
    printed = capsys.readouterr().out
    assert "sst2 (here sentiment, synthetic), validation, fine-tuning seed 1: accuracy " in printed
    new = [each for each in Store(runs).runs() if each.id not in before]
    assert [each.kind for each in new] == ["finetune"] * 2
    assert {each.result().pretrain_id for each in new} == {run.id}
    assert {each.result().dataset for each in new} == {"microworld"}, "as the run's text is"
    for each in new:
        assert f"{each.result().metrics['accuracy']:.2f}" in printed
    assert call(*command, "--json", "--runs", runs) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {each["id"] for each in listed} == {each.id for each in new}
    for split in ("train", "validation"):
        rows = "".join(f'{{"sentence": "row {row}", "label": "{"ab"[row % 2]}"}}\n' for row in range(8))
        (tmp_path / "data" / "films").mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / "films" / f"{split}.jsonl").write_text(rows)
    short = (*command, "--runs", runs, "--set", "finetune.max_steps=1", "--data", tmp_path / "data")
    assert call(*short, "--substitute", "sst2=films") == 0
    assert "sst2 (here films), validation, fine-tuning seed 0: accuracy " in capsys.readouterr().out


def test_features_of_a_run_are_those_of_its_study(finished, call, tmp_path, capsys):
    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    run = next(each for each in Store(runs).runs() if each.kind == "pretrain" and "80-10-10" in each.label)
    before = {each.id for each in Store(runs).runs()}
    command = (
        "finetune",
        "--from",
        run.path,
        "--task",
        "conll2003",
        "--adaptation",
        "features",
        "--scale",
        "smoke",
        "--threads",
        "1",
    )
    assert call(*command, "--runs", runs) == 0
    assert {each.id for each in Store(runs).runs()} == before, "the study has measured that already"
    assert " f1 " in capsys.readouterr().out


def test_what_a_study_has_measured_is_printed_and_nothing_is_written(finished, call, tmp_path, capsys):
    """Also of results without weights, in a store that may be read-only."""
    shared = tmp_path / "shared"
    assert call("export", "masking", shared, "--results", "--runs", finished) == 0
    before = {path: path.is_file() and path.read_bytes() for path in shared.rglob("*")}
    from_ = ("--from", "masking/80/10/10/0", "--threads", "1", "--precision", "fp32")
    assert call("finetune", *from_, "--task", "mnli", "--scale", "smoke", "--runs", shared) == 0
    assert "validation, fine-tuning seed 0: accuracy " in capsys.readouterr().out
    assert {path: path.is_file() and path.read_bytes() for path in shared.rglob("*")} == before


def test_a_model_is_pre_trained_outside_a_study(call, tmp_path, capsys):
    runs = tmp_path / "runs"
    command = (
        "pretrain",
        "--scale",
        "smoke",
        "--set",
        "masked_lm.mask_prob=0.4",
        "--seed",
        "3",
        "--threads",
        "1",
        "--runs",
        runs,
    )
    assert call(*command, "--dry-run") == 0
    assert not runs.exists()
    assert call(*command) == 0
    printed = capsys.readouterr().out
    (run,) = (each for each in Store(runs).runs() if each.kind == "pretrain")
    assert f"bertlab finetune --from {run.id}" in printed
    assert run.definition()["recipe"]["objective"][0]["mask_prob"] == 0.4
    assert run.definition()["recipe"]["seed"] == 3
    assert call(*command, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["id"], printed["heldout"]) == (run.id, run.result().heldout)
    assert np.isfinite(printed["heldout"]["masked_lm_loss"])


def test_milestones_of_a_run_are_those_that_it_keeps(call, tmp_path, capsys):
    runs = tmp_path / "runs"
    assert call("pretrain", "--scale", "smoke", "--set", "objective=masked_lm", "--threads", "1", "--runs", runs) == 0
    (run,) = (each for each in Store(runs).runs() if each.kind == "pretrain")
    capsys.readouterr()
    only = ("--only", "masked LM")
    assert call("ablate", "convergence", *only, "--from", run.id, "--dry-run", "--runs", runs) == 0
    printed = capsys.readouterr().out
    assert "from pretrain-seed0\n" in printed
    assert re.search(r"finetune +0 +2\b", printed), "after 50 and 100 %, as smoke keeps them"


def test_a_name_with_a_slash_is_never_a_run_of_that_last_part(imported, call, capsys):
    assert call(*FEATURES, "--from", "somewhere/tiny-bert", "--runs", imported) == 2
    assert "cannot be downloaded from the Hub" in capsys.readouterr().err


def test_any_seed_can_be_pre_trained(call, tmp_path, capsys):
    assert call("pretrain", "--scale", "smoke", "--seed", "5000", "--dry-run", "--runs", tmp_path / "runs") == 0
    assert re.search(r"pretrain +0 +1\b", capsys.readouterr().out)
