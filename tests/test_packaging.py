"""What a user installs: under a name that is ours, in the versions that were tested."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from bertlab import errors
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


def test_an_extra_of_an_installed_copy_is_what_it_needs(tmp_path, monkeypatch):
    lines = ["torch>=2.10", "wandb<1,>=0.26; extra == 'wandb'", "x; extra == 'other' and python_version > '3'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: lines)
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "bertlab" / "errors.py"))
    assert errors.install("wandb") == "run `pip install 'wandb<1,>=0.26'`"


@pytest.fixture
def source(tmp_path):
    """A source tree with one commit."""
    (tmp_path / "bertlab").mkdir()
    (tmp_path / "bertlab" / "__init__.py").write_text('__version__ = "1.2.0"\n')
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    return tmp_path


def built(source):
    """The version of a build, which is one that pip takes."""
    names = {"__file__": str(source / "hatch_build.py"), "__name__": "hatch_build"}
    exec((source / "hatch_build.py").read_text(encoding="utf-8"), names)
    return str(Version(names["version"]()))


def test_each_commit_has_a_version_of_its_own(source):
    assert built(source) == "1.2.0", "without git"

    def git(*arguments):
        command = ["git", "-C", source, "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    commit = git("rev-parse", "--short", "HEAD")
    assert built(source) == f"1.2.0.dev1+g{commit}"
    git("tag", "v1.2.0")
    assert built(source) == "1.2.0"
    (source / "bertlab" / "__init__.py").write_text('__version__ = "1.2.0"\n# changed\n')
    assert built(source) == f"1.2.0.dev1+g{commit}.dirty"
    (source / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: x\nVersion: 1.2.0.dev9+gabc1234\n")
    assert built(source) == "1.2.0.dev9+gabc1234", "a source distribution"
