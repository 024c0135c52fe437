"""What is measured of a fine-tuned model beside its answers: one file per arm."""

from bertlab.diagnostics.base import Diagnostic as Diagnostic
from bertlab.diagnostics.layer_movement import LayerMovement as LayerMovement
from bertlab.diagnostics.loss_at_distance import LossAtDistance as LossAtDistance
from bertlab.diagnostics.loss_curves import LossCurves as LossCurves
from bertlab.diagnostics.loss_surface import LossSurface as LossSurface
