"""Words to numbers: sources give documents, these are cut into sentences, these into tokens, kept on disk."""
