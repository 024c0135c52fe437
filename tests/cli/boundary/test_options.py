"""Options that have no effect, go out of range or contradict each other are refused before anything is written."""

import pytest

SMOKE = ("--scale", "smoke")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ablate", "masking", *SMOKE, "--data", "."], "--data . has no effect"),
        (["plan", "masking", *SMOKE, "--data", "."], "--data . has no effect"),
        (["audit", "masking", *SMOKE, "--data", "."], "--data . has no effect"),
        (["pretrain", *SMOKE, "--data", "."], "--data . has no effect"),
        (["bench", *SMOKE, "--set", "finetune.peak_lr=1e-3"], r"finetune\.peak_lr.*no effect"),
        (["bench", *SMOKE, "--set", "tasks.mnli.peak_lr=1e-3"], r"tasks\.mnli\.peak_lr.*no effect"),
        (["audit", "masking", *SMOKE, "--set", "features.peak_lr=1e-3"], r"features\.peak_lr.*no effect"),
        (["pretrain", *SMOKE, "--set", "span.peak_lr=1e-3"], r"span\.peak_lr"),
        (["ablate", "masking", *SMOKE, "--set", "span.peak_lr=1e-3"], r"--set span\.peak_lr has no effect"),
        (["pretrain", *SMOKE, "--set", "multitask.text=false"], r"--set multitask\.text has no effect"),
        (["ablate", "masking", *SMOKE, "--set", "multitask.length=16"], r"--set multitask\.length has no effect"),
        (["pretrain", *SMOKE, "--set", "corpus.filter=c5"], "^bertlab: unknown rule of corpus.filter 'c5'"),
        (
            ["ablate", "masking", *SMOKE, "--bad-words", "."],
            "list of words '.' is a folder: give the path of a text file",
        ),
        (["ablate", "masking", *SMOKE, "--set", "tasks.swag.peak_lr=1e-3"], "swag"),
        (["ablate", "nsp", *SMOKE, "--set", "features.peak_lr=2e-3"], r"--set features\.peak_lr has no effect"),
        (["ablate", "masking", *SMOKE, "--corpus", "microworld", "--corpus", "microworld"], "given twice"),
        (["ablate", "masking", *SMOKE, "--substitute", "mnli=rte", "--substitute", "mnli=qqp"], "mnli twice"),
        (
            ["ablate", "masking", *SMOKE, "--intermediate-task", "mnli=rte", "--intermediate-task", "mnli=qqp"],
            "mnli twice",
        ),
        (["ablate", "masking", *SMOKE, "--substitute", "=rte"], "write TASK=DATASET"),
        (["ablate", "masking", *SMOKE, "--substitute", "mnli="], "write TASK=DATASET"),
        (["ablate", "masking", *SMOKE, "--from", ""], "--from is empty"),
        (["ablate", "masking", *SMOKE, "--from", "a b"], "no directory and no"),
        (["ablate", "masking", *SMOKE, "--from", "-x"], "--from|-x"),
        (["ablate", "masking", *SMOKE, "--set", "model.max_positions=16"], "max_positions is 16"),
        (["ablate", "masking", *SMOKE, "--seeds", "1000", "--finetune-seeds", "1000"], "values"),
        (["ablate", "masking", *SMOKE, "--finetune-seeds", "-1"], "finetune-seeds"),
        (["ablate", "masking", *SMOKE, "--finetune-seeds", "1001"], "finetune-seeds"),
        (["ablate", "masking", *SMOKE, "--finetune-seeds", "1.5"], "finetune-seeds"),
        (["ablate", "masking", *SMOKE, "--only", ""], "unknown variant"),
        (["ablate", "masking", *SMOKE, "--only", "x" * 100_000], "unknown variant"),
        (["ablate", "x" * 100_000], "unknown study"),
        (["ablate", ""], "unknown study"),
        (["ablate", "masking", "--scale", ""], "--scale is empty"),
        (["ablate", "masking", "--scale", "x" * 100_000], "unknown scale"),
        *[
            ([*command, "--threads", threads], "threads")
            for command in (["ablate", "masking", *SMOKE], ["bench", *SMOKE])
            for threads in ("100000", "2147483648", "-1", "1e3", "", "9" * 5000)
        ],
        (["ablate", "masking", *SMOKE, "--workers", "100000"], "workers"),
        (["ablate", "masking", *SMOKE, "--workers", "2147483648"], "workers"),
        (["ablate", "masking", *SMOKE, "--workers", "1", "--gpus", "1"], "leave one out"),
        (["ablate", "masking", *SMOKE, "--micro-batch", "2147483648"], "micro-batch"),
        (["ablate", "masking", *SMOKE, "--micro-batch", "-1"], "micro-batch"),
        (["ablate", "masking", *SMOKE, "--gpus", "2147483648"], "gpus"),
        (["ablate", "masking", *SMOKE, "--gpus-per-run", "2"], "gpus-per-run"),
        (["ablate", "masking", *SMOKE, "--cluster", "localhost:1"], "--cluster"),
        (["ablate", "masking", *SMOKE, "--precision", ""], "--precision is empty"),
        (["ablate", "masking", *SMOKE, "--seeds", ""], "--seeds is empty"),
        (["ablate", "masking", *SMOKE, "--budget", ""], "--budget is empty"),
        (["ablate", "masking", *SMOKE, "--compile", "maybe"], "unknown value of --compile"),
        (["ablate", "masking", *SMOKE, "--logger", "stdout"], "unknown logger"),
        *[
            (["plan", "masking", *SMOKE, "--peak-tflops", "100", option, value], option)
            for option in ("--peak-tflops", "--device-memory-gb")
            for value in ("inf", "nan", "0", "-1", "1e400", "x", "")
        ],
        (["plan", "masking", *SMOKE, "--device-memory-gb", "80"], "add --peak-tflops"),
        (["plan", "masking", *SMOKE, "--peak-tflops", "100", "--workers", "2"], "leave one out"),
        (["plan", "masking", *SMOKE, "--restarts", "2"], "--restarts"),
        (["ablate", "masking", *SMOKE, "--scratch"], "--scratch"),
        (["ablate", "masking", *SMOKE, "--first", "mnli=rte"], "--first"),
        *[(["fill-mask", "a", "b", "--top", top], "top") for top in ("0", "-1", "1001", "x", "")],
        *[(["generate", "a", "b", "--beam", beams], "beam") for beams in ("0", "101", "x")],
        *[(["pretrain", *SMOKE, "--seed", seed], "seed") for seed in ("-1", "1.5", str(2**63), "x")],
        (["report", "--format", "pdf"], "unknown format"),
        (["report", "--format", ""], "unknown format"),
        (["audit", "masking", *SMOKE, "--set", "schedule.steps"], "FIELD=VALUE"),
        (["nosuch"], "nosuch"),
        ([""], "bertlab"),
        (["--nosuch"], "--nosuch"),
        (["ablate", "masking", "--sets"], "--sets"),
        (["runs", "extra"], "extra"),
        (["studies", "--json=yes"], "json"),
    ],
)
def test_refused(refused, arguments, says):
    refused(*arguments, says=f"(?i){says}")


def test_a_variable_that_is_set_for_always_is_no_option(call, place, monkeypatch):
    monkeypatch.setenv("BERTLAB_DATA", str(place))
    assert call("ablate", "masking", *SMOKE, "--dry-run") == 0
    monkeypatch.setenv("BERTLAB_WORKERS", "2")
    assert call("plan", "masking", *SMOKE, "--peak-tflops", "100") == 0
