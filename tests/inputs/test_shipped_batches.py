"""The batches of the package's studies at scale smoke are what they were, to the bit.

Where batches change on purpose, `python tests/inputs/test_shipped_batches.py` writes the new hashes.
"""

import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

import bertlab
from bertlab import synthetic
from bertlab.inputs.batches import Batches
from bertlab.lab import scales, studies
from bertlab.recipe.identity import identity

HASHES = Path(__file__).with_name("shipped_batches.json")
TEXT = "microworld:200"
STEPS = 200
HASHED = {"is_random_next": "random_second", "swapped": "order"}
"""The names under which the hashes have two arrays of pairs."""


def hashes(directory: Path) -> dict[str, dict[str, str]]:
    """A hash of the batches of each variant of each study; `directory` gets the tokenised texts."""
    by_recipe: dict[str, str] = {}
    corpora = {}
    shown: dict[str, dict[str, str]] = {}
    for name in studies.names():
        study = studies.find(name)
        for variant in study.variants:
            recipe = study.recipe(variant, scales.find("smoke").recipe).declared
            several, cleaned = bool(recipe.inputs.corpora), recipe.corpus.filter
            text = {"annotated": recipe.annotated, "filter": cleaned, "several": several}
            text |= {"tasks": recipe.multitask.tasks}
            key = identity("text", tokenizer=recipe.tokenizer, **text)
            if key not in corpora:
                texts = [TEXT, *others(directory)] if several else TEXT
                corpora[key] = bertlab.prepare_corpus(directory / key, recipe, texts)
            own = identity("batches", recipe=recipe)
            if own not in by_recipe:
                by_recipe[own] = hash_of(Batches(recipe, corpora[key])) if recipe.schedule.steps else "no batch"
            shown.setdefault(name, {})[variant.name] = by_recipe[own]
    return shown


def others(directory: Path) -> list[Path]:
    """Further texts for variants that read some of several: documents, and pages for a filter."""
    texts = {"books.jsonl": synthetic.documents(100, seed=1), "pages.jsonl": synthetic.pages(200, seed=2)}
    for name, documents in texts.items():
        (directory / name).write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    return [directory / name for name in texts]


def hash_of(batches: Batches) -> str:
    """A hash of all arrays of the first batches, by name, type and shape."""
    digest = hashlib.sha256()

    def add(name: str, array: np.ndarray) -> None:
        digest.update(f"{name} {array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes())

    for step in range(STEPS):
        batch = batches.batch(step)
        for name, stream in sorted(batch.streams.items()):
            add(f"{name}.tokens", stream.tokens)
            add(f"{name}.lengths", stream.lengths)
        for kind, arrays in sorted({"format": batch.format, **batch.arrays}.items()):
            for name, array in sorted((HASHED.get(name, name), array) for name, array in arrays.items()):
                add(f"{kind}.{name}", array)
        add("sequence_ids", batch.sequence_ids)
        add("epochs", batch.epochs)
    return digest.hexdigest()[:16]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    return hashes(tmp_path_factory.mktemp("shipped"))


@pytest.mark.parametrize("study", studies.names())
def test_batches_are_what_they_were(study: str, found: dict[str, dict[str, str]]) -> None:
    assert found[study] == json.loads(HASHES.read_text(encoding="utf-8"))[study]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        HASHES.write_text(json.dumps(hashes(Path(folder)), indent=1) + "\n", encoding="utf-8")
