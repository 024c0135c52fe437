"""Jobs, one file a kind, behind the protocol of `jobs.base`: a kind of your own is a subclass of `Job` with its folder
in a store, `class Count(Job, kinds=("count",))`."""

from bertlab.lab.jobs.base import Job as Job
from bertlab.lab.jobs.base import Pretrained as Pretrained
from bertlab.lab.jobs.checkpoint import CheckpointImport as CheckpointImport
from bertlab.lab.jobs.corpus import CorpusPreparation as CorpusPreparation
from bertlab.lab.jobs.ensemble import EnsembleEvaluation as EnsembleEvaluation
from bertlab.lab.jobs.evaluation import Evaluation as Evaluation
from bertlab.lab.jobs.heldout import HeldOutEvaluation as HeldOutEvaluation
from bertlab.lab.jobs.pretraining import Pretraining as Pretraining
from bertlab.lab.jobs.trunk import TrunkTraining as TrunkTraining
