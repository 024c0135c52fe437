"""A `Recipe` holds everything that changes the result of a pre-training. `identity.py` makes its id.

All fields default to BERT's own values (Devlin et al. 2019, appendix A.2).
"""

import dataclasses
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from bertlab.errors import BadInput, unknown
from bertlab.names import shown
from bertlab.recipe.backbones import BackboneConfig, Model
from bertlab.recipe.identity import flatten, with_fields
from bertlab.recipe.multitask import MultiTask
from bertlab.recipe.objective import Loss, Pairing, attends_causally, bert, pairing
from bertlab.recipe.ranges import CLIP, SHARE, Arm, Checked, FieldError, Range, arms, by_default
from bertlab.recipe.schedules import Curve, LinearDecay

OPTIONS = {
    **{"seed": "--seeds or --seed", "corpus.sources": "--corpus"},
    **{"corpus.words": "--words", "corpus.bad_words": "--bad-words", "tokenizer.given": "--vocab"},
}
"""Fields of a recipe that have their own options."""
PARTS = 100
"""Equal parts of the steps, in each of which the numbers that change hold still."""
SEED = Range(0, 2**63 - 1)
"""Seeds, which random generators take as 64 bits."""
Length = Annotated[int, Range(8, 8192, "tokens")]
Copies = Annotated[int, Range(1, 1000)]
Rate = Annotated[float, Range(1e-12, 10)]
Decay = Annotated[float, Range(0, 10)]
Epochs = Annotated[float, Range(0.001, 1000)]
Count = Annotated[int, Range(0, 1_000_000_000)]
"""A number of examples or steps at most; 0 for all."""


@dataclass(frozen=True, kw_only=True)
class Source(Checked, group="corpus.sources"):
    """One source of documents, named by its content and not by its location."""

    name: str
    """Display name: `microworld`, a Hub data set as `owner/name[:config]`, or the name of a local file or folder."""
    content: str
    """`sha256:...` over local files, `hub:...` over the hashes of the files of a Hub data set, or
    `microworld:<version>`, with `/<documents>` if their number is not the default."""
    column: str = "text"
    lines: bool = False
    """Whether records are lines, which are joined to the articles that they are of, as in WikiText."""


