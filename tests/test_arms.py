"""One component, one file: nothing else in the package names it, but for the two lists of public names."""

import ast
import sys
from pathlib import Path

import pytest

import bertlab
from bertlab.adaptation import Adaptation
from bertlab.recipe import Format, Loss, Optimizer, Tokenizer
from bertlab.recipe.ranges import arms
from bertlab.recipe.schedules import Curve

ROOT = Path(bertlab.__file__).parent
DEFAULTS = {"MaskedLM", "NextSentence", "SegmentPairs", "FullSentences", "WordPiece", "LinearDecay"}
"""What a recipe has if nothing else is said, and what `token_matched_to` counts tokens by."""
BASES = {"FineTuning", "ByteLevelBPE", "LAMB", "Unigram"}
"""What other components extend."""
SETTINGS = {"Features", "ZeroShot"}
"""Scales have settings of its own for it, or a command makes nothing else."""
COMPONENTS = {
    arm.__name__: (arm, axis)
    for axis in (Loss, Format, Tokenizer, Optimizer, Curve, Adaptation)
    for arm in arms(axis).values()
    if arm.__module__.startswith("bertlab.")
}
PROOFS = {
    "Bert2Bert",
    "BidirectionalLM",
    "BitFit",
    "ELMo",
    "TokenGenerator",
    "ReplacedTokens",
    "SampledLM",
    "GPT",
    "LoRA",
    "TopLayers",
    "GradualUnfreezing",
    "Constant",
    "Cosine",
    "InverseSquareRoot",
    "WarmupStableDecay",
    "Ramp",
    "Stages",
}


def words(path):
    """The names that the code of a file uses, and its texts, but not what comments and docstrings say."""
    names, texts = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    return names, texts


STUDIES = "lab/papers.py"
"""What studies share, and is data as they are."""
WORDS = {path.relative_to(ROOT).as_posix(): words(path) for path in [*ROOT.rglob("*.py"), *ROOT.rglob("*.pyi")]}
del WORDS[STUDIES]


@pytest.mark.parametrize("name", sorted(COMPONENTS.keys() - DEFAULTS - BASES - SETTINGS))
def test_a_component_is_named_in_its_own_file_and_in_two_lists(name):
    arm, axis = COMPONENTS[name]
    own = Path(sys.modules[arm.__module__].__file__).relative_to(ROOT).as_posix()
    package = Path(sys.modules[axis._home].__file__).relative_to(ROOT).as_posix()
    others = {path: both for path, both in WORDS.items() if Path(path).stem != Path(own).stem}
    assert {path for path, (names, _) in others.items() if name in names} == {package, "__init__.pyi"}
    if name in PROOFS - {"Cosine"}:  # rotary positions have a cosine, too
        assert not [path for path, (_, texts) in others.items() if arm.kind in texts]


def test_the_proofs_are_components():
    assert COMPONENTS.keys() - DEFAULTS - BASES - SETTINGS >= PROOFS
    assert COMPONENTS.keys() >= DEFAULTS | BASES | SETTINGS
