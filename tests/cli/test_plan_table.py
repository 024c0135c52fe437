"""The plan that is shown before anything is spent: at the paper's scale, the paper's numbers."""

import shutil
from types import SimpleNamespace

import pytest

from bertlab.cli.jobs import require_room
from bertlab.errors import BadInput
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import CorpusPreparation
from bertlab.lab.texts import describe_models, unlike_paper
from bertlab.recipe import Corpus
from bertlab.store.runs import Store
from bertlab.text import sources
from bertlab.text.tokenizers import WordPiece

BASE = "12 layers, 768 wide, 12 heads: 110M"
EACH = "parameters; 256 sequences, 900,000 steps of 128, then 100,000 steps of 512 tokens"
ROBERTA = EACH.replace("900,000 steps of 128, then 100,000 steps of 512", "1,000,000 steps of 512")
COUNTED = "256 sequences or as many tokens"
BASES = {  # pre-trainings of Base with batches of 256 sequences, and with as many tokens in shorter ones
    "masking": (6, 0),
    "nsp": (3, 0),
    "formats": (2, 2),
    "dynamic": (3, 0),
    "convergence": (3, 0),
    "adapters": (1, 0),
    "layer-decay": (1, 0),
}

T5 = {
    "objectives": 3, "denoising": 4, "corruption-rate": 4, "span-length": 5, "t5-baseline": 1, "finetuning-methods": 1,
}  # fmt: skip
T5 |= {"unlabeled-data": 2, "repeats": 5}  # without an encyclopedia and books
MIXED = {"mixing": (1, 10), "multi-task": (10, 1)}
"""Pre-trainings with the steps of T5's baseline, and with half as many more."""


def lines(machine, study):
    request = plan.Request(studies=(studies.find(study),), scale=scales.find("paper"), corpora=("microworld",))
    return describe_models(plan.make(request, machine).jobs)


def test_every_study_is_here():
    alberts = {
        *("depth-and-width", "dropout", "embedding-size", "equal-time", "more-data", "ngrams", "sentence-order"),
        "sharing",
    }
    others = {"batch-size", "data-and-steps", "encoding", "mask-rate", "norm", "size", "span-boundary", "spans"}
    later = {
        "adaptation",
        "architectures",
        "elmo-layers",
        "gpt",
        "lineage",
        "pretraining-value",
        "seq2seq-start",
        "stability",
    }
    newest = {"generator", "gpt-bert", "lr-schedule", "mask-schedule", "mlm-or-clm", "optimizer", "replaced-tokens"}
    newest |= {"scaling", "t5"}
    assert {*BASES, *alberts, *others, *later, *newest, *T5, *MIXED, "base-and-large", "features"} == set(
        studies.names()
    )


@pytest.mark.parametrize("study", BASES)
def test_at_the_papers_scale_the_plan_is_the_papers(machine, study):
    each = ROBERTA if study in ("formats", "dynamic") else EACH
    batches = ("256 sequences", COUNTED)
    wanted = [
        f"{count} x {BASE} {each.replace('256 sequences', batch)}"
        for count, batch in zip(BASES[study], batches, strict=True)
        if count
    ]
    assert lines(machine, study) == wanted


def test_named_entities_have_the_cased_model(machine):
    """Its vocabulary has 28,996 entries."""
    assert lines(machine, "features") == [f"1 x {BASE.replace('110M', '109M')} {EACH}"]


def test_base_and_large_are_rows_of_table_6(machine):
    assert lines(machine, "base-and-large") == [lines(machine, "size")[place] for place in (3, 5)]


def test_sizes_at_the_papers_scale_are_table_6(machine):
    assert lines(machine, "size") == [
        f"1 x {shape} {EACH}"
        for shape in (
            "3 layers, 768 wide, 12 heads: 46M",
            "6 layers, 768 wide, 3 heads: 68M",
            "6 layers, 768 wide, 12 heads: 68M",
            BASE,
            "12 layers, 1024 wide, 16 heads: 185M",
            "24 layers, 1024 wide, 16 heads: 336M",  # BERT says 340M
        )
    ]


ALBERT = "4,096 sequences, 125,000 steps of 512 tokens"


