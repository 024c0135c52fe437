"""Checks of how sequences are cut out of the text: layout, pairs, and what an epoch loses or holds twice."""

import dataclasses

import numpy as np

from bertlab.inputs.audit.checks import Check, Flags, Numbers, alike, always, share, total, uncorrelated, untested
from bertlab.inputs.audit.sample import Sample, again
from bertlab.inputs.audit.tracing import Trace
from bertlab.inputs.batches import FEWEST

_STEP = 8
"""A batch may be padded to a multiple of this width."""
_FEWEST_DOCUMENTS = 50
"""Documents that a test over documents needs: the pairs of one document depend on each other."""
_ALIKE = 0.03
"""By how much the form of true and random pairs may differ: no classifier gains more than half of it from a figure."""
_UNIQUE = 8
"""From this many tokens on, the place at which a second segment is found counts as the place it comes from."""


def layout(sample: Sample) -> list[Check]:
    """Specials, padding and segments of each sequence, by their positions alone."""
    batch, inputs, tokenizer = sample.batch, sample.recipe.inputs, sample.corpus.tokenizer
    tokens, sizes, width = sample.tokens, batch.lengths, sample.tokens.shape[1]
    last = tokens[np.arange(len(tokens)), (sizes - 1).clip(0, width - 1)]
    framed = (tokens[:, 0] == tokenizer.cls) & (last == tokenizer.sep)
    expected = "[CLS] text [SEP], more between documents"
    if inputs.pairs:
        framed &= sample.inner.sum(axis=1) == 1
        expected = "[CLS] first [SEP] second [SEP]"
    elif inputs.format == "doc-sentences":
        framed &= ~sample.inner.any(axis=1)
        expected = "[CLS] text [SEP]"
    stray = sample.ordinary & np.isin(tokens, [tokenizer.pad, tokenizer.cls, tokenizer.mask])
    positions = np.arange(width)
    beyond = positions >= sizes[:, None]
    padding = beyond & (positions < sample.places[:, 2, None])
    padded = padding & ((batch.tokens != tokenizer.pad) | (batch.segments != 0))
    segments = (np.cumsum(sample.inner, axis=1) > sample.inner) & inputs.pairs
    mixed = ~beyond & (segments != batch.segments)
    outside = (sizes > sample.length) | (sample.sizes < 1)
    found = f"{sizes.min()} to {sizes.max()}, mean {sizes.mean():.1f}"
    return [
        always("specials", expected, ~framed | stray.any(axis=1), sample.name),
        always("tokens a sequence", f"at most {sample.length}", outside, sample.name, found),
        always("beyond a sequence", "[PAD] of segment 0", padded.any(axis=1), sample.name),
        always("segments", "0, and 1 for the second", mixed.any(axis=1), sample.name),
    ]


def batches(sample: Sample, beside: Sample | None) -> list[Check]:
    """Sizes of whole batches; `beside` is a sample of the format whose tokens these batches match."""
    recipe, length = sample.recipe, sample.length
    sizes, widths = np.array([batch.tokens.shape for batch in sample.batches]).T
    tokens, longest = _tokens(sample), np.array([batch.lengths.max() for batch in sample.batches])
    untrimmed = recipe.inputs.format == "segment-pair"
    wrong = widths != length if untrimmed else widths - longest >= _STEP
    expected = f"up to {length} tokens" if untrimmed else f"fewer than {_STEP} columns beyond the longest"
    padding = f"{1 - tokens.sum() / (sizes * widths).sum():.2%}"

    def name(batch: int) -> str:
        return f"step {sample.start + batch}"

    checks = [always("padding", expected, wrong, name, padding, "batches")]
    if beside is None:
        size, found = recipe.schedule.batch_size, f"{sizes.mean():,.1f}"
        return [*checks, always("sequences a batch", f"{size:,}", sizes != size, name, found, "batches")]
    uneven = np.abs(tokens - np.median(tokens)) >= length
    found = f"{tokens.mean():,.1f} in {sizes.mean():,.1f} sequences"
    checks.append(always("tokens a batch", "even, to a sequence", uneven, name, found, "batches"))
    others = _tokens(beside)
    count, figure = len(others), f"tokens, of those of {recipe.inputs.token_matched_to}"
    if count < 2:
        return [*checks, untested(figure, "100 %", f"too few, {count} batches")]
    # The number of tokens is rounded, and a batch ends with a whole sequence.
    variance = float(others.var(ddof=1)) / count + length**2 / len(tokens) + 1.0
    expectation = float(others.sum())
    sums = float(tokens.mean()) * count, expectation, variance * count**2, expectation
    return [*checks, total(figure, *sums, count, "batches")]


