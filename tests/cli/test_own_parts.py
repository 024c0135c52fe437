"""A loss, a selection, an adaptation, an input format and a tokenizer of the user's own, in a study file."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bertlab
from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.lab import scales, studies
from bertlab.recipe import Recipe
from bertlab.recipe.identity import flatten_json, load, set_fields, to_canonical
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


OWN_FORMAT = """
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bertlab import Format, FullSentences, Inputs, MaskedLM, Measurement, Study, Variant
from bertlab.inputs.formats import base, pairs
from bertlab.recipe.ranges import Range


@dataclass(frozen=True, kw_only=True)
class Sentences(Format):
    kind: ClassVar[str] = "sentences-of-tests"
    token_matched_to: ClassVar[Format | None] = FullSentences()
    most: Annotated[int, Range(1, 9)] = 1

    def lay_out(self, text, recipe, length, copy):
        sentences, documents = base.pieces(text, length - 2, length - 2)

        def after(i):
            fit = np.searchsorted(sentences, sentences[i] + length - 2, side="right") - 1
            return np.minimum(np.minimum(i + self.most, fit), documents[np.searchsorted(documents, i, side="right")])

        return base.consecutive(sentences, after, length - 2)


ALONE = (MaskedLM(),)
study = Study(
    name="own-format", question="?", source="me", baseline="packed",
    variants=[
        Variant("packed", inputs=Inputs(format="full-sentences"), objective=ALONE),
        Variant("one", inputs=Inputs(format=Sentences()), objective=ALONE),
        Variant("two", inputs=Inputs(format=Sentences(most=2)), objective=ALONE),
    ],
    measurements=[Measurement("loss", metric="masked_lm_loss")],
)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("study") / "mine.py"
    file.write_text(OWN_FORMAT)
    return file


def test_it_is_trained_and_reported(call, text_file, path, tmp_path):
    runs = tmp_path / "runs"
    command = ("ablate", path, "--only", "two", "--scale", "smoke", "--corpus", text_file, "--threads", "1")
    assert call(*command, "--precision", "fp32", "--runs", runs) == 0
    (own,) = (run.path for run in Store(runs).runs() if run.kind == "pretrain")
    saved = json.loads((own / "recipe.json").read_text())["science"]
    assert saved["recipe"]["inputs"]["format"] == {"kind": "sentences-of-tests", "most": 2}
    assert saved["code"], "the source of the file is part of the id"
    assert call("report", "--runs", runs, "--out", tmp_path / "reports") == 0


def test_its_recipe_is_read_again_and_its_fields_can_be_set(path):
    study = studies.find(str(path))
    recipes = {each.name: study.recipe(each, scales.find("smoke").recipe) for each in study.variants}
    shown = {name: to_canonical(each)["inputs"]["format"] for name, each in recipes.items()}
    own = "sentences-of-tests"
    assert shown == {"packed": "full-sentences", "one": own, "two": {"kind": own, "most": 2}}
    assert all(load(Recipe, to_canonical(each)) == each for each in recipes.values())
    assert study.varied >= {"inputs.format", "inputs.format.most"}
    fields = {"objective": "masked_lm", "inputs.format": own, "inputs.format.most": "2"}
    assert set_fields(scales.find("smoke").recipe, fields).inputs == recipes["two"].inputs
    with pytest.raises(BadInput, match=r"inputs\.format\.most is 10: give 1 to 9"):
        set_fields(recipes["two"], {"inputs.format.most": "10"})
    with pytest.raises(BadInput, match=r"inputs\.format\.most has no effect: inputs\.format is full-sentences"):
        set_fields(recipes["packed"], {"inputs.format.most": "2"})


def test_its_batches_are_of_the_tokens_of_the_other_format_and_are_audited(corpus, path):
    study = studies.find(str(path))
    recipes = [study.recipe(each, scales.find("smoke").recipe) for each in study.variants]
    lengths = [[batch.lengths for batch in map(Batches(each, corpus).batch, range(20))] for each in recipes]
    packed, one, two = (np.concatenate(each).mean() for each in lengths)
    assert one < two < packed
    assert [sum(map(sum, each)) for each in lengths] == [pytest.approx(20 * 8 * packed, rel=0.05)] * 3
    (audited,) = audit(recipes[2], corpus, most=100_000)
    assert all(check.holds is not False for check in audited.checks)
    assert {"a segment's text", "tokens of the text in an epoch"} <= {check.figure for check in audited.checks}


OWN_TOKENIZER = """
from dataclasses import dataclass
from typing import ClassVar

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

from bertlab import Measurement, Study, Tokenizer, TrainedTokenizer, Variant, WordPiece


@dataclass(frozen=True, kw_only=True)
class Characters(Tokenizer):
    kind: ClassVar[str] = "characters"

    def train(self, texts):
        backend = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
        backend.normalizer = normalizers.Lowercase()
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"\\\\s*\\\\S"), "isolated")
        trainer = trainers.WordLevelTrainer(
            vocab_size=self.vocabulary, special_tokens=list(TrainedTokenizer.specials), show_progress=False
        )
        backend.train_from_iterator(texts, trainer)
        return TrainedTokenizer.of(self, backend)

    def load(self, path):
        return TrainedTokenizer.of(self, tokenizers.Tokenizer.from_file(str(path)))


study = Study(
    name="characters", question="Do characters suffice?", source="me", baseline="wordpiece",
    variants=[Variant("wordpiece", tokenizer=WordPiece()), Variant("characters", tokenizer=Characters())],
    measurements=[Measurement(task, task=task, metric=metric) for task, metric in TASKS],
)
"""
TASKS = (("conll2003", "f1"), ("squad", "f1"))


def test_another_tokenizer_is_trained_measured_and_reported(call, tmp_path):
    path, runs = tmp_path / "characters.py", tmp_path / "runs"
    path.write_text(OWN_TOKENIZER.replace("TASKS", repr(TASKS)).replace("\\\\", "\\"))
    command = ("ablate", path, "--only", "characters", "--scale", "smoke", "--threads", "1", "--precision", "fp32")
    assert call(*command, "--runs", runs) == 0
    found = list(Store(runs).runs())
    (own,) = (run.path for run in found if run.kind == "pretrain")
    recipe = json.loads((own / "recipe.json").read_text())["science"]["recipe"]
    assert recipe["tokenizer"] == {"kind": "characters", "vocabulary": 512}, "the scale's size of the vocabulary"
    assert not (own / "vocab.txt").exists()
    entries = json.loads((own / "tokenizer.json").read_text())["model"]["vocab"]
    assert all(len(entry.strip()) == 1 for entry, number in entries.items() if number >= 5)
    assert sorted(run.result().task for run in found if run.kind == "finetune") == sorted(task for task, _ in TASKS)
    assert call("report", "--runs", runs, "--out", tmp_path / "reports") == 0
    assert "characters" in (tmp_path / "reports" / "characters.md").read_text()
