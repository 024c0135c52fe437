"""Joins the records of a study: everything that any command has requested of it, in the order of the study.

A study may gain variants, measurements, milestones and seeds, and change its texts, claims and published values. With
another baseline, other code, or another definition of a variant or measurement it is another study, and needs another
name or another store. Results on other text, on other examples of a task, or with steps that another machine timed have
a record of their own.
"""

import hashlib
import itertools
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput
from bertlab.names import filename
from bertlab.recipe.identity import canonical
from bertlab.store.config import write_configs
from bertlab.store.runs import Store

Record = dict[str, Any]
OPTIONS = ("options", "rounds")
"""Fields of a request that are options of its command line."""


def keep(store: Store, records: Iterable[Record]) -> list[Record]:
    """Joins records with those of the store, and returns the joined ones. Raises `BadInput` as `join` does.

    Writes each record and, beside it, the files that repeat its commands, with the study file (see `store/config.py`).
    """
    with store.exclusive():
        known, names = joined(store, [*records])
        for name in names:
            store.write_record(name, known[name])
            write_commands(store.root, name, known[name])
    return [known[name] for name in names]


def write_commands(root: Path, name: str, record: Record) -> None:
    """Writes the files of the store `root` that repeat the commands of a record, each with its study file as it was."""
    files = {mark(each): each for each in record["sources"]}
    newest = {path: text for each in record["sources"] for path, text in each.items()}  # older requests name no file
    named = record.get("name", "")
    commands = [(command([each], named), files.get(each.get("file"), newest)) for each in record["requests"]]
    write_configs(root, name, commands)


def joined(store: Store, records: Collection[Record]) -> tuple[dict[str, Record], list[str]]:
    """The records of the store after `records` joined them, and the names of these; writes nothing.

    Raises `BadInput` if the store holds another study with the name of a record.
    """
    known = store.records(needed=[record["study"] for record in records])
    return known, [join(known, record, f"'{store.root}'") for record in records]


def join(known: dict[str, Record], record: Record, where: str) -> str:
    """Adds a record to the `known` ones, joined with that of its setting if there is one, and returns its name.

    Raises `BadInput` if the known ones, which are in `where`, contain another study with its name.
    """
    for other in known.values():
        if other["study"] == record["study"] and (difference := _difference(other, record)):
            there = f"{where} (`{command(other['requests'])}`)"
            raise BadInput(
                f"study '{record['study']}' is not the study with that name in {there}: {difference}; "
                "give it another name, or name another store with --runs"
            )
    for name, other in known.items():
        if _place(other) == _place(record) and not _apart(other, record):
            known[name] = _united(other, record)
            return name
    name = name_of(record)
    known[name] = record
    return name


def name_of(record: Mapping[str, Any]) -> str:
    """The file name of a new record: study, scale, and eight digits of its setting."""
    of = [record["setting"], _contents(record), *([record["timed"]] if "timed" in record else [])]
    return filename(f"{record['study']}--{record['scale']}--{mark(of)}")


def mark(value: Any) -> str:
    """Eight digits that stand for a value: of its SHA-256."""
    return hashlib.sha256(canonical(value).encode(errors="surrogatepass")).hexdigest()[:8]


