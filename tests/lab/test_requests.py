"""Requests that no plan can be made of, and what they are told."""

from pathlib import Path

import pytest

from bertlab.cli import options
from bertlab.errors import BadInput
from bertlab.lab import plan, scales
from bertlab.lab.jobs import CheckpointImport
from bertlab.lab.study import Variant
from bertlab.model.interop.checkpoint import Checkpoint
from plans import own, request

WORDS = scales.find("smoke").reading(1000)


def test_variants_that_are_the_same_runs_are_refused(machine):
    with pytest.raises(BadInput, match="'own': all its variants are the same runs at scale smoke"):
        plan.make(request(studies=(own(Variant("a"), Variant("b")),)), machine)


def test_a_budget_of_words_costs_no_more_than_the_whole_text(machine):
    """The rest of a text is read, and not tokenised."""
    costs = {}
    for words in (0, 1000, 10**9):
        (corpus, *_) = plan.make(
            request(studies=(own(Variant("a")),), scale=scales.find("smoke").reading(words)), machine
        ).jobs
        costs[words] = corpus.work().text.bytes, corpus.storage()
    assert costs[0] == costs[10**9]
    assert costs[1000][0] == 6000 < costs[0][0]
    assert costs[1000][1].kept < costs[0][1].kept
    assert costs[1000][1].working == costs[0][1].working


def test_a_model_needs_as_many_positions_as_its_longest_sequence(machine):
    study, scale = own(Variant("a")), scales.find("smoke")
    longest = scale.recipe.inputs.longest
    plan.make(request(studies=(study,), scale=scale.set([f"model.max_positions={longest}"])), machine)
    with pytest.raises(BadInput, match=f"sequences have {longest} tokens: give as many positions, or 0"):
        plan.make(request(studies=(study,), scale=scale.set([f"model.max_positions={longest - 1}"])), machine)


def test_only_leaves_out_studies_that_lack_its_variants(machine):
    """With --random-init, every study has one."""
    for random_init, chosen in ((False, ["masking"]), (True, ["masking", "nsp"])):
        given = {"study": ["masking", "nsp"], "only": ["80/10/10"], "random_init": random_init, "scale": "smoke"}
        made = options.group(options.StudyOptions, given).study_request(machine)
        assert [study.name for study in made.studies] == chosen


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"only": ("80/10/1",)}, "did you mean '80/10/10'"),
        ({"measure": ("MNLI fine-tund",)}, "did you mean 'MNLI fine-tuned'"),
        ({"measure": ("MNLI fine-tuned",), "substitutes": {"conll2003": "bc5cdr"}}, "nothing measures this task"),
        ({"corpora": ("microwrld",)}, "did you mean 'microworld'"),
        ({"substitutes": {"conl2003": "bc5cdr"}}, "did you mean 'conll2003'"),
        ({"substitutes": {"conll2003": "mnli"}}, "is classification"),
        ({"seeds": ()}, "--seeds names 0"),
        ({"curves": True}, "--curves has no effect: every measurement trains; add one that does not"),
        ({"finetune_seeds": -1}, "--finetune-seeds is -1"),
        *(
            (
                {"pretrained": CheckpointImport(Checkpoint("hub:mine@1", "mine")), **changes},
                "leave out --corpus, --words, --vocab",
            )
            for changes in (
                {"corpora": ("microworld",)},
                {"vocabulary": Path("vocab.txt")},
                {"seeds": (1,)},
                {"scale": WORDS},
            )
        ),
    ],
)
def test_a_wrong_request_says_what_to_do(machine, changes, message):
    with pytest.raises(BadInput, match=message):
        plan.make(request(**changes), machine)


@pytest.mark.parametrize(
    "text",
    ["0", "many", "nan", "-1", "5-3", "1-", "3,", "1.5", "0-1000", "1001", "9" * 5000, "٣", "", "0-2, 7", "1-2-3"],
)
def test_seeds_that_cannot_be_read_are_refused(text):
    with pytest.raises(BadInput, match="give how many"):
        options.seeds(text)
