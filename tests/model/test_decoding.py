"""Decoding token after token: the texts of the reference implementation, and the probabilities of teacher forcing."""

import pytest
import torch

from bertlab.errors import BadInput
from bertlab.model.decoding import TextModel, beam_search, greedy
from bertlab.model.encoder import BertEncoder
from bertlab.model.initial import initialise
from bertlab.model.interop.architectures import t5
from bertlab.model.streams import TensorBatch
from bertlab.model.t5 import new_encoder
from bertlab.recipe import T5, Model
from random_weights import perturbed

VOCABULARY, STEPS, START, END = 12, 10, 0, 1
FACTORS = {"embeddings": 0.2, "out_proj": 4, "fc2": 4, "final_norm": 3, "decoder_norm": 3}
STRUCTURES = [
    {},
    {"gated": True, "tied": False},
    {"shared": True},
    {"structure": "decoder"},
    {"structure": "prefix-decoder"},
]


@pytest.fixture(scope="module", params=STRUCTURES, ids=str)
def encoder(request):
    return encoder_of(**request.param)


def encoder_of(**fields):
    """A small T5 with random weights, in fp64."""
    model = T5(layers=2, hidden=32, heads=4, dropout=0.0, distance=20, buckets=16, **fields)
    encoder = new_encoder(model, VOCABULARY, 64).eval()
    initialise(encoder, lambda name: model.deviation(f"encoder.{name}"), 0)
    perturbed(encoder)
    with torch.no_grad():
        for name, value in encoder.named_parameters():  # so that texts have many tokens and lengths
            value *= next((factor for part, factor in FACTORS.items() if part in name), 1)
    return encoder.double()


def batch_of(examples=64, width=15):
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(2, VOCABULARY, (examples, width), generator=generator)
    lengths = torch.randint(1, width + 1, (examples,), generator=generator)
    lengths[0] = width
    tokens[torch.arange(width) >= lengths[:, None]] = START
    return TensorBatch.of(tokens, lengths)


def decoded(decode, encoder, batch, *options):
    examples = len(batch.tokens)
    with torch.inference_mode():
        return decode(encoder, batch, torch.full((examples,), START), torch.full((examples,), END), STEPS, *options)


def log_likelihoods(encoder, batch, outputs):
    """Of the texts up to their end, by teacher forcing."""
    before = torch.cat([torch.full_like(outputs[:, :1], START), outputs[:, :-1]], 1)
    with torch.inference_mode():
        log_probs = TextModel(encoder, 0.0)(batch, before).log_softmax(-1).gather(-1, outputs[..., None])[..., 0]
    return (log_probs * _counted(outputs)).sum(1), _counted(outputs).sum(1)


def _counted(outputs):
    """Which outputs are no later than the first end."""
    return ((outputs == END).cumsum(1) - (outputs == END).long()) == 0


@pytest.mark.parametrize("fields", STRUCTURES[:2], ids=str)
@pytest.mark.parametrize("beams", [1, 4])
def test_texts_are_those_of_transformers(fields, beams):
    encoder, batch = encoder_of(**fields), batch_of()
    theirs = reference(encoder, fields)
    mask = torch.arange(batch.tokens.shape[1]) < batch.lengths["inputs"][:, None]
    right = theirs.generate(
        batch.tokens, attention_mask=mask.long(), max_new_tokens=STEPS, num_beams=beams, do_sample=False,
        length_penalty=0.0, early_stopping=False, pad_token_id=START, eos_token_id=END, decoder_start_token_id=START,
    )[:, 1:]  # fmt: skip
    ours = decoded(greedy, encoder, batch) if beams == 1 else decoded(beam_search, encoder, batch, beams, 0.0)[0]
    right = torch.where(_counted(right), right, START)  # theirs repeats the end behind it
    assert ours[:, : right.shape[1]].tolist() == right.tolist()
    ended = (ours == END).any(1).sum()
    assert 0 < ended < len(ours), "some texts end"
    assert len({*map(tuple, ours.tolist())}) > 8


