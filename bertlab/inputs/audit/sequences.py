"""How rows are cut out of the text: their layout, their pairs, and what a pass over the data loses or sees twice."""

from __future__ import annotations

import dataclasses

import numpy as np

from bertlab.inputs.audit.checks import Check, Flags, Numbers, alike, always, share, total, uncorrelated, untested
from bertlab.inputs.audit.drawing import Steps
from bertlab.inputs.audit.tracing import Structure, Traced, again
from bertlab.inputs.batches import FEWEST, Corpus
from bertlab.inputs.formats import Text
from bertlab.recipe import Recipe

_STEP = 8
"""Columns to a multiple of which a batch may be padded."""
_FEWEST_DOCUMENTS = 50
"""Documents whose rows' pairs are drawn on each other, for a test over documents."""
_ALIKE = 0.03
"""By how much the form of true and random pairs may differ: no classifier gains more than half of it from a figure."""
_UNIQUE = 8
"""Tokens of a second segment from which on its place in the text is taken for the one that it comes from."""


def batches(steps: Steps, recipe: Recipe, length: int, beside: Steps | None) -> list[Check]:
    """Sizes of whole batches; `beside` are those of the format by whose tokens batches are counted."""
    padding = 1 - steps.tokens.sum() / (steps.rows * steps.widths).sum()
    whole = recipe.inputs.format == "segment-pair"
    wrong = steps.widths != length if whole else (steps.widths - steps.longest) >= _STEP
    expected = f"up to {length} tokens" if whole else f"fewer than {_STEP} columns beyond the longest"
    checks = [always("padding", expected, wrong, steps.name, f"{padding:.2%}", "batches")]
    if beside is None:
        found = f"{steps.rows.mean():,.1f}"
        size = recipe.schedule.batch_size
        return [*checks, always("sequences a batch", f"{size:,}", steps.rows != size, steps.name, found, "batches")]
    uneven = np.abs(steps.tokens - np.median(steps.tokens)) >= length
    found = f"{steps.tokens.mean():,.1f} in {steps.rows.mean():,.1f} sequences"
    checks.append(always("tokens a batch", "even, to a sequence", uneven, steps.name, found, "batches"))
    count = len(beside.tokens)
    figure = f"tokens, of those of {recipe.inputs.token_matched_to}"
    if count < 2:
        return [*checks, untested(figure, "100 %", f"too few, {count} batches")]
    mean, variance = float(beside.tokens.mean()), float(beside.tokens.var(ddof=1)) / count
    variance += length**2 / len(steps.tokens) + 1.0  # it is rounded, and a batch ends with a whole sequence
    sums = float(steps.tokens.mean()) * count, mean * count
    return [*checks, total(figure, *sums, variance * count**2, sums[1], count, "batches")]


def layout(rows: Structure, recipe: Recipe, length: int, corpus: Corpus) -> list[Check]:
    """Specials, padding and segments of each row, by their columns alone."""
    batch, tokenizer, name = rows.drawn.batch, corpus.tokenizer, rows.drawn.name
    columns = np.arange(batch.tokens.shape[1])
    beyond = columns >= batch.lengths[:, None]
    last = rows.tokens[np.arange(len(batch.rows)), (batch.lengths - 1).clip(0, len(columns) - 1)]
    inner = rows.inner.sum(axis=1)
    framed = (rows.tokens[:, 0] == tokenizer.cls) & (last == tokenizer.sep)
    if recipe.inputs.pairs:
        framed &= inner == 1
        expected = "[CLS] first [SEP] second [SEP]"
    elif recipe.inputs.format == "doc-sentences":
        framed &= inner == 0
        expected = "[CLS] text [SEP]"
    else:
        expected = "[CLS] text [SEP], more between documents"
    stray = (rows.tokens == tokenizer.pad) | (rows.tokens == tokenizer.cls) | (rows.tokens == tokenizer.mask)
    stray &= rows.ordinary
    padded = ((batch.tokens != tokenizer.pad) & (batch.tokens >= 0) & beyond) | (batch.segments != 0) & beyond
    behind = np.cumsum(rows.inner, axis=1) - rows.inner > 0
    segments = behind & recipe.inputs.pairs
    sizes = batch.lengths
    return [
        always("specials", expected, ~framed | stray.any(axis=1), name),
        always(
            "tokens a sequence",
            f"at most {length}",
            (sizes > length) | (rows.sizes < 1),
            name,
            f"{sizes.min()} to {sizes.max()}, mean {sizes.mean():.1f}",
        ),
        always("beyond a sequence", "[PAD] of segment 0", padded.any(axis=1), name),
        always("segments", "0, and 1 for the second", ((segments != batch.segments) & ~beyond).any(axis=1), name),
    ]


