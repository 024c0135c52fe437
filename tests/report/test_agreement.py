"""The page of agreement: which pairs are compared, when their signs agree, the interval, and what is written."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from bertlab.report import page
from bertlab.report.agreement import (
    LEARNED,
    MATCHED,
    Agreement,
    Halves,
    Share,
    agreement,
    compared,
    interval,
    table,
)
from bertlab.report.gather import gather_all
from bertlab.report.pages import notes
from bertlab.report.pairs import METRIC
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import Interval
from bertlab.report.study_results import StudyResults
from bertlab.store.runs import Store

BASELINE, MASKED, RANDOM = "80/10/10", "100/0/0", "0/0/100"


def pair(*by_seed: float, published: float = 1.0, study: str = "masking", **changes: Any) -> dict[str, Any]:
    """A pair whose measured differences at seeds 0, 1, ... are these."""
    known: dict[str, Any] = {"scale": "tiny", "setting": "on a corpus", "key": "", "measurement": "MNLI"}
    known |= {"endpoint": METRIC, "variant": "one", "other": "two", "milestone": 100, "flops": None, "in_points": True}
    known |= {"place": "tiny on a corpus", "learned": True, "runs": frozenset()}
    return {**known, "study": study, "published": published, "by_seed": dict(enumerate(by_seed)), **changes}


def of(*pairs: dict[str, Any]) -> pandas.DataFrame:
    return compared(pairs)


def final(found: Agreement) -> list[Any]:
    return [*found.final.itertuples()]


def summary(found: Agreement) -> str:
    (line,) = notes("agreement_summary", found)
    return line


def measured(builder: Any, points: dict[str, dict[str, Sequence[float]]], **record: Any) -> StudyResults:
    """The results of variants with these points on each measurement at seeds 0, 1, ..."""
    for variant, names in points.items():
        for seed in range(max(map(len, names.values()))):
            run_id = builder.pretrain(variant, seed)
            for name, values in names.items():
                builder.cell(variant, name, values[seed], seed, 0, run_id)
    builder.record(**record)
    return gather_all(Store(builder.root))[0]


POINTS = {
    BASELINE: {"MNLI": (60.0, 62.0) * 2, "NER": (50.0, 50.0) * 2},
    MASKED: {"MNLI": (61.0, 62.0) * 2, "NER": (52.0, 51.0) * 2},
    RANDOM: {"MNLI": (60.0, 62.5) * 2, "NER": (48.0, 50.0) * 2},
}


def test_every_pair_whose_published_values_differ(builder: Any) -> None:
    found = agreement([measured(builder, POINTS)])
    known = [(e.measurement, e.variant, e.other, e.published, e.measured, e.agrees) for e in final(found)]
    assert known == [
        ("MNLI", MASKED, BASELINE, 0.1, 0.5, True),
        ("MNLI", RANDOM, BASELINE, -0.6, 0.25, False),
        ("MNLI", RANDOM, MASKED, -0.7, -0.25, True),
        # both are 94.9 in the paper: the third pair has no published sign
        ("NER", MASKED, BASELINE, -0.5, 1.5, False),
        ("NER", RANDOM, BASELINE, -0.5, -1.0, True),
    ]
    assert found.overall[METRIC][0] == Share(3, 5, 0)
    assert found.overall[LIKELIHOOD] == (Share(0, 0, 0), None, None), "no run has predictions"


def test_pairs_by_what_the_baseline_has_learned(builder: Any) -> None:
    """It counts as learned where the mean of the baseline is above all floors: 61 on MNLI, 50 on NER."""
    study = measured(builder, POINTS)
    without = [dataclasses.replace(cell, floors={}) for cell in study.cells]
    unknown = agreement([dataclasses.replace(study, cells=without)])
    assert unknown.overall[LEARNED][0] == unknown.overall[METRIC][0] == Share(3, 5, 0)
    assert "Floors are points" not in " ".join(notes("agreement_notes", unknown))
    of = {"MNLI": {"majority guess": 33.0, "lexical baseline": 61.5}, "NER": {"majority guess": 49.5}}
    cells = [dataclasses.replace(cell, floors=of[cell.measurement]) for cell in study.cells]
    found = agreement([dataclasses.replace(study, cells=cells)])
    assert (found.overall[METRIC][0], found.overall[LEARNED][0]) == (Share(3, 5, 0), Share(1, 2, 0))
    assert "Floors are points" in " ".join(notes("agreement_notes", found))
    assert summary(found).endswith(
        " Where the baseline is above every floor, or none is known: 1 of 2, 50 % (0 to 50 %)."
    )
    assert [line[:2] for line in table(found).rows] == [
        ("paper's metric", "5"),
        ("paper's metric, baseline above every floor or none known", "2"),
    ]


def test_the_baseline_is_a_variant_like_the_others(builder: Any) -> None:
    study = measured(builder, POINTS)
    one, two = (
        agreement([dataclasses.replace(study, record=dataclasses.replace(study.record, baseline=each))])
        for each in (BASELINE, RANDOM)
    )
    assert {(e.variant, e.other) for e in final(one)} != {(e.variant, e.other) for e in final(two)}
    assert one.overall == two.overall
    assert one.overall[METRIC][1] is not None


def test_swapped_variants_change_nothing() -> None:
    lines = [pair(*each, published=p) for each, p in (((1.0, -3.0), 0.2), ((2.0, -1.0), -3.0), ((0.5, 0.0), 1.5))]
    turned = [
        {**line, "variant": line["other"], "other": line["variant"], "published": -line["published"]}
        | {"by_seed": {seed: -value for seed, value in line["by_seed"].items()}}
        for line in lines
    ]
    pairs, swapped = of(*lines), of(*turned)
    assert Share.from_comparisons(pairs) == Share.from_comparisons(swapped) == Share(1, 3, 0)
    assert interval(pairs) == interval(swapped)


def test_untrained_variants_and_variants_of_the_same_runs_are_no_pairs(builder: Any) -> None:
    for variant, steps, run in ((BASELINE, 1000, "fa"), (MASKED, 1000, "fa"), (RANDOM, 0, "fb")):
        builder.cell(
            variant, "MNLI", None, pretrain_id=builder.pretrain(variant, steps=steps, finished=False), run_id=run
        )
    builder.rows.clear()
    builder.pretrain(RANDOM, run_id="00aa", steps=0)
    builder.record()
    study = gather_all(Store(builder.root))[0]
    cells = tuple(dataclasses.replace(cell, value=50.0 + place) for place, cell in enumerate(study.cells))
    assert study.untrained(RANDOM)
    assert agreement([dataclasses.replace(study, cells=cells)]).final.empty
    apart = tuple(dataclasses.replace(cell, run_id=cell.variant) for cell in cells)
    assert [*agreement([dataclasses.replace(study, cells=apart)]).final["variant"]] == [MASKED]


def test_less_is_better(builder: Any) -> None:
    """Of two perplexities the signs are compared as they are; the likelihood must be higher where they are lower."""
    label = np.zeros(4, int)
    for variant, value, likelihood in ((BASELINE, 25.0, 0.5), (RANDOM, 75.0, 0.3)):
        builder.cell(variant, "MNLI", value, pretrain_id=builder.pretrain(variant))
        path = builder.root / "finetune" / f"{builder.cells[-1]['run_id']}--a-label"
        predictions = {"prediction": label, "label": label, "log_likelihood": np.log(np.full(4, likelihood))}
        np.savez(path / "predictions.npz", **predictions)
        recipe = json.loads((path / "recipe.json").read_text())
        recipe["science"] = {"task": {"kind": "classification", "labels": ()}}
        (path / "recipe.json").write_text(json.dumps(recipe))
        builder.seal(path)
    builder.record()
    study = gather_all(Store(builder.root))[0]
    # the paper's 83.6 - 84.2 < 0: by accuracy, and so by likelihood, the variant is worse there; here it scores higher
    more = agreement([study])
    assert {e.endpoint: (e.published, e.agrees) for e in final(more)} == {
        METRIC: (-0.6, False),
        LIKELIHOOD: (-0.6, True),
    }
    assert more.overall[MATCHED] == more.overall[METRIC]
    cells = tuple(dataclasses.replace(cell, metric="perplexity") for cell in study.cells)
    less = agreement([dataclasses.replace(study, cells=cells)])
    known = {e.endpoint: (e.published, round(e.measured, 6), e.agrees) for e in final(less)}
    assert known == {METRIC: (-0.6, 50.0, False), LIKELIHOOD: (0.6, -20.0, False)}


def test_a_measured_zero_has_no_sign() -> None:
    pairs = of(pair(0.1, 0.2, -0.3), pair(1.0), pair(-1.0))
    assert pairs["measured"][0] != 0, "by rounding alone"
    assert Share.from_comparisons(pairs) == Share(1, 3, 1)


def test_halves_of_the_seeds() -> None:
    """Of 1, 2, -4 and 3, two seeds sum up to 3, -3 or 4, and the others to -1, 5 or -2."""
    four = pair(1.0, 2.0, -4.0, 3.0)
    assert Halves.from_comparisons(of(four)) == Halves(1, 0.0, 0.5)
    assert Halves.from_comparisons(of(pair(1.0, 2.0, 3.0, published=-1.0))) == Halves(1, 1.0, 0.0)
    assert Halves.from_comparisons(of(pair(0.0, 0.0))) == Halves(1, 0.0, 0.0), "a zero has no sign"
    assert Halves.from_comparisons(of(pair(1.0))) is None
    assert Halves.from_comparisons(of(pair(*[1.0] * 12, *[-1.0] * 20))) == Halves(1, 1.0, 1.0), "the first twelve"
    found = Agreement(of(four, pair(1.0, 1.0), pair(1.0), pair(1.0, -1.0, endpoint=LIKELIHOOD)))
    assert (found.overall[METRIC][2], found.overall[LIKELIHOOD][2]) == (Halves(2, 0.5, 0.75), Halves(1, 0.0, 0.5))
    assert [row[-2:] for row in table(found).rows] == [("50 %", "75 %"), ("0 %", "50 %")]
    heads = table(found).columns[-2:]
    assert heads == ("halves agree", "half agrees with the paper")
    assert all(f"{head.capitalize()}: " in " ".join(notes("agreement_notes", found)) for head in heads), (
        "a note explains each"
    )
    known = {"pairs": 2, "with_each_other": 0.5, "with_published": 0.75}
    assert found.figures()["overall"][METRIC]["halves"] == known
    alone = Agreement(of(pair(1.0)))
    assert alone.overall[METRIC][2] is None
    assert table(alone).rows[0][-2:] == ("", "")


def test_a_share_that_is_not_above_a_coin_says_so_and_a_large_study_is_named() -> None:
    even = [pair(sign, study=f"s{number}") for number, sign in enumerate((1.0, -1.0) * 4)]
    text = summary(Agreement(of(*even)))
    assert "That is not significantly above a coin." in text
    assert "without it" not in text, "each study is an eighth"
    large = [pair(1.0, study="large", measurement=f"m{number}") for number in range(4)]
    text = summary(Agreement(of(*even, *large)))
    assert " large has 4 of these pairs; without it: 4 of 8, 50 %." in text
    assert "a coin" not in summary(Agreement(of(*(pair(1.0, study=f"s{number}") for number in range(8)))))


def test_one_study_with_one_seed_has_no_interval(builder: Any) -> None:
    assert interval(of()) is None
    assert interval(of(pair(1.0), pair(-1.0))) is None
    found = agreement([measured(builder, {name: {"MNLI": each["MNLI"][:1]} for name, each in POINTS.items()})])
    assert summary(found).startswith("2 of 3 measured differences have the published sign, 1 is zero: ")
    assert summary(found).endswith(
        "67 % (over 1 seed of one study; no interval: some variants have fewer than 4 seeds)."
    )
    assert "More seeds (--seeds 4) or a second study" in notes("agreement_notes", found)[-1]


def test_an_interval_of_one_endpoint_does_not_hide_that_the_other_has_none() -> None:
    pairs = [pair(1.0), pair(1.0, study="other"), pair(1.0, endpoint=LIKELIHOOD)]
    texts = notes("agreement_notes", Agreement(of(*pairs)))
    assert [each.split(":")[0] for each in texts[2:]] == ["Interval", "No interval"]
    texts = notes("agreement_notes", Agreement(of(*pairs[:2])))
    assert [each.split(":")[0] for each in texts[2:]] == ["Interval"]


def test_the_interval_counts_studies() -> None:
    agrees, differs = ([pair(sign, study=f"{sign}")] * 9 for sign in (1.0, -1.0))
    assert interval(of(*agrees, *differs)) == Interval(0.0, 1.0), "half of the resamples draw one study twice"
    assert interval(of(*agrees, *({**each, "study": "1"} for each in agrees))) == Interval(1.0, 1.0)
    ends = interval(of(*(pair(1.0 if place % 2 else -1.0, study=str(place)) for place in range(100))))
    assert ends is not None
    # of 100 draws with chance 1/2, 95 % give 40 to 60
    assert (ends.low, ends.high) == (pytest.approx(0.4, abs=0.02), pytest.approx(0.6, abs=0.02))


def test_pairs_of_a_section_share_the_drawn_seeds() -> None:
    # the mean is above 0 unless three or four draws are of the seeds below it, which 5 of 16 resamples do
    pairs = of(*[pair(3.0, -1.0, 3.0, -1.0)] * 50)
    assert Share.from_comparisons(pairs).value == 1.0
    assert interval(pairs[:1]) == interval(pairs) == Interval(0.0, 1.0), "independent draws would give 0.8 to 0.95"
    apart = [pair(0.0, by_seed=dict.fromkeys(range(seed, seed + 4), 1.0)) for seed in (0, 2)]
    assert interval(of(*apart)) == Interval(1.0, 1.0)
    assert interval(of(pair(3.0, -1.0, 3.0))) is None, "too few seeds"


def test_a_study_that_is_drawn_twice_draws_its_seeds_twice() -> None:
    ends = interval(of(*(pair(3.0, -1.0, 3.0, -1.0, study=str(place)) for place in range(40))))
    assert ends is not None
    # 40 independent draws, each above 0 with chance 11/16; with the same seeds each time, 0.2 either way
    half = 1.96 * (11 / 16 * 5 / 16 / 40) ** 0.5
    assert (ends.low, ends.high) == pytest.approx((11 / 16 - half, 11 / 16 + half), abs=0.025)


def test_pairs_of_few_seeds_count_in_every_resample() -> None:
    pairs = [*[pair(-1.0)] * 3, pair(1.0, 1.0, 1.0, 1.0)]
    assert interval(of(*pairs)) is None, "of one study, an interval needs four seeds of each pair"
    assert interval(of(*pairs, *({**each, "study": "other"} for each in pairs))) == Interval(0.25, 0.25)


@pytest.fixture
def milestones(builder: Any) -> StudyResults:
    """Two variants at 50 % and at the end; a third at the end alone."""
    for variant, values in ((BASELINE, (40.0, 60.0)), (RANDOM, (45.0, 50.0)), (MASKED, (None, 55.0))):
        run_id = builder.pretrain(variant)
        for milestone, value in zip((50, 100), values, strict=True):
            builder.cell(variant, "MNLI", value, pretrain_id=run_id, milestone=milestone)
    builder.record()
    return gather_all(Store(builder.root))[0]


def test_a_pair_of_two_sections_with_the_same_runs_counts_once(builder: Any) -> None:
    measured(builder, POINTS)
    builder.cells = [each for each in builder.cells if each["measurement"] == "NER"]
    for variant, points in {
        BASELINE: 50.0,
        MASKED: 40.0,
        RANDOM: 60.0,
    }.items():  # MNLI otherwise fine-tuned, NER as it was
        run_id = next(each["pretrain_id"] for each in builder.rows if each["variant"] == variant)
        builder.cell(variant, "MNLI", points, 0, 0, run_id, run_id=f"a{points:.0f}")
    builder.record("other", setting="other")
    one, two = gather_all(Store(builder.root))
    both = agreement([one, two])
    assert [both.of(each).pairs for each in (one, two)] == [5, 5]
    assert [*both.on(METRIC)["measurement"]] == ["MNLI"] * 3 + ["NER"] * 2 + ["MNLI"] * 3


def test_the_curve_is_of_the_same_pairs_at_all_milestones(milestones: StudyResults) -> None:
    found = agreement([milestones])
    assert [(step["milestone"], step["shares"][METRIC]) for step in found.curve] == [
        (50, Share(0, 1, 0)),
        (100, Share(1, 1, 0)),
    ]
    early, late = (step["flops"] for step in found.curve)
    assert early
    assert late == 2 * early
    assert found.overall[METRIC][0] == Share(2, 3, 0), "pairs count once, at the end"


def test_the_page_and_its_data(builder: Any, milestones: StudyResults, tmp_path: Path) -> None:
    out = tmp_path / "out"
    written = page.write([], builder.root, out, page.FORMATS)
    sentence = "2 of 3 measured differences have the published sign: 67 % (over 1 seed of one study; no interval:"
    for name in ("index", "agreement"):
        for form in ("md", "html"):
            assert sentence in (out / f"{name}.{form}").read_text(encoding="utf-8")
    assert "](agreement.md)" in (out / "index.md").read_text()
    text = (out / "agreement.md").read_text()
    assert [line.split("|")[1].strip() for line in text.splitlines() if line[:1] == "|" and " 67 % " in line] == [
        "paper's metric"
    ]
    for kind in ("signs", "curve"):
        assert f"](figures/agreement-{kind}.svg)" in text
        assert (out / "figures" / f"agreement-{kind}.svg").read_bytes().startswith(b"<svg")
    assert (out / "agreement.html").read_text().count("<svg") == 2
    assert r"\label{tab:agreement:endpoint}" in (out / "agreement.tex").read_text()
    assert {path.name for path in written.pages} >= {"agreement.md", "agreement.html", "agreement.tex"}
    with (out / "agreement.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    ends = [line for line in lines if line["milestone"] == "100"]
    assert (len(lines), len(ends)) == (4, 3)
    assert [line["agrees"] for line in ends].count("True") == 2
    assert (ends[0]["published"], ends[0]["measured"], ends[0]["seeds"]) == ("-0.6", "-10.0", "1")


def test_without_a_published_difference_there_is_no_page(builder: Any, tmp_path: Path) -> None:
    builder.cell(BASELINE, "MNLI", 50.0, pretrain_id=builder.pretrain(BASELINE))
    builder.record()
    page.write([], builder.root, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("agreement*"))
    assert "agreement.html" not in (tmp_path / "out" / "index.html").read_text()


def test_a_report_of_one_study_has_its_agreement_and_the_page_is_of_all_like_the_index(
    builder: Any, tmp_path: Path
) -> None:
    measured(builder, POINTS)
    other = type(builder)(builder.root, study="other")
    other.cells, other.rows = builder.cells[:16], builder.rows
    other.record("other")
    every = agreement(gather_all(Store(builder.root)))
    one = page.write(["masking"], builder.root, tmp_path / "out").agreement
    assert [each.overall[METRIC][0].pairs for each in (every, one)] == [7, 5]
    for name in ("index.md", "index.html", "agreement.md", "agreement.html"):
        assert " of 7 measured differences have the published sign" in (tmp_path / "out" / name).read_text()
    with (tmp_path / "out" / "agreement.csv").open(newline="") as file:
        assert {line["study"] for line in csv.DictReader(file)} == {"masking", "other"}


def test_json_has_the_same_numbers(builder: Any, tmp_path: Path, call: Callable[..., int], capsys: Any) -> None:
    claim = {"text": "Random tokens hurt", "better": BASELINE, "worse": RANDOM, "on": "NER"}
    measured(builder, POINTS, claims=[claim])
    assert call("report", "--runs", builder.root, "--out", tmp_path / "out", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    share = found["agreement"]["overall"]["metric"]
    assert (share["agreed"], share["pairs"], share["share"]) == (3, 5, 0.6)
    assert share["interval"][0] <= 0.6 <= share["interval"][1]
    (finding,) = found["findings"]
    assert (finding["claim"], finding["verdict"], finding["effect"]) == ("Random tokens hurt", "undecided", 1.0)
    assert finding["within"] is None
    assert str(tmp_path / "out" / "agreement.md") in found["pages"]
