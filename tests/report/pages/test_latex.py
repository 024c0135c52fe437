"""Tables in LaTeX: their numbers, their structure, and that a paper that holds them compiles."""

import re
import shutil
import subprocess

import pytest

from bertlab.report import page


@pytest.fixture
def written(claimed, tmp_path):
    """The tables of a whole study."""
    page.write([], claimed.root, tmp_path / "out", ["latex"])
    return (tmp_path / "out" / "masking.tex").read_text(encoding="utf-8")


def cells(text, label):
    """The rows under the head of a table, as lists of cells."""
    table = text[text.index(rf"\label{{tab:{label}}}") :]
    body = table[table.index(r"\midrule") : table.index(r"\bottomrule")]
    return [line.removesuffix(r" \\").split(" & ") for line in body.splitlines()[1:]]


def test_the_numbers_are_those_of_the_csv(written, of_csv, tmp_path):
    def bare(cell):
        return cell.replace("$-$", "-").split(" ")[0]

    results = {row[0].removeprefix("{}").removesuffix(" (baseline)"): row for row in cells(written, "masking:results")}
    differences = {row[0].removeprefix("{}"): row for row in cells(written, "masking:differences")}
    for (measurement, row), (mean, published, minus) in of_csv(tmp_path / "out" / "masking.csv").items():
        place = 1 + 2 * ["MNLI", "NER"].index(measurement)
        assert (bare(results[row][place]), bare(results[row][place + 1])) == (mean, published)
        if minus:
            assert bare(differences[row][place]) == minus
    assert "80/10/10 (baseline)" not in differences


def test_every_table_is_whole(written):
    for name in ("table", "tabular"):
        assert written.count(rf"\begin{{{name}}}") == written.count(rf"\end{{{name}}}") == 3
    for rule in ("toprule", "midrule", "bottomrule"):
        assert written.count(rf"\{rule}") == 3
    for table in written.split(r"\begin{table}")[1:]:
        columns = re.search(r"\\begin{tabular}{(.*)}", table)[1]
        width = len(re.sub(r"p{[^}]*}", "p", columns))
        assert {line.count(" & ") for line in table.splitlines() if line.endswith(r"\\") and "multi" not in line} == {
            width - 1
        }
    verdicts = [row[-2] for row in cells(written, "masking:claims")]
    assert verdicts == ["reproduced", "undecided", "contradicted"]
    assert r"\begin{tabular}{p{0.3\linewidth}lrrrrll}" in written, "words are flushed left"


def test_a_caption_says_what_the_page_does(builder, fill, tmp_path):
    fill(builder, seeds=[0], finetune_seeds=1)
    builder.record(cells=[{**each, "metric": "perplexity"} for each in builder.cells if each["measurement"] == "MNLI"])
    page.write([], builder.root, tmp_path / "out", ["latex"])
    text = (tmp_path / "out" / "masking.tex").read_text(encoding="utf-8")
    (caption,) = re.findall(r"\\caption{(.*Mean.*)}", text)
    assert "Mean (sd, n)" in caption
    assert "n: pre-training x fine-tuning seeds. Less is better: MNLI. Not the paper's setting: directions" in caption


def test_names_are_text(builder, tmp_path):
    names = ["100 % & more", r"\input{x}", "a_b^c~$d$#1", "[MASK]*", "a\n\\\\b"]
    for name in names:
        builder.cell(name, "MNLI", 50.0, pretrain_id=builder.pretrain(name))
    builder.record(baseline=names[0])
    page.write([], builder.root, tmp_path / "out", ["latex"])
    text = (tmp_path / "out" / "masking.tex").read_text(encoding="utf-8")
    first = [row[0].removeprefix("{}") for row in cells(text, "masking:results")]
    assert first[:2] == [r"100 \% \& more (baseline)", r"\textbackslash input\{x\}"]
    assert all(row[0].startswith("{}") for row in cells(text, "masking:results")), "no option of the line break"


@pytest.mark.skipif(not (shutil.which("pdflatex") or shutil.which("tectonic")), reason="no pdflatex and no tectonic")
def test_a_paper_with_them_compiles(written, tmp_path):
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs}"
    paper = rf"\documentclass{{article}}{packages}\begin{{document}}\input{{out/masking}}\end{{document}}"
    (tmp_path / "paper.tex").write_text(paper)
    program = ["pdflatex", "-halt-on-error"] if shutil.which("pdflatex") else ["tectonic"]
    done = subprocess.run([*program, "paper.tex"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
