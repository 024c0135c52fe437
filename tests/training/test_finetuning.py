"""Fine-tuning: it learns, repeats itself to the bit, and says what it did."""

import dataclasses
import itertools
import json
import shutil
import signal
from typing import ClassVar

import numpy as np
import pytest
import torch
from lightning import Trainer
from torch.nn import functional

from bertlab.adaptation import FineTuning, base
from bertlab.errors import BadInput, RunFailed
from bertlab.model.recurrent import RecurrentEncoder
from bertlab.objectives import MaskedLM
from bertlab.optimizers import LAMB, Adafactor, AdamW
from bertlab.progress import Interrupted, signals_as_flags, silent
from bertlab.recipe.identity import load, to_canonical
from bertlab.recipe.schedules import Cosine, LinearDecay, WarmupStableDecay
from bertlab.tasks.data import sampled
from bertlab.tasks.examples import by_length
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.task import RawExamples
from bertlab.training import finetuning
from bertlab.training.data import TaskDataModule
from bertlab.training.finetuning import FinetuningModule, encode_training, exchanged, finetune, open_pretrained
from bertlab.training.trainer import quiet

SETTINGS = FineTuning(batch_size=16, epochs=4, peak_lr=3e-3, length=32, dropout=0.1)
SHORT = dataclasses.replace(SETTINGS, max_steps=4)


@pytest.fixture
def run(pretrained, machine):
    def ran(
        data, settings=SETTINGS, *, finetune_seed=0, progress=silent, directory=pretrained, machine=machine, **others
    ):
        return finetune(
            directory, data, settings, seed=0, finetune_seed=finetune_seed, machine=machine, progress=progress, **others
        )

    return ran


def same(one, two):
    return one.curve == two.curve and all(
        (one.predictions[name] == two.predictions[name]).all() for name in one.predictions
    )


def test_classification_is_learnt(run, pairs):
    found = run(pairs, finetune_seed=2)
    assert found.metrics["accuracy"] > 90
    assert found.majority["accuracy"] < 65
    assert not found.collapsed
    assert (found.train_examples, found.examples, found.steps) == (320, 120, 80)
    assert found.curve[-1]["step"] == 80
    assert found.curve[-1]["loss"] < found.curve[0]["loss"] / 2


def test_adams_bias_is_corrected_unless_the_setting_has_googles_optimiser(run, pairs):
    plain, first = (dataclasses.replace(SHORT, max_steps=1, warmup=0.0, bias_correction=each) for each in (False, True))
    assert not same(run(pairs, plain), run(pairs, first))
    assert same(run(pairs, first), run(pairs, dataclasses.replace(SHORT, max_steps=1, warmup=0.0)))


def test_gradients_are_clipped_and_their_squares_averaged_as_the_setting_has_it(pretrained):
    setting = FineTuning(beta2=0.98, max_grad_norm=0.5)
    model = setting.adapt(open_pretrained(pretrained).model, KINDS["classification"], ("a", "b"), ("head",))
    module = FinetuningModule(model, KINDS["classification"], setting, steps=8, key=("head",))
    optimizer = module.configure_optimizers()["optimizer"]
    assert {each["betas"] for each in optimizer.param_groups} == {(0.9, 0.98)}
    weights = [value for group in optimizer.param_groups for value in group["params"]]
    for value in weights:
        value.grad = torch.ones_like(value)
    module.running_norms, module.step_losses = [], torch.ones(1)
    module.configure_gradient_clipping(optimizer)
    squares = sum(float((value.grad**2).sum()) for value in weights)
    assert squares == pytest.approx(0.25, rel=1e-4)


