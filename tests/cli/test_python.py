"""The Python interface, as the documentation shows it."""

import dataclasses
import inspect
import os
import re
import shutil
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pandas
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger

import bertlab
from bertlab import MaskedLM, Measurement, Study, Variant
from bertlab.errors import BadInput
from bertlab.execution import environment
from bertlab.lab import scales, studies
from bertlab.progress import silent
from bertlab.report import tidy
from bertlab.store.runs import Store
from bertlab.training.pretraining import pretrain

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "lightning.md"


@pytest.mark.filterwarnings("ignore")  # Lightning's advice to the user's own Trainer
def test_the_example_of_the_page_trains_as_a_command_does(finished, machine, tmp_path, monkeypatch):
    (block,) = re.findall(r"<!-- python -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "smoke-runs").symlink_to(finished)
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(machine.threads)  # another test of this process may have left more, which round otherwise
    names = {}
    exec(compile(block, PAGE.name, "exec"), names)
    module, recipe = names["module"], names["recipe"]
    assert recipe.objective[0].mask_prob == 0.4
    assert names["means"].xs(("80/10/10", 100), level=("variant", "milestone")).notna().all(axis=None)
    assert sum(value.numel() for value in names["encoder"].parameters()) > 1000

    (tmp_path / "work").mkdir()
    result = pretrain(recipe, names["corpus"], tmp_path / "work", machine, (100,), silent)
    assert module.heldout == pytest.approx(result["heldout"])
    kept = bertlab.PretrainingModule(recipe, names["corpus"].tokenizer.size).model
    kept.load(tmp_path / "work" / "model.safetensors")
    for (name, value), other in zip(kept.named_parameters(), module.model.parameters(), strict=True):
        assert torch.equal(value, other), name


def test_a_corpus_that_is_there_is_opened_as_it_is(tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text("".join(f'{{"text": "One sentence, number {number}. And another."}}\n' for number in range(200)))
    recipe = bertlab.make_recipe("smoke")
    made = bertlab.prepare_corpus(tmp_path / "corpus", recipe, [str(text)])
    text.unlink()
    again = bertlab.prepare_corpus(tmp_path / "corpus", recipe, [str(text)])
    assert again.facts == made.facts


def test_the_current_directory_becomes_no_corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="is the current directory: give a new one"):
        bertlab.prepare_corpus(".", bertlab.make_recipe("smoke"))
    assert not [*tmp_path.iterdir()]


def test_a_corpus_of_another_text_or_tokenizer_is_no_corpus(tmp_path, monkeypatch):
    for name in ("one", "two"):
        lines = "".join(f'{{"text": "Sentence {number} of {name}. And another."}}\n' for number in range(200))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    recipe, there = bertlab.make_recipe("smoke"), tmp_path / "corpus"

    def made(text, **changes):
        fields = {"tokenizer": dataclasses.replace(recipe.tokenizer, **changes)}
        return bertlab.prepare_corpus(there, dataclasses.replace(recipe, **fields), [str(tmp_path / f"{text}.jsonl")])

    def interrupted(corpus, tokenizer, located, directory, *files, **more):
        (directory / "train").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("bertlab.text.tokens.prepare", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made("one")
    first = made("one")
    for text, changes in (("two", {}), ("one", {"vocabulary": 600}), ("nowhere", {})):
        with pytest.raises(BadInput, match=r"another text or tokenizer|nowhere"):
            made(text, **changes)
    assert made("one").facts == first.facts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "one.jsonl", "two.jsonl"]


def test_what_is_unknown_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="unknown scale 'smok'"):
        bertlab.make_recipe("smok")
    with pytest.raises(BadInput, match="no-such"):
        bertlab.open_run(tmp_path, "no-such")
    assert bertlab.results(tmp_path).empty
    assert bertlab.make_recipe("tiny") == scales.find("tiny").recipe


@pytest.fixture(scope="module")
def runs(finished, tmp_path_factory):
    return shutil.copytree(finished, tmp_path_factory.mktemp("python") / "runs")


@pytest.fixture(scope="module")
def again(runs):
    """`ablate` with the options of `finished`, so that nothing is left to train, and with others."""

    def called(study="masking", **more):
        usual = {"only": ["80/10/10", "0/0/100"], "random_init": True, "runs": runs, "quiet": True}
        numerics = {"threads": 1, "workers": 0, "precision": "fp32"}
        return bertlab.ablate(study, scale="smoke", **usual | numerics | more)

    return called


