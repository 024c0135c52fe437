"""Decisions on hypotheses about anyone's numbers, in a table or one after another."""
