"""The checks of the project: `nox` runs them all, `nox -s tests` one of them."""

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
PROJECT = nox.project.load_toml("pyproject.toml")


ONE_PLACE = ".nox/checks"
"""All sessions share one environment, so that torch is installed once."""


def install(session: nox.Session) -> None:
    """Installs the project, editable, with what its checks need."""
    session.install("-e", ".", *nox.project.dependency_groups(PROJECT, "lint", "types", "tests"))


@nox.session(venv_location=ONE_PLACE)
def lint(session: nox.Session) -> None:
    """Style: ruff's rules and formatting."""
    install(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(venv_location=ONE_PLACE)
def types(session: nox.Session) -> None:
    """Types: mypy, strict."""
    install(session)
    session.run("mypy")


@nox.session(venv_location=ONE_PLACE)
def tests(session: nox.Session) -> None:
    """Behaviour: pytest, warnings are errors."""
    install(session)
    session.run("pytest", *session.posargs)


@nox.session(venv_location=ONE_PLACE)
def smoke(session: nox.Session) -> None:
    """The whole way, once: every study at smoke scale, and the report."""
    install(session)
    work = Path(session.create_tmp())
    runs, out = work / "runs", work / "reports"
    for _ in range(2):  # the second time everything is finished
        session.run("bertlab", "ablate", "all", "--scale", "smoke", "--scratch", "--runs", str(runs))
    session.run("bertlab", "report", "--runs", str(runs), "--out", str(out))
    for name in ("index.md", "masking.md", "masking.csv"):
        if not (out / name).is_file():
            session.error(f"{name} was not written")
