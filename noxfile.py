"""The checks of the project: `nox` runs them all, `nox -s tests` one of them.

They share one environment, `.nox/checks`, so that torch is installed once; `pythons` and `newest` have their own.

The tests on a GPU also run without nox and with few packages (torch, Lightning, tokenizers, scipy, pytest, hypothesis):
`PYTHONPATH=. pytest -m gpu tests/gpu`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.options.error_on_missing_interpreters = False
PROJECT = nox.project.load_toml("pyproject.toml")
PLACE = Path(".nox/checks").absolute()
PROGRAMS = PLACE / ("Scripts" if sys.platform == "win32" else "bin")


READY: list[Path] = []


def installed(session: nox.Session) -> None:
    """Installs the project, editable, with what its checks need; once, however many sessions run."""
    if READY:
        return
    READY.append(PLACE)
    if not PROGRAMS.exists():
        session.run(sys.executable, "-m", "venv", str(PLACE), external=True)
    groups = nox.project.dependency_groups(PROJECT, "lint", "types", "tests", "docs")
    install(session, "-e", ".", *groups)


def install(session: nox.Session, *what: str) -> None:
    """Installs into the shared environment, and prints the larger steps: torch alone takes minutes to arrive.

    With `--quiet`, pip shows no download, whatever its `--progress-bar` is; without it, pip prints a line for each
    package that is there already.
    """
    command = [str(PROGRAMS / "python"), "-m", "pip", "install", "-c", "constraints.txt", *what]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pip:
        for line in pip.stdout or ():
            if line.lstrip().startswith(("Downloading ", "Building ", "Installing ")) and ".metadata" not in line:
                session.log(line.strip()[:100])
    if pip.returncode:
        session.error("pip did not install the project and what its checks need")


def run(session: nox.Session, program: str, *arguments: str) -> None:
    """Runs a program of the shared environment."""
    session.run(str(PROGRAMS / program), *arguments, external=True)


def ended_well(session: nox.Session, *command: str) -> bool:
    """Whether a command ends with 0. Prints what it is; and, if it fails, its last line."""
    session.log(" ".join(command))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    ended = subprocess.run(command, env=environment, check=False, **output)
    if ended.returncode:
        lines = ended.stdout.strip().splitlines() or [""]
        reason = next((line for line in lines if "rror" in line), lines[-1])
        session.log(f"ended with {ended.returncode}: {reason[:200]}")
    return ended.returncode == 0


def browser(session: nox.Session) -> None:
    """Brings the Chromium that the tests of pages start: playwright's, or as root the package of Debian.

    Without one, these tests are skipped; where CI runs them, that is an error.
    """
    look = (str(PROGRAMS / "python"), "tests/browser.py")
    playwright = str(PROGRAMS / "playwright")
    if ended_well(session, *look):
        return
    system = os.geteuid() == 0 and shutil.which("apt-get") is not None
    if ended_well(session, playwright, "install", "--only-shell", "chromium"):
        if ended_well(session, *look):
            return
        if system and ended_well(session, playwright, "install-deps", "chromium") and ended_well(session, *look):
            return
    package = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")
    installable = system and ended_well(session, "apt-get", "update") and ended_well(session, *package)
    if installable and ended_well(session, *look):
        return
    lacking = "no Chromium starts, which the tests of pages need: install it (`apt-get install chromium` on Debian)"
    if os.environ.get("CI"):
        session.error(lacking)
    session.warn(f"{lacking}; they are skipped")


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Style: ruff's rules and formatting, and hadolint's for the Dockerfile."""
    installed(session)
    run(session, "ruff", "check", ".")
    run(session, "ruff", "format", "--check", ".")
    run(session, "hadolint", "Dockerfile")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Types: mypy, strict."""
    installed(session)
    run(session, "mypy")


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Behaviour: pytest, warnings are errors; up to four processes, a file of tests in one of them."""
    installed(session)
    browser(session)
    processes = min(4, (os.cpu_count() or 1) + 1)  # tests of workers and of signals wait more than they compute
    # in the order of the folders: files with few tests are not always short, and the longest must not come last
    order = ("--dist", "loadfile", "--no-loadscope-reorder")
    run(session, "pytest", "-n", str(processes), *order, "--durations", "20", *session.posargs)


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """The documentation site, in build/site; a link to nothing is an error."""
    installed(session)
    run(session, "python", "docs/site.py", *session.posargs)


