"""Study files with backbones of their own: one without heads or positions, and one with a bias of each head."""

import json

import pytest
import torch

from bertlab.adaptation import Adapters, GradualUnfreezing
from bertlab.errors import BadInput
from bertlab.lab import scales, studies
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.recipe import Size, cost
from bertlab.store.runs import Store
from bertlab.tasks import kinds

RECURRENT = '''
"""A left-to-right LSTM in place of a transformer (Mikolov et al. 2010)."""

from dataclasses import dataclass
from typing import ClassVar

from bertlab import BackboneConfig, CausalLM, FineTuning, FullSentences, GradualUnfreezing, Inputs, Measurement, Study
from bertlab import Variant


@dataclass(frozen=True, kw_only=True)
class Recurrent(BackboneConfig):
    kind: ClassVar[str] = "recurrent"

    def parameters(self, vocabulary, max_length):
        return vocabulary * self.hidden + self.layers * (8 * self.hidden**2 + 8 * self.hidden)

    def flops_per_token(self, length, causal):
        return 2.0 * self.layers * 8 * self.hidden**2

    def deviation(self, name):
        return self.hidden**-0.5 if ".lstms." in name else 0.02

    def new_encoder(self, vocabulary, max_length, causal=False):
        from torch import nn

        from bertlab.recipe.objective import INPUTS
        from bertlab.model.attention import gather
        from bertlab.model.backbone import Backbone

        class LSTMs(Backbone):
            def __init__(self, config):
                super().__init__(config.hidden, config.layers, max_length, causal)
                self.tokens = nn.Embedding(vocabulary, config.hidden)
                self.lstms = nn.ModuleList(
                    nn.LSTM(config.hidden, config.hidden, batch_first=True) for _ in range(config.layers)
                )

            @property
            def levels(self):
                return [self.tokens, *self.lstms]

            @property
            def output_embeddings(self):
                return self.tokens.weight

            def embed(self, batch):
                return {INPUTS: self.tokens(batch.tokens)}

            def encode(self, x, lengths=None, positions=None):
                for lstm in self.lstms:
                    x, _ = lstm(x)
                return x if positions is None else gather(x, positions)

            def hidden_states(self, batch):
                states = [self.tokens(batch.tokens)]
                for lstm in self.lstms:
                    states.append(lstm(states[-1])[0])
                return states

        return LSTMs(self)


objective = (CausalLM(),)
inputs = Inputs(format=FullSentences())
study = Study(
    name="recurrent",
    question="Does attention help?",
    source="mine",
    baseline="attention",
    variants=[
        Variant("attention", objective=objective, inputs=inputs),
        Variant("LSTM", objective=objective, inputs=inputs, model=Recurrent()),
    ],
    measurements=[
        Measurement("held-out loss", metric="causal_lm_loss"),
        Measurement("SST-2", task="sst2"),
        Measurement("BiLSTM", task="sst2", adaptation=FineTuning(bilstm=True)),
        Measurement("unfrozen", task="sst2", adaptation=GradualUnfreezing(layer_decay=0.9)),
        Measurement("NER", task="conll2003", metric="f1"),
    ],
)
'''
RELATIVE = '''
"""A bias of each head and distance, in place of positions (Raffel et al. 2020, section 2.1, without buckets)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab import Measurement, Model, Study, Variant
from bertlab.recipe.ranges import Range


@dataclass(frozen=True, kw_only=True)
class Relative(Model):
    kind: ClassVar[str] = "relative"
    reach: Annotated[int, Range(1, 1024, "tokens")] = 8

    def parameters(self, vocabulary, max_length):
        return super().parameters(vocabulary, 0) + (2 * self.reach + 1) * self.heads

    def new_encoder(self, vocabulary, max_length, causal=False):
        import torch
        from torch import nn

        from bertlab.model.encoder import BertEncoder

        class RelativeEncoder(BertEncoder):
            def __init__(self, config):
                super().__init__(config, vocabulary, max_length, causal)
                self.rotary, self.embeddings.positions, self.reach = None, None, config.reach
                self.bias = nn.Embedding(2 * config.reach + 1, config.heads)

            @property
            def levels(self):
                embeddings, *layers = super().levels
                return [nn.ModuleList([embeddings, self.bias]), *layers]

            def attention_inputs(self, x, lengths):
                positions = torch.arange(x.shape[1], device=x.device)
                distance = (positions - positions[:, None]).clamp(-self.reach, self.reach) + self.reach
                bias = self.bias(distance).permute(2, 0, 1)[None].to(x.dtype)  # (1, H, T, T)
                padding = self.padding(x, lengths)
                return [(bias if padding is None else bias + padding, None)] * self.num_layers

        return RelativeEncoder(self)


study = Study(
    name="relative",
    question="Do distances suffice?",
    source="mine",
    baseline="positions",
    variants=[Variant("positions"), Variant("distances", model=Relative())],
    measurements=[
        Measurement("held-out loss", metric="masked_lm_loss"),
        Measurement("SST-2", task="sst2"),
    ],
)
'''


@pytest.fixture
def files(tmp_path):
    paths = {name: tmp_path / f"{name}.py" for name in ("recurrent", "relative")}
    for name, text in (("recurrent", RECURRENT), ("relative", RELATIVE)):
        paths[name].write_text(text)
    return paths


def model_of(path, variant, objective, **fields):
    config = studies.find(str(path)).variant(variant).model
    config = type(config)(**{"layers": 2, "hidden": 16, **fields})
    return config, PretrainingModel(config, 40, 64, 0, objective).eval()


