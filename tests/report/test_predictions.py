"""Effects and claims out of a store: which examples are paired, what is done where they cannot be, and those on which
two variants disagree."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlab import synthetic as microworld
from bertlab.lab.study import GUESS, Claim
from bertlab.machine import Machine
from bertlab.report import disagreements, findings, page
from bertlab.report.comparisons import Comparison
from bertlab.report.gather import gather
from bertlab.report.pages import notes
from bertlab.report.predictions import LIKELIHOOD, Predictions
from bertlab.report.statistics.effects import Effect
from bertlab.report.validity import likely_claims
from bertlab.report.verdicts import claim_tests, verdicts
from bertlab.store.runs import Store
from bertlab.tasks import catalog
from bertlab.tasks.data import local_texts, read, sampled, synthetic_texts
from bertlab.tasks.kinds import KINDS, classification
from bertlab.tasks.locate import LocatedTask, content_of, locate
from bertlab.tasks.task import Task

LABEL = np.random.default_rng(0).integers(0, 3, 50)
OTHER, BASELINE = "100/0/0", "80/10/10"


def guessed(chance: float, seed: int, label: np.ndarray = LABEL) -> dict[str, np.ndarray]:
    """Predictions that are right with a chance."""
    rng = np.random.default_rng([seed, int(100 * chance)])
    prediction = np.where(rng.random(len(label)) < chance, label, 2 - label)
    likelihood = np.log(np.where(prediction == label, 0.9, 0.05), dtype=np.float32)
    return {"prediction": prediction, "label": label, "log_likelihood": likelihood}


class Writer:
    """Runs with predictions, in the builder's store."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def run(self, variant: str, seed: int, found: dict[str, np.ndarray] | None, **changes: Any) -> None:
        """A pre-training and its MNLI; without predictions, if there are none, 50 points."""
        self.builder.pretrain(variant, seed)
        value = 50.0 if found is None else classification.accuracy(found["prediction"], found["label"]).value
        self.builder.cell(variant, "MNLI", changes.pop("value", value), seed, **changes)
        if found is not None:
            self.keep(found)

    def keep(self, found: dict[str, np.ndarray], kind: str = "classification", labels: tuple[str, ...] = ()) -> None:
        """Puts predictions beside the last run."""
        path = self.builder.root / "finetune" / f"{self.builder.cells[-1]['run_id']}--a-label"
        np.savez(path / "predictions.npz", **found)
        recipe = json.loads((path / "recipe.json").read_text())
        recipe["science"] = {"task": {"kind": kind, "labels": labels}}
        (path / "recipe.json").write_text(json.dumps(recipe))
        self.builder.seal(path)

    def effect(self, measurement: str = "MNLI", metric: str = "") -> Effect | None:
        """The variant minus the baseline."""
        store = Store(self.builder.root)
        return gather(store, [self.builder.record()])[0].effect(Comparison((OTHER, BASELINE), measurement, metric))


@pytest.fixture
def writer(builder: Any) -> Writer:
    return Writer(builder)


def test_predictions_are_paired_example_by_example(writer: Writer) -> None:
    for seed in range(3):
        writer.run(BASELINE, seed, guessed(0.6, seed))
        writer.run(OTHER, seed, guessed(0.8, seed))
    found = writer.effect()
    assert found is not None
    assert (found.n, found.examples) == (3, 50)
    values = [cell.value for cell in gather(Store(writer.builder.root), [writer.builder.record()])[0].cells]
    assert found.mean == pytest.approx(np.mean(values[1::2]) - np.mean(values[::2]))  # type: ignore[arg-type]
    likelihood = writer.effect(metric=LIKELIHOOD)
    assert likelihood is not None
    # Right answers have .9, wrong ones .05: the likelihood is the accuracy in other units.
    assert likelihood.mean == pytest.approx(0.85 * found.mean, rel=1e-5)


