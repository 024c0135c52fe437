"""Masked language modelling (BERT sections 3.1, A.1 and C.2; the schedules of masks are RoBERTa's, section 4.1).

The chosen tokens and their replacements are functions of the sequence's key and the token's number within the sequence.
Recipes that differ only in their corruption choose the same tokens; static and dynamic masks differ only in the key.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Bool, Float64, Int32, Int64, Integer, UInt64
from bertlab.errors import BadInput
from bertlab.inputs.batches import Evaluation, heldout
from bertlab.inputs.checks import Check, always, share
from bertlab.inputs.sample import Sample, again
from bertlab.inputs.streams import Batch, Sequences, Transform
from bertlab.objectives import sentences
from bertlab.objectives.language_model import LanguageModel, perplexity
from bertlab.objectives.selection import Choice, Selection, Tokens
from bertlab.recipe import Recipe
from bertlab.recipe.objective import Arrays, Premise
from bertlab.recipe.ranges import POSITIVE_SHARE, SHARE, Checked, FieldError, Range
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part, TokenisedCorpus


@dataclass(frozen=True, kw_only=True)
class Corruption(Checked, group="corruption"):
    """The probabilities of what is shown for each group of chosen tokens, drawn independently."""

    mask: Annotated[float, SHARE] = 0.8
    """Probability of [MASK]; 0.8 in BERT (section 3.1)."""
    keep: Annotated[float, SHARE] = 0.1
    """Probability of the token itself."""
    random: Annotated[float, SHARE] = 0.1
    """Probability of a random ordinary token, drawn for each token of a group."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(self.mask + self.keep + self.random - 1) >= 1e-9:
            shares = f"{self.mask}, {self.keep} and {self.random}"
            raise FieldError(self._group, "mask, keep and random", f"are {shares}: give shares that add up to 1")

    def replacer(self, tokenizer: TrainedTokenizer) -> Callable[[Array, UInt64, Choice], Array]:
        """Returns what maps chosen tokens (B, K), keys (B,) and their choice to what is shown for them (B, K)."""
        show = np.uint64(keyed.key("show"))
        ordinary, mask = np.asarray(tokenizer.ordinary), tokenizer.mask
        until_mask = np.uint64(round(self.mask * 2**32))
        until_random = np.uint64(round((self.mask + self.random) * 2**32))

        def shown(there: Array, keys: UInt64, choice: Choice) -> Array:
            # Sums and products in place of choices: the processor could not guess which way each of these goes.
            draws = keyed.bits((keys ^ show)[:, None], choice.indices)
            share = draws if choice.group is choice.indices else keyed.bits((keys ^ show)[:, None], choice.group)
            share = share >> np.uint64(32)  # the first token of a group decides
            draws &= np.uint64(0xFFFFFFFF)
            draws *= np.uint64(len(ordinary))
            draws >>= np.uint64(32)
            out: Int32 = ordinary.take(draws.view(np.int64))
            out -= there
            out *= share < until_random
            out += there
            out += (mask - out) * (share < until_mask)
            return out

        return shown


LONG = 512
"""Tokens of the sequences of the papers that mask spans."""
LEAST_RUN = 0.9
"""Claims on a selection of spans are tested only if the mean run has this share of that in `LONG` tokens. Sequences of
128 tokens, in which BERT sees nine tenths of its steps, have as much. It was chosen after values at 32 and 64 tokens
had been seen."""
METRIC_LABELS = {
    "masked_lm_loss": "15 % masked 80/10/10",
    "perplexity": "perplexity",
    "accuracy": "accuracy",
    "bits_per_byte": "bits per byte",
    "own_loss": "own masking",
}
_TOKENS, _CORRUPTION = Tokens(), Corruption()


