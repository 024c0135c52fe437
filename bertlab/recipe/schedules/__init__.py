"""How the learning rate and other numbers go on over the steps: one file a curve, behind the protocol `Curve`."""

from bertlab.recipe.schedules.base import Curve as Curve
from bertlab.recipe.schedules.constant import Constant as Constant
from bertlab.recipe.schedules.cosine import Cosine as Cosine
from bertlab.recipe.schedules.inverse_square_root import InverseSquareRoot as InverseSquareRoot
from bertlab.recipe.schedules.linear import LinearDecay as LinearDecay
from bertlab.recipe.schedules.ramp import Ramp as Ramp
from bertlab.recipe.schedules.stages import Stages as Stages
from bertlab.recipe.schedules.warmup_stable_decay import WarmupStableDecay as WarmupStableDecay
