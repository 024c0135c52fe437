"""The page `agreement` in all formats: its tables and sentences. Raw text: the templates escape it."""

import sys
from collections.abc import Collection, Iterator

from bertlab.report.agreement import ABOVE, BELOW, ENDPOINTS, LEARNED, MATCHED, METRIC, Agreement, Share, Shares
from bertlab.report.pages import latex, render
from bertlab.report.plots.agreement import figures
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Interval
from bertlab.report.tables import Table
from bertlab.wording import count, flops

LARGE = 0.25
"""A study with this share of the pairs is named."""


def files(found: Agreement, formats: Collection[str]) -> Iterator[tuple[str, str | bytes]]:
    """Names and contents of the pages and their figures."""
    drawn = figures(found)
    yield from ((f"figures/agreement-{kind}.svg", svg) for kind, (svg, _) in drawn.items())
    for name in ("html", "md"):
        if name in formats:
            page = render(f"agreement.{name}.j2", found=found, figures=drawn, words=sys.modules[__name__])
            yield f"agreement.{name}", page
    if "latex" in formats:
        tables = [overall(found), *groups(found)]
        yield "agreement.tex", latex.page("agreement", tables, "Signs that agree with the published ones,")


def summary(found: Agreement) -> str:
    """The overall share on the paper's metric with its interval, and that where the baseline is above every floor."""
    share, ends = found.overall[METRIC]
    fewest, most = found.seeds
    seeds = count(most, "seed") if fewest == most else f"{fewest} to {count(most, 'seed')}"
    if found.studies == 1:
        over = f"over {seeds} of one study"
    else:
        over = f"over {found.studies} studies"
        over += f" and {seeds}" if most > 1 else " with one seed each"
    none = f"no interval: some variants have fewer than {VERDICT_MIN_SEEDS} seeds"
    known = f"{_ends(ends)} {over}" if ends else f"{over}; {none}"
    pairs = count(share.pairs, "measured difference")
    have = "has" if share.pairs == 1 else "have"
    zero = f", {share.tied:,} {'is' if share.tied == 1 else 'are'} zero" if share.tied else ""
    text = f"{share.agreed:,} of {pairs} {have} the published sign{zero}: {_percent(share)} ({known})."
    if ends and ends.low <= 0.5 <= ends.high:
        text += " That is not significantly above a coin."
    name, own = found.largest
    rest = Share.of(each for each in found.on(METRIC) if each.study != name)
    if rest.pairs and own.pairs >= LARGE * share.pairs:
        without = f"{rest.agreed:,} of {rest.pairs:,}, {_percent(rest)}"
        text += f" {name} has {own.pairs:,} of these pairs; without it: {without}."
    learned, ends = found.overall[LEARNED]
    if not learned.pairs or learned.pairs == share.pairs:
        return text
    shown = f"{learned.agreed:,} of {learned.pairs:,}, {_percent(learned)}{f' ({_ends(ends)})' if ends else ''}"
    return f"{text} Where the baseline is above every floor, or none is known: {shown}."


