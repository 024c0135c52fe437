"""A short measurement of this machine: its matrix products, and training and judging as jobs do them.

Nothing is imitated: the functions that carry out jobs are run on few steps, and the clock is read where they tell of
their progress. What would take long even so is made smaller and scaled: fewer sequences a step, fewer rows judged.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.machine import Machine, has_bf16
from bertlab.recipe import Features, Finetuning, Recipe, cost
from bertlab.recipe.identity import science
from bertlab.store.files import read_lines, write_json
from bertlab.tasks.rows import TaskData
from bertlab.text.tokens import Part, TokenisedCorpus

STEPS = 24
"""Updates of a measurement, at most."""
FEWEST_STEPS = 5
SECONDS_OF_STEPS = 3.0
"""Fewer are made where they take longer."""
SECONDS_A_STEP = 0.5
"""A step that takes longer is measured on fewer sequences."""
SECONDS_JUDGING = 2.0
"""Judging, and reading features, is measured on fewer rows where it takes longer."""
ROWS = 10_000
"""Rows of a task that are tokenised at most."""
USUAL = 0.3
"""Of the peak, about what a training reaches: sizes of measurements are chosen by it, never a result."""
PRODUCT = (4096, 768, 3072)
"""Shape of the matrix product that the peak is measured by."""


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What a job takes, in seconds."""

    start: float
    """Until its first step: reading, tokenising, building the model, and all training on another task before."""
    step: float
    end: float
    """After its last step: judging and saving."""
    milestone: float = 0.0
    """At each milestone but the last: judging on held-out text and keeping the weights."""

    def seconds(self, steps: int, milestones: int = 1) -> float:
        """Of so many steps and milestones."""
        return self.start + steps * self.step + max(0, milestones - 1) * self.milestone + self.end


@dataclass
class Clock:
    """A `Progress` that notes when each step ended."""

    began: float = field(default_factory=time.perf_counter)
    ended: list[float] = field(default_factory=list)

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        """A step has ended; what is told of reading is none."""
        if not stage.startswith("reading"):
            self.ended.append(time.perf_counter())

    def speed(self) -> Speed:
        """Of a job that has ended now."""
        now = time.perf_counter()
        if len(self.ended) < 2:
            return Speed(start=0.0, step=0.0, end=now - self.began)
        step = middle([later - former for former, later in zip(self.ended, self.ended[1:], strict=False)])
        return Speed(start=max(0.0, self.ended[0] - self.began - step), step=step, end=now - self.ended[-1])


def middle(values: list[float]) -> float:
    """The mean of the middle half: what happens now and then, on a busy machine, does not count."""
    ordered, quarter = sorted(values), len(values) // 4
    return statistics.fmean(ordered[quarter : len(ordered) - quarter])


def peak(machine: Machine, precision: str, product: tuple[int, int, int] = PRODUCT) -> float:
    """Operations a second of a matrix product in `precision`, bf16 or fp32, on one device: the median of half a second.

    By default the product is that of 4,096 tokens with a feed-forward layer of BERT-base.
    """
    import torch

    torch.set_num_threads(machine.num_threads)
    kind = {"bf16": torch.bfloat16, "fp32": torch.float32}[precision]
    rows, inner, columns = product
    left = torch.ones(rows, inner, dtype=kind, device=machine.device)
    right = torch.ones(columns, inner, dtype=kind, device=machine.device)
    together = 50 if machine.gpus else 1  # on a GPU one alone is over before the clock is read
    times: list[float] = []
    with torch.inference_mode():
        torch.nn.functional.linear(left, right)
        began = time.perf_counter()
        while len(times) < 5 or time.perf_counter() - began < 0.5:
            since = time.perf_counter()
            for _ in range(together):
                torch.nn.functional.linear(left, right)
            if machine.gpus:
                torch.cuda.synchronize()
            times.append((time.perf_counter() - since) / together)
    return 2.0 * rows * inner * columns / statistics.median(times)


def peaks(machine: Machine) -> dict[str, float]:
    """`peak` in fp32, and in bf16 where the hardware has it."""
    names = ("fp32", "bf16") if has_bf16(machine.device) else ("fp32",)
    return {name: peak(machine, name) for name in names}


