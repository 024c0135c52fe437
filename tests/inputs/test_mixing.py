"""Tasks among the sequences of text: rates by hand, examples in keyed epochs, and what an audit finds."""

import dataclasses
import json

import numpy as np
import pytest

import bertlab
from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.inputs.mixing import SOURCE
from bertlab.lab import plan, scales
from bertlab.lab.study import Measurement, Variant
from bertlab.objectives import CausalLM, SpanCorruption
from bertlab.objectives.sequence_to_sequence import OUTPUTS
from bertlab.recipe import T5, Equal, Inputs, MultiTask, Proportional, TaskSource, Temperature
from bertlab.recipe.identity import canonical, load, to_canonical
from bertlab.recipe.multitask import TEXT
from bertlab.recipe.recipe import Recipe
from bertlab.tasks import catalog, kinds
from bertlab.tasks.data import load as load_task
from bertlab.tasks.task import Task
from bertlab.text.tokenizers import WordPiece
from plans import own, request

TASKS = tuple(TaskSource(name=name) for name in ("cola-text", "stsb-text", "wmt_en_ro-text"))
MIXED = MultiTask(tasks=TASKS, mixing=Proportional(limit=2500), length=40)
RECIPE = dataclasses.replace(
    scales.find("smoke").recipe,
    tokenizer=WordPiece(vocabulary=512, sentinels=40),
    inputs=Inputs(length=32, format="chunks"),
    objective=(SpanCorruption(),),
    model=T5(layers=2, hidden=32, heads=2),
    multitask=MIXED,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return bertlab.prepare_corpus(tmp_path_factory.mktemp("corpus") / "c", RECIPE, "microworld:200")


def test_rates_are_those_of_the_paper():
    sizes = [TEXT, 5, 20, 100]
    assert Equal().rates(sizes) == [0.25] * 4
    assert Proportional(limit=10).rates(sizes) == pytest.approx([10 / 35, 5 / 35, 10 / 35, 10 / 35])
    assert Proportional().rates(sizes[1:]) == pytest.approx([0.04, 0.16, 0.8])
    roots = np.sqrt([100, 5, 20, 100])
    assert Temperature(limit=100, t=2).rates(sizes) == pytest.approx(roots / roots.sum())
    assert Temperature(limit=10, t=1).rates(sizes) == pytest.approx(Proportional(limit=10).rates(sizes))
    assert dataclasses.replace(MIXED, text=False, data_scale=0.01).rates([5, 90]) == pytest.approx([0, 1 / 6, 5 / 6])
    with pytest.raises(BadInput, match=r"limit is 0, and text has no number of examples: give a limit"):
        MultiTask(tasks=TASKS, mixing=Proportional())


def test_what_recipes_without_tasks_are_is_as_before():
    assert "multitask" not in canonical(dataclasses.replace(RECIPE, multitask=MultiTask(mixing=Equal(), length=9)))
    assert load(Recipe, to_canonical(RECIPE)) == RECIPE


def test_a_batch_is_a_function_of_its_step(corpus):
    batches = Batches(RECIPE, corpus)
    made = [batches.batch(step) for step in range(9)]
    for step in (7, 2):
        again = Batches(RECIPE, corpus).batch(step)
        assert again.tokens.tolist() == made[step].tokens.tolist()
        assert again.format[SOURCE].tolist() == made[step].format[SOURCE].tolist()
        arrays, before = again.arrays["span_corruption"], made[step].arrays["span_corruption"]
        assert all((arrays[name] == before[name]).all() for name in arrays)
    other = Batches(dataclasses.replace(RECIPE, seed=1), corpus).batch(0)
    assert other.format[SOURCE].tolist() != made[0].format[SOURCE].tolist()
    tokens = sum(int(batch.lengths.sum()) for batch in made)
    # the tokens that are counted of text are those before it is corrupted
    text = Batches(dataclasses.replace(RECIPE, multitask=MultiTask()), corpus)
    rows = [(batch.format[SOURCE] == 0).sum() for batch in made]
    alone = np.concatenate([text.batch(step).sequence_ids for step in range(9)])
    assert (
        np.concatenate([one.sequence_ids[one.format[SOURCE] == 0] for one in made]).tolist()
        == alone[: sum(rows)].tolist()
    )
    assert 0 <= batches.tokens(9) - tokens <= 8 * sum(rows)


def test_stages_of_other_lengths_have_tasks_too(corpus):
    inputs = Inputs(length=32, format="chunks", phase2_length=48, phase2_share=0.5)
    schedule = dataclasses.replace(RECIPE.schedule, steps=40)
    batches = Batches(dataclasses.replace(RECIPE, inputs=inputs, schedule=schedule), corpus)
    made = [batches.batch(step) for step in range(40)]
    for part, length in ((made[:20], 32), (made[20:], 48)):
        assert {*np.concatenate([batch.format[SOURCE] for batch in part])} == {0, 1, 2, 3}
        longest = max(batch.lengths[batch.format[SOURCE] == 0].max(initial=0) for batch in part)
        assert 0.8 * length < longest <= length
    assert made[0].format[SOURCE].tolist() != made[20].format[SOURCE].tolist()


def test_a_task_gives_each_example_once_an_epoch_as_fine_tuning_reads_it(corpus, machine):
    recipe = dataclasses.replace(RECIPE, multitask=dataclasses.replace(MIXED, tasks=TASKS[:1], text=False))
    task = dataclasses.replace(corpus, tasks=corpus.tasks[:1])
    data = load_task(catalog.find("cola-text"), machine=machine, world=True)
    examples = kinds.find(data.kind).encode(data.train, corpus.tokenizer, 40, training=True)
    answers = np.split(examples.targets, np.cumsum(examples.counts)[:-1])
    every = {(tuple(text), tuple(answer)) for text, answer in zip(examples.sequences, answers, strict=True)}
    count, size = len(task.tasks[0]), recipe.schedule.batch_size
    batches, read, ids = Batches(recipe, task), set(), []
    for step in range(2 * count // size):
        batch = batches.batch(step)
        arrays, outputs = batch.arrays["span_corruption"], batch.streams[OUTPUTS]
        assert (outputs.tokens[:, 0] == corpus.tokenizer.pad).all()
        assert (arrays["counted"] == arrays["weights"]).all()
        ids += zip(batch.epochs.tolist(), batch.sequence_ids.tolist(), strict=True)
        for row, (length, slots) in enumerate(zip(batch.lengths, outputs.lengths, strict=True)):
            assert arrays["weights"][row].sum() == slots
            read.add((tuple(batch.tokens[row, :length]), tuple(arrays["targets"][row, :slots])))
    assert read == every
    assert len({*ids}) == len(ids) == size * (2 * count // size)


def test_an_audit_finds_other_rates(corpus):
    (tasks, text) = audit(RECIPE, corpus, most=100_000)
    assert all(check.holds for check in (*tasks.checks, *text.checks))
    alike = dataclasses.replace(RECIPE, multitask=dataclasses.replace(MIXED, mixing=Equal()))
    (rates, *others), *_ = [one.checks for one in audit(RECIPE, corpus, Batches(alike, corpus).batch, 100_000)]
    assert rates.figure == "rates of text and tasks"
    assert rates.holds is False
    assert all(check.holds for check in others)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"objective": (CausalLM(),), "model": T5(layers=2, hidden=32, heads=2, structure="decoder")},
            "objective: causal_lm does not mix with tasks",
        ),
        ({"inputs": Inputs(length=32, format="sentence-pair")}, "inputs.format sentence-pair does not mix with tasks"),
    ],
)
def test_recipes_with_which_tasks_do_not_mix_are_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        dataclasses.replace(RECIPE, **changes)