def _place(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return record["study"], record["scale"], record["setting"]


def _contents(record: Mapping[str, Any]) -> dict[str, str]:
    """The version of the examples of each measurement."""
    return {cell["measurement"]: cell["content"] for cell in record["cells"]}


def _apart(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether a measurement has different examples in two records, or a variant other timed steps.

    Their values cannot be joined.
    """
    pairs = ((_contents(one), _contents(two)), (one.get("timed", {}), two.get("timed", {})))
    return any(ours[name] != theirs[name] for ours, theirs in pairs for name in ours.keys() & theirs.keys())


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Why two records with one name belong to different studies; empty if they belong to the same."""
    was, is_ = old["definition"], new["definition"]
    if was["baseline"] != is_["baseline"]:
        return f"its baseline is '{is_['baseline']}', not '{was['baseline']}'"
    if was["code"] != is_["code"]:
        return "its file contains other code"
    for kind in ("variants", "measurements"):
        for name in was[kind].keys() & is_[kind].keys():
            if was[kind][name] != is_[kind][name]:
                return f"its {kind[:-1]} '{name}' has another definition"
    if _place(old) == _place(new) and not _apart(old, new):
        runs = {_cell(cell): cell["run_id"] for cell in old["cells"]}
        for cell in new["cells"]:
            if runs.get(_cell(cell), cell["run_id"]) != cell["run_id"]:
                why = "the study varies other fields, or its scale is another"
                return f"its variant '{cell['variant']}' has other runs: {why}"
    return ""


def _cell(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[name] for name in ("variant", "pretrain_seed", "measurement", "milestone", "finetune_seed"))


def _united(old: Mapping[str, Any], new: Mapping[str, Any]) -> Record:
    """The record of two commands: the texts of the newer one, the values of both."""
    definition = dict(new["definition"])
    order = {}
    for kind in ("variants", "measurements"):
        definition[kind] = {**new["definition"][kind], **old["definition"][kind], **new["definition"][kind]}
        order[kind] = {name: number for number, name in enumerate(definition[kind])}

    def place(cell: Mapping[str, Any]) -> tuple[Any, ...]:
        rank = order["variants"].get(cell["variant"], len(order["variants"]))  # "no pre-training" is last
        column = order["measurements"].get(cell.get("measurement"), 0)  # a pre-training has none
        return rank, cell["pretrain_seed"], column, cell.get("milestone"), cell.get("finetune_seed")

    published = {(cell["variant"], cell["measurement"], cell["milestone"]): cell["published"] for cell in new["cells"]}
    cells = {_cell(cell): cell for cell in (*old["cells"], *new["cells"])}
    for key, cell in cells.items():
        figure = published.get((cell["variant"], cell["measurement"], cell["milestone"]), cell["published"])
        cells[key] = {**cell, "published": figure}
    rows = {(row["variant"], row["pretrain_seed"]): row for row in (*old["rows"], *new["rows"])}
    known = {"", *(cell["measurement"] for cell in new["cells"]), *(each["on"] for each in new["differences"])}
    differences = [*new["differences"], *(each for each in old["differences"] if each["on"] not in known)]
    requests = _requests(old, new)
    named = new.get("name") or old.get("name", "")
    looks = [each["sequential"] for each in (old, new) if each.get("sequential")]
    speeds = [each["speeds"] for each in (new, old) if each.get("speeds", {}).get("measured")]
    return {
        **new,
        # of looks at the same seeds, those that went on
        **({"sequential": max(looks, key=lambda each: (len(each["looks"]), canonical(each)))} if looks else {}),
        **({"speeds": speeds[0]} if speeds else {}),
        "definition": definition,
        "requests": requests,
        **({"name": named} if named else {}),
        "command": command(requests, named),
        "differences": sorted(differences, key=lambda each: order["measurements"].get(each["on"], -1)),
        "intermediate_task": {**old["intermediate_task"], **new["intermediate_task"]},
        "sources": [*old["sources"], *(each for each in new["sources"] if each not in old["sources"])],
        "tries": sorted({*old["tries"], *new["tries"]}),
        "rows": sorted(rows.values(), key=place),
        "cells": sorted(cells.values(), key=place),
    }


def _requests(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fewest commands that request all values of two records; commands that differ in seeds become one."""
    before, after = ({_cell(cell) for cell in record["cells"]} for record in (old, new))
    if before <= after:  # of equal ones the newer, whose texts and study file the record has
        return list(new["requests"])
    if after <= before:
        return list(old["requests"])
    found: dict[str, dict[str, Any]] = {}
    for each in (*old["requests"], *new["requests"]):
        same = canonical({**each, "seeds": []})
        seeds = {*found[same]["seeds"], *each["seeds"]} if same in found else each["seeds"]
        found[same] = {**each, "seeds": sorted(seeds)}
    return list(found.values())


def command(requests: Sequence[Mapping[str, Any]], name: str = "") -> str:
    """The command line that requests a record, or several that each request a part, with the name of its setting."""
    commands = []
    for each in requests:
        words = ["bertlab ablate", shlex.quote(each["study"]), *(_quoted(each.get(name, "")) for name in OPTIONS)]
        if not each.get("rounds"):
            if each["seeds"] != [0] or each.get("claim_seeds") == []:
                words.append(f"--seeds {spelled(each['seeds'])}")
            if each.get("claim_seeds"):
                words.append(f"--claim-seeds {spelled(each['claim_seeds'])}")
        if each["finetune_seeds"]:
            words.append(f"--finetune-seeds {each['finetune_seeds']}")
        words += [f"--only {shlex.quote(name)}" for name in each["only"]]
        words += [f"--measure {shlex.quote(name)}" for name in each.get("measure", ())]
        words += ["--random-init"] * each["random_init"]
        words += [f"--name {shlex.quote(name)}"] * bool(name)
        commands.append(" ".join(filter(None, words)))
    return " && ".join(commands)


def _quoted(options: str) -> str:
    """Options as words for a shell, whatever a record from elsewhere has in their place."""
    try:
        return shlex.join(shlex.split(options))
    except ValueError:  # an open quote
        return shlex.quote(options)


def spelled(seeds: Sequence[int]) -> str:
    """Ascending seeds in the form of `--seeds`: `3` for 0 to 2, else ranges such as `3-5,7`."""
    if list(seeds) == list(range(len(seeds))):
        return str(len(seeds))
    runs = [[*group] for _, group in itertools.groupby(enumerate(seeds), key=lambda each: each[1] - each[0])]
    parts = [f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 or len(runs) == 1 else f"{run[0][1]}" for run in runs]
    return ",".join(parts)
