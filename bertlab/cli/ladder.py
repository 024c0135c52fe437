"""`bertlab ladder`: how often smaller scales have the signs of one's own larger ones, and forecasts of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, SEVERAL, Names, argument, option
from bertlab.cli.table import print_table
from bertlab.errors import BadInput
from bertlab.names import ALL
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from bertlab.report.study_results import StudyResults
    from bertlab.store.forecasts import Forecast

HEADINGS = {"study": "study", "smaller": "smaller", "larger": "largest", "measurement": "measurement"}
"""The headings of what signs are counted by."""


def ladder(
    study: Names = argument(None, "STUDY", "Studies; default: all that were run."),
    runs: list[Path] | None = SEVERAL,
    scales: str = option("", "SCALE,SCALE", "Compare these scales alone, such as micro,tiny."),
    forecast: str = option("", "SCALE", "Write down, before it is run, which signs this scale will have."),
    json: bool = JSON,
) -> int:
    """Count how often a smaller scale has the sign of a difference that your own largest one has.

    Differences are those of all pairs of variants on each measurement, by the paper's metric and by the likelihood, at
    a smaller scale or after a part of the steps. With --forecast, a probability for each sign is frozen in the store;
    once that scale has results, the command without it scores the forecast (Brier, calibration).

    Example: bertlab ladder nsp --scales micro,tiny
    """
    from bertlab.report.gather import gather_all
    from bertlab.report.page import finished
    from bertlab.store import forecasts
    from bertlab.store.merge import opened

    roots, names = runs or [Path("runs")], [] if ALL in (study or ()) else study or []
    store = opened(roots)
    studies = gather_all(store)
    finished(studies, names, store)
    if forecast:
        if len(names) != 1 or len(roots) != 1 or scales:
            raise BadInput("--forecast is of one study in one store: give one STUDY and one --runs, without --scales")
        data = _freeze(studies, names[0], forecast, roots[0])
    else:
        frozen = [one for one in forecasts.read(roots) if not names or one.study in names]
        data = _figures(studies, names, scales, frozen)
        _print(data)
    if json:
        print_json(data)
    return 0


def _freeze(studies: Sequence[StudyResults], study: str, scale: str, root: Path) -> dict[str, Any]:
    """Makes a forecast, writes it into the store, and prints it."""
    from bertlab.hypotheses import forecasting
    from bertlab.report.pairs import ENDPOINTS
    from bertlab.store import forecasts
    from bertlab.store.schema import to_json

    frozen = forecasting.make(studies, study, scale)
    path = forecasts.write(root, frozen)
    rows = [
        (
            *(f"{sign.variant} minus {sign.other}", sign.measurement, ENDPOINTS[sign.endpoint]),
            *(f"{sign.effect:.2f} ± {sign.error:.2f}", f"{100 * sign.probability:.0f} %"),
        )
        for sign in frozen.signs
    ]
    columns = ("difference", "measurement", "by", "measured ± standard error", "positive")
    print_table(columns, rows, f"{study} at {scale}: the probability that a difference is positive", left=3)
    say(f"wrote {path}: once `bertlab ablate {study}` has results at {scale}, `bertlab ladder {study}` scores it")
    return {"path": str(path), **to_json(frozen)}


def _figures(
    studies: Sequence[StudyResults], names: Sequence[str], scales: str, frozen: Iterable[Forecast]
) -> dict[str, Any]:
    """The shares of right signs, what forecasts with each study left out would have scored, and what the frozen did."""
    import pandas

    from bertlab.hypotheses import forecasting, ladder

    table = ladder.differences(studies)
    usable = forecasting.standardised(table)
    if wanted := [name.strip() for name in scales.split(",") if name.strip()]:
        table, usable = ladder.at(table, wanted), ladder.at(usable, wanted)
    climbed = ladder.climbs(table)
    climbed = climbed[climbed["study"].isin(names)] if names else climbed
    left_out = forecasting.left_out(ladder.climbs(usable))
    left_out = left_out[left_out["study"].isin(names)] if names else left_out
    by = ["study", "smaller", "larger", *(["measurement"] if len(names) == 1 else []), "endpoint"]
    measured = [forecasting.scored(one, table) for one in frozen]
    return {
        "signs": ladder.shares(climbed, by),
        "all": ladder.shares(climbed, ["step", "endpoint"]),
        "left_out": forecasting.scores(left_out),
        "forecasts": [
            {"study": one.study, "scale": one.scale, "time": one.time, "signs": len(one.signs), "measured": len(lines)}
            for one, lines in zip(frozen, measured, strict=True)
        ],
        "scores": forecasting.scores(pandas.concat([*measured, left_out[:0]])),
    }


def _print(data: Mapping[str, Any]) -> None:
    """Prints the shares of right signs and the scores of forecasts."""
    from bertlab.report.pairs import ENDPOINTS

    if not data["signs"]:
        say("No difference is measured at two scales, or after two milestones: there is no ladder yet.")
    else:
        names = [name for name in HEADINGS if name in data["signs"][0]]
        rows = [
            (
                *(line[name] for name in names),
                ENDPOINTS[line["endpoint"]],
                f"{100 * line['cost_share']:.1f} %",
                *(str(line["pairs"]), str(line["right"]), f"{100 * line['share']:.0f} %", _interval(line)),
            )
            for line in data["signs"]
        ]
        columns = (*(HEADINGS[name] for name in names), "by", "cost", "pairs", "signs right", "share", "95 % interval")
        print_table(columns, rows, "Signs of your largest scale that a smaller one has", left=len(names) + 1)
    for line in data["all"]:
        signs = f"{line['right']} of {pluralise(line['pairs'], 'sign')} {line['step']} are right by the"
        share = f"{100 * line['share']:.0f} % ({_interval(line)}), at {100 * line['cost_share']:.0f} % of the cost"
        say(f"{signs} {ENDPOINTS[line['endpoint']]}: {share}.")
    for line in data["left_out"]:
        say(f"With each study left out in turn, forecasts by the {_score(line)}.")
    for one in data["forecasts"]:
        about = f"Forecast of {one['study']} at {one['scale']}, made {one['time']}"
        say(f"{about}: {one['measured']} of {pluralise(one['signs'], 'sign')} measured.")
    for line in data["scores"]:
        say(f"Forecasts by the {_score(line)}.")
        rows = [
            (
                f"{100 * part['from']:.0f} to {100 * part['to']:.0f} %",
                *(str(part["signs"]), f"{100 * part['forecast']:.0f} %", f"{100 * part['right']:.0f} %"),
            )
            for part in line["calibration"]
        ]
        print_table(("probability", "signs", "forecast", "right"), rows)


def _interval(line: Mapping[str, Any]) -> str:
    return f"{100 * line['low']:.0f} to {100 * line['high']:.0f} %"


def _score(line: Mapping[str, Any]) -> str:
    """The Brier score of forecasts as text."""
    from bertlab.report.pairs import ENDPOINTS

    ends = "" if line["low"] is None else f"{line['low']:.3f} to {line['high']:.3f}; "
    about = f"{ENDPOINTS[line['endpoint']]} have a Brier score of {line['brier']:.3f} ({ends}a coin has 0.250)"
    return f"{about} over {pluralise(line['signs'], 'sign')}"
