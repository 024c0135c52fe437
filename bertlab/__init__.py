"""bertlab: reproduces the ablations behind BERT and its descendants, with the evidence for each finding."""

__version__ = "0.1.0"
