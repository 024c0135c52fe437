"""The page of a study, from a store written by hand to files on disk."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bertlab.errors import BadInput
from bertlab.report import page
from bertlab.store.result import Failure

REQUEST = {"study": "masking", "seeds": [0], "finetune_seeds": 1, "only": [], "random_init": False}


def written(builder: Any, out: Path, *studies: str) -> str:
    page.write(studies, builder.root, out)
    return (out / "masking.md").read_text(encoding="utf-8")


def baseline(builder: Any, **pretraining: Any) -> str:
    run_id: str = builder.pretrain("80/10/10", **pretraining)
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run_id)
    return run_id


def test_a_whole_study(builder: Any, fill: Callable[..., None], tmp_path: Path) -> None:
    fill(builder)
    builder.record()
    text = written(builder, tmp_path / "reports")
    for expected in (
        "Does mixing \\[MASK\\] with random tokens matter?",
        "Devlin et al. 2019, Table 8",
        "## Scale tiny on microworld",
        "1,000 steps, 2,048,000 tokens a run",
        "4 layers, 128 wide, 2 heads, rotary positions; 1,234,567 parameters, vocabulary 4,096",
        "3 seeds of pre-training (0, 1, 2)",
        "processor A Processor, cores 2",
        "precision bf16",
        # 9 pre-trainings and 36 measurements of 1.5 s
        "68 s: 9 pre-trainings 14 s, 36 measurements 54 s",
        "| task         | bc5cdr | conll2003 | NER (BC5CDR) |",
        "Positions are rotary",
        "from the synthetic corpus microworld: its tasks",
        "n is small: 3 pre-training seeds",
        "95 % interval over pre-training seeds and examples",
        "Majority guess: MNLI 33.3, NER (BC5CDR) 0.0",
        "No pre-training: not measured here",
        "- A note.",
        "(figures/masking-points.svg)",
        "(figures/masking-curves.svg)",
        "$ bertlab ablate masking",
    ):
        assert expected in text
    assert "WARNING" not in text
    assert "pending" not in text
    names = {path.relative_to(tmp_path / "reports").as_posix() for path in (tmp_path / "reports").rglob("*.*")}
    figures = {f"figures/masking-{kind}.svg" for kind in ("effects", "points", "curves")}
    data = {f"masking{part}.csv" for part in ("", "-summary", "-claims", "-noise")}
    agreement = {"agreement.html", "agreement.md", "agreement.csv", "figures/agreement-signs.svg"}
    assert names == {"index.html", "index.md", "masking.md", *agreement, *data, *figures}
    index = (tmp_path / "reports" / "index.md").read_text()
    assert "Everything of [masking](masking.md), tiny on microworld." in index
    for figure in figures:
        root = ElementTree.parse(tmp_path / "reports" / figure).getroot()
        assert root.get("width") == "518.4pt"


@pytest.mark.parametrize("claims", [[], [{"text": "x", "better": "80/10/10", "worse": "0/0/100", "on": "NER"}]])
def test_differences_are_open_in_a_study_without_claims(
    builder: Any, fill: Callable[..., None], tmp_path: Path, claims: list[dict[str, str]]
) -> None:
    fill(builder)
    builder.record(claims=claims)
    text = written(builder, tmp_path)
    opening = "<details>" if claims else "<details open>"
    assert f"{opening}\n<summary>Differences</summary>" in text
    assert f"{opening}\n<summary>Differences</summary>" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<details>\n<summary>Seed by seed</summary>" in text


def test_the_same_store_gives_the_same_bytes(builder: Any, fill: Callable[..., None], tmp_path: Path) -> None:
    fill(builder, seeds=(0, 1), finetune_seeds=1)
    builder.record()
    shutil.copytree(builder.root, tmp_path / "copy")
    page.write([], builder.root, tmp_path / "one", page.FORMATS)
    page.write([], tmp_path / "copy", tmp_path / "two", page.FORMATS)
    page.write([], tmp_path / "copy", tmp_path / "two", page.FORMATS)
    files = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) == 16
    for path in files:
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_scales_are_sections_of_their_own(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    builder.record()
    other = type(builder)(builder.root, scale="mini", corpus=["novels", "openstax"])
    run_id = other.pretrain("80/10/10", run_id="00aa")
    other.cell("80/10/10", "MNLI", 70.0, pretrain_id=run_id, run_id="00ab")
    other.record(world=False, substitutes={})
    text = written(builder, tmp_path / "out")
    mini, tiny = text.split("## Scale tiny on microworld")
    assert "## Scale mini on novels and openstax" in mini
    assert "| 70.0<br>" in mini
    assert "| 50.0<br>" not in mini
    assert "| 50.0<br>" in tiny
    assert "synthetic corpus" not in mini
    assert len(list((tmp_path / "out" / "figures").glob("*-points.svg"))) == 2
    assert len((tmp_path / "out" / "masking.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        (
            ["--corpus 'a b' --set x=1", "--corpus 'a b' --set x=1 --substitute qnli=rte --set y=2"],
            ["", " with 2 fields of its own, key "],
        ),
        (["--data a", "--data b"], [" with key ", " with key "]),
        (["--set x=1", "--set x=2"], [" with x=1", " with x=2"]),
        (["--set x=1", "--set x=1"], [" with key ", " with key "]),  # of another code or other examples
        (["", "--set x=1", "--set x=1"], ["", " with x=1, key ", " with x=1, key "]),
    ],
)
def test_sections_at_the_same_scale_say_what_sets_them_apart(
    builder: Any, tmp_path: Path, options: list[str], titles: list[str]
) -> None:
    for number, each in enumerate(options):
        one = type(builder)(builder.root)
        run_id = one.pretrain("80/10/10", run_id=f"aa{number}0")
        one.cell("80/10/10", "MNLI", 70.0 + number, pretrain_id=run_id, run_id=f"aa{number}1")
        one.record(f"n{number}", setting=f"s{number}", requests=[{**REQUEST, "options": each}])
    text = written(builder, tmp_path / "out")
    found = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert [re.sub(r"(?<=key )\w{8}$", "", each) for each in found] == [
        f"Scale tiny on microworld{each}" for each in titles
    ]
    assert len(set(found)) == len(options)


@pytest.mark.parametrize(
    ("loss", "own", "variant", "warned"),
    [
        (5.64, 5.64, "100/0/0", False),
        (5.66, 5.66, "100/0/0", True),
        (6.5, 6.5, "100/0/0", True),
        (9.0, 4.2, "0/0/100", False),  # never saw [MASK]: evaluated by its own masking
        (9.0, 5.9, "0/0/100", True),
    ],
)
def test_a_variant_on_the_unigram_plateau_has_learned_nothing(
    builder: Any, tmp_path: Path, loss: float, own: float, variant: str, warned: bool
) -> None:
    baseline(builder)
    builder.pretrain(variant, loss=loss, own=own)
    builder.record()
    text = written(builder, tmp_path / "out")
    assert (f"{variant}, seed 0 (" in text) is warned
    assert ("is above the unigram entropy, or less than 0.25 below it." in text) is warned


def test_a_model_whose_loss_is_the_same_with_other_inputs_does_not_read_its_encoder(
    builder: Any, tmp_path: Path
) -> None:
    baseline(builder, exchanged=4.43)
    builder.pretrain("0/0/100", exchanged=4.41)
    builder.record()
    text = " ".join(written(builder, tmp_path / "out").split())
    assert "1 of 2 models does not read the encoder: held-out text is as likely" in text
    assert "inputs of another text (0/0/100)" in text


def test_defects_of_outputs_are_below_the_tables(builder: Any, tmp_path: Path) -> None:
    trained = baseline(builder)
    defects = {"no_label": 0.4, "sst2-text/unfinished": 3.0, "cola-text/unfinished": 50.0}
    builder.cell("80/10/10", "MNLI", 50.0, seed=1, pretrain_id=trained, metrics=defects)
    builder.cell("0/0/100", "MNLI", 50.0, metrics={"no_label": 12.0, "with_sentinels": 0.9})
    builder.cell("0/0/100", "NER", 50.0, metrics={"no_label": 0.9})
    builder.record()
    text = " ".join(written(builder, tmp_path / "out").split())
    assert "of the variant with most: MNLI 12 % that are no label (0/0/100), 25 % without an end (80/10/10)." in text


@pytest.mark.parametrize(("losses", "warned"), [(None, True), (["own_loss"], True), ([], False)])
def test_only_a_loss_over_the_vocabulary_has_a_plateau(
    builder: Any, tmp_path: Path, losses: list[str] | None, warned: bool
) -> None:
    baseline(builder)
    builder.pretrain("0/0/100", loss=9.0, own=5.9, over_vocabulary=losses)
    builder.record()
    text = written(builder, tmp_path / "out")
    assert ("0/0/100, seed 0 (" in text) is warned
    line = next(line for line in text.splitlines() if line.startswith("| 0/0/100") and "9.000" in line)
    assert [cell.strip() for cell in line.split("|")[1:-1]][-2] == ("0.00" if warned else "")


@pytest.mark.parametrize(("loss", "warned"), [(5.64, False), (5.66, True)])
def test_left_to_right_is_evaluated_by_its_causal_lm_loss(
    builder: Any, tmp_path: Path, loss: float, warned: bool
) -> None:
    baseline(builder)
    builder.pretrain("left to right", loss=loss, causal=True)
    builder.record()
    text = written(builder, tmp_path / "out")
    assert ("left to right, seed 0 (" in text) is warned
    line = next(line for line in text.splitlines() if line.startswith("| left to right") and f"{loss:.3f}" in line)
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells == ["left to right", "", "81.5", "", "", "", f"{loss:.3f}", f"{5.9 - loss:.2f}", "1"]


def test_a_loss_that_only_its_study_file_defines_is_reported(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    (path,) = builder.root.glob("pretrain/*/recipe.json")
    path.write_text(path.read_text().replace('"masked_lm"', '"my_own"'))
    builder.seal(path.parent)
    builder.record()
    text = written(builder, tmp_path / "out")
    assert "masked_lm_loss (nats)" in text
    assert "4 layers, 128 wide" in text
    assert "positions; 1,234,567 parameters" in text


def test_without_pre_training(builder: Any, tmp_path: Path) -> None:
    run_id = baseline(builder)
    builder.cell("80/10/10", "MNLI", 54.0, finetune_seed=1, pretrain_id=run_id)
    scratch = builder.pretrain("no pre-training", loss=8.3, steps=0)
    builder.cell("no pre-training", "MNLI", 42.0, finetune_seed=0, pretrain_id=scratch)
    builder.cell("no pre-training", "MNLI", 40.0, finetune_seed=1, pretrain_id=scratch)
    builder.record()
    text = written(builder, tmp_path / "out")
    assert "MNLI, no pre-training: 41.0. Pre-training gains +11.0 points." in text
    assert "learned next to nothing" not in text
    assert "does not help" not in text


def test_pre_training_that_does_not_help_is_said(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    scratch = builder.pretrain("no pre-training", steps=0)
    builder.cell("no pre-training", "MNLI", 51.0, pretrain_id=scratch)
    builder.record()
    assert "MNLI: pre-training does not help there" in written(builder, tmp_path / "out")


def test_the_floors_that_were_measured(builder: Any, tmp_path: Path) -> None:
    run_id = builder.pretrain("80/10/10")
    builder.cell("80/10/10", "MNLI", 58.0, pretrain_id=run_id, floors={"lexical": 44.0, "exchanged": 35.0})
    other = builder.pretrain("100/0/0")
    builder.cell("100/0/0", "MNLI", 57.0, pretrain_id=other, floors={"lexical": 44.0, "exchanged": 20.0})
    builder.record()
    text = written(builder, tmp_path / "out")
    assert re.search(r"Lexical baseline \(.+\): MNLI 44\.0\.", text)
    assert re.search(r"Second text exchanged \(.+\): MNLI 35\.0\.", text), "the baseline's alone"


def test_a_collapsed_floor_is_warned_of_and_gives_no_gain(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    scratch = builder.pretrain("no pre-training", steps=0)
    builder.cell("no pre-training", "MNLI", 33.3, pretrain_id=scratch, status="collapsed")
    builder.record()
    text = written(builder, tmp_path / "out")
    assert "MNLI, no pre-training: 33.3, collapsed; no gain can be computed." in text
    assert "MNLI: no pre-training predicts one answer for all examples" in text


def test_one_seed_is_undecided(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    builder.cell("100/0/0", "MNLI", 51.0, pretrain_id=builder.pretrain("100/0/0"))
    builder.record()
    text = written(builder, tmp_path / "out")
    assert "n = 1: no interval" in text
    assert "95 % interval" not in text


def test_variants_of_other_numerics_are_marked(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    numerics = {"torch": "2.13.0", "device": "cpu", "precision": "fp32", "threads": 2}
    run_id = builder.pretrain("100/0/0", environment={"numerics": numerics})
    builder.cell("100/0/0", "MNLI", 51.0, pretrain_id=run_id)
    builder.record()
    text = written(builder, tmp_path / "out")
    assert "| 100/0/0 † " in text
    assert "precision bf16 and fp32" in text
    assert "80/10/10 (baseline) †" not in text


def test_seeds_of_two_machines_are_compared_with_the_same_seeds(builder: Any, tmp_path: Path) -> None:
    for seed, instructions in enumerate(("AMX", "AVX512")):
        numerics = {"device": "cpu", "precision": "bf16", "threads": 2, "torch": "2.13.0", "instructions": instructions}
        for variant, value in (("80/10/10", 50.0), ("100/0/0", 51.0)):
            run_id = builder.pretrain(variant, seed, environment={"numerics": numerics})
            builder.cell(variant, "MNLI", value, seed, pretrain_id=run_id)
    builder.record()
    assert "†" not in written(builder, tmp_path / "out")


def test_a_baseline_of_two_machines_is_not_unlike_itself(builder: Any, tmp_path: Path) -> None:
    run_id = builder.pretrain("80/10/10", environment={"numerics": {"device": "cuda"}})
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run_id, environment={"numerics": {"device": "cpu"}})
    builder.record()
    text = written(builder, tmp_path / "out")
    assert "80/10/10 was computed with device cpu and cuda: that alone changes its values" in " ".join(text.split())


def test_numerics_that_no_run_recorded_mark_nothing(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    numerics = {"torch": "2.13.0", "device": "cpu", "precision": "bf16", "threads": 2, "instructions": "AMX"}
    run_id = builder.pretrain("100/0/0", environment={"numerics": numerics})
    builder.cell("100/0/0", "MNLI", 51.0, pretrain_id=run_id)
    builder.record()
    assert "†" not in written(builder, tmp_path / "out")


def test_failures_and_what_is_to_come_are_said(builder: Any, tmp_path: Path) -> None:
    from bertlab.store.runs import Store

    baseline(builder)
    lost = builder.pretrain("100/0/0", finished=False)
    builder.cell("100/0/0", "MNLI", None, pretrain_id=lost)
    builder.cell("0/0/100", "MNLI", None, pretrain_id=builder.pretrain("0/0/100", finished=False))
    builder.record()
    Store(builder.root).create_directories()
    Store(builder.root).fail(Failure(id=lost, status="diverged", reason="the loss is not finite | at step 7"))
    text = written(builder, tmp_path / "out")
    assert "1 of 3 values are measured; 1 diverged, 1 pending." in text
    assert "Without a value, diverged (the loss is not finite &#124; at step 7): MNLI of 100/0/0, seed 0." in text


def test_hostile_names_stay_text(builder: Any, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>|`x`\n# [a](b) $y$ ![c](http://e.vil)"
    builder.study = "../" + evil
    run_id = baseline(builder)
    builder.cells[0]["variant"] = builder.rows[0]["variant"] = evil
    builder.cell("=cmd()", "MNLI", 51.0, pretrain_id=run_id)
    builder.corpus = [evil]
    builder.record(question=evil, source=evil, baseline=evil, notes=[evil], command=f"x\n```\n{evil}")
    pages = page.write([], builder.root, tmp_path / "out", ["md"]).pages
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert path.parent == tmp_path / "out"
        outside, fenced = [], False
        for line in text.splitlines():
            fenced = fenced != line.startswith("```")
            if not fenced:
                outside.append(line)
        assert not fenced
        assert "<img" not in "\n".join(outside)
        assert not any(line.startswith("# \\[a") for line in outside)
        table = [line for line in outside if line.startswith("|")]
        assert {line.count("|") for line in table} <= {3, 4, 5, 6, 7, 8, 9}
    assert any("'=cmd()" in each.read_text() for each in (tmp_path / "out").glob("*.csv"))
    for figure in (tmp_path / "out" / "figures").iterdir():
        assert ElementTree.parse(figure).getroot().tag.endswith("svg")


def test_only_the_studies_asked_for_are_written(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    builder.record()
    other = type(builder)(builder.root, study="other")
    other.cells, other.rows = builder.cells, builder.rows
    other.record("other")
    page.write(["other"], builder.root, tmp_path / "out")
    assert (tmp_path / "out" / "other.md").exists()
    assert not (tmp_path / "out" / "masking.md").exists()
    assert "[other](other.md)" in (tmp_path / "out" / "index.md").read_text()
    assert "[masking]" not in (tmp_path / "out" / "index.md").read_text()


def test_formats_are_those_asked_for(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    builder.record()
    pages = page.write([], builder.root, tmp_path / "out", ["latex"]).pages
    assert pages == [tmp_path / "out" / "masking.tex"]
    names = {path.name for path in (tmp_path / "out").rglob("*.*")}
    data = {f"masking{part}.csv" for part in ("", "-summary", "-claims", "-noise")}
    assert names == {"masking.tex", *data, "masking-points.svg", "masking-curves.svg"}
    with pytest.raises(BadInput, match="unknown format 'htm': did you mean 'html'"):
        page.write([], builder.root, tmp_path / "out", ["htm"])


def test_the_index_says_what_became_of_each_claim(builder: Any, fill: Callable[..., None], tmp_path: Path) -> None:
    fill(builder, seeds=(0, 1), finetune_seeds=1)
    claim = {"text": "Random | hurts", "better": "80/10/10", "worse": "0/0/100", "on": "MNLI"}
    builder.record(claims=[claim, {**claim, "worse": "none"}])
    written(builder, tmp_path / "out")
    index = (tmp_path / "out" / "index.md").read_text()
    summary = "Of 2 claims, none is reproduced, none is contradicted, 1 is undecided, 1 is not measured."
    assert f"\n{summary}\n" in index
    assert "\n**Nothing is decided: fewer than 4 seeds (1 claim).**\n" in index
    lines = (tmp_path / "out" / "masking.md").read_text().splitlines()
    brief = [line for line in lines if line.startswith("| Random &#124; hurts ")][:2]
    assert [line.split("|")[-2].strip().partition(":")[0] for line in brief] == ["undecided", "not measured"]
    assert "<summary>1 not measured</summary>" in lines


def test_the_index_lists_what_was_decided(claimed: Any, tmp_path: Path) -> None:
    (path,) = (claimed.root / "studies").glob("*.json")
    record = json.loads(path.read_text())
    record["claims"][2]["worse"] = ["80/10/10", "100/0/0"]
    path.write_text(json.dumps(record))
    written(claimed, tmp_path / "out")
    index = (tmp_path / "out" / "index.md").read_text()
    lines = [line for line in index.splitlines() if line.startswith("- ")]
    assert lines[1].startswith("- **contradicted**: 0/0/100 beats 80/10/10: 0/0/100 - 80/10/10: -")
    assert not re.search(r"\w\(|\)\w", "".join(lines)), "fused text"
    assert re.search(r"undecided(, \d+ (is|are) not measured)?\. Most often undecided since: ", index)
    assert [line.partition(":")[0] for line in lines] == ["- **reproduced**", "- **contradicted**"]
    start = re.escape("- **reproduced**: 80/10/10 beats 0/0/100: 80/10/10 - 0/0/100: ")
    rest = re.escape(" (paper (+0.5)), on NER (BC5CDR); masking, tiny on microworld")
    assert re.fullmatch(rf"{start}\+\d\.\d ±\d\.\d{rest}", lines[0])


def test_parts_of_the_table_that_were_not_run_are_named(
    builder: Any, fill: Callable[..., None], tmp_path: Path
) -> None:
    fill(builder, seeds=(0,), finetune_seeds=1)
    defined = {
        "variants": {name: {} for name in ("80/10/10", "100/0/0", "80/20/0, no <NSP>", "0/0/100", "b")},
        "measurements": {name: {} for name in ("SQuAD 1.1", "MNLI", "NER", "SQuAD 2.0")},
    }
    left_out = "Not measured: SQuAD 1.1, SQuAD 2.0. Variants not run: 80/20/0, no &lt;NSP&gt;; b."
    for partly in (False, True):
        builder.record(**({"definition": {"baseline": "80/10/10", "code": "", **defined}} if partly else {}))
        lines = written(builder, tmp_path).splitlines()
        assert (left_out in lines) is partly
        assert (f'<p class="notes">{left_out}</p>' in (tmp_path / "index.html").read_text(encoding="utf-8")) is partly


def test_nothing_finished(builder: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="run `bertlab ablate` first"):
        page.write([], tmp_path / "nowhere", tmp_path / "out")
    builder.cell("80/10/10", "MNLI", None, pretrain_id=builder.pretrain("80/10/10", finished=False))
    builder.record()
    with pytest.raises(BadInput, match="run `bertlab ablate` first"):
        page.write(["masking"], builder.root, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unknown_study(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    builder.record()
    with pytest.raises(BadInput, match="did you mean 'masking'"):
        page.write(["maskin"], builder.root, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written(builder: Any, tmp_path: Path) -> None:
    baseline(builder)
    builder.record()
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"cannot be written .*--out"):
        page.write([], builder.root, tmp_path / "file")
    with pytest.raises(BadInput, match=r"cannot be written .*--out"):
        page.write([], builder.root, tmp_path / "file" / "deeper")
