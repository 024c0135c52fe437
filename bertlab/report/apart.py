"""What tells the sections of a study apart that have the same scale and corpus."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertlab.names import plain
from bertlab.report.evidence import Evidence


def told_apart(found: Sequence[tuple[Evidence, Mapping[str, Any]]]) -> list[Evidence]:
    """The evidence of records, those without a name with the options that each alone has of those with its study, scale
    and corpus.

    Where names or options are the same too, because the code or the examples differ, it is the key of the section.
    """
    places = [(evidence.study, evidence.scale, evidence.setting) for evidence, _ in found]
    options = [_options(record["requests"]) for _, record in found]
    names = [plain(record.get("name", "")) for _, record in found]
    own: list[tuple[str, ...]] = []
    for place, given, name in zip(places, options, names, strict=True):
        others = [each for at, each in zip(places, options, strict=True) if at == place]
        own.append(() if name else tuple(each for each in given if not all(each in other for other in others)))
    known = Counter(zip(places, names, own, strict=True))
    told = []
    for (evidence, _), all_options, place, name, options_apart in zip(found, options, places, names, own, strict=True):
        key = () if known[place, name, options_apart] == 1 else (f"key {evidence.key}",)
        overrides = (option for option in all_options if not option.startswith(("--scale ", "--corpus ", "--from ")))
        named = replace(evidence, setting_name=name, own_options=(*options_apart, *key))
        told.append(replace(named, overrides=(*overrides, *key)))
    return told


def _options(requests: Sequence[Mapping[str, Any]]) -> list[str]:
    """The options of a record's first command: `--scale tiny`, and what `--set` sets without its name.

    `--data` is left out: where the examples lie does not change a result.
    """
    given = re.split(r" (?=--)", plain(requests[0]["options"])) if requests else []
    return [each.removeprefix("--set ") for each in given if each and not each.startswith("--data ")]