def content(rows: Structure, traced: Traced, recipe: Recipe, corpus: Corpus) -> list[Check]:
    """What each row holds of the text."""
    name, text = rows.drawn.name, corpus.train
    checks = [always("labels put back", "the text at its place", ~traced.agrees, name)]
    placed, document = traced.places >= 0, traced.document
    # Columns whose next is of the same segment.
    adjoining = rows.ordinary[:, :-1] & rows.ordinary[:, 1:] & placed[:, :-1] & placed[:, 1:]
    crossing = adjoining & (document[:, :-1] != document[:, 1:])
    if recipe.inputs.format == "full-sentences":
        before, after = document[:, :-2], document[:, 2:]
        idle = rows.inner[:, 1:-1] & (before == after) & placed[:, :-2] & placed[:, 2:]
        wrong = crossing.any(axis=1) | idle.any(axis=1)
        return [*checks, always("[SEP] within a row", "between documents, and only there", wrong, name)]
    checks.append(always("a segment's text", "of one document", crossing.any(axis=1), name))
    if recipe.inputs.format == "sentence-pair":
        starts = np.zeros(len(text.tokens) + 1, dtype=np.bool_)
        starts[np.asarray(text.sentences)] = True
        crossing = adjoining & starts[traced.places[:, 1:].clip(0)]
        checks.append(always("a segment", "of one sentence", crossing.any(axis=1), name))
    return checks


def pairs(rows: Structure, traced: Traced, recipe: Recipe) -> list[Check]:
    """Whether the second segment is what the label says it is, and each as often."""
    label, name = rows.drawn.batch.random_second, rows.drawn.name
    if not recipe.inputs.pairs:
        return [always("label of the pair", "0 where there is no pair", label != 0, name)]
    random = label == 1
    paired = traced.known & rows.second.any(axis=1)
    strays = [
        always("'follows'", "the text behind the first", ~random & paired & ~traced.follows, name),
        always("'another document'", "text of another document", random & paired & ~traced.away, name),
    ]
    if recipe.inputs.format == "segment-pair":
        order, (away, exchanged) = rows.drawn.batch.order, dataclasses.astuple(recipe.pairing)
        shares = [share("pairs from another document", int(random.sum()), len(random), away, "sequences")]
        if exchanged:
            drawn = int((order >= 0).sum())
            shares.append(share("pairs exchanged", int((order == 1).sum()), drawn, exchanged, "pairs with an order"))
        return [*shares, *strays]
    # Rows of a document are drawn on each other: documents are what is independent.
    document = np.searchsorted(traced.ends, rows.drawn.batch.rows, side="right")
    excess = np.bincount(document, random - 0.5)
    if (excess != 0).sum() < _FEWEST_DOCUMENTS:
        return [untested("pairs from another document", "50.00%", f"too few, {len(random):,} sequences"), *strays]
    half = len(random) / 2
    variance = float((excess**2).sum())
    balance = total(
        "pairs from another document", float(random.sum()), half, variance, 2 * half, len(random), "sequences"
    )
    return [balance, *strays]


def form(rows: Structure, traced: Traced, recipe: Recipe, corpus: Corpus) -> list[Check]:
    """Whether pairs of both labels have the same form: where their segments begin and end, and how long they are."""
    if not recipe.inputs.pairs:
        return []
    if recipe.pairing.random:
        label, kinds = rows.drawn.batch.random_second == 1, ("true pairs", "random ones")
        evaluated = np.ones_like(label)
    else:
        label, kinds = rows.drawn.batch.order == 1, ("pairs in order", "exchanged ones")
        evaluated = rows.drawn.batch.order >= 0
    boundary = np.zeros(len(corpus.train.tokens) + 1, dtype=np.bool_)
    boundary[np.asarray(corpus.train.sentences)] = True
    segments = {"first": rows.ordinary & ~rows.second, "second": rows.second}
    sizes = {name: segment.sum(axis=1) for name, segment in segments.items()}
    # Text of a few tokens stands in many places: where it was taken from is not known.
    placed = np.flatnonzero(traced.agrees & evaluated & (sizes["second"] >= _UNIQUE))
    checks, ends = [], []
    for name, segment in segments.items():
        begin = traced.places[placed, segment[placed].argmax(axis=1)]
        ends += [boundary[begin], boundary[begin + sizes[name][placed]]]
        checks.append(alike(f"{name} segment begins a sentence", ends[-2], label[placed], _ALIKE, names=kinds))
        checks.append(alike(f"{name} segment ends a sentence", ends[-1], label[placed], _ALIKE, names=kinds))
        checks.append(
            alike(f"tokens of the {name} segment", sizes[name][evaluated], label[evaluated], _ALIKE, names=kinds)
        )
    checks.append(alike("first ends as the second begins", ends[1] == ends[2], label[placed], _ALIKE, names=kinds))
    return [*checks, alike("tokens of both segments", rows.sizes[evaluated], label[evaluated], _ALIKE, names=kinds)]


