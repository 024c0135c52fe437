"""Documents in their two forms, their segments, the clusters that antecedents give, and the floors."""

import dataclasses

import numpy as np
import pytest
import torch

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, data
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.coreference_resolution import documents
from bertlab.tasks.kinds.coreference_resolution.kind import Annotation
from bertlab.tasks.kinds.coreference_resolution.model import GOLD, KEPT
from bertlab.tasks.task import RawExamples, Task
from multibootstrap import weighted

KIND = KINDS["coreference-resolution"]
PLAIN = {
    "doc_key": "x",
    "sentences": [["Ann", "saw", "Eve", "."], ["She", "ran", "."]],
    "clusters": [[[0, 0], [4, 4]], [[2, 2]]],
}
CONLL = {
    "document_id": "x",
    "sentences": [
        {"words": ["Ann", "ran", "/."], "part_id": 0, "coref_spans": [[0, 0, 0]], "speaker": "-"},
        {"words": ["She", "fell"], "part_id": 0, "coref_spans": [[0, 0, 0], [1, 0, 1]], "speaker": "-"},
        {"words": ["He", "and", "he"], "part_id": 1, "coref_spans": [[0, 0, 0], [0, 2, 2]], "speaker": "-"},
    ],
}


@pytest.fixture
def load(tmp_path, write):
    def loaded(*rows, **fields):
        for split in ("train", "validation"):
            write(tmp_path / "own" / f"{split}.jsonl", rows)
        task = Task(kind=KIND.name, path=str(tmp_path / "own"), text=("sentences",), label="clusters")
        return data.load(dataclasses.replace(task, **fields), machine=Machine(cache=tmp_path / "cache"), world=False)

    return loaded


def raw(*documents):
    """Documents of one-letter words, as sentences of each part, with their clusters."""
    words, labels = [], []
    for parts, clusters in documents:
        sentences = [sentence for part in parts for sentence in part]
        words.append([word for sentence in sentences for word in sentence])
        of_part = [number for number, part in enumerate(parts) for _ in part]
        labels.append(Annotation(clusters, [len(sentence) for sentence in sentences], of_part))
    return RawExamples(text=(words,), labels=labels)


def test_documents_of_both_forms(load, tmp_path, write):
    found = load(PLAIN).train
    assert found.text == ([["Ann", "saw", "Eve", ".", "She", "ran", "."]],)
    assert found.labels == [Annotation([[(0, 0), (4, 4)], [(2, 2)]], [4, 3], [0, 0])]
    own = load(CONLL, label="sentences").train
    assert own.text[0][0][2] == ".", "OntoNotes spells it with a slash"
    assert own.labels == [Annotation([[(0, 0), (3, 3)], [(3, 4)], [(5, 5), (7, 7)]], [3, 2, 3], [0, 0, 1])]
    for row, clusters in ((CONLL, 3), (PLAIN, 2)):  # a mirror of the published task may have either
        for split in ("train", "validation", "test"):
            write(tmp_path / "mirror" / "ontonotes" / f"{split}.jsonl", [row])
        machine = Machine(data=tmp_path / "mirror", cache=tmp_path / "cache")
        found = data.load(catalog.find("ontonotes"), machine=machine, world=False)
        assert len(found.test.labels[0].clusters) == clusters


def test_clusters_that_share_a_mention_are_one(load):
    (found,) = load(PLAIN | {"clusters": [[[0, 0], [2, 2]], [[4, 4], [2, 2]]]}).train.labels
    assert [sorted(each) for each in found.clusters] == [[(0, 0), (2, 2), (4, 4)]]


@pytest.mark.parametrize(
    ("row", "label", "says"),
    [
        ({"sentences": "Ann ran."}, "clusters", "sentences row 2 is 'Ann ran.': give a list of sentences, each a list"),
        ({"sentences": [[]]}, "clusters", "sentences row 2 is [[]]: give a list of sentences, each a list of words"),
        (
            {"clusters": [[0, 4]]},
            "clusters",
            "clusters row 2 is [[0, 4]]: give a list of clusters, each [[first, last]",
        ),
        (
            {"clusters": [[[0, 7]]]},
            "clusters",
            "clusters row 2 has the mention [0, 7]: give the positions of its first",
        ),
        ({"clusters": [[[2, 1]]]}, "clusters", "and last word, of 0 to 6"),
        ({"clusters": [[[False, True]]]}, "clusters", "clusters row 2 has the mention [False, True]: give"),
        ({"sentences": [["Ann"]]}, "sentences", 'each {"words": [...], "coref_spans": [...]}'),
        (
            {"sentences": [{"words": ["a"], "coref_spans": [3]}]},
            "sentences",
            "has coref_spans [3]: give [[cluster, first",
        ),
        ({"sentences": [{**CONLL["sentences"][0], "part_id": [1]}]}, "sentences", "and a number as part_id"),
    ],
)
def test_a_wrong_document_is_named(load, row, label, says):
    right = PLAIN if label == "clusters" else CONLL
    with pytest.raises(BadInput) as caught:
        load(right, right | row, label=label)
    assert says in str(caught.value)


