"""The files of bertlab's own studies. Imports nothing, so that the command line can complete their names."""

from pathlib import Path


def folder() -> Path:
    """The directory of the studies: `bertlab/ablations` in a wheel, `ablations` beside `bertlab` in a checkout."""
    package = Path(__file__).resolve().parents[1]
    return package / "ablations" if (package / "ablations").is_dir() else package.parent / "ablations"


def names() -> list[str]:
    """The names of bertlab's own studies: those of their files, with hyphens."""
    return sorted(path.stem.replace("_", "-") for path in folder().glob("*.py") if not path.stem.startswith("_"))


def path(name: str) -> Path:
    """The file of a study of bertlab's own."""
    return folder() / f"{name.replace('-', '_')}.py"
