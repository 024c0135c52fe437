"""The version, and the module of each public name: what `bertlab/__init__.py` offers."""

__version__ = "0.1.0"

_NAMES = {
    "bertlab.adaptation": ("Adapters", "Features", "FineTuning"),
    "bertlab.api": ("make_recipe", "open_run", "prepare_corpus", "results"),
    "bertlab.lab.study": ("Claim", "Measurement", "Size", "Study", "Task", "Variant", "table"),
    "bertlab.objectives": (
        *("CausalLM", "Corruption", "Loss", "MaskedLM", "NextSentence", "SentenceOrder"),
        *("GeometricSpans", "Selection", "Tokens", "WholeWords"),
    ),
    "bertlab.recipe": ("Inputs", "Model", "Optimizer", "Recipe", "Schedule", "Tokenizer"),
    "bertlab.text.tokenizers": ("TrainedTokenizer", "WordPiece"),
    "bertlab.training.data": ("PretrainingDataModule", "TaskDataModule"),
    "bertlab.training.finetuning": ("FinetuningModule",),
    "bertlab.training.pretraining": ("PretrainingModule",),
}
MODULES = {name: module for module, names in _NAMES.items() for name in names}
"""The module that defines each public name."""
