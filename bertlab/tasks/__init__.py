"""Tasks: what a pre-trained encoder is measured on. A task is a row of `catalog.py`; a kind of task is a file."""
