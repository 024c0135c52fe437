"""From text to a memory-mapped, tokenised corpus, beside `datasets.map` with a fast tokenizer.

    python benchmarks/corpus.py [--pairs 8] [--threads 2] [--out FILE.json]

Both cut the same 30 MB of generated documents with the same vocabulary, in as many processes as there are cores, from a
`.jsonl` file to token ids on disk, and count the same tokens; ours cuts sentences besides and keeps their offsets. The
peer works in batches with the fast tokenizer of transformers; at the best of what it documents, it makes no segment ids
either and writes ids of 16 bits as ours are.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import script
from blocks import Block, Found, Settings, compare, repeated

from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus
from bertlab.text import tokens
from bertlab.text.sources import content, resolve
from bertlab.text.tokenizers import WordPiece

BYTES = 30_000_000
WORDS = 60_000
"""Distinct words of the generated text, drawn by Zipf's law as in real text."""
VOCABULARY = 16_384

Prepare = Callable[[Path], Callable[[], int]]
"""Prepares the corpus in an empty directory, and gives what counts its tokens."""


def write(path: Path, size: int) -> None:
    """Writes about `size` bytes of documents with the word frequencies and lengths of English."""
    draw = np.random.default_rng(0)
    syllables = [a + b + c for a in "bdfgklmnprstvw" for b in "aeiou" for c in ("", "n", "r", "s", "l")]
    words = ["".join(draw.choice(syllables, size=draw.integers(1, 5))) for _ in range(WORDS)]
    share = 1 / np.arange(3, WORDS + 3)
    share /= share.sum()
    with path.open("w", encoding="utf-8") as stream:
        while stream.tell() < size:
            sentences = []
            for _ in range(int(draw.integers(5, 80))):
                sentence = [words[number] for number in draw.choice(WORDS, size=int(draw.integers(5, 40)), p=share)]
                sentence[len(sentence) // 2] += draw.choice([",", "", ";", "'s"])
                sentences.append(" ".join(sentence).capitalize() + draw.choice([".", "?", "."]))
            stream.write(json.dumps({"text": " ".join(sentences)}) + "\n")


def ours(source: Path, vocabulary: Path, processes: int) -> Prepare:
    """As a job of `bertlab ablate` does it."""

    def prepare(directory: Path) -> Callable[[], int]:
        machine = Machine(cache=directory / "cache")
        located = resolve(str(source), machine=machine)
        facts = tokens.prepare(
            Corpus(sources=(located.source,)),
            WordPiece(given=content([vocabulary], machine)),
            [located],
            directory,
            given=vocabulary,
            workers=processes,
            progress=silent,
        )
        return lambda: int(facts["train"]["tokens"] + facts["heldout"]["tokens"])

    return prepare


def peer(source: Path, vocabulary: Path, processes: int, best: bool) -> Prepare:
    """The usual way: `load_dataset("json")` and a batched `map`."""
    import datasets
    from transformers import BertTokenizer

    datasets.disable_progress_bars()
    tokenizer = BertTokenizer(str(vocabulary))
    narrow = datasets.Features({"input_ids": datasets.Sequence(datasets.Value("uint16"))})
    fewer = {"return_token_type_ids": False} if best else {}
    flags = {"features": narrow} if best else {}

    def cut(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        made = tokenizer(batch["text"], add_special_tokens=False, return_attention_mask=False, **fewer)
        return {"input_ids": made["input_ids"]}

    def prepare(directory: Path) -> Callable[[], int]:
        rows = datasets.load_dataset("json", data_files=str(source), split="train", cache_dir=str(directory))
        spread = processes if processes > 1 else None
        mapped = rows.map(cut, batched=True, remove_columns=["text"], num_proc=spread, **flags)
        return lambda: sum(len(row) for batch in mapped.iter(1000) for row in batch["input_ids"])

    return prepare


def block(prepare: Prepare) -> tuple[Block, int]:
    """A block of preparations, each in a fresh directory; and the tokens of one, which is made now."""
    with tempfile.TemporaryDirectory() as folder:
        count = prepare(Path(folder))()

    def once() -> float:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder))
        return count

    return repeated(once, fewest=1), count


def beside(best: bool, settings: Settings) -> Found:
    """Ours against the peer."""
    processes = settings.machine.num_threads
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's, of its own forks
        source, vocabulary = Path(folder) / "corpus.jsonl", Path(folder) / "vocab.txt"
        write(source, BYTES)
        sample = [json.loads(line)["text"] for line in source.read_text(encoding="utf-8").splitlines()[:2000]]
        WordPiece(vocabulary=VOCABULARY).train(sample).save(vocabulary)
        mine, count = block(ours(source, vocabulary, processes))
        other, same = block(peer(source, vocabulary, processes, best))
        assert count == same, "the two count different tokens"
        return compare(mine, other, settings)


MEASURED = {"corpus": partial(beside, False), "corpus-best": partial(beside, True)}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED))
