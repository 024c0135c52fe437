"""What tells the sections of a study apart that have the same scale and corpus."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bertlab.grouping import grouped
from bertlab.report.study_results import StudyResults
from bertlab.store.record import Record


def disambiguated(studies: Sequence[StudyResults]) -> list[StudyResults]:
    """The results, those without a name with the options that each alone has of those with its study, scale and corpus.

    Where names or options are the same too, because the code or the examples differ, it is the key of the section.
    """
    options = grouped(((study.name, study.scale, study.setting), _options(study.record)) for study in studies)
    named = []
    for study in studies:
        name, words = study.record.name, _options(study.record)
        others = options[study.name, study.scale, study.setting]
        alone = () if name else tuple(word for word in words if not all(word in other for other in others))
        overrides = tuple(word for word in words if not word.startswith(("--scale ", "--corpus ", "--from ")))
        named.append(replace(study, setting_name=name, own_options=alone, overrides=overrides))
    headings = Counter((study.name, study.heading) for study in named)
    return [study if headings[study.name, study.heading] == 1 else _with_key(study) for study in named]


def _with_key(study: StudyResults) -> StudyResults:
    key = f"key {study.key}"
    return replace(study, own_options=(*study.own_options, key), overrides=(*study.overrides, key))


def _options(record: Record) -> list[str]:
    """The options of a record's first command: `--scale tiny`, and what `--set` sets without its name.

    `--data` is left out: where the examples lie does not change a result.
    """
    words = re.split(r" (?=--)", record.requests[0].options) if record.requests else []
    return [word.removeprefix("--set ") for word in words if word and not word.startswith("--data ")]