def pretraining(recipe: Recipe, corpus: TokenisedCorpus, work: Path, machine: Machine, operations: float) -> Speed:
    """What pre-training `recipe` takes; leaves a model in the empty directory `work` that can be measured on tasks.

    `operations` is the machine's peak, a second.
    """
    machine = _compiling(machine, recipe)
    speeds = []
    for number, (length, steps) in enumerate(cost.phases(recipe)):
        short = _short(recipe, length, operations)
        folder = work if not number else work / f"length-{length}"
        folder.mkdir(exist_ok=True)
        forward = length * cost.flops_per_token(short) / 3
        some, judged, all_judged = _judging(corpus, length, _at_most(SECONDS_JUDGING, operations, forward))
        speed = _pretrained(short, some, folder, machine)
        speed = dataclasses.replace(
            speed,
            step=speed.step * recipe.schedule.batch_size / short.schedule.batch_size,
            milestone=speed.milestone * judged,
            end=speed.end * all_judged,
        )
        speeds.append((steps, speed))
    step = sum(steps * speed.step for steps, speed in speeds) / max(1, recipe.schedule.steps)
    return dataclasses.replace(speeds[0][1], step=step)


def _compiling(machine: Machine, recipe: Recipe) -> Machine:
    """The machine as it compiles the whole training, which it might not do for a short one."""
    if machine.compile != "auto":
        return machine
    return dataclasses.replace(machine, compile="yes" if machine.compiles(recipe) else "no")


