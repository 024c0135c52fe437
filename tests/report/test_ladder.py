"""`bertlab ladder` on a store: shares, a forecast that is frozen before the larger scale is run, and its score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertlab.store import forecasts
from bertlab.store.runs import Store

POINTS = {"80/10/10": 60.0, "100/0/0": 58.0, "0/0/100": 50.0}


def build(builder: Any, scale: str, turned: bool = False) -> None:
    """A study at a scale with three variants and two seeds; `turned` swaps the last two variants."""
    other = type(builder)(builder.root, scale=scale)
    first, values = {"micro": 0x100, "tiny": 0x200}[scale], [*POINTS.values()]
    values = [values[0], values[2], values[1]] if turned else values
    for index, (variant, seed) in enumerate((variant, seed) for variant in POINTS for seed in (0, 1)):
        run_id = other.pretrain(variant, seed, steps=first, run_id=f"{first + index:x}", batch=1)
        noise = (index * 7 % 5) / 10
        other.cell(variant, "MNLI", values[index // 2] + noise, seed, 0, run_id, run_id=f"{first + 0x50 + index:x}")
    other.record(baseline="80/10/10")


@pytest.fixture
def asked(call: Callable[..., int], builder: Any, capsys: Any) -> Callable[..., Any]:
    """What `ladder --json` prints."""

    def ask(*arguments: str) -> Any:
        assert call("ladder", *arguments, "--runs", builder.root, "--json") == 0
        return json.loads(capsys.readouterr().out)

    return ask


def test_signs_are_counted_with_cost(builder: Any, asked: Callable[..., Any]) -> None:
    build(builder, "micro")
    assert asked()["signs"] == []
    build(builder, "tiny", turned=True)
    (line,) = asked("masking")["signs"]
    assert (line["smaller"], line["larger"]) == ("micro on microworld", "tiny on microworld")
    assert (line["measurement"], line["pairs"], line["right"]) == ("MNLI", 3, 2)
    assert line["cost_share"] == pytest.approx(0.5)
    assert line["low"] < 2 / 3 < line["high"]
    assert asked("masking", "--scales", "tiny")["signs"] == []
    (line,) = asked()["all"]
    assert (line["step"], line["pairs"]) == ("at a smaller scale", 3)


def test_a_forecast_is_frozen_then_scored(builder: Any, asked: Callable[..., Any], call: Any, capsys: Any) -> None:
    build(builder, "micro")
    forecast = asked("masking", "--forecast", "tiny")
    (frozen,) = forecasts.read([builder.root])
    assert forecast["path"] == str(builder.root / frozen.file)
    assert {run.id for run in Store(builder.root).runs() if run.kind == "finetune"} == {*frozen.runs}
    chances = {(sign.variant, sign.other): sign.probability for sign in frozen.signs}
    assert len(chances) == 3
    assert chances["0/0/100", "80/10/10"] < chances["100/0/0", "80/10/10"] < 0.5
    (about,) = asked()["forecasts"]
    assert (about["signs"], about["measured"]) == (3, 0)
    again = ("ladder", "masking", "--forecast", "tiny", "--runs", builder.root)
    assert call(*again) == 2
    assert "has a forecast of masking at tiny" in capsys.readouterr().err
    build(builder, "tiny", turned=True)
    assert call(*again) == 2
    assert "has results at scale tiny on microworld: a forecast is made before them" in capsys.readouterr().err
    (score,) = asked()["scores"]
    outcomes = [
        (sign.probability - (sign.variant == "0/0/100" and sign.other == "100/0/0")) ** 2 for sign in frozen.signs
    ]
    assert score["brier"] == pytest.approx(sum(outcomes) / 3)
    assert sum(part["signs"] for part in score["calibration"]) == 3
    assert call("ladder", "--runs", builder.root) == 0
    assert "3 of 3 signs measured" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("masking", "--forecast", "tinny"), "unknown scale 'tinny': did you mean 'tiny'?"),
        (("masking", "--forecast", "tiny novels"), "give --forecast tiny, or 'tiny on' and the text"),
        (("masking", "--forecast", "smoke"), "has no difference at a scale up to smoke"),
        (("--forecast", "tiny"), "--forecast is of one study in one store"),
        (("masking", "--scales", "base"), "no differences at scale 'base': they are measured at micro"),
        (("masks",), "unknown study 'masks'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(builder: Any, call: Any, capsys: Any, options: Any, message: str) -> None:
    build(builder, "micro")
    assert call("ladder", *options, "--runs", builder.root) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
    assert not (builder.root / forecasts.FOLDER).exists()


def test_an_empty_store_is_one_line(call: Any, capsys: Any, tmp_path: Path) -> None:
    assert call("ladder", "--runs", tmp_path / "none") == 2
    assert "nothing is finished" in capsys.readouterr().err


def test_forecasts_go_where_results_go(builder: Any, asked: Any, call: Any, capsys: Any, tmp_path: Path) -> None:
    build(builder, "micro")
    asked("masking", "--forecast", "tiny")
    assert call("merge", builder.root, "--into", tmp_path / "merged") == 0
    assert forecasts.read([tmp_path / "merged"]) == forecasts.read([builder.root])
    assert call("export", "masking", tmp_path / "out", "--results", "--runs", builder.root) == 0
    assert forecasts.read([tmp_path / "out"]) == forecasts.read([builder.root])
    (path,) = (builder.root / forecasts.FOLDER).iterdir()
    path.write_text(path.read_text().replace('"probability": 0.', '"probability": 0.1'))
    capsys.readouterr()
    assert forecasts.read([builder.root]) == []
    assert "the forecast is skipped" in capsys.readouterr().err
