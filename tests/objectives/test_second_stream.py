"""A loss that makes two streams of one, and an encoder with a decoder that reads both: span corruption in miniature."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch.nn.functional as F

from bertlab import keyed
from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches, Evaluation, heldout
from bertlab.inputs.streams import Sequences, Stream
from bertlab.lab import scales
from bertlab.model.attention import Attention
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import PretrainingModel
from bertlab.model.layers import MLP, Block, LayerNorm
from bertlab.objectives import MaskedLM
from bertlab.objectives.language_model import LanguageModel
from bertlab.objectives.selection import chosen
from bertlab.progress import silent
from bertlab.recipe import Inputs, Model, Recipe
from bertlab.recipe.objective import INPUTS, Decoded
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokens import open_corpus
from bertlab.training.data import to_tensors
from bertlab.training.pretraining import pretrain

OUTPUTS = "outputs"


@dataclass(frozen=True, kw_only=True)
class OneSpan(LanguageModel):
    """A span of each text stands in the decoder's stream, between two sentinels, and the first of them in its place."""

    kind: ClassVar[str] = "one_span"
    metric_labels: ClassVar[dict[str, str]] = {"one_span_loss": "span"}
    selection_metric: ClassVar[str] = "one_span_loss"
    mask_prob: ClassVar[float] = 0.25

    def predicted(self, length: int) -> float:
        return self.mask_prob

    def text_length(self, length: int) -> int:
        return max(n for n in range(length, 2 * length) if n - chosen(self.mask_prob, n - 2) + 1 <= length)

    def batch_transform(self, tokenizer: Any, length: int, seed: int | str) -> Any:
        most, base = chosen(self.mask_prob, length - 2), keyed.key(seed, "span")
        counts = np.array([chosen(self.mask_prob, n) for n in range(length)])

        def split(sequences: Sequences) -> dict[str, Any]:
            text, column = sequences.tokens, np.arange(sequences.tokens.shape[1])
            keys, count = (
                keyed.bits(keyed.key(base, sequences.epoch), sequences.sequence_ids),
                counts[sequences.ordinary],
            )
            begin = 1 + keyed.integers(sequences.ordinary - count + 1, keys)[:, None]
            span = (column >= begin) & (column < begin + count[:, None])
            first, last = tokenizer.sentinels
            shown = np.where(column == begin, first, text)
            kept = (column < sequences.lengths[:, None]) & ~(span & (column > begin))
            ends = np.ones((len(text), 1), np.int32)
            masked = np.hstack([first * ends, text, last * ends, tokenizer.sep * ends])
            used = np.hstack([ends > 0, span, ends > 0, ends > 0])
            inputs, targets = packed(shown, kept, length - most + 1), packed(masked, used, most + 3)
            weights = (np.arange(most + 3) < targets.lengths[:, None]).astype(np.float32)
            return {INPUTS: inputs, OUTPUTS: targets, "targets": targets.tokens.copy(), "weights": weights}

        return split

    def reads(self, arrays: Any) -> Decoded:
        return Decoded(OUTPUTS)

    def loss_sum(self, head: Any, hidden: Any, arrays: Any, embeddings: Any) -> Any:
        return super().loss_sum(head, hidden[:, : arrays["weights"].shape[1]], arrays, embeddings)

    def evaluations(self, recipe: Any, corpus: Any, size: int, final: bool) -> list[Evaluation]:
        def sums(model: Any, batch: Any) -> dict[str, Any]:
            return {"loss": model.losses(batch)[self.kind], "count": batch.arrays[self.kind]["weights"].sum()}

        batches = heldout(recipe, corpus, (self,), size)
        return [Evaluation(batches, ("loss", "count"), sums, lambda n: {"one_span_loss": n["loss"] / n["count"]})]

    def restored(self, streams: Any, arrays: Any) -> Any:
        rows, lengths = [], []
        for inputs, targets in zip(
            zip(*streams[INPUTS], strict=True), zip(*streams[OUTPUTS], strict=True), strict=True
        ):
            (shown, length), (masked, count) = inputs, targets
            place = int((shown == masked[0]).argmax())
            rows.append([*shown[:place], *masked[1 : count - 2], *shown[place + 1 : length]])
            lengths.append(len(rows[-1]))
        tokens = np.zeros((len(rows), max(lengths)), np.int32)
        for row, text in zip(tokens, rows, strict=True):
            row[: len(text)] = text
        return {INPUTS: Stream(tokens, np.array(lengths, np.int32))}


