"""Command lines that request a record again, and their options with the types that a file for `--config` has."""

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bertlab.store.record import AblateRequest

SETTING: dict[str, type] = {
    **{"scale": str, "corpus": list, "words": str, "bad-words": str, "vocab": str, "data": str},
    **{
        "substitute": list,
        "intermediate-task": list,
        "from": str,
        "set": list,
        "search": bool,
        "search-rates": bool,
        "budget": str,
        "until-decided": bool,
    },
}
"""The options that define a setting and ask for rounds, in the order of a command line, with their types in a file."""


def line(requests: Iterable[AblateRequest], name: str = "") -> str:
    """The command line that requests a record, or several that each request a part, with the name of its setting."""
    commands = []
    for request in requests:
        words = ["bertlab ablate", shlex.quote(request.study), _quoted(request.options), _quoted(request.rounds)]
        commands.append(" ".join(filter(None, [*words, worded(_chosen(request, name))])))
    return " && ".join(commands)


def options(request: AblateRequest, name: str = "") -> dict[str, Any]:
    """The options of the command that requests a part of a record, by their long names, with its study.

    Raises `ValueError` or `StopIteration` for a text that is none of options, as a record from elsewhere may have.
    """
    of_text = _read(f"{request.options} {request.rounds}")
    return {"study": [request.study], **of_text, **_chosen(request, name)}


def _chosen(request: AblateRequest, name: str) -> dict[str, Any]:
    """The options that choose a part of a study, and its name."""
    fixed = not request.rounds
    values = {
        "seeds": spelled(request.seeds) if fixed and (request.seeds != (0,) or request.claim_seeds == ()) else "",
        "claim-seeds": spelled(request.claim_seeds) if fixed and request.claim_seeds else "",
        "finetune-seeds": request.finetune_seeds,
        "only": request.only,
        "measure": request.measure,
        "curves": request.curves,
        "random-init": request.random_init,
        "name": name,
    }
    return {option: value for option, value in values.items() if value}


def worded(values: Mapping[str, Any]) -> str:
    """Options as words for a shell: a flag for True, and one of several values after another."""
    words = []
    for option, value in values.items():
        texts = value if isinstance(value, list | tuple) else [value]
        words += [f"--{option}" if text is True else f"--{option} {shlex.quote(str(text))}" for text in texts]
    return " ".join(words)


def _read(text: str) -> dict[str, Any]:
    words, values = iter(shlex.split(text)), dict[str, Any]()
    for word in words:
        option = word.removeprefix("--")
        kind = SETTING.get(option, str)
        if kind is list:
            values.setdefault(option, []).append(next(words))
        else:
            values[option] = kind is bool or next(words)
    return values


def _quoted(text: str) -> str:
    """Options as words for a shell, whatever a record from elsewhere has in their place."""
    try:
        return shlex.join(shlex.split(text))
    except ValueError:  # an open quote
        return shlex.quote(text)


def spelled(seeds: Sequence[int]) -> str:
    """Ascending seeds in the form of `--seeds`: `3` for 0 to 2, else ranges such as `3-5,7`."""
    if list(seeds) == list(range(len(seeds))):
        return str(len(seeds))
    runs = [[*group] for _, group in itertools.groupby(enumerate(seeds), key=lambda pair: pair[1] - pair[0])]
    parts = [f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 or len(runs) == 1 else f"{run[0][1]}" for run in runs]
    return ",".join(parts)
