"""Optimisers in torch: what torch lacks, or what it does not stop after a step that is not finite."""
