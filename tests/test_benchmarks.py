"""The benchmarks' arithmetic, their table and their picture: nothing is measured here."""

import dataclasses
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from small_record import record, value

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    """Imports a file of `benchmarks/` as a script does it that lies there."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    yield import_module
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if (FOLDER / f"{name}.py").exists():
            del sys.modules[name]


@pytest.fixture
def compared(benchmark):
    """Compares a block that gives the first figure of each pair with one that gives the second."""
    blocks = benchmark("blocks")

    def compare(figures, probes, pairs):
        calls, sides = [], [iter(side) for side in zip(*figures, strict=True)]
        one, other = (lambda seconds, side=side: calls.append(side) or next(sides[side]) for side in (0, 1))
        found = blocks.compare(one, other, blocks.Settings(pairs=pairs, seconds=1.0), iter(probes).__next__)
        return found, calls

    return compare


def test_a_ratio_is_the_median_of_alternating_pairs(compared):
    found, calls = compared([(2.0, 1.0), (9.0, 3.0), (40.0, 10.0)], [1.0] * 9, pairs=3)
    assert calls == [0, 1, 1, 0, 0, 1]
    assert found.ratio == 3.0
    assert found.interval == (2.0, 4.0)
    assert (found.pairs, found.dropped) == (3, 0)
    assert found.speeds == (9.0, 3.0)


def test_a_pair_in_which_the_machine_changed_is_dropped_and_replaced(compared):
    probes = [1.0, 1.0, 1.1, 1.0, 1.2, 1.0, 1.0, 1.0, 1.0]
    found, _ = compared([(2.0, 1.0), (100.0, 1.0), (4.0, 1.0)], probes, pairs=2)
    assert (found.pairs, found.dropped) == (2, 1)
    assert found.ratio == 3.0
    assert found.interval == (2.0, 4.0)
    assert found.peaks == tuple(probes)


def test_a_machine_that_changes_all_the_time_is_too_busy(compared, benchmark):
    with pytest.raises(benchmark("blocks").TooBusy):
        compared([(1.0, 1.0)] * 4, [1.0, 2.0, 1.0] * 4, pairs=2)


def test_a_block_lasts_as_long_and_as_often_as_it_is_asked_to(benchmark, monkeypatch):
    """Each time takes a second and gives ten units."""
    blocks, clock = benchmark("blocks"), SimpleNamespace(now=0.0)
    monkeypatch.setattr(blocks.time, "perf_counter", lambda: clock.now)

    def work():
        clock.now += 1.0
        return 10.0

    assert blocks.repeated(work, fewest=3)(0.0) == 10.0
    assert clock.now == 3.0
    assert blocks.duration(work)(8.0) == 1.0
    assert clock.now == 3.0 + 8.0


def test_the_first_step_of_somebody_elses_loop_does_not_count(benchmark, monkeypatch):
    clock = benchmark("clock")
    monkeypatch.setattr(clock.time, "perf_counter", iter([10.0, 12.0, 16.0, 16.0]).__next__)
    made = clock.Clock(seconds=5.0, fewest=2)
    assert [made.over() for _ in range(4)] == [False, False, False, True]
    assert made.rate == 3 / 6


@pytest.mark.filterwarnings("ignore")  # of the peers, as they are imported
def test_every_row_is_measured_by_one_script(benchmark):
    measured = [name for script in benchmark("run").SCRIPTS for name in benchmark(script).MEASURED]
    assert sorted(measured) == sorted(benchmark("rows").BY_NAME)


def test_what_must_be_reached_is_asked_of_the_worse_end(benchmark):
    rows = benchmark("rows").BY_NAME
    more, less, free = rows["base-loop"], rows["memory"], rows["mini-trainer-best"]
    assert more.reaches(more.floor, (4.0, 6.5))
    assert not more.reaches(more.floor, (3.9, 6.5))
    assert less.reaches(less.floor, (0.4, 0.5))
    assert not less.reaches(less.floor, (0.4, 0.51))
    assert free.reaches(free.floor, (0.1, 0.2))


@pytest.fixture
def results(benchmark, machine):
    """Made-up results of all rows, each at its floor."""
    found, script = benchmark("blocks").found, benchmark("script")
    rows = {row.name: dataclasses.asdict(found([(row.floor or 3.0, 1.0)] * 2)) for row in benchmark("rows").ROWS}
    return json.loads(json.dumps({"all": {"rows": rows, "environment": script.environment(machine)}}))


def test_the_table_is_made_of_results_alone(benchmark, results):
    head, _, *lines = benchmark("table").written(results).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == len(benchmark("rows").ROWS)
    assert {line.count("|") for line in (head, *rows)} == {head.count("|")}
    assert (
        "| pre-training, scale base | loop on BertForPreTraining, bf16 | 1.8x | 1.8x to 1.8x | 1.8x | 2.8x | floor |"
        in rows
    )
    assert "| a second ablate, everything done |  | 2 s | 2 s to 2 s | 2 s | 1 s | floor |" in rows
    assert lines[-1].startswith(f"all: {results['all']['environment']['processor']}, 1 thread, fp32; torch ")


def test_the_picture_is_the_same_each_time(benchmark, results):
    drawn = benchmark("picture").drawn
    assert drawn(results).startswith(b"<svg")
    assert drawn(results) == drawn(results)


def test_a_fall_by_more_than_a_tenth_is_reported(benchmark, results):
    now = json.loads(json.dumps(results))
    now["all"]["rows"]["collating"]["ratio"] *= 0.89
    now["all"]["rows"]["corpus"]["ratio"] *= 0.91
    now["all"]["rows"]["memory"]["ratio"] *= 1.2
    now["all"]["rows"]["help"]["ratio"] *= 0.5
    worse = benchmark("run").fallen(now, results)
    assert len(worse) == 2
    assert worse[0].startswith("masking and collating beside DataCollatorForLanguageModeling, defaults: 50x before, 44")
    assert worse[1].startswith("peak memory, scale mini beside transformers Trainer, defaults: 0.5x before, 0.6x now")


def test_sharing_counts_cells_and_rows(benchmark):
    """Two studies of one row; the first has two columns. Of 1 s each: corpus, pre-training, measurements."""
    sharing = benchmark("sharing")

    def run(name, **definition):
        return SimpleNamespace(id=name, seconds=lambda: 1.0, definition=lambda: definition)

    def study(name, scale, *values):
        cells = [value("trained", run_id, variant="BERT", measurement=column) for column, run_id in values]
        return record(name, scale=scale, cells=tuple(cells))

    runs = [run("text"), run("trained", corpus="text"), run("mnli"), run("ner")]
    studies = [
        study("masking", "tiny", ("MNLI", "mnli"), ("NER", "ner")),
        study("nsp", "tiny", ("MNLI", "mnli")),
        study("nsp", "smoke", ("MNLI", "other")),
    ]
    recorded = sharing.Recorded(
        SimpleNamespace(root="runs", runs=lambda: runs, records=lambda needed: dict(enumerate(studies)))
    )
    assert recorded.shared() == 4.0
    assert recorded.by_row() == 1.0 + 2 * 1.0 + 3.0
    assert recorded.by_cell() == 3 * 3.0


def test_sharing_asks_for_a_finished_store(benchmark):
    sharing, lacking = benchmark("sharing"), benchmark("script").Lacking
    with pytest.raises(lacking, match="no studies"):
        sharing.Recorded(SimpleNamespace(root="runs", runs=list, records=lambda needed: {}))


def test_the_gpu_script_measures_every_cell_and_goes_on_after_one_that_fails(benchmark, tmp_path, monkeypatch, capsys):
    """On the CPU, on shapes of no interest; the second run has no time for any cell."""
    gpu = benchmark("gpu")
    options = ["gpu.py", "--device", "cpu", "--smoke", "--to", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", options)
    monkeypatch.setattr(gpu, "LENGTHS", (128,))  # each cell has a process of its own
    assert gpu.main() == 0
    result = json.loads((tmp_path / "gpu.json").read_text())
    assert [*result["rows"]] == ["tiny-128", "mini-128", "base-128", "large-128"]
    assert all(0 < row["share_of_peak"] < 1 and row["tokens_per_second"] > 0 for row in result["rows"].values())
    assert {count: row["processes"] for count, row in result["side_by_side"].items()} == {"1": 1, "2": 2}
    table = (tmp_path / "gpu.md").read_text()
    assert table.count("|\n") == 2 + 4 + 2 + 2

    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", [*options, "--minutes", "0"])
    assert gpu.main() == 1
    assert capsys.readouterr().out.count("not measured: no time was left") == 1 + 4 + 2
    assert (tmp_path / "gpu.md").read_text().count("no time was left") == 6


@pytest.mark.parametrize(
    ("answers", "seconds", "failed"),
    [("time.sleep(900)", 1.0, "took more than 1 s"), ("sys.exit(3)", 600.0, "its process ended with status 3")],
)
def test_a_cell_that_hangs_or_dies_is_left_out(benchmark, monkeypatch, answers, seconds, failed):
    gpu = benchmark("gpu")
    start = subprocess.Popen
    script = f"import sys, time\nsys.stdin.readline()\n{answers}"
    monkeypatch.setattr(gpu.subprocess, "Popen", lambda command, **o: start([sys.executable, "-c", script], **o))
    options = SimpleNamespace(device="cpu", compile="no", minutes=60.0, cell_seconds=seconds, smoke=True)
    run = gpu.Run(options, Path())
    assert run.ask(gpu.Cell(model="tiny")) == {"failed": failed}
    assert run.worker is None


def test_ideas_are_judged_as_by_a_ledger(benchmark):
    """The arrays of the simulation decide as the package does, look by look."""
    from bertlab.hypotheses.decision import KEEP, MORE, better_than, decision
    from bertlab.hypotheses.judgement import looked
    from bertlab.hypotheses.values import Values, results
    from bertlab.report.findings import findings
    from bertlab.store.record import Sequential

    ideas, level = benchmark("ideas"), 0.01
    values, _ = ideas.Scenario(name="", better=60).values(1)
    differences = values[0][:12]
    kept, seeds = ideas.judged(differences, ideas.spending(level))
    for row, *expected in zip(differences, kept, seeds, strict=True):
        sequential, what, n = Sequential(maximum=ideas.MOST, looks=()), MORE, 3
        while what == MORE:
            n += 1
            by_run = {
                (name, "value", seed): {"": row[seed] * (name == "new")} for name in ("new", "old") for seed in range(n)
            }
            claims = [better_than("new", "old", "value")]
            study = looked(results(Values("", by_run, {}), claims, "old", (), sequential, 2 * level))
            sequential, what = study.record.sequential, decision(findings(study)[0]).what
        assert [what == KEEP, n] == expected
    assert 0 < kept.sum() < len(kept)
    assert len(set(seeds)) > 2


def test_few_of_the_ideas_that_a_ledger_keeps_are_false(benchmark):
    """Of 200 sequences without a better idea; the looks alone keep many."""
    ideas = benchmark("ideas")
    values, better = ideas.Scenario(name="").values(200)
    kept, seeds = ideas.in_sequence(values, ideas.spending, online_levels=True)
    assert kept.any(axis=1).mean() <= 0.05
    assert seeds.mean() < 5
    repeated, _ = ideas.in_sequence(values, ideas.repeated, online_levels=False)
    assert repeated.any(axis=1).mean() > 0.5
    assert not better.any()
    assert 3 < ideas.greedy(values)[0].sum(axis=1).mean() < 5.5
