"""bertlab: reproduces the ablations behind BERT and its descendants, with the evidence for each finding.

Study files import from here: `from bertlab import Measurement, Study, Variant`. A public name is imported on its first
use, so that `import bertlab` costs nothing.
"""

import sys
from types import ModuleType

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _Package(ModuleType):
    """Keeps the function `report` when the package `bertlab.report`, which is not public, is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "report" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