def test_a_pre_training_may_leave_out_the_task_that_is_measured(machine):
    """Tasks with the same examples are one: on synthetic text RTE has those of MNLI."""
    mixed = MultiTask(tasks=tuple(TaskSource(name=f"{name}-text") for name in ("mnli", "rte", "cola", "sst2")))
    t5 = {"model": T5(), "inputs": Inputs(format="chunks"), "tokenizer": WordPiece(sentinels=40)}
    variants = [
        Variant("a", **t5, objective=(SpanCorruption(),)),
        Variant("all", **t5, objective=(SpanCorruption(),), multitask=mixed),
        Variant("one out", **t5, objective=(SpanCorruption(),), multitask=mixed, without_measured=True),
    ]
    measured = [Measurement(name, task=f"{name}-text") for name in ("rte", "cola", "qnli")]
    cells = plan.make(request(studies=(own(*variants, measurements=measured),)), machine).cells
    tasks = {
        (cell.variant, cell.measurement.name): [source.name for source in cell.pretraining.recipe.multitask.tasks]
        for cell in cells
    }
    every = ["mnli-text", "cola-text", "sst2-text"]
    assert {tuple(tasks["all", name]) for name in ("rte", "cola", "qnli")} == {tuple(every)}
    assert tasks["one out", "rte"] == ["cola-text", "sst2-text"]
    assert tasks["one out", "cola"] == ["mnli-text", "sst2-text"]
    ids = {cell.variant: cell.pretraining.id for cell in cells if cell.measurement.name == "qnli"}
    assert ids["one out"] == ids["all"], "nothing is left out, so it is the same run"
    classes = dataclasses.replace(variants[1], multitask=MultiTask(tasks=(TaskSource(name="mnli"),)))
    with pytest.raises(BadInput, match="the answers of 'mnli' are no texts"):
        plan.make(request(studies=(own(variants[0], classes, measurements=measured),)), machine)