def test_the_rate_its_warm_up_and_the_decay_are_those_of_the_setting(pretrained):
    setting = FineTuning(peak_lr=0.5, warmup=0.25, weight_decay=0.3)
    kind = KINDS["classification"]
    model = setting.adapt(open_pretrained(pretrained).model, kind, ("a", "b"), ("head",))
    module = FinetuningModule(model, kind, setting, steps=8, key=("head",))
    assert [module.schedule.learning_rate(step) for step in (0, 1, 5)] == pytest.approx([0.25, 0.5, 0.25])
    groups = module.configure_optimizers()["optimizer"].param_groups
    assert {each["weight_decay"] for each in groups if each["params"][0].dim() > 1} == {0.3}


def module_of(setting, pretrained, steps=8):
    kind = KINDS["classification"]
    model = setting.adapt(open_pretrained(pretrained).model, kind, ("a", "b"), ("head",))
    return FinetuningModule(model, kind, setting, steps=steps, key=("head",))


def test_optimiser_and_curve_are_those_of_the_setting(pretrained):
    setting = FineTuning(
        peak_lr=0.5, warmup=0.0, curve=Cosine(), optimizer=LAMB(beta1=0.8), weight_decay=0.3, beta2=0.9
    )
    module = module_of(setting, pretrained)
    assert [module.schedule.learning_rate(step) for step in (0, 4, 8)] == pytest.approx([0.5, 0.25, 0.0])
    assert module.optimizer_settings == LAMB(beta1=0.8, weight_decay=0.3, beta2=0.9)
    optimizer = module.configure_optimizers()["optimizer"]
    assert type(optimizer).__name__ == "LAMB"
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.3, 0.0}
    others = FineTuning(optimizer=Adafactor(), beta2=0.98, max_grad_norm=2.0)
    assert others.optimizer_settings == Adafactor(max_grad_norm=2.0), "Adafactor has no beta2"
    with pytest.raises(BadInput, match=r"optimizer sets weight_decay: set that field of the adaptation itself"):
        FineTuning(optimizer=LAMB(weight_decay=0.2))


def test_an_optimiser_is_part_of_the_id_and_the_default_is_not():
    assert to_canonical(FineTuning(optimizer=AdamW(), curve=LinearDecay()), FineTuning()) == {}
    setting = FineTuning(optimizer=LAMB(beta1=0.8), curve=Cosine(), weight_decay=0.3)
    written = {"optimizer": {"kind": "lamb", "beta1": 0.8}, "curve": "cosine", "weight_decay": 0.3}
    assert to_canonical(setting, FineTuning()) == written
    assert load(FineTuning, written) == setting


def test_another_optimiser_learns_as_well(run, pairs):
    setting = dataclasses.replace(SETTINGS, optimizer=LAMB(), curve=WarmupStableDecay(cooldown=0.3), peak_lr=1e-2)
    assert run(pairs, setting).metrics["accuracy"] > 90


