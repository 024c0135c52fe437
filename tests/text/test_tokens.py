"""The tokenised corpus: what is built, what is held out, what is refused."""

import itertools
import json
import math
import multiprocessing
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from bertlab import progress
from bertlab.errors import ArmFailed, BadInput
from bertlab.machine import Machine
from bertlab.recipe import Corpus
from bertlab.text import document_file, sentences, sources, tokens
from bertlab.text.tokenizers import SPECIALS, WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

WORDS = ["the", "a", "cat", "dog", "bird", "house", "tree", "sees", "likes", "old", "small", "red", "very", "and"]


def world(count, seed=0):
    """`count` different documents of 1 to 6 sentences."""
    draw = np.random.Generator(np.random.PCG64(seed))
    found = []
    for number in range(count):
        drawn = [" ".join(draw.choice(WORDS, size=draw.integers(2, 9))) + "." for _ in range(draw.integers(1, 7))]
        found.append(" ".join(drawn).capitalize() + f" Number {number}.")
    return found


@pytest.fixture
def build(tmp_path):
    """Builds the corpus of some documents; gives its directory."""

    def run(texts, *, name="corpus", vocabulary=300, heldout=0.2, workers=1, reports=progress.silent, **options):
        folder = tmp_path / f"{name}-files"
        folder.mkdir()
        sources_of = texts if isinstance(texts[0], list) else [texts]
        located = []
        for number, part in enumerate(sources_of):
            path = folder / f"{number}.jsonl"
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in part), encoding="utf-8")
            located.append(sources.resolve(str(path), machine=Machine(cache=tmp_path / "cache")))
        directory = tmp_path / name
        directory.mkdir()
        tokenizer = options.pop("tokenizer", WordPiece(vocabulary=vocabulary))
        words = options.pop("words", 0)
        corpus = Corpus(sources=tuple(each.source for each in located), heldout=heldout, words=words)
        tokens.prepare(corpus, tokenizer, located, directory, workers=workers, progress=reports, **options)
        return directory

    return run


def opened(directory, tokenizer=None, **options):
    return tokens.open_corpus(directory, tokenizer or WordPiece(), **options)


def texts_of(corpus, part):
    """The documents of a part, each a list of sentences, as text."""
    vocabulary = corpus.tokenizer.vocabulary
    words = [
        " ".join(vocabulary[number] for number in part.tokens[start:end]).replace(" ##", "")
        for start, end in zip(part.sentences[:-1], part.sentences[1:], strict=True)
    ]
    return [words[start:end] for start, end in zip(part.documents[:-1], part.documents[1:], strict=True)]


def test_all_documents_are_there_once_cut_and_in_order(build):
    texts = world(60)
    corpus = opened(build(texts))
    expected = [[sentence.lower().replace(".", " .") for sentence in sentences.sentences(text)] for text in texts]
    train, heldout = texts_of(corpus, corpus.train), texts_of(corpus, corpus.heldout)
    assert sorted(train + heldout) == sorted(expected)
    for part in (train, heldout):
        assert [document for document in expected if document in part] == part
        assert part


def test_a_number_of_words_takes_whole_documents_and_holds_out_the_same(build):
    texts = world(200)
    every = opened(build(texts))
    less, more = (opened(build(texts, name=str(words), words=words)) for words in (500, 1000))
    taken = [texts_of(corpus, corpus.train) for corpus in (less, more, every)]
    assert all(document in larger for small, larger in itertools.pairwise(taken) for document in small)
    longest = max(len(text.split()) for text in texts)
    for corpus, words in ((less, 500), (more, 1000)):
        assert words - longest < corpus.facts["train"]["words"] <= words
        assert corpus.facts["text"]["words"] == corpus.facts["train"]["words"]
        assert texts_of(corpus, corpus.heldout) == texts_of(every, every.heldout)
    written = [" ".join(document).replace(" .", ".") for document in taken[0]]
    assert sum(len(text.split()) for text in written) == less.facts["train"]["words"]
    assert sum(every.facts[part]["words"] for part in tokens.PARTS) == sum(len(text.split()) for text in texts)
    assert "words" not in every.facts["text"]
    with pytest.raises(BadInput, match=r"^--words is 1, and the first document alone has \d+: give more"):
        build(texts, name="one", words=1)