def _tokens(sample: Sample) -> Numbers:
    """(N,) tokens of each batch, padding not."""
    return np.array([batch.lengths.sum() for batch in sample.batches])


def content(sample: Sample, trace: Trace) -> list[Check]:
    """What each sequence holds of the text."""
    kind, name = sample.recipe.inputs.format, sample.name
    checks = [always("labels put back", "the text at its place", ~trace.agrees, name)]
    placed, document = trace.places >= 0, trace.document
    # Positions whose next is of the same segment.
    adjoining = sample.ordinary[:, :-1] & sample.ordinary[:, 1:] & placed[:, :-1] & placed[:, 1:]
    crossing = (adjoining & (document[:, :-1] != document[:, 1:])).any(axis=1)
    if kind == "full-sentences":
        within = (document[:, :-2] == document[:, 2:]) & placed[:, :-2] & placed[:, 2:]
        wrong = crossing | (sample.inner[:, 1:-1] & within).any(axis=1)
        return [*checks, always("[SEP] within a sequence", "between documents, and only there", wrong, name)]
    checks.append(always("a segment's text", "of one document", crossing, name))
    if kind == "sentence-pair":
        crossing = (adjoining & _boundaries(sample)[trace.places[:, 1:]]).any(axis=1)
        checks.append(always("a segment", "of one sentence", crossing, name))
    return checks


def pairs(sample: Sample, trace: Trace) -> list[Check]:
    """Whether the label describes the second segment, and the share of each label."""
    random, name, inputs = sample.batch.random_second == 1, sample.name, sample.recipe.inputs
    if not inputs.pairs:
        return [always("label of the pair", "0 where there is no pair", sample.batch.random_second != 0, name)]
    paired = trace.known & sample.second.any(axis=1)
    labels = [
        always("'follows'", "the text behind the first", ~random & paired & ~trace.follows, name),
        always("'another document'", "text of another document", random & paired & ~trace.away, name),
    ]
    figure, count = "pairs from another document", len(random)
    if inputs.format == "segment-pair":
        pairing, order = sample.recipe.pairing, sample.batch.order
        shares = [share(figure, int(random.sum()), count, pairing.random, "sequences")]
        if pairing.exchanged:
            drawn, exchanged = int((order >= 0).sum()), int((order == 1).sum())
            shares.append(share("pairs exchanged", exchanged, drawn, pairing.exchanged, "pairs with an order"))
        return [*shares, *labels]
    # The pairs of a document depend on each other: documents are the independent units.
    document = np.searchsorted(trace.ends, sample.batch.sequence_ids, side="right")
    excess = np.bincount(document, random - 0.5)
    if (excess != 0).sum() < _FEWEST_DOCUMENTS:
        return [untested(figure, "50.00%", f"too few, {count:,} sequences"), *labels]
    variance = float((excess**2).sum())
    return [total(figure, float(random.sum()), count / 2, variance, count, count, "sequences"), *labels]


def form(sample: Sample, trace: Trace) -> list[Check]:
    """Whether pairs of both labels have the same form: the boundaries of their segments, and their lengths."""
    if not sample.recipe.inputs.pairs:
        return []
    if sample.recipe.pairing.random:
        label, names = sample.batch.random_second == 1, ("true pairs", "random ones")
        evaluated = np.ones_like(label)
    else:
        label, names = sample.batch.order == 1, ("pairs in order", "exchanged ones")
        evaluated = sample.batch.order >= 0
    sizes = {"first": sample.sizes - sample.second.sum(axis=1), "second": sample.second.sum(axis=1)}
    # Text of a few tokens stands in many places: where it was taken from is not known.
    placed = trace.agrees & evaluated & (sizes["second"] >= _UNIQUE)

    def compare(figure: str, values: Numbers | Flags, chosen: Flags) -> Check:
        return alike(figure, values[chosen & ~label], values[chosen & label], _ALIKE, names)

    boundary, checks, ends = _boundaries(sample), [], []
    for name, segment in (("first", sample.ordinary & ~sample.second), ("second", sample.second)):
        begin = trace.places[np.arange(len(label)), segment.argmax(axis=1)]
        ends += [boundary[begin], boundary[np.where(placed, begin + sizes[name], 0)]]
        checks += [
            compare(f"{name} segment begins a sentence", ends[-2], placed),
            compare(f"{name} segment ends a sentence", ends[-1], placed),
            compare(f"tokens of the {name} segment", sizes[name], evaluated),
        ]
    checks.append(compare("first ends as the second begins", ends[1] == ends[2], placed))
    return [*checks, compare("tokens of both segments", sample.sizes, evaluated)]


