"""What many tests share: a small tokenised corpus, a machine of one thread, and a store with a finished study."""

import fcntl
import functools
import json
import os
import shutil
import sys
import tarfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

import browser as chromium
from bertlab.cli.main import main
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.store import archive

for each in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    # Before numpy, torch and scikit-learn load. Threads of small models mostly wait for each other, and they spin.
    os.environ.setdefault(each, "1")
os.environ["BERTLAB_WORKERS"] = "0"  # workers start in seconds; the tests of workers ask for them
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 lets the tests beside a group take its processor: minutes

settings.register_profile("bertlab", deadline=None)  # a busy machine is no fault
settings.load_profile("bertlab")


@pytest.hookimpl(optionalhook=True)  # without xdist there is no such hook
def pytest_xdist_make_scheduler(config, log):
    """One process has the tests of a file, and one those of `faults`, which disturb the same study."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "tests/faults" if nodeid.startswith("tests/faults/") else super()._split_scope(nodeid)

    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def synthetic_text():
    """The synthetic documents and examples are generated once, not for every command of the tests."""
    from bertlab import synthetic

    made, rows = synthetic.documents, functools.cache(synthetic.rows)
    documents = functools.cache(lambda *given, **named: tuple(made(*given, **named)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "documents", lambda *given, **named: iter(documents(*given, **named)))
        patch.setattr(synthetic, "rows", lambda *given: [dict(row) for row in rows(*given)])
        yield


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """One thread, fp32: numbers do not depend on the machine that the tests run on."""
    place = tmp_path_factory.mktemp("machine")
    return Machine(runs=place / "runs", cache=place / "cache", threads=1, precision="fp32")


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; without one, the tests that use it are skipped, and fail where CI runs them."""
    lacking = pytest.fail if os.environ.get("CI") else pytest.skip
    try:
        from playwright import sync_api
    except ImportError:
        lacking("no playwright: install the group `tests`")
    with sync_api.sync_playwright() as playwright:
        try:
            started = chromium.started(playwright)
        except sync_api.Error as error:
            lacking(f"no Chromium that starts, which `nox -s tests` brings: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(scope="session")
def call():
    """Runs a command and gives its exit status."""

    def called(*arguments):
        before = sys.argv
        sys.argv = ["bertlab", *map(str, arguments)]
        try:
            main()
        except SystemExit as stop:
            return stop.code or 0
        finally:
            sys.argv = before
        return 0

    return called


@pytest.fixture(scope="session")
def smoke():
    """The command of `finished`: its numbers do not depend on the machine."""
    variants = ("--only", "80/10/10", "--only", "0/0/100", "--random-init")
    return ("ablate", "masking", "--scale", "smoke", *variants, "--threads", "1", "--precision", "fp32")


@pytest.fixture(scope="module")
def finished(call, smoke, tmp_path_factory):
    """A store with two variants of Table 8 and the one without pre-training, at smoke scale.

    One process of the tests computes it, and each file of tests has a copy: what it adds is seen by no other.
    """
    place = tmp_path_factory.getbasetemp()
    shared = (place.parent if "PYTEST_XDIST_WORKER" in os.environ else place) / "shared-finished"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            runs = tmp_path_factory.mktemp("computed") / "runs"
            assert call(*smoke, "--runs", runs) == 0
            runs.rename(shared)
    return shutil.copytree(shared, tmp_path_factory.mktemp("finished") / "runs")


@pytest.fixture(scope="session")
def unpacked():
    """Makes folders of the archive of exported results, as `tar` does; the results of earlier versions have them."""

    def unpack(root):
        with tarfile.open(root / archive.FILE) as tar:
            tar.extractall(root, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # from 3.11.4 on
        (root / archive.FILE).unlink()
        return root

    return unpack


@pytest.fixture(scope="session")
def text_file(tmp_path_factory):
    """300 documents of the embedded world as a local file."""
    from bertlab import synthetic as microworld

    path = tmp_path_factory.mktemp("text") / "world.jsonl"
    path.write_text("".join(json.dumps({"text": document}) + "\n" for document in microworld.documents(300)))
    return path


@pytest.fixture(scope="session")
def corpus_directory(text_file, machine, tmp_path_factory):
    """The same, tokenised with a vocabulary of 512."""
    from bertlab.recipe import Corpus
    from bertlab.text import sources, tokens
    from bertlab.text.tokenizers import WordPiece

    located = sources.resolve(str(text_file), machine=machine)
    directory = tmp_path_factory.mktemp("corpus")
    corpus = Corpus(sources=(located.source,), heldout=0.1)
    tokens.prepare(corpus, WordPiece(vocabulary=512), [located], directory, workers=1, progress=silent)
    return directory


@pytest.fixture(scope="session")
def corpus(corpus_directory):
    """The small corpus, opened."""
    from bertlab.text.tokenizers import WordPiece
    from bertlab.text.tokens import open_corpus

    return open_corpus(corpus_directory, WordPiece())


@pytest.fixture(scope="session")
def hostile_names():
    """Names that try to be more than names: paths, markup, formulas, escape sequences, and what cannot be seen."""
    groups = json.loads(Path(__file__).with_name("hostile_names.json").read_text(encoding="utf-8"))
    return [name for names in groups.values() for name in names] + ["long " * 400, "w" * 2000]


@pytest.fixture(scope="session")
def until():
    """Waits until a condition holds, and fails if it does not in time."""

    def wait(condition):
        end = time.monotonic() + 600  # against hangs alone: a busy machine is no fault
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.1)

    return wait


@pytest.fixture(scope="session")
def at_work():
    """Process ids of those that pre-train now in a store, by the run that they have locked."""
    from bertlab.store.runs import Store

    def find(runs):
        store = Store(runs)
        claims = {run_id: store.locks.progress(run_id) for kind, run_id, active in store.unfinished() if active}
        return {run_id: at.pid for run_id, at in claims.items() if at is not None and at.stage == "pre-training"}

    return find


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A Hub of this test's own, with an empty cache; `hub.offline()` takes it away."""
    from huggingface_hub import constants

    from bertlab import hub as client
    from stand_in_hub import Hub

    own = Hub()
    with own.served() as address:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

        def offline():
            client._listed.cache_clear()
            monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

        own.offline, own.again = offline, client._listed.cache_clear
        client._listed.cache_clear()
        yield own
        client._listed.cache_clear()
