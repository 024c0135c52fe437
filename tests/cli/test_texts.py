"""What commands say of a text before anything is trained on it."""

import json

import pytest

from bertlab.store.runs import Store

STUDY = """
from bertlab import MaskedLM, Measurement, SentenceOrder, Study, Variant

study = Study(
    name="order",
    question="Does it help to learn the order?",
    source="mine",
    baseline="none",
    variants=[
        Variant("none", objective=(MaskedLM(),)),
        Variant("order", objective=(MaskedLM(), SentenceOrder())),
    ],
    measurements=[Measurement("loss", metric="masked_lm_loss")],
)
"""
SENTENCES = ("The old mill of {} is still.", "A {} stands at its door.", "Nobody has seen the {} there.")
NAMES = ("fox", "hen", "owl", "cow", "dog", "ant")


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.py"
    path.write_text(STUDY)
    return path


def document(place, end="\n"):
    return end.join(f"{text.format(NAMES[place % 6])} It is number {place}." for text in SENTENCES)


def test_one_file_of_documents_needs_the_field_that_the_error_names(call, study, tmp_path, capsys):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n\n".join(map(document, range(40))))
    options = (study, "--corpus", corpus, "--scale", "smoke", "--runs", tmp_path / "runs")
    assert call("audit", *options) == 2
    assert "--set corpus.documents=blank-line" in capsys.readouterr().err
    fields = ("--set", "corpus.documents=blank-line", "--set", "schedule.steps=4")
    assert call("ablate", *options, *fields) == 0
    out = capsys.readouterr().out
    assert "text: 1 file, 40 documents\n" in out
    facts = "text: 1 file, 40 documents, 6.0 sentences each (median), 0.0 % unknown tokens, "
    assert f"{facts}100 % of the sequences have something to predict" in out
    assert "% of the pairs have an order" in out
    (trained,) = {run.result().text["documents"] for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain"}
    assert trained == 40
    assert call("report", "--runs", tmp_path / "runs", "--out", tmp_path / "out", "--format", "md") == 0
    assert "1 file, 40 documents, 6.0 sentences each" in (tmp_path / "out" / "order.md").read_text()


def test_a_loss_without_targets_ends_a_command_before_anything_is_trained(call, study, tmp_path, capsys):
    corpus = tmp_path / "lines.jsonl"
    corpus.write_text(
        "".join(json.dumps({"text": document(each).split("\n")[0].split(". ")[0]}) + "\n" for each in range(40))
    )
    options = (study, "--corpus", corpus, "--scale", "smoke", "--runs", tmp_path / "runs")
    assert call("ablate", *options) == 2
    said = capsys.readouterr().err
    assert "order-order: objective sentence_order has no target" in said
    assert "Traceback" not in said
    assert {run.kind for run in Store(tmp_path / "runs").runs()} == {"corpus"}
    assert call("audit", *options) == 1
    assert "targets of sentence_order: 0.00% of the pairs have an order" in capsys.readouterr().err


def test_a_dry_run_says_which_files_are_read(call, study, tmp_path, capsys):
    for split in ("train", "validation", "test"):
        path = tmp_path / "clone" / "data" / f"{split}-00000-of-00001.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps({"text": f"{document(each)} {split}"}) + "\n" for each in range(8)))
    options = (
        "ablate",
        study,
        "--corpus",
        tmp_path / "clone",
        "--scale",
        "smoke",
        "--runs",
        tmp_path / "runs",
        "--dry-run",
    )
    assert call(*options) == 0
    assert "text: 1 of 3 files (data/train-00000-of-00001.jsonl), 8 documents\n" in capsys.readouterr().out
    assert call(*options, "--json") == 0
    assert json.loads(capsys.readouterr().out)["text"] == [{"files": [1, 3], "documents": 8}]
