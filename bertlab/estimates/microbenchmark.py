"""Times this machine: matrix products, and steps of pre-trainings as jobs run them."""

import dataclasses
import gc
import resource
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bertlab.machine import Machine
from bertlab.recipe import Recipe, cost
from bertlab.text.tokens import TokenisedCorpus

WARM_UP_STEPS = {"cpu": 2, "cuda": 10}
"""Steps before the clock starts: memory is allocated and graphs are compiled in them."""
MIN_STEPS = 3
MAX_STEPS = 24
TIMED_SECONDS = 3.0
STEP_SECONDS = 0.5
"""A plan times longer steps on fewer sequences."""
FEWEST_SEQUENCES = 2
LONGEST_STEP_SECONDS = 4.0
"""A plan does not try a model whose steps of so few sequences take longer: a trial would take minutes and gigabytes."""
TYPICAL_MFU = 0.3
"""Share of the peak that training reaches, about: ModernBERT-base reports 25 % on eight H100, well-tuned larger models
40 to 50 %."""
PRODUCT = (4096, 768, 3072)
"""The matrix product that measures the peak: 4,096 tokens and a feed-forward layer of BERT-base."""


def peak(machine: Machine, product: tuple[int, int, int] = PRODUCT) -> float:
    """FLOP/s of a matrix product in the precision of a machine, on one device: the median over half a second.

    The entries are random: equal ones draw less power, and a GPU then runs faster than it does on real data.
    """
    import torch
    from torch.utils.benchmark import Timer

    kind = {"bf16": torch.bfloat16, "fp32": torch.float32}[machine.precision_used]
    rows, inner, columns = product
    generator = torch.Generator(machine.device).manual_seed(0)
    left = torch.randn(rows, inner, device=machine.device, generator=generator).to(kind)
    right = torch.randn(columns, inner, device=machine.device, generator=generator).to(kind)
    values = {"linear": torch.nn.functional.linear, "left": left, "right": right}
    timer = Timer("linear(left, right)", globals=values, num_threads=machine.num_threads)
    return 2.0 * rows * inner * columns / timer.blocked_autorange(min_run_time=0.5).median


class _Timed(Exception):
    """Ends a pre-training when enough steps are timed."""


class StepTimer:
    """A `Progress` that times steps, waiting for the device only twice, and then raises `_Timed`."""

    def __init__(self, machine: Machine, max_steps: int = MAX_STEPS) -> None:
        self._machine, self._max_steps = machine, max_steps
        self._first, self._steps = time.perf_counter(), 0
        self.step = 0.0  # seconds

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        """Counts a step."""
        self._steps += 1
        warm_up = min(WARM_UP_STEPS[self._machine.device], total - 1)
        if self._steps == warm_up:
            self._first = self._now()
        timed = self._steps - warm_up
        long = timed >= self._max_steps or time.perf_counter() - self._first >= TIMED_SECONDS
        if done == total or (timed >= MIN_STEPS and long):
            self.step = (self._now() - self._first) / timed
            raise _Timed

    def _now(self) -> float:
        if self._machine.gpus:
            import torch

            torch.cuda.synchronize()
        return time.perf_counter()


def step_seconds(recipe: Recipe, corpus: TokenisedCorpus, work: Path, machine: Machine, max_steps: int) -> float:
    """Seconds per step of pre-training `recipe` in the empty directory `work`, over at most `max_steps` steps."""
    from bertlab.training.pretraining import pretrain

    timer = StepTimer(machine, max_steps)
    with suppress(_Timed):
        pretrain(recipe, corpus, work, machine, (100,), timer)
    gc.collect()  # Trainer and module refer to each other: a plan would hold the models of all its trials
    return timer.step


def _of_one_length(recipe: Recipe, length: int) -> Recipe:
    """The recipe with the same model and sequences of `length` tokens in all steps, of any text."""
    model = recipe.model.for_length(recipe.inputs.longest)
    inputs = dataclasses.replace(recipe.inputs, length=length, phase2_length=0, phase2_share=0.0, epochs=0, corpora=0)
    schedule = dataclasses.replace(recipe.schedule, over_steps={})
    return dataclasses.replace(recipe, model=model, inputs=inputs, schedule=schedule)


def can_be_tried(recipe: Recipe, peak_flops: float) -> bool:
    """Whether a trial takes seconds, by the usual share of this peak."""
    longest = max(length for length, _ in cost.phases(recipe))
    flops = FEWEST_SEQUENCES * longest * cost.flops_per_token(_of_one_length(recipe, longest))
    return flops <= LONGEST_STEP_SECONDS * TYPICAL_MFU * peak_flops


def flops_per_second(recipe: Recipe, corpus: TokenisedCorpus, work: Path, machine: Machine, peak_flops: float) -> float:
    """The speed of pre-training `recipe`, timed in the empty directory `work` in steps of about `STEP_SECONDS`."""
    size, seconds = recipe.schedule.batch_size, 0.0
    for length, steps in cost.phases(recipe):
        short = _of_one_length(recipe, length)
        possible = STEP_SECONDS * TYPICAL_MFU * peak_flops / (length * cost.flops_per_token(short))
        batch = min(size, max(FEWEST_SEQUENCES, int(possible)))
        short = dataclasses.replace(short, schedule=dataclasses.replace(short.schedule, batch_size=batch))
        folder = work / f"length-{length}"
        folder.mkdir()
        seconds += steps * step_seconds(short, corpus, folder, machine, MAX_STEPS) * size / batch
    return cost.flops(recipe) / seconds


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """How fast a machine pre-trains; `bertlab bench --json` prints these fields."""

    seconds_per_step: float
    sequences_per_step: int
    tokens_per_second: float
    """Special tokens included, padding excluded."""
    flops_per_second: float
    peak_flops_per_second: float
    """The peak of matrix products in the same precision."""
    share_of_peak: float
    """Model FLOPs utilisation."""
    peak_memory_bytes: int
    """The memory of the process; on a GPU, of the GPU."""


def throughput(recipe: Recipe, corpus: TokenisedCorpus, work: Path, machine: Machine) -> Throughput:
    """Times pre-training `recipe` with its own batch size, in the empty directory `work`."""
    from bertlab.inputs.batches import Batches

    length, _ = cost.phases(recipe)[0]
    recipe = _of_one_length(recipe, length)
    step = step_seconds(recipe, corpus, work, machine, 10 * MAX_STEPS)
    highest = peak(machine)
    tokens = Batches(recipe, corpus).tokens(10 * MAX_STEPS) / (10 * MAX_STEPS)
    flops = tokens * cost.flops_per_token(recipe, vocabulary=corpus.tokenizer.size)
    return Throughput(
        seconds_per_step=step,
        sequences_per_step=recipe.schedule.batch_size,
        tokens_per_second=tokens / step,
        flops_per_second=flops / step,
        peak_flops_per_second=highest,
        share_of_peak=flops / step / highest,
        peak_memory_bytes=peak_memory(machine),
    )


def peak_memory(machine: Machine) -> int:
    """The largest number of bytes that this process has used; of a GPU, of its memory."""
    if machine.gpus:
        import torch

        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