def test_a_vocabulary_is_trained_on_the_words_of_the_budget_alone(build):
    marks = [chr(0x4E00 + number) for number in range(200)]
    few = opened(build([f"{mark} {text}" for mark, text in zip(marks, world(200), strict=True)], words=400))
    read = " ".join(itertools.chain(*texts_of(few, few.train)))
    assert 10 < len(set(marks) & set(few.tokenizer.vocabulary)) < 100
    assert set(marks) & set(few.tokenizer.vocabulary) == set(marks) & set(read)


def test_offsets_are_whole(build):
    corpus = opened(build(world(60)))
    for part in (corpus.train, corpus.heldout):
        assert part.tokens.dtype == np.uint16
        assert isinstance(part.tokens, np.memmap)
        assert part.sentences.dtype == part.documents.dtype == np.int64
        assert part.sentences[0] == part.documents[0] == 0
        assert part.sentences[-1] == len(part.tokens)
        assert part.documents[-1] == len(part.sentences) - 1
        assert np.diff(part.sentences).min() >= 1
        assert np.diff(part.sentences[part.documents]).min() >= 2
        assert not set(part.tokens.tolist()) & {corpus.tokenizer.pad, corpus.tokenizer.cls, corpus.tokenizer.sep}


def test_offsets_are_written_as_numpy_saves_them_and_may_be_large(tmp_path):
    counts = [np.array(part, dtype=np.int32) for part in ([2**31 - 1] * 5, [], [3, 2**31 - 1])]
    tokens._write_offsets(tmp_path / "ours.npy", counts)
    sums = np.concatenate(([0], *counts)).cumsum()
    np.save(tmp_path / "theirs.npy", sums)
    assert sums[-1] > 2**33
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    with pytest.raises(OSError, match="No space left"):  # a map of the file would end the process
        tokens._write_offsets(Path("/dev/full"), counts)


def test_facts_say_what_was_built(build):
    texts = world(60)
    directory = build(texts)
    corpus = opened(directory)
    facts = corpus.facts
    assert facts["bytes"] == sum(len(text.encode()) for text in texts)
    assert facts["vocabulary"] == corpus.tokenizer.size
    assert facts["dtype"] == "uint16"
    sizes, words = {}, Counter()
    for text in texts:
        first = next(sentences.sentences(text)).lower().replace(".", " .")
        name = "heldout" if first in {each[0] for each in texts_of(corpus, corpus.heldout)} else "train"
        sizes[name] = sizes.get(name, 0) + len(text.encode())
        words[name] += len(text.split())
    for name, part in (("train", corpus.train), ("heldout", corpus.heldout)):
        assert facts[name] == {
            "documents": len(part.documents) - 1,
            "sentences": len(part.sentences) - 1,
            "tokens": len(part.tokens),
            "bytes": sizes[name],
            "words": words[name],
        }
    documents = {name: [facts[name]["documents"]] for name in ("train", "heldout")}
    assert facts["documents_by_source"] == documents
    assert sorted(path.name for path in directory.iterdir()) == ["corpus.json", "heldout", "train", "vocab.txt"]


def test_the_unigram_entropy_is_that_of_the_heldout_text(build):
    corpus = opened(build(world(60)))
    held = corpus.heldout.tokens.tolist()
    prices = [-math.log(count / len(held)) * count for count in Counter(held).values()]
    assert corpus.facts["unigram_entropy"] == pytest.approx(sum(prices) / len(held), rel=1e-12)