PARTS = []
"""The two losses of each step of a `WithLanguageModel`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithLanguageModel(FineTuning):
    """Radford et al. 2018, equation 5: adds 0.5 times the mean loss of a left-to-right language model."""

    kind: ClassVar[str] = "with-language-model"

    def adapt(self, model, kind, labels, key):
        adapted = super().adapt(model, kind, labels, key)
        adapted.lm_head = model.lm_head
        return adapted

    def loss(self, model, kind, batch):
        parts = super().loss(model, kind, batch), self.language_model(model, batch)
        PARTS.append([part.item() for part in parts])
        return parts[0] + 0.5 * parts[1]

    def language_model(self, model, batch):
        states, (tokens, lengths) = model.encoder(batch["inputs"]), batch["inputs"].streams["inputs"]
        real = torch.full((len(states),), states.shape[1]) if lengths is None else lengths
        weights = (torch.arange(1, states.shape[1]) < real[:, None]).float()
        embeddings = model.encoder.embeddings.tokens.weight
        total = model.lm_head.loss(states[:, :-1], embeddings, tokens[:, 1:], weights, sparse=False)
        return total / weights.sum()


def test_an_adaptation_may_add_a_loss(run, pairs):
    PARTS.clear()
    setting = WithLanguageModel(**{field.name: getattr(SETTINGS, field.name) for field in dataclasses.fields(SETTINGS)})
    outcome = run(pairs, setting)
    losses = [task + 0.5 * language_model for task, language_model in PARTS]
    assert [point["loss"] for point in outcome.curve] == pytest.approx(losses, rel=1e-6)
    assert PARTS[-1][1] < 0.8 * PARTS[0][1], "both losses fall"
    assert outcome.metrics["accuracy"] > 90
    assert outcome.trained_parameters > run(pairs, SHORT).trained_parameters, "the language model's head is trained"


def test_a_dropout_of_the_head_leaves_that_of_the_encoder(pretrained):
    def prepared(**fields):
        setting = FineTuning(dropout=0.2, **fields)
        return setting.adapt(open_pretrained(pretrained).model, KINDS["classification"], ("a", "b"), ("head",))

    for model, head in (
        (prepared(), 0.2),
        (prepared(head_dropout=0.3), 0.3),
        (prepared(head_dropout=0.3, bilstm=True), 0.3),
    ):
        encoder = model.encoder.encoder if isinstance(model.encoder, RecurrentEncoder) else model.encoder
        below = {each.p for each in encoder.modules() if isinstance(each, torch.nn.Dropout)}
        inside = set(encoder.modules())
        above = {each.p for each in model.modules() if isinstance(each, torch.nn.Dropout) and each not in inside}
        assert (below, above) == ({0.2}, {head})


def test_sequences_longer_than_the_positions_of_a_model_are_refused(run, entities):
    """Of a checkpoint, whose positions are known when it is read."""
    with pytest.raises(BadInput, match="read in sequences of 33 tokens and the model has 32 positions"):
        run(entities, dataclasses.replace(SHORT, length=33))


def test_a_floor_where_the_second_text_is_anothers(run, pairs, entities):
    """The task is read off the second text, so with another's no more than guessing is left."""
    found = run(pairs)
    assert set(found.exchanged) == set(found.metrics)
    assert found.exchanged["accuracy"] < 70 < found.metrics["accuracy"]
    mixed = exchanged(pairs, pairs.evaluation)
    assert mixed.text[0] == pairs.evaluation.text[0]
    assert mixed.labels == pairs.evaluation.labels
    assert sorted(mixed.text[1]) == sorted(pairs.evaluation.text[1])
    numbered = dataclasses.replace(pairs.evaluation, text=(pairs.evaluation.text[0], [*map(str, range(120))]))
    assert not any(each == str(row) for row, each in enumerate(exchanged(pairs, numbered).text[1])), "its own"
    assert exchanged(entities, entities.evaluation) is None
    rows = RawExamples(text=([*"abcdefg"],), labels=[*"abcdefg"], parts=np.array([0, 1, 0, 1, 2, 1, 0]))
    (others,) = exchanged(dataclasses.replace(pairs, kind="mixture"), rows).text
    assert sorted(others[row] for row in (0, 2, 6)) == [*"acg"], "each reads another text of its task"
    assert sorted(others[row] for row in (1, 3, 5)) == [*"bdf"]
    assert not any(map(str.__eq__, others, rows.text[0])), "not its own, also where it is alone"


def test_tagging_is_learnt_on_every_word(run, entities):
    found = run(entities)
    assert found.metrics["f1"] > 90
    assert found.majority["f1"] == 0
    words = [word for sentence in entities.evaluation.text[0] for word in sentence]
    assert len(found.predictions["prediction"]) == len(words)
    assert found.predictions["label"].tolist() == np.concatenate(entities.evaluation.labels).tolist()
    sizes = np.bincount(found.predictions["sentence"]).tolist()
    assert sizes == [len(sentence) for sentence in entities.evaluation.text[0]]
    assert max(sizes) > SETTINGS.length // 2, "no sentence takes several rows"


