"""Runs on disk: atomic, verified, locked."""