@dataclass(frozen=True, kw_only=True)
class Corpus(Checked, group="corpus"):
    """The training text: its sources, joined, with some documents held out."""

    sources: tuple[Source, ...] = ()
    heldout: Annotated[float, Range(0, 0.5, above=True, below=True)] = 0.02
    """Share of the documents set apart for evaluation, chosen by a hash of each document."""
    documents: Literal["by-type", "file", "record", "line", "blank-line", "article", "babylm"] = "by-type"
    """What a document is. `by-type`: a text file, or a record of `.jsonl` and `.parquet`; for WikiText, by its name, an
    article. `line`; `blank-line`: the lines between blank ones, as in BERT's corpora; `article`: the lines from one of
    WikiText's titles, `= Title =`, to the next; `babylm`: the lines between the marks of BabyLM, `= = = PG1 = = =`."""
    words: Annotated[int, Range(0, 10**15, "words")] = 0
    """Words of the documents to train on at most, separated by white space: as many whole documents as that takes, in
    the order of a hash of each, so that a smaller budget is part of a larger one; 0 for all. A recipe passes over them
    ten times at most (BabyLM)."""
    filter: str = ""
    """Rules that clean pages of the web, separated by commas, or `c4` for all of C4's (`text.filters`); empty for none.
    Documents, words and what is held out are those that the rules leave."""
    bad_words: str = ""
    """`sha256:...` of the file of the words for which the rules remove a page."""
    annotator: str = ""
    """What marks the linguistic spans of the text, with its version (`text.annotation`); empty if no loss reads them.
    Given as the name of a spaCy pipeline, it is that of the variants that do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = {rule.strip() for rule in self.filter.split(",")} - {""}
        object.__setattr__(self, "filter", ",".join(sorted(rules)))  # in any order they make the same corpus


@dataclass(frozen=True, kw_only=True)
class Tokenizer(Arm, ABC, home="bertlab.text.tokenizers", path="tokenizer"):
    """A tokenizer before its training: its vocabulary is trained on the corpus, or given as a file.

    `bertlab.text.tokenizers` has one file a tokenizer. Callers use these methods and never ask which tokenizer they
    have. A trained one is a `TrainedTokenizer` of `text.tokenizers.base`.
    """

    file: ClassVar[str] = "tokenizer.json"
    """The name of the file that holds it once it is trained, in a corpus and in a run."""
    vocabulary: Annotated[int, Range(64, 1_000_000, "entries")] = 30_522
    """Entries at most; a small corpus yields fewer."""
    sentinels: Annotated[int, Range(0, 10_000, "entries")] = 0
    """Entries beyond the vocabulary that stand for spans of text, as T5's. No text has them, and no loss draws them as
    random tokens."""
    given: str = ""
    """`sha256:...` of the file of a trained tokenizer, which is used unchanged; empty to train one."""
    _returns: ClassVar[Mapping[str, Any]] = {
        "file": str,
        "cased": bool,
        **dict.fromkeys(("train", "load"), "bertlab.text.tokenizers.base.TrainedTokenizer"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch("|sha256:[0-9a-f]{64}", self.given):
            problem = f"is {shown(self.given)}: give the SHA-256 of a vocabulary file, or nothing"
            raise FieldError(self._group, "given", problem)

    @property
    def entries(self) -> int:
        """The largest number of entries, sentinels included."""
        return self.vocabulary + self.sentinels

    @property
    def cased(self) -> bool:
        """Whether upper and lower case are different for it."""
        return True

    @abstractmethod
    def train(self, texts: Iterable[str]) -> Any:
        """Trains it on `texts`, which it may keep in memory. Their order does not change the result."""

    @abstractmethod
    def load(self, path: Path) -> Any:
        """Reads the file of a trained tokenizer. Raises `BadInput` if it is unusable."""

    @classmethod
    def read(cls, directory: Path) -> Any:
        """The trained tokenizer in a checkpoint directory of `transformers`; None if it is of another kind.

        Raises `BadInput` for one of this kind that does what ours cannot do.
        """
        return None


@dataclass(frozen=True, kw_only=True)
class Format(Arm, ABC, home="bertlab.inputs.formats", path="inputs.format"):
    """How documents are cut into sequences of one segment or of two (RoBERTa section 4.2).

    `bertlab.inputs.formats` has one file a format. Batches and audits use these attributes and methods and never ask
    which format they have.
    """

    plain: ClassVar[bool] = True
    pairs: ClassVar[bool] = False
    """Whether a sequence has two segments, the second from another document in a share of the sequences."""
    exchanges: ClassVar[bool] = False
    """Whether it exchanges the two segments if a loss needs that."""
    drawn: ClassVar[bool] = False
    """Whether the sequences of its copies differ: `inputs.dupe_factor` of them, before they repeat."""
    trimmed: ClassVar[bool] = True
    """Whether batches lose the columns that all their sequences leave empty; not if some sequence is always full."""
    crosses: ClassVar[bool] = False
    """Whether a segment may go on in the next document, behind a [SEP]."""
    joins: ClassVar[bool] = False
    """Whether a segment goes on in the next document without a [SEP]."""
    cut_in_front: ClassVar[bool] = False
    """Whether a segment may lose tokens at its front."""
    coverage: ClassVar[Literal["each once", "none twice", "any"]] = "each once"
    """How often the tokens of the text are in the sequences of an epoch, as audits test it."""
    token_matched_to: ClassVar["Format | None"] = None
    """The format whose batches have as many tokens (RoBERTa); None if a batch is a number of sequences."""
    _returns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("pairs", "exchanges", "drawn", "trimmed", "crosses", "joins", "cut_in_front"), bool),
        "coverage": Literal["each once", "none twice", "any"],
        "audit": list,
        "lay_out": "bertlab.inputs.formats.base.Layout",
    }

    @abstractmethod
    def lay_out(self, text: Any, recipe: "Recipe", length: int, copy: int) -> Any:
        """The `Layout` of copy `copy` of `text`, a `Part`: sequences of at most `length` tokens with their specials.

        It is a function of its arguments: every draw follows from `recipe.seed` and `copy`. Raises `BadInput` for text
        that it cannot use.
        """

    def audit(self, sample: Any) -> list[Any]:
        """Checks of its own of the sequences of the first epoch, an `inputs.sample.Sample`."""
        return []


@dataclass(frozen=True, kw_only=True)
class Inputs(Checked, group="inputs"):
    """How documents become sequences."""

    format: Format = field(default_factory=partial(by_default, Format, "segment-pair"))
    """How they are cut, or its kind: `segment-pair` (BERT's), `sentence-pair`, `full-sentences`, `doc-sentences`,
    or `chunks` (T5's)."""
    length: Length = 128
    """Tokens per sequence, special tokens included."""
    short_seq_prob: Annotated[float, SHARE] = 0.1
    """Share of segment pairs cut to a random shorter length, as in BERT's released code."""
    dupe_factor: Copies = 10
    """Passes over the data with new pairs, before pairs repeat (BERT's `dupe_factor`)."""
    epochs: Annotated[int, Range(0, 100_000)] = 0
    """Passes over the data within all steps: as many documents are used as that takes, by a hash of each; 0 for all."""
    document_share: Annotated[float, Range(0, 1, above=True)] = 1.0
    """Share of the training documents that are used, by a hash of each: a smaller share is part of a larger one."""
    corpora: Annotated[int, Range(-1000, 1000)] = 0
    """How many corpora are trained on, the first ones of `--corpus` in its order, or the last ones if it is negative; 0
    for all. The vocabulary and the
    held-out documents are those of all corpora."""
    phase2_length: Annotated[int, Range(8, 8192, "tokens", or_zero=True)] = 0
    """Tokens per sequence in the last `phase2_share` of the steps; 0 keeps `length` throughout."""
    phase2_share: Annotated[float, Range(0, 1, below=True)] = 0.0
    """Share of the steps with `phase2_length` tokens; BERT has 0.1 with 512 (appendix A.2)."""

    def __post_init__(self) -> None:
        kind: Any = self.format
        if isinstance(kind, str):
            formats = arms(Format)
            if kind not in formats:
                raise unknown("value of inputs.format", kind, formats)
            object.__setattr__(self, "format", formats[kind]())
        super().__post_init__()

    @property
    def copies(self) -> int:
        """Epochs with sequences of their own, before they repeat."""
        return self.dupe_factor if self.format.drawn else 1

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return max(self.length, self.phase2_length if self.phase2_share else 0)


@dataclass(frozen=True, kw_only=True)
class Schedule(Checked, group="schedule"):
    """The batch size, the steps and the learning rate, and what else changes over the steps."""

    batch_size: Annotated[int, Range(1, 1_000_000, "sequences")] = 256
    """Sequences per update, over all devices; more if `inputs.format` has shorter ones."""
    steps: Annotated[int, Range(0, 100_000_000)] = 1_000_000
    """Updates; 0 keeps the initial weights (the variant without pre-training)."""
    peak_lr: Rate = 1e-4
    """Learning rate at the end of the warm-up."""
    warmup: Annotated[float, SHARE] = 0.01
    """Share of the steps in which the rate rises linearly."""
    warmup_steps: Annotated[int, Range(0, 100_000_000)] = 0
    """Updates in which it rises, whatever the number of steps, in place of their share; 0 for the share."""
    curve: Curve = field(default_factory=LinearDecay)
    """How the rate goes on after that; in BERT it falls linearly to 0."""
    over_steps: Mapping[str, Curve] = field(default_factory=dict)
    """Other numbers that change, by their dotted paths: `schedule.batch_size`, `inputs.length`, and the numbers of the
    losses, such as `masked_lm.mask_prob`. A curve gives multiples, each for a hundredth of the steps; whole numbers are
    rounded."""

    def __hash__(self) -> int:
        return hash((self.batch_size, self.steps, self.peak_lr, self.warmup))

    def milestone(self, percent: int) -> int:
        """Updates after `percent` per cent of the steps, rounded."""
        return round(self.steps * percent / 100)

    @property
    def warm(self) -> int:
        """Updates of the warm-up."""
        return self.warmup_steps or round(self.warmup * self.steps)

    def learning_rate(self, step: int) -> float:
        """Learning rate of update number `step` (from 0): linear warm-up to `peak_lr`, then the curve."""
        warm = self.warm
        if step < warm:
            return self.peak_lr * (step + 1) / warm
        return self.peak_lr * self.curve.share(step, warm, self.steps)


@dataclass(frozen=True, kw_only=True)
class Optimizer(Arm, ABC, home="bertlab.optimizers", path="optimizer"):
    """How gradients, clipped by their global norm, become updates. Biases and LayerNorm have no weight decay.

    `bertlab.optimizers` has one file an optimiser.
    """

    weight_decay: Decay = 0.01
    """Share of a weight that an update subtracts, times the learning rate; 0.01 in BERT (appendix A.2)."""
    max_grad_norm: Annotated[float, CLIP] = 1.0
    """Gradients with a larger global norm are scaled down to it; 1 in BERT's released code."""
    elementwise: ClassVar[bool] = False
    """Whether each weight is updated by its own gradient alone, and only decays while that is 0 from the start."""
    _returns: ClassVar[Mapping[str, Any]] = {"build": "torch.optim.Optimizer"}

    @abstractmethod
    def build(self, groups: Sequence[dict[str, Any]]) -> Any:
        """The `torch.optim.Optimizer` of groups with `params`, `weight_decay` and `lr`, a multiple of the common rate.

        A group's `matrices` say of how many each parameter consists, one below another: 0 for a vector. `hidden` says
        whether it is a linear map of the encoder, and no embedding or head. From a step on after which its `found_inf`
        is 1, the optimiser changes no parameter.
        """


@dataclass(frozen=True, kw_only=True)
class Recipe(Checked):
    """A pre-training. Two runs with equal recipes are the same run."""

    corpus: Corpus = field(default_factory=Corpus)
    """The training text, named by the hash of its content, and the share of it that is held out."""
    tokenizer: Tokenizer = field(default_factory=partial(by_default, Tokenizer, "wordpiece"))
    """What splits text; it is trained on the corpus, or given with `--vocab`."""
    inputs: Inputs = field(default_factory=Inputs)
    """How documents become sequences: format, length, passes over the data."""
    multitask: MultiTask = field(default_factory=MultiTask)
    """Tasks among the sequences of text, and how often each is drawn."""
    objective: tuple[Loss, ...] = field(default_factory=bert)
    """The losses, whose values are added: each is a mean over its own predictions in the global batch."""
    model: BackboneConfig = field(default_factory=Model)
    """The encoder: its kind, its size and its dropout."""
    schedule: Schedule = field(default_factory=Schedule)
    """Batch size, number of updates, and the learning rate over them."""
    optimizer: Optimizer = field(default_factory=partial(by_default, Optimizer, "adamw"))
    """How gradients become updates; AdamW in BERT."""
    seed: Annotated[int, SEED] = 0
    """The seed of the initial weights, the order of the data, and the masks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.objective:
            raise BadInput("objective is empty: give one loss or several, such as masked_lm,next_sentence")
        for loss in self.objective:
            loss.check(self)
        self.model.check(self.causal)
        if self.pairing.exchanged and not self.inputs.format.exchanges:
            raise BadInput(f"inputs.format {self.inputs.format.kind} exchanges no segments: set it to segment-pair")
        if self.schedule.over_steps:
            self._check_numbers()
        if self.multitask.tasks:
            self._check_tasks()

    def _check_tasks(self) -> None:
        """Raises `BadInput` for a recipe with whose sequences tasks do not mix."""
        if len(self.objective) > 1 or not self.objective[0].mixes:
            kinds = ", ".join(loss.kind for loss in self.objective)
            raise BadInput(
                f"objective: {kinds} does not mix with tasks: give one loss of a decoder, as span_corruption"
            )
        if self.inputs.format.token_matched_to or self.inputs.format.pairs:
            raise BadInput(f"inputs.format {self.inputs.format.kind} does not mix with tasks: set it to chunks")

    def _check_numbers(self) -> None:
        """Raises `BadInput` for a number that cannot change over the steps, or not as its curve has it."""
        losses = tuple(f"{loss.kind}." for loss in self.objective)
        numbers = [path for path, leaf in flatten(self).items() if type(leaf) in (int, float)]
        fixed = {f"{loss.kind}.{name}" for loss in self.objective for name in loss.of_head}
        possible = [path for path in numbers if path.startswith(losses) and path not in fixed]
        possible += ["schedule.batch_size", "inputs.length"]
        for path in self.schedule.over_steps:
            if path not in possible:
                raise unknown("number of schedule.over_steps", path, possible)
        if max(stage.inputs.longest for stage, _ in self.stages) > self.inputs.longest:
            raise BadInput("schedule.over_steps: inputs.length is the longest: let its curve give 1 at most")

    @cached_property
    def _changing(self) -> dict[str, Any]:
        """The numbers that change over the steps, as the recipe has them, by their paths."""
        leaves = flatten(self) if self.schedule.over_steps else {}
        return {path: leaves[path] for path in self.schedule.over_steps}

    def numbers(self, step: int) -> dict[str, float]:
        """The numbers that change over the steps, as they are at update number `step`, by their paths."""
        schedule = self.schedule
        part = step * PARTS // max(1, schedule.steps)
        begin = -(-part * schedule.steps // PARTS)
        numbers = {}
        for path, usual in self._changing.items():
            number = usual * schedule.over_steps[path].share(begin, 0, schedule.steps)
            numbers[path] = max(1, round(number)) if type(usual) is int else number
        return numbers

    @property
    def stages(self) -> list[tuple["Recipe", int]]:
        """The recipe as it is in each stretch of the steps in which no number of it changes, and the steps of each."""
        schedule, inputs = self.schedule, self.inputs
        last = round(inputs.phase2_share * schedule.steps) if inputs.phase2_length else 0
        begins = {0, schedule.steps - last}
        plain, second = self, dataclasses.replace(inputs, phase2_length=0, phase2_share=0.0)
        if schedule.over_steps:
            plain = dataclasses.replace(self, schedule=dataclasses.replace(schedule, over_steps={}))
            begins |= {-(-part * schedule.steps // PARTS) for part in range(PARTS)}
        stages: list[tuple[Recipe, int]] = []
        for begin, end in itertools.pairwise(sorted(begins | {schedule.steps})):
            stage = with_fields(plain, self.numbers(begin)) if schedule.over_steps else plain
            if begin >= schedule.steps - last:
                stage = dataclasses.replace(stage, inputs=dataclasses.replace(second, length=inputs.phase2_length))
            steps = end - begin
            if stages and stages[-1][0] == stage:
                steps += stages.pop()[1]
            stages.append((stage, steps))
        return stages or [(plain, 0)]

    def with_seed(self, seed: int) -> "Recipe":
        """The recipe with another seed, which alone is checked."""
        if type(seed) is not int or not SEED.holds(seed):
            return dataclasses.replace(self, seed=seed)  # says what is wrong
        other = object.__new__(type(self))
        vars(other).update(vars(self), seed=seed)
        return other

    @property
    def pairing(self) -> Pairing:
        """How segments are paired."""
        return pairing(self.objective)

    @property
    def causal(self) -> bool:
        """Whether no token sees a later one, in pre-training and wherever the backbone is used."""
        return attends_causally(self.objective)

    @property
    def annotated(self) -> bool:
        """Whether a loss reads the linguistic spans of the text, which its corpus then has."""
        return any(loss.annotated for loss in self.declared.objective)

    @property
    def declared(self) -> "Recipe":
        """The recipe without fields that it does not use, from which its id follows.

        A model that is not trained depends on its vocabulary, its shape, the lengths that decide its positions, its
        seed, and on the kind of the first loss, which decides its held-out metrics. An `inputs.corpora` that is the
        number of all sources is 0, too.
        """
        inputs = self.inputs
        if self.schedule.steps and inputs.corpora and abs(inputs.corpora) == len(self.corpus.sources):
            return dataclasses.replace(self, inputs=dataclasses.replace(inputs, corpora=0))
        if self.schedule.steps:
            return self
        return Recipe(
            corpus=self.corpus,
            tokenizer=self.tokenizer,
            inputs=Inputs(length=inputs.length, phase2_length=inputs.phase2_length, phase2_share=inputs.phase2_share),
            objective=tuple(type(loss)() for loss in self.objective[:1]),
            model=self.model,
            schedule=Schedule(steps=0),
            seed=self.seed,
        )