@pytest.mark.parametrize(
    "odd",
    [
        {"found": None},
        {"found": guessed(0.8, 1, np.roll(LABEL, 1))},
        {"found": guessed(0.8, 1, LABEL[:40])},
        {"found": guessed(0.8, 1), "value": 12.5},
    ],
    ids=["none kept", "of other examples", "of fewer examples", "not those that were reported"],
)
def test_otherwise_the_values_are_paired_by_seed(writer: Writer, odd: dict[str, Any]) -> None:
    writer.run(BASELINE, 0, guessed(0.6, 0))
    writer.run(OTHER, 0, guessed(0.8, 0))
    writer.run(BASELINE, 1, guessed(0.6, 1))
    writer.run(OTHER, 1, **odd)
    found = writer.effect()
    assert found is not None
    assert (found.n, found.examples) == (2, 1)
    assert found.interval is not None
    if "value" not in odd:  # its likelihoods may be right all the same
        assert writer.effect(metric=LIKELIHOOD) is None


def test_the_test_split_has_predictions_of_its_own(writer: Writer) -> None:
    for variant, chance in ((BASELINE, 0.6), (OTHER, 0.8)):
        writer.builder.pretrain(variant)
        evaluated, tested = guessed(chance, 0), guessed(chance, 1, LABEL[:30])
        values = [classification.accuracy(each["prediction"], each["label"]).value for each in (evaluated, tested)]
        writer.builder.cell(variant, "MNLI", values[0], test=values[1])
        writer.keep(evaluated | {f"test_{name}": each for name, each in tested.items()})
    sizes = [found.examples for name in ("MNLI", "MNLI test") if (found := writer.effect(name))]
    assert sizes == [50, 30]


@pytest.mark.parametrize("labels", [("O", "B-x", "I-x", "B-y", "I-y"), ()])
def test_entities_with_and_without_names(writer: Writer, labels: tuple[str, ...]) -> None:
    rng = np.random.default_rng(4)
    label, sentence = rng.integers(0, 5, 60), np.repeat(np.arange(12), 5)
    for variant in (BASELINE, OTHER):
        tags = np.where(rng.random(60) < 0.8, label, 0)
        arrays = {"prediction": tags, "label": label, "sentence": sentence}
        value = KINDS["tagging"].metric("f1", arrays, ("O", "B-x", "I-x", "B-y", "I-y")).value
        writer.builder.pretrain(variant)
        writer.builder.cell(variant, "NER", value)
        writer.keep(arrays, "tagging", labels)
    found = writer.effect("NER")
    assert found is not None
    assert found.examples == 12


def test_claims_are_tested_from_the_store(writer: Writer) -> None:
    for seed in range(5):
        writer.run(BASELINE, seed, guessed(0.9, seed))
        writer.run(OTHER, seed, guessed(0.3, seed))
    store = Store(writer.builder.root)
    claims = [
        Claim("The mixture is better", better=BASELINE, worse=OTHER, on="MNLI"),
        Claim("The mixture is worse", better=OTHER, worse=BASELINE, on="MNLI"),
        Claim("They are alike", better=OTHER, worse=BASELINE, on="MNLI", within=5.0),
        Claim("Not measured", better=BASELINE, worse="0/0/100", on="MNLI"),
    ]
    study = gather(store, [writer.builder.record()])[0]
    found = verdicts(claim_tests(study, claims))
    assert [each.outcome for each in found] == ["reproduced", "contradicted", "undecided", "undecided"]
    assert str(found[0].pair.published) == "-0.1"
    assert found[3].pair.effect is None
    assert found[3].pair.published is None  # the variant is not in this record


