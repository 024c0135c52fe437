"""Effects with intervals and tests, and the power to see them."""
