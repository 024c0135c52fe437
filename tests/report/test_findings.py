"""The section of a page on the paper's claims: no verdict that the data do not carry, and each in plain words."""

import csv
import dataclasses
import io
import itertools
import json

import pytest
from scipy.stats import ttest_1samp

from bertlab.lab.claim import Claim
from bertlab.lab.needs import Needs
from bertlab.report import findings, tidy
from bertlab.report.gather import gather_all
from bertlab.report.pages import chapter, notes, render
from bertlab.store.result import Failure
from bertlab.store.runs import Store

LARGE = Claim("Random tokens hurt", better="80/10/10", worse="0/0/100", on="MNLI")
NONE = Claim("Nothing but [MASK] hurts", better="80/10/10", worse="100/0/0", on="NER")
ALIKE = Claim("Fine-tuning is robust", better="80/10/10", worse="100/0/0", on="MNLI", within=0.3)
MISSING = Claim("Half and half is best", better="50/50/0", worse="100/0/0", on="MNLI")

NOISE = (0.0, 0.4, -0.3, 0.2, -0.1, 0.3)


@pytest.fixture
def outcomes(builder):
    """The words of each claim's verdict, for so many seeds, and how they are to be read."""

    def made(seeds, *claims, **record):
        for seed in range(seeds):
            for variant, points in (("80/10/10", 60.0), ("100/0/0", 60.0), ("0/0/100", 50.0)):
                run = builder.pretrain(variant, seed)
                noise = NOISE[(seed + len(variant)) % len(NOISE)]
                builder.cell(variant, "MNLI", points + noise, seed, 0, run)
                builder.cell(variant, "NER", 60.0 + 3 * noise, seed, 0, run)
        builder.record(claims=[dataclasses.asdict(each) for each in claims], **record)
        study = gather_all(Store(builder.root))[0]
        found = findings.findings(study)
        text = render("study.md.j2", chapter=chapter([study], written=False))
        assert (f"### {'What the paper claims' if study.has_published else 'Claims'}\n" in text) is bool(claims)
        return [row[-1] for row in findings.table(found).rows], " ".join(notes("verdicts", study, found))

    return made


def test_a_large_effect_over_six_seeds_is_reproduced_and_none_is_not(outcomes):
    (large, none), read = outcomes(6, LARGE, NONE)
    assert large == "reproduced"
    assert none.startswith("undecided: ")
    assert "Holm" in read


def test_a_table_of_claims_has_published_differences_where_there_are_any(builder):
    columns = []
    for published in (83.6, None):
        for seed in range(2):
            builder.cell("80/10/10", "MNLI", 60.0, seed, 0, builder.pretrain("80/10/10", seed))
            builder.cell("0/0/100", "MNLI", 50.0, seed, 0, builder.pretrain("0/0/100", seed))
        for cell in builder.cells:
            cell["published"] = published
        builder.record(claims=[dataclasses.asdict(LARGE)])
        columns.append(findings.brief(findings.findings(gather_all(Store(builder.root))[0])).columns)
    assert columns == [("verdict", "claim", "measured", "paper"), ("verdict", "claim", "measured")]


def test_the_other_direction_is_contradicted(outcomes):
    (verdict,), _ = outcomes(6, dataclasses.replace(LARGE, better="0/0/100", worse="80/10/10"))
    assert verdict == "contradicted"


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_few_seeds_give_no_verdict(outcomes, seeds):
    (verdict,), read = outcomes(seeds, LARGE)
    assert verdict.startswith("undecided")
    assert "A verdict needs 4" in read
    assert "Holm" not in read


def test_margins_are_decided_at_the_papers_scale_and_data_alone(outcomes):
    (here,), read = outcomes(6, ALIKE)
    assert here.startswith("undecided: margins are tested only")
    assert "directions only" in read


def test_margins_where_they_can_be_compared(outcomes, builder):
    builder.scale = "paper"
    (there,), read = outcomes(6, ALIKE, scale="paper", world=False, substitutes={}, differences=[])
    assert there.startswith(("reproduced", "undecided"))
    assert "directions only" not in read


