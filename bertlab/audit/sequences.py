"""Checks of how sequences are cut out of the text: layout, pairs, and what an epoch loses or holds twice."""

import numpy as np

from bertlab.inputs.checks import UNLIKELY, Check, always
from bertlab.inputs.mixing import SOURCE, Mixture
from bertlab.inputs.sample import PREFIX, Sample, Source, elsewhere
from bertlab.inputs.targets import HANDFUL
from bertlab.recipe import Recipe
from bertlab.recipe.objective import INPUTS
from bertlab.text.facts import UNKNOWN
from bertlab.text.tokens import TokenisedCorpus, some_corpora

LEAST_EXPECTED = 5.0
"""Sequences of the rarest part that a test of rates expects at least."""


def layout(sample: Sample) -> list[Check]:
    """Specials, padding and segments of each sequence, by their positions alone."""
    batch, form, tokenizer = sample.batch, sample.recipe.inputs.format, sample.corpus.tokenizer
    tokens, sizes, width = sample.tokens, sample.text.lengths, sample.tokens.shape[1]
    last = tokens[np.arange(len(tokens)), (sizes - 1).clip(0, width - 1)]
    framed = (tokens[:, 0] == tokenizer.cls) & (last == tokenizer.sep)
    expected = "[CLS] text [SEP], more between documents"
    if form.pairs:
        framed &= sample.inner.sum(axis=1) == 1
        expected = "[CLS] first [SEP] second [SEP]"
    elif not form.crosses:
        framed &= ~sample.inner.any(axis=1)
        expected = "[CLS] text [SEP]"
    stray = sample.ordinary & np.isin(tokens, [tokenizer.pad, tokenizer.cls, tokenizer.mask])
    padded = np.zeros(len(tokens), dtype=np.bool_)
    for name, stream in batch.streams.items():
        positions = np.arange(stream.tokens.shape[1])
        padding = positions >= stream.lengths[:, None]
        if name == INPUTS:  # the batches of a sample may have different widths
            padding &= positions < sample.places[:, 2, None]
        padded |= (padding & (stream.tokens != tokenizer.pad)).any(axis=1)
    outside = (sizes > sample.length) | (sample.sizes < 1)
    sizes_text = f"{sizes.min()} to {sizes.max()}, mean {sizes.mean():.1f}"
    return [
        always("specials", expected, ~framed | stray.any(axis=1), sample.name),
        always("tokens a sequence", f"at most {sample.length}", outside, sample.name, sizes_text),
        always("beyond a sequence", "[PAD]", padded, sample.name),
    ]


def batches(sample: Sample) -> Check:
    """The sequences of a batch, or its tokens in a format whose batches are counted by tokens."""
    sizes = np.array([len(batch.lengths) for batch in sample.batches])
    size = sample.recipe.schedule.batch_size
    figure, expected, wrong, mean_text = "sequences a batch", f"{size:,}", sizes != size, f"{sizes.mean():,.1f}"
    if sample.recipe.inputs.format.token_matched_to:
        tokens = np.array([batch.lengths.sum() for batch in sample.batches])
        figure, expected = "tokens a batch", "even, to a sequence"
        mean_text = f"{tokens.mean():,.1f} in {mean_text} sequences"
        # a batch has the sequences that begin within its share, and so have all of them together
        wrong = np.abs(tokens - tokens.mean()) >= sample.length * (1 + 1 / len(tokens))
    return always(figure, expected, wrong, lambda batch: f"step {sample.start + batch}", mean_text, "batches")


def content(sample: Sample) -> list[Check]:
    """What each sequence holds of the text."""
    name, trace = sample.name, sample.traced
    checks = [always("labels put back", "the text at its place", ~trace.agrees, name)]
    if sample.recipe.inputs.format.joins:
        return checks
    placed, document = trace.places >= 0, trace.document
    # Positions whose next is of the same segment.
    adjoining = sample.ordinary[:, :-1] & sample.ordinary[:, 1:] & placed[:, :-1] & placed[:, 1:]
    crossing = (adjoining & (document[:, :-1] != document[:, 1:])).any(axis=1)
    if sample.recipe.inputs.format.crosses:
        within = (document[:, :-2] == document[:, 2:]) & placed[:, :-2] & placed[:, 2:]
        wrong = crossing | (sample.inner[:, 1:-1] & within).any(axis=1)
        return [*checks, always("[SEP] within a sequence", "between documents, and only there", wrong, name)]
    return [*checks, always("a segment's text", "of one document", crossing, name)]


