"""bertlab: reproduces the ablations behind BERT and its descendants, on one command, with the evidence for each."""

from importlib.metadata import version

__version__ = version("bertlab")