def test_ablate_gives_what_the_command_prints(again, call, runs, smoke, capsys):
    before = {run.id for run in Store(runs).runs()}
    found = again()
    assert capsys.readouterr().out == ""
    assert found.complete
    assert {run.id for run in Store(runs).runs()} == before
    table = found.table
    assert list(table.index) == ["80/10/10", "0/0/100", "no pre-training"]
    values = bertlab.results(runs)
    assert found.values.equals(values)
    means = values.groupby(["variant", "measurement"])["value"].mean()
    for (variant, measurement), mean in means.items():
        assert table.loc[variant, measurement] == pytest.approx(mean)
    assert len(found.verdicts) == len(studies.find("masking").claims)
    assert set(found.summary["variant"]) == {*table.index}
    assert call(*smoke, "--runs", runs) == 0
    printed = capsys.readouterr().out
    again(quiet=False)
    assert capsys.readouterr().out == printed
    for shown in (repr(found), found._repr_html_()):
        assert f"{table.iloc[0, 0]:.2f}" in shown
        assert found.verdicts["claim"][0] in shown.replace("&amp;", "&")


def test_lightning_loggers_get_the_results_from_this_process_alone(again, tmp_path):
    logger = CSVLogger(tmp_path, "csv", "")
    found = again(loggers=[logger], workers=None, threads=0)
    logged = pandas.read_csv(tmp_path / "csv" / "metrics.csv").iloc[-1]
    for measurement, means in found.table.items():
        for variant, mean in means.dropna().items():
            assert logged[f"masking at smoke/mean/{measurement}: {variant}"] == pytest.approx(mean)
    with pytest.raises(BadInput, match="objects of this process"):
        again(loggers=[logger], workers=2)
    with pytest.raises(BadInput, match="loggers has 3"):
        again(loggers=[3])


def test_ablate_works_outside_of_the_main_thread(again):
    found = []
    thread = threading.Thread(target=lambda: found.append(again()))
    thread.start()
    thread.join()
    assert found[0].complete


