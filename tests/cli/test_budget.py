"""`ablate --budget` and `--until-decided`: rounds end, continue with the same looks, and keep to their budget."""

import dataclasses
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from bertlab.cli import rounds as cli_rounds
from bertlab.cli.rounds import _print_end
from bertlab.errors import BadInput
from bertlab.lab import plan, scales, studies
from bertlab.lab.study import RANDOM_INIT, Claim, Measurement, Study, Variant
from bertlab.report.cells import Pretraining
from bertlab.report.looks import LookHistory
from bertlab.report.statistics.effects import effect
from bertlab.report.verdicts import ClaimTest, Pair, verdicts
from bertlab.sequential.budget import Budget
from bertlab.sequential.looking import claim_looks
from bertlab.sequential.rounds import Rounds, State, standing, still_open, unbegun
from bertlab.store import records
from bertlab.store.files import read_sealed
from bertlab.store.runs import Store
from bertlab.tasks.metrics import Mean
from small_record import look

STUDY = """
from bertlab import Claim, Corruption, MaskedLM, Measurement, Study, Variant

study = Study(
    name="rates",
    question="Does a learning rate of nothing hurt?",
    source="a test",
    unlike=["a learning rate of its own"],
    baseline="fast",
    variants=[
        Variant("fast", fields={"schedule.peak_lr": "1e-3"}),
        Variant("slow", fields={"schedule.peak_lr": "1e-7"}),
        Variant("unused", fields={"schedule.peak_lr": "1e-5"}),
    ],
    measurements=[Measurement("loss", metric="masked_lm_loss")],
    claims=[
        Claim("fast beats slow", better="fast", worse="slow", on="loss"),
        Claim("fast is within a margin", better="fast", worse="unused", on="loss", within=0.1),
    ],
)
"""


@pytest.fixture(scope="module", autouse=True)
def learned():
    """Two steps teach nothing, which would leave every claim undecided."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pretraining, "learned_nothing", False)
        yield


@pytest.fixture(scope="module")
def command(tmp_path_factory, text_file):
    """A study of two claims, of which the margin holds at the paper's scale alone."""
    file = tmp_path_factory.mktemp("study") / "rates.py"
    file.write_text(STUDY)
    small = ("--set", "schedule.steps=2", "--set", "schedule.batch_size=4", "--set", "tokenizer.vocabulary=300")
    return ("ablate", file, "--scale", "smoke", "--corpus", text_file, *small, "--threads", "1", "--precision", "fp32")


@pytest.fixture(scope="module")
def ended(call, command, tmp_path_factory):
    """A store after `--budget 11runs`, which pays for four seeds of two variants and one more of each."""
    runs = tmp_path_factory.mktemp("ended") / "runs"
    assert call(*command, "--runs", runs, "--budget", "11runs") == 0
    return runs


def record(runs):
    (file,) = runs.glob("studies/*.json")
    return read_sealed(file)


def pretrained(runs):
    return {run.id for run in Store(runs).runs() if run.kind == "pretrain"}


def test_a_dry_run_shows_the_first_round_and_writes_nothing(call, command, tmp_path, capsys):
    assert call(*command, "--runs", tmp_path / "runs", "--budget", "11runs", "--dry-run") == 0
    assert list(tmp_path.iterdir()) == []
    printed = capsys.readouterr().out
    assert "round 1" in printed


@pytest.mark.parametrize(("budget", "runs"), [("11runs", 8), ("12runs", 12), ("90runs", 12)])
def test_the_first_round_has_as_many_claims_as_the_budget_pays(call, command, tmp_path, capsys, budget, runs):
    file = tmp_path / "two.py"
    file.write_text(STUDY.replace(", within=0.1", ""))
    assert call("ablate", file, *command[2:], "--runs", tmp_path / "runs", "--budget", budget, "--dry-run") == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["pretrain"])
    assert line.split()[1:3] == ["0", str(runs)]


def test_rounds_buy_what_a_claim_needs_within_the_budget(ended):
    kept = record(ended)
    assert {cell["variant"] for cell in kept["cells"]} == {"fast", "slow"}
    assert len(pretrained(ended)) in (8, 10)
    assert kept["sequential"]["maximum"] == 5
    looks = kept["sequential"]["looks"]
    assert [look["claims"][0]["n"] for look in looks] == [4, 5][: len(looks)]
    assert looks[0]["seeds"] == {"fast": [0, 1, 2, 3], "slow": [0, 1, 2, 3]}
    assert kept["command"].endswith("--budget 11runs")


