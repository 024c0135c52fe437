"""Effects with intervals and tests, and where their noise comes from."""
