"""Checkpoints from and to transformers."""