def test_the_same_command_again_has_the_same_looks(call, command, ended, tmp_path, capsys):
    runs = shutil.copytree(ended, tmp_path / "runs")
    before = record(runs)
    assert call(*command, "--runs", runs, "--budget", "11runs") == 0
    assert f"Budget: {len(pretrained(ended))} runs of 11 runs used." in capsys.readouterr().out
    assert record(runs) == before
    assert pretrained(runs) == pretrained(ended)
    # a round that was interrupted is completed before anybody looks again
    lost = next(run for run in Store(runs).runs() if run.kind == "pretrain")
    shutil.rmtree(lost.path)
    assert call(*command, "--runs", runs, "--budget", "11runs", "--dry-run") == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["pretrain"])
    assert line.split()[2] == "1"
    assert call(*command, "--runs", runs, "--budget", "11runs") == 0
    assert record(runs)["sequential"] == before["sequential"]
    assert pretrained(runs) == pretrained(ended)


def test_a_dry_run_looks_and_keeps_nothing(call, command, ended, tmp_path):
    runs = shutil.copytree(ended, tmp_path / "runs")
    store = Store(runs)
    ((name, kept),) = store.records().items()
    records.write(store.root, name, dataclasses.replace(kept, sequential=None))
    assert call(*command, "--runs", runs, "--budget", "11runs", "--dry-run") == 0
    assert "sequential" not in record(runs)


def test_failed_runs_are_repeated_once(monkeypatch):
    places = iter([{"a"}, {"b"}, set()])
    nothing, retries = SimpleNamespace(jobs=[], values=list), []
    made = SimpleNamespace(store=None, machine=None, records=lambda places: [], unfinished=lambda states, failed: set())
    monkeypatch.setattr(cli_rounds, "_next", lambda rounds, **named: (nothing, next(places)))
    monkeypatch.setattr(cli_rounds, "_print_round", lambda *given: (nothing, None))
    monkeypatch.setattr(cli_rounds, "run_jobs", lambda *given, retry, on_training: retries.append(retry))
    for name in ("planning.check_data", "union.save_records", "print_results", "_print_end"):
        monkeypatch.setattr(f"bertlab.cli.rounds.{name}", lambda *given: None)
    assert cli_rounds.run_rounds(made, retry=True) == (True, [], [])
    assert retries == [True, False]


def test_the_end_says_that_results_are_missing_and_not_that_the_budget_is_used(
    call, command, ended, tmp_path, capsys, monkeypatch
):
    runs = shutil.copytree(ended, tmp_path / "runs")
    assert call(*command, "--runs", runs, "--budget", "11runs") == 0
    printed = capsys.readouterr().out
    # all five seeds are there, or the first four decided
    assert "No claim needs more seeds." in printed
    shutil.rmtree(next(run for run in Store(runs).runs() if run.kind == "pretrain").path)
    monkeypatch.setattr("bertlab.cli.rounds.run_jobs", lambda *given, **named: False)
    assert call(*command, "--runs", runs, "--budget", "11runs") == 1
    printed = capsys.readouterr().out
    assert f"1 measurement has no result: see `bertlab runs --runs {runs}`." in printed
    assert "budget pays" not in printed
    assert "No claim needs" not in printed


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ((), "2 claims stay open: the budget pays for no more seeds."),
        (
            ("diverged",),
            "1 measurement has no result: see `bertlab runs --runs STORE`.\n2 claims stay open: the budget pays",
        ),
        (
            ("pending", "pending"),
            "2 measurements have no result: see `bertlab runs --runs STORE`.\n2 claims stay open: rounds go on",
        ),
    ],
)
def test_the_end_says_why_claims_stay_open(rounds, capsys, monkeypatch, statuses, said):
    cells = [
        SimpleNamespace(variant="A", measurement="loss", milestone=100, pretrain_seed=seed, status=status)
        for seed, status in enumerate(statuses)
    ]
    states = {"three": State(SimpleNamespace(unfinished=cells), SimpleNamespace(cells=()))}
    claim = Claim("A beats B", better="A", worse="B", on="loss")
    effect = SimpleNamespace(mean=1.0, n=4)
    open_ = ClaimTest(claim, (Pair("A", "B", effect, None),), LookHistory(12, (look(4, 0.2, True, 0.5),)))
    few = ClaimTest(
        claim, (Pair("A", "B", SimpleNamespace(mean=1.0, n=3), None),), LookHistory(12)
    )  # of another command
    decided = dataclasses.replace(open_, outcome="reproduced")
    judged = [(None, [each]) for each in (open_, few, decided)]
    monkeypatch.setattr(Rounds, "trials", lambda self, states: iter(judged))
    made = rounds(Budget(runs=40))
    _print_end(made, states)
    assert capsys.readouterr().out.startswith(said.replace("STORE", str(made.store.root)))


