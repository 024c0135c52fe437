"""Forecasts of the signs of a study's differences at a larger scale, each a file of the store that never changes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bertlab.errors import BadInput, warn
from bertlab.names import filename
from bertlab.store.files import of_form, read_sealed
from bertlab.store.locks import StoreLocks
from bertlab.store.schema import Id, Number, Percent, Share, to_json
from bertlab.store.writes import folder, write_sealed

FOLDER = "forecasts"


@dataclass(frozen=True, kw_only=True)
class ForecastSign:
    """The sign of one difference: `variant` minus `other` on a measurement and endpoint."""

    measurement: str
    variant: str
    other: str
    endpoint: str
    heading: str
    """The scale and setting of the measured difference, see `Section.heading`."""
    milestone: Percent
    """Per cent of the steps after which it was measured."""
    effect: Number
    """The measured difference."""
    error: Number
    """The standard error of it."""
    probability: Share
    """The probability that the difference is positive at the scale that is forecast."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """A forecast of a study at a scale, made before there were results of it."""

    study: str
    scale: str
    """A scale such as `tiny`, or a setting such as `tiny on wikitext-103`."""
    time: str
    """When it was made, UTC, as in ISO 8601."""
    version: str
    """The version of bertlab."""
    correlations: Mapping[str, Number]
    """The correlation of effects at two scales, by endpoint."""
    runs: tuple[Id, ...]
    """The runs that it was computed from: all those of the store that are compared."""
    signs: tuple[ForecastSign, ...]

    @property
    def file(self) -> str:
        """The name of its file in a store."""
        return f"{FOLDER}/{filename(f'{self.study}--{self.scale}')}.json"


def read(roots: Iterable[Path]) -> list[Forecast]:
    """The forecasts of stores; of two of one study and scale, the one that was made first.

    Warns of a file that is damaged or of another form, and skips it.
    """
    forecasts: dict[str, Forecast] = {}
    for path in (path for root in roots for path in sorted((root / FOLDER).glob("*.json"))):
        try:
            forecast = of_form(path, Forecast, read_sealed(path))
        except BadInput as error:
            warn(f"{error}; the forecast is skipped")
            continue
        earlier = forecasts.setdefault(forecast.file, forecast)
        forecasts[forecast.file] = min(earlier, forecast, key=lambda one: one.time)
    return [*forecasts.values()]


def write(root: Path, forecast: Forecast) -> Path:
    """Writes a forecast into a store. Raises `BadInput` if the store has one of this study and scale."""
    path = root / forecast.file
    with StoreLocks(root).exclusive():
        if path.exists():
            about = f"'{path}' has a forecast of {forecast.study} at {forecast.scale}"
            raise BadInput(f"{about}, which stays as it is: run that scale, then `bertlab ladder` scores it")
        folder(root, FOLDER)
        write_sealed(root, forecast.file, to_json(forecast))
    return path


def copy(roots: Iterable[Path], into: Path, studies: Collection[str] | None = None) -> None:
    """Copies the forecasts of stores, or those of some studies, into another, which keeps those that it has."""
    for forecast in read(roots):
        if (studies is None or forecast.study in studies) and not (into / forecast.file).exists():
            write(into, forecast)
