"""Runs the components of a study file once, on a few sequences, before anything is trained, and names what is wrong.

A method that returns another type than its base class says is refused wherever it is called (`recipe.ranges`). Here,
what it returns is compared with what the rest of the package reads. Training itself tests only that losses are finite
scalars.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bertlab.arrays import Array
from bertlab.errors import ArmFailed, BadInput, RunFailed, text_of
from bertlab.inputs.collator import Collator
from bertlab.inputs.formats.base import Layout
from bertlab.inputs.streams import Batch, Sequences, Stream
from bertlab.inputs.targets import excerpt
from bertlab.names import shown
from bertlab.objectives.selection.base import Choice, Selection
from bertlab.recipe import Format, Loss, Recipe
from bertlab.recipe.objective import INPUTS, Decoded, text_length
from bertlab.recipe.ranges import naming, user_defined
from bertlab.tasks import kinds
from bertlab.tasks.examples import IGNORED, Examples, TaskBatch, sizes
from bertlab.tasks.kinds.base import TaskKind
from bertlab.text.tokens import TokenisedCorpus
from bertlab.wording import join_words

if TYPE_CHECKING:
    from torch import nn

    from bertlab.adaptation import Adaptation
    from bertlab.machine import Machine
    from bertlab.model.backbone import Backbone
    from bertlab.model.streams import TensorBatch
    from bertlab.tasks.task import TaskData
    from bertlab.training.finetuning import FinetuningModule, Pretrained

SEQUENCES = 8
"""Sequences of the batch that is predicted."""
EXAMPLES = 64
"""The most examples of a task; the first four are trained on."""
MOVED = 1e-5
"""The difference of a feature from which on it depends on what was changed; rounding gives a hundredth of that."""
_TYPES = {"iu": "whole numbers", "b": "booleans", "iubf": "finite numbers"}
_ANY = (-1e30, 1e30)


def check_recipe(recipe: Recipe, corpus: TokenisedCorpus) -> None:
    """Lays out, corrupts, predicts, updates and evaluates once with what a recipe consists of.

    Raises `ArmFailed`, which names class, method and line, for what a component of a study file does not do.
    """
    with naming(recipe.inputs.format, recipe.model, recipe.optimizer, *recipe.objective):
        _check_training(*excerpt(recipe, corpus, SEQUENCES))


def _check_training(recipe: Recipe, corpus: TokenisedCorpus) -> None:
    from bertlab.model.heads import PretrainingModel
    from bertlab.training.data import to_tensors
    from bertlab.training.module import build

    batch = to_tensors(_batch(recipe, corpus)).to("cpu")
    for loss in recipe.objective:
        taken = hasattr(PretrainingModel, loss.head) or loss.head in ("encoder", "objective") or "." in loss.head
        wrong = f"is {shown(loss.head)}, which is no free name in a model: give another"
        _Method(loss, "head").require(not taken, wrong)
        _check_places(loss, batch)
    model = PretrainingModel.of(recipe, corpus.tokenizer.size)
    model.tokenizer = corpus.tokenizer
    _check_bias(model.encoder, batch)
    _check_sides(model.encoder, recipe.model.apart, batch)
    sums = model.losses(batch)
    for loss in recipe.objective:
        _check_loss(_Method(loss, "loss_sum"), sums[loss.kind])
    _check_update(_Method(recipe.optimizer, "build"), sum(sums.values()), model, build(model, recipe.optimizer))
    for loss in recipe.objective:
        _check_evaluations(loss, recipe, corpus, model.eval())


def check_adaptation(pretrained: Pretrained, data: TaskData, adaptation: Adaptation, machine: Machine) -> None:
    """Encodes, trains, predicts and scores a few examples of a task with an adaptation and the kind of the task.

    Changes the model. Raises `ArmFailed`, which names class, method and line, for what a component of a study file does
    not do.
    """
    from bertlab.progress import silent
    from bertlab.training.finetuning import FinetuningModule, encode, predict

    kind, key, source = kinds.find(data.kind), (adaptation.kind, 0, 0), pretrained.model
    rows, evaluation = (raw.take(np.arange(min(EXAMPLES, len(raw)))) for raw in (data.train, data.evaluation))
    train = encode(data, rows, pretrained, adaptation, training=True)
    evaluated = encode(data, evaluation, pretrained, adaptation)
    labels = len(data.labels) if kind.labelled and type(kind).loss is TaskKind.loss else 0
    read = train if adaptation.trains else evaluated
    for part in (read, evaluated):
        _check_examples(kind, part, pretrained.tokenizer.size, adaptation.length, labels)
    module = FinetuningModule(adaptation.adapt(source, kind, data.labels, key), kind, adaptation, 1, key).train()
    trained = any(value.requires_grad for value in module.parameters()) or not adaptation.trains
    wrong = "returns a module without a parameter to train: leave some unfrozen"
    _Method(adaptation, "adapt").require(trained, wrong)
    batch = adaptation.inputs(source, read, machine, silent).build(np.arange(min(4, len(read))))
    shape, wanted = tuple(module(batch).shape), tuple(batch["targets"].shape)
    wrong = f"returns a tensor of shape {shape}: return {(*wanted, 'C')}, the logits of each target of the batch"
    _Method(kind, "logits").require(shape[:-1] == wanted, wrong)
    if adaptation.trains:
        _check_step(module, batch)
    adaptation.merge(module.model)
    scores = predict(module, evaluated, adaptation.inputs(source, evaluated, machine, silent), machine)
    guesses: dict[str, Any] = {"predict": kind.predict(data, evaluation, evaluated, scores, None).arrays}
    guesses["majority"] = kind.majority(data, evaluation, train, evaluated)
    if kind.user_defined and kind.trained:
        guesses["lexical"] = kind.lexical(rows)(evaluation)
    for method, arrays in guesses.items():
        with _Method(kind, method).blamed("give what the metrics read, arrays by name"):
            kind.contributions({**arrays, **kind.example_arrays(evaluation)}, data.labels)


def _check_step(module: FinetuningModule, batch: TaskBatch) -> None:
    """One update of an adapted model, with a batch of its task."""
    from bertlab.training.module import build

    adaptation, kind = module.adaptation, module.kind
    adaptation.on_step(module.model, 0, 1)
    loss, settings = adaptation.loss(module.model, kind, batch), adaptation.optimizer_settings
    _check_loss(_Method(adaptation if adaptation._own else kind, "loss"), loss)
    _check_update(_Method(settings, "build"), loss, module, build(module, settings, module.lr_multipliers()))


class _Method(NamedTuple):
    """A method of a component, whose mistakes name it."""

    component: object
    name: str

    def require(self, holds: Any, problem: str) -> None:
        """Raises `ArmFailed` unless something holds."""
        if not holds:
            raise ArmFailed.of(self.component, self.name, problem)

    def require_numbers(
        self, name: str, array: Any, shape: tuple[int | None, ...], limits: Any = _ANY, types: str = "iu"
    ) -> None:
        """Raises `ArmFailed` unless `array` has this shape, any size for None, and numbers within `limits`."""
        form = ", ".join("any" if size is None else str(size) for size in shape) + "," * (len(shape) == 1)
        wanted = f"give {_TYPES[types]} of shape ({form})"
        wanted += f" from {limits[0]} to {limits[1]}" if limits != _ANY else ""
        self.require(isinstance(array, np.ndarray), f"makes {name} {shown(array)}: {wanted}")
        fits = array.ndim == len(shape) and all(
            want in (None, has) for want, has in zip(shape, array.shape, strict=True)
        )
        fits, span = fits and array.dtype.kind in types, ""
        if array.size and array.dtype.kind in "iubf":
            span = f" from {array.min()} to {array.max()}"
            fits = fits and bool(limits[0] <= array.min() and array.max() <= limits[1])
        self.require(fits, f"makes {name} of shape {array.shape}, {array.dtype}{span}: {wanted}")

    def require_first(self, used: Array) -> None:
        """Raises `ArmFailed` if an unused slot of a sequence comes before a used one."""
        first = ((used[:, 1:] > 0) <= (used[:, :-1] > 0)).all()
        self.require(first, "leaves unused slots between used ones: let the used slots of a sequence come first")

    @contextmanager
    def blamed(self, advice: str) -> Iterator[None]:
        """Lets an error within it say that what the method returns cannot be used."""
        try:
            yield
        except (BadInput, RunFailed):
            raise
        except Exception as error:
            problem = f"returns what cannot be used ({type(error).__name__}: {text_of(error)}): {advice}"
            raise ArmFailed.of(self.component, self.name, problem) from error


def _layout(form: Format, recipe: Recipe, corpus: TokenisedCorpus) -> Layout:
    """What a format lays out, where it lies in the text."""
    length, tokens = text_length(recipe.objective, recipe.inputs.length), len(corpus.train.tokens)
    method = _Method(form, "lay_out")
    with method.blamed("return a Layout, as base.consecutive makes it"):
        layout: Layout = form.lay_out(corpus.train, recipe, length, 0)
    method.require(len(layout), "makes no sequence: make one at least")
    limits = {"first_length": (1, length), "second_length": (0, length), "swapped": (-1, 1), "is_random_next": (0, 1)}
    for name, array in vars(layout).items():
        size, types = None if name == "breaks" else len(layout), "b" if name == "is_random_next" else "iu"
        method.require_numbers(name, array, (size,), limits.get(name, (0, tokens - 1)), types)
    for name in {"starts", "breaks"} & vars(layout).keys():
        ascends = (np.diff(vars(layout)[name]) >= (name == "breaks")).all()
        method.require(ascends, f"makes {name} that do not ascend: give them in the order of the text")
    for name in {"first", "second"} & vars(layout).keys():
        end = int((vars(layout)[name] + vars(layout)[f"{name}_length"]).max())
        method.require(end <= tokens, f"makes a {name} segment up to token {end}: the text has {tokens}")
    longest = int(layout.lengths.max())
    method.require(longest <= length, f"makes a sequence of {longest} tokens with its specials: at most {length}")
    return layout


def _batch(recipe: Recipe, corpus: TokenisedCorpus) -> Batch:
    """A few sequences, as the losses change them."""
    form, tokenizer, objective = recipe.inputs.format, corpus.tokenizer, recipe.objective
    layout, matched = _layout(form, recipe, corpus), form.token_matched_to
    wrong = f"is {shown(matched)}: give a format, as FullSentences(), or None"
    _Method(form, "token_matched_to").require(isinstance(matched, Format | None), wrong)
    collator = Collator(objective, tokenizer, corpus.train, recipe.inputs.length, recipe.seed)
    sequences = collator.sequences(layout, np.arange(min(SEQUENCES, len(layout))), 0, 0)
    for number, loss in enumerate(objective):
        length = text_length(objective[number:], recipe.inputs.length)
        for selection in user_defined(loss):
            if isinstance(selection, Selection):
                choose = selection.chooser(0.15, tokenizer, length)
                _check_choice(selection, choose(sequences, sequences.sequence_ids.view(np.uint64)), sequences)
        added = loss.batch_transform(tokenizer, length, recipe.seed)(sequences)
        _check_added(loss, added, sequences, tokenizer.size)
        sequences.add(loss.kind, added)
        loss.count(sequences.arrays[loss.kind])
    return sequences.batch()


def _check_choice(selection: Selection, choice: Any, sequences: Sequences) -> None:
    """Each chosen token is an ordinary one of its sequence, and is chosen once."""
    method = _Method(selection, "chooser")
    method.require(isinstance(choice, Choice), f"chooses {shown(choice)}: let its function return a Choice")
    method.require_numbers("valid", choice.valid, (len(sequences.ordinary), None), (0, 1), "iubf")
    for name in ("indices", "group"):
        method.require_numbers(name, getattr(choice, name), choice.valid.shape)
    method.require_first(choice.valid)
    for numbers, used, size in zip(choice.indices, choice.valid > 0, sequences.ordinary, strict=True):
        chosen = numbers[used].tolist()
        fits = {*chosen} <= {*range(size)} and len({*chosen}) == len(chosen)
        wrong = f"chooses the tokens number {chosen} of {size} ordinary ones: number them from 0, and choose each once"
        method.require(fits, wrong)


def _check_added(loss: Loss, added: Any, sequences: Sequences, vocabulary: int) -> None:
    """What a loss adds to sequences, and the streams that it leaves, fit a batch and a model of this vocabulary."""
    method, count, slots = _Method(loss, "batch_transform"), len(sequences.ordinary), None
    method.require(isinstance(added, Mapping), f"makes {shown(added)}: let its function return arrays by name")
    streams = {**sequences.streams, **{name: value for name, value in added.items() if isinstance(value, Stream)}}
    for name, (tokens, lengths) in streams.items():
        method.require_numbers(f"tokens of {name}", tokens, (count, None), (0, vocabulary - 1))
        method.require_numbers(f"lengths of {name}", lengths, (count,), (1, tokens.shape[1]))
    arrays = {name: value for name, value in added.items() if not isinstance(value, Stream)}
    if "weights" in arrays:
        method.require_numbers("weights", arrays["weights"], (count, None), (0, 1e30), "iubf")
        method.require_first(arrays["weights"])
        slots = arrays["weights"].shape[1]
    limits = {"targets": (0, vocabulary - 1)} if loss.over_vocabulary else {}
    if (type(loss).positions, type(loss).reads) == (Loss.positions, Loss.reads):
        wrong = "makes no positions: give those at which it reads the model, (B, K), or define positions"
        method.require("positions" in arrays, wrong)
        limits["positions"] = (0, streams[INPUTS].tokens.shape[1] - 1)
    for name, array in arrays.items():
        others = (slots,) if np.ndim(array) == 2 else (None,) * (np.ndim(array) - 1)
        types = "iu" if name in limits else "iubf"
        method.require_numbers(name, array, (count, *others), limits.get(name, _ANY), types)


def _check_places(loss: Loss, batch: TensorBatch) -> None:
    """A loss reads tokens of the batch, [CLS], or a decoder."""
    positions = loss.reads(batch.arrays[loss.kind])
    if positions is not None and not isinstance(positions, Decoded):
        method = _Method(loss, "positions" if type(loss).reads is Loss.reads else "reads")
        array = positions.numpy() if hasattr(positions, "numpy") else positions
        method.require_numbers("positions", array, (len(batch.tokens), None), (0, batch.tokens.shape[1] - 1))


def _check_bias(encoder: Backbone, batch: TensorBatch) -> None:
    """Each layer gets a bias of attention scores that fits, and angles, each perhaps None."""
    attention_inputs: Any = getattr(encoder, "attention_inputs", None)
    if attention_inputs is None:
        return
    method, x = _Method(encoder, "attention_inputs"), encoder.embed(batch)[INPUTS]
    inputs = attention_inputs(x, batch.lengths[INPUTS])
    pairs = isinstance(inputs, list | tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in inputs)
    advice = f"return a list of a bias and angles, each perhaps None, for each of {encoder.num_layers} layers"
    method.require(pairs and len(inputs) == encoder.num_layers, f"returns {shown(inputs)}: {advice}")
    full = (len(x), getattr(encoder, "heads", 0), x.shape[1], x.shape[1])
    for bias in [bias for bias, _ in inputs if bias is not None]:
        shape, kind = tuple(getattr(bias, "shape", ())), getattr(bias, "dtype", type(bias).__name__)
        fits = len(shape) == 4 and all(size in (1, most) for size, most in zip(shape, full, strict=True))
        fits = fits and shape[-1] == full[-1] and bias.is_floating_point()
        wanted = "give floats of shape ({} or 1, {} or 1, {} or 1, {})".format(*full)
        method.require(fits, f"makes a bias of shape {shape}, {kind}: {wanted}")


def _check_sides(encoder: Backbone, apart: bool, batch: TensorBatch) -> None:
    """No vector depends on padding, none of a left-to-right model on a later token, and where directions stay `apart`
    no half on a token of the other side."""
    import torch

    method, (tokens, lengths) = _Method(encoder, "encode"), batch.streams[INPUTS]
    sizes = torch.full((len(tokens),), tokens.shape[1]) if lengths is None else lengths
    column, at = torch.arange(tokens.shape[1]), int(sizes.min()) // 2
    real = column < sizes[:, None]

    def vectors(changed: Any) -> Any:
        other = torch.where(changed, (tokens + 1) % len(encoder.output_embeddings), tokens)
        streams = {**batch.streams, INPUTS: batch.streams[INPUTS]._replace(tokens=other)}
        return encoder.encode(encoder.embed(dataclasses.replace(batch, streams=streams))[INPUTS], lengths)

    training = encoder.training
    encoder.eval()
    with torch.no_grad():
        before, of_token, of_padding = map(vectors, (torch.zeros_like(real), column == at, ~real))
    encoder.train(training)
    moved = ((before - of_token).abs() > MOVED) & real[..., None]
    right, left = moved.chunk(2, -1) if apart else (moved, moved[..., :0])
    wrong = "lets a vector depend on a later token: hide those behind each token"
    method.require(not (right[:, :at].any() and (encoder.causal or apart)), wrong)
    wrong = "lets a right-to-left half depend on an earlier token: keep the halves apart"
    method.require(not left[:, at + 1 :].any(), wrong)
    wrong = "lets a vector depend on padding: hide what is behind the lengths"
    method.require(not ((before - of_padding).abs() > MOVED)[real].any(), wrong)


def _check_loss(method: _Method, value: Any) -> None:
    """A loss is a scalar, computed from the model."""
    from bertlab.training.module import require_scalar

    require_scalar(value, *method)
    wrong = "returns a tensor without a gradient: compute it from the model, not detached"
    method.require(value.requires_grad, wrong)


def _check_update(method: _Method, loss: Any, module: nn.Module, optimizer: Any) -> None:
    """An optimiser trains all parameters of a module, and an update changes them."""
    from bertlab.training.own_trainer import unfused

    problem = unfused(optimizer)
    method.require(not problem, f"returns {problem}")
    trained = [value for value in module.parameters() if value.requires_grad]
    rates = {value: group["lr"] for group in optimizer.param_groups for value in group["params"]}
    left = f"{sum(value not in rates for value in trained)} of {len(trained)} parameters"
    method.require({*trained} <= rates.keys(), f"returns an optimiser without {left}: give it those of all groups")
    for rate in {*rates.values()}:
        wrong = f"returns an optimiser with a learning rate of {shown(rate)}: keep the lr of each group"
        method.require(0 <= rate < math.inf and any(rates.values()), wrong)
    before = [float(value.detach().sum()) for value in trained]
    loss.backward()
    optimizer.step()
    changed = before != [float(value.detach().sum()) for value in trained]
    method.require(changed, "returns an optimiser that changes no weight: let its step update them")


def _check_evaluations(loss: Loss, recipe: Recipe, corpus: TokenisedCorpus, model: Any) -> None:
    """The evaluations of a loss sum what they name, and give finite metrics that the loss declares."""
    import torch

    from bertlab.training.data import to_tensors

    method, metrics = _Method(loss, "evaluations"), dict[str, Any]()
    advice = "return a list of Evaluation(batches, names, sums, metrics), with sums and metrics by their names"
    with method.blamed(advice), torch.no_grad():
        for evaluation in loss.evaluations(recipe, corpus, SEQUENCES, True):
            totals: dict[str, float] = dict.fromkeys(evaluation.names, 0.0)
            for batch in evaluation.batches:
                sums = evaluation.sums(model, to_tensors(batch).to("cpu"))
                wrong = f"names {join_words(sorted(totals))} and sums {join_words(sorted(sums))}"
                problem = f"gives an Evaluation that {wrong}: name what sums returns"
                method.require(sums.keys() == totals.keys(), problem)
                totals = {name: total + float(sums[name]) for name, total in totals.items()}
            metrics |= evaluation.metrics(totals)
    for name, value in metrics.items():
        wrong = f"gives the metric {shown(name)}, which {type(loss).__name__}.metric_labels lacks: name it there"
        method.require(name in loss.all_metric_labels or not loss._own, wrong)
        finite = isinstance(value, int | float) and math.isfinite(value)
        method.require(finite, f"gives {shown(value)} for {name}: give a finite number")
    gives = f"the metrics {join_words(sorted(metrics))}" if metrics else "no metrics"
    wrong = f"gives {gives}: give {loss.selection_metric}, which selection_metric names"
    method.require(loss.selection_metric in ("", *metrics), wrong)


def _check_examples(kind: TaskKind, part: Examples, vocabulary: int, length: int, labels: int) -> None:
    """Examples fit a model of this vocabulary and `length`; targets are some of `labels`, unless that is 0."""
    method = _Method(kind, "encode")
    with method.blamed("return Examples, whose sequences, positions and targets are of the same examples"):
        ids, positions, rows = np.concatenate(part.sequences), np.concatenate(part.positions), len(part.sequences)
        targets, lengths = np.asarray(part.targets), np.repeat(part.lengths, part.counts)
    method.require(rows == len(part) * part.choices > 0, f"makes {rows} sequences for {len(part)} examples")
    method.require_numbers("tokens", ids, (None,), (0, vocabulary - 1))
    method.require_numbers("lengths of sequences", sizes(part.sequences), (rows,), (1, length))
    method.require_numbers("segment_b_start", part.segment_b_start, (rows,))
    method.require_numbers("example_index", np.asarray(part.example_index), targets.shape)
    method.require_numbers("positions", positions, targets.shape, (0, length - 1))
    method.require((positions < lengths).all(), "makes positions beyond their sequences: give those of tokens")
    valid = targets[targets != IGNORED]
    method.require_numbers("targets", valid, (None,), (0, labels - 1) if labels else _ANY, "iubf")