def coverage(sample: Sample) -> list[Check]:
    """Each token of the text is in one sequence of an epoch, or as often as the format says."""
    rule, trace = sample.recipe.inputs.format.coverage, sample.traced
    covered = sample.ordinary & ~(sample.later & ~trace.follows[:, None]) & (trace.places >= 0)
    places = trace.places[covered]
    distinct, first = np.unique(places, return_index=True)
    twice = len(places) - len(distinct)
    expected, holds, counts_text, where = "none twice", not twice, f"{twice:,} twice", ""
    if twice:
        where = sample.name(np.nonzero(covered)[0][np.setdiff1d(np.arange(len(places)), first)[0]])
    if sample.whole:
        lost = len(sample.corpus.train.tokens) - len(distinct)
        counts_text = f"{lost:,} lost, {counts_text}"
        if rule == "each once":
            expected, holds = rule, holds and not lost
    if rule == "any":
        expected, holds, where = rule, True, ""
    test = f"exact, {len(places):,} tokens"
    return [Check("tokens of the text in an epoch", counts_text, expected, test, holds, where)]


def unknown(sample: Sample) -> Check:
    """The share of the tokens that the vocabulary does not know."""
    missed = sample.ordinary & (sample.tokens == sample.corpus.tokenizer.unk)
    share, tokens = float(missed.sum() / max(1, sample.ordinary.sum())), int(sample.ordinary.sum())
    holds = share <= UNKNOWN
    where = "" if holds else sample.name(int(missed.any(axis=1).argmax()))
    return Check("unknown tokens", f"{share:.2%}", f"at most {UNKNOWN:.0%}", f"{tokens:,} tokens", holds, where)


def targets(sample: Sample) -> list[Check]:
    """Whether each loss has something to predict."""
    checks = []
    for loss in [loss for loss in sample.recipe.objective if loss.share]:
        for words, has in loss.targets(sample.batch, sample.corpus.train).items():
            having, drawn = int(np.asarray(has).sum()), len(sample.batch.lengths)
            least = min(HANDFUL, drawn)
            share_text = f"{having / drawn:.2%} {words}"
            test = f"exact, {drawn:,} sequences"
            checks.append(Check(f"targets of {loss.kind}", share_text, f"in {least} or more", test, having >= least))
    return checks


def corpora(sample: Sample, whole: TokenisedCorpus) -> list[Check]:
    """Whether the documents of the sequences are of the corpora of `whole` that the recipe reads."""
    read, text, trace = sample.recipe.inputs.corpora, whole.train, sample.traced
    if not read:
        return []
    chosen = some_corpora(text, read)
    ends = np.asarray(chosen.sentences)[np.asarray(chosen.documents[1:])]
    placed = trace.places >= 0
    bounds, numbers = np.append(0, trace.ends), np.unique(trace.document[placed])
    numbers = numbers[bounds[numbers + 1] - bounds[numbers] >= PREFIX]
    every = np.asarray(sample.corpus.train.tokens)
    segments = [every[bounds[number] : bounds[number + 1]].astype(np.int64) for number in numbers]
    offsets = elsewhere(np.asarray(chosen.tokens), ends, segments, np.full(len(numbers), -1))
    side = "first" if read > 0 else "last"
    expected = f"of the {side} {abs(read)} corpora" if abs(read) > 1 else f"of the {side} corpus"

    def name(number: int) -> str:
        return sample.name(int(np.nonzero(placed & (trace.document == numbers[number]))[0][0]))

    return [always("documents of the sequences", expected, offsets < 0, name, of="documents")]


def mixture(recipe: Recipe, corpus: TokenisedCorpus, source: Source, most: int) -> tuple[str, tuple[Check, ...]]:
    """The sample in words, and whether text and tasks come as often as they should, no sequence twice an epoch."""
    from scipy.stats import chisquare

    (first, steps), *later = recipe.stages
    size = first.schedule.batch_size
    drawn_steps = max(1, most // (size * first.inputs.length))
    batches = [source(step) for step in range(min(steps, drawn_steps) if later else drawn_steps)]
    sources, epochs, ids = (
        np.concatenate(arrays)
        for arrays in zip(*((one.format[SOURCE], one.epochs, one.sequence_ids) for one in batches), strict=True)
    )
    rates = np.array(Mixture(first, corpus, 0).rates)
    counts, drawn = np.bincount(sources, minlength=len(rates)), rates > 0
    p = float(chisquare(counts[drawn], len(sources) * rates[drawn]).pvalue) if drawn.sum() > 1 else 1.0
    off = float(np.abs(counts / len(sources) - rates).max())
    enough = len(sources) * rates[drawn].min() >= LEAST_EXPECTED
    wrong = np.array([len(one.lengths) != size for one in batches])
    twice = len(ids) - len(np.unique(np.stack([epochs, ids]), axis=1).T)
    checks = (
        Check(
            "rates of text and tasks",
            f"to {off:.2%}",
            f"{drawn.sum()} rates of {recipe.multitask.mixing.kind}",
            f"p = {p:.2g}, {len(sources):,} sequences",
            p >= UNLIKELY if enough else None,
        ),
        always("sequences a batch", f"{size:,}", wrong, lambda batch: f"step {batch}", of="batches"),
        Check("sequences in an epoch", f"{twice:,} twice", "none twice", f"exact, {len(ids):,} sequences", not twice),
    )
    return f"{len(sources):,} sequences of text and {len(rates) - 1} tasks", checks
