"""Every field of a recipe and of a measurement has its range, and an error names the path that was written."""

import dataclasses

import pytest

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.lab.scales import find
from bertlab.optimizers import AdamW
from bertlab.recipe.identity import set_fields
from bertlab.recipe.multitask import TaskSource
from bertlab.recipe.ranges import FieldError
from bertlab.text.tokenizers import WordPiece

TUNED = ("finetune", "span", "tagging", "tasks.mnli")


def below(group, *names):
    return [f"{group}.{name}" for name in names]


INTEGERS = [
    "tokenizer.vocabulary",
    "masked_lm.copies",
    *below("inputs", "length", "dupe_factor", "epochs", "phase2_length"),
    *below("model", "layers", "hidden", "heads", "intermediate", "max_positions", "segments"),
    *below("schedule", "batch_size", "steps"),
    *below("features", "lstm_layers", "lstm_size"),
    *(
        path
        for group in (*TUNED, "features")
        for path in below(group, "batch_size", "max_train_examples", "max_steps", "max_eval_examples", "length")
    ),
]
FLOATS = [
    "corpus.heldout",
    "model.dropout",
    "model.layer_norm_eps",
    *below("inputs", "short_seq_prob", "phase2_share"),
    "masked_lm.mask_prob",
    *below("masked_lm.corruption", "mask", "keep", "random"),
    *below("schedule", "peak_lr", "warmup"),
    *below("optimizer", "beta1", "beta2", "epsilon", "weight_decay", "max_grad_norm"),
    *(
        path
        for group in (*TUNED, "features")
        for path in below(group, "epochs", "peak_lr", "warmup", "dropout", "weight_decay")
    ),
    *(path for group in TUNED for path in below(group, "layer_decay", "head_lr", "head_dropout")),
]
WRONG = ("nan", "inf", "-inf", "-1", "1e30", "1e400", "abc", "")
"""No number of a recipe can be any of these."""


@pytest.mark.parametrize("path", INTEGERS + FLOATS)
def test_numbers_out_of_range(refused, path):
    for text in (*WRONG, "10.5") if path in INTEGERS else WRONG:
        with pytest.raises(BadInput, match=rf"^{path} is "):
            find("smoke").set([f"{path}={text}"])
    text = WRONG[len(path) % len(WRONG)]
    # of a study that varies no number
    refused("ablate", "nsp", "--scale", "smoke", "--set", f"{path}={text}", says=rf"bertlab: {path} is ")


EDGES = [
    *[f"{group}.warmup=7" for group in ("schedule", "finetune", "span", "tagging", "features", "tasks.mnli")],
    *[f"{group}.dropout=1" for group in ("model", "finetune", "span", "tagging", "features", "tasks.squad")],
    "features.lstm_layers=0",
    "features.lstm_layers=17",
    "features.layers=first",
    "features.layers=",
    "finetune.layer_decay=0",
    "finetune.layer_decay=1.01",
    "finetune.head_lr=0",
    "finetune.peak_lr=0",
    "finetune.batch_size=0",
    "finetune.epochs=0",
    "finetune.epochs=1e-310",
    "finetune.length=7",
    "finetune.bilstm=yes",
    "finetune.frozen=1",
    "optimizer.max_grad_norm=1e-310",
    "optimizer.max_grad_norm=0",
    "optimizer.epsilon=0",
    "optimizer.beta1=1",
    "optimizer.beta2=1",
    "optimizer.bias_correction=maybe",
    "model.layers=0",
    "model.layers=201",
    "model.heads=0",
    "model.hidden=0",
    "model.max_positions=-7",
    "model.positions=relative",
    "model.initialisation=xavier",
    "schedule.peak_lr=1e-310",
    "schedule.peak_lr=11",
    "schedule.batch_size=0",
    "schedule.warmup=1.0001",
    "corpus.heldout=0",
    "corpus.heldout=0.5",
    "tokenizer.vocabulary=63",
    "tokenizer.lowercase=0",
    "inputs.format=paragraphs",
    "inputs.length=8193",
    "inputs.phase2_length=7",
    "inputs.phase2_share=1",
    "inputs.dupe_factor=0",
    "masked_lm.mask_prob=0",
    "masked_lm.mask_prob=1",
    "masked_lm.schedule=always",
    "objective=electra",
]


