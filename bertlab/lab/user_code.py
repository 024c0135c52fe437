"""The parts of a finished run that a study file defines, such as a loss. The copy in a store is not run by itself."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertlab.errors import BadInput
from bertlab.lab import studies
from bertlab.lab.study_file import StudyFile
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.store.run import Run

OPTION = "--study "
"""How a command takes the file."""


def load_user_code(run: Run, study: str, option: str) -> None:
    """Defines the parts of the recipe of `run` by running the file `study`, which has to be the one of this run.

    Without a file it runs nothing: raises `BadInput` if a part is unknown, with the place of the copy and the `option`
    that takes it. Raises `BadInput` for another file.
    """
    code = run.definition().get("code", "")
    if study:
        if not code or _code(Path(study)) != code:
            advice = f": give '{copy}', its copy" if (copy := _copy(run)) else ""
            raise BadInput(f"{option}'{study}' is not the study file with which run {run.id} was trained{advice}")
        studies.find(study)
        return
    with needing_file(run, option):
        load(Recipe, run.definition()["recipe"])


@contextmanager
def needing_file(run: Run, option: str) -> Iterator[None]:
    """Raises `BadInput` if within it a part is unknown that the study file of `run` defines, with the place of its copy
    and the `option` that takes it."""
    code = run.definition().get("code", "")
    try:
        yield
    except BadInput as error:
        if not code:
            raise
        what = str(error).partition(":")[0]
        copy = _copy(run)
        advice = f"read its copy and run it with {option}'{copy}'" if copy else f"run this file with {option}FILE"
        raise BadInput(f"{what}: run {run.id} was trained with the code of a study file: {advice}") from None


def _copy(run: Run) -> Path | None:
    """The copy of the study file of a run beside the records of its store; None for a run without code, too."""
    code = run.definition().get("code")
    files = sorted((run.root / "studies").glob("*/*.py")) if code else []
    return next((path for path in files if _code(path) == code), None)


def _code(path: Path) -> str:
    """The hash of a study file and the modules beside it, as ids have it; empty if there is no code in them."""
    with suppress(SyntaxError, ValueError):  # `BadInput` too: no file that a run was trained with
        code = StudyFile.read(str(path)).code
        return code.sha256 if code else ""
    return ""
