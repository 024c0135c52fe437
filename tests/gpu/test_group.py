"""Processes that pre-train together on GPUs: on one card, by gloo, or on a card each, by NCCL, where there are two."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

_FILE = Path(__file__).parents[1] / "training" / "test_process_group.py"
_found = importlib.util.spec_from_file_location("process_group", _FILE)
_group = importlib.util.module_from_spec(_found)
_found.loader.exec_module(_group)
trainings, group, double = _group.trainings, _group.group, _group.double
for _name, _test in vars(_group).items():
    if _name.startswith("test_") and "group" in _test.__code__.co_varnames[: _test.__code__.co_argcount]:
        globals()[_name] = _test


@pytest.fixture(scope="module", autouse=True)
def on_gpus(gpu, dry):
    """The processes of the group, and the one beside them, train on GPUs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTLAB_GROUP_GPUS", str(int(not dry)))
        yield