@pytest.mark.parametrize("assignment", EDGES)
def test_edges(refused, assignment):
    path, _, _ = assignment.partition("=")
    refused("ablate", "masking", "--scale", "smoke", "--set", assignment, says=path.replace(".", r"\."))


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        ("model.hidden=33", "multiple of heads"),
        ("model.heads=32", "even head size"),
        ("masked_lm.corruption.mask=0.5", "sets it for its variants"),
        ("tokenizer.given=abc", "--vocab"),
        ("tokenizer.given=", "--vocab"),
        ("seed=3", "--seed"),
        ("corpus.sources=x", "--corpus"),
        ("corpus.words=1000", "--words"),
        ("=", "unknown field"),
        ("", "write FIELD=VALUE"),
        (".=1", "unknown field"),
        ("tasks=1", "tasks.TASK.FIELD"),
        ("tasks.=1", "tasks.TASK.FIELD|unknown"),
        ("tasks.mnli=1", "tasks.TASK.FIELD|unknown"),
        ("tasks.nosuch.peak_lr=1", "unknown task"),
        ("tasks.mnli.nosuch=1", "unknown field"),
        ("schedule.steps.more=1", "unknown field"),
        ("a" * 100_000 + "=1", "unknown field"),
        ("schedule.steps=" + "9" * 100_000, "schedule.steps"),
        ("schedule.steps=\n\n\x1b[31m", "schedule.steps"),
    ],
)
def test_assignments_that_are_none(refused, assignment, says):
    refused("ablate", "masking", "--scale", "smoke", "--set", assignment, says=says)


@pytest.mark.parametrize("seed", [-1, 2**63, 10**30, "x", "1.5", ""])
def test_seeds(refused, seed):
    refused("pretrain", "--scale", "smoke", "--seed", seed, says="seed")


OF_AXES = {recipe.Tokenizer: WordPiece, recipe.Optimizer: AdamW, recipe.BackboneConfig: recipe.Model}
OF_AXES |= {recipe.TransformerConfig: recipe.Model}
KINDS = {OF_AXES.get(each, each) for each in vars(recipe).values() if isinstance(each, type)}
CHECKED = sorted((each for each in KINDS if dataclasses.is_dataclass(each)), key=lambda each: each.__name__)


@pytest.mark.parametrize("kind", CHECKED)
def test_types_of_fields_that_code_sets(kind):
    """As a study file may: text for a number, a number for text, a truth value for a number, nothing at all."""
    values = {"name": "a", "content": "b"} if kind in (recipe.Source, TaskSource) else {}
    for field in dataclasses.fields(kind):
        for wrong in (object(), None, [], b"x", 3.5j):
            with pytest.raises(BadInput, match=field.name):
                kind(**{**values, field.name: wrong})
        for wrong in ("3", True) if field.type not in ("str", "bool", str, bool) else (3,):
            if isinstance(field.default, bool) or (isinstance(wrong, str) and isinstance(field.default, str)):
                continue
            with pytest.raises(BadInput, match=field.name):
                kind(**{**values, field.name: wrong})


def test_every_number_has_a_range():
    from bertlab.recipe.ranges import Range, hints

    bare = [
        f"{kind.__name__}.{name}"
        for kind in CHECKED
        for name, (hint, allowed) in hints(kind).items()
        if hint in (int, float) and not isinstance(allowed, Range)
    ]
    assert not bare, f"give {', '.join(bare)} a Range"


def test_a_value_of_many_digits_is_cut_in_the_error():
    with pytest.raises(FieldError) as error:
        recipe.Schedule(steps=10**5000)
    assert len(str(error.value)) < 200
    with pytest.raises(BadInput, match=r"^tasks\.mnli\.warmup is 7"):
        set_fields(find("tiny").finetune, {"warmup": "7"}, "tasks.mnli.")