def test_a_backbone_without_heads_and_positions_is_planned_trained_measured_and_reported(files, call, tmp_path, capsys):
    common = ("--scale", "smoke", "--runs", tmp_path / "runs")
    assert call("ablate", files["recurrent"], *common, "--dry-run") == 0
    assert "4 layers, 32 wide: " in capsys.readouterr().out
    assert call("audit", files["recurrent"], *common[:2]) == 0
    assert call("ablate", files["recurrent"], *common, "--threads", "1", "--precision", "fp32") == 0
    measured = [run for run in Store(tmp_path / "runs").runs() if run.kind == "finetune"]
    assert len(measured) == 8
    assert all(run.result().status in ("done", "collapsed") for run in measured)
    assert call("report", "--runs", tmp_path / "runs", "--out", tmp_path / "pages", "--format", "md") == 0
    page = (tmp_path / "pages" / "recurrent.md").read_text()
    assert "4 layers, 32 wide, 2 heads, rotary positions" in page
    assert call(
        "export", "recurrent/LSTM/0", tmp_path / "out", "--runs", tmp_path / "runs", "--study", files["recurrent"]
    )
    assert "no architecture for 4 layers, 32 wide, left to right" in capsys.readouterr().err


def test_counts_and_sizes_of_a_backbone_are_its_own(files):
    config, model = model_of(files["recurrent"], "LSTM", (CausalLM(),))
    assert cost.parameters(config, 40, 64, (CausalLM(),)) == sum(value.numel() for value in model.parameters())
    sized = config.scaled(Size(layers=2, width=1.5))
    assert (sized.layers, sized.hidden) == (4, 24)
    with pytest.raises(BadInput, match=r"size.heads has no effect on a model of the kind recurrent: leave it out"):
        config.scaled(Size(heads=2))
    wide, narrow = model.encoder.lstms[0].weight_hh_l0.std(), model.encoder.tokens.weight.std()
    assert (wide > 5 * narrow).all(), "each weight starts with a deviation of its own"


def test_adaptations_know_its_levels(files):
    _, model = model_of(files["recurrent"], "LSTM", (CausalLM(),))
    setting, kind = GradualUnfreezing(epochs=3), kinds.find("classification")
    adapted = setting.adapt(model, kind, ("a", "b"), ("k",))
    trained = []
    for step in range(3):
        setting.on_step(adapted, step, 3)
        trained.append(
            {name.split(".")[1] for name, v in model.encoder.lstms.named_parameters(prefix="lstms") if v.requires_grad}
        )
    assert trained == [{"1"}, {"0", "1"}, {"0", "1"}]
    assert model.encoder.tokens.weight.requires_grad
    with pytest.raises(BadInput, match="adapters stand in the blocks of a transformer"):
        Adapters().adapt(model, kind, ("a", "b"), ("k",))


@pytest.mark.parametrize("objective", [(MaskedLM(),), (CausalLM(),)], ids=["both ways", "causal"])
def test_each_head_has_a_bias_of_its_own_with_padding_and_at_positions(files, objective):
    config, model = model_of(files["relative"], "distances", objective, heads=4, reach=3)
    assert cost.parameters(config, 40, 64, objective) == sum(value.numel() for value in model.parameters())
    encoder = model.double().encoder
    torch.nn.init.normal_(encoder.bias.weight)
    tokens = torch.randint(5, 40, (2, 30), generator=torch.Generator().manual_seed(0))
    segments, lengths = torch.zeros_like(tokens), torch.tensor([30, 12])
    whole = encoder(TensorBatch.of(tokens, lengths, segments=segments))
    alone = encoder(TensorBatch.of(tokens[1:, :12], segments=segments[1:, :12]))
    torch.testing.assert_close(whole[1, :12], alone[0], rtol=0, atol=1e-10)
    positions = torch.tensor([[0, 29, 7], [11, 3, 0]])
    read = encoder(TensorBatch.of(tokens, lengths, segments=segments), positions)
    expected = torch.stack([row[places] for row, places in zip(whole, positions, strict=True)])
    torch.testing.assert_close(read, expected, rtol=0, atol=1e-10)
    plain = whole.clone()
    with torch.no_grad():
        encoder.bias.weight[:, 1] = encoder.bias.weight[:, 0]
    assert not torch.allclose(encoder(TensorBatch.of(tokens, lengths, segments=segments)), plain), (
        "the second head reads its own column"
    )


def test_a_bias_of_each_head_is_trained(files, call, tmp_path):
    common = ("--scale", "smoke", "--runs", tmp_path / "runs")
    assert call("ablate", files["relative"], *common, "--threads", "1", "--precision", "fp32") == 0
    (run,) = [run for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain" and "distances" in run.label]
    from safetensors.torch import load_file

    bias = load_file(run.path / "model.safetensors")["encoder.bias.weight"]
    first = PretrainingModel.of(
        studies.find(str(files["relative"])).recipe(
            studies.find(str(files["relative"])).variant("distances"), scales.find("smoke").recipe
        ),
        512,
    ).encoder.bias.weight
    assert bias.shape == first.shape == (17, 2)
    assert not torch.equal(bias, first)
    assert not torch.equal(bias[:, 0], bias[:, 1])
    assert json.loads((run.path / "recipe.json").read_text())["science"]["recipe"]["model"]["kind"] == "relative"
