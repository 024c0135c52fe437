"""A study whose variants read the first corpus or all corpora: its runs, its audit, its errors."""

import json

import pytest

from bertlab import synthetic
from bertlab.store.runs import Store

STUDY = """
from bertlab import Inputs, Measurement, Study, Variant

study = Study(
    name="more-corpora",
    question="Does a second corpus help?",
    source="mine",
    baseline="first corpus",
    variants=[Variant("first corpus", inputs=Inputs(corpora=1)), Variant("all corpora")],
    measurements=[Measurement("loss", metric="masked_lm_loss")],
)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The study, and two files of text."""
    folder = tmp_path_factory.mktemp("corpora")
    study, texts = folder / "study.py", [*synthetic.documents(300)]
    study.write_text(STUDY)
    for name, part in (("first", texts[:100]), ("second", texts[100:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in part))
    return study, folder / "first.jsonl", folder / "second.jsonl"


@pytest.fixture(scope="module")
def options(files, tmp_path_factory):
    _, first, second = files
    return (
        "--scale",
        "smoke",
        "--corpus",
        first,
        "--corpus",
        second,
        "--runs",
        tmp_path_factory.mktemp("store") / "runs",
    )


def test_variants_are_evaluated_on_the_same_text_and_trained_on_their_own(call, files, options):
    assert call("ablate", files[0], *options, "--threads", "1", "--precision", "fp32") == 0
    runs = Store(options[-1]).runs()
    (text,) = (run.result() for run in runs if run.kind == "corpus")
    assert sum(map(sum, text.documents_by_source.values())) == 300
    trained = {run.label.rpartition("-seed")[0]: run for run in runs if run.kind == "pretrain"}
    first, every = (trained[f"more-corpora-{name}-{what}"] for name, what in (("first", "corpus"), ("all", "corpora")))
    for name in ("vocabulary", "unigram_entropy", "corpus"):
        assert getattr(first.result(), name) == getattr(every.result(), name)
    assert first.result().heldout["masked_lm_loss"] != every.result().heldout["masked_lm_loss"]
    recipes = [run.definition()["recipe"]["inputs"] for run in (first, every)]
    assert [each.pop("corpora", 0) for each in recipes] == [1, 0]
    assert recipes[0] == recipes[1]


def test_its_audit_tests_where_documents_are_from(call, files, options, capsys):
    assert call("audit", files[0], *options, "--json") == 0
    checks = {
        each["variants"][0]: {check["figure"]: check["expected"] for check in each["checks"]}
        for each in json.loads(capsys.readouterr().out)
    }
    assert checks["first corpus"]["documents of the sequences"] == "of the first corpus"
    assert "documents of the sequences" not in checks["all corpora"]


def test_with_a_single_corpus_it_is_refused_before_anything_is_prepared(call, files, tmp_path, capsys):
    study, first, _ = files
    assert call("ablate", study, "--scale", "smoke", "--corpus", first, "--runs", tmp_path / "runs") == 2
    error = capsys.readouterr().err
    assert "study 'more-corpora': variant 'first corpus': inputs.corpora is 1, and the number of corpora is 1" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_other_variants_than_the_baseline_that_lack_a_corpus_are_left_out(call, files, tmp_path, capsys):
    _, first, second = files
    last = 'Variant("last corpus", inputs=Inputs(corpora=-1)), Variant("short", fields={"inputs.length": "16"})'
    text = STUDY.replace('Variant("all corpora")', last).replace('baseline="first corpus"', 'baseline="last corpus"')
    (other := tmp_path / "other.py").write_text(text)
    plan = ("plan", other, "--scale", "smoke", "--runs", tmp_path / "runs", "--json", "--peak-tflops", 1, "--corpus")
    assert call(*plan, first) == 0
    output, error = capsys.readouterr()
    assert "leaves out 'first corpus', which read other corpora" in error
    assert json.loads(output)["pretrainings_asked"] == 2
    assert call(*plan, first, "--corpus", second) == 0
    assert json.loads(capsys.readouterr().out)["pretrainings_asked"] == 3
