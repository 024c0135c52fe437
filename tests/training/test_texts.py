"""Fine-tuning on tasks whose answers are texts, which a decoder writes."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from bertlab.adaptation import Bert2Bert, FineTuning, LoRA, NoTuning
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM
from bertlab.progress import silent
from bertlab.recipe import T5, Inputs, Model, Recipe
from bertlab.recipe.identity import to_canonical
from bertlab.tasks import kinds
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD
from bertlab.tasks.task import RawExamples, TaskData
from bertlab.tasks.text_metrics import bleu_statistics
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from bertlab.training import embedding_rows
from bertlab.training.finetuned import Description, Finetuned
from bertlab.training.finetuning import Member, finetune, open_pretrained, prepare

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", *(f"##{letter}" for letter in "abcdefgh")]
RECIPE = Recipe(
    tokenizer=WordPiece(vocabulary=64),
    inputs=Inputs(length=16),
    model=T5(layers=1, hidden=32, heads=2, max_positions=16, dropout=0.0),
)
SETTING = {"batch_size": 16, "max_steps": 100, "epochs": 20, "peak_lr": 1e-2, "length": 8, "dropout": 0.0}


BERT = dataclasses.replace(RECIPE, model=Model(layers=1, hidden=32, heads=2, max_positions=16, positions="rotary"))


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    """The directory of a pre-training of no steps."""
    return pretraining(RECIPE, tmp_path_factory.mktemp("t5"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """The same of a BERT."""
    return pretraining(BERT, tmp_path_factory.mktemp("bert"))


def pretraining(recipe, directory, pieces=PIECES):
    TrainedWordPiece(pieces).save(directory / "vocab.txt")
    PretrainingModel(recipe.model, len(PIECES), 16, 0).save(directory / "model.safetensors")
    record = {"kind": "pretrain", "id": "0" * 16, "science": {"recipe": to_canonical(recipe)}}
    (directory / "recipe.json").write_text(json.dumps(record), encoding="utf-8")
    return directory


def task(kind, answer, labels=()):
    """A letter between two that mean nothing, and what `answer` makes of it."""

    def rows(count, seed):
        letters = np.random.default_rng(seed).choice(list("abcd"), count).tolist()
        return RawExamples(text=([f"e {letter} f" for letter in letters],), labels=[*map(answer, letters)])

    return TaskData(
        name=kind, dataset="toy", kind=kind, labels=labels, train=rows(320, 0), evaluation=rows(60, 1),
        content=f"sha256:{kind}",
    )  # fmt: skip


WRITTEN = task("text-to-text", lambda letter: f"{letter} g {letter}{letter}")
NAMED = task("text-to-label", lambda letter: "abab" if letter in "ab" else "cd", ("abab", "cd"))


@pytest.mark.parametrize(("data", "metric"), [(WRITTEN, "exact"), (NAMED, "accuracy")], ids=["text", "label"])
def test_a_decoder_learns_to_write_the_answer_and_does_not_know_that_of_another_text(t5, machine, data, metric):
    outcome = finetune(t5, data, FineTuning(**SETTING), seed=0, finetune_seed=0, machine=machine, progress=silent)
    assert outcome.metrics[metric] > 95
    assert outcome.metrics["unfinished"] == 0
    assert outcome.curve[-1]["loss"] < 0.1 < outcome.curve[0]["loss"]
    assert outcome.exchanged[metric] < 80
    assert not outcome.collapsed


def test_an_ensemble_has_the_likelihood_of_the_mean_of_logits_and_is_itself_if_its_members_are_equal(t5, machine):
    setting = FineTuning(**SETTING | {"max_steps": 20})

    def tuned(first, *others):
        seeds = {"seed": 0, "finetune_seed": first, "others": [Member(t5, 0, seed) for seed in others]}
        return finetune(t5, WRITTEN, setting, machine=machine, progress=silent, **seeds)

    alone, twice, apart = tuned(0), tuned(0, 0), tuned(0, 1, 2)
    assert twice.metrics == alone.metrics
    np.testing.assert_allclose(twice.predictions[LOG_LIKELIHOOD], alone.predictions[LOG_LIKELIHOOD], rtol=1e-2)
    trained = alone.trained_parameters
    assert (twice.trained_parameters, apart.trained_parameters) == (2 * trained, 3 * trained)
    likelihoods = np.stack([one.predictions[LOG_LIKELIHOOD].astype(float) for one in (alone, tuned(1), tuned(2))])
    assert (apart.predictions[LOG_LIKELIHOOD] >= likelihoods.mean(0) - 0.05).all()  # a log of a softmax is concave
    assert (apart.predictions[LOG_LIKELIHOOD] != likelihoods).any(1).all()


@pytest.mark.parametrize("start", ["both", "shared"])
def test_a_bert_with_a_decoder_learns_to_write_the_answer(bert, machine, start):
    setting = Bert2Bert(**SETTING | {"max_steps": 200, "peak_lr": 3e-3}, start=start)
    outcome = finetune(bert, WRITTEN, setting, seed=0, finetune_seed=0, machine=machine, progress=silent)
    assert outcome.metrics["exact"] > 95
    assert outcome.exchanged["exact"] < 80
    assert "sari" in outcome.metrics.keys() - outcome.exchanged.keys(), "it reads the text that would be exchanged"


@pytest.mark.parametrize(("begin", "token"), [("[CLS]", 2), ("[PAD]", 0)])
def test_a_bert_reads_whole_sequences_and_its_decoder_begins_with_a_token(bert, begin, token):
    opened, setting = open_pretrained(bert), Bert2Bert(length=8, decoder_start=begin)
    raw = RawExamples(text=(["a b", "a b c d e f g h"],), labels=["c", "d e f g h a b c"])
    part = kinds.find("text-to-text").encode(raw, opened.tokenizer, 8)
    batch = setting.inputs(opened.model, part, Machine(), silent).build(np.arange(2))
    a, b, sep = 5, 6, 3
    assert batch["inputs"].tokens.tolist() == [[2, a, b, sep, 0, 0, 0, 0], [2, a, b, 7, 8, 9, 10, sep]]
    assert batch["inputs"].lengths["inputs"].tolist() == [4, 8]
    assert not batch["inputs"].format["segments"].any()
    assert batch["outputs"][:, 0].tolist() == [token, token]
    assert batch["outputs"][0, 1:4].tolist() == [7, sep, 0]
    assert batch["targets"][0, :3].tolist() == [7, sep, -100]


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("beams", [1, 2])
def test_a_bert_writes_as_many_tokens_as_it_has_positions(bert, tmp_path, positions, beams):
    model = dataclasses.replace(BERT.model, positions=positions)
    directory = bert if positions == "rotary" else pretraining(dataclasses.replace(BERT, model=model), tmp_path)
    _, writer = prepare(open_pretrained(directory), Bert2Bert(length=8), kinds.find("text-to-text"), (), 0, 0)
    batch, (begin, end) = TensorBatch.of(torch.tensor([[2, 5, 3]]), None), (torch.tensor([2]), torch.tensor([-1]))
    with torch.inference_mode():
        assert writer.eval().generate(batch, begin, end, 16, beams).shape == (1, 16)
        with pytest.raises(BadInput, match="the decoder has 16 positions, and 17 tokens may be written: let it be 16"):
            writer.generate(batch, begin, end, 17, beams)


def test_a_task_without_texts_and_a_model_that_is_no_bert_are_refused_before_anything_runs(t5):
    reason = Bert2Bert().unsupported_reason(kinds.find("classification"))
    assert reason == "bert2bert writes texts, and its task is of kind classification: use FineTuning"
    with pytest.raises(BadInput, match=r"makes a decoder of a BERT, and the model is of the kind t5: use FineTuning"):
        Bert2Bert().check(RECIPE)
    with pytest.raises(BadInput, match=r"the model reads from the left"):
        Bert2Bert().check(dataclasses.replace(BERT, objective=(CausalLM(),)))
    Bert2Bert().check(BERT)


@pytest.mark.parametrize(
    ("form", "setting"),
    [
        ("t5", FineTuning(**SETTING | {"max_steps": 20})),
        ("t5", FineTuning(**SETTING | {"max_steps": 20}, beam_search=True)),
        ("bert", Bert2Bert(**SETTING | {"max_steps": 120, "peak_lr": 3e-3}, start="shared", beam_search=True)),
        ("bert", Bert2Bert(**SETTING | {"max_steps": 40, "peak_lr": 3e-3}, start="encoder")),
    ],
    ids=["greedy", "beams", "bert, beams", "bert"],
)
def test_answers_to_rows_are_the_texts_that_were_measured(request, machine, form, setting):
    pretrained = request.getfixturevalue(form)
    outcome = finetune(
        pretrained, WRITTEN, setting, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True
    )
    opened, model = prepare(open_pretrained(pretrained), setting, kinds.find("text-to-text"), (), 0, 0)
    model.load_state_dict(outcome.changes, strict=False)
    described = Description(
        pretrained="a" * 16, weights="c" * 64, tokenizer="b" * 64, task="t", kind="text-to-text", text=("{one}",),
        label="two", settings={},
    )  # fmt: skip
    finetuned = Finetuned(
        description=described, pretrained=opened, model=model.eval(), adaptation=setting,
        kind=kinds.find("text-to-text"), machine=Machine(),
    )  # fmt: skip
    answers = finetuned([{"one": text} for text in WRITTEN.evaluation.text[0]])
    texts = [one["text"] for one in answers]
    statistics = bleu_statistics(texts, WRITTEN.evaluation.labels)
    assert statistics.tolist() == outcome.predictions["bleu"].tolist()
    assert len({*texts}) > 1


@pytest.mark.filterwarnings("ignore:.*max_new_tokens")
def test_the_class_of_transformers_writes_the_same_texts(t5, tmp_path, machine):
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    setting = FineTuning(**SETTING | {"max_steps": 20})
    outcome = finetune(t5, WRITTEN, setting, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True)
    opened, model = prepare(open_pretrained(t5), setting, kinds.find("text-to-text"), (), 0, 0)
    model.load_state_dict(outcome.changes, strict=False)
    head = kinds.find("text-to-text").published_head
    written = huggingface.write_task(tmp_path, 8, model, opened.model, RECIPE.model, opened.tokenizer, head, {})
    assert written == "T5ForConditionalGeneration"
    theirs, tokenizer = T5ForConditionalGeneration.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    inputs = [[*ids, opened.tokenizer.sep] for ids in opened.tokenizer.encode(WRITTEN.evaluation.text[0][:20])]
    texts = theirs.generate(torch.tensor(inputs), max_new_tokens=8, do_sample=False)
    answers = tokenizer.batch_decode(texts, skip_special_tokens=True)
    statistics = bleu_statistics(answers, WRITTEN.evaluation.labels[:20])
    assert statistics.tolist() == outcome.predictions["bleu"][:20].tolist()
    assert len({*answers}) > 1


@pytest.mark.filterwarnings("ignore:.*max_new_tokens")
@pytest.mark.parametrize(("pad", "segments", "start"), [(0, 2, "shared"), (1, 1, "encoder")])
def test_an_encoder_decoder_model_of_transformers_writes_the_same_texts(tmp_path, machine, pad, segments, start):
    """BERT; and RoBERTa, which has one segment and the id 1 for padding."""
    from transformers import AutoTokenizer, EncoderDecoderModel

    learned = Model(layers=2, hidden=32, heads=2, max_positions=16, positions="learned", segments=segments)
    directory = tmp_path / "run"
    directory.mkdir()
    pieces = [PIECES[pad], PIECES[1 - pad], *PIECES[2:]]
    pretraining(dataclasses.replace(BERT, model=learned), directory, pieces)
    setting = Bert2Bert(**SETTING, start=start)
    outcome = finetune(
        directory, WRITTEN, setting, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True
    )
    opened, model = prepare(open_pretrained(directory), setting, kinds.find("text-to-text"), (), 0, 0)
    model.load_state_dict(outcome.changes, strict=False)
    written = setting.write(tmp_path / "out", model, opened.model, learned, opened.tokenizer, "", {})
    assert written == "EncoderDecoderModel"
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert config["encoder"]["model_type"] == ("bert", "roberta")[pad]
    theirs, loading = EncoderDecoderModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not any(loading[problem] for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    tokenizer, texts = AutoTokenizer.from_pretrained(tmp_path / "out"), WRITTEN.evaluation.text[0][:20]
    answers = []
    for text in texts:
        inputs = tokenizer([text], return_tensors="pt", return_token_type_ids=False)
        (ids,) = theirs.generate(**inputs, max_new_tokens=8, do_sample=False)
        answers.append(tokenizer.decode(ids, skip_special_tokens=True))
    statistics = bleu_statistics(answers, WRITTEN.evaluation.labels[:20])
    assert statistics.tolist() == outcome.predictions["bleu"][:20].tolist()
    assert len({*answers}) > 1


def test_a_decoder_with_rotary_positions_is_not_exported(bert, tmp_path):
    setting = Bert2Bert(**SETTING)
    opened, model = prepare(open_pretrained(bert), setting, kinds.find("text-to-text"), (), 0, 0)
    with pytest.raises(BadInput, match=r"no decoder like that of this RoFormer: .* model\.positions=learned"):
        setting.write(tmp_path / "out", model, opened.model, BERT.model, opened.tokenizer, "", {})


def test_all_rows_of_embeddings_that_are_the_output_matrix_too_are_trained(t5, machine, monkeypatch):
    """As they are where only rows that a task reads are trained, as of large vocabularies."""
    setting = FineTuning(**SETTING | {"max_steps": 10})

    def metrics():
        return finetune(t5, WRITTEN, setting, seed=0, finetune_seed=0, machine=machine, progress=silent).metrics

    whole = metrics()
    monkeypatch.setattr(embedding_rows, "MANY", 1)
    assert metrics() == whole


def test_low_rank_changes_are_trained_in_both_stacks(t5, machine):
    setting = LoRA(**SETTING | {"max_steps": 5}, rank=2, matrices=("query", "key", "value", "output"))
    outcome = finetune(
        t5, WRITTEN, setting, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True,
    )  # fmt: skip
    changed = {name.removeprefix("encoder.").split(".parametrizations")[0] for name in outcome.changes}
    assert changed == {
        f"{attention}.{linear}"
        for attention in ("layers.0.attention", "decoder_layers.0.attention", "decoder_layers.0.cross_attention")
        for linear in ("qkv_proj", "out_proj")
    }


def test_a_model_without_a_decoder_is_refused(pretrained, machine):
    with pytest.raises(BadInput, match="BertEncoder has no decoder"):
        finetune(pretrained, NAMED, FineTuning(**SETTING), seed=0, finetune_seed=0, machine=machine, progress=silent)


def test_without_tuning_the_answers_are_those_of_the_pre_trained_model(t5, machine):
    setting = NoTuning(length=8)
    outcome = finetune(t5, WRITTEN, setting, seed=0, finetune_seed=0, machine=machine, progress=silent)
    opened, model = prepare(open_pretrained(t5), setting, kinds.find("text-to-text"), (), 0, 0)
    inputs = torch.tensor([[*ids, opened.tokenizer.sep] for ids in opened.tokenizer.encode(WRITTEN.evaluation.text[0])])
    begin, end = (torch.full((len(inputs),), getattr(opened.tokenizer, name)) for name in ("pad", "sep"))
    written = model.eval().generate(TensorBatch.of(inputs, None), begin, end, 8)
    ended = [row[: row.index(opened.tokenizer.sep)] if opened.tokenizer.sep in row else row for row in written.tolist()]
    statistics = bleu_statistics(opened.tokenizer.decode(ended), WRITTEN.evaluation.labels)
    assert statistics.tolist() == outcome.predictions["bleu"].tolist()
    assert (outcome.steps, outcome.trained_parameters) == (0, 0)
    assert "no-tuning writes answers" in setting.unsupported_reason(kinds.find("classification"))
    with pytest.raises(BadInput, match=r"epochs has no effect, as no-tuning trains nothing"):
        NoTuning(epochs=2.0)