def test_the_hub_has_a_folder_for_each_configuration(hub, tmp_path):
    import datasets

    files = {}
    for configuration, word in (("english_v4", "right"), ("english_v12", "wrong")):
        sentence = CONLL["sentences"][0] | {"words": ["Ann", "ran", word]}
        datasets.Dataset.from_list([CONLL | {"sentences": [sentence]}]).to_parquet(tmp_path / "rows.parquet")
        for split in ("train", "validation", "test"):
            files[f"{configuration}/{split}/0000.parquet"] = (tmp_path / "rows.parquet").read_bytes()
    hub.push("datasets/ontonotes/conll2012_ontonotesv5", files, "refs/convert/parquet")
    found = data.load(catalog.find("ontonotes"), machine=Machine(cache=tmp_path / "cache"), world=False)
    assert [part.text[0] for part in (found.train, found.evaluation, found.test)] == [[["Ann", "ran", "right"]]] * 3


def test_segments_have_whole_sentences_and_examples_are_parts(tokenizer):
    """At 8 tokens a segment has 6 pieces: `abc` has three. The third sentence is longer than a segment."""
    first = [[["a", "b"], ["abc", "d"], ["a", "b", "c", "d", "e", "f", "g"]]]
    second = [[["a"]], [["b", "c"], ["d"]]]
    examples = raw((first, [[(0, 0), (2, 3)], [(9, 10)]]), (second, [[(0, 0), (2, 3)], [(1, 1)]]))
    found = KIND.encode(examples, tokenizer, 8)
    pieces = [[tokenizer.vocabulary[each] for each in sequence[1:-1]] for sequence in found.sequences]
    assert pieces == [["a", "b", "a", "##b", "##c", "d"], list("abcdef"), ["g"], ["a"], ["b", "c", "d"]]
    assert found.opens.tolist() == [0, 3, 4, 5]
    assert found.starts.tolist() == [0, 0, 1]
    assert [each.tolist() for each in found.mentions] == [
        [[0, 0, 0], [2, 3, 0], [9, 10, 1]],
        [[0, 0, 0]],
        [[0, 0, 1], [1, 2, 0]],
    ]
    assert found.example_index.tolist() == [0] * (4 + 3) + [1] * (1 + 1) + [1] * (1 + 2), (
        "0.4 of 11 words, and the mentions"
    )
    batch = found.batch(np.array([2, 0]))
    width = batch.tokens.shape[1]
    flat = [tokenizer.vocabulary[each] for each in batch.tokens.ravel()]
    for row, words in enumerate((["b", "c", "d"], ["a", "b", "abc", *"dabcdefg"])):
        assert [flat[each] for each in batch.positions[row, : len(words)]] == [word[0] for word in words]
    assert (batch.lasts - batch.positions)[1].tolist() == [0, 0, 2, *[0] * 8]
    assert batch.sentences.tolist() == [[1, 1, 2, *[-1] * 8], [0, 0, 1, 1, *[2] * 7]]
    assert batch.positions[1, 0] == width + 1, "behind the [CLS] of the second segment"
    assert batch.slots.tolist() == [[9, -1, -1, -1, 10, 11, -1], [0, 1, 2, 3, 4, 5, 6]]
    assert batch.targets.tolist()[0] == [[0, 0, 1], [1, 2, 0], [-1, -1, -1]]


def test_a_sentence_that_fits_into_a_segment_is_not_cut():
    sentences = [[[1], [1], [1]], [[2], [2]]]
    for of_part, parts in (([0, 0], [[[1, 1, 1], [2, 2]]]), ([0, 1], [[[1, 1, 1]], [[2, 2]]])):
        assert [part.segments for part in documents.divided(0, sentences, of_part, 4, 0)] == parts
    (part,) = documents.divided(0, sentences[:1], [0], 4, 0)
    assert part.mentions([[(0, 2), (2, 3)], [(1, 1)]]).tolist() == [[0, 2, 0], [1, 1, 1]], (
        "the fourth word is not there"
    )