def test_what_is_held_out_does_not_depend_on_order_or_company(build):
    texts = world(200)
    together = opened(build(texts, name="together"))
    backwards = opened(build(texts[::-1], name="backwards"))
    joined = opened(build([texts[:90], texts[90:]], name="joined"))
    held = texts_of(together, together.heldout)
    assert 15 <= len(held) <= 70
    assert texts_of(backwards, backwards.heldout) == held[::-1]
    assert texts_of(joined, joined.heldout) == held
    more = opened(build(texts + world(50, seed=1)[40:], name="more"))
    assert [document for document in held if document not in texts_of(more, more.heldout)] == []
    assert together.tokenizer.vocabulary == backwards.tokenizer.vocabulary


def test_repeated_documents_lie_on_one_side(build):
    texts = world(30)
    corpus = opened(build(texts * 3))
    train, heldout = (set(map(tuple, texts_of(corpus, part))) for part in (corpus.train, corpus.heldout))
    assert not train & heldout


SHORT = ["\u200b", *WORDS]
"""Documents of fewer than two tokens in a vocabulary that has these words: no part has them."""


@pytest.mark.parametrize("workers", [1, 2])
def test_the_documents_of_each_source_are_known(build, monkeypatch, tmp_path, workers):
    monkeypatch.setattr(tokens, "SMALL", 0)
    monkeypatch.setattr(document_file, "BLOCK", 4_000)  # blocks have documents of two sources
    path = tmp_path / "given.txt"
    TrainedWordPiece([*SPECIALS, *WORDS, "number", ".", *map(str, range(200))]).save(path)
    every = world(150)
    sources_of = [[*every[:40], *SHORT], [*SHORT, *every[40:60]], [*SHORT, *every[60:]]]
    corpus = opened(build(sources_of, vocabulary_file=path, workers=workers))
    last = [{text.split()[-1].removesuffix(".") for text in texts} for texts in (every[:40], every[40:60], every[60:])]
    for part in (corpus.train, corpus.heldout):
        ends = np.cumsum(part.by_source)
        found = texts_of(corpus, part)
        assert len(found) == ends[-1]
        assert min(part.by_source) > 0
        for own, begin, end in zip(last, [0, *ends], ends, strict=False):
            assert {document[-1].split()[-2] for document in found[begin:end]} <= own
    assert sum(corpus.train.by_source) + sum(corpus.heldout.by_source) == 150


def test_the_first_or_last_corpora_are_the_documents_of_these_sources(build):
    texts = world(90)
    corpus = opened(build([texts[:30], texts[30:50], texts[50:]]))
    every, sizes = texts_of(corpus, corpus.train), corpus.train.by_source
    assert 15 < sizes[0] < 30
    for corpora in (1, 2, 3):
        part = tokens.some_corpora(corpus.train, corpora)
        assert texts_of(corpus, part) == every[: sum(sizes[:corpora])]
        assert (part.sentences[-1], part.documents[-1]) == (len(part.tokens), len(part.sentences) - 1)
        assert np.shares_memory(part.tokens, corpus.train.tokens)
        last = tokens.some_corpora(corpus.train, -corpora)
        assert texts_of(corpus, last) == every[-sum(sizes[-corpora:]) :]
        assert last.by_source == sizes[-corpora:]
    assert tokens.some_corpora(corpus.train, 0) is corpus.train
    with pytest.raises(
        BadInput, match=r"^inputs.corpora is 4, and the number of corpora is 3: give more, or set it to 0"
    ):
        tokens.some_corpora(corpus.train, 4)


def test_corpora_without_documents_to_train_on_are_refused():
    assert tokens.documents_of((0, 0, 7), 3) == range(7)
    assert tokens.documents_of((2, 3, 7), -2) == range(2, 12)
    with pytest.raises(BadInput, match=r"^inputs.corpora is 1: all documents of this corpus are held out or have"):
        tokens.documents_of((0, 0, 7), 1)
    with pytest.raises(BadInput, match=r"^inputs.corpora is 2: all documents of these corpora are held out or have"):
        tokens.documents_of((0, 0, 7), 2)