def test_spans_are_found_and_questions_without_answer_left_alone(run, questions):
    found = run(questions)
    assert found.metrics["exact"] > 80
    assert found.exchanged == found.metrics, "all ask the same"
    assert found.majority == {"exact": pytest.approx(66), "f1": pytest.approx(66)}, "`ab` is the most frequent answer"
    assert found.examples == 100
    kept = found.predictions
    assert {name: len(values) for name, values in kept.items()} == dict.fromkeys(
        ("prediction", "exact", "f1", "log_likelihood"), 100
    )
    assert found.metrics == {name: pytest.approx(100 * kept[name].mean()) for name in ("exact", "f1")}
    assert found.threshold is not None
    said = [
        context[begin:end]
        for context, (begin, end) in zip(questions.evaluation.text[1], kept["prediction"], strict=True)
    ]
    right = [each.texts for each in questions.evaluation.labels]
    assert kept["exact"].tolist() == [float(text in (texts or [""])) for text, texts in zip(said, right, strict=True)]
    assert (kept["log_likelihood"] <= 0).all()
    assert max(map(len, questions.evaluation.text[1])) > SETTINGS.length, "no context takes several windows"


def test_the_test_split_and_the_floors_have_the_threshold_of_the_evaluation(run, questions, monkeypatch):
    plain, thresholds = finetuning.evaluate, []

    def evaluate(*given):
        found = plain(*given)
        thresholds.append((given[-1], found.threshold))
        return found

    monkeypatch.setattr(finetuning, "evaluate", evaluate)
    found = run(dataclasses.replace(questions, test=questions.evaluation), SHORT)
    assert thresholds[0] == (None, found.threshold)
    assert thresholds[1:] == [(found.threshold, found.threshold)] * 3


def test_a_classifier_trained_beside_the_span_tells_which_questions_have_an_answer(run, questions):
    found = run(questions, dataclasses.replace(SETTINGS, answerability=True))
    assert found.metrics["exact"] > 80
    assert found.threshold == 0, "a probability of one half, whatever the evaluation rows are"
    said = found.predictions["prediction"][:, 1] > 0
    assert 0.5 < said.mean() < 0.8
    assert (found.predictions["log_likelihood"] <= 0).all()


def test_what_is_trained_is_counted(run, pairs, pretrained):
    def trained(**changes):
        return run(pairs, dataclasses.replace(SHORT, max_steps=1, **changes)).trained_parameters

    model = open_pretrained(pretrained).model
    head = 2 * (32 + 1) + 32 * (32 + 1)  # two labels; the pooler
    assert trained() == sum(value.numel() for value in model.encoder.parameters()) + head
    assert trained(frozen=True) == head


def test_the_joint_loss_is_that_of_the_span_plus_that_of_the_class():
    logits = torch.randn(3, 3, 5)
    logits[:, 2, 2:] = -torch.inf
    targets = torch.tensor([[0, 0, 0], [2, 3, 1], [1, 4, 1]])
    start, end, held = (functional.cross_entropy(logits[:, turn], targets[:, turn]) for turn in range(3))
    torch.testing.assert_close(KINDS["span"].loss(logits, targets), (start + end) / 2 + held)


def test_the_context_of_a_sentence_is_its_split(run, entities):
    """Subsets of rows read the neighbours that their rows have in the whole, as tags are of their own words alone."""
    settings = dataclasses.replace(SHORT, context=True)
    alone, found = run(entities, SHORT), run(entities, settings)
    for name in ("label", "sentence"):
        assert found.predictions[name].tolist() == alone.predictions[name].tolist()
    assert not same(alone, found)
    some = run(sampled(entities, 20), settings)
    kept_indices = sampled(entities, 20).evaluation.indices
    expected = found.predictions["log_likelihood"][kept_indices]
    assert some.predictions["log_likelihood"] == pytest.approx(expected, rel=2e-3)


