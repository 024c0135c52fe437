"""A study whose variants change numbers over the steps: its plan, its fields, its audit and its report."""

import json

STUDY = """
from bertlab import Cosine, Measurement, Ramp, Schedule, Stages, Study, Variant

study = Study(
    name="mask-decay",
    question="Is it better to mask more at first?",
    source="mine",
    baseline="constant",
    variants=[
        Variant("constant"),
        Variant("falling", schedule=Schedule(over_steps={"masked_lm.mask_prob": Ramp(start=2.0, end=1.0)})),
        Variant("growing", schedule=Schedule(
            curve=Cosine(), over_steps={"schedule.batch_size": Stages(multiples=(0.5, 1.0))}
        )),
    ],
    measurements=[Measurement("held-out loss", metric="masked_lm_loss")],
)
"""


def test_numbers_that_change_are_planned_audited_and_reported(call, tmp_path, text_file, capsys):
    path, runs = tmp_path / "mask_decay.py", tmp_path / "runs"
    path.write_text(STUDY)
    common = ("--scale", "smoke", "--corpus", text_file)
    assert call("ablate", path, *common, "--runs", runs, "--dry-run") == 0
    plan = capsys.readouterr().out
    assert "20 steps of 32 tokens, masked_lm.mask_prob from 0.3 to 0.1575" in plan
    assert "20 steps of 32 tokens, schedule.batch_size from 4 to 8" in plan
    assert call("show", path, "--scale", "smoke", "--json") == 0
    (study,) = json.loads(capsys.readouterr().out)
    changing = study["variants"]["falling"]["schedule.over_steps"]
    assert changing["masked_lm.mask_prob"]["start"] == 2.0
    assert call("audit", path, *common) == 0
    assert "0 fail" in capsys.readouterr().out
    assert call("ablate", path, *common, "--runs", runs, "--threads", "1", "--precision", "fp32") == 0
    assert call("report", "--runs", runs, "--out", tmp_path / "pages", "--format", "md") == 0
    page = (tmp_path / "pages" / "mask-decay.md").read_text()
    assert "masked_lm.mask_prob: ramp, start 2.0, end 1.0, until 1.0" in page
    assert "| growing             | cosine " in page
