"""Masked language modelling (BERT sections 3.1 and A.1; the schedules of masks are RoBERTa's, section 4.1).

The chosen tokens and their replacements are functions of the sequence's key and the token's number within the sequence.
Recipes that differ only in their corruption choose the same tokens; static and dynamic masks differ only in the key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bertlab.errors import BadInput
from bertlab.objectives.corruption import Corruption
from bertlab.objectives.language_model import LanguageModel, perplexity, sums
from bertlab.objectives.selection import Selection, Tokens
from bertlab.recipe.objective import Arrays
from bertlab.recipe.ranges import POSITIVE_SHARE, Range

if TYPE_CHECKING:
    from bertlab.inputs.batches import Corpus, Evaluation
    from bertlab.inputs.collator import Sequences, Tokenizer
    from bertlab.recipe import Recipe


_TOKENS, _CORRUPTION = Tokens(), Corruption()


@dataclass(frozen=True, kw_only=True)
class MaskedLM(LanguageModel):
    """Predicts chosen tokens from all the others, on both sides."""

    kind: ClassVar[str] = "masked_lm"
    figures: ClassVar[Mapping[str, str]] = {
        "masked_lm_loss": "15 % masked 80/10/10",
        "perplexity": "perplexity",
        "accuracy": "accuracy",
        "own_loss": "own masking",
    }
    meaning: ClassVar[str] = (
        "Masked LM: the loss with 15 % of the tokens masked as 80/10/10, the same for all variants, its perplexity and "
        "its accuracy; and the loss under the variant's own masking, which evaluates a variant that never saw [MASK]."
    )
    mask_prob: Annotated[float, POSITIVE_SHARE] = 0.15
    """Share of the ordinary tokens of a sequence that is chosen."""
    selection: Selection = _TOKENS
    corruption: Corruption = _CORRUPTION
    schedule: Literal["dynamic", "static", "duplicated"] = "dynamic"
    """`dynamic`: new masks in every epoch; `static`: the same always; `duplicated`: `copies` sets, in turn."""
    copies: Annotated[int, Range(1, 1000)] = 10

    def check(self, recipe: Recipe) -> None:
        """Masks that repeat need many epochs, and the backbone has to see both sides."""
        if recipe.causal:
            raise BadInput("objective: masked_lm sees both sides of a token and causal_lm one: choose one of the two")
        if self.schedule != "dynamic" and 0 < recipe.inputs.epochs < 11:
            raise BadInput(
                f"inputs.epochs is {recipe.inputs.epochs}: masks that repeat differ from new ones only when the data "
                "are seen often; give 11 or more"
            )

    @property
    def judged_by(self) -> str:
        """The loss of the fixed evaluation, or its own for a model that never saw [MASK], which the fixed one shows."""
        return "masked_lm_loss" if self.corruption.mask > 0 else "own_loss"

    @property
    def unseen(self) -> tuple[str, ...]:
        """The fixed evaluation shows [MASK]."""
        return () if self.corruption.mask > 0 else ("masked_lm_loss", "perplexity", "accuracy")

    def alike(self) -> MaskedLM:
        """The number of predicted tokens and a second evaluation cost time; selection and corruption do not."""
        own = replace(self, schedule="dynamic", copies=10, mask_prob=0.15) != MaskedLM()
        corruption = Corruption(mask=1.0, keep=0.0, random=0.0) if own else Corruption()
        return MaskedLM(mask_prob=self.mask_prob, corruption=corruption)

    def predicted(self, length: int) -> float:
        """Predicted tokens as a share of all."""
        return self.mask_prob

    def prepare(self, tokenizer: Tokenizer, length: int, seed: int | str) -> Callable[[Sequences], Arrays]:
        """Chooses tokens and replaces them."""
        import numpy as np

        from bertlab import keyed

        choose, shown = self.selection.prepare(self.mask_prob, tokenizer, length), self.corruption.prepare(tokenizer)
        base = keyed.key(seed, "mask", length)

        def examples(sequences: Sequences) -> Arrays:
            keys = keyed.bits(keyed.key(base, self._mask_epoch(sequences.epoch)), sequences.rows)
            choice = choose(sequences, keys)
            numbers, used = choice.numbers, choice.used
            positions = numbers + np.int32(1)
            for column in sequences.before.T:
                positions += numbers >= column[:, None]
            positions *= used  # those of empty slots are all [CLS], which is put back in the end
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

    def _mask_epoch(self, epoch: int) -> int:
        """The epoch whose masks are shown in `epoch`."""
        return 0 if self.schedule == "static" else epoch % self.copies if self.schedule == "duplicated" else epoch

    def evaluations(self, recipe: Recipe, corpus: Corpus, size: int, final: bool) -> list[Evaluation]:
        """Single held-out segments, 15 % masked 80/10/10, and the same under its own masking where that differs."""
        from bertlab.inputs.batches import Evaluation, heldout

        names = ("loss", "right", "count")
        fixed, own = MaskedLM(), replace(self, schedule="dynamic", copies=10)

        def figures(total: Mapping[str, float]) -> dict[str, float]:
            loss = total["loss"] / total["count"]
            found = {
                "masked_lm_loss": loss, "perplexity": perplexity(loss), "accuracy": total["right"] / total["count"]
            }  # fmt: skip
            return found | ({"own_loss": loss} if own == fixed else {})

        def own_figures(total: Mapping[str, float]) -> dict[str, float]:
            return {"own_loss": total["loss"] / total["count"]}

        def batch_sums(model: Any, batch: Any) -> Any:
            return sums(model, self.kind, batch)

        made = [Evaluation(heldout(recipe, corpus, (fixed,), size), names, batch_sums, figures)]
        if own != fixed:
            batches = heldout(recipe, corpus, (own,), size)
            made.append(Evaluation(batches, names, batch_sums, own_figures))
        return made

    def restore(self, tokens: Any, arrays: Arrays) -> None:
        """Puts the targets back in their places."""
        import numpy as np

        rows, slots = np.nonzero(arrays["weights"] > 0)
        columns = arrays["positions"][rows, slots].clip(0, tokens.shape[1] - 1)
        tokens[rows, columns] = arrays["targets"][rows, slots]

    def audit(self, rows: Any, tokenizer: Tokenizer) -> list[Any]:
        """The number of chosen tokens, their positions and their replacements."""
        from bertlab.objectives.audit import masked

        return masked(rows, self, tokenizer)

    def audit_again(self, rows: Any, others: Any, epochs: int) -> list[Any]:
        """Masks come again as the schedule says."""
        from bertlab.objectives.audit import masked_again

        return masked_again(rows, others, self, epochs)

    def period(self, epochs: int) -> int:
        """The epochs after which masks of `duplicated` come again too."""
        return math.lcm(epochs, self.copies)
