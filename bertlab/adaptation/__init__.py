"""How a pre-trained model is adapted to a task: one file per arm."""

from bertlab.adaptation.adapters import Adapters as Adapters
from bertlab.adaptation.base import Adaptation as Adaptation
from bertlab.adaptation.bert2bert import Bert2Bert as Bert2Bert
from bertlab.adaptation.bitfit import BitFit as BitFit
from bertlab.adaptation.elmo import ELMo as ELMo
from bertlab.adaptation.features import Features as Features
from bertlab.adaptation.finetuning import FineTuning as FineTuning
from bertlab.adaptation.gpt import GPT as GPT
from bertlab.adaptation.gradual_unfreezing import GradualUnfreezing as GradualUnfreezing
from bertlab.adaptation.lora import LoRA as LoRA
from bertlab.adaptation.no_tuning import NoTuning as NoTuning
from bertlab.adaptation.top_layers import TopLayers as TopLayers
from bertlab.adaptation.zero_shot import ZeroShot as ZeroShot
