"""Finds studies: those in `ablations/`, and a user's own files."""

import dataclasses
import inspect
import itertools
import os
import re
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bertlab.errors import BadInput, suggestion, unknown
from bertlab.lab import builtin_studies
from bertlab.lab.builtin_studies import names as names
from bertlab.lab.study import Measurement, Study
from bertlab.lab.study_file import StudyFile, executed, written
from bertlab.names import ALL, shown
from bertlab.progress import Interrupted
from bertlab.recipe.objective import bert
from bertlab.store.files import kind
from bertlab.tasks import catalog, kinds
from bertlab.tasks.task import Task

SECONDS = 30
"""The limit on the processor time of reading a study file: on a busy machine, imports alone can take this long."""
MOST_SECONDS = 600
"""The limit on the time, for a file that waits."""


class _TooLong(BaseException):
    """A study file takes longer than a limit."""


@contextmanager
def _limited() -> Iterator[None]:
    """Raises `_TooLong` after a limit, and then every second, because the code may catch all exceptions."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _timed(signal.ITIMER_PROF, signal.SIGPROF, SECONDS), _timed(signal.ITIMER_REAL, signal.SIGALRM, MOST_SECONDS):
        yield


@contextmanager
def _timed(timer: int, number: signal.Signals, seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooLong(f"{seconds} s{' of processor time' if number == signal.SIGPROF else ''}")

    before = signal.signal(number, stop)
    left = signal.setitimer(timer, seconds, 1)  # the time left to a study file that finds this one
    try:
        yield
    finally:
        signal.setitimer(timer, *left)
        signal.signal(number, before)


def find(name: str) -> Study:
    """The study with this name, or in this Python file, which is run and defines `study`.

    Raises `BadInput` for an unknown name, a file that raises, and a file without a study.
    """
    path = Path(name)
    theirs = name.endswith(".py") or "/" in name
    if not theirs:
        if name not in names():
            if os.path.isfile(f"{name}.py"):  # false for what no path can be, too
                raise BadInput(f"unknown study '{name}': a study file is given by its path, here {name}.py")
            raise unknown("study", name, [*names(), ALL])
        path = builtin_studies.path(name)
    elif (path_kind := kind(path, "study file")) != "file":
        wrong = "is a folder" if path_kind else "does not exist"
        raise BadInput(f"study file '{name}' {wrong}: give the path of a Python file that defines `study`")
    try:
        with _limited():
            file = StudyFile.read(name) if theirs else None
            module = executed(path) if file is None else file.run()
    except BadInput as error:
        raise BadInput(f"study file '{path}': {error}") from error
    except (KeyboardInterrupt, Interrupted):
        raise
    except _TooLong as error:
        raise BadInput(f"study file '{path}' takes over {error} to read: only define `study` there") from None
    except BaseException as error:  # `SystemExit` too: a study file must not end the command
        raise _raised(error, path) from error
    study = getattr(module, "study", None)
    if type(study) is not Study:
        raise BadInput(f"study file '{path}' has no study: define `study = Study(...)`")
    if file is None:
        return study
    measurements = [_located(measurement, path.parent) for measurement in study.measurements]
    return dataclasses.replace(study, measurements=measurements, file=file)


def _located(measurement: Measurement, folder: Path) -> Measurement:
    """A measurement with the whole path of its own task, which a study file gives relative to its `folder`."""
    task = measurement.task
    if not isinstance(task, Task) or not task.path or task.path.startswith("~"):
        return measurement
    return dataclasses.replace(measurement, task=dataclasses.replace(task, path=str(folder / task.path)))


def _raised(error: BaseException, path: Path) -> BadInput:
    """The error for a study file that raises: the line, and what to do."""
    try:
        text = str(error) and f": {error}"
    except Exception:
        text = ": str() of the error raises too"
    text = re.sub(r"\. Did you mean '\w+'\?$", "", text)  # Python's own advice, from 3.13 on
    frames = traceback.walk_tb(error.__traceback__)
    inside = [(frame, line) for frame, line in frames if Path(frame.f_code.co_filename).resolve() == path.resolve()]
    where, advice = "", ""  # a syntax error says it itself
    if inside:
        frame, line = inside[-1]
        where, advice = f" (line {line})", _advice(error, text.removeprefix(": "), frame)
    return BadInput(f"study file '{path}' raises {type(error).__name__}{text}{where}; {advice or 'correct it'}")


def _advice(error: BaseException, text: str, frame: FrameType) -> str:
    """The names to choose from instead of an unknown keyword, or of an unknown name of bertlab; empty for other errors.

    `frame` is where the study file raised the error.
    """
    keyword = re.fullmatch(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'", text)
    if isinstance(error, TypeError) and keyword:
        called = (frame.f_globals | frame.f_locals).get(keyword[1])
        return suggestion(keyword[2], inspect.signature(called).parameters) if callable(called) else ""
    name = re.match(r"cannot import name '(\w+)' from 'bertlab'", text)
    return suggestion(name[1], sys.modules["bertlab"].__all__) if isinstance(error, ImportError) and name else ""


def chosen(requested: Sequence[str | Study]) -> tuple[Study, ...]:
    """The studies of a command line, each once, or those of Python; `all` stands for bertlab's own.

    A study that was made in Python gets a study file of its own, which the records of its results keep. Raises
    `BadInput` for two studies with one name.
    """
    each_one = [one for request in requested for one in (names() if request == ALL else [request])]
    wanted = [item for position, item in enumerate(each_one) if item not in each_one[:position]]
    for item in wanted:
        if not isinstance(item, str | Study):
            raise BadInput(f"study is {shown(item)}: give a name, the path of a study file, or a Study")
    studies = tuple(find(item) if isinstance(item, str) else _with_file(item) for item in wanted)
    if not studies:
        raise BadInput(f"no study is given: give a name, {ALL}, or a study file")
    named = Counter(study.name for study in studies)
    if twice := next((name for name, number in named.items() if number > 1), ""):
        raise BadInput(f"two studies are named '{twice}': give each study once, and your own another name")
    return studies


def without_training(study: Study) -> list[Measurement]:
    """What any study can measure of its models without training: the held-out figures of its losses, each under its
    own name, and the tasks of the catalogue that train nothing."""
    losses = itertools.chain.from_iterable(variant.objective or bert() for variant in study.variants)
    figures = dict.fromkeys(itertools.chain.from_iterable(loss.all_metric_labels for loss in losses))
    tasks = [name for name, task in catalog.TASKS.items() if not kinds.find(task.kind).trained]
    return [Measurement(name, metric=name) for name in figures] + [Measurement(name, task=name) for name in tasks]


def measuring(study: Study, names: Set[str]) -> Study:
    """The study with a measurement of each of `without_training` in `names` that it lacks."""
    lacking = names - {measurement.name for measurement in study.measurements}
    more = [measurement for measurement in without_training(study) if measurement.name in lacking]
    return dataclasses.replace(study, measurements=[*study.measurements, *more]) if more else study


def _with_file(study: Study) -> Study:
    """A study with a study file: its own, or one that is written for it; a study of the package needs none."""
    if study.file is not None or (study.name in names() and study == find(study.name)):
        return study
    name = f"{study.name}.py"
    return dataclasses.replace(study, file=StudyFile(name, {name: written(study)}, None))
