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
        return cell.replace("$-$", "-").split(" ")[0].strip("()")  # published values of another data set

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
    assert verdicts == ["reproduced", "contradicted", "undecided"]
    assert r"\begin{tabular}{p{0.3\linewidth}lrrrrll}" in written, "words are flushed left"


def captions(text):
    """The caption of each table."""
    return re.findall(r"\\caption{(.*)}", text)


def below(text):
    """The note under each table."""
    box = r"\\end{tabular}\n\\par\\smallskip\n\\parbox{\\linewidth}{\\footnotesize (.*)}\n\\end{table}"
    return re.findall(box, text)


def test_captions_are_short_and_limits_stand_below(written):
    assert captions(written) == [
        "masking at scale tiny: mean (sd), in points.",
        r"masking at scale tiny: differences to the baseline with 95 \% intervals, in points.",
        r"masking at scale tiny: claims with 95 \% intervals.",
    ]
    start = "Scale tiny on microworld. Source: Devlin et al. 2019, Table 8. "
    limits = "Not the paper's setting: directions"
    results, differences, claims = below(written)
    assert results.startswith(
        f"{start}n = 6x2 (pre-training x fine-tuning seeds) where a cell shows no other. {limits}"
    )
    assert differences.startswith(start + limits)
    assert "the difference of the pair, above 0 as claimed. n = 6. " in claims
    shown = [cell for row in cells(written, "masking:results") for cell in row if "n = " in cell]
    assert len(shown) == 1, "one variant has another n"
    assert shown[0].endswith(", n = 6x1)")


def test_claims_of_another_n_have_a_column(claimed, tmp_path):
    claimed.cell("80/10/10", "MNLI", 50.0, 6, 0, claimed.pretrain("80/10/10", 6))
    claimed.cell("0/0/100", "MNLI", 45.0, 6, 0, claimed.pretrain("0/0/100", 6))
    both = [{"text": on, "better": "80/10/10", "worse": "0/0/100", "on": on} for on in ("MNLI", "NER")]
    claimed.record(claims=both)
    page.write([], claimed.root, tmp_path / "out", ["latex"])
    text = (tmp_path / "out" / "masking.tex").read_text(encoding="utf-8")
    assert [row[5] for row in cells(text, "masking:claims")] == ["6", "7"], "the decided one first"
    assert "n = " not in below(text)[2]


def test_a_note_says_what_the_page_does(builder, tmp_path):
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant), metrics={"perplexity": 9.0})
    builder.record(cells=[{**each, "metric": "perplexity"} for each in builder.cells])
    page.write([], builder.root, tmp_path / "out", ["latex"])
    text = (tmp_path / "out" / "masking.tex").read_text(encoding="utf-8")
    assert captions(text) == [
        "masking at scale tiny: mean, in points.",
        "masking at scale tiny: differences to the baseline, in points.",
    ]
    said = "n = 1x1 (pre-training x fine-tuning seeds). Less is better: MNLI. Not the paper's setting: directions"
    assert said in below(text)[0]
    assert "Less is better: MNLI. One seed has no interval. Not the paper's" in below(text)[1]
    assert text.count("n = ") == 1, "not in every cell, neither of the means nor of the differences"


def test_n_is_said_once_where_only_claimed_values_have_several_seeds(builder, tmp_path):
    for variant in ("80/10/10", "100/0/0"):
        for seed in range(4):
            run = builder.pretrain(variant, seed)
            builder.cell(variant, "MNLI", 50.0 + seed, seed, pretrain_id=run)
            if seed == 0:
                builder.cell(variant, "NER", 90.0, seed, pretrain_id=run)
    builder.record()
    page.write([], builder.root, tmp_path / "out", ["latex"])
    text = (tmp_path / "out" / "masking.tex").read_text(encoding="utf-8")
    assert cells(text, "masking:results")[1][1:4:2] == ["51.5 (1.3)", "90.0"]
    said = "n = 4x1 (pre-training x fine-tuning seeds); 1x1 where no sd is shown. Not the paper's"
    assert said in below(text)[0]
    assert cells(text, "masking:differences")[0][3] == "+0.0"
    assert "One seed has no interval." in below(text)[1]
    assert text.count("n = ") == 1


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
