"""bertlab: reproduces the ablations behind BERT and its descendants, with the evidence for each finding.

Study files import from here: `from bertlab import Measurement, Study, Variant`.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

__version__ = "0.1.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_MODULES = {name.name: node.module for node in _STUB.body if isinstance(node, ast.ImportFrom) for name in node.names}
__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    """Imports a public name on its first use, so that `import bertlab` costs nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'bertlab' has no attribute {name!r}")
    return getattr(import_module(str(_MODULES[name])), name)


class _Package(ModuleType):
    """Keeps the public name `report` when the package `bertlab.report`, which is not public, is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
