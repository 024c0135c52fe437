"""What defines a training run: the science, apart from the machine.

A `Recipe` holds everything that changes the result of a pre-training, a `Finetuning` or a `Features` what changes
the result of a measurement. All are frozen, free of torch, and default to BERT's own values (Devlin et al. 2019,
appendix A.2), so that what a scale or a study says is exactly what it changes. `identity.py` makes ids of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from bertlab.errors import BadInput

Positions = Literal["learned", "rotary"]
Format = Literal["segment-pair", "sentence-pair", "full-sentences", "doc-sentences"]
MaskSchedule = Literal["dynamic", "static", "duplicated"]
Layers = Literal["embeddings", "second-to-last", "last", "sum-last-four", "concatenate-last-four", "sum-all"]
Prediction = Literal["masked", "left-to-right"]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise BadInput(message)


@dataclass(frozen=True, kw_only=True)
class Source:
    """One source of documents, named by what it contains and not by where it lies."""

    name: str
    """Display name: `microworld`, a Hub data set as `owner/name[:config]`, or the name of a local file or folder."""
    content: str
    """What is in it: `sha256:...` over local files, `hub:<commit>`, or `microworld:<version>`."""
    column: str = "text"


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The text that is trained on: its sources, joined, with some documents held out."""

    sources: tuple[Source, ...] = ()
    heldout: float = 0.02
    """Share of the documents set apart for evaluation, chosen by a hash of each document."""

    def __post_init__(self) -> None:
        _require(0 < self.heldout < 0.5, f"corpus.heldout is {self.heldout}: give a share between 0 and 0.5")


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """A WordPiece vocabulary: trained on the corpus, or given as a `vocab.txt`."""

    vocabulary: int = 30_522
    """Entries at most; a small corpus yields fewer."""
    lowercase: bool = True
    given: str = ""
    """`sha256:...` of a `vocab.txt` that is used as it is; empty to train one."""

    def __post_init__(self) -> None:
        _require(
            64 <= self.vocabulary <= 1_000_000,
            f"tokenizer.vocabulary is {self.vocabulary}: give 64 to 1,000,000 entries",
        )


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """How sequences are cut out of documents."""

    format: Format = "segment-pair"
    """RoBERTa section 4.2: `segment-pair` is BERT's, `sentence-pair` has one sentence a segment; `full-sentences` are
    packed across documents into one segment, `doc-sentences` within them."""
    length: int = 128
    """Tokens a sequence, specials included."""
    short: float = 0.1
    """Share of segment pairs cut to a random shorter length, as in BERT's released code."""
    copies: int = 10
    """Pairs are drawn anew in each of this many passes over the data, then repeat (BERT's `dupe_factor`)."""
    passes: int = 0
    """Passes over the data that the steps come to: the first documents are used, as many as that takes; 0 for all."""
    final_length: int = 0
    """Tokens a sequence in the last `final_share` of the steps; 0 keeps `length` throughout."""
    final_share: float = 0.0

    def __post_init__(self) -> None:
        _require(8 <= self.length <= 8192, f"inputs.length is {self.length}: give 8 to 8,192 tokens")
        _require(0 <= self.short <= 1, f"inputs.short is {self.short}: give a share between 0 and 1")
        _require(1 <= self.copies <= 1000, f"inputs.copies is {self.copies}: give 1 to 1,000")
        _require(0 <= self.passes <= 100_000, f"inputs.passes is {self.passes}: give 0 to 100,000")
        _require(0 <= self.final_share < 1, f"inputs.final_share is {self.final_share}: give a share under 1")
        _require(
            self.final_length == 0 or 8 <= self.final_length <= 8192,
            f"inputs.final_length is {self.final_length}: give 0 or 8 to 8,192 tokens",
        )

    @property
    def pairs(self) -> bool:
        """Whether a sequence has two segments."""
        return self.format in ("segment-pair", "sentence-pair")

    @property
    def counted(self) -> Format | None:
        """The format whose batches have as many tokens as this one's; None if a batch is a number of sequences.

        RoBERTa: batches of sentence pairs grow to the tokens of segment pairs, of doc sentences to full sentences'.
        """
        counted: dict[Format, Format] = {"sentence-pair": "segment-pair", "doc-sentences": "full-sentences"}
        return counted.get(self.format)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that is ever built."""
        return max(self.length, self.final_length if self.final_share else 0)


@dataclass(frozen=True, kw_only=True)
class Masking:
    """Which tokens are predicted and what is shown in their place (BERT section 3.1 and appendix C.2)."""

    rate: float = 0.15
    """Share of the ordinary tokens of a sequence that is chosen."""
    mask: float = 0.8
    """Of the chosen, the share replaced by [MASK]."""
    keep: float = 0.1
    """Of the chosen, the share left as it is."""
    random: float = 0.1
    """Of the chosen, the share replaced by a random ordinary token."""
    schedule: MaskSchedule = "dynamic"
    """`dynamic`: new masks in every pass; `static`: the same always; `duplicated`: `copies` sets, in turn."""
    copies: int = 10

    def __post_init__(self) -> None:
        _require(0 < self.rate < 1, f"masking.rate is {self.rate}: give a share between 0 and 1")
        shares = (self.mask, self.keep, self.random)
        _require(
            min(shares) >= 0 and abs(sum(shares) - 1) < 1e-9,
            f"masking.mask, keep and random are {self.mask}, {self.keep} and {self.random}: "
            "give three shares that add up to 1",
        )
        _require(1 <= self.copies <= 1000, f"masking.copies is {self.copies}: give 1 to 1,000")

    def chosen(self, ordinary: int) -> int:
        """How many of `ordinary` tokens are predicted: exactly max(1, floor(rate n + 0.5)), and none of none."""
        return min(ordinary, max(1, math.floor(self.rate * ordinary + 0.5)))

    def slots(self, length: int) -> int:
        """Prediction slots a row of `length` tokens is given, so that shapes stay static."""
        return max(1, math.ceil(self.rate * length))


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What the model is trained to predict."""

    kind: Prediction = "masked"
    """`masked`: the tokens that `masking` chooses; `left-to-right`: each token, [SEP] too, from those before it."""
    next_sentence: bool = True
    """Also predict whether the second segment follows the first; the two mean losses are added."""

    @property
    def causal(self) -> bool:
        """Whether no token sees a later one, in pre-training and wherever the encoder is used."""
        return self.kind == "left-to-right"

    @property
    def loss(self) -> str:
        """The name under which its language-model loss is kept."""
        return "causal_loss" if self.causal else "masked_lm_loss"


