"""Coreference: GAP's rows as choices; metrics of clusters, the model beside plain loops, documents in their two
forms."""

import dataclasses

import numpy as np
import pytest
import torch

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.encoder import BertEncoder
from bertlab.model.streams import TensorBatch
from bertlab.recipe import Model
from bertlab.tasks import catalog, data
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.coreference_resolution import documents
from bertlab.tasks.kinds.coreference_resolution.clusters import METRICS, clusters_of, f1_of_counts
from bertlab.tasks.kinds.coreference_resolution.kind import Annotation
from bertlab.tasks.kinds.coreference_resolution.model import (
    DISTANCES,
    GOLD,
    KEPT,
    NONE,
    CoreferenceModel,
    log_likelihoods,
)
from bertlab.tasks.task import RawExamples, Task
from multibootstrap import weighted

GAP = KINDS["coreference"]
WHERE = "of the text: give its position in characters"
TEXT = "Ann saw that Eve had lost her key when she fell."


def row(pronoun="she", at=39, a=True, b=False, text=TEXT):
    names = {"A": "Ann", "A-offset": 0, "A-coref": a, "B": "Eve", "B-offset": 13, "B-coref": b}
    return {"ID": "x-1", "Text": text, "Pronoun": pronoun, "Pronoun-offset": at, **names, "URL": "some page"}


@pytest.fixture
def load_gap(tmp_path, write):
    def loaded(*rows, suffix=".jsonl"):
        for split, these in (("train", rows), ("validation", [row()])):
            write(tmp_path / "gap" / f"{split}{suffix}", these)
        return data.load(catalog.find("gap"), machine=Machine(data=tmp_path, cache=tmp_path / "cache"), world=False)

    return loaded


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".tsv"])
def test_the_pronoun_is_marked_and_each_answer_is_an_ending(load_gap, suffix):
    found = load_gap(row(), row("her", 26, a=False, b=True), row("her", 26, a=False), suffix=suffix)
    marked, one, other, neither = found.train.text
    assert marked[0] == "Ann saw that Eve had lost her key when [ she ] fell."
    assert marked[1] == marked[2] == "Ann saw that Eve had lost [ her ] key when she fell."
    assert (one[0], other[1], neither[2]) == ("she means Ann", "her means Eve", "her means neither")
    assert (found.labels, found.train.labels) == (("A", "B", "neither"), [0, 1, 2])
    assert found.train.groups.tolist() == [0, 0, 0], "of one article"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"Pronoun": "it"}, "{file} column Pronoun row 2 is 'it': give one of she, her, hers, he, him, his"),
        ({"Pronoun": None}, "{file} column Pronoun row 2 is None: give a text"),
        ({"Pronoun-offset": 3}, f"{{file}} column Pronoun-offset row 2: 'she' does not start at 3 {WHERE}"),
        ({"Pronoun-offset": None}, f"{{file}} column Pronoun-offset row 2: 'she' does not start at None {WHERE}"),
        ({"B": 7}, "{file} column B row 2 is 7: give a text"),
        ({"B-coref": "maybe"}, "{file} column B-coref row 2 is 'maybe': give true or false"),
        ({"B-coref": True}, "{file} row 2 has A-coref and B-coref true: give one true at most"),
    ],
)
def test_a_wrong_row_is_named(load_gap, tmp_path, wrong, says):
    with pytest.raises(BadInput) as caught:
        load_gap(row(), row() | wrong)
    assert str(caught.value) == says.format(file=tmp_path / "gap" / "train.jsonl")


def test_a_missing_column_is_named(load_gap):
    with pytest.raises(
        BadInput, match=r"train\.jsonl row 1 has no column 'B-coref', which the task reads: did you mean 'A-coref'"
    ):
        load_gap({name: value for name, value in row().items() if name != "B-coref"})


def test_a_task_of_the_users_own_names_two_columns_of_answers(tmp_path, write):
    for split in ("train", "validation"):
        write(tmp_path / f"{split}.jsonl", [row()])
    gap, machine = catalog.find("gap"), Machine(cache=tmp_path / "cache")
    own = {"kind": "coreference", "path": str(tmp_path), "text": gap.text}
    assert data.load(type(gap)(**own, label=gap.label), machine=machine, world=False).train.labels == [0]
    with pytest.raises(BadInput, match="label 'A-coref': give two columns in braces, such as"):
        data.load(type(gap)(**own, label="A-coref"), machine=machine, world=False)