def test_a_claim_ends_with_the_papers_metric_or_with_both_endpoints():
    claim = Claim("A beats B", better="A", worse="B", on="loss")
    first = ClaimTest(
        claim, (Pair("A", "B", SimpleNamespace(mean=1.0), None),), LookHistory(12, (look(4, 0.2, True, 0.5),))
    )
    futile = dataclasses.replace(first, history=LookHistory(12, (look(4, 0.2, True, 0.01),)))
    decided = dataclasses.replace(first, outcome="reproduced")
    few = ClaimTest(claim, (Pair("A", "B", SimpleNamespace(mean=1.0, n=3), None),), LookHistory(12))
    assert standing([few]) == "not begun: the budget is too small"
    assert unbegun(few)
    assert not unbegun(dataclasses.replace(few, validity_issue="it learned nothing"))
    known = [[first, futile], [futile, first], [futile, futile], [decided, first], [first, decided]]
    assert [still_open(each) for each in known] == [True, True, False, False, True]
    assert standing([decided, first]) == "reproduced"
    assert standing([first, futile]) == (
        "undecided: with 12 seeds a verdict has a chance of 50 %; by likelihood "
        "undecided: no more seeds: even with all 12 planned, a verdict has a chance of 1 %"
    )


def above(n, sign=1):
    """An effect of n seeds, on the side of this sign."""
    runs = [
        {seed: [Mean(np.array([value]))] for seed, value in enumerate(values)}
        for values in (sign * np.arange(1.0, n + 1), np.zeros(n))
    ]
    return effect(*runs)


def test_a_look_counts_the_open_claims_and_sees_every_pair():
    def found(*trials):
        claims = [trial.claim for trial in trials]
        return [*claim_looks(trials, {}, claims)]

    one, two = (Claim(f"A beats {worse}", better="A", worse=worse, on="MNLI") for worse in "BC")
    first, second = (ClaimTest(each, (Pair("A", each.worse, above(4), None),), LookHistory(12)) for each in (one, two))
    (alone,), (beside, _) = found(first), found(first, second)
    assert alone.power > beside.power
    assert alone.as_claimed
    both = Claim("A is the best", better="A", worse=("B", "C"), on="MNLI")
    pairs = tuple(Pair("A", worse, above(4, sign), None) for worse, sign in (("B", 1), ("C", -1)))
    assert [each.as_claimed for each in found(ClaimTest(both, pairs, LookHistory(12)))] == [False]


def test_a_look_waits_for_a_new_seed_of_every_pair():
    claim = Claim("A is the best", better="A", worse=("B", "C"), on="MNLI")

    def looked_at(seeds, *looks):
        """The seeds that the next look sees, if there is one."""
        effects = [above(n) for n in seeds]
        pairs = tuple(Pair("A", worse, each, None) for worse, each in zip("BC", effects, strict=True))
        judged = verdicts([ClaimTest(claim, pairs, LookHistory(12, looks))])
        return [each.n for each in claim_looks(judged, {}, [claim])]

    first = look(4, 0.5, True, 0.5)
    assert looked_at((4, 4)) == looked_at((5, 4)) == [4]
    assert looked_at((4, 4), first) == looked_at((6, 4), first) == []
    assert looked_at((6, 5), first) == [5]
    assert looked_at((12, 12), first, look(12, 0.5, True, 0.0)) == []