@dataclass(frozen=True, kw_only=True)
class Model:
    """The encoder: post-norm, GELU (erf), LayerNorm eps 1e-12, tied output embedding, as in BERT."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    intermediate: int = 0
    """Width of the feed-forward layer; 0 for four times `hidden`."""
    positions: Positions = "learned"
    """`learned` is BERT's; small models need `rotary` to leave the unigram plateau."""
    max_positions: int = 0
    """Rows of the position table; 0 for max(128, the longest sequence)."""
    dropout: float = 0.1
    initialisation: Literal["fixed", "width"] = "fixed"
    """Standard deviation of the initial weights: 0.02, or 0.02 x sqrt(768 / hidden) with `width`."""

    def __post_init__(self) -> None:
        _require(1 <= self.layers <= 200, f"model.layers is {self.layers}: give 1 to 200")
        _require(self.heads >= 1, f"model.heads is {self.heads}: give at least 1")
        _require(
            0 < self.hidden <= 65_536 and self.hidden % self.heads == 0,
            f"model.hidden is {self.hidden} and model.heads {self.heads}: hidden must be a positive multiple of heads",
        )
        _require(self.intermediate >= 0, f"model.intermediate is {self.intermediate}: give 0 or a width")
        _require(
            self.positions != "rotary" or (self.hidden // self.heads) % 2 == 0,
            f"model.positions is rotary with heads of {self.hidden // self.heads}: rotary needs an even head size",
        )
        _require(0 <= self.dropout < 1, f"model.dropout is {self.dropout}: give a share from 0 to under 1")

    @property
    def feedforward(self) -> int:
        """Width of the feed-forward layer."""
        return self.intermediate or 4 * self.hidden

    @property
    def deviation(self) -> float:
        """Standard deviation of the truncated normal that weights start from."""
        return 0.02 * math.sqrt(768 / self.hidden) if self.initialisation == "width" else 0.02

    def positions_for(self, length: int) -> int:
        """Rows of the position table for sequences of at most `length` tokens."""
        return self.max_positions or max(128, length)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long and how fast: batch, steps and the learning rate over them."""

    batch: int = 256
    """Sequences between two updates, over all devices; more where `inputs.format` has shorter ones."""
    steps: int = 1_000_000
    """Updates; 0 keeps the initial weights (the row without pre-training)."""
    peak: float = 1e-4
    """Learning rate at the end of the warm-up."""
    warmup: float = 0.01
    """Share of the steps in which the rate rises linearly; afterwards it falls linearly to 0."""

    def __post_init__(self) -> None:
        _require(1 <= self.batch <= 1_000_000, f"schedule.batch is {self.batch}: give 1 to 1,000,000 sequences")
        _require(0 <= self.steps <= 100_000_000, f"schedule.steps is {self.steps}: give 0 to 100,000,000 steps")
        _require(0 < self.peak < 10, f"schedule.peak is {self.peak}: give a learning rate between 0 and 10")
        _require(0 <= self.warmup <= 1, f"schedule.warmup is {self.warmup}: give a share between 0 and 1")

    def milestone(self, percent: int) -> int:
        """Updates after `percent` per cent of the steps, rounded."""
        return round(self.steps * percent / 100)

    def rate(self, step: int) -> float:
        """Learning rate of update number `step` (from 0): linear warm-up to `peak`, then linear decay to 0."""
        warm = round(self.warmup * self.steps)
        if step < warm:
            return self.peak * (step + 1) / warm
        return self.peak * max(0.0, (self.steps - step) / max(1, self.steps - warm))


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """AdamW as in BERT: no weight decay on biases and LayerNorm, gradients clipped by their global norm."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    weight_decay: float = 0.01
    clip: float = 1.0
    bias_correction: bool = True
    """Google's released optimiser has none."""

    def __post_init__(self) -> None:
        _require(0 <= self.beta1 < 1 and 0 <= self.beta2 < 1, "optimizer.beta1 and beta2 must lie in 0 to under 1")
        _require(self.epsilon > 0, f"optimizer.epsilon is {self.epsilon}: give a positive number")
        _require(self.weight_decay >= 0, f"optimizer.weight_decay is {self.weight_decay}: give 0 or more")
        _require(self.clip > 0, f"optimizer.clip is {self.clip}: give a positive norm")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A pre-training: two runs with equal recipes are the same run."""

    corpus: Corpus = field(default_factory=Corpus)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    inputs: Inputs = field(default_factory=Inputs)
    masking: Masking = field(default_factory=Masking)
    objective: Objective = field(default_factory=Objective)
    model: Model = field(default_factory=Model)
    schedule: Schedule = field(default_factory=Schedule)
    optimizer: Optimizer = field(default_factory=Optimizer)
    seed: int = 0

    def __post_init__(self) -> None:
        _require(self.seed >= 0, f"seed is {self.seed}: give 0 or more")
        _require(
            not (self.objective.next_sentence and self.objective.causal),
            "objective.kind left-to-right has no next-sentence prediction: set objective.next_sentence=false too",
        )
        _require(
            self.masking.schedule == "dynamic" or not 0 < self.inputs.passes < 11,
            f"inputs.passes is {self.inputs.passes}: masks that repeat tell from new ones only when the data are seen "
            "often; give 11 or more",
        )
        _require(
            not self.objective.next_sentence or self.inputs.pairs,
            f"inputs.format {self.inputs.format} has one segment: set objective.next_sentence=false too",
        )


@dataclass(frozen=True, kw_only=True)
class Finetuning:
    """How all weights are trained on a task (BERT appendix A.3)."""

    batch: int = 32
    epochs: float = 3.0
    peak: float = 5e-5
    warmup: float = 0.1
    rows: int = 0
    """Training rows at most, a keyed sample; 0 for all."""
    steps: int = 0
    """Updates at most; 0 for all that the epochs ask for."""
    evaluation_rows: int = 0
    """Evaluation rows at most, a keyed sample, the same for every model and seed; 0 for all."""
    length: int = 128
    """Tokens a sequence, specials included, at most."""
    dropout: float = 0.1
    weight_decay: float = 0.01
    recurrent: bool = False
    """A two-layer BiLSTM, randomly initialised, between the encoder and the head (BERT section 5.1)."""
    frozen: bool = False
    """The encoder stays as it is, without dropout; pooler, BiLSTM and head are trained."""
    layer_decay: float = 1.0
    """A layer's learning rate as a share of the one above it; the embeddings are below all, the head above."""

    def __post_init__(self) -> None:
        _check_measurement("finetune", self.batch, self.epochs, self.peak, self.length)
        _require(0 <= self.dropout < 1, f"finetune.dropout is {self.dropout}: give a share from 0 to under 1")
        _require(
            0 < self.layer_decay <= 1, f"finetune.layer_decay is {self.layer_decay}: give a share above 0, 1 at most"
        )


@dataclass(frozen=True, kw_only=True)
class Features:
    """How a BiLSTM tagger is trained on frozen activations (BERT section 5.3)."""

    batch: int = 32
    epochs: float = 10.0
    peak: float = 1e-3
    warmup: float = 0.05
    rows: int = 0
    steps: int = 0
    evaluation_rows: int = 0
    length: int = 128
    dropout: float = 0.1
    weight_decay: float = 0.0
    layers: Layers = "concatenate-last-four"
    """What a word is represented by: one level of the encoder, several side by side, or their learned weighted sum."""
    recurrent_layers: int = 2
    recurrent_hidden: int = 0
    """Units a direction; 0 for the width of the encoder (BERT: 768)."""

    def __post_init__(self) -> None:
        _check_measurement("features", self.batch, self.epochs, self.peak, self.length)

    def levels(self, layers: int) -> range:
        """Which levels of an encoder of so many `layers` are read: 0 is the embeddings, `layers` the last layer."""
        first, last = {
            "embeddings": (0, 0),
            "second-to-last": (layers - 1, layers - 1),
            "last": (layers, layers),
            "sum-last-four": (max(1, layers - 3), layers),
            "concatenate-last-four": (max(1, layers - 3), layers),
            "sum-all": (1, layers),
        }[self.layers]
        return range(first, last + 1)

    @property
    def summed(self) -> bool:
        """Whether the levels become their weighted sum, its weights learned with the tagger."""
        return self.layers.startswith("sum")


def _check_measurement(name: str, batch: int, epochs: float, peak: float, length: int) -> None:
    _require(1 <= batch <= 100_000, f"{name}.batch is {batch}: give 1 to 100,000 rows")
    _require(0 < epochs <= 1000, f"{name}.epochs is {epochs}: give more than 0, 1,000 at most")
    _require(0 < peak < 10, f"{name}.peak is {peak}: give a learning rate between 0 and 10")
    _require(8 <= length <= 8192, f"{name}.length is {length}: give 8 to 8,192 tokens")