def packed(values: Any, kept: Any, width: int) -> Stream:
    """The values that are kept, moved to the front."""
    lengths = kept.sum(axis=1, dtype=np.int32)
    tokens = np.zeros((len(values), width), np.int32)
    tokens[np.arange(width) < lengths[:, None]] = values[kept]
    return Stream(tokens, lengths)


@dataclass(frozen=True, kw_only=True)
class EncoderDecoder(Model):
    """BERT's encoder, and one layer of a decoder."""

    kind: ClassVar[str] = "encoder-decoder"

    def new_encoder(self, vocabulary: int, positions: int, causal: bool = False) -> BertEncoder:
        return _EncoderDecoder(self, vocabulary, positions, causal)


class _EncoderDecoder(BertEncoder):
    def __init__(self, model: Model, vocabulary: int, positions: int, causal: bool) -> None:
        super().__init__(model, vocabulary, positions, causal)
        attention, cross = (Attention(model.hidden, model.heads, model.dropout) for _ in range(2))
        norms = [LayerNorm(model.hidden, model.layer_norm_eps) for _ in range(3)]
        self.decoder = Block(attention, MLP(model), *norms[:2], (cross, norms[2]))

    def embed(self, batch: Any) -> Any:
        before = F.pad(batch.streams[OUTPUTS].tokens[:, :-1], (1, 0))  # [PAD] begins
        return {**super().embed(batch), OUTPUTS: self.embeddings(before)}

    def read(self, embedded: Any, lengths: Any, places: Any) -> Any:
        memory = self.encode(embedded[INPUTS], lengths[INPUTS])
        bias = self.padding(memory, lengths[INPUTS])
        decoded = self.decoder(embedded[OUTPUTS], None, None, memory=memory, memory_bias=bias, causal=True)
        return dict.fromkeys(places, decoded)


SMOKE = scales.find("smoke").recipe
RECIPE = dataclasses.replace(
    SMOKE,
    tokenizer=WordPiece(vocabulary=512, sentinels=2),
    inputs=Inputs(length=32, format="doc-sentences"),
    objective=(OneSpan(),),
    model=EncoderDecoder(**{field.name: getattr(SMOKE.model, field.name) for field in dataclasses.fields(Model)}),
)


@pytest.fixture(scope="module")
def spans(corpus_directory: Any) -> Any:
    """The small corpus, whose tokenizer has two sentinels."""
    return open_corpus(corpus_directory, RECIPE.tokenizer)


def test_a_text_by_hand(spans: Any) -> None:
    """Ten tokens, of which three are masked: 0.25 * 10 + 0.5, rounded down."""
    text = np.array([[2, *range(20, 30), 3, 0, 0]], np.int32)
    streams = {INPUTS: Stream(text, np.array([12], np.int32))}
    sequences = Sequences(streams, np.zeros((1, 0), np.int32), np.array([10]), sequence_ids=np.array([5]), epoch=0)
    loss, (first, last) = OneSpan(), spans.tokenizer.sentinels
    made = loss.batch_transform(spans.tokenizer, 14, 0)(sequences)
    begin = int((made[INPUTS].tokens[0] == first).argmax())
    span = list(range(19 + begin, 22 + begin))
    assert made[OUTPUTS].tokens[0].tolist() == [first, *span, last, 3]
    shown = [2, *range(20, 19 + begin), first, *range(22 + begin, 30), 3]
    assert made[INPUTS].tokens[0].tolist() == [*shown, *[0] * (12 - len(shown))]
    assert (made[INPUTS].lengths[0], made[OUTPUTS].lengths[0]) == (10, 6)
    assert (loss.restored(made, made)[INPUTS].tokens == text[:, :12]).all()