def coverage(rows: Structure, traced: Traced, recipe: Recipe, length: int, corpus: Corpus) -> list[Check]:
    """What a pass loses of the text, and sees twice."""
    starts = rows.drawn.batch.rows
    own = rows.ordinary & ~(rows.later & ~traced.follows[:, None]) & (traced.places >= 0)
    size = _used(rows, traced, recipe, corpus)
    order = uncorrelated("order of the rows, and the text's", np.arange(len(starts)), starts)
    if recipe.inputs.format == "segment-pair":
        cut = _left_out(rows, traced, own, recipe, length, size, corpus.train)
        return [_once(rows, traced, own, None), cut, _short(rows, traced, recipe, length), order]
    if recipe.inputs.format == "sentence-pair":
        replaced = _replaced(rows, traced, length, corpus.train)
        return [_once(rows, traced, own, size, replaced), order]
    return [_once(rows, traced, own, size), _full(rows, traced, recipe, length, corpus.train), order]


def passes(rows: Structure, traced: Traced, recipe: Recipe) -> list[Check]:
    """How often the text is passed over, where the recipe says how often: over no more documents than that takes."""
    wanted = recipe.inputs.epochs
    if not (wanted and rows.drawn.whole) or recipe.inputs.token_matched_to:
        return []
    steps, count = recipe.schedule.steps * recipe.schedule.batch_size, len(rows.drawn.batch.rows)
    document = np.searchsorted(traced.ends, rows.drawn.batch.rows, side="right")
    documents = int(document.max()) + 1
    before_last = int((document < documents - 1).sum())
    holds = count >= int(steps / wanted) and (before_last <= steps / wanted or documents <= FEWEST)
    found = f"{steps / count:.1f} over {documents:,} documents"
    return [
        Check("passes over the text", found, f"{wanted}, or {FEWEST} documents", f"exact, {count:,} sequences", holds)
    ]


def same_again(one: Structure, other: Structure, epochs: int) -> Check:
    """The sequences of the same name in two epochs, so many `epochs` apart, have the same text."""
    after, first, second = again(one, other, epochs)
    if not len(first):
        return untested(f"rows {after}", "the same text", "no row drawn twice")
    tokens = one.tokens[first], other.tokens[second]
    ordinary = one.ordinary[first], other.ordinary[second]
    changed = (ordinary[0] != ordinary[1]) | (ordinary[0] & (tokens[0] != tokens[1]))
    relabelled = one.drawn.batch.random_second[first] != other.drawn.batch.random_second[second]
    relabelled |= one.drawn.batch.order[first] != other.drawn.batch.order[second]
    wrong = changed.any(axis=1) | relabelled
    return always(f"rows {after}", "the same text", wrong, lambda row: other.drawn.name(second[row]))


def _used(rows: Structure, traced: Traced, recipe: Recipe, corpus: Corpus) -> int:
    """Tokens of the documents that are trained on: all, or with `inputs.epochs` up to the last that a pass meets."""
    if not recipe.inputs.epochs:
        return len(corpus.train.tokens)
    last = int(np.searchsorted(traced.ends, rows.drawn.batch.rows.max(), side="right"))
    return int(traced.ends[min(last, len(traced.ends) - 1)])


