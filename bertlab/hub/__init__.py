"""Data sets and checkpoints of the Hugging Face Hub: at a commit, known by the content of their files."""