@nox.session(venv_backend="none", default=False)
def tables(session: nox.Session) -> None:
    """The tables of docs/, rewritten from what the package has now."""
    installed(session)
    run(session, "python", "docs/tables.py")


@nox.session(venv_backend="none", default=False)
def faults(session: nox.Session) -> None:
    """Nothing lost: killed at every point, damaged, out of room, several commands at once; minutes."""
    installed(session)
    run(session, "pytest", "tests/faults", "tests/execution", "-m", "faults or not faults", *session.posargs)


@nox.session(venv_backend="none", default=False)
def gpu(session: nox.Session) -> None:
    """On a GPU as on the CPU: losses, logits, bf16, compiled, resumed, two processes, memory; minutes."""
    installed(session)
    run(session, "pytest", "tests/gpu", "-m", "gpu", *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"], venv_backend="venv", default=False)
def pythons(session: nox.Session) -> None:
    """The tests in each Python that is installed here, with the tested versions; each brings its own torch."""
    session.install("-c", "constraints.txt", "-e", ".", *nox.project.dependency_groups(PROJECT, "tests", "docs"))
    session.run("pytest", "-n", "auto", "--dist", "loadfile", *session.posargs)


@nox.session(venv_backend="venv", default=False)
def newest(session: nox.Session) -> None:
    """The tests, and a study at smoke scale, with the newest of everything that the dependencies allow."""
    session.install("--upgrade", "-e", ".", *nox.project.dependency_groups(PROJECT, "tests", "docs"))
    session.run("pytest", "-n", "auto", "--dist", "loadfile", *session.posargs)
    runs = str(Path(session.create_tmp()) / "runs")
    session.run("bertlab", "ablate", "masking", "--scale", "smoke", "--runs", runs)
    session.run("bertlab", "report", "--runs", runs, "--out", f"{runs}-report")


@nox.session(venv_backend="none", default=False)
def benchmarks(session: nox.Session) -> None:
    """How fast, beside peers: an hour or two on a machine that does nothing else; writes benchmarks/results.*."""
    installed(session)
    install(session, "-e", ".", *nox.project.dependency_groups(PROJECT, "benchmarks"))
    run(session, "python", "benchmarks/run.py", *session.posargs)


@nox.session(venv_backend="none")
def smoke(session: nox.Session) -> None:
    """The whole way, twice: every study at smoke scale, and the report; the second time everything is finished.

    T5's tables, which have the same seven columns, are measured on two of them.
    """
    installed(session)
    work = Path(session.create_tmp())
    shutil.rmtree(work)  # what an earlier session left
    runs, out = work / "runs", work / "reports"
    texts = {path.stem.replace("_", "-"): path.read_text() for path in sorted(Path("ablations").glob("[!_]*.py"))}
    studies = [*texts]
    tables_of_t5 = [study for study in studies if "T5_TASKS" in texts[study]]  # with the same seven columns each
    two_columns = [*tables_of_t5, "--measure", "SuperGLUE", "--measure", "EnRo"]
    others = [study for study in studies if study not in tables_of_t5]
    for chosen in (others, two_columns) * 2:
        run(session, "bertlab", "ablate", *chosen, "--scale", "smoke", "--random-init", "--runs", str(runs))
    run(session, "bertlab", "report", "--runs", str(runs), "--out", str(out))
    for name in ("index.html", "index.md", *(f"{study}{suffix}" for study in studies for suffix in (".md", ".csv"))):
        if not (out / name).is_file():
            session.error(f"{name} was not written")
