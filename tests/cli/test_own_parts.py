"""A study with a loss, a selection and an adaptation of its own, in a process that has not run its file."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bertlab
from bertlab.errors import BadInput
from bertlab.recipe.identity import flatten_json
from bertlab.report.gather import gather_all
from bertlab.store import lookup
from bertlab.store.runs import Store

ROOT = Path(__file__).parents[2]
STUDY = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bertlab import FineTuning, Loss, MaskedLM, Measurement, Study, Tokens, Variant
from bertlab.inputs.batches import Evaluation, heldout


@dataclass(frozen=True, kw_only=True)
class Long(Loss):
    """Whether a sequence is long, from [CLS]."""

    kind: ClassVar[str] = "long"
    head: ClassVar[str] = "long_head"
    labels_only: ClassVar[bool] = True
    metric_labels: ClassVar[dict] = {"long_accuracy": "long sequences"}
    meaning: ClassVar[str] = "Long sequences: the share that is told from short ones."
    share: float = 0.5

    def batch_transform(self, tokenizer, length, seed):
        return lambda sequences: {"labels": (sequences.lengths > self.share * length).astype(np.int32)}

    def count(self, arrays):
        return float(len(arrays["labels"]))

    def new_head(self, model, vocabulary):
        from torch import nn

        class Head(nn.Linear):
            def forward(self, hidden, embeddings):
                return super().forward(hidden)

        return Head(model.hidden, 2)

    def positions(self, arrays):
        return None

    def loss_sum(self, head, hidden, arrays, embeddings):
        from torch.nn.functional import cross_entropy

        return cross_entropy(head(hidden, embeddings).float(), arrays["labels"].long(), reduction="sum")

    def evaluations(self, recipe, corpus, size, final):
        def sums(model, batch):
            labels = batch.arrays[self.kind]["labels"]
            right = model.logits(batch, self.kind).argmax(-1) == labels
            return {"right": right.sum(), "count": right.numel()}

        batches = heldout(recipe, corpus, (self,), size)
        return [Evaluation(batches, ("right", "count"), sums, lambda n: {"long_accuracy": n["right"] / n["count"]})]

    def parameters(self, model, vocabulary):
        return 2 * (model.hidden + 1)

    def flops(self, model, vocabulary, length):
        return 4.0 * model.hidden


@dataclass(frozen=True, kw_only=True)
class Others(Tokens):
    kind: ClassVar[str] = "others"


@dataclass(frozen=True, kw_only=True)
class Own(MaskedLM):
    kind: ClassVar[str] = "own_lm"


@dataclass(frozen=True, kw_only=True)
class Biases(FineTuning):
    kind: ClassVar[str] = "biases"
    description: ClassVar[str] = "the biases alone"

    def encoder(self, model, key):
        for name, value in model.encoder.named_parameters():
            value.requires_grad_(name.endswith("bias"))
        return model.encoder


study = Study(
    name="lengths",
    question="Does it help to know the length?",
    source="mine",
    baseline="MLM",
    variants=[
        Variant("MLM", objective=(MaskedLM(),)),
        Variant("length", objective=(Own(selection=Others(), mask_prob=0.2), Long()), adaptation=Biases()),
        Variant("biases", adaptation=Biases()),
    ],
    measurements=[Measurement("SST-2", task="sst2"), Measurement("length", metric="long_accuracy")],
)
'''


@pytest.fixture(scope="module")
def runs(tmp_path_factory, text_file):
    """Trained in a process of its own: this one knows none of the parts."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "lengths.py").write_text(STUDY)
    rows = [json.dumps({"sentence": f"text {number}", "label": int(number % 3 == 0)}) for number in range(60)]
    for split in ("train", "validation"):
        path = folder / "mirror" / "sst2" / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows))
    given = ("--corpus", text_file, "--data", folder / "mirror", "--scale", "smoke", "--runs", folder / "runs")
    command = (sys.executable, "-m", "bertlab", "ablate", folder / "lengths.py", *given, "--workers", "0", "--keep")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(
        [*command, "--threads", "1", "--precision", "fp32"], check=True, capture_output=True, env=environment
    )
    return folder / "runs"


