"""Data sets and checkpoints of the Hugging Face Hub."""
