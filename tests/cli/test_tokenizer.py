"""A tokenizer of a user's own, defined in a study file: pre-trained, fine-tuned and reported at smoke scale."""

import json

from bertlab.store.runs import Store

STUDY = """
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
    path.write_text(STUDY.replace("TASKS", repr(TASKS)).replace("\\\\", "\\"))
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