def held_out(builder: Any, variant: str, seed: int, metric: str, published: float, **figures: float) -> None:
    """A pre-training with held-out `figures`, one of which is measured."""
    run_id = builder.pretrain(variant, seed)
    path = builder.root / "pretrain" / f"{run_id}--a-label" / "result.json"
    result = json.loads(path.read_text())
    result["heldout"] |= figures
    path.write_text(json.dumps(result))
    builder.seal(path.parent)
    cell = {
        "variant": variant,
        "measurement": "LM",
        "metric": metric,
        "run_id": run_id,
        "finetune_seed": 0,
        "content": "",
    }
    about = {"task": "held-out text", "dataset": "held-out text", "split": "held-out", "milestone": 100}
    names = {"published": published, "pretrain_seed": seed, "pretrain_id": run_id}
    builder.cells.append(cell | about | names | {"method": "pretraining"})


def test_less_perplexity_is_better(builder: Any) -> None:
    for seed in range(4):
        held_out(builder, BASELINE, seed, "perplexity", 4.0, perplexity=20.0 + seed)
        held_out(builder, OTHER, seed, "perplexity", 5.0, perplexity=30.0 - seed / 2)
    store = Store(builder.root)
    claim = Claim("The mixture has the lower perplexity", better=BASELINE, worse=OTHER, on="LM")
    study = gather(store, [builder.record()])[0]
    (found,) = verdicts(claim_tests(study, [claim]))
    assert found.outcome == "reproduced"
    pair = found.pair
    assert pair.published == 1.0
    assert pair.effect is not None
    assert pair.effect.mean == pytest.approx(10 - 1.5 * 1.5)
    assert [each.unit for each in study.column("LM")] == ["perplexity"] * 8


@pytest.mark.parametrize(("better", "outcome"), [(BASELINE, "reproduced"), (OTHER, "undecided")])
def test_of_the_pre_training_itself_the_worse_model_may_have_learned_nothing(
    builder: Any, better: str, outcome: str
) -> None:
    for seed in range(4):
        held_out(builder, BASELINE, seed, "perplexity", 4.0, perplexity=20.0 + seed)
        held_out(builder, OTHER, seed, "perplexity", 5.0, perplexity=400.0 - seed / 2, masked_lm_loss=builder.plateau)
    worse = OTHER if better == BASELINE else BASELINE
    study = gather(Store(builder.root), [builder.record()])[0]
    (found,) = verdicts(claim_tests(study, [Claim("It trains better", better=better, worse=worse, on="LM")]))
    assert found.outcome == outcome
    assert found.validity_issue == (
        "" if outcome == "reproduced" else f"{OTHER} learned next to nothing in pre-training"
    )


@pytest.mark.parametrize(("own", "pooled"), [(4.4, True), (5.9, False)])
def test_a_variant_that_learned_nothing_in_a_seed_does_not_lend_its_variance(
    writer: Writer, own: float, *, pooled: bool
) -> None:
    for seed in range(4):
        writer.run(BASELINE, seed, guessed(0.9, seed))
        writer.run(OTHER, seed, guessed(0.7, seed))
        writer.builder.pretrain("0/0/100", seed, own=own if seed == 1 else 4.4)
        chances = guessed(0.1 if seed == 1 else 0.8, seed)
        value = classification.accuracy(chances["prediction"], chances["label"]).value
        writer.builder.cell("0/0/100", "MNLI", value, seed)
        writer.keep(chances)
    study = gather(Store(writer.builder.root), [writer.builder.record()])[0]
    found, unsteady = (study.effect(Comparison((name, BASELINE), "MNLI")) for name in (OTHER, "0/0/100"))
    assert found is not None
    assert found.spread is not None
    assert unsteady is not None
    assert unsteady.spread is not None
    assert (found.spread.borrowed > 0) == pooled
    assert not unsteady.spread.borrowed, "it is noisier than the other"
    assert found.spread.between < unsteady.spread.between


