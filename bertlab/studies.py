"""Finds the studies: those of `ablations/`, and a user's own files."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from bertlab.errors import BadInput, unknown
from bertlab.study import Study


def folder() -> Path:
    """Where the studies lie: `bertlab/ablations` in an installed wheel, `ablations` beside `bertlab` in a checkout."""
    here = Path(__file__).resolve().parent
    return here / "ablations" if (here / "ablations").is_dir() else here.parent / "ablations"


def names() -> list[str]:
    """The names of the studies that come with bertlab."""
    return sorted(path.stem for path in folder().glob("*.py") if not path.stem.startswith("_"))


def find(name: str) -> Study:
    """A study by its name, or by the path of a Python file that defines `study`. The file is run: it is code.

    Raises `BadInput` for an unknown name, a file that raises, and a file without a study.
    """
    if not (name.endswith(".py") or "/" in name):
        if name not in names():
            raise unknown("study", name, [*names(), "all"])
        return _read(folder() / f"{name}.py")
    path = Path(name)
    if not path.is_file():
        raise BadInput(f"study file '{name}' does not exist: give the path of a Python file that defines `study`")
    return _read(path)


def chosen(asked: list[str]) -> tuple[Study, ...]:
    """The studies that a command line names, each once; `all` for those that come with bertlab."""
    return tuple(find(name) for name in (names() if "all" in asked else dict.fromkeys(asked)))


def _read(path: Path) -> Study:
    spec = importlib.util.spec_from_file_location(f"bertlab_study_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadInput(f"study file '{path}' is not a Python file: name it <study>.py")
    module = importlib.util.module_from_spec(spec)
    writing, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is left beside a file that is read
    try:
        spec.loader.exec_module(module)
    except BadInput as error:
        raise BadInput(f"study file '{path}': {error}") from error
    except Exception as error:
        raise BadInput(f"study file '{path}' raises {type(error).__name__}: {error}; mend it and try again") from error
    finally:
        sys.dont_write_bytecode = writing
    study = getattr(module, "study", None)
    if not isinstance(study, Study):
        raise BadInput(f"study file '{path}' has no study: define `study = Study(...)`")
    return study
