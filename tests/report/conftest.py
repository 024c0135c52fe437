"""A store written by hand: small runs that pretend to be finished, of which every number is known."""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from bertlab.store.files import digest
from bertlab.store.record import Record
from bertlab.store.schema import load

CORRUPTIONS = {"80/10/10": (0.8, 0.1, 0.1), "100/0/0": (1.0, 0.0, 0.0), "0/0/100": (0.0, 0.0, 1.0)}
PUBLISHED = {
    ("80/10/10", "MNLI"): 84.2,
    ("100/0/0", "MNLI"): 84.3,
    ("0/0/100", "MNLI"): 83.6,
    ("80/10/10", "NER"): 95.4,
    ("100/0/0", "NER"): 94.9,
    ("0/0/100", "NER"): 94.9,
}
TASKS = {"MNLI": ("mnli", "accuracy", 33.3), "NER": ("conll2003", "f1", 0.0)}
ENVIRONMENT = {
    "numerics": {"torch": "2.13.0", "device": "cpu", "precision": "bf16", "threads": 2},
    "processor": "A Processor",
    "cores": 2,
    "system": "Linux",
    "python": "3.11.9",
    "versions": {"bertlab": "0.1.0", "torch": "2.13.0"},
}


@dataclass
class Builder:
    """Writes runs and records under `root`."""

    root: Path
    study: str = "masking"
    scale: str = "tiny"
    corpus: list[str] = field(default_factory=lambda: ["microworld"])
    rows: list[dict[str, Any]] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)
    plateau: float = 5.9

    def run(self, kind: str, run_id: str, result: dict[str, Any], science: dict[str, Any], **files: Any) -> None:
        """One finished run directory."""
        run_id = run_id.zfill(16)
        path = self.root / kind / f"{run_id}--a-label"
        path.mkdir(parents=True)
        timing = files.pop("timing", [{"stage": kind, "step": 0, "seconds": 1.5}])
        metrics = files.pop("metrics", [])
        environment = files.pop("environment", ENVIRONMENT)
        record = {"kind": kind, "id": run_id, "label": "a-label", "science": science}
        for name, data in (("recipe", record), ("result", result), ("environment", environment)):
            (path / f"{name}.json").write_text(json.dumps(data))
        self.seal(path)
        for name, lines in (("timing", timing), ("metrics", metrics)):
            (path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def seal(self, *paths: Path) -> None:
        """Writes the manifests of these runs, all of them for none, for their recipes and results as they are now."""
        for path in paths or [each.parent for each in self.root.glob("*/*/manifest.json")]:
            sealed = {name: path / name for name in ("recipe.json", "result.json")}
            facts = {name: {"bytes": each.stat().st_size, "sha256": digest(each)} for name, each in sealed.items()}
            (path / "manifest.json").write_text(json.dumps(facts))

    def pretrain(
        self,
        variant: str,
        seed: int = 0,
        loss: float = 4.4,
        own: float | None = None,
        steps: int = 1000,
        run_id: str = "",
        finished: bool = True,
        causal: bool = False,
        parameters: int = 1_234_567,
        perplexity: float = 81.5,
        batch: int = 2048,
        over_vocabulary: list[str] | None = None,
        words: int | None = None,
        exchanged: float | None = None,
        **files: Any,
    ) -> str:
        """A pre-training of the record and, unless it is pending, its run."""
        run_id = (run_id or f"{len(self.rows) + 1:x}").zfill(16)
        self.rows.append({"variant": variant, "pretrain_seed": seed, "pretrain_id": run_id, "corpus_id": ""})
        mask, keep, random = CORRUPTIONS.get(variant, CORRUPTIONS["80/10/10"])
        own = loss if own is None else own
        curve = [
            {
                "step": step,
                "heldout_masked_lm_loss": loss + 2 * (1 - step / 1000),
                "heldout_own_loss": own + 2 * (1 - step / 1000),
            }
            for step in range(100, steps + 1, 100)
        ]
        if causal:
            curve = [{"step": line["step"], "heldout_causal_lm_loss": line["heldout_masked_lm_loss"]} for line in curve]
        if finished:
            heldout = {
                "masked_lm_loss": loss,
                "perplexity": perplexity,
                "accuracy": 0.25,
                "own_loss": own,
                "next_sentence_accuracy": 0.7501,
            }
            if causal:
                heldout = {"causal_lm_loss": loss, "perplexity": 81.5}
            heldout |= {} if exchanged is None else {"exchanged_loss": exchanged}
            result = {
                "status": "done",
                "steps": steps,
                "tokens": steps * batch,
                "words": words,
                "parameters": parameters,
                "vocabulary": 4096,
                "heldout": heldout,
                "judged_by": "causal_lm_loss" if causal else "masked_lm_loss" if mask else "own_loss",
                **({} if over_vocabulary is None else {"over_vocabulary": over_vocabulary}),
                "unigram_entropy": self.plateau,
                "corpus": self.corpus,
                "pair_balance": 0.5 if steps else None,
            }
            recipe = {
                "model": {"layers": 4, "hidden": 128, "heads": 2, "positions": "rotary"},
                "objective": [
                    {"kind": "masked_lm", "corruption": {"mask": mask, "keep": keep, "random": random}},
                    {"kind": "next_sentence"},
                ],
                "schedule": {"steps": steps},
            }
            if causal:
                recipe["objective"] = [{"kind": "causal_lm"}]
            self.run("pretrain", run_id, result, {"recipe": recipe}, **{"metrics": curve, **files})
        return run_id

    def cell(
        self,
        variant: str,
        measurement: str,
        value: float | None,
        seed: int = 0,
        finetune_seed: int = 0,
        pretrain_id: str = "0001",
        status: str = "done",
        run_id: str = "",
        milestone: int = 100,
        test: float | None = None,
        floors: dict[str, float] | None = None,
        metrics: dict[str, float] | None = None,
        **files: Any,
    ) -> None:
        """A cell of the record and, unless its value is None, its run; with `test` also one of the test split."""
        task, metric, majority = TASKS[measurement]
        run_id, pretrain_id = (run_id or f"{0xF000 + len(self.cells):x}").zfill(16), pretrain_id.zfill(16)
        about = {"task": task, "dataset": "bc5cdr" if task == "conll2003" else task, "split": "validation"}
        about |= {"method": "finetune", "milestone": milestone, "pretrain_seed": seed, "finetune_seed": finetune_seed}
        about |= {"pretrain_id": pretrain_id}
        self.cells.append(
            {
                "variant": variant,
                "measurement": measurement,
                "metric": metric,
                "content": "",
                "run_id": run_id,
                "published": PUBLISHED.get((variant, measurement)) if milestone == 100 else None,
                **about,
            }
        )
        if value is not None:
            result = {"status": status, "metrics": {metric: value} | (metrics or {}), **about}
            result["majority"] = {metric: majority}
            result |= {name: {metric: points} for name, points in (floors or {}).items()}
            if test is not None:
                evaluated = {"metrics": {metric: test}, "majority": {metric: majority + 1}, "rows": 70}
                result["test"] = {"split": "test", **evaluated}
                self.cells.append({**self.cells[-1], "measurement": f"{measurement} test", "split": "test"})
            self.run("finetune", run_id, {**result, "rows": {"train": 1000, "evaluation": 500}}, {}, **files)

    def record(self, name: str = "", /, **changes: Any) -> Record:
        """The record of the study, written into the store; of several cells of one value, it has the last."""
        key = itemgetter("variant", "measurement", "milestone", "pretrain_seed", "finetune_seed")
        request = {"study": self.study, "options": "", "seeds": [0], "finetune_seeds": 0}
        request |= {"only": [], "random_init": False}
        record = {
            "study": self.study,
            "scale": self.scale,
            "command": f"bertlab ablate {self.study}",
            "rows": self.rows,
            "cells": [*{key(cell): cell for cell in self.cells}.values()],
            "question": "Does mixing [MASK] with random tokens matter?",
            "source": "Devlin et al. 2019, Table 8",
            "baseline": "80/10/10",
            "notes": ["A note."],
            "substitutes": {"conll2003": "bc5cdr"},
            "summary": "",
            "claims": [],
            "setting": "",
            "definition": {"baseline": "80/10/10", "code": "", "variants": {}, "measurements": {}},
            "requests": [request],
            "sources": [],
            "pretrained": "",
            "intermediate_task": {},
            "searched": {},
            "tries": [],
            "corpus": self.corpus,
            "world": True,
            "differences": [
                {"on": "", "what": "model.layers 4 (paper: 12)"},
                {"on": "NER", "what": "task: bc5cdr in place of conll2003"},
            ],
            **changes,
        }
        folder = self.root / "studies"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record)
        (folder / f"{name or self.scale}.json").write_text(text)
        return load(Record, json.loads(text))


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path / "runs")


