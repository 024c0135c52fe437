"""The protocol of a tokenizer, which `bertlab.text.tokenizers` implements: one file per tokenizer.

The corpus, the tasks, interop and the command line use these methods and never ask which tokenizer they have.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from bertlab.names import shown
from bertlab.recipe.ranges import Arm, FieldError, Range, arm


@dataclass(frozen=True, kw_only=True)
class Tokenizer(Arm, ABC, home="bertlab.text.tokenizers"):
    """A tokenizer before its training: its vocabulary is trained on the corpus, or given as a file."""

    file: ClassVar[str] = "tokenizer.json"
    """The name of the file that holds it once it is trained, in a corpus and in a run."""
    vocabulary: Annotated[int, Range(64, 1_000_000, "entries")] = 30_522
    """Entries at most; a small corpus yields fewer."""
    given: str = ""
    """`sha256:...` of the file of a trained tokenizer, which is used unchanged; empty to train one."""

    def __init_subclass__(cls, home: str = "") -> None:
        super().__init_subclass__(home)
        cls._group = "tokenizer."  # as `--set` names its fields

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch("|sha256:[0-9a-f]{64}", self.given):
            problem = f"is {shown(self.given)}: give the SHA-256 of a vocabulary file, or nothing"
            raise FieldError(self._group, "given", problem)

    @property
    def cased(self) -> bool:
        """Whether upper and lower case are different for it."""
        return True

    # A trained tokenizer is a `TrainedTokenizer` of `text.tokenizers.base`.

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


def wordpiece(**fields: Any) -> Tokenizer:
    """BERT's tokenizer, which a recipe has by default, with other values of some fields."""
    return arm(Tokenizer, "wordpiece")(**fields)