def test_a_step_with_caches_is_the_whole_pass(encoder):
    batch, outputs = batch_of(), torch.randint(2, VOCABULARY, (64, STEPS), generator=torch.Generator().manual_seed(4))
    outputs[:, 0] = START
    with torch.inference_mode():
        state = encoder.begin(batch, STEPS)
        logits = TextModel(encoder, 0.0)(batch, outputs)
        for step in range(STEPS):
            vectors = encoder.step(outputs[:, step], state)
            assert torch.allclose(vectors @ encoder.output_embeddings.T, logits[:, step], atol=1e-10)


def test_the_score_of_a_beam_is_the_likelihood_of_its_text(encoder):
    batch = batch_of()
    outputs, scores = decoded(beam_search, encoder, batch, 4, 0.0)
    right, counts = log_likelihoods(encoder, batch, outputs)
    assert torch.allclose(scores, right, atol=1e-9)
    likelier = log_likelihoods(encoder, batch, decoded(greedy, encoder, batch))[0]
    assert (scores - likelier).mean() > 0.01
    outputs, scores = decoded(beam_search, encoder, batch, 4, 2.0)
    right, longer = log_likelihoods(encoder, batch, outputs)
    assert torch.allclose(scores, right / ((5 + longer) / 6) ** 2, atol=1e-9)
    assert longer.sum() > counts.sum(), "the penalty is for short texts"


def test_one_beam_is_greedy_and_an_example_does_not_depend_on_its_batch(encoder):
    batch = batch_of()
    together = decoded(greedy, encoder, batch)
    assert decoded(beam_search, encoder, batch, 1, 0.0)[0].tolist() == together.tolist()
    beams = decoded(beam_search, encoder, batch, 4, 0.6)[0]
    for number in range(0, 64, 16):
        length = batch.lengths["inputs"][number]
        alone = TensorBatch.of(batch.tokens[number : number + 1, :length])
        assert decoded(greedy, encoder, alone).tolist() == together[number : number + 1].tolist()
        assert decoded(beam_search, encoder, alone, 4, 0.6)[0].tolist() == beams[number : number + 1].tolist()


def test_the_best_beam_of_all_is_found_where_beams_are_many():
    """With as many beams as texts, the search is exhaustive."""
    encoder, batch = encoder_of(), batch_of(2)
    steps, ids = 2, [(first, second) for first in range(VOCABULARY) for second in range(VOCABULARY)]
    texts = torch.tensor([pair if pair[0] != END else (END, START) for pair in ids])
    start, end = (torch.full((2,), token) for token in (START, END))
    with torch.inference_mode():
        found, scores = beam_search(encoder, batch, start, end, steps, VOCABULARY, 0.0)
    for number in range(2):
        rows = batch.take(torch.full((len(texts),), number))
        every = log_likelihoods(encoder, rows, texts)[0]
        assert scores[number].item() == pytest.approx(every.max().item())
        assert found[number].tolist() == texts[every.argmax()].tolist()


def test_a_model_without_a_decoder_is_refused():
    encoder = BertEncoder(Model(layers=1, hidden=16, heads=2), 20, 16)
    with pytest.raises(BadInput, match="BertEncoder has no decoder"):
        TextModel(encoder, 0.0)


def reference(encoder, fields):
    """T5 of transformers with the weights of `encoder`."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=128, num_layers=2, num_heads=4, dropout_rate=0.0,
        relative_attention_num_buckets=16, relative_attention_max_distance=20,
        feed_forward_proj="gated-gelu" if fields.get("gated") else "relu",
        tie_word_embeddings=fields.get("tied", True), attn_implementation="eager",
    )  # fmt: skip
    theirs = T5ForConditionalGeneration(config).double().eval()
    if not fields.get("tied", True):
        theirs.lm_head.weight = torch.nn.Parameter(theirs.lm_head.weight.detach().clone())
    state, architecture = theirs.state_dict(), t5.T5()
    with torch.no_grad():
        for name, value in encoder.named_parameters(prefix="encoder"):
            theirs_of = architecture.parameter(name)
            for their_name, part in zip(theirs_of, value.chunk(len(theirs_of)), strict=True):
                state[their_name].copy_(part)
    return theirs