def coverage(sample: Sample, trace: Trace) -> list[Check]:
    """The tokens of the text that an epoch loses, or holds twice."""
    starts, kind = sample.batch.sequence_ids, sample.recipe.inputs.format
    own = sample.ordinary & ~(sample.later & ~trace.follows[:, None]) & (trace.places >= 0)
    order = uncorrelated("order of the sequences, and the text's", np.arange(len(starts)), starts)
    if kind == "segment-pair":
        return [_once(sample, trace, own, None), _left_out(sample, trace, own), _short(sample, trace), order]
    if kind == "sentence-pair":
        return [_once(sample, trace, own, _replaced(sample, trace)), order]
    return [_once(sample, trace, own, starts[:0]), _full(sample, trace), order]


def epochs(sample: Sample, trace: Trace) -> list[Check]:
    """The number of epochs, if the recipe sets one: over no more documents than that takes."""
    wanted = sample.recipe.inputs.epochs
    if not (wanted and sample.whole) or sample.recipe.inputs.token_matched_to:
        return []
    schedule, count = sample.recipe.schedule, len(sample.batch.sequence_ids)
    steps = schedule.steps * schedule.batch_size
    document = np.searchsorted(trace.ends, sample.batch.sequence_ids, side="right")
    documents = int(document.max()) + 1
    before_last = int((document < documents - 1).sum())
    holds = count >= int(steps / wanted) and (before_last <= steps / wanted or documents <= FEWEST)
    found, expected = f"{steps / count:.1f} over {documents:,} documents", f"{wanted}, or {FEWEST} documents"
    return [Check("epochs over the text", found, expected, f"exact, {count:,} sequences", holds)]


def same_again(sample: Sample, later: Sample) -> Check:
    """Sequences of the same id in two epochs have the same text."""
    after, first, second = again(sample, later)
    if not len(first):
        return untested(f"sequences {after}", "the same text", "no sequence drawn twice")
    one, other = sample.ordinary[first], later.ordinary[second]
    wrong = ((one != other) | (one & (sample.tokens[first] != later.tokens[second]))).any(axis=1)
    wrong |= sample.batch.random_second[first] != later.batch.random_second[second]
    wrong |= sample.batch.order[first] != later.batch.order[second]
    return always(f"sequences {after}", "the same text", wrong, lambda number: later.name(second[number]))


def _boundaries(sample: Sample) -> Flags:
    """(T + 1,) the offsets of the text at which sentences begin or end."""
    flags = np.zeros(len(sample.corpus.train.tokens) + 1, dtype=np.bool_)
    flags[np.asarray(sample.corpus.train.sentences)] = True
    return flags


def _used(sample: Sample, trace: Trace) -> int:
    """Tokens of the training documents: all, or with `inputs.epochs` up to the last one that the epoch reaches."""
    if not sample.recipe.inputs.epochs:
        return len(sample.corpus.train.tokens)
    last = int(np.searchsorted(trace.ends, sample.batch.sequence_ids.max(), side="right"))
    return int(trace.ends[min(last, len(trace.ends) - 1)])


