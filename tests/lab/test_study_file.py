"""A user's study file: code and data, the ids of runs with code, and values that a recipe refuses."""

import pytest

from bertlab.errors import BadInput
from bertlab.lab import builtin_studies, plan, scales, studies
from bertlab.lab.jobs import Evaluation
from bertlab.lab.record import records
from bertlab.lab.study_file import StudyFile
from bertlab.lab.study_file import written as source_of
from bertlab.machine import Machine

DATA = """
\"\"\"A study.\"\"\"
import dataclasses, math
from pathlib import Path
from bertlab.lab.study import Claim, Measurement, Study, Task, Variant
from bertlab import WordPiece
from bertlab.objectives import Corruption, MaskedLM, NextSentence

RATES = [0.15, *(rate / 100 for rate in range(40, 60, 10))]
names = {rate: f"{math.floor(100 * rate)} %" for rate in RATES}
variants = []
for rate in RATES:
    variants.append(Variant(names[rate], objective=(MaskedLM(mask_prob=rate), NextSentence())))
published: dict[tuple[str, str], float] = {}
published["15 %", "loss"] = 84.2
if len(variants) > 1:
    other = MaskedLM(corruption=Corruption(mask=0.9, keep=0.1, random=0.0))
    variants += [dataclasses.replace(variants[0], name=" ".join(("one", "more")), objective=(other, NextSentence()))]
study = Study(name="rate", question="?", source="me", baseline=variants[0].name, variants=variants, published=published,
              measurements=[Measurement("loss", metric="masked_lm_loss")])
HERE = Path(__file__).parent
"""
CODE = {
    "a function": "def f():\n    pass",
    "a class": "class Mine(MaskedLM):\n    pass",
    "a lambda": "f = lambda: 1",
    "an attribute": "from bertlab import recipe\nrecipe.X = 1",
    "an attribute of a class": "MaskedLM.chosen = 1",
    "an import": "import os",
    "an import of the package": "from bertlab.inputs import batches",
    "setattr": "setattr(MaskedLM, 'x', 1)",
    "setattr as a value": "f = setattr\nf(MaskedLM, 'x', 1)",
    "setattr mapped": "list(map(setattr, [MaskedLM], 'x', [1]))",
    "a class that is no statement": "Mine = type('Mine', (MaskedLM,), {})",
    "what is hidden": "MaskedLM.__init__.__globals__.update({})",
    "deletion": "del MaskedLM.kind",
    "exec": "exec('1')",
}


def written(tmp_path, text, **beside):
    for name, content in beside.items():
        (tmp_path / f"{name}.py").write_text(content)
    (tmp_path / "mine.py").write_text(text)
    return StudyFile.read(str(tmp_path / "mine.py"))


def test_data_are_no_code(tmp_path):
    found = written(tmp_path, DATA)
    assert found.code is None
    assert found.sources == {"mine.py": DATA}
    assert len(studies.find(found.argument).variants) == 4
    for name in studies.names():
        assert StudyFile.read(str(builtin_studies.path(name))).code is None, name


@pytest.mark.parametrize("what", CODE)
def test_what_may_change_a_run_is_code(tmp_path, what):
    assert written(tmp_path, f"{DATA}\n{CODE[what]}\n").code is not None


def test_modules_beside_are_kept_and_hashed_if_one_of_them_is_code(tmp_path):
    data, code = "RATES = [0.4]\n", "from bertlab.inputs import batches\nimport deeper\n"
    plain = written(tmp_path, f"import more_rates\n{DATA}", more_rates=data)
    assert plain.code is None
    assert sorted(plain.sources) == ["mine.py", "more_rates.py"]
    first = written(tmp_path, f"import patches\n{DATA}", patches=code, deeper="")
    assert sorted(first.sources) == ["deeper.py", "mine.py", "patches.py"]
    again = written(tmp_path, f"import patches\n{DATA}", patches=code, deeper="")
    assert first.code == again.code is not None
    changed = written(tmp_path, f"import patches\n{DATA}", patches=f"{code}\nx = 1\n", deeper="")
    called = written(tmp_path, f"import patches\n{DATA}\npatches.install(0.3)\n", patches=code, deeper="")
    assert len({code_file.code.sha256 for code_file in (first, changed, called)}) == 3