def test_a_contrast_has_a_verdict_of_its_own(builder):
    """80/10/10 over 0/0/100 is 10 points, 100/0/0 over 80/0/20 is 2: the first difference is larger by 8."""
    levels = {"80/10/10": 60.0, "0/0/100": 50.0, "100/0/0": 55.0, "80/0/20": 53.0}
    for seed in range(5):
        for place, (variant, points) in enumerate(levels.items()):
            builder.cell(variant, "MNLI", points + NOISE[(seed + place) % 6], seed, 0, builder.pretrain(variant, seed))
    more = Claim("Random tokens hurt more", better="80/10/10", worse="0/0/100", than=("100/0/0", "80/0/20"), on="MNLI")
    less = dataclasses.replace(more, text="less", better="100/0/0", worse="80/0/20", than=("80/10/10", "0/0/100"))
    absent = dataclasses.replace(more, text="absent", than=("100/0/0", "50/50/0"))
    builder.record(claims=[dataclasses.asdict(each) for each in (more, less, absent)])
    (study,) = gather_all(Store(builder.root))
    found = findings.findings(study)
    assert [each.outcome for each in found] == ["reproduced", "contradicted", "not measured"]
    assert found[0].pair == "(80/10/10 - 0/0/100) - (100/0/0 - 80/0/20)"
    apart = [
        NOISE[seed % 6] - NOISE[(seed + 1) % 6] - NOISE[(seed + 2) % 6] + NOISE[(seed + 3) % 6] for seed in range(5)
    ]
    assert found[0].test.pair.effect.mean == pytest.approx(8 + sum(apart) / 5)
    assert found[1].test.pair.effect.mean == pytest.approx(-8 - sum(apart) / 5)
    assert found[2].hint == "50/50/0 was not run"
    lines = tidy.claims([study])
    assert list(lines["than"]) == ["100/0/0 over 80/0/20", "80/10/10 over 0/0/100", "100/0/0 over 50/50/0"]
    assert "A contrast is a difference of two differences" in " ".join(notes("verdicts", study, found))


def test_published_contrasts_are_those_of_the_papers_differences(builder):
    for seed in range(4):
        for variant, value in {"80/10/10": 4, "0/0/100": 3, "100/0/0": 2, "80/0/20": 2}.items():
            builder.cell(variant, "MNLI", value + seed % 2, seed, 0, builder.pretrain(variant, seed))
    figures = {"80/10/10": 84.2, "0/0/100": 83.6, "100/0/0": 84.3, "80/0/20": 84.1}
    for cell in builder.cells:
        cell["published"] = figures[cell["variant"]]
    claim = Claim("x", better="80/10/10", worse="0/0/100", than=("100/0/0", "80/0/20"), on="MNLI")
    builder.record(claims=[dataclasses.asdict(claim)])
    (found,) = findings.findings(gather_all(Store(builder.root))[0])
    assert found.published == "+0.4"


def test_claims_that_need_more_than_the_setting_has_are_not_tested_and_not_counted(outcomes):
    needy = dataclasses.replace(LARGE, text="needy", needs=Needs(steps=10_000))
    sizes = {variant: {"steps": 2000} for variant in ("80/10/10", "0/0/100", "100/0/0")}
    found, _ = outcomes(6, *(dataclasses.replace(needy, text=f"needy {n}") for n in range(3)), LARGE, NONE, sizes=sizes)
    why = "undecided: not testable at this scale: needs 10,000 steps or more (0/0/100 has 2,000)"
    assert [outcome.partition("; †")[0] for outcome in found[:3]] == [why] * 3
    assert found[3] == "reproduced"


def test_untestable_claims_are_no_part_of_the_family(builder, outcomes):
    needy = dataclasses.replace(LARGE, text="needy", needs=Needs(steps=10_000))
    outcomes(6, needy, LARGE, NONE, sizes={"0/0/100": {"steps": 2000}})
    (study,) = gather_all(Store(builder.root))
    needs, large, none = (each.test for each in findings.findings(study))
    assert (needs.p, needs.adjusted, needs.testable) == (None, None, False)
    smallest, other = sorted((large.p, none.p))
    assert min(large.adjusted, none.adjusted) == pytest.approx(2 * smallest)
    assert other >= smallest


def test_what_was_not_measured_is_said_so(outcomes):
    """A variant that was not run, one without this measurement, one without this milestone, and a whole measurement."""
    claims = [MISSING, dataclasses.replace(LARGE, worse="100/0/0", at=50), dataclasses.replace(LARGE, on="SQuAD")]
    found, _ = outcomes(2, *claims, dataclasses.replace(MISSING, worse="70/30/0"))
    assert found == [
        "not measured: 50/50/0 was not run",
        "not measured: 80/10/10 and 100/0/0 were not measured on MNLI at 50 %",
        "not measured: SQuAD was not measured",
        "not measured: 50/50/0 and 70/30/0 were not run",
    ]