def test_a_long_text_keeps_what_is_around_the_pronoun():
    from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

    words = ["she", "means", "neither", "[", "]", *"abcdefghijklmnop"]
    tokenizer = TrainedWordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])

    def kept(before, after, length):
        texts = f"{before} [ she ] {after}", "she means a", "she means b", "she means neither"
        raw = RawExamples(text=tuple([text] for text in texts), labels=[1])
        found = GAP.encode(raw, tokenizer, length)
        assert (found.choices, found.targets.tolist()) == (3, [1])
        assert {len(sequence) for sequence in found.sequences} == {int(found.lengths[0])}
        first = " ".join(tokenizer.vocabulary[token] for token in found.sequences[0])
        assert first.endswith("[SEP] she means a [SEP]")
        return first.removeprefix("[CLS] ").removesuffix(" [SEP] she means a [SEP]")

    assert kept("a b", "c", 64) == "a b [ she ] c"
    assert kept("a b c d e f g h", "i j k l m n o p", 13) == "g h [ she ] i j"
    assert kept("a b c d e f g h", "i", 13) == "f g h [ she ] i", "the end of the text leaves more room before"
    assert kept("a", "i j k l m n o p", 13) == "a [ she ] i j k"


PREDICTED = [0, 0, 1, 2, 1, 0, 2, 1]
LABELS = [0, 1, 1, 0, 2, 0, 2, 0]
WOMEN = [1, 1, 1, 1, 0, 0, 0, 0]


def test_f1_by_gender():
    """Feminine: 2 true positives, 3 predicted, 4 true: 2 * 2 / 7. Masculine: 1 true positive, 3 predicted, 2 true:
    2 / 5. A name that is guessed wrongly counts twice, as a false positive and as a miss of the other."""
    arrays = {"prediction": np.array(PREDICTED), "label": np.array(LABELS), "feminine": np.array(WOMEN, bool)}
    found = GAP.values(arrays, ())
    assert list(found) == ["f1", "f1_masculine", "f1_feminine", "bias"]
    assert found["f1_feminine"] == pytest.approx(100 * 4 / 7)
    assert found["f1_masculine"] == pytest.approx(100 * 2 / 5)
    assert found["f1"] == pytest.approx(100 * 6 / 12)
    assert found["bias"] == pytest.approx(100 * (4 / 7) / (2 / 5))
    neither = GAP.values(arrays | {"prediction": np.full(8, 2)}, ())
    assert set(neither.values()) == {0}