@pytest.mark.parametrize(
    ("study", "shapes"),
    [  # ALBERT prints 87M, 89M, 93M and 108M, 10M, 12M, 16M and 31M for the encoder: without heads and output bias
        ("embedding-size", [
            ", embeddings of 64: 88M", ", embeddings of 128: 90M", ", embeddings of 256: 94M", ": 110M",
            ", embeddings of 64, all parameters shared: 9.8M", ", embeddings of 128, all parameters shared: 12M",
            ", embeddings of 256, all parameters shared: 16M", ", all parameters shared: 32M",
        ]),
        # 31M, 83M, 57M and 108M, 12M, 64M, 38M and 89M
        ("sharing", [
            ", all parameters shared: 32M", ", attention shared: 84M", ", feed-forward shared: 58M", ": 110M",
            ", embeddings of 128, all parameters shared: 12M", ", embeddings of 128, attention shared: 64M",
            ", embeddings of 128, feed-forward shared: 38M", ", embeddings of 128: 90M",
        ]),
    ],
)  # fmt: skip
def test_alberts_studies_have_its_models_and_steps(machine, study, shapes):
    assert lines(machine, study) == [f"1 x 12 layers, 768 wide, 12 heads{each} parameters; {ALBERT}" for each in shapes]


def test_depth_and_width_has_the_models_of_table_2(machine):
    """ALBERT prints 108M, 334M, 12M, 18M, 60M and 235M for the encoder."""
    assert lines(machine, "depth-and-width") == [
        f"1 x {shape} parameters; {ALBERT}"
        for shape in (
            "12 layers, 768 wide, 12 heads: 110M",
            "24 layers, 1024 wide, 16 heads: 336M",
            "12 layers, 768 wide, 12 heads, embeddings of 128, all parameters shared: 12M",
            "24 layers, 1024 wide, 16 heads, embeddings of 128, all parameters shared: 18M",
            "24 layers, 2048 wide, 32 heads, embeddings of 128, all parameters shared: 59M",
            "12 layers, 4096 wide, 64 heads, embeddings of 128, all parameters shared: 223M",
        )
    ]


def test_the_models_of_dropout_are_alberts_largest(machine):
    """ALBERT prints 235M."""
    (line,) = lines(machine, "dropout")
    assert line.startswith("2 x 12 layers, 4096 wide, 64 heads, embeddings of 128, all parameters shared: 223M")
    assert line.endswith("4,096 sequences, 1,000,000 steps of 512 tokens")


def test_robertas_studies_have_its_batches_and_steps(machine):
    """RoBERTa large has 355 million parameters, base 110 with BERT's vocabulary."""
    large = "24 layers, 1024 wide, 16 heads: 355M parameters; 8,192 sequences"
    assert lines(machine, "data-and-steps") == [
        f"{count} x {large}, {steps} steps of 512 tokens"
        for count, steps in ((2, "100,000"), (1, "300,000"), (1, "500,000"))
    ]
    assert lines(machine, "batch-size") == [
        f"1 x {BASE} parameters; {batch} steps of 512 tokens"
        for batch in ("256 sequences, 1,000,000", "2,048 sequences, 125,000", "8,192 sequences, 31,250")
    ]


def test_norms_are_compared_in_berts_model_with_berts_steps(machine):
    assert lines(machine, "norm") == [
        f"{count} x {BASE.replace(': 110M', f'{norm}: 110M')} {EACH}"
        for count, norm in ((4, ""), (4, ", pre-norm"), (1, ", PowerNorm"), (1, ", pre-norm, PowerNorm"))
    ]


def test_equal_time_has_the_steps_of_table_6(machine):
    assert lines(machine, "equal-time") == [
        f"1 x 24 layers, 1024 wide, 16 heads: 336M parameters; {ALBERT.replace('125,000', '400,000')}",
        "1 x 12 layers, 4096 wide, 64 heads, embeddings of 128, all parameters shared: 223M parameters; " + ALBERT,
    ]


def test_sentence_order_has_alberts_base_model(machine):
    shape = "12 layers, 768 wide, 12 heads, embeddings of 128, all parameters shared"
    with_pairs, without = lines(machine, "sentence-order")
    assert with_pairs == f"2 x {shape}: 12M parameters; {ALBERT}"
    assert without == f"1 x {shape}: 11M parameters; {ALBERT}"
    assert lines(machine, "more-data") == [with_pairs]