def test_variants_without_a_common_seed_are_not_compared(builder):
    builder.cell("80/10/10", "MNLI", 60.0, 0, 0, builder.pretrain("80/10/10", 0))
    builder.cell("0/0/100", "MNLI", 50.0, 1, 0, builder.pretrain("0/0/100", 1))
    builder.record(claims=[dataclasses.asdict(LARGE)])
    (finding,) = findings.findings(gather_all(Store(builder.root))[0])
    assert finding.sentence == "not measured: 80/10/10 and 0/0/100 have no seed in common"


def test_a_claim_that_is_not_measured_names_the_variants_that_failed(builder):
    """Of the first one a run failed, and of the second one a corpus; the baseline collapsed."""
    builder.cell("80/10/10", "MNLI", 33.0, 0, 0, builder.pretrain("80/10/10"), status="collapsed")
    for variant in ("0/0/100", "100/0/0"):
        builder.cell(variant, "MNLI", None, 0, 0, builder.pretrain(variant, finished=False))
    builder.rows[2]["corpus_id"] = 16 * "c"
    (builder.root / "failures").mkdir()
    Store(builder.root).fail(Failure(id=f"{2:016x}", status="failed", reason="no room"))
    Store(builder.root).fail(Failure(id=16 * "c", status="failed", reason="no text"))
    claim = dataclasses.replace(LARGE, worse=("0/0/100", "100/0/0"))
    builder.record(claims=[dataclasses.asdict(claim)])
    study = gather_all(Store(builder.root))[0]
    (found,) = findings.findings(study)
    assert found.details == "0/0/100 failed; 100/0/0 failed"
    assert found.sentence.startswith("not measured: 0/0/100 failed; 100/0/0 failed (1 of 1 run of 80/10/10")
    assert [each.status for each in study.pretrainings] == ["done", "failed", "failed"]
    assert [each.reason for each in study.cells] == ["", "no room", "no text"]


def test_a_claim_about_several_variants_names_the_pair_that_speaks_most_against_it(outcomes):
    (verdict,), read = outcomes(6, dataclasses.replace(LARGE, worse=("0/0/100", "100/0/0")))
    assert verdict.startswith("undecided")
    assert "must hold for each" in read


def test_what_more_seeds_would_cost(outcomes):
    # three seeds more of two variants: each a pre-training and a measurement of 1.5 s
    (verdict,), _ = outcomes(1, LARGE)
    assert verdict == "undecided: needs at least 4 seeds, about 18 s more"


def test_fine_tuning_seeds_on_a_run_of_the_store_decide_for_it(builder):
    shared = builder.pretrain("80/10/10", timing=[{"stage": "pretrain", "step": 0, "seconds": 5000.0}])
    builder.pretrain("0/0/100", run_id=shared, finished=False)
    for seed in range(2):
        builder.cell("80/10/10", "MNLI", 60.0 + NOISE[seed], 0, seed, shared)
        builder.cell("0/0/100", "MNLI", 50.0 + NOISE[seed + 1], 0, seed, shared)
    builder.record(claims=[dataclasses.asdict(LARGE)], pretrained="masking/80/10/10/0")
    (study,) = gather_all(Store(builder.root))
    ((*_, n, _, verdict),) = findings.table(findings.findings(study)).rows
    assert (n, verdict.partition(",")[0]) == ("2", "undecided: needs at least 4 fine-tuning seeds")
    assert verdict.endswith("about 6.0 s more"), "without another pre-training"
    assert any("All variants use one model, masking/80/10/10/0" in each for each in notes("caveats", study))


def test_sizes_elsewhere_are_estimated_from_what_was_measured(outcomes):
    (verdict,), _ = outcomes(6, NONE)
    assert verdict.startswith("undecided: if the true effect is ")
    assert "+0.5" not in verdict  # as in the paper


def test_a_variant_that_has_learned_nothing_decides_nothing(outcomes, builder):
    builder.plateau = 4.5  # 0.1 nat above where all variants end
    (verdict,), _ = outcomes(6, LARGE)
    assert verdict.startswith("undecided: 80/10/10 and 0/0/100 learned next to nothing in pre-training")


def test_a_task_that_pre_training_does_not_help_decides_nothing(outcomes, builder):
    for seed in range(6):
        builder.cell("no pre-training", "MNLI", 70.0, seed, 0, builder.pretrain("no pre-training", seed, steps=0))
    (verdict,), _ = outcomes(6, LARGE)
    assert verdict == "undecided: pre-training does not help there"


