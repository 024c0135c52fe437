"""The README, CONTRIBUTING.md, the documentation and the notebook show code that works."""

import dataclasses
import importlib.util
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pandas
import pytest
import torch
import typer

import bertlab
from bertlab import CausalLM, FullSentences, Inputs, MaskedLM
from bertlab.audit import audit
from bertlab.cli.main import app
from bertlab.inputs.batches import Batches
from bertlab.lab import plan, scales, studies
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.store.runs import Store
from bertlab.tasks import kinds
from bertlab.training.data import to_tensors

ROOT = Path(__file__).parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}
BLOCKS = [(name, block) for name, text in PAGES.items() for block in re.findall(r"```python\n(.*?)```", text, re.S)]
FILES = dict.fromkeys(block for _, block in BLOCKS if "study = Study(" in block)
COMMANDS = dict.fromkeys(
    line
    for text in PAGES.values()
    for block in re.findall(r"```bash\n(.*?)```", text, re.S)
    for part in block.splitlines()
    for line in re.findall(r"(?:^|\s|/)(bertlab [a-z-].*?)(?:$|\s+#|\s+&)", part)
)


def script(name):
    """A script of `docs/`, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(folder, text):
    path = folder / (re.search(r'name="([a-z-]+)"', text)[1] + ".py")
    path.write_text(text)
    return path


def test_there_is_code():
    assert len(FILES) >= 5
    assert len(COMMANDS) >= 30


def test_the_python_of_all_pages_is_the_one_that_is_tested():
    shown = [block for text in PAGES.values() for block in re.findall(r"<!-- python -->\n(```.*?```)", text, re.S)]
    assert len(set(shown)) == 1


@pytest.mark.parametrize("text", FILES, ids=lambda text: re.search(r'name="([a-z-]+)"', text)[1])
def test_a_study_that_is_shown_has_a_plan(tmp_path, machine, text):
    (tmp_path / "spam").mkdir()
    for split in ("train", "validation"):
        lines = [json.dumps({"sentence": f"text {number}", "label": ("no", "yes")[number % 2]}) for number in range(8)]
        (tmp_path / "spam" / f"{split}.jsonl").write_text("\n".join(lines))
    study = studies.find(str(written(tmp_path, text)))
    corpora = "microworld", "microworld:2000"  # one study compares the first with both
    made = plan.make(plan.Request(studies=(study,), scale=scales.find("smoke"), corpora=corpora), machine)
    pretrained = [job.kind for job in made.jobs].count("pretrain")
    assert pretrained == (1 if all(variant.adaptation for variant in study.variants) else 2)
    assert len(study.variants) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_shown_can_be_given(command):
    group = typer.main.get_command(app)
    _, name, *rest = shlex.split(command.replace("$SCRATCH", "scratch").replace("$head", "host"))
    if name.startswith("-"):
        return
    context = group.commands[name].make_context(name, rest)
    scale = scales.find(context.params.get("scale") or "micro")
    scale.set([each for each in context.params.get("set_") or [] if not each.startswith("FIELD")])
    given = context.params.get("study") or ()
    named = {each.split(".")[1] for each in context.params.get("set_") or [] if each.startswith("tasks.")}
    assert all(named <= {each.task for each in studies.find(study).measurements} for study in given if named)
    for study in [given] if isinstance(given, str) else given:  # `runs` takes one
        assert study in (*studies.names(), "all", "STUDY") or study.endswith(".py")


def test_the_model_of_your_own_of_the_readme_is_trained_and_answers(tmp_path, call, monkeypatch, capfd, finished):
    """Its commands in their order, but for the installation."""
    section = PAGES["README.md"].partition("## A model of your own\n")[2].partition("\n## ")[0]
    install, *commands = re.search(r"```bash\n(.*?)```", section, re.S)[1].splitlines()
    assert install.startswith("pip install -c constraints.txt transformers ")
    shutil.copytree(finished / "corpus", tmp_path / "runs" / "corpus")  # building it takes as long as the rest
    monkeypatch.chdir(tmp_path)
    for command in commands:
        if command.startswith("bertlab "):
            assert call(*shlex.split(command)[1:]) == 0
        else:
            done = subprocess.run(["bash", "-c", command.replace("python", sys.executable, 1)], check=False)
            assert done.returncode == 0
    printed = capfd.readouterr().out
    answers = [json.loads(line) for line in printed.splitlines() if line.startswith('{"line"')]
    assert [answer["line"] for answer in answers] == [2, 3]
    assert {answer["label"] for answer in answers} <= {"negative", "positive"}
    assert re.search(r"\[{'label': '(negative|positive)', 'score': [\d.]+}\]", printed)


def test_the_selection_of_the_readme_is_audited_and_trained(tmp_path, call, text_file):
    (text,) = (text for text in FILES if "(Selection)" in text)
    assert sum(map(bool, text.splitlines())) < 30
    path = written(tmp_path, text)
    common = ("--scale", "smoke", "--corpus", text_file, "--runs", tmp_path / "runs")
    assert call("audit", path, "--only", "block", *common) == 0
    assert call("ablate", path, "--threads", "1", "--precision", "fp32", *common) == 0
    results = [run.result().heldout for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain"]
    # Single tokens are what the fixed evaluation masks: one of the two is its own.
    assert [each["own_loss"] == each["masked_lm_loss"] for each in results].count(True) == 1
    assert len(results) == 2


def shown(base, folder):
    """The study of the pages whose class extends `base`."""
    (text,) = (text for text in FILES if f"({base})" in text)
    return studies.find(str(written(folder, text)))


def test_the_loss_of_the_pages_smooths_labels(tmp_path):
    smoothed = shown("MaskedLM", tmp_path).variant("smoothed").objective[0]
    recipe = bertlab.make_recipe("smoke", objective=(smoothed,))
    head, hidden, embeddings = smoothed.new_head(recipe.model, 50), torch.randn(2, 3, 32), torch.randn(50, 32)
    targets, weights = torch.tensor([[7, 8, 0], [9, 0, 0]]), torch.tensor([[1.0, 1, 0], [1, 0, 0]])
    arrays = {"targets": targets, "weights": weights}
    found = smoothed.loss_sum(head, hidden, arrays, embeddings)
    logs = head(hidden, embeddings).log_softmax(-1)
    expected = -0.9 * logs.gather(-1, targets[..., None])[..., 0] - 0.1 * logs.mean(-1)
    torch.testing.assert_close(found, (expected * weights).sum())


def test_the_loss_of_the_pages_with_a_head_of_its_own_finds_replaced_tokens(tmp_path, corpus):
    replaced = shown("Loss", tmp_path).variant("replaced").objective[0]
    inputs = Inputs(format=FullSentences(), length=32)
    alone = bertlab.make_recipe("smoke", objective=(replaced,), inputs=inputs)
    assert all(check.holds is not False for each in audit(alone, corpus) for check in each.checks)
    recipe = bertlab.make_recipe("smoke", objective=(MaskedLM(), replaced), inputs=inputs)
    batch = Batches(recipe, corpus).batch(0)
    arrays = batch.arrays["replaced"]
    assert (arrays["before"] == corpus.tokenizer.mask).any()  # it sees what the loss before it has shown
    assert arrays["weights"].sum() == batch.lengths.sum() == replaced.count(arrays)
    several = [Batches(alone, corpus).batch(step).arrays["replaced"] for step in range(20)]
    labels, count = (sum(each[name].sum() for each in several) for name in ("labels", "weights"))
    assert 0.12 < labels / count < 0.16  # of the ordinary tokens 15 %
    model = PretrainingModel.of(recipe, corpus.tokenizer.size).eval()
    whole, *halves = (tensors(batch.rows(slice(low, high))) for low, high in ((0, 99), (0, 3), (3, 99)))
    losses = [model.losses(each)["replaced"] for each in (whole, *halves)]
    torch.testing.assert_close(losses[0], losses[1] + losses[2])
    (evaluation,) = replaced.evaluations(recipe, corpus, 64, final=True)
    with torch.inference_mode():
        sums = [evaluation.sums(model, tensors(each)) for each in evaluation.batches]
    found = evaluation.metrics({name: sum(float(each[name]) for each in sums) for name in evaluation.names})
    assert found.keys() == replaced.metric_labels.keys()
    assert found["replaced_loss"] == pytest.approx(0.69, abs=0.1)  # of a model that knows nothing
    assert found[replaced.selection_metric] == found["replaced_loss"]
    head = model.replaced_head
    assert sum(value.numel() for value in head.parameters()) == replaced.parameters(recipe.model, corpus.tokenizer.size)


def tensors(batch):
    return to_tensors(batch).to("cpu")


def test_the_adaptation_of_the_pages_trains_all_but_the_embeddings(tmp_path, finished):
    adaptation = shown("FineTuning", tmp_path).variant("fixed").adaptation
    encoder = adaptation.encoder(bertlab.open_run(finished, "masking-80-10-10-seed0").model, (0,))
    trained = [{weight.requires_grad for weight in level.parameters()} for level in encoder.levels]
    assert trained == [{False}] + [{True}] * (len(trained) - 1)
    assert len(trained) > 2
    setting = scales.find("smoke").finetune
    at_scale = adaptation.at_scale(setting, scales.find("smoke").features)
    assert (type(at_scale), at_scale.peak_lr, at_scale.max_steps) == (
        type(adaptation),
        setting.peak_lr,
        setting.max_steps,
    )


@pytest.mark.parametrize("short", [1000, 0], ids=["products", "fused"])
@pytest.mark.parametrize("objective", [(MaskedLM(),), (CausalLM(),)], ids=["both ways", "causal"])
def test_a_token_sees_only_those_nearby_in_the_encoder_of_the_pages(tmp_path, monkeypatch, objective, short):
    """Sequences of 160 and 90 tokens, whole and read at positions: the 50th token is seen by those up to 2 away."""
    monkeypatch.setattr("bertlab.model.kernels.attention.SHORT", short)
    local = dataclasses.replace(shown("Model", tmp_path).variant("local").model, layers=1, hidden=16, heads=2, window=4)
    encoder = PretrainingModel(local, 50, 160, 0, objective).eval().encoder
    tokens = torch.randint(5, 50, (2, 160), generator=torch.Generator().manual_seed(0))
    changed = tokens.clone()
    changed[:, 50] = 3
    padding = torch.tensor([160, 90])
    first, second = (encoder(TensorBatch.of(shown, padding)) for shown in (tokens, changed))
    for before, after in zip(first, second, strict=True):
        assert (before != after).any(-1).nonzero()[:, 0].tolist() == [*range(50 if encoder.causal else 48, 53)]
    positions = torch.tensor([[0, 50, 159, 53], [89, 48, 53, 0]])
    read = encoder(TensorBatch.of(tokens, padding), positions)
    expected = torch.stack([row[places] for row, places in zip(first, positions, strict=True)])
    torch.testing.assert_close(read, expected, rtol=0, atol=1e-6)
    alone = encoder(TensorBatch.of(tokens[1:, :90]))
    torch.testing.assert_close(first[1, :90], alone[0], rtol=0, atol=1e-6)


def test_the_tokenizer_of_the_pages_splits_characters(tmp_path):
    trained = shown("Tokenizer", tmp_path).variant("characters").tokenizer.train(["A cat", "a bat"])
    assert [trained.vocabulary[number] for number in trained.encode(["a Bat"])[0]] == ["a", " b", "a", "t"]


def test_the_metric_of_the_pages_is_kept_for_reports(tmp_path, call, text_file):
    (text,) = (text for text in FILES if "(Classification)" in text)
    rows = [json.dumps({"sentence": f"text {number}", "label": int(number % 3 == 0)}) for number in range(60)]
    for split in ("train", "validation"):
        path = tmp_path / "mirror" / "sst2" / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows))
    runs = tmp_path / "runs"
    where = ("--corpus", text_file, "--data", tmp_path / "mirror", "--scale", "smoke", "--runs", runs)
    assert call("ablate", written(tmp_path, text), *where, "--threads", "1", "--precision", "fp32") == 0
    found = [run for run in Store(runs).runs() if run.kind == "finetune"]
    assert len(found) == 2
    for run in found:
        with numpy.load(run.path / "predictions.npz") as arrays:
            right = arrays["prediction"] == arrays["label"]
            by_label = [right[arrays["label"] == label].mean() for label in (0, 1)]
            assert run.result().metrics["balanced_accuracy"] == pytest.approx(100 * numpy.mean(by_label))
            assert arrays["metric_balanced_accuracy"].mean() == pytest.approx(100 * numpy.mean(by_label))
    del kinds.KINDS["balanced classification"]  # another process
    assert call("report", "--runs", runs, "--out", tmp_path / "reports", "--format", "md") == 0
    lines = pandas.read_csv(tmp_path / "reports" / "balance-summary.csv").query("variant == 'no NSP'")
    assert {"accuracy", "balanced_accuracy"} <= {*lines.metric}
    assert (lines.examples == 60).all()


def test_every_public_name_is_in_the_reference():
    shown = re.findall(r"^::: bertlab\.(\w+)$", PAGES["docs/reference/python.md"], re.M)
    assert sorted(shown) == sorted(bertlab.__all__)


def test_every_name_of_the_reference_exists():
    for name in re.findall(r"^::: (\S+)$", PAGES["docs/reference/python.md"], re.M):
        assert pkgutil.resolve_name(name).__doc__, name


@pytest.fixture(scope="module")
def reference():
    """The objects of the reference as mkdocstrings reads them, and the filters of their members in mkdocs.yml."""
    griffe = pytest.importorskip("griffe", reason="no griffe: install the group `docs`")
    package = griffe.GriffeLoader(search_paths=[ROOT], allow_inspection=False).load("bertlab")
    names = re.findall(r"^::: bertlab\.(\S+)$", PAGES["docs/reference/python.md"], re.M)
    found = [package[name] for name in names]
    written = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    filters = json.loads(re.search(r"filters:[^\n]*\n? *(\[.*\])$", written, re.M)[1])
    assert "show_if_no_docstring: false" in written
    shown = [each.final_target if each.is_alias else each for each in found]
    return shown, [each.removeprefix("!") for each in filters]


def test_every_entry_of_the_reference_says_something(reference):
    """A member without a docstring is not on the page: only a constant that a base class describes may lack one."""
    shown, filters = reference
    fields, empty = 0, []
    for each in shown:
        assert each.docstring, each.path
        kind = pkgutil.resolve_name(each.path)
        for name, member in each.members.items() if each.is_class else ():
            if any(re.search(pattern, name) for pattern in filters):
                continue
            text = member.docstring.value if member.docstring else ""
            annotated = name in vars(kind).get("__annotations__", ())
            constant = member.is_attribute and "instance-attribute" not in member.labels
            fields += annotated and not constant
            above = [base[name] for base in each.mro() if constant and name in base.members]
            words = {*re.findall("[a-z]+", text.lower())} - {*re.findall("[a-z]+", name), "the", "a", "an", "of", "its"}
            if not words and (text or (annotated and not any(base.docstring for base in above))):
                empty.append(f"{each.name}.{name}")
    assert empty == []
    assert fields > 150


def test_the_tables_of_the_pages_are_those_of_the_code():
    """In another process: here, tests have added parts whose fields the tables would name."""
    command = [sys.executable, ROOT / "docs" / "tables.py", "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", ""), "`nox -s tables` rewrites these"


def test_a_table_that_is_not_that_of_the_code_is_rewritten():
    tables = script("tables")
    page = PAGES["docs/reference/studies.md"]
    assert tables.filled(page.replace("`masking`", "`masks`")) == page
    assert {name for text in PAGES.values() for _, name, _ in tables.BLOCK.findall(text)} == set(tables.GENERATED)


def test_the_tables_are_complete():
    page = PAGES["docs/reference/commands.md"]
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"\n## {name}\n" in page
        options = [option for parameter in command.params for option in parameter.opts if "--" in option]
        assert all(re.search(f"[`> ]{option}\\b", page) for option in options)
    assert "| <code>--precision auto&#124;fp32&#124;bf16</code> |" in page, "as in --help"
    assert "default: those of the scale, without --seeds" in page
    lines = script("tables").table(["a|b"], [["`c|<d>` `e`"]]).splitlines()
    assert lines == ["| a&#124;b |", "| --- |", "| <code>c&#124;&lt;d&gt;</code> `e` |"]
    assert all(f"| `{name}` |" in PAGES["docs/reference/studies.md"] for name in studies.names())
    assert all(f"| `{name}` |" in PAGES["docs/reference/scales.md"] for name in scales.SCALES)
    assert re.search(r"^\| `masked_lm` \| `share`, `mask_prob`,", PAGES["docs/reference/scales.md"], re.M)


def test_what_a_page_fetches_from_elsewhere_is_named(tmp_path):
    sources = '<link rel="stylesheet" href="https://example.org/x.css"> <script async src=//example.org/x.js>'
    (tmp_path / "bad.html").write_text(sources)
    (tmp_path / "good.html").write_text('<a href="https://example.org">x</a><script src="assets/a.js"></script>')
    assert [line.partition(":")[0] for line in script("site").fetches(tmp_path)] == ["bad.html"] * 2


def test_links_lead_to_pages_files_and_headings_of_the_site(tmp_path):
    """The site has the layout of the repository: a link that holds in one holds in both."""
    script("site").gather(tmp_path)
    assert {tmp_path / name for name in PAGES} <= {*tmp_path.rglob("*.md")}
    for page in tmp_path.rglob("*.md"):
        for target, anchor in re.findall(r"\]\((?!http)([^)#\s]*)#?([^)\s]*)", page.read_text(encoding="utf-8")):
            path = page.parent / target if target else page
            assert path.exists(), f"{page}: {target}"
            assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), f"{page}: {target}#{anchor}"


def anchors(page):
    """The anchors of the headings of a page, as the site and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", page, re.M)
    return {re.sub(r"[^\w\s-]", "", each).strip().lower().replace(" ", "-") for each in headings}