GARBAGE = dict.fromkeys(("LOCAL_RANK", "RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "LSB_JOBID"), "x")


def test_functions_work_in_a_job_whose_variables_are_garbage(runs):
    code = (
        "import os, bertlab; run = bertlab.open_run('.', 'masking/80/10/10/0')\n"  # imports Lightning, which reads them
        "assert run.tokenizer.size and os.environ['LOCAL_RANK'] == 'x'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env=os.environ | GARBAGE, cwd=runs, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_ablate_trains_as_a_process_by_itself_in_a_job(again, monkeypatch):
    for name in GARBAGE:
        monkeypatch.setenv(name, "x")
    seen = []
    monkeypatch.setattr("bertlab.cli.jobs.run_jobs", lambda *_, **__: seen.append({**os.environ}) or False)
    assert not again(settings={"schedule.steps": 30}).complete
    assert not {*environment.NUMBERS} & seen[0].keys()
    assert os.environ["LOCAL_RANK"] == "x"


def test_options_mean_what_they_mean_on_the_command_line(again, capsys):
    def to_run(**options):
        done = again(quiet=False, dry_run=True, random_init=False, only="80/10/10", **options)
        assert done.table.empty
        (line,) = re.findall(r"pretrain +(\d+) +(\d+)\b", capsys.readouterr().out)
        return tuple(map(int, line))

    assert to_run() == to_run(seeds=1) == to_run(seeds=[0]) == to_run(claim_seeds="1") == (1, 0)
    assert to_run(seeds=3) == to_run(seeds=(2, 0, 1)) == (1, 2)
    assert to_run(seeds=[3]) == to_run(settings={"schedule.steps": 30}) == (0, 1)
    assert to_run(words=5000) == to_run(words="5K") == (0, 1)
    for wrong in ({"sed": 1}, {"seeds": 0}, {"settings": {"schedule.step": 1}}, {"budget": "long"}, {"gpu": 1}):
        with pytest.raises(BadInput):
            again(dry_run=True, **wrong)
    with pytest.raises(BadInput, match="unknown option of ablate 'precison': did you mean 'precision'"):
        again(precison="fp32")
    assert to_run(from_=None, vocab=None, substitute=None, logger=None) == (1, 0)
    with pytest.raises(BadInput, match="write settings="):
        again(set_=["schedule.steps=30"])
    for wrong in ({"threads": -1}, {"micro_batch": -1}, {"gpus": -1}, {"study": []}):
        with pytest.raises(BadInput):
            again(**{"dry_run": True} | wrong)


def test_a_study_of_python_is_kept_as_the_file_that_defines_it(again, runs, tmp_path):
    mine = dataclasses.replace(studies.find("masking"), name="mine", notes=["its own"])
    again(mine)
    (record,) = (each for each in Store(runs).records().values() if each.study == "mine")
    (sources,) = record.sources
    (tmp_path / "mine.py").write_text(sources["mine.py"])
    assert studies.find(str(tmp_path / "mine.py")) == mine
    assert record.command.startswith("bertlab ablate mine.py --scale smoke")
    pages = bertlab.report(runs, tmp_path / "out", "mine", formats="md")
    assert [path.name for path in pages] == ["index.md", "mine.md", "agreement.md"]
    assert {*bertlab.results([runs, runs])["study"]} == {"masking", "mine"}


def test_code_of_its_own_belongs_in_a_file(again):
    @dataclasses.dataclass(frozen=True)
    class Mine(MaskedLM):
        kind = "mine_of_python"

    study = Study(
        name="own",
        question="?",
        source="me",
        baseline="a",
        variants=[Variant("a"), Variant("b", objective=(Mine(),))],
        measurements=[Measurement("loss", metric="masked_lm_loss")],
    )
    with pytest.raises(BadInput, match=r"Mine is defined in .*: define it and the study in a file"):
        again(study, only=())


def test_every_public_name_is_documented_and_typed():
    for name in bertlab.__all__:
        value = getattr(bertlab, name)
        text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        assert text, name
        assert not text.startswith(f"{name}("), f"{name} has the text that a dataclass makes up"
        members = vars(value).values() if inspect.isclass(value) else [value]
        for each in members:
            function = getattr(each, "fget", each)
            if not inspect.isfunction(function) or function.__name__.startswith("_"):
                continue
            hints = inspect.signature(function)
            assert hints.return_annotation is not inspect.Signature.empty, f"{name}.{function.__name__}"
            own = [one for place, one in enumerate(hints.parameters.values()) if place or function is value]
            assert all(one.annotation is not one.empty for one in own), f"{name}.{function.__name__}"


def test_the_names_of_a_study_import_nothing_heavy():
    code = (
        "import sys\nfrom bertlab import Study, Variant, Measurement, Claim, ablate, report, results\n"
        "heavy = {'torch', 'lightning', 'pandas', 'scipy', 'matplotlib', 'datasets', 'ray', 'huggingface_hub'}\n"
        "assert not heavy & {*sys.modules}, sorted(heavy & {*sys.modules})\n"
        "import bertlab.report.escape\nassert bertlab.report is report and callable(report)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys\nbefore = {*sys.modules}\nimport bertlab\nprint(*{*sys.modules} - before)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert {each.partition(".")[0] for each in loaded} <= {"bertlab", "lazy_loader", *sys.stdlib_module_names}


def test_tables_can_be_computed_with(finished):
    """Numbers are numbers: seeds whole, values in floating point, also where some are absent."""
    table = bertlab.results(finished)
    assert (table["value"].dtype, table["pretrain_seed"].dtype) == ("float64", "Int64")
    found = tidy.typed(pandas.DataFrame({"effect": [0.5, None], "published": [Decimal("0.3"), None]}, dtype=object))
    assert (found["effect"] - found["published"])[0] == pytest.approx(0.2)
    assert table.nlargest(1, "value")["value"].item() == table["value"].max()
    with pytest.raises(BadInput, match="there is no store 'nowhere'"):
        bertlab.results("nowhere")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: bertlab.ablate(3), "study is 3: give a name, the path of a study file, or a Study"),
        (lambda: bertlab.make_recipe("smoke", mask_prob=0.4), "unknown field of a recipe 'mask_prob'"),
        (lambda: bertlab.ablate("masking", set={"schedule.steps": 5}), "write settings="),
        (lambda: bertlab.prepare_corpus("corpus", bertlab.make_recipe("smoke"), text="nowhere/"), "'nowhere/'"),
    ],
)
def test_a_wrong_argument_of_a_function_is_named(wrong, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=re.escape(message)):
        wrong()


def test_the_share_that_is_held_out_is_the_recipes(tmp_path):
    recipe = bertlab.make_recipe("smoke")
    text = tmp_path / "text.jsonl"
    text.write_text("".join(f'{{"text": "Sentence {number} of one. And another."}}\n' for number in range(400)))
    recipe = dataclasses.replace(recipe, corpus=dataclasses.replace(recipe.corpus, heldout=0.25))
    facts = bertlab.prepare_corpus(tmp_path / "corpus", recipe, [str(text)]).facts
    assert facts["heldout"]["documents"] / 400 == pytest.approx(0.25, abs=0.08)
