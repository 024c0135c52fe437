"""bertlab: reproduces the ablations behind BERT and its descendants, with the evidence for each finding.

Study files import from here: `from bertlab import Measurement, Study, Variant`.
"""

import sys
from types import ModuleType

__version__ = "0.1.0"

_MODULES: dict[str, str] = {}


def _modules() -> dict[str, str]:
    """The module of each public name, as `__init__.pyi` lists them; read on first use, as the command starts first."""
    if not _MODULES:
        import ast
        from pathlib import Path

        stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
        lines = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        _MODULES.update({name.name: str(node.module) for node in lines for name in node.names})
    return _MODULES


def __getattr__(name: str) -> object:
    """Imports a public name on its first use, so that `import bertlab` costs nothing."""
    if name == "__all__":
        return [*_modules()]
    if name.startswith("__") or name not in _modules():
        raise AttributeError(f"module 'bertlab' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_modules()[name]), name)


class _Package(ModuleType):
    """Keeps the public name `report` when the package `bertlab.report`, which is not public, is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and not name.startswith("_") and name in _modules()):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