def test_a_page_has_what_a_study_file_defines(runs, call, tmp_path):
    assert call("report", "--runs", runs, "--out", tmp_path, "--format", "md") == 0
    page = re.sub(" +", " ", (tmp_path / "lengths.md").read_text())
    for text in (
        "4 layers, 32 wide",
        "long sequences",  # the label of a figure
        "Long sequences: the share that is told from short ones.",
        "all weights fine-tuned or the biases alone;",
        "| MLM (baseline) | masked_lm ",
        "| own_lm, long | biases ",
    ):
        assert text in page, text
    assert "unknown size" not in page
    (study,) = gather_all(Store(runs))
    by_variant = {each.variant: flatten_json(each.defined.recipe) for each in study.pretrainings}
    own, usual = by_variant["length"], by_variant["MLM"]
    assert (own["own_lm.mask_prob"], own["own_lm.selection"], own["long.share"]) == (0.2, "others", 0.5)
    same = {name: value for name, value in usual.items() if "masked_lm" not in name and name != "objective"}
    assert same.items() <= own.items()
    defined = [cell.result.defined for cell in study.column("SST-2")]
    assert [one and one.description for one in defined] == ["all weights fine-tuned", *["the biases alone"] * 2]


def copy_of(runs):
    (found,) = runs.glob("studies/*/lengths.py")
    return found


def test_a_part_that_is_not_defined_is_named_with_the_copy_of_its_file(runs, call, tmp_path, capsys):
    with pytest.raises(BadInput) as raised:
        bertlab.open_run(runs, "lengths/length/0")
    run = lookup.find(Store(runs), "lengths/length/0")
    cause = f"unknown loss 'own_lm': run {run.id} was trained with the code of a study file: "
    assert str(raised.value) == f"{cause}read its copy and run it with study='{copy_of(runs)}'"
    for command in (("export", "lengths/length/0", tmp_path / "out"), ("fill-mask", "lengths/length/0", "a [MASK]")):
        assert call(*command, "--runs", runs) == 2
        assert f"{cause}read its copy and run it with --study '{copy_of(runs)}'" in capsys.readouterr().err
    assert call("finetune", "--from", "lengths/length/0", "--task", "sst2", "--scale", "smoke", "--runs", runs) == 2
    assert "was trained with the code of a study file: measure it in that study" in capsys.readouterr().err
    assert call("fill-mask", "lengths/MLM/0", "a [MASK]", "--runs", runs) == 0  # has no part of its own
    (tmp_path / "rows.csv").write_text("sentence\ntext 1\n")
    run = lookup.find(Store(runs), "lengths/biases/0/SST-2")  # which has one, of a pre-training without
    assert call("predict", run.id, tmp_path / "rows.csv", "--runs", runs) == 2
    cause = f"unknown adaptation 'biases': run {run.id} was trained with the code of a study file: "
    assert f"{cause}read its copy and run it with --study '{copy_of(runs)}'" in capsys.readouterr().err


def test_another_file_is_not_run(runs, call, tmp_path, capsys):
    other = tmp_path / "lengths.py"
    for text in (f"{STUDY}\nopen({str(tmp_path / 'ran')!r}, 'w')\n", "def f(:\n"):
        other.write_text(text)
        assert call("fill-mask", "lengths/length/0", "a [MASK]", "--runs", runs, "--study", other) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"--study '{other}' is not the study file with which run" in line
        assert f"give '{copy_of(runs)}', its copy" in line
    assert not (tmp_path / "ran").exists()
    assert call("export", "lengths", tmp_path / "out", "--results", "--study", other, "--runs", runs) == 2
    assert "--study is for a model" in capsys.readouterr().err


def test_its_file_defines_the_parts_of_a_run(runs, call, tmp_path, capsys):
    given = tmp_path / "lengths.py"
    shutil.copyfile(copy_of(runs), given)
    opened = bertlab.open_run(runs, "lengths/length/0", study=given)
    assert opened.model.long_head.weight.shape == (2, 32)
    capsys.readouterr()
    where = ("--runs", runs, "--study", copy_of(runs))
    assert call("fill-mask", "lengths/length/0", "a [MASK]", *where) == 0
    assert capsys.readouterr().out.startswith("[MASK]: ")
    assert call("export", "lengths/length/0", tmp_path / "out", *where) == 0
    assert (tmp_path / "out" / "config.json").is_file()
    assert "own_lm" in (tmp_path / "out" / "README.md").read_text()
    (tmp_path / "rows.csv").write_text("sentence\ntext 1\n")
    for variant in ("length", "biases"):
        capsys.readouterr()
        assert call("predict", f"lengths/{variant}/0/SST-2", tmp_path / "rows.csv", *where) == 0
        assert json.loads(capsys.readouterr().out)["label"] in ("0", "1", "negative", "positive")
