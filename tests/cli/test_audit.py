"""`bertlab audit` at smoke scale on a small text: every study is clean, faults give exit 1, nothing is trained."""

from __future__ import annotations

import dataclasses
import errno
import json
import os

import pytest

from bertlab.errors import Unwritable
from bertlab.lab import studies
from bertlab.objectives import MaskedLM
from bertlab.store.runs import Store


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("audit") / "runs"


@pytest.fixture
def audit(call, capsys, text_file, runs):
    """Runs an audit; gives its exit status, output and errors."""

    def audited(*arguments):
        code = call("audit", *arguments, "--scale", "smoke", "--corpus", text_file, "--runs", runs)
        return code, *capsys.readouterr()

    return audited


def test_every_study_is_clean_and_each_variant_is_in_one_audit(audit, runs):
    """Mixtures read tasks too, which beside a text of one's own are on the Hub: `test_mixing` audits one."""
    names = [name for name in studies.names() if not any(each.multitask for each in studies.find(name).variants)]
    code, output, errors = audit(*names, "--json", "--set", "corpus.annotator=microworld")
    assert code == 0, errors
    found = json.loads(output)
    assert all(each["holds"] for each in found)
    audited = [variant for each in found for variant in each["variants"]]
    every = [(name, each) for name in names for each in studies.find(name).variants]
    # a variant on the first of several corpora is left out where there is one
    expected = [f"{name}: {each.name}" for name, each in every if not each.inputs or each.inputs.corpora < 1]
    assert sorted(audited) == sorted(expected)
    baseline = next(each["variants"] for each in found if "masking: 80/10/10" in each["variants"])
    assert {"nsp: BERT", "nsp: no NSP", "formats: segment pair", "size: L/4", "features: last"} <= set(baseline)
    assert "nsp: LTR & no NSP" not in baseline
    assert {run.kind for run in Store(runs).runs()} == {"corpus"}


def test_a_table_of_figures_with_their_tests(audit):
    code, output, errors = audit("masking", "--only", "80/10/10", "--only", "100/0/0")
    assert (code, errors) == (0, "")
    assert "80/10/10: at most 32 tokens per sequence" in output
    for column in ("statistic", "found", "expected", "test", "holds", "p = ", "exact, "):
        assert column in output
    assert "0 fail" in output
    assert "80/0/20" not in output


def test_a_store_with_the_text_may_be_read_only(audit, monkeypatch):
    arguments = ("masking", "--only", "80/10/10")
    assert audit(*arguments)[0] == 0

    def refuse(store):
        raise Unwritable(store.root, OSError(errno.EROFS, os.strerror(errno.EROFS)))

    monkeypatch.setattr(Store, "create_directories", refuse)
    assert audit(*arguments)[0] == 0


def test_a_fault_is_a_line_and_exit_1(audit, monkeypatch):
    transform = MaskedLM.batch_transform

    def once(self, *given):
        """The masks of the first epoch in every epoch."""
        examples = transform(self, *given)
        return lambda sequences: examples(dataclasses.replace(sequences, epoch=0))

    monkeypatch.setattr(MaskedLM, "batch_transform", once)
    code, output, errors = audit("dynamic", "--set", "schedule.batch_size=64")
    assert code == 1
    assert "FAILS" in output
    lines = errors.splitlines()
    assert any(line.startswith("dynamic: another choice after 10 epochs: 100.00%; expected 1") for line in lines)
    assert any(line.startswith("static, ten copies: another choice after 1 epoch: ") for line in lines)
    assert not any(line.startswith("static, one mask: ") for line in lines)


def test_a_fault_is_in_the_json(audit, monkeypatch):
    transform = MaskedLM.batch_transform

    def shifted(self, *given):
        examples = transform(self, *given)

        def made(sequences):
            arrays = examples(sequences)
            return {**arrays, "targets": arrays["targets"] + (arrays["targets"] > 0)}

        return made

    monkeypatch.setattr(MaskedLM, "batch_transform", shifted)
    code, output, errors = audit("masking", "--only", "80/10/10", "--json")
    assert code == 1
    (found,) = json.loads(output)
    assert not found["holds"]
    failed = {check["figure"]: check["where"] for check in found["checks"] if check["holds"] is False}
    assert failed["labels put back"] == "step 0, sequence 0"
    assert "80/10/10: labels put back: " in errors


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "return lambda sequences: 1 / 0",
            "bertlab: ZeroDivisionError: division by zero (mine.py, line 7); correct it",
        ),
        (
            "return MaskedLM(selection=Own()).batch_transform(*given)",
            "bertlab: AttributeError: 'int' object has no attribute 'valid', in the computation of Mine; correct it",
        ),
    ],
)
def test_a_mistake_in_the_code_of_a_study_file_is_a_line_and_exit_2(audit, tmp_path, body, says):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from bertlab import MaskedLM, Measurement, Selection, Study, Variant\n"
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Mine(MaskedLM):\n"
        "    kind = 'mine_of_an_audit'\n"
        "    def batch_transform(self, *given):\n"
        f"        {body}\n"
        "@dataclass(frozen=True)\n"
        "class Own(Selection):\n"
        "    kind = 'own_of_an_audit'\n"
        "    def apart(self, chosen):\n"
        "        return chosen\n"
        "    def chooser(self, *given):\n"
        "        return lambda sequences, keys: 7\n"
        "study = Study(name='wrong', question='?', source='me', baseline='a',\n"
        "    variants=[Variant('a', objective=(Mine(),))],\n"
        "    measurements=[Measurement('loss', metric='masked_lm_loss')])\n"
    )
    code, _, errors = audit(mine)
    assert (code, errors.splitlines()[-1]) == (2, says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["maskin"], "did you mean 'masking'"),
        (["masking", "--only", "80/10/1"], "did you mean '80/10/10'"),
        (["masking", "--set", "masked_lm.mask_prop=0.2"], "did you mean 'masked_lm.mask_prob'"),
        (["dynamic", "--set", "schedule.steps=1000000"], "inputs.epochs is 40"),
    ],
)
def test_bad_input_is_a_line_and_exit_2(audit, arguments, says):
    code, _, errors = audit(*arguments)
    assert code == 2
    assert says in errors
    assert len(errors.splitlines()) == 1