def test_in_training_a_long_document_is_several(tokenizer):
    sentences = [["a"] * 6] * 4
    examples = raw(([sentences], [[(0, 0), (12, 12), (18, 19)]]))
    assert KIND.encode(examples, tokenizer, 8).opens.tolist() == [0, 4]
    found = KIND.encode(examples, tokenizer, 8, training=True)
    assert (found.opens.tolist(), found.starts.tolist()) == ([0, 3, 4], [0, 18])
    assert [each.tolist() for each in found.mentions] == [[[0, 0, 0], [12, 12, 0]], [[0, 1, 0]]]


def test_antecedents_above_none_give_clusters(tokenizer):
    """Of four kept spans, the second chooses the first, the third the second, the last none."""
    sentence = ["a"] * 10
    examples = raw(([[sentence]], [[(0, 0), (2, 2), (4, 4)]]))
    found = KIND.encode(examples, tokenizer, 16)
    a, b, c, d = [0, 0], [2, 2], [4, 4], [6, 7]
    none = [-np.inf, 0, 0]
    scores = np.array([
        [KEPT, *a, *none, *none, *none],
        [KEPT, *b, 1.0, *a, *none, *none],
        [KEPT, *c, 0.5, *a, 2.0, *b, *none],
        [KEPT, *d, -1.0, *a, -2.0, *b, -3.0, *c],
        [GOLD, *a, *none, *none, *none],
        [GOLD, *b, 0.0, *a, *none, *none],
        [GOLD, *c, 0.0, *a, 0.0, *b, *none],
    ], np.float32)  # fmt: skip
    arrays = KIND.predict(None, examples, found, scores).arrays
    assert KIND.values(arrays, ()) == pytest.approx(dict.fromkeys(KIND.metrics, 100.0))
    assert arrays["log_likelihood"] == pytest.approx([np.log(1 / 2) + np.log(2 / 3)])
    assert KIND.metric("likelihood", arrays).value == pytest.approx(100 * (1 / 3) ** (1 / 3)), "of three mentions"
    scores[1:3, 3::3] = -1.0
    nothing = KIND.predict(None, examples, found, scores)
    assert nothing.collapsed
    assert set(KIND.values(nothing.arrays, ()).values()) == {0.0}
    assert KIND.metric("likelihood", nothing.arrays).value == pytest.approx(100 * (1 / 3) ** (1 / 3)), (
        "of gold mentions"
    )
    assert KIND.values(KIND.majority(None, examples, found, found), ())["f1"] == 0.0


def test_a_document_may_have_no_mentions(tokenizer):
    """It is learned from: its kept spans have no antecedents."""
    examples = raw(([[["a"] * 5]], []))
    found = KIND.encode(examples, tokenizer, 16)
    a, b, none = [0, 0], [2, 2], [-np.inf, 0, 0]
    scores = np.array([[KEPT, *a, *none, *none], [KEPT, *b, 1.0, *a, *none]], np.float32)
    assert KIND.predict(None, examples, found, scores).arrays["log_likelihood"].tolist() == [0.0]
    loss = KIND.loss(torch.from_numpy(scores[None]), torch.from_numpy(found.mentions[0][None]))
    assert loss.item() == pytest.approx(np.log(1 + np.e))


def test_the_lexical_floor_links_known_mentions_with_the_same_head():
    train = raw(([[["the", "man", "saw", "Ann"], ["she", "saw", "the", "man"]]], [[(0, 1), (6, 7)], [(3, 3), (4, 4)]]))
    test = raw((
        [[["the", "man", "saw", "Eve"], ["she", "saw", "Eve"], ["she", "saw", "a", "man"]]],
        [[(0, 1)], [(3, 3), (6, 6), (7, 7)], [(4, 4)]],
    ))  # fmt: skip
    arrays = KIND.lexical(train)(test)
    assert arrays["muc"].tolist() == [[1, 2, 1, 2]], "Eve, rightly, and she, wrongly"


def test_documents_are_resampled_as_a_whole():
    counts = {name: np.array([[1.0, 2, 1, 4], [3, 3, 3, 3]]) for name in KIND.metrics[1:]}
    weights = np.array([[1.0, 1], [0, 1], [2, 0]])
    found = weighted(KIND.metric("f1", counts), weights)
    assert found == pytest.approx([100 * 2 * 0.8 * (4 / 7) / (0.8 + 4 / 7), 100, 100 * 2 * 0.5 * 0.25 / 0.75])