def test_a_share_of_held_out_pairs_is_in_points_and_compares_with_a_guess(builder: Any) -> None:
    metric, guess = "sentence_order_accuracy", {"sentence_order_majority": 0.51}
    for seed in range(4):
        held_out(builder, BASELINE, seed, metric, 52.0, sentence_order_accuracy=0.505 + 0.005 * (seed % 2), **guess)
        held_out(builder, OTHER, seed, metric, 86.5, sentence_order_accuracy=0.85 + 0.01 * seed, **guess)
    claims = [
        Claim("It is solved", better=OTHER, worse=GUESS, on="LM"),
        Claim("It is not", better=GUESS, worse=BASELINE, on="LM"),
    ]
    study = gather(Store(builder.root), [builder.record()])[0]
    assert (study.published_difference(OTHER, "LM"), study.floors("LM")) == (Decimal("34.5"), {GUESS: 51.0})
    solved, other = verdicts(claim_tests(study, claims))
    assert solved.pair.effect is not None
    assert solved.pair.effect.mean == pytest.approx(86.5 - 51)
    assert (solved.outcome, other.outcome) == ("reproduced", "undecided")
    known = findings.findings(dataclasses.replace(study, claims=tuple(claims)))
    assert "seeds would decide" in known[1].hint, "a guess takes no time"
    helps = Claim("It helps", better=OTHER, worse=BASELINE, on="MNLI")
    learned = Claim("It is learned", better=OTHER, worse=GUESS, on="MNLI")
    assert likely_claims(dataclasses.replace(study, claims=[learned, helps])) == [helps], "a guess has none"


@pytest.mark.parametrize(("share", "outcome"), [(0.505, "undecided"), (0.6, "reproduced")])
def test_variants_that_are_not_above_a_guess_decide_nothing(builder: Any, share: float, outcome: str) -> None:
    metric, guess = "sentence_order_accuracy", {"sentence_order_majority": 0.51}
    for seed in range(4):
        held_out(builder, BASELINE, seed, metric, 52.0, sentence_order_accuracy=share + 0.005 * (seed % 2), **guess)
        held_out(builder, OTHER, seed, metric, 86.5, sentence_order_accuracy=0.4 + 0.01 * (seed % 2), **guess)
    study = gather(Store(builder.root), [builder.record()])[0]
    (found,) = verdicts(claim_tests(study, [Claim("It is better", better=BASELINE, worse=OTHER, on="LM")]))
    assert found.outcome == outcome
    issue = "no variant of the claim is significantly above a majority guess"
    assert found.validity_issue == (issue if outcome == "undecided" else "")


def test_examples_of_one_group_are_one_example(writer: Writer) -> None:
    group = np.repeat(np.arange(10), 5).astype(np.int32)
    for seed in range(4):
        for variant, chance in ((BASELINE, 0.6), (OTHER, 0.8)):
            writer.run(variant, seed, guessed(chance, seed) | {"group": group})
    for found in (writer.effect(), writer.effect(metric=LIKELIHOOD)):
        assert found is not None
        assert (found.n, found.examples) == (4, 10)
    (study,) = gather(Store(writer.builder.root), [writer.builder.record()])
    assert "as one cluster. MNLI: 500 examples in 10 clusters." in " ".join(notes("intervals", study))


def test_seeds_are_evaluated_by_all_comparisons_of_the_study(writer: Writer) -> None:
    for seed in range(4):
        for variant, chance in ((BASELINE, 0.6), (OTHER, 0.8), ("0/0/100", 0.5)):
            writer.run(variant, seed, guessed(chance, seed))
    (study,) = gather(Store(writer.builder.root), [writer.builder.record()])
    cells = {name: {each.pretrain_seed: [each] for each in study.at(name, "MNLI")} for name in study.variants}
    alone = [study.predictions.effect(cells[variant], cells[BASELINE]) for variant in (OTHER, "0/0/100")]
    known = [each.spread for each in alone if each is not None and each.spread is not None]
    together = study.effect(Comparison((OTHER, BASELINE), "MNLI"))
    assert together is not None
    assert together.spread is not None
    assert together == study.effect(Comparison((OTHER, BASELINE), "MNLI", "accuracy"))
    lent = known[1].ratio * known[0].interaction
    assert together.spread.between == pytest.approx(max(known[0].between, lent)), "there is one other; none is lowered"
    assert (together.spread.sampling, together.mean) == (known[0].sampling, alone[0].mean)  # type: ignore[union-attr]


