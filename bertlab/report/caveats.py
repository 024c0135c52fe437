"""How to read the numbers of a section, and what limits them. Raw text; the page escapes it."""

from __future__ import annotations

from collections.abc import Iterable

from bertlab.report.cells import FLOORS, PLATEAU, Cell
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.summary import separation
from bertlab.wording import count

FEW = 6
"""With fewer seeds, a 95 % t interval is over 40 % wider than a normal one of the same spread."""


def legend(evidence: Evidence) -> list[str]:
    """How to read the table of results."""
    centre = "median" if evidence.medians else "mean"
    if evidence.imported:
        lines = [f"Measured: {centre} (sd, n) in points over n fine-tuning seeds on one checkpoint."]
    else:
        lines = [
            f"Measured: {centre} (sd, n) in points, n = pre-training x fine-tuning seeds. The {centre} is over all of "
            "them; the sd is over the means of the pre-training seeds, or over the fine-tuning seeds of a single one."
        ]
    if evidence.medians:
        lines.append("The published values are medians too. Differences, intervals and verdicts are of means.")
    if any(cell.status == "collapsed" for cell in evidence.cells):
        lines.append("Collapsed: a run that predicts one answer for all examples; the mean includes it.")
    if evidence.numerics_mismatch:
        lines.append("†: computed with other numerics, see the caveats.")
    return lines


def intervals(evidence: Evidence) -> list[str]:
    """How to read a difference to the baseline."""
    lines = []
    if any(each.n > 1 for each in evidence.differences):
        lines.append(
            f"Difference: mean over the {evidence.unit}s that both variants have, with its 95 % interval over "
            f"{evidence.unit}s and examples. An interval that covers 0 leaves the direction undecided."
        )
    clusters = []
    for name in evidence.measurements:
        effects = [evidence.difference(variant, name) for variant in evidence.variants]
        groups = max((each.examples for each in effects if each and each.examples > 1), default=0)
        examples = max(cell.eval_examples for cell in evidence.column(name))
        if 0 < groups < examples:
            clusters.append(f"{name} {examples:,} in {groups:,}")
    if clusters:
        known = "; ".join(clusters)
        lines.append(f"Examples of one article, paragraph or premise are resampled as one cluster: {known}.")
    if any(each.n == 1 for each in evidence.differences):
        lines.append(f"n = 1: no interval. One {evidence.unit} cannot separate an effect from chance: undecided.")
    return lines


def floors(evidence: Evidence) -> list[str]:
    """What guessing and the same model without pre-training reach."""
    measured = {name: evidence.floors(name) for name in evidence.measurements}
    lines = []
    for kind, (key, meaning) in FLOORS.items():
        values = [f"{name} {points[kind]:.2f}" for name, points in measured.items() if kind in points]
        if values or key == "majority":
            lines.append(f"{kind.capitalize()}{meaning}: {', '.join(values) or 'not measured yet'}.")
    scratch = [variant for variant in evidence.variants if evidence.untrained(variant)]
    if not scratch:
        lines.append("No pre-training: not measured here; --random-init adds the variant.")
    for variant in scratch:
        for name in evidence.measurements:
            floor, ours = evidence.summary(variant, name), evidence.summary(evidence.baseline, name)
            gain = evidence.gain(variant, name)
            if floor is None or ours is None or gain is None:
                continue
            text = f"{name}, {variant}: {floor.mean:.2f}"
            apart = separation(ours, floor)
            sds = "" if apart is None else f" ({apart:.1f} standard deviations)"
            if evidence.collapsed(variant, name):
                lines.append(f"{text}, collapsed; no gain can be computed.")
            else:
                lines.append(f"{text}. Pre-training gains {gain:+.2f} points{sds}.")
    return lines


def pretraining(evidence: Evidence) -> list[str]:
    """How to read the table of pre-training."""
    lines = [
        "At the end of pre-training, on held-out text, means over seeds. The held-out sequences of language models "
        "are single segments, a form that variants with pairs of segments do not train on.",
        *dict.fromkeys(loss.meaning for loss in evidence.losses if loss.meaning),
    ]
    lines += [
        f"{count(len(others), 'variant')} of the same pre-training as {variant}: {', '.join(others)}."
        for variant, others in evidence.trained.items()
        if others
    ]
    plateaus = dict.fromkeys(f"{each.plateau:.3f}" for each in evidence.pretrainings if each.plateau is not None)
    if plateaus:
        lines.append(f"The unigram plateau, the entropy of the held-out tokens, is at {' and '.join(plateaus)} nats.")
    return lines


