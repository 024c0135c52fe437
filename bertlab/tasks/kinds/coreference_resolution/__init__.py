"""Coreference resolution of documents: the kind of task, its documents and metrics, and its model."""
