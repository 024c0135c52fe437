"""Texts of a plan: which a variant reads, what they are named by, whether they are annotated."""

import dataclasses
import json
from contextlib import nullcontext

import pytest

from bertlab.errors import BadInput
from bertlab.lab import plan, record, scales, studies
from bertlab.lab.study import RANDOM_INIT, Measurement, Study, Variant
from bertlab.recipe import Inputs, Schedule
from bertlab.store.runs import Store
from bertlab.tasks.task import Task
from plans import MASKING, kinds, own, request

SPANS = studies.find("spans")
READING = {"named entities", "noun phrases"}


def test_a_plan_of_several_texts_prepares_them_first(machine):
    made = kinds(plan.make(request(studies=(studies.find("encoding"),)), machine))
    assert made.count("corpus") > 1
    assert made == sorted(made, key=lambda kind: kind != "corpus")


@pytest.fixture
def second_file(tmp_path):
    path = tmp_path / "more.jsonl"
    path.write_text("".join(json.dumps({"text": f"Document number {row}. It is short."}) + "\n" for row in range(40)))
    return path


def test_variants_that_read_some_corpora_share_the_text_and_change_no_other_id(machine, text_file, second_file):
    """Of two corpora the first two are all: one training."""
    variants = [Variant("a", inputs=Inputs(corpora=1)), Variant("b", inputs=Inputs(corpora=2)), Variant("c")]
    both = {"corpora": (str(text_file), str(second_file))}
    made = plan.make(request(studies=(own(*variants),), **both), machine)
    assert kinds(made) == ["corpus", "pretrain", "pretrain"]
    first, second, all_of_them = (cell.pretraining for cell in made.cells)
    assert first.id != second.id == all_of_them.id
    assert (first.recipe.inputs.corpora, second.recipe.declared.inputs.corpora) == (1, 0)
    unvaried = own(Variant("a", schedule=Schedule(warmup=0.5)), Variant("b", schedule=Schedule(warmup=0.01)))
    set_to = [scales.find("smoke").set([f"inputs.corpora={index}"]) for index in (0, 1)]
    whole, part = (plan.make(request(studies=(unvaried,), scale=scale, **both), machine) for scale in set_to)
    assert [job.id for job in whole.jobs[:1]] == [job.id for job in part.jobs[:1]] == [made.jobs[0].id]
    assert whole.jobs[1].recipe.corpus == part.jobs[1].recipe.corpus
    assert not {job.id for job in whole.jobs[1:]} & {job.id for job in part.jobs[1:]}


@pytest.mark.parametrize(("corpora", "given", "needed"), [(1, 1, 2), (2, 1, 2), (3, 2, 3), (3, 1, 3)])
def test_more_corpora_than_there_are_are_refused(machine, text_file, second_file, corpora, given, needed):
    study = own(Variant("a"), Variant("b", inputs=Inputs(corpora=corpora)))
    texts = tuple(map(str, (text_file, second_file)[:given]))
    why = f"inputs.corpora is {corpora}, and the number of corpora is {given}: name {needed} "
    says = f"^study 'own': variant 'b': {why}"
    with pytest.raises(BadInput, match=says):
        plan.make(request(studies=(study,), corpora=texts), machine)
    scale = scales.find("smoke").set([f"inputs.corpora={corpora}"])
    with pytest.raises(BadInput, match=f"^study 'own': variant 'a': {why}"):
        plan.make(request(studies=(own(Variant("a")),), scale=scale, corpora=texts), machine)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"documents_by_source": {"train": [0, 40]}}, "all documents of this corpus are held out"),
        ({"train": {"documents": 40}}, "an earlier version prepared the corpus"),
        ({"documents_by_source": {"train": [1, 39]}}, ""),
    ],
)
def test_a_prepared_text_without_documents_of_its_first_corpus_is_refused(
    machine, text_file, second_file, tmp_path, facts, says
):
    store, study = Store(tmp_path / "runs"), own(Variant("a", inputs=Inputs(corpora=1)), Variant("b"))
    made = plan.make(request(studies=(study,), corpora=(str(text_file), str(second_file))), machine)
    plan.check_data(made, store, machine)  # nothing is known yet
    store.create_directories()
    work = store.work("corpus", made.jobs[0].id)
    (work / "recipe.json").write_text('{"science": {}}')
    (work / "result.json").write_text(json.dumps(facts))
    store.finish("corpus", made.jobs[0].id, "text")
    with pytest.raises(BadInput, match=f"^inputs.corpora is 1.*{says}") if says else nullcontext():
        plan.check_data(made, store, machine)


def test_text_and_mirror_must_be_used(machine, text_file, tmp_path):
    study, here = own(Variant("a")), dataclasses.replace(machine, data=tmp_path)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(text_file.read_bytes())
    with pytest.raises(BadInput, match=r"--data .* has no effect"):
        plan.make(request(studies=(study,), corpora=(str(text_file),)), here)
    plan.make(request(studies=(study,), corpora=(str(copy),)), here)
    with pytest.raises(BadInput, match=r"--corpus 'copy.jsonl' is given twice|--corpus 'world.jsonl' is given twice"):
        plan.make(request(studies=(study,), corpora=(str(text_file), str(copy))), machine)