def times(evidence: Evidence) -> list[str]:
    """How to read the curves over training time, if there are any."""
    if all(point.seconds is None for each in evidence.pretrainings for point in each.curve):
        return []
    lines = ["Training time is that of the updates, without evaluations, on the machine of each run."]
    if len(evidence.machines) > 1:
        known = " and ".join(f"{what} ({'; '.join(variants)})" for what, variants in evidence.machines.items())
        lines.append(f"Machines differ, and times compare only between runs on the same: {known}.")
    return lines


def warnings(evidence: Evidence) -> list[str]:
    """Models that learned nothing, and measurements on which pre-training does not help."""
    lines = []
    unlearned = "; ".join(
        f"{each.variant}, seed {each.seed} ({each.loss:.3f}, plateau {each.plateau:.3f})"
        for each in evidence.pretrainings
        if each.learned_nothing
    )
    if unlearned:
        lines.append(
            "These models learned next to nothing of context, and their measurements say nothing: their held-out loss "
            f"(nats) is not {PLATEAU} below the unigram entropy. {unlearned}."
        )
    for variant in (each for each in evidence.variants if evidence.untrained(each)):
        for name in evidence.measurements:
            gain, issue = evidence.gain(variant, name), evidence.unhelped(variant, name)
            if issue and gain is not None:
                lines.append(
                    f"{name}: {issue} (gain {gain:+.2f} points). Differences between variants say nothing there."
                )
    return lines


def caveats(evidence: Evidence) -> list[str]:
    """What a reader has to know before trusting a difference."""
    lines = []
    if evidence.imported:
        lines.append(
            f"{evidence.pretrained} is a published checkpoint. All variants use it: n counts fine-tuning seeds, and "
            "findings hold for this checkpoint."
        )
    lines += _deviations(evidence)
    if any(each.rotary for each in evidence.pretrainings if not each.untrained):
        lines.append(
            "Positions are rotary, where BERT's are learned: a small masked LM with learned positions stays on the "
            "unigram plateau."
        )
    if evidence.synthetic:
        lines.append(
            "Text or tasks come from the synthetic corpus microworld, an invented world: its tasks share the form of "
            "the paper's, not the language, and only directions compare."
        )
    seeds = max((each.n for each in evidence.differences), default=0)
    if 0 < seeds < FEW:
        lines.append(
            f"n is small: {count(seeds, evidence.unit)} can only separate effects from chance that are much larger "
            f"than the noise between {evidence.seeds}. All else is undecided."
        )
    for variant, what in evidence.numerics_mismatch.items():
        lines.append(f"{variant} was computed with {what}, unlike the baseline: last digits may differ for that alone.")
    for variant, other in evidence.duplicates.items():
        lines.append(f"{variant} and {other} are the same recipe at this scale: trained once, shown as equal.")
    for because, cells in _failed(evidence.cells).items():
        lines.append(f"Without a value, {because}: {'; '.join(cells)}.")
    return lines + evidence.notes


def _deviations(evidence: Evidence) -> list[str]:
    """The deviations from the paper's setting: a line for all measurements, and one for each further set of them."""
    of: dict[str, list[str]] = {}
    for on, what in evidence.deviations:
        of.setdefault(on, []).append(what)
    measurements: dict[str, list[str]] = {}
    for on, found in of.items():
        measurements.setdefault("; ".join(found), []).append(on)
    return [
        f"Not the paper's setting{f' on {names}' if (names := ', '.join(filter(None, where))) else ''}: directions "
        f"compare with the published values, sizes do not. Differences: {what}."
        for what, where in measurements.items()
    ]


def _failed(cells: Iterable[Cell]) -> dict[str, dict[str, None]]:
    """What ended without a value, by the reason; one mention for each variant, measurement and seed."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.value is None and cell.status != "pending":
            because = f"{cell.status} ({cell.reason})" if cell.reason else cell.status
            because = cell.reason if cell.fate != cell.status else because
            found.setdefault(because, {})[f"{cell.measurement} of {cell.variant}, seed {cell.pretrain_seed}"] = None
    return found
