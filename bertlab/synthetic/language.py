"""Expresses facts: templates, voices, converses, articles and capitals.

The functions return clauses in the past tense, without capital and full stop; `sentence` adds both.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.world import Verbs

TEMPLATES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))
WORDS: dict[str, list[str]] = TEMPLATES["words"]

_ARTICLE = re.compile(r"\b([Aa]) (?=(?:[aeio]|un|up|ug|hones))")


@dataclass
class _Slots:
    draw: Draw
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        value = self.values[name] if name in self.values else WORDS[name]
        if isinstance(value, list):
            return self.draw.one(value)
        return value() if callable(value) else value


def text(draw: Draw, template: str | list[str], values: Mapping[str, Any]) -> str:
    """Fills the slots of a template; of several templates, fills all and returns one.

    The syntax is that of `str.format`. A value that is a list gives a random item in each slot, and a function its
    result. Each template may also use the lists `WORDS`.
    """
    if isinstance(template, str):
        return template.format_map(_Slots(draw, values))
    texts = [text(draw, each, values) for each in template]
    return draw.one(texts) if len(texts) > 1 else texts[0]


def sentence(clause: str, end: str = ".") -> str:
    """The clause with the right articles, a capital and a full stop."""
    written = _ARTICLE.sub(r"\1n ", clause)
    return written[0].upper() + written[1:] + end


def deed(draw: Draw, agent: str, verbs: Verbs, side: int, patient: str) -> str:
    """`agent` did the deed of one `side` of `verbs` to `patient`, in either voice."""
    verb = draw.one(verbs.sides[side])
    return f"{patient} was {verb.participle} by {agent}" if draw.chance(0.3) else f"{agent} {verb.past} {patient}"


def transfer(draw: Draw, giver: str, receiver: str, verbs: Verbs, thing: str, side: int) -> str:
    """`thing` went from `giver` to `receiver`, as seen by the giver (`side` 0) or the receiver (1)."""
    verb = draw.one(verbs.sides[side])
    given = "given-two-objects" if verb.base in ("lend", "give", "hand", "sell") else "given"
    values = {"giver": giver, "receiver": receiver, "thing": thing, "verb": verb}
    return text(draw, TEMPLATES["transfer"]["received" if side else given], values)