def test_spanberts_study_has_its_model_and_steps(machine):
    shape = "24 layers, 1024 wide, 16 heads: 335M parameters"  # with BERT's cased vocabulary
    assert lines(machine, "spans") == [f"5 x {shape}; 256 sequences, 1,200,000 steps of 512 tokens"]


def test_single_sequences_have_as_many_tokens_and_sbo_has_a_head(machine):
    shape, steps = "24 layers, 1024 wide, 16 heads", "1,200,000 steps of 512 tokens"
    assert lines(machine, "span-boundary") == [
        f"1 x {shape}: 335M parameters; 256 sequences, {steps}",
        f"1 x {shape}: 334M parameters; {COUNTED}, {steps}",
        f"1 x {shape}: 337M parameters; {COUNTED}, {steps}",
    ]


def test_masking_rates_have_the_efficient_recipe(machine):
    shape = "24 layers, 1024 wide, 16 heads, pre-norm: 355M parameters"  # as RoBERTa large
    assert lines(machine, "mask-rate") == [f"10 x {shape}; 4,096 sequences, 23,000 steps of 128 tokens"]


def test_schedules_of_the_mask_rate_have_berts_base_model_in_large_batches(machine):
    each = f"{BASE} parameters; 4,096 sequences, 70,000 steps of 128 tokens"
    assert lines(machine, "mask-schedule") == [
        f"2 x {each}",
        f"1 x {each}, masked_lm.mask_prob from 0.3 to 0.1515",
        f"1 x {each}, masked_lm.mask_prob from 0.15 to 0.2985",
    ]


def test_one_model_masked_and_causal_has_the_batches_of_gpt_bert(machine):
    """The paper says 119 million parameters, with gates of attention; here they have BERT's matrices."""
    each = "12 layers, 768 wide, 12 heads: 89M parameters; 4,096 sequences, 15,625 steps of 512 tokens"
    assert lines(machine, "gpt-bert") == [
        f"1 x {each}, causal_lm.share from 1 to 1, masked_lm.share from 0 to 0",
        f"5 x {each}",
    ]


def test_causal_and_then_masked_has_the_tokens_of_its_paper(machine):
    """100 billion of them; its models have 610 million parameters, with the gates of their layers."""
    each = "26 layers, 1152 wide, 18 heads, pre-norm: 533M parameters; 1,152 sequences, 42,000 steps of 2048 tokens"
    changing = "causal_lm.share from 1 to {}, masked_lm.share from 0 to {}"
    assert lines(machine, "mlm-or-clm") == [
        f"1 x {each}",
        f"3 x {each}, {changing.format(0, 1)}",
        f"1 x {each}, {changing.format(1, 0)}",
    ]


def test_schedules_of_the_learning_rate_have_berts_steps(machine):
    assert lines(machine, "lr-schedule") == [f"7 x {BASE} {EACH}"]


def test_electras_studies_have_a_generator_and_as_many_operations(machine):
    """The discriminator, and a generator of 12 layers of 256 with the same embeddings; of the same size it doubles the
    layers, or the whole model."""
    shape, batch = "12 layers, 768 wide, 12 heads", "256 sequences"
    first, *found = lines(machine, "replaced-tokens")
    assert first == f"1 x {shape}: 110M parameters; {batch}, 1,000,000 steps of 512 tokens"
    assert len(found) == 4
    assert all(line.startswith(f"1 x {shape}: 119M parameters; {batch}, ") for line in found)
    assert lines(machine, "generator") == [
        f"1 x {shape}: {size} parameters; {batch}, 500,000 steps of 512 tokens"
        for size in ("195M", "219M", "110M", "131M", "115M")
    ]


@pytest.mark.parametrize("study", T5)
def test_variants_of_t5_have_the_model_and_the_steps_of_its_baseline(machine, study):
    """220 million parameters; 2^19 steps."""
    model = "12 layers, 768 wide, 12 heads, T5 encoder-decoder: 223M parameters"
    assert lines(machine, study) == [f"{T5[study]} x {model}; 128 sequences, 524,288 steps of 512 tokens"]