@pytest.mark.parametrize(
    ("status", "spread", "says"),
    [
        ("done", 30.0, "undecided: the gain by pre-training cannot be distinguished from 0 there"),
        ("collapsed", 1.0, "undecided: no pre-training predicts one answer for all examples"),
        ("done", 1.0, "reproduced"),
    ],
)
def test_a_gain_that_is_none_for_certain_decides_nothing(outcomes, builder, status, spread, says):
    for seed in range(6):
        run = builder.pretrain("no pre-training", seed, steps=0)
        points = 40.0 + spread * (-1) ** seed
        builder.cell("no pre-training", "MNLI", points, seed, 0, run, status=status)
    (verdict,), _ = outcomes(6, LARGE)
    assert verdict.startswith(says)


def test_one_untrained_seed_shows_no_gain(outcomes, builder):
    builder.cell("no pre-training", "MNLI", 40.0, 0, 0, builder.pretrain("no pre-training", 0, steps=0))
    (verdict,), _ = outcomes(6, LARGE)
    assert verdict == "undecided: the gain by pre-training cannot be distinguished from 0 there"


def test_a_published_difference_has_the_digits_of_the_paper(builder):
    claim = Claim("Lower", better="80/10/10", worse="0/0/100", on="MNLI")
    for variant, value in (("80/10/10", 3.99), ("0/0/100", 3.68)):
        builder.cell(variant, "MNLI", 50.0, 0, 0, builder.pretrain(variant, 0))
        builder.cells[-1]["published"] = value
    builder.record(claims=[dataclasses.asdict(claim)])
    (found,) = findings.findings(gather_all(Store(builder.root))[0])
    assert found.published == "+0.31"


def test_differences_that_are_all_equal_say_why_there_is_no_verdict(builder):
    for seed, (variant, points) in itertools.product(range(5), (("80/10/10", 60.0), ("0/0/100", 58.0))):
        builder.cell(variant, "MNLI", points, seed, 0, builder.pretrain(variant, seed))
    builder.record(claims=[dataclasses.asdict(LARGE)])
    (found,) = findings.findings(gather_all(Store(builder.root))[0])
    assert (found.outcome, found.hint) == ("undecided", "all differences are +2.0, which gives no p-value")


def test_the_claims_as_csv(outcomes, builder):
    outcomes(6, LARGE, NONE)
    lines = list(csv.DictReader(io.StringIO(tidy.csv(tidy.claims(gather_all(Store(builder.root)))))))
    assert [line["verdict"] for line in lines] == ["reproduced", "undecided"]
    assert list(lines[0]) == list(tidy.CLAIMS)
    assert float(lines[0]["low"]) < float(lines[0]["effect"]) < float(lines[0]["high"])
    assert (lines[0]["better"], lines[0]["worse"], lines[0]["n"]) == ("80/10/10", "0/0/100", "6")
    assert float(lines[0]["adjusted_p"]) == pytest.approx(2 * float(lines[0]["p"]))


def test_beside_a_verdict_stands_what_the_seeds_alone_say(outcomes, builder):
    outcomes(6, LARGE, NONE)
    (study,) = gather_all(Store(builder.root))
    lines = list(csv.DictReader(io.StringIO(tidy.csv(tidy.claims([study])))))
    for each, row in zip(found := findings.findings(study), findings.table(found).rows, strict=True):
        by_seed = [*each.test.pair.effect.by_seed.values()]
        p = float(ttest_1samp(by_seed, 0).pvalue)
        assert each.test.seeds_alone_p == pytest.approx(p)
        text = "p < .001" if p < 0.001 else f"p = {p:.2g}".replace("0.", ".")
        assert (each.seeds, row[-2]) == (f"n = 6, seeds alone {text}", text)
    assert [float(line["seeds_alone_p"]) for line in lines] == [each.test.seeds_alone_p for each in found]