def _replaced(rows: Structure, traced: Traced, length: int, text: Text) -> Numbers:
    """The tokens of the text that random sentence pairs lose: the back of a sentence that is left alone and split.

    It is a document's last, or the last piece of one that is longer than half a row.
    """
    starts = rows.drawn.batch.rows
    ends = traced.ends[np.searchsorted(traced.ends, starts, side="right")]
    within = np.searchsorted(text.sentences, starts, side="right") == np.searchsorted(text.sentences, ends)
    at = within & (ends - starts <= (length - 3) // 2) & (rows.drawn.batch.random_second == 1)
    begin = starts[at] + (rows.ordinary & ~rows.second).sum(axis=1)[at]
    size = traced.ends[-1] + 1
    return np.flatnonzero(np.cumsum(np.bincount(begin, minlength=size) - np.bincount(ends[at], minlength=size)))


def _once(rows: Structure, traced: Traced, own: Flags, size: int | None, replaced: Numbers | None = None) -> Check:
    """Each token of the text is in one row of a pass: all `size` of them but the `replaced`, where that is tested."""
    figure = "tokens of the text in a pass"
    drawn = rows.drawn
    row, column = np.nonzero(own)
    order = np.argsort(traced.places[row, column], kind="stable")
    places = traced.places[row, column][order]
    again = np.append(False, places[1:] == places[:-1])
    twice = int(again.sum())
    where = drawn.name(row[order[again.argmax()]]) if twice else ""
    test = f"exact, {len(places):,} tokens"
    if size is None or not drawn.whole:
        return Check(figure, f"{twice:,} twice", "none twice", test, not twice, where)
    distinct = places[~again] if replaced is None else np.union1d(places, replaced)
    lost = size - len(distinct)
    if lost and not twice:
        gaps = np.append(distinct, size) != np.arange(len(distinct) + 1)
        first = int(gaps.argmax())
        where = f"token {first:,} of the text, in document {np.searchsorted(traced.ends, first, side='right'):,}"
    found = f"{lost:,} lost, {twice:,} twice"
    if replaced is not None and len(replaced):
        found += f", {len(replaced):,} replaced by another document's"
    return Check(figure, found, "each once", test, not lost and not twice, where)


def _full(rows: Structure, traced: Traced, recipe: Recipe, length: int, text: Text) -> Check:
    """No row leaves room for the sentence that comes next."""
    sentences = np.asarray(text.sentences)
    end = rows.drawn.batch.rows + rows.sizes
    number = np.searchsorted(sentences, end, side="right") - 1  # of the sentence that comes next
    after = np.minimum(number + 1, len(sentences) - 1)
    new = np.isin(end, traced.ends)
    over = new if recipe.inputs.format == "doc-sentences" else end == sentences[-1]
    more = sentences[after] - sentences[np.minimum(number, after)]
    parted = more > length - 2  # a longer sentence than fits is cut into pieces
    fits = rows.drawn.batch.lengths + more + new <= length
    within = ~np.isin(end, sentences)
    piece = np.isin(number, number[within & parted])
    wrong = (fits & ~over & ~parted) | (within & ~piece)
    found = f"{(rows.drawn.batch.lengths == length).mean():.2%} to the last token"
    return always("rows are full", "no room for the next sentence", wrong, rows.drawn.name, found)


def _left_out(rows: Structure, traced: Traced, own: Flags, recipe: Recipe, length: int, size: int, text: Text) -> Check:
    """Text that no row of a pass shows as its own is cut from rows that are full, or short on purpose.

    Or it is the back of a sentence that ends its document, whose front is in a random pair.
    """
    figure = "text cut from rows that are not full"
    expected = recipe.inputs.short_seq_prob
    if not rows.drawn.whole:
        return untested(figure, f"at most {expected:.2%}", "the pass was not drawn whole")
    order = np.argsort(rows.drawn.batch.rows)
    starts = rows.drawn.batch.rows[order]
    ends = np.append(starts[1:], size)
    cut = ends - starts - own.sum(axis=1)[order] > 0
    last = np.searchsorted(text.sentences, ends - 1) - np.searchsorted(text.sentences, starts, side="right") < 1
    split = last & np.isin(ends, traced.ends) & (rows.drawn.batch.random_second[order] == 1)
    loose = cut & ~split & (rows.drawn.batch.lengths[order] < length)
    check = share(figure, int(loose.sum()), len(starts), expected, "sequences", at_most=True)
    lost = (size - int(own.sum())) / size
    return dataclasses.replace(check, found=f"{check.found}; lost in all: {lost:.2%} of the tokens")


def _short(rows: Structure, traced: Traced, recipe: Recipe, length: int) -> Check:
    """True pairs that are cut short on purpose: of those that the end of their document does not reach."""
    starts = rows.drawn.batch.rows
    ends = traced.ends[np.minimum(np.searchsorted(traced.ends, starts, side="right"), len(traced.ends) - 1)]
    room = length - 3
    free = (rows.drawn.batch.random_second == 0) & (ends - starts >= 2 * room)
    short = int((rows.drawn.batch.lengths[free] < length).sum())
    # The shorter length is drawn from 2 up to the whole room, which is not short.
    return share(
        "pairs cut short", short, int(free.sum()), recipe.inputs.short_seq_prob * (1 - 1 / (room - 1)), "sequences"
    )