def test_structures_of_t5_have_one_or_two_stacks_of_its_layers(machine):
    """Table 2: 2P, P, P, P and P parameters beside embeddings and cross-attention."""
    width, vocabulary = 768, 32_000 + 100 + 5
    cross, stack = 4 * width**2, 12 * 12 * width**2
    beside = [12 * cross, 12 * cross, 6 * cross, 0, 0]
    structures = ["encoder-decoder", "encoder-decoder, shared", "encoder-decoder", "decoder", "prefix-decoder"]
    layers, stacks = [12, 12, 6, 12, 12], [2, 1, 1, 1, 1]
    counts = [(vocabulary * width + part + n * stack) / 1e6 for part, n in zip(beside, stacks, strict=True)]
    assert [round(count) for count in counts] == [223, 138, 124, 110, 110]
    assert lines(machine, "architectures") == [
        f"2 x {depth} layers, 768 wide, 12 heads, T5 {structure}: {count:.0f}M parameters; 128 sequences, "
        "524,288 steps of 512 tokens"
        for depth, structure, count in zip(layers, structures, counts, strict=True)
    ]


@pytest.mark.parametrize("study", MIXED)
def test_mixtures_that_are_not_fine_tuned_are_trained_for_as_many_steps_as_both(machine, study):
    """2^19 steps of pre-training and 2^18 of fine-tuning; leave-one-out has a training for each task."""
    model, (alone, both) = "12 layers, 768 wide, 12 heads, T5 encoder-decoder: 223M parameters", MIXED[study]
    assert lines(machine, study) == [
        f"{count} x {model}; 128 sequences, {steps} steps of 512 tokens"
        for count, steps in ((alone, "524,288"), (both, "786,432"))
    ]


def test_optimisers_are_compared_in_berts_model_with_berts_steps(machine):
    assert lines(machine, "optimizer") == [f"4 x {BASE} {EACH}"]


def test_alberts_studies_have_its_batches_and_steps(machine):
    shape = "12 layers, 768 wide, 12 heads, embeddings of 128, all parameters shared: 12M parameters"
    assert lines(machine, "ngrams") == [f"2 x {shape}; 4,096 sequences, 125,000 steps of 512 tokens"]


def test_a_plan_at_scale_paper_says_what_is_not_the_papers(machine):
    request = plan.Request(studies=(studies.find("masking"),), scale=scales.find("paper"), corpora=("microworld",))
    (line,) = unlike_paper(plan.make(request, machine))
    assert line.startswith("Differs from Devlin et al. 2019, Table 8, so only signs can be compared: text: micro")
    assert "text in lower case (NER fine-tuned, NER feature-based)" in line


def test_too_little_room_is_told_before_anything_is_spent(machine, tmp_path, monkeypatch):
    """Base has 110M parameters: twelve milestones of 4 bytes each, and six times the weights while it is trained."""
    request = plan.Request(studies=(studies.find("features"),), scale=scales.find("paper"), corpora=("microworld",))
    jobs, store = plan.make(request, machine).jobs, Store(tmp_path / "runs")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=18 * 4 * 109e6))
    with pytest.raises(BadInput, match=r"the runs need 7,\d\d\d MB and .* has 7,848: free space"):
        require_room(jobs, store)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=18 * 4 * 111e6))
    require_room(jobs, store)


def test_a_text_needs_room_for_a_copy_and_its_tokens(machine, tmp_path, monkeypatch):
    path = tmp_path / "large.jsonl"
    with path.open("wb") as stream:  # takes no room itself
        stream.truncate(30_000_000)
    located = sources.resolve(str(path), machine=machine)
    job, store = CorpusPreparation(Corpus(sources=(located.source,)), WordPiece(), (located,)), Store(tmp_path / "runs")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=49e6))
    with pytest.raises(BadInput, match=r"the runs need 50 MB and .* has 49: free space"):
        require_room([job], store)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=51e6))
    require_room([job], store)


def test_byte_level_bpe_adds_the_15m_parameters_of_its_larger_vocabulary(machine):
    assert lines(machine, "encoding") == [
        f"2 x {BASE} {ROBERTA}",
        f"1 x {BASE.replace('110M', '125M')} {ROBERTA}",
    ]


def test_starts_of_a_model_that_writes_texts_share_one_bert(machine):
    assert lines(machine, "seq2seq-start") == [f"1 x {BASE} {EACH}"]
