"""What counts as different from a paper's setting: all that a user changes, and nothing that the paper does itself."""

import dataclasses
import json

import pytest

from bertlab.errors import BadInput
from bertlab.lab import claim_plan, plan, scales, studies
from bertlab.lab.jobs import CheckpointImport
from bertlab.lab.record import differences
from bertlab.lab.study import RANDOM_INIT, Claim, Measurement, Study, Variant
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.text.tokenizers import WordPiece

MINE = Study(
    name="mine", question="?", source="me", baseline="a", variants=[Variant("a")],
    measurements=[Measurement("MNLI", task="mnli"), Measurement("NER", task="conll2003", metric="f1")],
)  # fmt: skip


@pytest.fixture
def mirror(tmp_path, machine):
    """A machine with a mirror of Wikipedia, books and the tasks of `MINE`."""
    folder = tmp_path / "mirror"
    rows = {"mnli": {"premise": "a", "hypothesis": "b", "label": 0}, "conll2003": {"tokens": ["a"], "ner_tags": ["O"]}}
    for name in ("wikipedia", "books", "other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "text.jsonl").write_text(json.dumps({"text": f"One sentence of {name}. And one more."}) + "\n")
    for name, row in {**rows, "bc5cdr": rows["conll2003"]}.items():
        (folder / name).mkdir()
        for split in ("train", "validation", "validation_matched", "test"):
            (folder / name / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    return dataclasses.replace(machine, data=folder)


@pytest.fixture
def differing(mirror):
    """The differences of `MINE` at scale paper, by measurement."""

    def found(*assignments, study=MINE, scale="paper", **changes):
        request = {"corpora": ("wikipedia", "books"), "studies": (study,)} | changes
        embedded = request["corpora"] == ("microworld",)  # has no use for a mirror
        place = dataclasses.replace(mirror, data=None) if embedded else mirror
        made = plan.make(plan.Request(scale=scales.find(scale).set(list(assignments)), **request), place)
        found = {}
        for difference in differences(made, study):
            found.setdefault(difference.on, []).append(difference.what)
        return found

    return found


CASED = "tokenizer.lowercase=false"
UNCASED = {"NER": ["text in lower case"]}


def test_what_the_paper_does_itself_is_no_difference(differing, tmp_path):
    assert differing(CASED) == {}
    assert differing() == UNCASED
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    assert differing(CASED, vocabulary=vocabulary, seeds=(0, 1, 2), finetune_seeds=2) == {}
    chosen = [CASED, "tasks.mnli.peak_lr=3e-5", "tasks.mnli.epochs=2"]
    assert differing(*chosen, searched={"mnli": {"peak_lr": 3e-5, "epochs": 2.0}}) == {}
    assert differing(*chosen) == {"MNLI": ["finetune.epochs 2 (paper: 3)", "finetune.peak_lr 3e-05 (paper: 5e-05)"]}


@pytest.mark.parametrize(
    ("assignments", "changes", "expected"),
    [
        ((), {"corpora": ("wikipedia",)}, {"": ["text: wikipedia, not Wikipedia and BooksCorpus"]}),
        ((), {"corpora": ("other",)}, {"": ["text: other, not Wikipedia and BooksCorpus"]}),
        ((), {"corpora": ("wikipedia", "books", "other")},
         {"": ["text: wikipedia and books and other, not Wikipedia and BooksCorpus"]}),
        (("schedule.steps=10_000",), {}, {"": ["schedule.steps 10000 (paper: 1000000)"]}),
        (("tokenizer.vocabulary=1000",), {}, {"": ["tokenizer.vocabulary 1000 (paper: 30522)"]}),
        (("finetune.peak_lr=1e-3",), {}, {"MNLI": ["finetune.peak_lr 0.001 (paper: 5e-05)"]}),
        (("tagging.epochs=1",), {}, {"NER": ["tagging.epochs 1 (paper: 3)"]}),
        ((), {"substitutes": {"conll2003": "bc5cdr"}}, {"NER": ["task: bc5cdr in place of conll2003"]}),
        ((), {"corpora": ("microworld",)},
         {"": ["text: microworld, not Wikipedia and BooksCorpus"],
          "MNLI": ["task: inference, synthetic"], "NER": ["task: entities, synthetic"]}),
    ],
)  # fmt: skip
def test_what_a_user_changes_is_listed_where_it_matters(differing, assignments, changes, expected):
    assert differing(CASED, *assignments, **changes) == expected


def test_a_paper_may_have_another_text_than_bert(differing):
    study = dataclasses.replace(MINE, text="C4")
    assert differing(CASED, study=study) == {"": ["text: wikipedia and books, not C4"]}
    assert differing(CASED, study=study, corpora=("other",)) == {"": ["text: other, not C4"]}


def test_the_variant_without_pretraining_has_no_setting_of_a_paper(differing):
    assert differing(CASED, only=(RANDOM_INIT,)) == {}
    assert differing(CASED, random_init=True) == {}


def test_a_difference_between_variants_is_not_one_from_the_paper(differing):
    variants = [Variant(name, tokenizer=WordPiece(lowercase=name == "uncased")) for name in ("cased", "uncased")]
    assert differing(study=dataclasses.replace(MINE, baseline="cased", variants=variants)) == {}


def test_a_study_of_ones_own_has_the_setting_of_a_paper_only_if_it_has_one(differing):
    (own,) = studies.chosen([MINE])
    assert own.file is not None
    assert differing(study=own, scale="base") == {}
    for about in ({"published": {("a", "MNLI"): 84.2}}, {"unlike": ["something"]}, {"at_paper": {"model.layers": "6"}}):
        assert differing(study=dataclasses.replace(own, **about), scale="base")["NER"]


def test_a_margin_of_a_study_of_ones_own_is_tested_in_its_own_setting(machine):
    claim = Claim("the same", better="learned", worse="rotary", on="MNLI", within=1.0)
    variants = [Variant(name, fields={"model.positions": name}) for name in ("learned", "rotary")]
    study = dataclasses.replace(MINE, baseline="learned", variants=variants, claims=[claim])
    for variation, decidable in ((study, []), (*studies.chosen([study]), [claim])):
        made = plan.make(plan.Request(studies=(variation,), scale=scales.find("smoke")), machine)
        assert claim_plan.decidable(made, variation) == decidable


def test_another_scale_differs_in_each_of_its_fields(differing):
    found = differing(CASED, scale="base")
    assert found == {
        "": [
            "schedule.batch_size 1024 (paper: 256)", "schedule.steps 50000 (paper: 1000000)",
            "schedule.peak_lr 0.0004 (paper: 0.0001)", "schedule.warmup 0.05 (paper: 0.01)",
            "optimizer.bias_correction true (paper: false)",
        ],
        "NER": ["tagging.length 128 (paper: 512)", "tagging.context false (paper: true)"],
    }  # fmt: skip


def test_a_checkpoint_of_berts_own_is_the_papers_and_another_is_not(differing):
    def changed(name):
        return differing(pretrained=CheckpointImport(Checkpoint(f"hub:{name}@1", name)), corpora=())

    assert changed("google-bert/bert-base-cased") == {}
    assert changed("google-bert/bert-base-uncased") == UNCASED
    assert changed("mine") == {"": ["pre-trained elsewhere, as mine"]}


def test_a_study_has_its_own_papers_setting_at_scale_paper_alone_and_what_is_set_goes_before():
    formats = studies.find("formats")
    usual = scales.find("tiny")
    assert usual.following(formats.at_paper) == usual
    paper = scales.find("paper")
    own = paper.following(formats.at_paper)
    asked = paper.set(["inputs.short_seq_prob=0.1", "span.epochs=9"]).following(formats.at_paper)
    assert (own.recipe.inputs.length, own.recipe.inputs.longest, own.recipe.inputs.short_seq_prob) == (512, 512, 0.0)
    assert own.recipe.optimizer.bias_correction
    assert own.finetuning("span", "squad").bias_correction
    assert (own.finetuning("span", "squad_v2").batch_size, own.finetuning("span", "squad").length) == (48, 384)
    assert asked.recipe.inputs.short_seq_prob == 0.1
    assert asked.finetuning("span", "squad_v2").epochs == 9
    bert = paper.following(studies.find("nsp").at_paper)
    assert (bert.recipe.inputs.short_seq_prob, bert.recipe.optimizer.bias_correction) == (0.1, False)
    assert not bert.finetuning("classification", "mnli").bias_correction


def test_a_study_has_its_own_settings_at_a_scale_that_it_names_and_what_is_set_goes_before():
    study = dataclasses.replace(studies.find("nsp"), at_scale={"micro": {"model.layers": "6", "finetune.epochs": "9"}})
    micro = scales.find("micro")
    at_micro = study.setting_at(micro)
    assert (at_micro.recipe.model.layers, at_micro.finetuning("classification", "mrpc").epochs) == (6, 9)
    assert study.setting_at(micro.set(["model.layers=3"])).recipe.model.layers == 3
    assert study.setting_at(scales.find("tiny")) == scales.find("tiny")


def test_a_sequence_longer_than_the_model_has_positions_is_refused_before_anything_is_trained(machine):
    request = plan.Request(studies=(studies.find("nsp"),), scale=scales.find("tiny").set(["span.length=384"]))
    with pytest.raises(BadInput, match=r"'SQuAD 1.1': it uses 384 tokens and the model has 128 positions"):
        plan.make(request, machine)
    plan.make(dataclasses.replace(request, scale=request.scale.set(["model.max_positions=384"])), machine)
    others = scales.SCALES.keys() - {"smoke", "micro"}  # `test_requests` plans these two
    for name in others:  # none asks for more than its model has
        chosen = tuple(map(studies.find, studies.names()))
        plan.make(plan.Request(studies=chosen, scale=scales.find(name), corpora=("microworld",)), machine)