def test_code_is_in_the_ids_of_all_runs_and_in_the_record(tmp_path, machine):
    def made(text, **beside):
        study = studies.find(written(tmp_path, text, **beside).argument)
        return plan.make(plan.Request(studies=(study,), scale=scales.find("smoke"), seeds=(0, 1)), machine)

    text = DATA.replace("measurements=[", "measurements=[Measurement('MNLI', task='mnli'), ")
    pure, patched = (
        made(text),
        made(f"import helper_of_tests\n{text}", helper_of_tests="VALUE = []\ndef f():\n    VALUE\n"),
    )
    assert not {job.id for job in pure.jobs} & {job.id for job in patched.jobs}
    assert sum(isinstance(job, Evaluation) for job in patched.jobs) == 8
    assert all(job.definition()["code"] == patched.jobs[0].code.sha256 for job in patched.jobs)
    (record,) = records(patched).values()
    assert sorted(record.sources[0]) == ["helper_of_tests.py", "mine.py"]
    study = patched.request.studies[0]
    with pytest.raises(BadInput, match=r"mine.py' defines code, which may change any run: run it alone"):
        plan.make(plan.Request(studies=(study, studies.find("nsp")), scale=scales.find("smoke")), machine)


def test_code_that_has_changed_is_refused(tmp_path):
    code = written(tmp_path, f"{DATA}\ndef f(): pass\n").code
    written(tmp_path, f"{DATA}\ndef f(): return 1\n")
    with pytest.raises(BadInput, match=r"mine.py' has changed since the command began"):
        code.require()


