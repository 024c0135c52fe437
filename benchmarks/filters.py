"""How many tokens of pages each rule of `corpus.filter` reads in a second, and all rules together, on one core.

    python benchmarks/filters.py [PAGES.jsonl.gz]

Without a file, the pages are synthetic. A word counts as 1.33 tokens.
"""

import sys
import time
from pathlib import Path

from bertlab import synthetic
from bertlab.recipe import Corpus
from bertlab.text import rows
from bertlab.text.filters import BAD_WORDS, RULES, Filter

TOKENS = 1.33
"""Tokens of a word."""
FILES = [Path(name) for name in sys.argv[1:]]

if __name__ == "__main__":
    pages = [row["text"] for path in FILES for row in rows.read(path)] or [*synthetic.pages()]
    tokens = TOKENS * sum(len(page.split()) for page in pages)
    for rule in ["c4", *(rule for rule in RULES if rule != BAD_WORDS)]:
        cleaning = Filter(Corpus(filter=rule))
        began = time.process_time()
        for page in pages:
            cleaning(page)
        print(f"{rule:22} {tokens / (time.process_time() - began) / 1e6:7.1f} million tokens a second")
