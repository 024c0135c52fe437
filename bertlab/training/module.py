"""What pre-training and fine-tuning share: optimiser, schedule, clipping, and an end where training diverges."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from bertlab import keyed, recipe
from bertlab.errors import ArmFailed, RunFailed
from bertlab.model import power_norm
from bertlab.model.attention import StackedLinear
from bertlab.names import shown
from bertlab.training import own_trainer

CURVE_POINTS = 100
"""Points of a training curve, each the mean of the losses since the one before."""
STEPS = 50
"""Steps of an accelerator that are read at once; on the CPU, where nothing waits, each step is read as it ends."""


class MetricBuffer:
    """Losses and gradient norms of the steps since the last `read`, on the device: no step waits for them."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._values: list[Tensor] = []

    def add(self, step: int, *values: Tensor) -> None:
        """Appends the scalars of one step, all on one device."""
        self._steps.append(step)
        self._values.append(torch.stack([value.detach().double() for value in values]))

    @property
    def due(self) -> bool:
        """Whether it is time to read."""
        return bool(self._steps) and (self._values[0].device.type == "cpu" or len(self._steps) >= STEPS)

    def read(self) -> list[tuple[int, list[float]]]:
        """Returns each step with its scalars, in one transfer, and empties the buffer."""
        steps, values = self._steps, self._values
        self._steps, self._values = [], []
        return list(zip(steps, torch.stack(values).tolist(), strict=True)) if steps else []


