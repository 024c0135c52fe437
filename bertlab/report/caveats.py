"""How to read the numbers of a section, and what limits them. Raw text; the page escapes it."""

from __future__ import annotations

from collections.abc import Iterable

from bertlab.report.cells import PLATEAU, Cell
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.effects import Effect
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
        lines.append("The published figures are medians too. Differences, intervals and verdicts are of means.")
    if any(cell.status == "collapsed" for cell in evidence.cells):
        lines.append("Collapsed: a run that predicts one answer for all examples; the mean includes it.")
    if evidence.numerics_mismatch:
        lines.append("†: computed with other numerics, see the caveats.")
    return lines


def intervals(evidence: Evidence) -> list[str]:
    """How to read a difference to the baseline."""
    found = _differences(evidence)
    lines = []
    if any(each.n > 1 for each in found):
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
        lines.append(
            f"Examples of one article, paragraph or premise are resampled as one cluster: {'; '.join(clusters)}."
        )
    if any(each.n == 1 for each in found):
        lines.append(f"n = 1: no interval. One {evidence.unit} cannot separate an effect from chance: undecided.")
    return lines


_FLOORS = {
    "lexical baseline": " (a linear model of words, word pairs and shared words, on up to 4,000 training examples)",
    "second text exchanged": " (the baseline where one of two texts is another example's)",
}


def floors(evidence: Evidence) -> list[str]:
    """What guessing and the same model without pre-training reach."""
    found: dict[str, list[str]] = {"majority guess": []}
    for name in evidence.measurements:
        for kind, value in evidence.floors(name).items():
            found.setdefault(kind, []).append(f"{name} {value:.2f}")
    lines = [
        f"{kind.capitalize()}{_FLOORS.get(kind, '')}: {', '.join(values) or 'not measured yet'}."
        for kind, values in found.items()
    ]
    scratch = [variant for variant in evidence.variants if evidence.untrained(variant)]
    if not scratch:
        lines.append("No pre-training: not measured here; --random-init adds the variant.")
    for variant in scratch:
        for name in evidence.measurements:
            floor, ours = evidence.summary(variant, name), evidence.summary(evidence.baseline, name)
            gain = evidence.gain(variant, name)
            if floor is None or ours is None or gain is None:
                continue
            if evidence.collapsed(variant, name):
                lines.append(f"{name}, {variant}: {floor.mean:.2f}, collapsed; no gain can be computed.")
                continue
            apart = separation(ours, floor)
            sds = "" if apart is None else f" ({apart:.1f} standard deviations)"
            lines.append(f"{name}, {variant}: {floor.mean:.2f}. Pre-training gains {gain:+.2f} points{sds}.")
    return lines


def pretraining(evidence: Evidence) -> list[str]:
    """How to read the table of pre-training."""
    plateaus = dict.fromkeys(f"{each.plateau:.3f}" for each in evidence.pretrainings if each.plateau is not None)
    lines = [
        "At the end of pre-training, on held-out text, means over seeds: masked-LM loss (nats) with 15 % of the tokens "
        "masked as 80/10/10, the same for all variants, and under the variant's own masking; perplexity and accuracy "
        "belong to the first. The held-out sequences are single segments, a form that variants with pairs of segments "
        "do not train on."
    ]
    lines += [
        f"{count(len(others), 'variant')} of the same pre-training as {variant}: {', '.join(others)}."
        for variant, others in evidence.trained.items()
        if others
    ]
    if any(each.heldout("causal_lm_loss") is not None for each in evidence.pretrainings):
        lines.append(
            "Left to right: the next-token loss (nats) on the same text, [SEP] included, and its perplexity. Neither "
            "compares with a masked LM's, which sees both sides of a token."
        )
    if plateaus:
        lines.append(
            f"The unigram plateau, the entropy of the held-out tokens, is at {' and '.join(plateaus)} nats. A variant "
            "that never saw [MASK] is judged by its own masking."
        )
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
    unlearned = [each for each in evidence.pretrainings if each.learned_nothing]
    if unlearned:
        known = "; ".join(
            f"{each.variant}, seed {each.seed} ({each.loss:.3f}, plateau {each.plateau:.3f})" for each in unlearned
        )
        lines.append(
            "These models learned next to nothing of context, and their measurements say nothing: their held-out loss "
            f"(nats) is not {PLATEAU} below the unigram entropy. {known}."
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
    lines += _differences_from_paper(evidence)
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
    seeds = max((each.n for each in _differences(evidence)), default=0)
    if 0 < seeds < FEW:
        lines.append(
            f"n is small: {count(seeds, evidence.unit)} can only separate effects from chance that are much larger "
            f"than the noise between {'fine-tuning seeds' if evidence.imported else 'seeds'}. All else is undecided."
        )
    for variant, what in evidence.numerics_mismatch.items():
        lines.append(f"{variant} was computed with {what}, unlike the baseline: last digits may differ for that alone.")
    for variant, other in evidence.duplicates.items():
        lines.append(f"{variant} and {other} are the same recipe at this scale: trained once, shown as equal.")
    for because, cells in _failed(evidence.cells).items():
        lines.append(f"Without a value, {because}: {'; '.join(cells)}.")
    return lines + [str(note) for note in evidence.record.get("notes", ())]


def _differences_from_paper(evidence: Evidence) -> list[str]:
    """One line for what concerns all measurements, and one for each set of further differences."""
    by_column: dict[str, list[str]] = {}
    for on, what in evidence.differences:
        by_column.setdefault(on, []).append(what)
    columns: dict[str, list[str]] = {}
    for on, found in by_column.items():
        columns.setdefault("; ".join(found), []).append(on)
    places = {what: f" on {', '.join(names)}" if any(names) else "" for what, names in columns.items()}
    return [
        f"Not the paper's setting{where}: directions compare with the published figures, sizes do not. "
        f"Differences: {what}."
        for what, where in places.items()
    ]


def _differences(evidence: Evidence) -> list[Effect]:
    """Those between pre-trained variants and the baseline."""
    others = [each for each in evidence.variants if each != evidence.baseline and not evidence.untrained(each)]
    pairs = [evidence.difference(variant, name) for variant in others for name in evidence.measurements]
    return [each for each in pairs if each is not None]


def _failed(cells: Iterable[Cell]) -> dict[str, list[str]]:
    """What ended without a value, by the reason; one mention for each variant, measurement and seed."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.value is None and cell.status != "pending":
            because = f"{cell.status} ({cell.reason})" if cell.reason else cell.status
            because = cell.reason if cell.reason.startswith(f"{cell.status} at step") else because
            what = f"{cell.measurement} of {cell.variant}, seed {cell.pretrain_seed}"
            found.setdefault(because, {})[what] = None
    return {because: list(names) for because, names in found.items()}