def test_text_is_longer_than_the_inputs_that_it_fills(spans: Any) -> None:
    length = OneSpan().text_length(32)
    assert (length, length - chosen(0.25, length - 2) + 1) == (41, 32)
    source = Batches(RECIPE, spans)
    for step in range(20):
        batch = source.batch(step)
        text = RECIPE.objective[0].restored(batch.streams, batch.arrays)[INPUTS].lengths
        assert text.max() <= 41
        assert batch.lengths.max() <= 32
        assert batch.lengths.tolist() == [n - chosen(0.25, n - 2) + 1 for n in text.tolist()]
        assert source.tokens(step + 1) - source.tokens(step) == text.sum()
        for name, most in ((INPUTS, 32), (OUTPUTS, 13)):
            assert batch.streams[name].tokens.shape[1] in (most, 8 * -(-int(batch.streams[name].lengths.max()) // 8))


def test_the_audit_puts_both_streams_together_again(spans: Any) -> None:
    (audited,) = audit(RECIPE, spans, most=100_000)
    assert {check.figure for check in audited.checks if check.holds is False} == set()
    checks = {check.figure: check.found for check in audited.checks}
    assert checks["tokens of the text in an epoch"] == "0 lost, 0 twice"
    source = Batches(RECIPE, spans)

    def altered(step: int) -> Any:
        batch = source.batch(step)
        batch.streams[OUTPUTS].tokens[0, 1] ^= 1
        return batch

    (audited,) = audit(RECIPE, spans, altered, most=100_000)
    assert "labels put back" in {check.figure for check in audited.checks if check.holds is False}


def losses(model: PretrainingModel, batch: Any) -> float:
    return model.losses(batch)["one_span"].item()


def test_a_model_reads_both_streams(spans: Any) -> None:
    model = PretrainingModel.of(RECIPE, spans.tokenizer.size).eval()
    batch = to_tensors(Batches(RECIPE, spans).batch(0)).to("cpu")
    usual = losses(model, batch)
    for name in (INPUTS, OUTPUTS):
        stream = batch.streams[name]
        other = stream._replace(tokens=stream.tokens.roll(1, 0))
        assert losses(model, dataclasses.replace(batch, streams={**batch.streams, name: other})) != usual


def test_a_batch_that_is_split_has_the_same_sum(spans: Any) -> None:
    model, whole = PretrainingModel.of(RECIPE, spans.tokenizer.size).eval(), Batches(RECIPE, spans).batch(3)
    size = len(whole.lengths)
    parts = [whole.rows(slice(size // 2)), whole.rows(slice(size // 2, size)).trimmed()]
    sums = [losses(model, to_tensors(part).to("cpu")) for part in (whole, *parts)]
    assert sums[0] == pytest.approx(sum(sums[1:]), rel=1e-5)


def test_it_is_trained(spans: Any, machine: Any, tmp_path: Any) -> None:
    recipe = dataclasses.replace(RECIPE, schedule=dataclasses.replace(RECIPE.schedule, steps=40, peak_lr=3e-3))
    result = pretrain(recipe, spans, tmp_path, machine, (100,), silent)
    assert result["judged_by"] == "one_span_loss"
    assert result["heldout"]["one_span_loss"] < result["unigram_entropy"] - 0.2 < np.log(spans.tokenizer.size)
    assert (tmp_path / "model.safetensors").is_file()


def test_an_encoder_alone_says_that_it_has_no_decoder(spans: Any) -> None:
    recipe = dataclasses.replace(RECIPE, model=SMOKE.model)
    model = PretrainingModel.of(recipe, spans.tokenizer.size)
    with pytest.raises(BadInput, match=r"^BertEncoder has no decoder, which a loss of the objective reads"):
        losses(model, to_tensors(Batches(recipe, spans).batch(0)).to("cpu"))


def test_a_loss_behind_it_reads_the_shorter_inputs(spans: Any) -> None:
    recipe = Recipe(tokenizer=RECIPE.tokenizer, inputs=RECIPE.inputs, objective=(OneSpan(), MaskedLM()))
    seen = []

    def batch_transform(self: Any, tokenizer: Any, length: int, seed: Any) -> Any:
        return lambda sequences: (
            seen.append((length, sequences.tokens.shape[1], *sequences.streams))
            or {"positions": np.zeros((len(sequences.lengths), 1), np.int32)}
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MaskedLM, "batch_transform", batch_transform)
        Batches(recipe, spans).batch(0)
    assert {*seen} == {(32, 32, INPUTS, OUTPUTS)}
