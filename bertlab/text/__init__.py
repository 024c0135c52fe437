"""From text to a tokenised corpus on disk: sources of documents, sentences, tokenizers."""