def test_a_corpus_that_lacks_the_documents_of_its_sources_is_read_as_a_whole(build):
    """An earlier version prepared it: the files and their fingerprint are the same."""
    directory = build([world(30), world(60)[30:]])
    whole, path = opened(directory), directory / "corpus.json"
    facts = json.loads(path.read_text())
    del facts["documents_by_source"]
    path.write_text(json.dumps(facts))
    earlier = opened(directory)
    assert texts_of(earlier, earlier.train) == texts_of(whole, whole.train)
    assert tokens.some_corpora(earlier.train, 0) is earlier.train
    with pytest.raises(
        BadInput, match=r"^inputs.corpora is 1, and an earlier version prepared .*: remove it .* and run"
    ):
        tokens.some_corpora(earlier.train, 1)


@pytest.mark.parametrize("share", [1e-6, 0.499])
@pytest.mark.parametrize("count", [2, 3])
def test_each_part_has_a_document_however_few_there_are(build, share, count):
    for seed in range(4):
        facts = opened(build(world(count, seed), name=f"{seed}", heldout=share)).facts
        assert facts["train"]["documents"] >= 1
        assert facts["heldout"]["documents"] >= 1


def test_processes_change_nothing(build, monkeypatch):
    texts = world(300)
    alone = build(texts, name="alone")
    monkeypatch.setattr(tokens, "SMALL", 0)
    monkeypatch.setattr(document_file, "BLOCK", 2_000)
    together = build(texts, name="together", workers=2)
    facts = opened(together).facts
    assert facts == opened(alone).facts


class Pool:
    """Computes each result when it is asked for, in this process; counts those that are begun and not yet taken."""

    def __init__(self, *arguments, **options):
        self.submitted = self.taken = self.most = 0

    def submit(self, work, block):
        self.submitted += 1
        self.most = max(self.most, self.submitted - self.taken)
        return SimpleNamespace(result=lambda: self.take(work, block))

    def take(self, work, block):
        self.taken += 1
        return work(block)

    def shutdown(self, **options):
        pass


def test_processes_are_a_few_blocks_ahead_of_the_disk(build, monkeypatch):
    texts, pools = world(300), []
    alone = build(texts, name="alone")
    monkeypatch.setattr(tokens, "SMALL", 0)
    monkeypatch.setattr(document_file, "BLOCK", 500)
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", lambda *_, **__: pools.append(Pool()) or pools[-1])
    assert opened(build(texts, workers=2)).facts == opened(alone).facts
    assert pools[0].submitted > 30
    assert pools[0].most == 2 * document_file.AHEAD + 1


def test_a_worker_of_a_plan_starts_no_processes(build, monkeypatch):
    """A damaged corpus is made again by a worker, which as a daemon may have no children."""
    monkeypatch.setattr(tokens, "SMALL", 0)
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    assert opened(build(world(60), workers=2)).facts["train"]["documents"]


def test_a_killed_worker_is_replaced_by_this_process(build, monkeypatch):
    from concurrent.futures.process import BrokenProcessPool

    class Broken(Pool):
        def submit(self, work, block):
            if self.submitted == 2:
                raise BrokenProcessPool
            return super().submit(work, block)

    texts = world(100)
    alone = build(texts, name="alone")
    monkeypatch.setattr(tokens, "SMALL", 0)
    monkeypatch.setattr(document_file, "BLOCK", 2_000)
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", Broken)
    assert opened(build(texts, workers=2)).facts == opened(alone).facts


def test_a_document_longer_than_a_batch_is_one_document(build, monkeypatch):
    texts = [*world(20), " ".join(world(200, seed=2))]
    whole = build(texts, name="whole")
    monkeypatch.setattr(document_file, "BATCH", 1_000)
    monkeypatch.setattr(sentences, "PIECE", 1_000_000)
    assert opened(build(texts, name="parts")).facts == opened(whole).facts


