"""Words to ids: one tokenizer a file."""