def test_the_bibtex_is_that_of_the_citation_file():
    entry = re.search(r"```bibtex\n(.*?)```", PAGES["docs/how-to/sharing.md"], re.S)[1]
    shown = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry.replace("{{", "{").replace("}}", "}"), re.M))
    known = dict(re.findall(r'^(?:  - )?(\w+): "?(.*?)"?$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M))
    assert shown["title"].replace("{BERT}", "BERT") == known["title"]
    assert (shown["author"], shown["version"], shown["note"]) == (known["name"], known["version"], known["license"])
    assert known["version"] == bertlab.__version__


def test_the_architecture_names_every_package():
    tree = re.search(r"```text\n(bertlab/.*?)```", PAGES["CONTRIBUTING.md"], re.S)[1]
    named = set(re.findall(r"^  (\w+)/ ", tree, re.M))
    assert named == {path.parent.name for path in (ROOT / "bertlab").glob("*/__init__.py")}


def test_the_notebook_runs(tmp_path, monkeypatch, finished):
    notebook = json.loads((ROOT / "examples" / "first_study.ipynb").read_text(encoding="utf-8"))
    shutil.copytree(finished / "corpus", tmp_path / "runs" / "corpus")  # building it takes as long as the rest
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert list(names["found"].table.index) == ["15 %", "40 %"]
    assert names["found"].complete
    assert names["pages"][0].is_file()