def test_a_claim_of_an_earlier_time_is_decided_by_what_was_measured_then(builder):
    for seed in range(5):
        for variant, early, late in (("80/10/10", 40.0, 60.0), ("0/0/100", 45.0, 50.0)):
            run = builder.pretrain(variant, seed)
            noise = NOISE[(seed + len(variant)) % len(NOISE)]
            builder.cell(variant, "MNLI", early + noise / 2, seed, 0, run, milestone=50)
            builder.cell(variant, "MNLI", late + noise, seed, 0, run)
    claims = [dataclasses.replace(LARGE, at=50), LARGE, dataclasses.replace(LARGE, at=20)]
    claims += [Claim("The second half helps", better="80/10/10", on="MNLI", since=50)]
    builder.record(claims=[dataclasses.asdict(each) for each in claims])
    found = findings.findings(gather_all(Store(builder.root))[0])
    early, late, _, half = (each.test.pair for each in found)
    assert [each.outcome for each in found] == ["contradicted", "reproduced", "not measured", "reproduced"]
    assert half.effect.mean == pytest.approx(20, abs=0.1)
    assert early.published is None
    assert str(late.published) == "0.6", "as printed: 84.2 - 83.6 in floats is not"


def test_a_record_without_claims_has_no_such_section(outcomes):
    assert outcomes(2)[0] == []


def with_noise(builder, seeds, changed):
    """MNLI of two variants, 2 points apart; `changed` gives the points and status of single runs."""
    for seed in range(seeds):
        for variant, points in (("80/10/10", 60.0), ("0/0/100", 58.0)):
            value, status = changed.get((variant, seed), (points + NOISE[(seed + len(variant)) % len(NOISE)], "done"))
            builder.cell(variant, "MNLI", value, seed, 0, builder.pretrain(variant, seed), status=status)
    builder.record(claims=[dataclasses.asdict(LARGE)])
    study = gather_all(Store(builder.root))[0]
    found = findings.findings(study)
    return findings.table(found).rows[0][-1], " ".join(notes("verdicts", study, found)), found[0].test


def test_a_seed_that_diverged_or_is_missing_leaves_a_claim_undecided(builder):
    whole, *_ = with_noise(builder, 6, {})
    assert whole == "reproduced"
    for seed in (2, 4):
        (builder.root / "finetune" / f"{builder.cells[2 * seed]['run_id']}--a-label").rename(builder.root / str(seed))
    failures = builder.root / "failures"
    failures.mkdir()
    run_id = builder.cells[4]["run_id"]
    outcomes = {"id": run_id, "status": "diverged", "reason": "diverged at step 5: the loss is not finite"}
    (failures / f"{run_id}.json").write_text(json.dumps(outcomes))
    study = gather_all(Store(builder.root))[0]
    (finding,) = findings.findings(study)
    assert {cell.status for cell in study.cells} == {"done", "diverged", "pending"}
    assert finding.test.pair.effect.n == 4, "the others are shown"
    assert finding.test.p is None
    verdict = findings.table([finding]).rows[0][-1]
    assert verdict == "undecided: 1 of 6 seeds of 80/10/10 diverged; 1 of 6 seeds of 80/10/10 pending"


def test_a_verdict_holds_without_the_seeds_that_collapsed(builder):
    collapsed = {("0/0/100", 1): (40.0, "collapsed"), ("0/0/100", 3): (38.0, "collapsed")}
    verdict, read, decided = with_noise(builder, 8, collapsed)
    assert verdict.startswith("undecided")
    assert "(2 of 8 runs of 0/0/100 collapsed; by seed +1.3, +20.2 collapsed, " in verdict
    assert "the same without their seeds" in read
    assert "fix the number of seeds first." in read
    assert decided.pair.without.n == 6
    assert decided.p == decided.pair.effect.p > decided.pair.without.p, "the larger of the two"


def test_a_colon_ends_the_outcome_of_a_verdict_with_collapses_alone(builder):
    changed = {("0/0/100", seed): (40.0 + NOISE[seed % 6], "done") for seed in range(8)}
    changed[("0/0/100", 1)] = (40.3, "collapsed")
    verdict, *_ = with_noise(builder, 8, changed)
    assert verdict.startswith("reproduced: 1 of 8 runs of 0/0/100 collapsed; by seed +")


def test_a_collapse_without_its_counterpart_has_no_difference(builder):
    """The baseline alone has run, and it collapsed: that is not why the claim is not measured."""
    builder.cell("80/10/10", "MNLI", 33.0, 0, 0, builder.pretrain("80/10/10", 0), status="collapsed")
    builder.record(claims=[dataclasses.asdict(LARGE)])
    (finding,) = findings.findings(gather_all(Store(builder.root))[0])
    assert finding.details == "0/0/100 was not run"
    assert finding.sentence == "not measured: 0/0/100 was not run (1 of 1 run of 80/10/10 collapsed)"


