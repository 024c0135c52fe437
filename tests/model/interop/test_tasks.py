"""Models of tasks in the transformers format: each class of the reference implementation gives our logits."""

import dataclasses
import json

import pytest
import torch

from bertlab import recipe
from bertlab.adaptation import Adapters, BitFit, FineTuning, LoRA
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.tasks import kinds
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from random_weights import perturbed

TOKENS = 24
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{number}" for number in range(85))]
BERT = recipe.Model(layers=3, hidden=64, heads=4, positions="learned", max_positions=TOKENS, dropout=0.1)
PLAIN, MASKED = FineTuning(), MaskedLM()
MODELS = {
    "Bert": BERT,
    "RobertaPreLayerNorm": dataclasses.replace(BERT, norm_position="pre"),
    "RoFormer": dataclasses.replace(BERT, positions="rotary"),
    "Albert": dataclasses.replace(BERT, sharing="all", embedding_size=16),
    "ModernBert": recipe.ModernBert(layers=4, hidden=64, heads=4, max_positions=TOKENS, window=8, global_every=2),
}
LABELS = {"classification": ("no", "yes", "maybe"), "tagging": ("O", "B-X", "I-X"), "multiple-choice": ("0", "1")}
CLASSES = {
    "classification": "SequenceClassification",
    "regression": "SequenceClassification",
    "tagging": "TokenClassification",
    "span": "QuestionAnswering",
    "multiple-choice": "MultipleChoice",
}
LACKING = {
    ("RoFormer", "SequenceClassification"),
    ("ModernBert", "SequenceClassification"),
    ("ModernBert", "MultipleChoice"),
}
"""Classes that compute something else."""


def prepared(model, kind, adaptation=PLAIN, loss=MASKED):
    pretrained = perturbed(PretrainingModel(model, len(WORDS), TOKENS, 0, (loss,)))
    task = adaptation.adapt(pretrained, kinds.find(kind), LABELS.get(kind, ()), ("task", 0, 0))
    return pretrained, perturbed(task).eval()


def written(folder, model, kind, task, pretrained, tokenizer=None):
    kind = kinds.find(kind)
    fields = kind.published_fields(LABELS.get(kind.name, ()))
    tokenizer = tokenizer or TrainedWordPiece(WORDS, WordPiece(lowercase=False))
    huggingface.write_task(folder, TOKENS, task, pretrained, model, tokenizer, kind.published_head, fields)


def assert_same(folder, name, kind, task):
    import transformers

    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(5, len(WORDS), (4, TOKENS), generator=generator)
    one_segment = json.loads((folder / "config.json").read_text()).get("type_vocab_size", 1) < 2
    segments = torch.zeros_like(tokens) if one_segment else torch.randint(0, 2, tokens.shape, generator=generator)
    lengths = torch.tensor([TOKENS, 13, 17, 10])
    real = torch.arange(TOKENS) < lengths[:, None]
    theirs = getattr(transformers, f"{name}For{CLASSES[kind]}")
    model, loading = theirs.from_pretrained(folder, output_loading_info=True)
    assert not any(loading[problem] for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    given = {"input_ids": tokens, "attention_mask": real.long()}
    given |= {} if name == "ModernBert" else {"token_type_ids": segments}
    if kind == "multiple-choice":
        given = {key: value.view(2, 2, TOKENS) for key, value in given.items()}
    with torch.no_grad():
        expected = model.eval()(**given)
        ours = task(TensorBatch.of(tokens, lengths, segments=segments))
    if kind == "span":
        expected, ours = torch.stack([expected.start_logits, expected.end_logits], 1)[:, :, :10], ours[:, :, :10]
    else:
        expected = expected.logits.view(-1, 1) if kind == "multiple-choice" else expected.logits
        if kind == "tagging":
            expected, ours = expected[real], ours[real]
    assert ours.std() > 0.1
    torch.testing.assert_close(expected, ours, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_the_logits_are_ours(tmp_path, name, kind):
    pretrained, task = prepared(MODELS[name], kind)
    if (name, CLASSES[kind]) in LACKING:
        with pytest.raises(BadInput, match=r"transformers has no .* that computes what this model does"):
            written(tmp_path, MODELS[name], kind, task, pretrained)
        return
    written(tmp_path, MODELS[name], kind, task, pretrained)
    assert_same(tmp_path, name, kind, task)


@pytest.mark.parametrize("kind", CLASSES)
def test_the_logits_of_a_roberta_are_ours(tmp_path, kind):
    model = dataclasses.replace(BERT, segments=1)
    pretrained, task = prepared(model, kind)

    class Padding:
        pad = 1

        def write(self, *arguments):
            """No files."""

    written(tmp_path, model, kind, task, pretrained, Padding())
    assert_same(tmp_path, "Roberta", kind, task)


@pytest.mark.parametrize(
    "adaptation", [LoRA(rank=2, matrices=("query", "key", "fc2")), BitFit(), FineTuning(frozen=True)]
)
@pytest.mark.parametrize("name", ["Bert", "Albert"])
def test_what_can_be_merged_is_written_as_plain_weights(tmp_path, name, adaptation):
    pretrained, task = prepared(MODELS[name], "classification", adaptation)
    adaptation.merge(task)
    written(tmp_path, MODELS[name], "classification", task, pretrained)
    assert_same(tmp_path, name, "classification", task)


@pytest.mark.parametrize(
    ("adaptation", "kind"),
    [
        (Adapters(bottleneck=4), "classification"),
        (FineTuning(bilstm=True), "tagging"),
        (FineTuning(answerability=True), "span"),
    ],
)
def test_what_transformers_has_no_place_for_is_refused_in_one_sentence(tmp_path, adaptation, kind):
    pretrained, task = prepared(BERT, kind, adaptation)
    with pytest.raises(BadInput, match=r"^transformers has no place for [\w.]+, which the adaptation adds: use"):
        written(tmp_path / "out", BERT, kind, task, pretrained)
    assert not (tmp_path / "out").exists()


def test_a_model_that_reads_left_to_right_is_refused(tmp_path):
    pretrained, task = prepared(BERT, "classification", loss=CausalLM())
    with pytest.raises(BadInput, match="transformers has no class that computes"):
        written(tmp_path / "out", BERT, "classification", task, pretrained)


def test_the_config_names_the_labels(tmp_path):
    pretrained, task = prepared(BERT, "tagging")
    written(tmp_path, BERT, "tagging", task, pretrained)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == ["BertForTokenClassification"]
    assert config["id2label"] == {"0": "O", "1": "B-X", "2": "I-X"}
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["model_max_length"] == TOKENS