def test_a_claim_has_a_second_verdict_by_likelihood(writer: Writer, tmp_path: Path) -> None:
    """Accuracy is the same, the right answers are likelier: only the likelihood decides; margins have none."""
    for seed in range(6):
        for variant, sure in ((BASELINE, 0.9), (OTHER, 0.6)):
            found = guessed(0.8, seed)
            right = found["prediction"] == LABEL
            likely = np.log(np.where(right, sure + 0.01 * seed, 0.05)).astype(np.float32)
            writer.run(variant, seed, found | {"log_likelihood": likely})
    claim = {"text": "Better", "better": BASELINE, "worse": OTHER, "on": "MNLI"}
    record = writer.builder.record(claims=[claim, claim | {"text": "Equal", "within": 1.0}])
    better, equal = findings.findings(gather(Store(writer.builder.root), [record])[0])
    assert (better.outcome, better.likely_outcome) == ("undecided", "reproduced")
    assert better.likely is not None
    assert better.likely.test.pair.published is None
    assert equal.likely is None
    page.write([], writer.builder.root, tmp_path)
    said = (
        "Of 2 claims, none is reproduced, none is contradicted, 2 are undecided. By the second test, the probability "
        "that the models give to the right answers: of 1 claim, 1 is reproduced, none is contradicted, none "
        "is undecided."
    )
    assert f"\n{said}" in (tmp_path / "index.md").read_text(encoding="utf-8")
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert f'{said} <a href="#verdicts-masking">' in html
    assert '<div class="notes" id="verdicts-masking">' in html


def test_the_likelihood_of_a_number_is_that_of_a_normal_distribution_with_one_width() -> None:
    """By hand: scores 0 and 2 have variance 1; an error of 1 is one standard deviation."""
    arrays = {"prediction": np.array([0.0, 1.0]), "label": np.array([0.0, 2.0])}
    likelihood = KINDS["regression"].metric(LIKELIHOOD, arrays)
    assert likelihood.value == pytest.approx(100 * (1 + np.exp(-0.5)) / 2)


def predicted(builder: Any, variant: str, seed: int, likelihood: list[float], data: str = "") -> None:
    run_id = builder.pretrain(variant, seed)
    builder.cell(variant, "MNLI", 50.0, seed, pretrain_id=run_id)
    (path,) = builder.root.glob(f"finetune/{builder.cells[-1]['run_id']}--*")
    labels = np.zeros(len(likelihood), np.int32)
    arrays = {"label": labels, "prediction": labels, "log_likelihood": np.log(likelihood)}
    np.savez(path / "predictions.npz", **arrays)
    recipe = (path / "recipe.json").read_text()
    task = f'"science": {{"data": "{data}", "task": {{"kind": "classification", "labels": ["a", "b"]}}}}'
    (path / "recipe.json").write_text(recipe.replace('"science": {}', task))
    builder.seal(path)


def test_the_examples_that_differ_most_are_shown(builder: Any) -> None:
    for seed in (0, 1):
        predicted(builder, "80/10/10", seed, [0.5, 0.5, 0.5, 0.5])
        predicted(builder, "100/0/0", seed, [0.5, 0.45, 0.5, 0.5])
        predicted(builder, "0/0/100", seed, [0.5, 0.1 + 0.1 * seed, 0.50001, 0.75])
    predicted(builder, "0/0/100", 7, [0.01, 0.01, 0.01, 0.01])  # not a seed of the baseline
    study = gather(Store(builder.root), [builder.record()])[0]
    assert "`" not in "".join(notes("disagreements", study)), "pages escape it"
    found = disagreements.table(study)
    assert found.columns == ("on", "variant", "example", "baseline", "variant's", "difference")
    assert found.rows == (
        ("MNLI", "0/0/100", "1", "50.0", "15.0", "-35.0"),
        ("MNLI", "0/0/100", "3", "50.0", "75.0", "+25.0"),
    )