def test_predictions_and_the_majority_guess_know_the_gender(load_gap):
    from types import SimpleNamespace

    pairs = ("She", 0, "She fell."), ("his", 0, "his key fell.")
    raw = load_gap(*(row(pronoun, at, text=text) for pronoun, at, text in pairs)).train
    encoded = SimpleNamespace(targets=np.array(raw.labels))
    scores = np.log([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    found = GAP.predict(None, raw, encoded, scores).arrays | GAP.example_arrays(raw)
    assert found["feminine"].tolist() == [True, False]
    assert GAP.values(found, ()) == {"f1": 50, "f1_masculine": 0, "f1_feminine": 100, "bias": 0}
    assert np.exp(found["log_likelihood"]) == pytest.approx([0.5, 0.25])
    guess = GAP.majority(None, raw, encoded, encoded)
    assert GAP.floor(guess, raw, ()) == {"f1": 100, "f1_masculine": 100, "f1_feminine": 100, "bias": 100}


KEY = ["a", "bc", "def"]
LUO = ["12345", "67", "89ABC"]


def scored(name, predicted, gold):
    """Recall, precision and F1."""
    true, predicted_count, found, gold_count = counts = METRICS[name](
        *([set(each) for each in of] for of in (predicted, gold))
    )
    return found / gold_count, true / predicted_count, f1_of_counts(np.array(counts, np.float64)) / 100


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (["a", "bc", "def"], (1, 1, 1)),
        (["a", "de"], (0.6, 0.9, 0.72)),
        (["a", "bcx", "defy", "z"], (0.88571, 0.66429, 0.75918)),
        (["a", "bcx", "dy", "z"], (0.73333, 0.55, 0.62857)),
        (["a", "bcxB", "dy", "z"], (0.68889, 0.51667, 0.59048)),
        (["a", "bcx", "dy", "Bz"], (0.73333, 0.55, 0.62857)),
    ],
)
def test_ceaf_e_of_the_reference_scorers_cases(response, expected):
    assert scored("ceaf_e", response, KEY) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("response", "muc", "b_cubed"),
    [
        (["12345", "6789ABC"], 9 / 10, (5 + (4 + 25) / 7) / 12),
        (["1234589ABC", "67"], 9 / 10, (2 + (25 + 25) / 10) / 12),
        (["123456789ABC"], 9 / 11, (25 + 4 + 25) / 12 / 12),
    ],
)
def test_merged_clusters_lose_precision_alone(response, muc, b_cubed):
    """Luo 2005, figure 1: B-cubed loses less by a small cluster in a large one than by two large ones, MUC the same."""
    for name, precision in (("muc", muc), ("b_cubed", b_cubed)):
        assert scored(name, response, LUO)[:2] == pytest.approx((1, precision))
        assert scored(name, LUO, response)[:2] == pytest.approx((precision, 1))


def test_counts_of_mentions_that_one_side_lacks():
    """MUC: of {d y} one link, which the key lacks; of {d e f} two, none found. B-cubed: z and y have no share."""
    assert METRICS["muc"](["bcx", "dy"], ["bc", "def"]) == (1, 3, 1, 3)
    assert METRICS["b_cubed"](["bcx", "dy"], ["bc", "def"]) == pytest.approx((4 / 3 + 1 / 2, 5, 2 + 1 / 3, 5))
    assert [metric([], ["bc"]) for metric in METRICS.values()] == [(0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 1)]
    assert [metric(["bc"], []) for metric in METRICS.values()] == [(0, 1, 0, 0), (0, 2, 0, 0), (0, 1, 0, 0)]


def test_the_score_of_a_set_is_of_sums_over_its_documents():
    """Precision 3 of 4 and recall 3 of 6; F1 is not the mean of those of the documents."""
    documents = np.array([[1, 1, 1, 2], [2, 3, 2, 4]], np.float64)
    assert f1_of_counts(documents.mean(0)) == pytest.approx(100 * 2 * 0.75 * 0.5 / 1.25)
    both = np.concatenate([documents, np.array([[1, 1, 1, 1], [0, 1, 0, 1]])], 1)
    assert f1_of_counts(both.mean(0)) == pytest.approx((60 + 50) / 2)


def test_links_give_clusters():
    links = [(1, 2), (3, 4), (5, 6), (2, 3), (7, 7), (4, 1)]
    assert [sorted(each) for each in clusters_of(links)] == [[1, 2, 3, 4], [5, 6], [7]]


SENTENCES = [[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, -1, -1, -1]]
KEEP = [4, 2]
MENTIONS = [[[0, 1, 0], [3, 3, 0], [5, 6, 1]], [[2, 2, 4], [-1, -1, -1], [-1, -1, -1]]]


@pytest.fixture
def model():
    found = CoreferenceModel(BertEncoder(Model(layers=1, hidden=8, heads=2, dropout=0.0), 30, 16), 0.0, 0).eval()
    with torch.no_grad():
        for each in found.parameters():  # weights at which scores differ
            each.add_(torch.randn(each.shape, generator=torch.Generator().manual_seed(each.numel())) * 0.3)
    return found