class TrainingModule(LightningModule):
    """Automatic optimisation; `trainer.global_step` is the number of updates done."""

    def __init__(self, schedule: recipe.Schedule, optimizer: recipe.Optimizer) -> None:
        super().__init__()
        self.schedule, self.optimizer_settings = schedule, optimizer
        self.buffer = MetricBuffer()  # the losses and the gradient norm of each of the latest steps, of this process
        self.step_losses: Tensor | None = None  # of the step that is being computed, as far as it is done
        self.running_norms: list[power_norm.PowerNorm] = []  # which keep statistics of the steps

    def configure_optimizers(self) -> Any:
        """The optimiser of the recipe and the schedule of its learning rate, step by step."""
        optimizer = build(self, self.optimizer_settings, self.lr_multipliers())
        scheduler = LambdaLR(optimizer, self.schedule.learning_rate)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def lr_multipliers(self) -> Mapping[nn.Parameter, float]:
        """The parameters that have a learning rate of their own, as a multiple of the schedule's."""
        return {}

    @property
    def micro_batches(self) -> int:
        """The micro-batches of this process in a step."""
        return 1

    def setup(self, stage: str) -> None:
        """Raises `BadInput` for a Trainer of another precision."""
        own_trainer.check_precision(self.trainer.precision)

    def on_fit_start(self) -> None:
        """Raises `BadInput` for a Trainer that would train something else."""
        own_trainer.check(self, self.schedule.steps, self.micro_batches)

    def on_train_start(self) -> None:
        """Finds the normalisations whose statistics each step updates."""
        self.running_norms = power_norm.running(self)
        self._end_with_schedule()

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Ends the training with its schedule, also if the Trainer has no `max_steps`."""
        self._end_with_schedule()

    def _end_with_schedule(self) -> None:
        if self.trainer.max_steps == -1 and self.global_step >= self.schedule.steps:
            self.trainer.should_stop = True

    def total(self, values: Tensor) -> Tensor:
        """The sum of `values` over the processes that share a batch."""
        return values

    def configure_gradient_clipping(
        self, optimizer: Optimizer, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Clips the gradients to the global norm that the recipe sets, whatever the Trainer does.

        A loss or gradient that is not finite ends the training before the update, or on a GPU some steps later: until
        then updates change nothing.
        """
        assert self.step_losses is not None
        power_norm.update_statistics(self.running_norms, self.total)
        norm = clip(optimizer, self.optimizer_settings.max_grad_norm, self.step_losses.sum())
        self.buffer.add(self.global_step, *self.step_losses, norm)
        self.step_losses = None
        if self.buffer.due:
            self.settle()

    @abstractmethod
    def settle(self) -> None:
        """Reads the buffer. Raises `RunFailed`, status `diverged`, if a loss or gradient in it is not finite."""

    def seed_dropout(self, *purpose: int | str) -> None:
        """Seeds the dropout of a micro-batch by a key, which repeats it to the bit, also after a resumption.

        On this device alone: `torch.manual_seed` takes a stack trace for each kind of device.
        """
        generator = torch.cuda if self.device.type == "cuda" else torch.default_generator
        generator.manual_seed(keyed.key(*purpose))

    def add_losses(self, *losses: Tensor) -> None:
        """Adds the losses of one micro-batch to those of its step."""
        new = torch.stack([loss.detach().double() for loss in losses])
        self.step_losses = new if self.step_losses is None else self.step_losses + new

    def at_curve_point(self, step: int) -> bool:
        """Whether update number `step`, from 1, ends a stretch of the curve: a hundredth of all, or the last one."""
        steps = self.schedule.steps
        return step % max(1, steps // CURVE_POINTS) == 0 or step == steps

    def log_at(self, step: int, metrics: Mapping[str, float]) -> None:
        """Logs in float64, with the number of updates done as the step; Lightning's defaults are fp32 and one less.

        Loggers that train get the metrics from here: a metric `step`, by which Lightning takes another one, would also
        replace its own in the names of checkpoints.
        """
        training = self.trainer.state.fn == TrainerFn.FITTING
        values = {name: torch.tensor(value, dtype=torch.float64) for name, value in metrics.items()}
        self.log_dict(values, logger=False if training else None)
        if training and not self.trainer.sanity_checking:
            self.to_loggers(step, metrics)

    def to_loggers(self, step: int, metrics: Mapping[str, float]) -> None:
        """Gives the metrics of a step to the loggers."""
        for logger in self.trainer.loggers:
            logger.log_metrics(dict(metrics), step)
            logger.save()


def require_scalar(value: Any, arm: object, method: str) -> None:
    """Raises `ArmFailed` if the loss that an arm returns is not a scalar tensor."""
    if not isinstance(value, Tensor) or value.ndim:
        returned = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else shown(value)
        raise ArmFailed.of(arm, method, f"returns {returned}: return a scalar tensor")


def require_finite(step: int, loss: float, norm: float) -> None:
    """Raises `RunFailed`, status `diverged`, if the loss or the gradient norm of update number `step` is not finite."""
    for name, value in (("loss", loss), ("gradient", norm)):
        if not math.isfinite(value):
            raise RunFailed(f"diverged at step {step}: the {name} is not finite", status="diverged")


def build(
    module: nn.Module, settings: recipe.Optimizer, lr_multipliers: Mapping[nn.Parameter, float] | None = None
) -> Optimizer:
    """The optimiser of a recipe: matrices have weight decay; biases and LayerNorm have none (BERT, appendix A.2).

    `lr_multipliers` has the parameters that are not trained at the common learning rate. The `lr` of a group is its
    multiple of the common one: a `LambdaLR` multiplies it.
    """
    stacked = {child.weight: child.count for child in module.modules() if isinstance(child, StackedLinear)}
    encoders = [child for name, child in module.named_modules() if name.rpartition(".")[2] == "encoder"]
    hidden = {part.weight for encoder in encoders for part in encoder.modules() if isinstance(part, nn.Linear)}
    trained = [value for value in module.parameters() if value.requires_grad]
    multipliers = [(lr_multipliers or {}).get(value, 1.0) for value in trained]
    groups = []
    for multiplier in dict.fromkeys(multipliers):
        values = [value for value, factor in zip(trained, multipliers, strict=True) if factor == multiplier]
        for matrix, decay in ((1, settings.weight_decay), (0, 0.0)):
            parameters = [value for value in values if (value.dim() >= 2) == matrix]
            matrices = [stacked.get(value, matrix) for value in parameters]
            group = {"params": parameters, "matrices": matrices, "hidden": [value in hidden for value in parameters]}
            groups.append(group | {"weight_decay": decay, "lr": multiplier})
    built: Optimizer = settings.build([group for group in groups if group["params"]])
    return built


def clip(optimizer: Optimizer, max_norm: float, loss: Tensor) -> Tensor:
    """Clips the gradients to the global norm `max_norm` and returns the norm before, a scalar; waits for no device.

    From the first step on whose `loss` or norm is not finite, updates change nothing.
    """
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    norm = nn.utils.clip_grad_norm_(parameters, max_norm, foreach=True)
    broken = (~torch.isfinite(norm + loss)).float()
    fused: Any = optimizer
    before = getattr(fused, "found_inf", None)  # torch's own name for what makes a fused optimiser hold still
    fused.found_inf = broken if before is None else torch.maximum(before, broken)
    return norm
