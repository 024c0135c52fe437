"""Metrics as functions of examples, effects with intervals and tests, and the power to see them."""
