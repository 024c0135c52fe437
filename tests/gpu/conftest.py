"""What the tests on a GPU share. They need torch, Lightning and tokenizers, but neither Ray nor the text libraries.

`BERTLAB_GPU_TESTS=cpu` runs them without a GPU, to check the tests themselves: the CPU then takes the GPU's way through
the model, eager kernels apart.
"""

import importlib.util
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from bertlab.machine import Machine

DRY = os.environ.get("BERTLAB_GPU_TESTS") == "cpu"


def load(path):
    """A file of the other tests as a module."""
    found = importlib.util.spec_from_file_location(Path(path).stem, Path(__file__).parents[1] / path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


_training = load("training/conftest.py")
pretrained, pairs, scores = _training.pretrained, _training.pairs, _training.scores
questions, choices, entities = _training.questions, _training.choices, _training.entities


@pytest.fixture(scope="session", autouse=True)
def gpu():
    """Skips where there is no GPU."""
    import torch

    if not DRY and not torch.cuda.is_available():
        pytest.skip("torch finds no GPU on this machine")


@pytest.fixture(scope="session")
def dry():
    """Whether there is no GPU behind these tests."""
    return DRY


@pytest.fixture(scope="session", autouse=True)
def plain_sentences(gpu):
    """Sentences end at full stops, without the library that knows better."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "bertlab.text.document_file.sentences", lambda document: re.split(r"(?<=[.?!])\s+", document.strip())
        )
        yield


@pytest.fixture(scope="session")
def cpu():
    """The reference: one thread, fp32."""
    return Machine(threads=1, precision="fp32")


@pytest.fixture
def card(monkeypatch):
    """Makes the machine with one GPU; to be called after all that runs on the CPU for reference."""
    from bertlab.model import attention, heads

    def machine(way="no", precision="fp32", **options):
        if not DRY:
            return Machine(gpus=1, threads=1, precision=precision, compile=way, **options)
        for module in (attention, heads):
            monkeypatch.setattr(module, "eager_on_cpu", lambda x: False)
        return Machine(threads=1, precision=precision, compile="yes" if way == "graphs" else way, **options)

    return machine


@pytest.fixture(scope="session")
def still(pretrained, tmp_path_factory):
    """The pre-trained model without dropout."""
    place = tmp_path_factory.mktemp("still") / "model"
    shutil.copytree(pretrained, place)
    record = json.loads((place / "recipe.json").read_text())
    record["science"]["recipe"].setdefault("model", {})["dropout"] = 0.0
    (place / "recipe.json").write_text(json.dumps(record))
    return place
