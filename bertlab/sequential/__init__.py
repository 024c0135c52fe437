"""Rounds of seeds: what the next seeds of a study are spent on, and when to stop."""