def _replaced(sample: Sample, trace: Trace) -> Numbers:
    """The tokens of the text that random sentence pairs lose: the back of a sentence that is left alone and split.

    It is the last sentence of a document, or the last piece of one that is longer than half a sequence.
    """
    starts, sentences = sample.batch.sequence_ids, sample.corpus.train.sentences
    ends = trace.ends[np.searchsorted(trace.ends, starts, side="right")]
    last = np.searchsorted(sentences, starts, side="right") == np.searchsorted(sentences, ends)
    lost = last & (ends - starts <= (sample.length - 3) // 2) & (sample.batch.random_second == 1)
    begins = starts + (sample.ordinary & ~sample.second).sum(axis=1)
    lengths = np.maximum(ends - begins, 0)[lost]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(np.repeat(begins[lost], lengths) + within)


def _once(sample: Sample, trace: Trace, own: Flags, replaced: Numbers | None) -> Check:
    """Each token of the text is in one sequence of an epoch, or `replaced`; without these, none is in two."""
    figure, places = "tokens of the text in an epoch", trace.places[own]
    distinct, first = np.unique(places, return_index=True)
    twice = len(places) - len(distinct)
    where, test = "", f"exact, {len(places):,} tokens"
    if twice:
        repeats = np.ones(len(places), dtype=np.bool_)
        repeats[first] = False
        where = sample.name(np.nonzero(own)[0][repeats.argmax()])
    if replaced is None or not sample.whole:
        return Check(figure, f"{twice:,} twice", "none twice", test, not twice, where)
    size = _used(sample, trace)
    distinct = np.union1d(distinct, replaced)
    lost = size - len(distinct)
    if lost and not twice:
        place = int((np.append(distinct, size) != np.arange(len(distinct) + 1)).argmax())
        where = f"token {place:,} of the text, in document {np.searchsorted(trace.ends, place, side='right'):,}"
    found = f"{lost:,} lost, {twice:,} twice"
    if len(replaced):
        found += f", {len(replaced):,} replaced by another document's"
    return Check(figure, found, "each once", test, not lost and not twice, where)


def _full(sample: Sample, trace: Trace) -> Check:
    """No sequence has room for the sentence that comes next."""
    sentences, lengths = np.asarray(sample.corpus.train.sentences), sample.batch.lengths
    end = sample.batch.sequence_ids + sample.sizes
    following = np.searchsorted(sentences, end, side="right") - 1  # the number of the sentence that comes next
    more = np.append(np.diff(sentences), 0)[following]
    new = np.isin(end, trace.ends)
    over = new if sample.recipe.inputs.format == "doc-sentences" else end == sentences[-1]
    parted = more > sample.length - 2  # a sentence that is too long is cut into pieces
    fits = lengths + more + new <= sample.length
    within = ~np.isin(end, sentences)
    piece = np.isin(following, following[within & parted])
    wrong = (fits & ~over & ~parted) | (within & ~piece)
    found = f"{(lengths == sample.length).mean():.2%} to the last token"
    return always("sequences are full", "no room for the next sentence", wrong, sample.name, found)


def _left_out(sample: Sample, trace: Trace, own: Flags) -> Check:
    """Text that no sequence of an epoch shows as its own is cut from sequences that are full, or short on purpose.

    Or it is the back of a sentence that ends its document, whose front is in a random pair.
    """
    figure, expected = "text cut from sequences that are not full", sample.recipe.inputs.short_seq_prob
    if not sample.whole:
        return untested(figure, f"at most {expected:.2%}", "the epoch was not drawn whole")
    size, sentences = _used(sample, trace), sample.corpus.train.sentences
    order = np.argsort(sample.batch.sequence_ids)
    starts = sample.batch.sequence_ids[order]
    ends = np.append(starts[1:], size)
    cut = ends - starts - own.sum(axis=1)[order] > 0
    last = np.searchsorted(sentences, ends - 1) - np.searchsorted(sentences, starts, side="right") < 1
    split = last & np.isin(ends, trace.ends) & (sample.batch.random_second[order] == 1)
    loose = cut & ~split & (sample.batch.lengths[order] < sample.length)
    check = share(figure, int(loose.sum()), len(starts), expected, "sequences", at_most=True)
    lost = (size - int(own.sum())) / size
    return dataclasses.replace(check, found=f"{check.found}; lost in all: {lost:.2%} of the tokens")


def _short(sample: Sample, trace: Trace) -> Check:
    """True pairs that are cut short on purpose, of those that the end of their document cannot cut."""
    starts, room = sample.batch.sequence_ids, sample.length - 3
    ends = trace.ends[np.minimum(np.searchsorted(trace.ends, starts, side="right"), len(trace.ends) - 1)]
    free = (sample.batch.random_second == 0) & (ends - starts >= 2 * room)
    short = int((sample.batch.lengths[free] < sample.length).sum())
    # The shorter length is drawn from 2 up to the whole room, which is not short.
    expected = sample.recipe.inputs.short_seq_prob * (1 - 1 / (room - 1))
    return share("pairs cut short", short, int(free.sum()), expected, "sequences")
