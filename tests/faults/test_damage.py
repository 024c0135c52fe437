"""A byte that flips, a file that is cut or gone: made anew or refused in one line, never a wrong number."""

import csv
import shutil
import signal

import pytest

SMALL = [
    f"{kind}/*/{name}"
    for kind, names in {
        "corpus": ("recipe.json", "result.json", "corpus.json", "vocab.txt", "manifest.json"),
        "pretrain": (
            "recipe.json",
            "result.json",
            "metrics.jsonl",
            "timing.jsonl",
            "environment.json",
            "manifest.json",
        ),
        "finetune": ("recipe.json", "result.json", "predictions.npz", "manifest.json"),
        "features": ("result.json", "predictions.npz"),
    }.items()
    for name in names
] + ["failures/*.json"]
"""Files of a store whose damage is seen before any command reports the run."""
LARGE = {
    "corpus/*/train/tokens.bin": ("corpus", "pretrain"),
    "corpus/*/heldout/sentences.npy": ("corpus", "pretrain"),
    "corpus/*/train/documents.npy": ("corpus", "pretrain"),
    "pretrain/*two-seed0/model.safetensors": ("pretrain", "finetune"),
    "pretrain/*two-seed0/milestones/step-00000003.safetensors": ("pretrain", "features"),
}
"""Files whose damage is seen when they are used, with the kinds of runs that they are of and that use them."""
WORK = ("checkpoint/*/weights.safetensors", "checkpoint/*/optimizer.safetensors", "checkpoint/*/state.json",
        "metrics.jsonl", "environment.json", "milestones/step-00000003.safetensors")  # fmt: skip
HARMS = ("flip", "cut", "gone")
OFTEN = {("finetune/*/result.json", "flip"), ("pretrain/*two-seed0/model.safetensors", "flip")}
"""Tried in every run of the tests, not in the session `faults` alone."""


def trials(patterns):
    """Each file with each harm."""
    pairs = [(pattern, harm) for pattern in patterns for harm in HARMS]
    return [pytest.param(*pair, marks=[] if pair in OFTEN else pytest.mark.faults) for pair in pairs]


@pytest.fixture
def runs(undisturbed, tmp_path):
    return shutil.copytree(undisturbed.runs, tmp_path / "runs")


def harmed(runs, pattern, harm):
    """Harms one file of a store."""
    path = sorted(runs.glob(pattern))[0]
    content = path.read_bytes()
    middle = len(content) // 2
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:middle] if harm == "cut" else content[:middle] + flipped(content[middle:]))
    return path


def flipped(content):
    return bytes([content[0] ^ 4]) + content[1:]


def values(folder):
    """The measured values of a report, by the run."""
    with (folder / "own.csv").open(newline="") as file:
        return {(row["run_id"], row["metric"]): (row["value"], row["published"]) for row in csv.DictReader(file)}


def test_a_report_before_anything_is_harmed(warm, undisturbed, runs, tmp_path):
    assert warm.report(runs).status == 0
    assert len([value for value, _ in values(tmp_path / "reports").values() if value]) >= 4


@pytest.mark.parametrize(("pattern", "harm"), trials(SMALL))
def test_results_leave_the_report_and_are_made_anew(warm, same_end, runs, tmp_path, pattern, harm):
    warm.report(runs)
    right = values(tmp_path / "reports")
    path = harmed(runs, pattern, harm)
    reported = warm.report(runs)
    assert reported.status == 0, reported.printed
    found = values(tmp_path / "reports")
    assert found.keys() == right.keys()
    for name, (value, published) in found.items():
        assert value in ("", right[name][0])
        assert published == right[name][1]
    if harm != "gone" and path.parent.parent.name in ("finetune", "features"):
        assert "damaged" in (tmp_path / "reports" / "own.md").read_text()
    same_end(runs)


@pytest.mark.parametrize(("pattern", "harm"), trials(LARGE))
def test_what_is_used_is_checked_and_made_anew(warm, same_end, runs, pattern, harm):
    kind, user = LARGE[pattern]
    path = harmed(runs, pattern, harm)
    for run in runs.glob(f"{user}/*"):
        shutil.rmtree(run)
    found = warm.ablate(runs)
    assert "Traceback" not in found.printed
    if harm == "flip":  # sizes are seen at once, so that the rest is made anew at the first try
        assert f"{path.name}' was damaged" in found.printed
    assert list(runs.glob(f"{kind}/.*.damaged"))
    same_end(runs)


@pytest.mark.parametrize("harm", [pytest.param(each, marks=pytest.mark.faults) for each in HARMS])
def test_a_damaged_record_of_a_study_is_skipped_with_a_warning(warm, same_end, runs, harm):
    path = harmed(runs, "studies/*.json", harm)
    reported = warm.report(runs)
    *warnings, error = reported.printed.splitlines()
    assert reported.status == 2
    assert "nothing is finished" in error
    assert [f"'{path}' is damaged" in each for each in warnings] == ([] if harm == "gone" else [True])
    same_end(runs)


@pytest.mark.faults
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("pattern", WORK)
def test_a_run_goes_on_from_nothing_that_is_damaged(warm, same_end, tmp_path, pattern, harm):
    runs = tmp_path / "runs"
    assert warm.ablate(runs, faults="step pre-training:5:kill").status == -signal.SIGKILL
    harmed(runs, f"pretrain/.*.work/{pattern}", harm)
    same_end(runs)