def test_documents_of_fewer_than_two_tokens_are_left_out():
    wordpiece = TrainedWordPiece([*SPECIALS, "cat", "dog"])
    done = document_file.tokenise(["cat", "\u200b", "cat dog", "cat\n\ndog", "\u200b\n\ndog", "dog cat"], wordpiece)
    assert np.frombuffer(done.tokens, dtype=np.uint16).tolist() == [5, 6, 5, 6, 6, 5]
    assert done.sentences.tolist() == [2, 1, 1, 2]
    assert done.documents.tolist() == [1, 2, 1]
    nothing = document_file.tokenise(["cat", "\u200b"], wordpiece)
    assert (nothing.tokens, len(nothing.sentences), len(nothing.documents)) == (b"", 0, 0)
    assert len(document_file.tokenise([], wordpiece).documents) == 0


def test_special_tokens_in_the_text_stay_text(build):
    directory = build([f"{text} [MASK] and [CLS] are text [SEP]." for text in world(40)])
    corpus = opened(directory)
    for part in (corpus.train, corpus.heldout):
        assert not {0, 1, 2, 3, 4} & set(part.tokens.tolist())
    assert "[ mask ]" in texts_of(corpus, corpus.train)[0][-1]


def test_a_given_vocabulary_is_used_as_it_is(build, tmp_path):
    path = tmp_path / "given.txt"
    entries = ["cat", *SPECIALS, *WORDS[1:], ".", *(f"[unused{number}]" for number in range(70_000))]
    TrainedWordPiece(entries).save(path)
    content = sources.content([path], Machine(cache=tmp_path / "cache"))
    corpus = opened(build(world(30), vocabulary_file=path, tokenizer=WordPiece(given=content)))
    assert corpus.tokenizer.vocabulary == entries
    assert corpus.train.tokens.dtype == np.uint32
    assert corpus.tokenizer.unk in corpus.train.tokens
    with pytest.raises(BadInput, match="has changed"):
        build(world(30), name="changed", vocabulary_file=path, tokenizer=WordPiece(given=f"sha256:{0:064}"))


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        (0, "returns None: give a bertlab.text.tokenizers.base.TrainedTokenizer"),
        (200, r"makes \d+ entries: make 100 at most"),
    ],
)
def test_what_a_tokenizer_of_a_study_file_makes_is_checked(build, entries, says):
    @dataclass(frozen=True, kw_only=True)
    class Large(WordPiece):
        kind: ClassVar[str] = "larger_than_asked"

        def train(self, texts):
            return WordPiece(vocabulary=entries).train(texts) if entries else None

    with pytest.raises(ArmFailed, match=rf"^Large\.train \(test_tokens\.py, line \d+\) {says}"):
        build(world(200), tokenizer=Large(vocabulary=100))


def test_cased_text_stays_cased(build):
    cased = WordPiece(vocabulary=300, lowercase=False)
    corpus = opened(build(world(60), tokenizer=cased), cased)
    assert any(document[-1].startswith("Number") for document in texts_of(corpus, corpus.train))


def test_progress_reaches_its_total_and_says_the_stage(build):
    reports = []
    texts = world(60)
    build(texts, reports=lambda done, total, stage="", /, **figures: reports.append((stage, done, total)))
    size = sum(len(text.encode()) for text in texts)
    assert reports[0][0] == "training the vocabulary"
    assert reports[-1] == ("tokenising", size, size)


def test_a_request_to_stop_is_heard_and_leaves_no_copy_of_the_text(build, tmp_path, monkeypatch):
    def tell(done, total, stage="", /, **figures):
        if stage == "tokenising":
            monkeypatch.setattr(progress, "_received", [2])

    with pytest.raises(progress.Interrupted):
        build(world(60), reports=tell)
    assert not (tmp_path / "corpus" / "documents.tmp").exists()
    assert not (tmp_path / "corpus" / "corpus.json").exists()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["only one document"], ("single document", "0.jsonl")),
        (["twice the same", "twice the same"], ("single document",)),
        ([["", " "], ["a b", "b c"]], ("0.jsonl", "empty")),
        (["\u200b", "\u200d"], ("special tokens alone", "text with words")),
    ],
)
def test_corpora_that_are_too_small(build, tmp_path, texts, words):
    with pytest.raises(BadInput) as caught:
        build(texts)
    assert all(word in str(caught.value) for word in words)
    assert not (tmp_path / "corpus" / "documents.tmp").exists()