def test_seeds_added_otherwise_are_no_look(call, command, ended, tmp_path, capsys):
    runs = shutil.copytree(ended, tmp_path / "runs")
    before = record(runs)["sequential"]
    assert call(*command, "--runs", runs, "--seeds", "6", "--only", "fast", "--only", "slow") == 0
    assert record(runs)["sequential"] == before
    capsys.readouterr()
    assert call("report", "--runs", runs, "--out", tmp_path / "out") == 0
    assert "sequential p" in (tmp_path / "out" / "rates.md").read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--budget", "soon"], "--budget is 'soon'"),
        (["--budget", "0h"], "--budget is '0h'"),
        (["--budget", "2.5runs"], "--budget is '2.5runs'"),
        (["--budget", "3runs"], "takes 8 runs at least"),
        (["--budget", "40runs", "--seeds", "3"], "--seeds fixes the seeds"),
        (["--until-decided", "--claim-seeds", "3"], "--claim-seeds fixes the seeds"),
        (["--until-decided", "--curves"], "--curves has no effect with --budget and --until-decided"),
        (["--until-decided", "--only", "fast", "--only", "unused"], "none that can be decided"),
    ],
)
def test_what_cannot_be_used_is_one_line(call, command, tmp_path, capsys, given, said):
    assert call(*command, "--runs", tmp_path / "runs", *given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def rounds(tmp_path, machine, monkeypatch):
    """Rounds of three claims of eight pre-trainings, of which each has the four of the baseline."""
    variants = [Variant(name, fields={"schedule.peak_lr": f"1e-{n}"}) for n, name in enumerate("ABCD", 3)]
    claims = [Claim(f"A beats {other}", better="A", worse=other, on="loss") for other in "BCD"]
    loss = Measurement("loss", metric="masked_lm_loss")
    facts = {"question": "Which?", "source": "a test", "baseline": "A"}
    study = Study(name="three", variants=variants, measurements=[loss], claims=claims, **facts)
    request = plan.Request(studies=(study,), scale=scales.find("smoke"))
    monkeypatch.setattr(Rounds, "seconds", staticmethod(lambda job, devices: 10.0))
    return lambda budget, **changes: Rounds(request, budget, machine, Store(tmp_path / "runs"), "", "", **changes)


def test_the_first_round_counts_what_is_bought(rounds):
    for limit, bought in ((8, 8), (12, 12), (15, 12), (16, 16)):
        made = rounds(Budget(runs=limit))
        there = made.first_round(set())
        assert len(there) == bought
        for _ in range(2):
            assert made.first_round(there) == set()
        assert made.spent(there) == bought


def claims_of(made, *claims):
    """Rounds of these claims instead."""
    studies = (dataclasses.replace(made.request.studies[0], claims=[*claims]),)
    made.request = dataclasses.replace(made.request, studies=studies)
    return made


def at(variants, seeds):
    return {("three", variant, "loss", 100, seed) for variant in variants for seed in seeds}


def stored(places):
    """The study in the store with these places."""
    values = [SimpleNamespace(column=column, pretrain_seed=seed) for _, *column, seed in places]
    return {"three": State(None, SimpleNamespace(cells=values))}


def test_a_seed_of_a_claim_has_all_its_places(rounds):
    claim = rounds(Budget()).candidates[0]
    assert claim.seeds(claim.places(0) | {place for place in claim.places(1) if place[1] == "A"}) == {0}


def test_claims_on_other_variants_need_the_controls_at_the_first_seeds(rounds):
    made = claims_of(rounds(Budget(runs=40)), Claim("B beats C", better="B", worse="C", on="loss"))
    made.request = dataclasses.replace(made.request, random_init=True)
    first = made.first_round(set())
    assert first == at(("A", "B", "C", RANDOM_INIT), range(4))
    assert made.needed(first) == first
    assert made.spent(first) == 16


def test_the_cheapest_claim_is_begun_first(rounds):
    dear = Claim("A is the best", better="A", worse=("B", "C"), on="loss")
    cheap = Claim("A beats D", better="A", worse="D", on="loss")
    made = claims_of(rounds(Budget(runs=12)), dear, cheap)
    assert made.first_round(set()) == at("AD", range(4))


def test_the_maximum_is_what_the_budget_pays_for_all_begun_claims(rounds):
    recorded = at("AB", range(6)) | at("C", range(4))
    for limit, seeds in ((16, 4), (21, 5), (24, 6), (900, 48)):  # a seed of each claim takes three runs
        assert rounds(Budget(runs=limit)).maximum(recorded) == seeds
    assert rounds(Budget()).maximum(recorded) == 12


B, C, D = (Claim(f"A beats {other}", better="A", worse=other, on="loss") for other in "BCD")
BOTH = Claim("A is the best", better="A", worse=("B", "C"), on="loss")
FOUR = at("ABCD", range(4))


@pytest.mark.parametrize(
    ("left", "recorded", "judged", "seeds"),
    [
        # the claims that the budget pays in full, and those that may go on beside them for little
        (None, FOUR, {B: [(4, 12, 0.3)], C: [(4, 12, 0.6)]}, at("ABC", [4])),
        (3, FOUR, {B: [(4, 5, 0.3)], C: [(4, 5, 0.6)]}, at("ABC", [4])),
        # the best chance for the cost of all seeds, not of the next
        (2, FOUR, {B: [(4, 12, 0.3)], C: [(4, 12, 0.6)], D: [(4, 12, 0.5)]}, at("AC", [4])),
        (3, FOUR, {BOTH: [(4, 12, 0.6)], D: [(4, 12, 0.5)]}, at("AD", [4])),
        (3, FOUR | at("AD", range(10)), {B: [(4, 12, 0.5)], D: [(10, 12, 0.3)]}, at("AD", [10])),
        (2, FOUR, {B: [(4, 12, 0.3), (4, 12, 0.7)], C: [(4, 12, 0.6)]}, at("AB", [4])),
        (2, FOUR | at("AC", range(9)), {B: [(4, 12, 0.5), (10, 12, 0.5)], C: [(9, 12, 0.3)]}, at("AC", [9])),
        # nothing that the budget does not pay
        (1, FOUR, {B: [(4, 12, 0.3)]}, set()),
        # the first seed that is not there as a whole
        (9, FOUR | at("AB", [7]), {B: [(4, 12, 0.3)]}, at("AB", [4])),
        (9, FOUR | at("A", [4]), {B: [(4, 12, 0.3)]}, at("B", [4])),
    ],
)
def test_the_next_round_is_the_best_chance_for_its_cost(rounds, monkeypatch, left, recorded, judged, seeds):
    made = claims_of(rounds(Budget(runs=90)), *judged)
    if left is None:
        made.budget = Budget()
    else:
        made.budget = Budget(runs=int(made.spent(recorded)) + left)
    trials = [
        [ClaimTest(claim, (), LookHistory(most, (look(n, 0.2, True, power),))) for n, most, power in endpoints]
        for claim, endpoints in judged.items()
    ]
    monkeypatch.setattr(Rounds, "trials", lambda self, states: zip(self.candidates, trials, strict=True))
    assert made.next_round(stored(recorded)) == seeds


def test_rounds_measure_only_the_milestones_that_claims_compare(machine, tmp_path):
    request = plan.Request(studies=(studies.find("convergence"),), scale=scales.find("micro"))
    made = Rounds(request, Budget(), machine, Store(tmp_path / "runs"), "", "")
    found = made.first_round(set())
    compared = {
        variant: {place[3] for place in found if place[1] == variant} for variant in {place[1] for place in found}
    }
    assert compared == {"masked LM": {3, 10, 20, 100}, "left-to-right": {3, 10, 20, 100}}, "the second half needs steps"


def test_rounds_run_one_after_another(rounds, machine):
    made = rounds(Budget(seconds=600.0))
    made.machine = dataclasses.replace(machine, workers=4, threads=0)
    first = {place for place in made.first_round(set()) if place[1] in "AB"}
    second, third = ({("three", variant, "loss", 100, seed) for variant in "AB"} for seed in (4, 5))
    each = made.cost(second)
    assert made.cost(first | second | third) < made.spent(first | second | third)
    assert made.spent(first | second | third) == pytest.approx(made.cost(first) + 2 * each)


def test_a_time_to_keep_needs_the_time_of_a_run(rounds, monkeypatch):
    monkeypatch.setattr(Rounds, "seconds", staticmethod(lambda job, devices: None))
    with pytest.raises(BadInput, match="40runs"):
        rounds(Budget(seconds=600.0)).first_round(set())
    assert len(rounds(Budget()).first_round(set())) == 16


def test_damaged_runs_are_repeated(rounds):
    cells = [
        SimpleNamespace(variant="A", measurement="loss", milestone=100, pretrain_seed=seed, status=status)
        for seed, status in enumerate(("pending", "damaged", "diverged"))
    ]
    states = {"three": State(SimpleNamespace(unfinished=cells), SimpleNamespace(cells=()))}
    for failed, seeds in ((False, [0, 1]), (True, [0, 1, 2])):
        assert sorted(place[4] for place in rounds(Budget()).unfinished(states, failed=failed)) == seeds


def test_budgets():
    assert Budget.parse("90m").seconds == 5400
    assert Budget.parse("2h").seconds == 2 * 3600
    assert Budget.parse("1.5d").seconds == 1.5 * 86400
    assert Budget.parse("40runs") == Budget.parse("40 runs") == Budget(runs=40)
    assert Budget.parse("") == Budget()
    for wrong in ("2", "h", "-1h", "1e9h", "2h30m", "nan h", "\u0662h"):
        with pytest.raises(BadInput):
            Budget.parse(wrong)
