"""What must not be in the code: nothing runs or unpickles what it was given."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = (
    r"\b(cloudpickle|dill|marshal|pickle|shelve)\b",
    r"(?<![.\w])(eval|exec)\(",
    r"\bos\.(popen|system)\(",
    r"shell\s*=\s*True",
    r"trust_remote_code",
    r"load_from_checkpoint",
    r"\btorch\.load\(",
    r"allow_pickle\s*=\s*True",
    r"\byaml\.(unsafe_)?load\(",
)


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_nothing_runs_or_unpickles_what_it_was_given(pattern):
    files = [path for folder in ("bertlab", "ablations") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 100
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert lines == []


def test_lightning_is_one_whose_checkpoints_run_no_code():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = next(each for each in project["dependencies"] if each.startswith("lightning"))
    lowest = re.search(r">=([\d.]+)", wanted)
    assert tuple(map(int, lowest[1].split("."))) >= (2, 6, 6)
