"""What a user installs: under a name that is ours, in the versions that were tested."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.trackers import TRACKERS

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]


def test_every_dependency_is_pinned_to_a_version_that_it_allows():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert all(re.fullmatch(r"\d+(\.\w+)+", version) for version in pins.values())  # of no local build
    groups = [each for group in GROUPS.values() for each in group if isinstance(each, str)]
    extras = [each for name in PROJECT["optional-dependencies"] for each in PROJECT["optional-dependencies"][name]]
    for wanted in map(Requirement, PROJECT["dependencies"] + extras + groups):
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), wanted
    assert Requirement("torch<2.14").specifier.contains(pins["torch"])


def test_nothing_is_installed_by_the_name_of_another_project():
    assert PROJECT["name"] != "bertlab"
    shown = [ROOT / "README.md", ROOT / "noxfile.py", *(ROOT / "bertlab").rglob("*.py")]
    advice = [
        found for path in shown for found in re.findall(r"pip\s+install[^`&\n]*", path.read_text(encoding="utf-8"))
    ]
    assert len(advice) > 2
    assert not [each for each in advice if re.search(r"\bbertlab\b", each)]


@pytest.mark.parametrize("name", TRACKERS)
def test_an_extra_that_is_missing_is_installed_from_the_source_tree(name, monkeypatch):
    assert name in PROJECT["optional-dependencies"]
    monkeypatch.setattr("bertlab.trackers.find_spec", lambda package: None)
    with pytest.raises(BadInput, match=rf"`pip install -c constraints.txt '\.\[{name}\]'` in the source tree"):
        Machine(loggers=(name,))


def test_the_image_installs_with_the_tested_versions_what_there_is_and_runs_as_no_root():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    orders = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    copied = {part for order, rest in orders if order == "COPY" for part in rest.split()[:-1]}
    assert {"bertlab", "ablations"} < copied
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[1] == "*"
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == copied
    for part in (*copied, PROJECT["readme"], *PROJECT["license-files"]):
        assert (ROOT / part).exists()
    assert {PROJECT["readme"], *PROJECT["license-files"], "hatch_build.py"} < copied, "the build needs them"
    installs = re.findall(r"pip install[^&\n]*", "\n".join(rest for order, rest in orders if order == "RUN"))
    assert len(installs) == 2
    assert all("--constraint constraints.txt" in each for each in installs)
    extras = re.search(r"\[(.*)\]", installs[-1])[1].split(",")
    assert set(extras) <= PROJECT["optional-dependencies"].keys()
    assert [int(rest) for order, rest in orders if order == "USER"][-1] > 0
