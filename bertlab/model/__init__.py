"""The model: a Transformer encoder, its heads, and checkpoints (Devlin et al. 2019, section 3)."""
