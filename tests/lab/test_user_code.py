"""The study file of a finished run: which one it is, and what is said of another."""

import pytest

from bertlab.errors import BadInput
from bertlab.lab.user_code import OPTION, load_user_code
from bertlab.store.run import Run


class WithoutCode(Run):
    """A run that was trained without a study file."""

    def definition(self):
        return {"recipe": {}}


def test_a_study_file_is_refused_for_a_run_without_code_also_beside_copies_of_others(tmp_path):
    run = WithoutCode("0123456789abcdef", "pretrain", "masking-seed0", tmp_path / "pretrain" / "masking-seed0")
    copy, other = tmp_path / "studies" / "mine" / "mine.py", tmp_path / "other.py"
    copy.parent.mkdir(parents=True)
    for path in (copy, other):
        path.write_text("study = 1\n")
    with pytest.raises(BadInput) as raised:
        load_user_code(run, str(other), OPTION)
    assert str(raised.value) == f"--study '{other}' is not the study file with which run {run.id} was trained"