def _judging(corpus: TokenisedCorpus, length: int, most: int) -> tuple[TokenisedCorpus, float, float]:
    """The corpus with at most so many sequences to judge on, about, and how many times as long judging takes on those
    of a milestone and of a result."""
    from bertlab.inputs.batches import first
    from bertlab.training.pretraining import EVALUATION_ROWS

    part = first(corpus.heldout, most * length)
    rows = [max(1.0, len(text.tokens) / length) for text in (corpus.heldout, part)]
    milestone, result = (min(rows[0], most) / min(rows[1], most) for most in (EVALUATION_ROWS // 4, EVALUATION_ROWS))
    held = Part(tokens=part.tokens, sentences=part.sentences, documents=part.documents)
    return dataclasses.replace(corpus, heldout=held), milestone, result


def _pretrained(recipe: Recipe, corpus: TokenisedCorpus, work: Path, machine: Machine) -> Speed:
    from bertlab.training.pretraining import pretrain

    clock = Clock()
    pretrain(recipe, corpus, work, machine, (50, 100), clock)
    speed = clock.speed()
    write_json(work / "recipe.json", {"science": {"recipe": science(recipe)}})
    judged = [line["seconds"] for line in read_lines(work / "timing.jsonl") if line["stage"] == "evaluate"]
    return dataclasses.replace(speed, milestone=min(judged[:-1], default=0.0))  # the last one is that of the result


def _short(recipe: Recipe, length: int, operations: float) -> Recipe:
    """The recipe with few steps of sequences of one length, and no more of them than half a second takes."""
    model = dataclasses.replace(recipe.model, max_positions=recipe.model.positions_for(recipe.inputs.longest))
    inputs = dataclasses.replace(recipe.inputs, length=length, phase2_length=0, phase2_share=0.0, epochs=0)
    row = length * cost.flops_per_token(recipe, length=length)
    batch = min(recipe.schedule.batch_size, _at_most(SECONDS_A_STEP, operations, row))
    steps = min(recipe.schedule.steps, _steps(operations, batch * row))
    schedule = dataclasses.replace(recipe.schedule, batch_size=batch, steps=steps)
    return dataclasses.replace(recipe, model=model, inputs=inputs, schedule=schedule)


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """What a machine makes of a pre-training."""

    seconds_per_step: float
    sequences_per_step: int
    tokens_per_second: float
    """Specials included, padding not."""
    flops_per_second: float
    peak_flops_per_second: float
    """Of matrix products in the same precision, measured before and after."""
    share_of_peak: float
    peaks_flops_per_second: dict[str, float]
    """By precision: fp32, and bf16 where the hardware has it or it is used."""
    share_waiting_for_data: float
    """Of a step, what making its batch takes."""
    peak_memory_bytes: int
    """Of the process; on a GPU, of its memory."""


def throughput(recipe: Recipe, corpus: TokenisedCorpus, work: Path, machine: Machine) -> Throughput:
    """How fast `recipe` is pre-trained, in the empty directory `work`."""
    used = machine.precision_used
    before = peaks(machine)
    if used not in before:  # bf16 was asked for, and is imitated
        before[used] = peak(machine, used)
    length, _ = cost.phases(recipe)[0]
    machine = _compiling(machine, recipe)
    short = _short(recipe, length, before[used])
    speed = _pretrained(short, corpus, work, machine)
    highest = (before[used] + peak(machine, used)) / 2
    data, tokens = _batches(short, corpus)
    flops = tokens * cost.flops_per_token(short, vocabulary=corpus.tokenizer.size)
    return Throughput(
        seconds_per_step=speed.step,
        sequences_per_step=short.schedule.batch_size,
        tokens_per_second=tokens / speed.step,
        flops_per_second=flops / speed.step,
        peak_flops_per_second=highest,
        share_of_peak=flops / speed.step / highest,
        peaks_flops_per_second=before | {used: highest},
        share_waiting_for_data=min(1.0, data / speed.step),
        peak_memory_bytes=peak_memory(machine),
    )


def _batches(recipe: Recipe, corpus: TokenisedCorpus) -> tuple[float, float]:
    """Seconds that making a batch takes, and the tokens in it, without padding: means over many steps."""
    from bertlab.inputs.batches import Batches

    batches, steps = Batches(recipe, corpus), 10 * STEPS
    batches.batch(0)  # sequences are laid out once for thousands of steps
    began = time.perf_counter()
    for step in range(1, steps + 1):
        batches.batch(step)
    return (time.perf_counter() - began) / steps, batches.tokens(steps) / steps


def peak_memory(machine: Machine) -> int:
    """Bytes that this process has used at most; of a GPU, of its memory."""
    if machine.gpus:
        import torch

        return int(torch.cuda.max_memory_allocated())
    import resource
    import sys

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def finetuning(
    pretrained: Path,
    data: TaskData,
    settings: Finetuning | Features,
    recipe: Recipe,
    machine: Machine,
    operations: float,
    *,
    intermediate_task: TaskData | None = None,
) -> Speed:
    """Times fine-tuning and evaluation of the model in `pretrained`, that of `recipe`, after any `intermediate_task`.

    The rows are at hand. `operations` is the machine's peak, a second.
    """
    from bertlab.training import features
    from bertlab.training import finetuning as tuning

    before = 0.0
    if intermediate_task is not None:  # trained on in the same way, and not judged on
        speed = finetuning(pretrained, intermediate_task, settings, recipe, machine, operations)
        before = speed.start + speed.step * training_steps(settings, trained_rows(settings, intermediate_task))
    forward = settings.length * cost.encoder_flops_per_token(recipe.model, settings.length)
    batch = min(settings.batch_size, _at_most(SECONDS_A_STEP, operations, 3 * forward))
    most = _at_most(SECONDS_JUDGING, operations, forward)
    rows, judged = trained_rows(settings, data), judged_rows(settings, data.evaluation)
    steps = min(training_steps(settings, rows), _steps(operations, 3 * batch * forward))
    some = min(rows, max(ROWS if isinstance(settings, Finetuning) else most, batch * steps))
    short = dataclasses.replace(
        settings, batch_size=batch, max_train_examples=some, max_eval_examples=min(judged, most), max_steps=steps
    )
    clock = Clock()
    if isinstance(short, Features):
        features.probe(pretrained, data, short, seed=0, finetune_seed=0, machine=machine, progress=clock)
    else:
        tuning.finetune(pretrained, data, short, seed=0, finetune_seed=0, machine=machine, progress=clock)
    speed = clock.speed()
    return Speed(
        start=speed.start * rows / some + before,
        step=speed.step * settings.batch_size / batch,
        end=speed.end * judged / short.max_eval_examples,
    )


def trained_rows(settings: Finetuning | Features, data: TaskData) -> int:
    """Rows of a task that are trained on."""
    return min(settings.max_train_examples or len(data.train), len(data.train))


def judged_rows(settings: Finetuning | Features, rows: object) -> int:
    """Of the `rows` of a split, those that are judged."""
    count = len(rows)  # type: ignore[arg-type]
    return min(settings.max_eval_examples or count, count)


def training_steps(settings: Finetuning | Features, rows: int) -> int:
    """Updates that the epochs over so many rows come to."""
    steps = max(1, math.ceil(settings.epochs * math.ceil(rows / settings.batch_size)))
    return min(steps, settings.max_steps) if settings.max_steps else steps


def _steps(operations: float, each: float) -> int:
    """How many steps of `each` operations are made."""
    return min(STEPS, max(FEWEST_STEPS, int(SECONDS_OF_STEPS * USUAL * operations / each)))


def _at_most(seconds: float, operations: float, each: float) -> int:
    """How many units of `each` operations a machine does in so many seconds; at least two."""
    return max(2, int(seconds * USUAL * operations / each))