def test_without_predictions_there_are_none(builder: Any) -> None:
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant))
    assert disagreements.table(gather(Store(builder.root), [builder.record()])[0]).rows == ()


def test_synthetic_examples_have_their_texts(builder: Any) -> None:
    content = f"microworld:{microworld.version('inference')}"
    predicted(builder, "80/10/10", 0, [0.5, 0.5], content)
    predicted(builder, "100/0/0", 0, [0.5, 0.25], content)
    found = disagreements.table(gather(Store(builder.root), [builder.record()])[0])
    row = microworld.rows("inference", "validation")[1]
    answer = ("entailment", "neutral", "contradiction")[row["label"]]
    assert found.columns[-1] == "text"
    assert [line[-1] for line in found.rows] == [f"{row['premise']} / {row['hypothesis']} ({answer})"]


def test_the_texts_are_of_the_examples_that_were_evaluated() -> None:
    machine = Machine()
    every = {name: locate(task, machine=machine, world=True) for name, task in catalog.WORLD.items()}
    for located in (located for located in every.values() if located.parts):
        assert synthetic_texts(located.content, "validation", 20) == (), "a metric is of the examples of one part"
    for name, located in every.items():
        if located.parts:
            continue
        data = sampled(read(located), 20)
        for split, part in (("validation", data.evaluation), ("test", data.test)):
            assert part is not None
            texts = synthetic_texts(located.content, split, 20)
            assert len(texts) == 20, name
            first = [column[7] for column in part.text]
            expected = " / ".join(each if isinstance(each, str) else " ".join(each) for each in first)
            assert texts[7].startswith(expected)
    older = every["inference"].content.replace("@", "@9")
    assert synthetic_texts(older, "validation") == (), "another version has other examples"
    assert synthetic_texts("sha256:1", "validation") == ()


def test_the_texts_of_local_tasks_are_those_that_were_evaluated(tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    for split in ("train", "validation"):
        rows = [{"one": f"{split} {number}", "two": "b", "label": ("yes", "no")[number % 2]} for number in range(5)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {"text": ("one", "two"), "label": "label", "labels": ("yes", "no"), "evaluation": "validation"}
    task = Task(kind="classification", dataset="pairs", **columns)
    machine = Machine(data=tmp_path)
    located = locate(task, machine=machine, world=False)
    data = sampled(read(located), 3)
    texts = local_texts(task, located.content, "validation", 3, machine)
    expected = [f"{one} / {two}" for one, two in zip(*data.evaluation.text, strict=True)]
    assert [each.rpartition(" (")[0] for each in texts] == expected
    assert {each.rpartition(" (")[2] for each in texts} <= {"yes)", "no)"}
    assert local_texts(task, "sha256:other", "validation", 3, machine) == (), "other examples have these numbers"
    assert local_texts(task, located.content, "validation", 3, Machine(data=folder)) == ()


def test_a_kind_of_a_study_file_has_no_texts(builder: Any, tmp_path: Path) -> None:
    (tmp_path / "mnli").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "mnli" / f"{split}.jsonl").write_text('{"label": 1}\n')
    machine, task = Machine(data=tmp_path), Task(kind="own", dataset="mnli", evaluation="validation")
    located = LocatedTask(task=task, name="mnli", origin="files", folder=tmp_path / "mnli")
    predicted(builder, "80/10/10", 0, [0.5, 0.5], content_of(located, machine))
    (path,) = builder.root.glob("finetune/*/recipe.json")
    recipe = json.loads(path.read_text())
    recipe["science"]["task"] = {"kind": "own", "evaluation": "validation"}
    path.write_text(json.dumps(recipe))
    builder.seal(path.parent)
    store, record = Store(builder.root), builder.record()
    (cell,) = gather(store, [record])[0].cells
    assert Predictions({run.id: run for run in store.runs()}, machine).texts(cell) == ()