def test_where_every_question_has_an_answer_one_is_given(run, questions):
    def answered(rows):
        kept = [number for number, each in enumerate(rows.labels) if each.texts]
        text = tuple([column[number] for number in kept] for column in rows.text)
        return RawExamples(text=text, labels=[rows.labels[number] for number in kept])

    halves = {"train": answered(questions.train), "evaluation": answered(questions.evaluation)}
    found = run(dataclasses.replace(questions, **halves), SHORT)
    assert found.threshold is None
    assert (found.predictions["prediction"][:, 1] > found.predictions["prediction"][:, 0]).all()


def test_the_right_ending_is_learnt(run, choices):
    found = run(choices)
    assert found.metrics["accuracy"] > 90
    assert set(found.metrics) == set(found.majority) == {"accuracy"}
    assert found.majority["accuracy"] < 45
    assert found.predictions["label"].tolist() == choices.evaluation.labels
    assert found.steps == 4 * 320 / 16


def test_numbers_are_learnt(run, scores):
    found = run(scores)
    assert found.metrics["pearson"] > 80
    assert found.majority == {"pearson": 0, "spearman": 0}
    assert found.predictions["label"] == pytest.approx(scores.evaluation.labels)
    assert np.abs(found.predictions["prediction"] - scores.evaluation.labels).mean() < 0.5
    assert not found.collapsed


def test_predictions_are_kept_for_each_row(run, pairs):
    found = run(pairs, SHORT)
    kept = found.predictions
    assert kept["label"].tolist() == pairs.evaluation.labels
    assert found.metrics["accuracy"] == pytest.approx(100 * (kept["prediction"] == kept["label"]).mean())
    right = kept["prediction"] == kept["label"]
    assert (kept["log_likelihood"][right] >= np.log(0.5) - 1e-6).all()
    assert (kept["log_likelihood"][~right] <= np.log(0.5) + 1e-6).all()


def test_the_log_likelihood_of_a_long_sentence_stays_finite(entities, pretrained):
    words = np.concatenate(entities.evaluation.labels)
    scores = np.zeros((len(words), len(entities.labels)), np.float32)
    scores[np.arange(len(words)), words] = -1e6
    kind = finetuning.kinds.find(entities.kind)
    encoded = kind.encode(entities.evaluation, open_pretrained(pretrained).tokenizer, 64)
    found = finetuning.evaluate(entities, entities.evaluation, encoded, encoded, scores, None)
    assert np.isfinite(found.predictions["log_likelihood"]).all()