def notes(found: Agreement) -> list[str]:
    """What is counted, how the interval is made, and how to read the share."""
    lines = [
        "A pair: two pre-trained variants of a study, the baseline or not, on one measurement, whose published values "
        "differ. It agrees if the mean measured difference over the seeds of both has the sign of the published one, "
        "whether or not the difference is certain; a mean of exactly zero does not agree. Seeds are "
        "pre-training seeds, on one checkpoint (--from) fine-tuning seeds. Pairs of a study share variants, "
        "so they are not independent; a pair that several settings of a study measure with the same runs counts once. "
        "Averages of columns are not counted, only measured columns. "
        "Counted are also pairs that verdicts refuse: with collapsed, diverged or missing "
        "runs, or of models that learned next to nothing.",
        "For reference: guessing gives 50 %. Magnusson et al. (2025, DataDecide) find the sign of a difference at 1B "
        "parameters in about 80 % of pairs at 150M.",
    ]
    if {ABOVE, BELOW} & found.groups["floors"].keys():
        lines.append(
            "Floors are points that take no understanding of the text, such as those of a majority guess or of a "
            "linear model of words. Where the baseline is not above all of them, its models may have learned nothing "
            "of the task, and signs are closer to guesses. Measurements on the pre-training itself have no floor."
        )
    if any(found.halves.values()):
        lines.append(
            "Halves agree: the share of the pairs (with two seeds or more) in which half of the seeds "
            "has the sign of the other half, averaged over all ways to halve. Half agrees with the paper: "
            "in which half of the seeds has the published sign. Two halves differ by noise alone, so a paper cannot be "
            "expected to agree with one much more often."
        )
    if any(ends for _, ends in found.overall.values()):
        lines.append(
            "Interval: a bootstrap that draws studies, and seeds of their pairs, with replacement. The drawn seeds "
            "are noisier than all seeds together, so it reaches further towards 50 %. A few studies or seeds do not "
            "show how far others may lie: it is then too narrow (with four seeds of one study it covers about 85 %)."
        )
    if any(share.pairs and not ends for share, ends in found.overall.values()):
        lines.append(
            f"No interval: pairs of one study, some with fewer than {VERDICT_MIN_SEEDS} seeds, do not show how far "
            f"other seeds or studies may lie. More seeds (--seeds {VERDICT_MIN_SEEDS}) or a second study give one."
        )
    return lines


def overall(found: Agreement) -> Table:
    """A line for each endpoint, and for the paper's metric on those parts of the pairs that are not all."""
    names = {METRIC: ENDPOINTS[METRIC], LEARNED: f"{ENDPOINTS[METRIC]}, {ABOVE} or none known"}
    names[MATCHED] = f"{ENDPOINTS[METRIC]}, pairs with a likelihood"
    names |= {LIKELIHOOD: f"{ENDPOINTS[LIKELIHOOD]} of the right answers"}
    for name in (LEARNED, MATCHED):
        if found.overall[name][0].pairs in (0, found.overall[METRIC][0].pairs):
            del names[name]
    rows = []
    for name, text in names.items():
        share, ends = found.overall[name]
        if share.pairs:
            numbers = (f"{each:,}" for each in (share.pairs, share.agreed, share.tied))
            halves = found.halves[name]
            signs = (halves.with_each_other, halves.with_published) if halves else ()
            noise = [f"{100 * each:.0f} %" for each in signs] or ["", ""]
            rows.append((text, *numbers, _percent(share), _ends(ends) or "none", *noise))
    columns = ("endpoint", "pairs", "agree", "measured as zero", "share", "95 % interval")
    halved = ("halves agree", "half agrees with the paper")
    return Table((*columns, *halved), tuple(rows))


def groups(found: Agreement) -> list[Table]:
    """A table for each way to group the pairs: the share on each endpoint with its number of pairs."""
    return [
        Table((name, *ENDPOINTS.values()), tuple((group, *_cells(shares)) for group, shares in own.items()))
        for name, own in found.groups.items()
    ]


def curve(found: Agreement) -> Table:
    """A line for each milestone of each section."""
    rows = [
        (
            f"{each.study}, {each.place}",
            f"{each.milestone} %",
            "" if each.flops is None else flops(each.flops),
            *_cells(each.shares),
        )
        for each in found.curve
    ]
    return Table(("study", "steps", "FLOPs of the baseline", *ENDPOINTS.values()), tuple(rows))


def _cells(shares: Shares) -> list[str]:
    return [f"{_percent(each)} ({each.agreed} of {each.pairs})" if each.pairs else "" for each in shares.values()]


def _percent(share: Share) -> str:
    return "" if share.value is None else f"{100 * share.value:.0f} %"


def _ends(found: Interval | None) -> str:
    return f"{100 * found.low:.0f} to {100 * found.high:.0f} %" if found else ""