@pytest.fixture
def fill() -> Callable[..., None]:
    """Fills a builder with a whole study: points by variant, seed and fine-tuning seed."""

    def filled(builder: Builder, seeds: Iterable[int] = (0, 1, 2), finetune_seeds: int = 2) -> None:
        for place, variant in enumerate(CORRUPTIONS):
            for seed in seeds:
                own = 4.5 if variant == "0/0/100" else None
                run_id = builder.pretrain(variant, seed, loss=7.5 if own else 4.4 + place / 10 + seed / 50, own=own)
                for index, name in enumerate(TASKS):
                    for finetune_seed in range(finetune_seeds):
                        value = 60.0 + 10 * index - place + (seed * 7 + place * 3 + index) % 5 / 3 + finetune_seed / 2
                        builder.cell(variant, name, value, seed, finetune_seed, run_id)

    return filled


@pytest.fixture
def claimed(builder: Builder, fill: Callable[..., None]) -> Builder:
    """A study of six seeds with a variant that was not pre-trained, and a claim of each verdict."""
    fill(builder, seeds=range(6))
    for seed in range(6):
        scratch = builder.pretrain("no pre-training", seed, loss=8.3, steps=0)
        builder.cell("no pre-training", "MNLI", 70.0 + seed / 9, seed, 0, scratch)
    pairs = [("80/10/10", "0/0/100", "NER"), ("100/0/0", "80/10/10", "NER"), ("0/0/100", "80/10/10", "NER")]
    claims = [{"text": f"{one} beats {two}", "better": one, "worse": two, "on": on} for one, two, on in pairs]
    builder.record(claims=claims)
    return builder


@pytest.fixture
def of_csv() -> Callable[[Path], dict[tuple[str, str], tuple[str, str, str]]]:
    """From the CSV of a study, by measurement and variant: the mean, the published one, the mean minus 80/10/10's."""

    def read(path: Path) -> dict[tuple[str, str], tuple[str, str, str]]:
        values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        published = {}
        with path.open(newline="") as file:
            for line in csv.DictReader(file):
                key = (line["measurement"], line["variant"])
                published[key] = line["published"]
                if line["value"]:
                    values[key][line["pretrain_seed"]].append(float(line["value"]))
        means = {key: {seed: statistics.fmean(each) for seed, each in seeds.items()} for key, seeds in values.items()}
        found = {}
        for (measurement, variant), ours in means.items():
            theirs = means[measurement, "80/10/10"]
            minus = statistics.fmean(ours[seed] - theirs[seed] for seed in ours)
            difference = "" if variant == "80/10/10" else f"{minus:+.1f}"
            found[measurement, variant] = (
                f"{statistics.fmean(ours.values()):.1f}",
                published[measurement, variant],
                difference,
            )
        return found

    return read