@pytest.mark.parametrize("kind", ["entities", "questions"])
def test_groups_are_kept_beside_the_predictions(run, kind, request):
    data = request.getfixturevalue(kind)
    count = len(data.evaluation)
    alone = dataclasses.replace(data.evaluation, groups=np.arange(count, dtype=np.int32))
    assert "group" not in run(dataclasses.replace(data, evaluation=alone), SHORT).predictions
    shared = dataclasses.replace(data.evaluation, groups=np.arange(count, dtype=np.int32) // 3)
    found = run(dataclasses.replace(data, evaluation=shared, test=shared), SHORT)
    for each in (found, found.test):
        assert each.predictions["group"].tolist() == shared.groups.tolist()
    few = run(dataclasses.replace(data, evaluation=shared), dataclasses.replace(SHORT, max_eval_examples=20))
    assert few.examples == len(few.predictions["group"]) == 20


def test_questions_are_kept_beside_the_predictions_and_judged(run, pairs):
    assert "exact" not in run(pairs, SHORT).metrics
    shared = dataclasses.replace(pairs.evaluation, questions=np.arange(len(pairs.evaluation), dtype=np.int32) // 3)
    found = run(dataclasses.replace(pairs, evaluation=shared, test=shared), SHORT)
    for each in (found, found.test):
        kept = each.predictions
        assert kept["question"].tolist() == shared.questions.tolist()
        right = (kept["prediction"] == kept["label"]).reshape(-1, 3).all(1)
        assert each.metrics["exact"] == pytest.approx(100 * right.mean())
        assert {*each.majority} == {*each.exchanged} == {*each.metrics}


@pytest.mark.parametrize("kind", ["pairs", "entities", "questions", "choices", "scores"])
def test_test_rows_are_judged_by_the_same_training(run, kind, request):
    data = request.getfixturevalue(kind)
    half = len(data.evaluation) // 2
    rest = RawExamples(
        text=tuple(column[half:] for column in data.evaluation.text), labels=data.evaluation.labels[half:]
    )
    alone, tested = run(data, SHORT), run(dataclasses.replace(data, test=rest), SHORT)
    assert alone.test is None
    assert same(alone, tested), "test rows change what is trained, or how the others are evaluated"
    assert tested.test.examples == len(rest)
    # The same rows of the same model; a threshold is that of the evaluation rows.
    assert tested.test.threshold == alone.threshold
    for name, values in tested.test.predictions.items():
        if name == "sentence":
            assert values.max() == len(rest) - 1
        else:
            assert np.allclose(values, alone.predictions[name][-len(values) :], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["pairs", "entities", "questions", "choices", "scores"])
def test_the_same_bits_each_time(run, kind, request):
    data = request.getfixturevalue(kind)
    assert same(run(data, SHORT), run(data, SHORT))


def test_each_step_of_each_seed_has_dropout_of_its_own(run, pairs, monkeypatch):
    kind, drawn = type(KINDS["classification"]), []
    plain = kind.loss

    def loss(self, logits, targets):
        drawn.append(torch.initial_seed())  # of the generator from which this step's dropout was drawn
        return plain(self, logits, targets)

    monkeypatch.setattr(kind, "loss", loss)
    for finetune_seed in (0, 1):
        run(pairs, SHORT, finetune_seed=finetune_seed)
    assert len(drawn) == len(set(drawn)) == 2 * 4


def test_a_finetune_seed_has_another_head_and_order(run, pairs):
    assert not same(run(pairs, SHORT), run(pairs, SHORT, finetune_seed=1))


def test_a_finetune_seed_has_another_pooler_where_no_head_has_one(run, pairs, pretrained, monkeypatch):
    """As in a checkpoint of RoBERTa: else the seeds of a published checkpoint would all share one draw."""
    kept = []

    def opened(*arguments):
        found = open_pretrained(*arguments)
        found.model.objective = (MaskedLM(),)
        kept.append(found.model)
        return found

    before = opened(pretrained).model.pooler.dense.weight
    monkeypatch.setattr(finetuning, "open_pretrained", opened)
    for seed in range(3):
        run(pairs, SHORT, finetune_seed=seed)
    first, *others = (model.pooler.dense.weight for model in kept[1:])
    assert torch.equal(first, before)
    assert not any(torch.equal(one, other) for one, other in itertools.combinations([first, *others], 2))


@pytest.mark.parametrize("kind", ["entities", "questions", "choices"])
def test_evaluation_does_not_depend_on_its_batches(run, kind, request, monkeypatch):
    data = request.getfixturevalue(kind)
    whole = run(data, SHORT)
    monkeypatch.setattr(base, "EVALUATION_TOKENS", 40)
    parts = run(data, SHORT)
    assert np.allclose(whole.predictions["log_likelihood"], parts.predictions["log_likelihood"], atol=1e-4)


def test_bounds_on_rows_and_steps(run, pairs):
    settings = dataclasses.replace(SETTINGS, max_train_examples=48, max_eval_examples=10, epochs=1.5)
    found = run(pairs, settings)
    assert (found.train_examples, found.examples, found.steps) == (48, 10, 5)
    assert found.predictions["label"].tolist() == sampled(pairs, 10).evaluation.labels
    assert run(pairs, dataclasses.replace(settings, max_steps=2)).steps == 2


def test_each_epoch_has_every_example_once_and_an_order_of_its_own():
    rows = base.Inputs(np.full(32, 5), lambda numbers: {"rows": torch.from_numpy(numbers)}, 4096)
    settings = dataclasses.replace(SETTINGS, epochs=3)

    def epochs(*key):
        batches = [batch["rows"].numpy() for batch in TaskDataModule(rows, settings, key).train_dataloader()]
        assert [len(batch) for batch in batches] == [16] * 6
        return np.concatenate(batches).reshape(3, 32).tolist()

    found = epochs("finetune", 0, 0)
    assert all(sorted(each) == [*range(32)] for each in found)
    assert len({tuple(each) for each in (*found, *epochs("finetune", 0, 1))}) == 6
    assert found == epochs("finetune", 0, 0)


def test_fewer_training_examples_are_a_sample_and_the_same_one_for_every_seed(pretrained, pairs):
    opened = open_pretrained(pretrained)
    numbered = dataclasses.replace(pairs, train=dataclasses.replace(pairs.train, labels=[*range(320)]))

    def sample(most):
        return encode_training(numbered, opened, dataclasses.replace(SHORT, max_train_examples=most)).targets.tolist()

    few, many = sample(40), sample(80)
    assert (len(few), len(many), sample(320)) == (40, 80, [*range(320)])
    assert few == sorted(set(few) & set(many)), "in their order, and part of a larger sample"
    assert np.mean(few) == pytest.approx(160, abs=60), "four standard errors"


def test_progress_is_reported_at_each_step(run, pairs):
    steps = []
    run(pairs, SHORT, progress=lambda done, total, stage="", /, **figures: steps.append((done, total, stage, figures)))
    assert [(done, total) for done, total, *_ in steps] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert steps[-1][2] == "fine-tuning pairs"
    assert steps[-1][3]["loss"] > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_after_the_step(run, pairs, number):
    reported = []

    def stop(done, total, stage="", /, **figures):
        reported.append(done)
        if done == 2:
            signal.raise_signal(number)

    with pytest.raises(Interrupted), signals_as_flags():
        run(pairs, SETTINGS, progress=stop)
    assert reported == [1, 2]


def test_a_loss_that_is_not_finite_ends_it(run, pairs, pretrained, tmp_path):
    from safetensors.numpy import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(pretrained, broken)
    weights = load_file(broken / "model.safetensors")
    name = next(iter(weights))
    save_file({**weights, name: np.full_like(weights[name], np.nan)}, broken / "model.safetensors")
    with pytest.raises(RunFailed, match="diverged at step 0: the loss is not finite") as caught:
        run(pairs, SHORT, directory=broken)
    assert caught.value.status == "diverged"


def test_a_directory_that_is_no_pretraining(run, pairs, tmp_path):
    with pytest.raises(BadInput, match="no pre-training that can be read"):
        run(pairs, SHORT, directory=tmp_path)


def test_bf16_learns_too(run, pairs, machine):
    found = run(pairs, machine=dataclasses.replace(machine, precision="bf16"))
    assert found.metrics["accuracy"] > 90


def test_a_milestone_is_measured_with_its_own_weights(run, pretrained, pairs, tmp_path):
    directory = tmp_path / "run"
    shutil.copytree(pretrained, directory)
    record = json.loads((directory / "recipe.json").read_text())
    record["science"]["recipe"]["schedule"] = {"steps": 30}
    (directory / "recipe.json").write_text(json.dumps(record))
    with pytest.raises(BadInput, match="step-00000015"):
        run(pairs, SHORT, directory=directory, milestone=50)
    (directory / "milestones").mkdir()
    (directory / "model.safetensors").rename(directory / "milestones" / "step-00000015.safetensors")
    assert same(run(pairs, SHORT, directory=directory, milestone=50), run(pairs, SHORT))


def test_a_bilstm_between_encoder_and_head_is_learnt_and_repeats_itself(run, pairs, entities):
    recurrent = dataclasses.replace(SETTINGS, bilstm=True)
    assert run(pairs, recurrent).metrics["accuracy"] > 90
    assert run(entities, recurrent).metrics["f1"] > 75
    short = dataclasses.replace(SHORT, bilstm=True)
    assert same(run(pairs, short), run(pairs, short))
    assert not same(run(pairs, short), run(pairs, SHORT))


@pytest.fixture
def encoders(monkeypatch):
    """The encoders of the models that are made, as they are at the end, and whether any had noise in its graph."""
    kept = []
    made = finetuning.open_pretrained

    def opened(*arguments):
        found = made(*arguments)
        kept.append(found.model.encoder)
        return found

    monkeypatch.setattr(finetuning, "open_pretrained", opened)
    return kept


@pytest.mark.parametrize("recurrent", [False, True])
def test_a_frozen_encoder_stays_as_it_is_and_the_rest_learns(run, pairs, encoders, pretrained, recurrent):
    settings = dataclasses.replace(SHORT, frozen=True, bilstm=recurrent, dropout=0.5)
    before = finetuning.open_pretrained(pretrained).model.encoder.state_dict()
    found = run(pairs, settings)
    after = encoders[-1]
    assert all((value == before[name]).all() for name, value in after.state_dict().items())
    assert all(value.grad is None and not value.requires_grad for value in after.parameters())
    assert not after.train().training, "a frozen encoder has no dropout"
    assert found.curve[-1]["loss"] != found.curve[0]["loss"]


def test_what_comes_first_is_what_the_second_starts_from(run, pairs):
    turned = dataclasses.replace(
        pairs, name="turned", train=dataclasses.replace(pairs.train, labels=[1 - label for label in pairs.train.labels])
    )
    barely = dataclasses.replace(SETTINGS, peak_lr=1e-6)
    assert run(pairs, intermediate_task=pairs).metrics["accuracy"] > 90
    stages = []
    after = run(pairs, intermediate_task=turned, progress=lambda done, total, stage, **_: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["fine-tuning turned", "fine-tuning pairs"]
    assert not same(after, run(pairs))
    assert run(pairs, barely, intermediate_task=turned).curve != run(pairs, barely).curve


def test_a_plain_trainer_trains_validates_and_predicts_as_the_command_does(run, pretrained, pairs, machine, tmp_path):
    opened, kind, key = open_pretrained(pretrained), KINDS[pairs.kind], (SHORT.kind, 0, 0)
    part = finetuning.encode(pairs, pairs.evaluation, opened, SHORT)
    train, evaluation = (
        SHORT.inputs(opened.model, each, machine, silent)
        for each in (finetuning.encode_training(pairs, opened, SHORT), part)
    )
    data = TaskDataModule(train, SHORT, key, evaluation=evaluation)
    module = FinetuningModule(SHORT.adapt(opened.model, kind, pairs.labels, key), kind, SHORT, data.steps, key).train()
    trainer = Trainer(
        accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path,
    )  # fmt: skip
    longer = FinetuningModule(module.model, kind, SHORT, data.steps + 1, key)
    with pytest.raises(BadInput, match="has 5 steps, its data 4: give it data"):
        trainer.fit(longer, data)
    with quiet():
        trainer.fit(module, data)
        [found] = trainer.validate(module, data, verbose=False)
        batches = trainer.predict(module, data)
    expected = run(pairs, SHORT)
    assert module.curve == expected.curve
    order = np.concatenate(by_length(evaluation.lengths, evaluation.batch_tokens))
    logits = torch.cat(batches).flatten(0, -2)
    labels = torch.tensor(pairs.evaluation.labels)[order]
    assert found["validation/loss"] == pytest.approx(functional.cross_entropy(logits, labels).item(), rel=1e-5)
    assert (logits.argmax(1).numpy() == expected.predictions["prediction"][order]).all()


def test_validation_without_evaluation_examples_is_one_line(pretrained, pairs, machine):
    opened = open_pretrained(pretrained)
    train = SHORT.inputs(opened.model, finetuning.encode_training(pairs, opened, SHORT), machine, silent)
    with pytest.raises(BadInput, match="no evaluation examples"):
        TaskDataModule(train, SHORT, ("x",)).val_dataloader()
