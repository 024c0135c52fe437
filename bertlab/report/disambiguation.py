"""What tells the sections of a study apart that have the same scale and corpus."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bertlab.names import plain
from bertlab.report.study_results import StudyResults
from bertlab.store.record import Record


def disambiguated(sections: Sequence[tuple[StudyResults, Record]]) -> list[StudyResults]:
    """The results of records, those without a name with the options that each alone has of those with its study, scale
    and corpus.

    Where names or options are the same too, because the code or the examples differ, it is the key of the section.
    """
    settings = [(study.name, study.scale, study.setting) for study, _ in sections]
    options = [_options(record) for _, record in sections]
    names = [plain(record.name) for _, record in sections]
    alone: list[tuple[str, ...]] = []
    for setting, words, name in zip(settings, options, names, strict=True):
        others = [other for at, other in zip(settings, options, strict=True) if at == setting]
        alone.append(() if name else tuple(word for word in words if not all(word in other for other in others)))
    labels = list(zip(settings, names, alone, strict=True))
    number, distinct = Counter(labels), []
    for (study, _), words, label in zip(sections, options, labels, strict=True):
        _, name, options_apart = label
        key = () if number[label] == 1 else (f"key {study.key}",)
        overrides = [word for word in words if not word.startswith(("--scale ", "--corpus ", "--from "))]
        named = replace(study, setting_name=name, own_options=(*options_apart, *key))
        distinct.append(replace(named, overrides=(*overrides, *key)))
    return distinct


def _options(record: Record) -> list[str]:
    """The options of a record's first command: `--scale tiny`, and what `--set` sets without its name.

    `--data` is left out: where the examples lie does not change a result.
    """
    words = re.split(r" (?=--)", plain(record.requests[0].options)) if record.requests else []
    return [word.removeprefix("--set ") for word in words if word and not word.startswith("--data ")]