@pytest.fixture
def batch():
    """Two documents: one of two segments of 4 words, the second word in two pieces; one of one segment."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(5, 30, (3, 7), generator=generator)
    lengths = torch.tensor([6, 6, 6])
    firsts = torch.tensor([[1, 2, 4, 8, 9, 10, 11], [15, 16, 17, 18, 0, 0, 0]])
    lasts = firsts.clone()
    lasts[0, 1] = 3
    sentences = torch.tensor(SENTENCES)
    return (
        TensorBatch.of(tokens, lengths),
        firsts,
        lasts,
        sentences,
        torch.tensor(KEEP),
        torch.tensor(MENTIONS),
    )


def naive(model, batch, document, spans):
    """The mention score of each span, and the score of each pair, antecedent second."""
    inputs, firsts, lasts, *_ = batch
    states = model.encoder(inputs).flatten(0, 1)

    def vector(first, last):
        inside = states[firsts[document, first : last + 1]]
        attended = (model.attention(inside).softmax(0) * inside).sum(0)
        ends = states[firsts[document, first]], states[lasts[document, last]]
        return torch.cat([*ends, attended, model.widths.weight[last - first]])

    vectors = [vector(*span) for span in spans]
    mention = [model.mention(each) for each in vectors]

    def pair(one, two):
        bucket = sum(one - two >= begin for begin in DISTANCES)
        own, before = vectors[one], vectors[two]
        fine = model.pair(torch.cat([own, before, own * before, model.distances.weight[bucket]]))
        return mention[one] + mention[two] + model.coarse(own) @ before + fine

    return [float(each) for each in mention], {
        (one, two): float(pair(one, two)) for one in range(len(spans)) for two in range(one)
    }


@torch.no_grad()
def test_rows_are_the_best_spans_and_the_gold_mentions_with_their_antecedents(model, batch):
    rows = model(*batch)
    kinds = [[KEPT] * 4 + [GOLD] * 3, [KEPT] * 2 + [NONE] * 2 + [GOLD] + [NONE] * 2]
    assert rows[..., 0].tolist() == kinds
    for document, (sentences, keep) in enumerate(zip(SENTENCES, KEEP, strict=True)):
        spans = [
            (first, last)
            for first in range(7)
            for last in range(first, 7)
            if sentences[first] >= 0 and sentences[first] == sentences[last]
        ]
        mention, _ = naive(model, batch, document, spans)
        best = sorted(sorted(range(len(spans)), key=lambda at, mention=mention: -mention[at])[:keep])
        kept = [spans[at] for at in best]
        gold = [tuple(each[:2]) for each in MENTIONS[document] if each[2] >= 0]
        for begin, group in ((0, kept), (4, gold)):
            assert [tuple(row) for row in rows[document, begin : begin + len(group), 1:3].tolist()] == group
            _, scores = naive(model, batch, document, group)
            for one in range(len(group)):
                found = rows[document, begin + one, 3:].view(-1, 3)
                found = {(first, last): score for score, first, last in found.tolist() if score > -1e30}
                assert found == pytest.approx({group[two]: scores[one, two] for two in range(one)}, rel=1e-4, abs=1e-5)
    model.train()
    assert torch.equal(model(*batch)[..., 1:3], rows[:, :4, 1:3]), "in training, kept spans alone"


def test_the_likelihood_is_that_of_all_right_antecedents_together():
    """Spans a, b, c, d; a, b, d are one cluster, c is no mention."""
    inf = float("inf")
    none, mentions = [-inf, 0, 0], torch.tensor([[[0, 0, 5], [1, 2, 5], [6, 6, 5], [9, 9, 8], [-1, -1, -1]]])
    a, b, c = [0, 0], [1, 2], [4, 4]
    rows = torch.tensor([[
        [KEPT, *a, *none, *none, *none],
        [KEPT, *b, 1.0, *a, *none, *none],
        [KEPT, *c, 2.0, *a, 1.0, *b, *none],
        [KEPT, 6, 6, 0.5, *c, 1.0, *b, 2.0, *a],
        [KEPT, 9, 9, 0.5, *c, 1.0, *b, 2.0, *a],
    ]])  # fmt: skip
    e = torch.tensor([0.5, 1.0, 2.0]).exp()
    every = 1 + e.sum()
    expected = torch.stack(
        [torch.tensor(1.0), e[1] / (1 + e[1]), 1 / (1 + e[1] + e[2]), (e[1] + e[2]) / every, 1 / every]
    )
    torch.testing.assert_close(log_likelihoods(rows, mentions)[0], expected.log())


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