REFUSED = {
    "class WholeWord(MaskedLM):\n    unit = 'word'\nvariants.append(Variant('w', objective=(WholeWord(),)))":
        r"variant 'w': objective is .*: make WholeWord a dataclass with a kind of its own",
    "variants.append(Variant('w', objective=(MaskedLM(unit='word'),)))": r"'unit' \(line \d+\); choose from copies, ",
    "MaskedLM(mask_probability=0.4)": r"keyword argument 'mask_probability' \(line \d+\); did you mean 'mask_prob'\?$",
    "def mine(rate):\n    pass\nmine(rat=1)": r"unexpected keyword argument 'rat' \(line \d+\); did you mean 'rate'\?$",
    "from bertlab import MaskedLMM": r"'MaskedLMM' from 'bertlab' .*\(line \d+\); did you mean 'MaskedLM'\?$",
    "from dataclasses import fild": r"'fild' from 'dataclasses' .*\(line \d+\); correct it$",
    "class Row(Variant):\n    pass\nvariants.append(Row('w'))": r"study 'rate': variants is .*: give Variant",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_a_recipe_does_not_know_is_refused(tmp_path, text):
    file = written(tmp_path, DATA.replace("study = Study(", f"{text}\nstudy = Study("))
    with pytest.raises(BadInput, match=REFUSED[text]):
        studies.find(file.argument)


def planned(study, machine, sets=(), scale="smoke"):
    return plan.make(plan.Request(studies=(study,), scale=scales.find(scale).set(list(sets))), machine)


def test_a_field_that_only_variants_give_is_changed_in_the_study_file(tmp_path, call, capsys):
    text = DATA.replace("study = Study(", "variants += [Variant('ltr', objective=(CausalLM(),))]\nstudy = Study(")
    file = written(tmp_path, f"from bertlab import CausalLM, SpanBoundary\n{text}")
    assert call("ablate", file.argument, "--dry-run", "--scale", "smoke", "--set", "span_boundary.position_size=8") == 2
    line = "bertlab: span_boundary.position_size has no effect: objective is masked_lm, next_sentence"
    assert capsys.readouterr().err.strip() == line
    text = text.replace("CausalLM()", "MaskedLM(), SpanBoundary()")
    file = written(tmp_path, f"from bertlab import CausalLM, SpanBoundary\n{text}")
    assert call("ablate", file.argument, "--dry-run", "--scale", "smoke", "--set", "span_boundary.position_size=8") == 2
    why = f"has no effect on the scale: variant ltr sets it in study 'rate', change it in '{file.argument}'"
    assert capsys.readouterr().err.strip() == f"bertlab: --set span_boundary.position_size {why}"


@pytest.mark.parametrize(
    ("study", "path"),
    [
        ("masking", "masked_lm.corruption.keep=0.3"),
        ("features", "features.layers=last"),
        ("nsp", "tagging.bilstm=true"),
        ("dynamic", "masked_lm.schedule=static"),
    ],
)
def test_fields_that_a_study_varies_cannot_be_set(machine, study, path):
    with pytest.raises(BadInput, match=rf"--set {path.partition('=')[0]}: study '{study}' sets it for its variants"):
        planned(studies.find(study), machine, [path, *["masked_lm.corruption.mask=0.6"] * path.endswith("0.3")])


def test_a_study_whose_variants_are_all_the_same_runs_is_refused(tmp_path, machine):
    text = DATA.replace("mask_prob=rate", "mask_prob=0.15").replace("keep=0.1, random=0.0", "random=0.0, keep=0.2")
    text = text.replace("mask=0.9", "mask=0.8").replace(", objective=(other, NextSentence())", "")
    same = studies.find(written(tmp_path, text).argument)
    with pytest.raises(BadInput, match=r"study 'rate': all its variants are the same runs at scale smoke"):
        planned(same, machine)
    planned(studies.find("size"), machine)  # of which some are, at this scale


def test_a_task_lies_beside_its_study_file(tmp_path, machine, monkeypatch):
    (tmp_path / "deep" / "task").mkdir(parents=True)
    for split in ("train", "validation"):
        (tmp_path / "deep" / "task" / f"{split}.jsonl").write_text('{"s": "a", "label": 0}\n{"s": "b", "label": 2}\n')
    task = "Measurement('own', task=Task(kind='classification', path='task', text=('s',)), metric='METRIC'), "
    monkeypatch.chdir(tmp_path)
    for metric in ("accuracy", "f1"):
        text = DATA.replace("measurements=[", f"measurements=[{task.replace('METRIC', metric)}")
        (tmp_path / "deep" / "mine.py").write_text(text)
        made = planned(studies.find("deep/mine.py"), machine)
        assert {str(job.data.folder) for job in made.jobs if isinstance(job, Evaluation)} == {"deep/task"}
    from bertlab.store.runs import Store

    with pytest.raises(BadInput, match=r"'own': a classification task .* no metric 'f1': choose metric= from acc"):
        plan.check_data(made, Store(tmp_path / "runs"), Machine(cache=machine.cache))


def test_a_metric_of_two_labels_is_refused_for_three(machine):
    from bertlab.lab.study import Measurement, Study, Variant

    study = Study(name="o", question="?", source="me", baseline="a", variants=[Variant("a")],
                  measurements=[Measurement("m", task="mnli", metric="f1")])  # fmt: skip
    with pytest.raises(BadInput, match=r"'m': a classification task .* no metric 'f1': choose metric= from accuracy"):
        planned(study, machine)


@pytest.mark.parametrize("name", studies.names())
def test_a_study_as_source_is_the_same_study(name, tmp_path):
    study, path = studies.find(name), tmp_path / "mine.py"
    path.write_text(source_of(study))
    back = studies.find(str(path))
    assert back == study
    assert back.file.code is None