def test_few_seeds_besides_those_that_collapsed_decide_nothing(builder):
    collapsed = {("0/0/100", seed): (20.0 + NOISE[seed], "collapsed") for seed in range(5)}
    verdict, _, decided = with_noise(builder, 6, collapsed)
    assert verdict.startswith("undecided: 1 seed without a collapse, a verdict needs 4 (5 of 6 runs")
    assert decided.pair.effect.p < 0.01
    assert decided.p == 1.0


def test_the_other_way_without_the_collapses_is_undecided(builder):
    seeds = range(8)
    changed = {("0/0/100", seed): (62.0 + NOISE[seed % 6] / 9, "done") for seed in seeds}
    changed |= {("0/0/100", seed): (20.0, "collapsed") for seed in (0, 2, 4, 6)}
    verdict, _, decided = with_noise(builder, 8, changed)
    assert verdict.startswith("undecided: the difference comes from the seeds that collapsed (4 of 8 runs")
    assert decided.pair.effect.mean > 0 > decided.pair.without.mean
    assert (decided.p, decided.outcome) == (1.0, "undecided")


def test_what_a_verdict_does_not_say_stands_beside_it(outcomes):
    _, read = outcomes(6, LARGE, NONE)
    assert "where none of 6 collapsed, up to 39 % may (95 % bound)" in read


def judged(finding, outcome):
    """A finding with another outcome."""
    return dataclasses.replace(finding, test=dataclasses.replace(finding.test, outcome=outcome))


def test_a_verdict_shades_the_value_of_the_later_variant(claimed):
    pairs = [("80/10/10", "0/0/100"), ("100/0/0", "0/0/100"), ("80/10/10", "100/0/0")]
    claims = [{"text": f"{one} beats {two}", "better": one, "worse": two, "on": "NER"} for one, two in pairs]
    claimed.record(claims=claims)
    study = gather_all(Store(claimed.root))[0]
    found = findings.findings(study)
    decided = [each.outcome for each in found]
    assert decided[0] == "reproduced"
    assert findings.shades(study, found[:1]) == {("0/0/100", "NER"): "reproduced"}
    late = findings.shades(study, [judged(found[1], "contradicted")])
    assert late == {("0/0/100", "NER"): "contradicted"}
    assert findings.shades(study, [judged(found[0], "undecided")]) == {}
    assert findings.counts(found)["reproduced"] == decided.count("reproduced")


def test_a_verdict_shades_all_variants_with_the_same_runs(builder):
    for seed in range(6):
        run, shared = builder.pretrain("80/10/10", seed), builder.pretrain("100/0/0", seed)
        builder.pretrain("0/0/100", seed, run_id=shared, finished=False)  # it is finished already
        for on in ("MNLI", "NER"):
            builder.cell("80/10/10", on, 60.0 + NOISE[seed], seed, 0, run)
            builder.cell("100/0/0", on, 50.0, seed, 0, shared)
        once = builder.cells[-3]["run_id"]
        builder.cell("0/0/100", "MNLI", None, seed, 0, shared, run_id=once)
        builder.cell("0/0/100", "NER", 50.0, seed, 0, shared)  # equal values of other runs
    claims = [dataclasses.asdict(dataclasses.replace(LARGE, on=on)) for on in ("MNLI", "NER")]
    builder.record(claims=claims)
    study = gather_all(Store(builder.root))[0]
    shaded = findings.shades(study, findings.findings(study))
    assert shaded == dict.fromkeys([("0/0/100", "MNLI"), ("100/0/0", "MNLI"), ("0/0/100", "NER")], "reproduced")


def test_a_verdict_on_the_best_variant_shades_it_alone(builder):
    for seed in range(6):
        for variant, points in (("80/10/10", 40.0), ("0/0/100", 70.0), ("100/0/0", 50.0)):
            run = builder.pretrain(variant, seed)
            builder.cell(variant, "NER", points + NOISE[(seed + int(points) // 10) % 6], seed, 0, run)
    others = {"0/0/100": ["80/10/10", "100/0/0"], "80/10/10": ["0/0/100", "100/0/0"]}
    claims = [{"text": f"{one} wins", "better": one, "worse": worse, "on": "NER"} for one, worse in others.items()]
    builder.record(claims=claims)
    study = gather_all(Store(builder.root))[0]
    best, baseline = findings.findings(study)
    assert [each.sentence for each in (best, baseline)] == ["reproduced", "contradicted"]
    assert findings.shades(study, [best]) == {("0/0/100", "NER"): "reproduced"}
    # a verdict on the baseline is shown where it is compared
    assert findings.shades(study, [baseline]) == {(baseline.test.pair.worse, "NER"): "contradicted"}
