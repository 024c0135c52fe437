"""The synthetic tasks: the same everywhere, splits apart, columns right, and no task solved by a shortcut."""

import hashlib
import itertools
import json
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

from bertlab import synthetic as microworld
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.synthetic.world import lexicon
from bertlab.tasks import catalog
from bertlab.tasks.data import load

SPLITS = ("train", "validation", "test")
GOLDEN = {
    "1/inference@4": "0e15db82834fefb0",
    "1/inference-large@4": "0e15db82834fefb0",
    "1/question-inference@3": "dae5e09aa4de10e7",
    "1/paraphrase@3": "af2a8d1c0bca41d2",
    "1/similarity@3": "02e5c5b67daac2f2",
    "1/sentiment@4": "4a26784eb8329551",
    "1/acceptability@3": "dc383942a533328a",
    "1/entities@3": "270be18020588bc3",
    "1/questions@3": "983976b7ad62d4eb",
    "1/questions-unanswerable@3": "876da2f82daa1596",
    "1/completion@5": "763c261d22b3c5e1",
    "1/parts-of-speech@4": "5d69e37e43b8db06",
    "1/coreference-resolution@1": "cbf5836e54682351",
    "1/minimal-pairs@1": "104a6277b3a1de73",
    "1/translation-coast@1": "4ba27ffbf3652826",
    "1/translation-valley@1": "80723265abbfc228",
    "1/translation-hills@1": "181e46d72176dd21",
    "1/summaries@1": "324d612736c356f0",
    "1/fusion@1": "c604904d677baf88",
    "1/cloze@1": "b5307aa7b0d3749a",
}
COLUMNS = {
    "inference": {"premise", "hypothesis", "label"},
    "inference-large": {"premise", "hypothesis", "label"},
    "question-inference": {"question", "sentence", "label"},
    "paraphrase": {"sentence1", "sentence2", "label"},
    "similarity": {"sentence1", "sentence2", "label"},
    "sentiment": {"sentence", "label"},
    "acceptability": {"sentence", "label"},
    "entities": {"tokens", "ner_tags"},
    "questions": {"id", "title", "context", "question", "answers"},
    "questions-unanswerable": {"id", "title", "context", "question", "answers"},
    "completion": {"startphrase", "ending0", "ending1", "ending2", "ending3", "label"},
    "parts-of-speech": {"tokens", "upos"},
    "coreference-resolution": {"sentences", "clusters"},
    "minimal-pairs": {"good", "bad", "phenomenon", "paradigm"},
    "translation-coast": {"source", "target"},
    "translation-valley": {"source", "target"},
    "translation-hills": {"source", "target"},
    "summaries": {"document", "summary"},
    "fusion": {"source", "target"},
    "cloze": {"passage", "query", "entities", "answers"},
}
ORIGINAL = [
    task for task in microworld.TASKS if task.removesuffix("-text") not in microworld.IN_WORDS or task in COLUMNS
]
FEW = {"minimal-pairs", "translation-coast", "translation-valley", "translation-hills", "summaries", "fusion", "cloze"}
"""Tasks with fewer evaluation examples than others."""
NAMES = {"parts-of-speech": 30, "fusion": -1}
NAMES |= dict.fromkeys(("translation-coast", "translation-valley", "translation-hills"), -1)
"""The names that fewer examples have, or none."""
CLASSIFIED = {name: task for name, task in catalog.WORLD.items() if task.kind == "classification"}


def test_golden_examples(rows):
    """A change here changes what a task measures: raise its `revision` with it, and no other."""

    def fingerprint(task):
        examples = rows(task, "test")[:20] + rows(task, "train")[:20]
        return hashlib.sha256(json.dumps(examples, sort_keys=True).encode()).hexdigest()[:16]

    assert {microworld.version(task): fingerprint(task) for task in ORIGINAL} == GOLDEN


@pytest.mark.parametrize("task", microworld.IN_WORDS)
def test_a_task_in_words_has_the_examples_of_the_other(rows, task):
    assert all(microworld.rows(f"{task}-text", split, 50) == rows(task, split)[:50] for split in SPLITS)


