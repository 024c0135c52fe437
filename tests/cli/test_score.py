"""Minimal pairs from the command line: scores of a checkpoint, and a measurement of any study."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

from bertlab.adaptation import Adapters, FineTuning, ZeroShot
from bertlab.audit.components import check_adaptation
from bertlab.errors import BadInput
from bertlab.lab import scales, studies
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.store import predictions
from bertlab.store.runs import Store
from bertlab.tasks import catalog, kinds
from bertlab.tasks.data import load
from bertlab.text.tokenizers import SPECIALS, WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

WORDS = ["the", "dog", "dogs", "cat", "##s", "bark", "##ing", "is", "are", "."]
ROWS = [
    *("the dogs are barking .|the dogs is barking .|agreement_subject_verb-in_simple_question",),
    *("the cats are barking .|the cats is barking .|agreement_subject_verb-in_simple_question",),
    *("are the dogs barking .|is the dogs barking .|agreement_subject_verb-in_question_with_aux",),
    *("the dog is barking .|The dog is barking .|agreement_subject_verb-in_question_with_aux",),
    *("the dog barks .|dog the barks .|case-subjective_pronoun",),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: Any) -> Any:
    """A random BERT as transformers saves it, and a local copy of Zorro of five pairs, one of them a tie."""
    from transformers import BertConfig, BertForMaskedLM

    root = tmp_path_factory.mktemp("scored")
    torch.manual_seed(0)
    pieces = [*SPECIALS, *WORDS]
    shape = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=24, initializer_range=0.5,
    )  # fmt: skip
    BertForMaskedLM(shape).save_pretrained(root / "bert")
    TrainedWordPiece(pieces, WordPiece()).save(root / "bert" / "vocab.txt")
    lines = []
    for row in ROWS:
        good, bad, paradigm = row.split("|")
        phenomenon = paradigm.partition("-")[0]
        lines.append(json.dumps({"good": good, "bad": bad, "paradigm": paradigm, "phenomenon": phenomenon}) + "\n")
    (root / "data" / "zorro").mkdir(parents=True)
    (root / "data" / "zorro" / "test.jsonl").write_text("".join(lines))
    return root


@pytest.fixture(scope="module")
def scored(folders: Any, call: Any) -> Any:
    command = ("score", folders / "bert", "zorro", "--data", folders / "data", "--runs", folders / "runs")
    assert call(*command, "--threads", "1") == 0
    return command


def test_the_table_has_phenomena_and_a_run_that_trained_nothing(
    scored: Any, call: Any, capsys: Any, folders: Any
) -> None:
    (run,) = [run for run in Store(folders / "runs").runs() if run.kind == "zero-shot"]
    result = run.result()
    assert (result.trained_parameters, result.steps, result.rows.evaluation) == (0, 0, 5)
    assert run.definition()["settings"] == {"kind": "zero-shot", "length": 24}
    assert call(*scored, "--json") == 0  # finished: it computes nothing again
    output = json.loads(capsys.readouterr().out)
    parts = {part["name"]: part for part in output["parts"]}
    assert output["id"] == run.id
    assert [part["pairs"] for part in parts.values()] == [5, 4, 2, 2, 1, 1]
    for metric, value in result.metrics.items():
        part, _, name = metric.rpartition("/")
        assert parts[part or "all"][name]["value"] == pytest.approx(value, abs=1e-4)
    assert parts["all"]["ties"]["value"] == pytest.approx(100 * (0 + 0.5 + 0) / 3)
    assert call(*scored, "--paradigms") == 0
    table = capsys.readouterr().out
    assert "right share, within words" in table
    assert "agreement_subject_verb/agreement_subject_verb-in_simple_question" in table


def test_the_interval_is_of_other_pairs_of_the_same_paradigms(
    scored: Any, call: Any, capsys: Any, folders: Any
) -> None:
    assert call(*scored, "--json") == 0
    (part, *_) = json.loads(capsys.readouterr().out)["parts"]
    (run,) = [run for run in Store(folders / "runs").runs() if run.kind == "zero-shot"]
    arrays = predictions.read(run)
    shares = 100 / (1 + np.exp(-arrays["margin"].astype(np.float64)))
    groups = [shares[arrays["label"] == number] for number in np.unique(arrays["label"])]
    spreads = [np.var(group, ddof=1) for group in groups if len(group) > 1]
    spreads += [np.mean(spreads)]  # of the last paradigm, which has one pair
    error = np.sqrt(sum(spread / len(group) for spread, group in zip(spreads, groups, strict=True))) / len(groups)
    assert part["right_share"]["value"] == pytest.approx(np.mean([group.mean() for group in groups]), rel=1e-5)
    assert part["right_share"]["high"] - part["right_share"]["value"] == pytest.approx(1.96 * error, rel=1e-4)


def test_predictions_are_the_sentences_that_babylms_evaluation_chooses(
    scored: Any, call: Any, capsys: Any, folders: Any, tmp_path: Any
) -> None:
    """By the sums of the log-probabilities of tokens masked one by one, computed here as it does; but for a tie."""
    from transformers import BertForMaskedLM

    file = tmp_path / "zero_shot" / "predictions.json"
    capsys.readouterr()
    assert call(*scored, "--predictions", file) == 0
    assert "1 pair of 5 tied, for which it has the right and the wrong sentence in turn" in capsys.readouterr().out
    written = json.loads(file.read_text())
    model, ids = BertForMaskedLM.from_pretrained(folders / "bert").eval(), [*SPECIALS, *WORDS]

    def likelihood(sentence: str) -> float:
        text = sentence.lower().replace("barking", "bark ##ing").replace("barks", "bark ##s").replace("cats", "cat ##s")
        tokens = torch.tensor([ids.index(word) for word in ["[CLS]", *text.split(), "[SEP]"]])
        copies = tokens.repeat(len(tokens) - 2, 1)
        copies[range(len(copies)), range(1, len(tokens) - 1)] = ids.index("[MASK]")
        with torch.no_grad():
            values = model(copies).logits.log_softmax(-1)
        return float(values[range(len(copies)), range(1, len(tokens) - 1), tokens[1:-1]].sum())

    rows = [row.split("|") for row in ROWS]
    for paradigm, part in written.items():
        pairs = [(good, bad) for good, bad, name in rows if name == paradigm]
        assert [one["id"] for one in part["predictions"]] == [f"{paradigm}_{number}" for number in range(len(pairs))]
        for one, pair in zip(part["predictions"], pairs, strict=True):
            scores = [likelihood(sentence) for sentence in pair]
            assert one["pred"] in (pair if pair[0] == pair[1].lower() else [pair[int(np.argmax(scores))]])
    assert sum(len(part["predictions"]) for part in written.values()) == len(ROWS)
    assert call(*scored, "--predictions", tmp_path) == 2
    assert f"--predictions '{tmp_path}' is a folder: name a file" in capsys.readouterr().err


PAIRS = [("the dog barks .", "dog the barks ."), ("the dogs is .", "the dogs are ."), ("the cat is .", "is cat the .")]


@pytest.mark.parametrize(
    ("columns", "labels", "parts"),
    [
        (("good", "bad"), {}, {"all": 3}),
        (("good", "bad"), {"group": "xyx"}, {"all": 3, "x": 2, "y": 1}),
        (("good", "bad"), {"group": ("all", "x", "x")}, {"all": 3, "x": 2}),
        (("good", "bad"), {"group": ("x", "x/y", "x//y")}, {"all": 3, "x": 3, "x/y": 1, "x//y": 1}),
        (("sentence_good", "sentence_bad"), {"linguistics_term": "xxy", "UID": "abc"},
         {"all": 3, "x": 2, "x/a": 1, "x/b": 1, "y": 1, "y/c": 1}),
    ],
)  # fmt: skip
def test_a_file_of_pairs_is_scored(
    columns: Any, labels: Any, parts: Any, call: Any, folders: Any, tmp_path: Any, capsys: Any
) -> None:
    values = zip(*(labels[name] for name in labels), strict=True) if labels else [()] * len(PAIRS)
    rows = [dict(zip((*columns, *labels), (*pair, *of), strict=True)) for pair, of in zip(PAIRS, values, strict=True)]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("score", folders / "bert", tmp_path / "mine.jsonl", "--runs", tmp_path / "runs", "--json") == 0
    output = json.loads(capsys.readouterr().out)
    assert output["task"] == "mine"
    assert {part["name"]: part["pairs"] for part in output["parts"]} == parts


def test_one_pair_has_no_interval(call: Any, folders: Any, tmp_path: Any, capsys: Any) -> None:
    lines = [f"{good},{bad},{group}" for (good, bad), group in zip(PAIRS, "xyx", strict=True)]
    (tmp_path / "mine.csv").write_text("\n".join(["good,bad,group", *lines]))
    command = ("score", folders / "bert", tmp_path / "mine.csv", "--runs", tmp_path / "runs")
    assert call(*command) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert {name: "±" in rows[name] for name in ("all", "x", "y")} == {"all": True, "x": True, "y": False}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("mine.csv", "good;bad\nthe dog .;dog the .\n", "has no column 'good'"),
        ("mine.jsonl", '{"good": "\\u200b", "bad": "the dog ."}', "mine.jsonl column good row 1 is empty"),
        ("mine.jsonl", '{"good": "the dog .", "bad": "dog the .", "group": " "}', "name the paradigm of each pair"),
        (
            "mine.jsonl",
            '{"good": "a", "bad": "b"}\n{"good": "a", "bad": "c", "group": "x"}',
            "row 1 has no column 'group'",
        ),
        ("mine.jsonl", "", "has no rows"),
        ("mine.csv", "good,bad\nthe dog .,dog the .\n", "stands beside mine.jsonl"),
        ("pairs.txt", "", "unknown task"),
    ],
)
def test_a_file_that_cannot_be_scored_is_refused_in_a_line(
    name: str, content: str, problem: str, call: Any, folders: Any, tmp_path: Any, capsys: Any
) -> None:
    if "beside" in problem:
        (tmp_path / "mine.jsonl").write_text("")
    (tmp_path / name).write_text(content)
    assert call("score", folders / "bert", tmp_path / name, "--runs", tmp_path / "runs", "--threads", "1") == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("bertlab: ")]
    assert problem in line


def test_pairs_that_are_cut_are_counted_and_those_with_the_same_beginning_are_said_to_be_ties(
    call: Any, folders: Any, tmp_path: Any, capsys: Any
) -> None:
    same = "the dog " * 20
    rows = [("the dog barks .", "dog the barks ."), (f"{same} is", f"{same} are"), (f"dog {same}", "the dog .")]
    (tmp_path / "mine.tsv").write_text("good\tbad\n" + "".join("\t".join(row) + "\n" for row in rows))
    assert call("score", folders / "bert", tmp_path / "mine.tsv", "--runs", tmp_path / "runs", "--json") == 0
    captured = capsys.readouterr()
    assert "2 of 3 pairs are longer than 24 tokens, and only the first ones are compared; 1 of these" in captured.err
    assert json.loads(captured.out)["parts"][0]["ties"]["value"] == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("score", "MODEL", "mnli"), "task 'mnli' is classification, which models are trained on"),
        (("finetune", "--from", "MODEL", "--task", "zorro", "--keep"), "--keep has no effect: no measurement trains"),
        (("finetune", "--from", "MODEL", "--task", "mnli", "--adaptation", "zero-shot"), "compares sentences"),
        (("score", "BARE", "zorro"), "was published without its LM head and scores no sentences"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_a_line(
    arguments: Any, problem: str, call: Any, folders: Any, capsys: Any
) -> None:
    from transformers import BertModel

    bare = folders / "bare"
    if not bare.exists():
        BertModel.from_pretrained(folders / "bert").save_pretrained(bare)
        (bare / "vocab.txt").write_bytes((folders / "bert" / "vocab.txt").read_bytes())
    places = {"MODEL": str(folders / "bert"), "BARE": str(bare)}
    mnli = folders / "data" / "mnli"
    mnli.mkdir(exist_ok=True)
    row = json.dumps({"premise": "the dog barks .", "hypothesis": "the dog .", "label": 0}) + "\n"
    for split in ("train", "validation_matched", "validation_mismatched", "validation", "test"):
        (mnli / f"{split}.jsonl").write_text(row)
    command = [places.get(argument, argument) for argument in arguments]
    scale = ("--scale", "smoke", "--set", "finetune.length=24") if command[0] == "finetune" else ()
    assert call(*command, *scale, "--data", folders / "data", "--runs", folders / "others", "--threads", "1") == 2
    assert problem in " ".join(capsys.readouterr().err.split())


def test_a_study_measures_minimal_pairs_beside_its_own(call: Any, smoke: Any, finished: Any, capsys: Any) -> None:
    before = {run.id for run in Store(finished).runs()}
    assert call(*smoke, "--measure", "zorro", "--finetune-seeds", "3", "--runs", finished) == 0
    runs = [run for run in Store(finished).runs() if run.id not in before]
    assert {run.kind for run in runs} == {"zero-shot"}
    assert len(runs) == 3  # one a model, whatever the number of fine-tuning seeds
    (record,) = Store(finished).records(needed=["masking"]).values()
    values = [value for value in record.cells if value.measurement == "zorro"]
    assert {value.published for value in values} == {None}
    assert len({value.measurement for value in record.cells}) > 1
    capsys.readouterr()
    assert call("report", "--runs", finished, "--out", finished / "out") == 0
    page = next((finished / "out").glob("masking*.md")).read_text()
    assert "zorro" in page
    assert "Another version of bertlab" not in page


def test_a_kind_without_training_is_measured_as_it_is_whatever_a_study_trains() -> None:
    study = Study(
        name="mine",
        question="",
        source="",
        baseline="all",
        variants=[Variant("all", adaptation=FineTuning()), Variant("few", adaptation=Adapters())],
        measurements=[Measurement("MNLI", task="mnli"), Measurement("Zorro", task="zorro", milestones=(50, 100))],
    )
    scale = scales.find("smoke")
    for variant in study.variants:
        assert study.adaptation(variant, study.measurements[0], scale, "classification", "mnli").trains
        pairs = study.adaptation(variant, study.measurements[1], scale, "minimal-pairs", "zorro")
        assert pairs == ZeroShot(length=32, max_eval_examples=64)


def test_zero_shot_has_no_setting_of_a_training() -> None:
    with pytest.raises(BadInput, match=r"epochs has no effect, as zero-shot trains nothing"):
        ZeroShot(epochs=2.0)
    assert ZeroShot().unsupported_reason(kinds.find("classification"))
    assert not ZeroShot().unsupported_reason(kinds.find("minimal-pairs"))


def test_a_study_that_has_the_measurement_gets_no_second_one() -> None:
    study = studies.find("masking")
    more = studies.measuring(study, {"zorro", "MNLI fine-tuned"})
    assert [one.name for one in more.measurements] == [*(one.name for one in study.measurements), "zorro"]
    assert studies.measuring(more, {"zorro"}) == more


def test_a_kind_of_a_study_file_without_training_runs_once_before_its_plan(folders: Any, machine: Any) -> None:
    from bertlab.model.interop import huggingface
    from bertlab.training.finetuning import Pretrained

    class Own(kinds.MinimalPairs):
        name = "own-pairs"

    try:
        task = dataclasses.replace(catalog.find("zorro"), kind=Own.name, path=str(folders / "data" / "zorro"))
        data = load(task, machine=machine, world=False)
        _, model, tokenizer = huggingface.read(folders / "bert")
        pretrained = Pretrained(model=model, tokenizer=tokenizer, positions=24)
        check_adaptation(pretrained, data, ZeroShot(length=24), machine)
    finally:
        del kinds.KINDS[Own.name]