def test_a_local_corpus_is_named_by_its_content(machine, text_file, tmp_path):
    copy = tmp_path / text_file.name
    copy.write_bytes(text_file.read_bytes())
    world = scales.find("smoke")
    mine = [Measurement("own", task=Task(kind="classification", name="own", path=str(tmp_path / "own"), text=("a",)))]
    (tmp_path / "own").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "own" / f"{split}.jsonl").write_text('{"a": "x", "label": 0}\n{"a": "y", "label": 1}\n')
    own = Study(
        name="own", question="?", source="me", baseline="a", measurements=mine,
        variants=[Variant("a"), Variant("b", schedule=Schedule(warmup=0.5))],
    )  # fmt: skip
    here, there = (
        plan.make(request(studies=(own,), scale=world, corpora=(str(path),)), machine) for path in (text_file, copy)
    )
    assert [job.id for job in here.jobs] == [job.id for job in there.jobs]
    copy.write_bytes(copy.read_bytes() + b'{"text": "One more document. It is short."}\n')
    changed = plan.make(request(studies=(own,), scale=world, corpora=(str(copy),)), machine)
    assert not {job.id for job in changed.jobs} & {job.id for job in here.jobs}
    assert not here.world


def pretrainings(made):
    return {cell.variant: cell.pretraining for cell in made.cells}


def test_only_variants_that_read_linguistic_spans_have_an_annotated_corpus(machine):
    made = plan.make(request(studies=(SPANS,)), machine)
    found = pretrainings(made)
    annotators = {name: job.recipe.corpus.annotator for name, job in found.items()}
    assert annotators == {name: "microworld@1" if name in READING else "" for name in found}
    corpora = {name: job.corpus.id for name, job in found.items()}
    assert {name for name in found if corpora[name] != made.text} == READING
    assert len(set(corpora.values())) == kinds(made).count("corpus") == 2  # one for both kinds of spans
    plain = plan.make(request(studies=(MASKING,)), machine)
    assert plain.text == made.text
    assert pretrainings(plain)["80/10/10"].id == found["subword tokens"].id
    untrained = pretrainings(plan.make(request(studies=(SPANS,), random_init=True, only=("noun phrases",)), machine))
    assert untrained[RANDOM_INIT].corpus.id == made.text


def test_other_text_needs_a_pipeline_for_its_spans(machine, text_file, capsys):
    held_out = [Measurement("held-out loss", metric="masked_lm_loss")]
    bare = dataclasses.replace(SPANS, measurements=held_out, averages=[], published={}, claims=[], unlike=[])
    own = request(studies=(bare,), corpora=(str(text_file),))
    with pytest.raises(
        BadInput, match=r"study 'spans': variant 'named entities': corpus .world\.jsonl. has no linguist"
    ):
        plan.make(dataclasses.replace(own, only=("subword tokens", "named entities")), machine)
    without = pretrainings(plan.make(own, machine))
    assert without.keys() == {variant.name for variant in SPANS.variants} - READING
    (line,) = capsys.readouterr().err.splitlines()
    assert "study spans leaves out 'named entities' and 'noun phrases': corpus 'world.jsonl' has no linguist" in line
    scale = scales.find("smoke").set(["corpus.annotator=microworld"])
    named = pretrainings(plan.make(dataclasses.replace(own, scale=scale), machine))
    assert {name: job.id for name, job in named.items() if name not in READING} == {
        name: job.id for name, job in without.items()
    }
    assert {job.recipe.corpus.annotator for name, job in named.items() if name in READING} == {"microworld@1"}
    with pytest.raises(BadInput, match=r"corpus\.annotator has no effect"):
        plan.make(request(scale=scale), machine)


def test_bad_words_are_read_by_the_variants_whose_filter_has_them_and_change_no_other(machine, text_file, tmp_path):
    (tmp_path / "words.txt").write_text("darn\n")
    study = own(Variant("a", fields={"corpus.filter": "c4"}), Variant("b"))
    texts = {"corpora": (str(text_file),), "bad_words": tmp_path / "words.txt"}
    made = plan.make(request(studies=(study,), **texts), machine)
    without = plan.make(request(studies=(study,), corpora=texts["corpora"]), machine)
    filtered, raw = (cell.pretraining for cell in made.cells)
    assert filtered.recipe.corpus.bad_words.startswith("sha256:")
    assert filtered.corpus.bad_words == texts["bad_words"]
    assert raw.id == without.cells[1].pretraining.id
    assert filtered.id != without.cells[0].pretraining.id
    assert made.text == without.text
    one, other = (next(iter(record.records(each).values())).setting for each in (made, without))
    assert one != other
    with pytest.raises(BadInput, match=r"^--bad-words has no effect: set corpus\.filter to bad-words, c4 or both"):
        plan.make(request(studies=(own(Variant("a"), Variant("b", inputs=Inputs(length=16))),), **texts), machine)
