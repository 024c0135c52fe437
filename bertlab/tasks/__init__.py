"""The tasks that measure a pre-trained encoder: `catalog.toml` lists them, `kinds/` has one file per kind."""