def damage(directory, name):
    path = directory / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["train/tokens.bin", "heldout/sentences.npy", "train/documents.npy", "vocab.txt"])
def test_damage_is_noticed(build, name):
    directory = build(world(30))
    damage(directory, name)
    with pytest.raises(BadInput, match="damaged"):
        opened(directory)


def test_what_is_not_whole_is_not_opened(build, tmp_path):
    directory = build(world(30))
    for name in ("train/tokens.bin", "vocab.txt", "corpus.json"):
        copy = tmp_path / "copy"
        shutil.copytree(directory, copy)
        (copy / name).unlink()
        for check in (True, False):
            with pytest.raises(BadInput, match="damaged"):
                opened(copy, check=check)
        shutil.rmtree(copy)
    with pytest.raises(BadInput, match="nowhere"):
        opened(tmp_path / "nowhere")


def test_the_sample_for_the_vocabulary_is_bounded_and_the_same_in_any_order(tmp_path):
    samples = []
    texts = world(100)
    for name, order in (("a", 1), ("b", -1)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[::order]), encoding="utf-8")
        located = sources.resolve(str(path), machine=Machine(cache=tmp_path / "cache"))
        written = document_file.DocumentFile.write(tmp_path / name, [located], progress.silent)
        samples.append(list(written.sample(np.arange(100), 2_000)))
    assert samples[0] == samples[1]
    assert sum(len(text.encode()) for text in samples[0]) == 2_000
    assert all(text in texts for text in samples[0][:-1])
    assert len(samples[0]) > 5


def test_one_hash_divides_the_documents_and_another_orders_the_sample(tmp_path):
    (tmp_path / "document_file").write_bytes(b"abc")
    hashes = [np.array(each, dtype=np.uint64) for each in ([3, 1, 2], [5, 9, 7])]
    made = document_file.DocumentFile(tmp_path / "document_file", *[np.ones(3, dtype=np.int64)] * 2, *hashes)
    assert [*made.sample(np.arange(3), 10)] == ["a", "c", "b"]
    for share, heldout in ((0.5, [1, 2]), (2**-63, [1])):  # never all documents, and never none
        assert [each.tolist() for each in made.split(share)] == [sorted({0, 1, 2} - {*heldout}), heldout]


def test_text_that_changed_after_it_was_planned_is_refused(tmp_path: Path, machine: Machine) -> None:
    """The id was made of other text: the same size and time do not matter."""
    path = tmp_path / "text.jsonl"
    path.write_text('{"text": "One two three. Four."}\n{"text": "Five six. Seven."}\n')
    located = sources.resolve(str(path), machine=machine)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text(path.read_text().replace("Four", "Nine"))
    os.utime(path, ns=times)
    (tmp_path / "corpus").mkdir()
    with pytest.raises(BadInput, match=r"corpus 'text.jsonl' has changed: give the same command again"):
        tokens.prepare(
            Corpus(sources=(located.source,), heldout=0.4),
            WordPiece(vocabulary=64),
            [located],
            tmp_path / "corpus",
            progress=progress.silent,
        )
    assert not list((tmp_path / "corpus").iterdir())


def test_a_vocabulary_with_sentinels_has_digits_and_marks_that_no_text_has(build):
    texts = [text.replace("Number", "number").translate(str.maketrans("", "", "0123456789")) for text in world(60)]
    for options, writable in (({}, False), ({"sentinels": 4}, True)):
        tokenizer = WordPiece(vocabulary=300, **options)
        trained = tokenizer.load(build(texts, name=f"words-{writable}", tokenizer=tokenizer) / "vocab.txt")
        answers = trained.encode(["3.6", "not_duplicate", "choice2"])
        assert [trained.unk not in ids for ids in answers] == [writable] * 3