def test_a_task_with_a_test_split_is_left_out_where_a_mixture_measures_it(machine, tmp_path):
    """A mixture without a test split reads fewer files of its tasks, whose training examples are the same."""
    for name, columns in (("cola", ["sentence"]), ("mrpc", ["sentence1", "sentence2"]), ("sst2", ["sentence"])):
        (tmp_path / name).mkdir()
        for split in ("train", "validation", "test"):
            rows = [dict.fromkeys(columns, f"{name} {split} {row}") | {"label": row % 2} for row in range(4)]
            (tmp_path / name / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "text.txt").write_text("\n".join(f"Line {row} of a text." for row in range(40)))
    own_glue = Task(kind="mixture", name="glue", text=("text",), labels=("cola-text:matthews", "mrpc-text:f1"))
    mixed = MultiTask(tasks=tuple(TaskSource(name=f"{name}-text") for name in ("cola", "mrpc", "sst2")))
    t5 = {"model": T5(), "inputs": Inputs(format="chunks"), "tokenizer": WordPiece(sentinels=40)}
    variants = [
        Variant("a", **t5, objective=(SpanCorruption(),)),
        Variant("one out", **t5, objective=(SpanCorruption(),), multitask=mixed, without_measured=True),
    ]
    measured = [
        Measurement("glue", task=own_glue, metric="average"),
        Measurement("mrpc", task="mrpc-text"),
        Measurement("mrpc, test", task="mrpc-text", split="test"),
    ]
    of_files = {"corpora": (str(tmp_path / "text.txt"),)}
    scale = scales.find("smoke").set(["corpus.documents=line"])
    cells = plan.make(
        request(studies=(own(*variants, measurements=measured),), scale=scale, **of_files),
        dataclasses.replace(machine, data=tmp_path),
    ).cells
    tasks = {
        cell.measurement.name: [source.name for source in cell.pretraining.recipe.multitask.tasks]
        for cell in cells
        if cell.variant == "one out"
    }
    rest = ["cola-text", "sst2-text"]
    assert tasks == {"glue": ["sst2-text"], "mrpc": rest, "mrpc, test": rest}
