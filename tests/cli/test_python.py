"""The Python interface, as the README shows it."""

import re
from pathlib import Path

import pytest
import torch

import bertlab
from bertlab.errors import BadInput
from bertlab.lab import scales
from bertlab.progress import silent
from bertlab.training.pretraining import pretrain

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.filterwarnings("ignore")  # Lightning's advice to the user's own Trainer
def test_the_example_of_the_readme_trains_as_a_command_does(finished, machine, tmp_path, monkeypatch):
    (block,) = re.findall(r"<!-- python -->\n```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "runs").symlink_to(finished)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    module, recipe = names["module"], names["recipe"]
    assert recipe.objective[0].mask_prob == 0.4
    assert names["means"].loc["80/10/10"].notna().all()
    assert sum(value.numel() for value in names["encoder"].parameters()) > 1000

    (tmp_path / "work").mkdir()
    result = pretrain(recipe, names["corpus"], tmp_path / "work", machine, (100,), silent)
    assert module.heldout == pytest.approx(result["heldout"])
    kept = bertlab.PretrainingModule(recipe, names["corpus"].tokenizer.size).model
    kept.load(tmp_path / "work" / "model.safetensors")
    for (name, value), other in zip(kept.named_parameters(), module.model.parameters(), strict=True):
        assert torch.equal(value, other), name


def test_a_corpus_that_is_there_is_opened_as_it_is(tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text("".join(f'{{"text": "One sentence, number {number}. And another."}}\n' for number in range(200)))
    recipe = bertlab.make_recipe("smoke")
    made = bertlab.prepare_corpus(tmp_path / "corpus", recipe, [str(text)])
    text.unlink()
    again = bertlab.prepare_corpus(tmp_path / "corpus", recipe, [str(text)])
    assert again.facts == made.facts


def test_what_is_unknown_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="unknown scale 'smok'"):
        bertlab.make_recipe("smok")
    with pytest.raises(BadInput, match="no-such"):
        bertlab.open_run(tmp_path, "no-such")
    assert bertlab.results(tmp_path).empty
    assert bertlab.make_recipe("tiny") == scales.find("tiny").recipe
