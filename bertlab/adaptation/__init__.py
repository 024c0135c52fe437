"""How a pre-trained model is adapted to a task: one file per arm."""

from bertlab.adaptation.adapters import Adapters as Adapters
from bertlab.adaptation.base import Adaptation as Adaptation
from bertlab.adaptation.features import Features as Features
from bertlab.adaptation.finetuning import FineTuning as FineTuning
