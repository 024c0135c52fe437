"""Preparing a corpus against `datasets.map` with a fast tokenizer: `python benchmarks/corpus.py [--megabytes 30]`.

Both cut the same generated documents with the same vocabulary, in the same number of processes, from a `.jsonl` file to
token ids on disk; ours cuts sentences besides and keeps their offsets. Blocks alternate (A B B A ...); the figure is
the median of the paired ratios with a 95 % bootstrap interval. Also prints the peak memory of preparing, all processes
together. The result is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus, Tokenizer
from bertlab.text import tokens
from bertlab.text.sources import content, resolve
from bertlab.text.tokenizer import WordPiece

WORDS = 60_000
"""Distinct words of the generated text, drawn by Zipf's law as in real text."""


def write(path: Path, size: int, seed: int = 0) -> None:
    """Writes about `size` bytes of documents with the word frequencies and lengths of English."""
    draw = np.random.Generator(np.random.PCG64(seed))
    syllables = [a + b + c for a in "bdfgklmnprstvw" for b in "aeiou" for c in ("", "n", "r", "s", "l")]
    words = ["".join(draw.choice(syllables, size=draw.integers(1, 5))) for _ in range(WORDS)]
    share = 1 / np.arange(3, WORDS + 3)
    share /= share.sum()
    with path.open("w", encoding="utf-8") as stream:
        while stream.tell() < size:
            told = []
            for _ in range(int(draw.integers(5, 80))):
                sentence = [words[number] for number in draw.choice(WORDS, size=int(draw.integers(5, 40)), p=share)]
                sentence[len(sentence) // 2] += draw.choice([",", "", ";", "'s"])
                told.append(" ".join(sentence).capitalize() + draw.choice([".", "?", "."]))
            stream.write(json.dumps({"text": " ".join(told)}) + "\n")


def ours(source: Path, vocabulary: Path, processes: int, directory: Path) -> Callable[[], int]:
    """Prepares the corpus; gives a function that counts its tokens."""
    machine = Machine(cache=directory / "cache")
    located = resolve(str(source), machine=machine)
    tokenizer = Tokenizer(given=content([vocabulary], machine))
    facts = tokens.prepare(
        Corpus(sources=(located.source,)),
        tokenizer,
        [located],
        directory,
        given=vocabulary,
        workers=processes,
        progress=silent,
    )
    return lambda: int(facts["train"]["tokens"] + facts["heldout"]["tokens"])


def theirs(source: Path, vocabulary: Path, processes: int, directory: Path) -> Callable[[], int]:
    """The usual way: `load_dataset("json")` and a batched `map` with the fast BERT tokenizer of `transformers`."""
    import datasets
    from transformers import BertTokenizer

    datasets.disable_progress_bars()
    tokenizer = BertTokenizer(str(vocabulary))
    rows = datasets.load_dataset("json", data_files=str(source), split="train", cache_dir=str(directory))
    mapped = rows.map(
        lambda batch: {
            "input_ids": tokenizer(batch["text"], add_special_tokens=False, return_attention_mask=False)["input_ids"]
        },
        batched=True,
        remove_columns=["text"],
        num_proc=processes if processes > 1 else None,
    )
    return lambda: sum(len(row) for batch in mapped.iter(1000) for row in batch["input_ids"])


def timed(prepare: Callable[..., Callable[[], int]], *arguments: object) -> tuple[float, int]:
    """Seconds and tokens of one preparation in a fresh folder."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        count = prepare(*arguments, Path(folder))
        return time.perf_counter() - start, count()


def memory_of(process: int) -> int:
    """Resident bytes of a process and all below it (Linux)."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        own = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
    return own + sum(memory_of(int(child)) for child in children)


def peak_memory(work: Callable[[], object]) -> int:
    """Peak resident bytes of this process and those below it while `work()` runs."""
    peak, over = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.05):
            peak = max(peak, memory_of(os.getpid()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        over.set()
        watcher.join()
    return peak


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=30)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, vocabulary = Path(folder) / "corpus.jsonl", Path(folder) / "vocab.txt"
        write(source, int(options.megabytes * 1e6))
        sample = [json.loads(line)["text"] for line in source.read_text(encoding="utf-8").splitlines()[:2000]]
        WordPiece.train(sample, 16_384, lowercase=True).save(vocabulary)
        arguments = (source, vocabulary, options.processes)
        peak = peak_memory(lambda: timed(ours, *arguments))  # before `datasets` is imported
        timed(theirs, *arguments)  # imports
        ratios, speeds = [], []
        for pair in range(options.pairs):
            order = (ours, theirs) if pair % 2 == 0 else (theirs, ours)
            result = {prepare: timed(prepare, *arguments) for prepare in order}
            assert result[ours][1] == result[theirs][1], "the two count different tokens"
            ratios.append(result[theirs][0] / result[ours][0])
            speeds.append(result[ours][1] / result[ours][0])
    draw = np.random.Generator(np.random.PCG64(0))
    resampled = np.median(draw.choice(ratios, size=(2000, len(ratios))), axis=1)
    found = {
        "megabytes": options.megabytes,
        "processes": options.processes,
        "pairs": options.pairs,
        "tokens_per_second": round(statistics.median(speeds)),
        "times_datasets_map": round(statistics.median(ratios), 2),
        "interval": [round(float(bound), 2) for bound in np.percentile(resampled, [2.5, 97.5])],
        "peak_memory_bytes": peak,
        "load": os.getloadavg()[0],
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