@pytest.mark.parametrize("task", ORIGINAL)
def test_columns_and_repetition(rows, task):
    """Few examples repeat, no evaluated example occurs in training, and no name occurs in two splits."""
    names = {name.lower() for name in lexicon().names}
    seen, used = [], []
    splits = [split for split in SPLITS if microworld.size(task, split)]
    for split in splits:
        examples = rows(task, split)
        assert all(set(row) == COLUMNS[task] for row in examples)
        assert split == "train" or len(examples) >= (1_200 if task in FEW else 4_000)
        inputs = [{name: row[name] for name in row.keys() - {"id", "title", "label"}} for row in examples]
        seen.append({json.dumps(row, sort_keys=True) for row in inputs})
        assert len(seen[-1]) > 0.95 * len(examples)
        used.append(names.intersection(re.findall(r"[a-z-]+", json.dumps(examples).lower())))
    assert all(len(part) > NAMES.get(task, 100) for part in used)
    for one, two in itertools.combinations(range(len(splits)), 2):
        assert used[one].isdisjoint(used[two])
        assert splits[one] != "train" or seen[one].isdisjoint(seen[two])
    assert microworld.rows(task, "train", 50) == microworld.rows(task, "train")[:50]


@pytest.mark.parametrize("task", sorted({*CLASSIFIED, "completion"}))
def test_labels_are_balanced(rows, task):
    for split in SPLITS:
        count = Counter(row["label"] for row in rows(task, split))
        assert set(count) == set(range(len(count)))
        assert len(count) == {"inference": 3, "inference-large": 3, "completion": 4}.get(task, 2)
        assert max(count.values()) < 1.1 * sum(count.values()) / len(count)


CEILINGS = {
    "inference": 70, "inference-large": 70,
    "question-inference": 68, "paraphrase": 60, "sentiment": 64, "acceptability": 62, "similarity": 25,
    "completion": 58, "questions": 50, "questions-unanswerable": 52, "entities": 70, "parts-of-speech": 75,
    "coreference-resolution": 40, "translation-coast": 45, "translation-valley": 20, "translation-hills": 20,
    "summaries": 15, "fusion": 60,
}  # fmt: skip
"""Points that no floor may reach: well below what a small pre-trained encoder does."""


@pytest.mark.parametrize("task", CEILINGS)
def test_neither_half_nor_words_alone_solve_a_task(task):
    """Half a pair stays within 3 points of the majority, counts of words below a ceiling: trained as the model is."""
    floors = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "floors.py"))["floors"]
    data = load(catalog.WORLD[task], machine=Machine(), world=True)
    majority = {
        "inference": 33.3,
        "inference-large": 33.3,
        "completion": 25,
        "similarity": 0,
        "questions-unanswerable": 66.7,
    }.get(task, 50)
    for name, reached in floors(data):
        assert reached < (CEILINGS[task] if name == "lexical" else majority + 3), name


@pytest.mark.parametrize("task", sorted({*CLASSIFIED, "completion", "similarity"}))
def test_the_number_of_words_tells_no_label(rows, task):
    """Each text has the same mean number of words and sentences for every label."""
    for column in catalog.WORLD[task].text:
        lengths = {}
        for row in rows(task, "test"):
            label = round(row["label"] / 2.5) if task == "similarity" else row["label"]
            lengths.setdefault(label, []).append(len(re.findall(r"\w+|[.?!]", str(row[column]))))
        means = [sum(found) / len(found) for found in lengths.values()]
        assert max(means) - min(means) < 0.25


@pytest.mark.parametrize("task", CLASSIFIED)
def test_the_lengths_of_all_texts_together_tell_no_label(rows, task):
    """Boosted trees learn nothing from the numbers of words and sentences: a leak can lie in two texts together."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def lengths(split):
        found = [
            [len(re.findall(pattern, row[column])) for column in CLASSIFIED[task].text for pattern in (r"\w+", "[.?!]")]
            for row in rows(task, split)
        ]
        return found, [row["label"] for row in rows(task, split)]

    features, labels = lengths("test")
    majority = max(Counter(labels).values()) / len(labels)
    for split in ("validation", "train"):
        trees = HistGradientBoostingClassifier(max_depth=3, max_iter=50, random_state=0).fit(*lengths(split))
        assert trees.score(features, labels) < majority + 0.03


def test_unknown_task_and_split():
    with pytest.raises(BadInput, match="did you mean 'entities'"):
        microworld.rows("entitys", "train")
    with pytest.raises(BadInput, match="split"):
        microworld.rows("entities", "dev")