@dataclass(frozen=True, kw_only=True)
class MaskedLM(LanguageModel):
    """Predicts chosen tokens from all the others, on both sides."""

    kind: ClassVar[str] = "masked_lm"
    metric_labels: ClassVar[Mapping[str, str]] = METRIC_LABELS
    hub_task: ClassVar[str] = "fill-mask"
    scorings: ClassVar[tuple[str, ...]] = ("pseudo-log-likelihood", "pseudo-log-likelihood, within words from the left")
    meaning: ClassVar[str] = (
        "Masked LM: the loss with 15 % of the tokens masked as 80/10/10, the same for all variants, its perplexity and "
        "its accuracy; and the loss under the variant's own masking, which evaluates a variant that never saw [MASK]. "
        "Bits per byte are that first loss in bits times the tokens per byte (UTF-8) of the held-out text, to compare "
        "vocabularies: what all tokens would cost at the price of the masked ones. They are not the size of a "
        "compressed text, for each masked token is predicted from both sides; a piece of a word is easier next to its "
        "other pieces; and lower case and [UNK] cost less because they say less."
    )
    mask_prob: Annotated[float, POSITIVE_SHARE] = 0.15
    """Share of the ordinary tokens of a sequence that are chosen."""
    selection: Selection = _TOKENS
    """Which tokens are chosen: single `Tokens`, `WholeWords` or other groups."""
    corruption: Corruption = _CORRUPTION
    """What the model sees in place of the chosen tokens; by default 80/10/10 (BERT section 3.1)."""
    schedule: Literal["dynamic", "static", "duplicated"] = "dynamic"
    """`dynamic`: new masks in every epoch; `static`: the same masks for the same sequence; `duplicated`: `copies` sets,
    in turn. With `inputs.dupe_factor` 10 the same pairs return every ten epochs, and their static masks with them."""
    copies: Annotated[int, Range(1, 1000)] = 10
    """Sets of masks if `schedule` is `duplicated`; 10 in RoBERTa (section 4.1)."""

    @property
    def annotated(self) -> bool:
        """Whether its selection does."""
        return self.selection.annotated

    def check(self, recipe: Recipe) -> None:
        """Masks that repeat need many epochs."""
        super().check(recipe)
        if self.schedule != "dynamic" and 0 < recipe.inputs.epochs < 11:
            raise BadInput(
                f"inputs.epochs is {recipe.inputs.epochs}: masks that repeat differ from new ones only when the data "
                "are seen often; give 11 or more"
            )

    def premises(self, recipe: Recipe) -> tuple[Premise, ...]:
        """The runs of its selection are nearly as long as in sequences of `LONG` tokens."""
        return (Premise(str(self.selection), flaw=self.short_runs(recipe)),)

    def short_runs(self, recipe: Recipe) -> str:
        """How far the spans of its selection are cut by the length of the sequences; empty if they are not."""
        inputs, specials = recipe.inputs, 3 if recipe.inputs.format.pairs else 2
        whole = self.selection.mean_run(self.mask_prob, LONG - specials)
        drawn = self.selection.mean_run(self.mask_prob, inputs.length - specials)
        if whole is None or drawn is None:
            return ""
        if inputs.phase2_length and inputs.phase2_share:
            later = self.selection.mean_run(self.mask_prob, inputs.phase2_length - specials) or drawn
            drawn += inputs.phase2_share * (later - drawn)
        if drawn >= LEAST_RUN * whole:
            return ""
        name = self.selection.kind.replace("_", " ")
        return f"{name} have {drawn:.1f} words on average in {inputs.length} tokens, {whole:.1f} in {LONG}"

    @property
    def selection_metric(self) -> str:
        """The loss of the fixed evaluation; the loss under its own masking for a model that never saw [MASK]."""
        return "masked_lm_loss" if self.corruption.mask > 0 else "own_loss"

    @property
    def out_of_distribution_metrics(self) -> tuple[str, ...]:
        """The fixed evaluation shows [MASK]."""
        return () if self.corruption.mask > 0 else ("masked_lm_loss", "perplexity", "accuracy", "bits_per_byte")

    def cost_equivalent(self) -> "MaskedLM":
        """The number of predicted tokens and a second evaluation cost time; selection and corruption do not."""
        changed = replace(self, schedule="dynamic", copies=10, mask_prob=0.15, share=1.0) != MaskedLM()
        corruption = Corruption(mask=1.0, keep=0.0, random=0.0) if changed else Corruption()
        return MaskedLM(mask_prob=self.mask_prob, corruption=corruption, share=self.share)

    def predicted(self, length: int) -> float:
        """Predicted tokens as a share of all."""
        return self.mask_prob

    def batch_transform(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Transform:
        """Chooses tokens and replaces them."""
        choose, shown = self.selection.chooser(self.mask_prob, tokenizer, length), self.corruption.replacer(tokenizer)
        base = keyed.key(seed, "mask", length)

        def examples(sequences: Sequences) -> Arrays:
            epoch = sequences.epoch
            masks = {"dynamic": epoch, "static": 0, "duplicated": epoch % self.copies}[self.schedule]
            keys = keyed.bits(keyed.key(base, masks), sequences.sequence_ids)
            choice = choose(sequences, keys)
            used, positions = choice.valid, sequences.positions(choice.indices)
            positions *= used  # empty slots point at [CLS], which is restored below
            tokens = sequences.tokens
            flat = positions.astype(np.int64)
            flat += np.arange(0, tokens.size, tokens.shape[1])[:, None]
            targets = tokens.take(flat).astype(np.int32, copy=False)
            first = tokens[:, 0].copy()
            tokens.reshape(-1)[flat] = shown(targets, keys, choice)
            tokens[:, 0] = first
            targets *= used
            return {"positions": positions, "targets": targets, "weights": used.astype(np.float32)}

        return examples

    def targets(self, batch: Batch, text: Part) -> Mapping[str, Any]:
        """The sequences with chosen tokens, and those with what the selection prefers."""
        return {**super().targets(batch, text), **self.selection.targets(batch, text)}

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """Single held-out segments, 15 % masked 80/10/10, and the same under its own masking where that differs."""
        fixed, as_trained = MaskedLM(), replace(self, schedule="dynamic", copies=10, share=1.0)
        evaluated = {fixed: _fixed_metrics(corpus.facts["heldout"], as_trained == fixed)}
        if as_trained != fixed:
            evaluated[as_trained] = lambda total: {"own_loss": total["loss"] / total["count"]}
        names, sums = ("loss", "right", "count"), functools.partial(_sums, self.kind)
        return [
            Evaluation(heldout(recipe, corpus, (loss,), size), names, sums, metrics)
            for loss, metrics in evaluated.items()
        ]

    def log_likelihoods(self, model: Any, tokens: Integer) -> Float64:
        """The pseudo-log-likelihood of each sentence, whose tokens are predicted one by one from all others: each is
        masked alone (Salazar et al. 2020, section 2), or with the later tokens of its word (Kauf and Ivanova 2023)."""
        tokenizer: TrainedTokenizer = model.tokenizer
        copies = sentences.masked_copies(tokens, tokenizer.begin_words(tokens), tokenizer.mask)
        return sentences.pseudo_log_likelihoods(model, self.kind, tokens, copies)

    def passes(self, length: float) -> float:
        """One for each token, and for pieces of words a few more."""
        return max(1.0, length - 2)

    # Audit.

    def restore(self, tokens: Array, arrays: Arrays) -> None:
        """Puts the targets back in their places."""
        numbers, slots, columns = _predictions(tokens, arrays)
        tokens[numbers, columns] = arrays["targets"][numbers, slots]

    def audit(self, sample: Sample) -> list[Check]:
        """The number of chosen tokens, their positions and their replacements."""
        chosen, active = self._chosen(sample.batch), sample.batch.arrays[self.kind]["weights"] > 0
        sizes, counts, tokenizer = sample.sizes, chosen.sum(axis=1), sample.corpus.tokenizer
        expected = np.minimum(sizes, np.maximum(1, np.floor(self.mask_prob * sizes + 0.5)))
        fewer = self.selection.fewer
        miscounted = (counts > expected) if fewer else (counts != expected)
        miscounted |= active.sum(axis=1) != counts
        special = (chosen & ~sample.ordinary).any(axis=1)
        chosen &= sample.ordinary
        shown, before, vocabulary = sample.batch.tokens, sample.tokens, np.asarray(tokenizer.ordinary)
        hidden = chosen & (shown == tokenizer.mask)
        same = chosen & (shown == before) & ~hidden
        replaced = chosen & ~hidden & ~same
        strange = replaced & ~np.isin(shown, vocabulary)
        apart = self.selection.apart(chosen)

        def shares(figure: str, hits: Bool, probability: float) -> Check:
            return share(figure, int((hits & apart).sum()), int(apart.sum()), probability)

        # A random token equals the token before it with this probability.
        equal = self.corruption.random * float(np.isin(before[chosen], vocabulary).mean()) / len(vocabulary)
        rule, total = (
            f"{'at most ' * fewer}max(1, floor({self.mask_prob:g} n + 0.5)) a sequence",
            f"{counts.sum() / sizes.sum():.2%}",
        )
        return [
            always("tokens chosen", rule, miscounted, sample.name, f"{total} of {sizes.sum():,}"),
            always("specials chosen", "never", special, sample.name, "never"),
            shares("chosen, shown as [MASK]", hidden, self.corruption.mask),
            shares("chosen, kept", same, self.corruption.keep + equal),
            shares("chosen, another shown", replaced, self.corruption.random - equal),
            always("shown for the chosen", "[MASK] or ordinary tokens", strange.any(axis=1), sample.name),
            *self.selection.audit(sample, chosen),
        ]

    def audit_again(self, sample: Sample, later: Sample) -> list[Check]:
        """Masks repeat as the schedule says."""
        after, first, second = again(sample, later)
        if not len(first):
            return []
        one, other = self._chosen(sample.batch)[first], self._chosen(later.batch)[second]
        copied = self.schedule == "duplicated" and (later.epoch - sample.epoch) % self.copies == 0
        if self.schedule != "static" and not copied:
            return self.selection.audit_again(f"another choice {after}", sample, first, one, other)
        moved = (one != other) | (one & (sample.batch.tokens[first] != later.batch.tokens[second]))
        return [always(f"masks {after}", "the same", moved.any(axis=1), lambda number: later.name(second[number]))]

    def repeats_after(self, epochs: int) -> int:
        """The epochs after which masks of `duplicated` come again too."""
        return math.lcm(epochs, self.copies)

    def _chosen(self, batch: Batch) -> Bool:
        """(R, T) whether each token is predicted."""
        chosen = np.zeros(batch.tokens.shape, dtype=np.bool_)
        numbers, _, columns = _predictions(batch.tokens, batch.arrays[self.kind])
        chosen[numbers, columns] = True
        return chosen


def _sums(kind: str, model: Any, batch: Any) -> dict[str, Any]:
    """The sums over a batch of one masked LM of the losses, right predictions and predictions of the loss `kind`."""
    from torch.nn import functional

    ((masked, arrays),) = batch.arrays.items()
    logits = model.logits(batch, kind, masked).float().flatten(0, 1)
    targets, weights = arrays["targets"].flatten(), arrays["weights"].flatten()
    losses = functional.cross_entropy(logits, targets, reduction="none")
    right = (logits.argmax(-1) == targets) * weights
    return {"loss": (losses * weights).sum(), "right": right.sum(), "count": weights.sum()}


def _fixed_metrics(facts: Mapping[str, Any], as_trained: bool) -> Callable[[Mapping[str, float]], dict[str, float]]:
    """The metrics of the fixed evaluation of a text with these facts; perhaps it has the masking of the training."""

    def metrics(total: Mapping[str, float]) -> dict[str, float]:
        loss, accuracy = total["loss"] / total["count"], total["right"] / total["count"]
        values = {"masked_lm_loss": loss, "perplexity": perplexity(loss), "accuracy": accuracy}
        if "bytes" in facts:  # which corpora of earlier versions lack
            values["bits_per_byte"] = loss / math.log(2) * facts["tokens"] / facts["bytes"]
        return values | ({"own_loss": loss} if as_trained else {})

    return metrics


def _predictions(tokens: Array, arrays: Arrays) -> tuple[Int64, Int64, Int64]:
    """The sequence, slot and position of each prediction for `tokens` (B, T)."""
    numbers, slots = np.nonzero(arrays["weights"] > 0)
    return numbers, slots, arrays["positions"][numbers, slots].clip(0, tokens.shape[1] - 1)
