"""How the numbers of a section are to be read, and what to beware of. Raw text; the page escapes it."""

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
    """How a cell of the results is read."""
    centre = "median" if evidence.medians else "mean"
    if evidence.imported:
        lines = [f"Measured: {centre} (sd, n) in points over n fine-tuning seeds of the measurement on one checkpoint."]
    else:
        lines = [
            f"Measured: {centre} (sd, n) in points, with n = pre-training x fine-tuning seeds. The {centre} "
            "is over all of them; sd is over the means of the pre-training seeds, or over the "
            "fine-tuning seeds of a single pre-training seed."
        ]
    if evidence.medians:
        lines.append("The published figures are medians too. Differences, intervals and verdicts are of means.")
    if any(cell.status == "collapsed" for cell in evidence.cells):
        lines.append("Collapsed: a run that gave one answer to all rows; it is in the mean.")
    if evidence.numerics_mismatch:
        lines.append("†: computed with other numerics, see the caveats.")
    return lines


def intervals(evidence: Evidence) -> list[str]:
    """How a difference to the baseline is read."""
    found = _differences(evidence)
    lines = []
    if any(each.n > 1 for each in found):
        lines.append(
            f"Difference: mean over the {evidence.unit}s that both rows have, with its 95 % interval over "
            f"{evidence.unit}s and examples. An interval that covers 0 leaves the direction undecided."
        )
    grouped = [
        f"{name} {max(sizes):,} in {min(units):,}"
        for name in evidence.measurements
        if (units := {each.examples for row in evidence.variants if (each := evidence.difference(row, name))} - {1})
        and (sizes := {cell.evaluation_rows for cell in evidence.column(name)})
        and max(units) < max(sizes)
    ]
    if grouped:
        lines.append(
            "Examples that hang together (of one article, paragraph or premise) count as one: "
            + "; ".join(grouped)
            + "."
        )
    if any(each.n == 1 for each in found):
        lines.append(f"n = 1: no interval. One {evidence.unit} cannot tell an effect from chance: undecided.")
    return lines


_FLOORS = {
    "lexical baseline": " (a linear model of words, pairs of words and counts of shared ones; of up to 4,000 of the "
    "training examples)",
    "second text exchanged": " (the baseline where one of two texts is another example's)",
}


def floors(evidence: Evidence) -> list[str]:
    """What guessing and the same model without pre-training reach."""
    found: dict[str, list[str]] = {"majority guess": []}
    for name in evidence.measurements:
        for kind, value in evidence.floors(name).items():
            found.setdefault(kind, []).append(f"{name} {value:.2f}")
    lines = [
        f"{kind.capitalize()}{_FLOORS.get(kind, '')}: {', '.join(values) or 'nothing is measured yet'}."
        for kind, values in found.items()
    ]
    scratch = [row for row in evidence.variants if evidence.untrained(row)]
    if not scratch:
        return [*lines, "No pre-training: not measured here; --random-init adds the row."]
    for row in scratch:
        for name in evidence.measurements:
            floor, ours = evidence.summary(row, name), evidence.summary(evidence.baseline, name)
            gain = evidence.gain(row, name)
            if floor is None or ours is None or gain is None:
                continue
            if evidence.collapsed(row, name):
                lines.append(f"{name}, {row}: {floor.mean:.2f}, collapsed. No gain is stated.")
                continue
            apart = separation(ours, floor)
            told = "" if apart is None else f", {apart:.1f} standard deviations"
            lines.append(f"{name}, {row}: {floor.mean:.2f}. The baseline is {gain:+.2f} points from it{told}.")
    return lines


def judged(evidence: Evidence) -> list[str]:
    """How the table of pre-training is read."""
    plateaus = dict.fromkeys(f"{each.plateau:.3f}" for each in evidence.pretrainings if each.plateau is not None)
    lines = [
        "At the end of pre-training, on held-out text, means over seeds: masked-LM loss (nats) with 15 % of the tokens "
        "masked as 80/10/10, the same for all rows, and under the row's own masking; perplexity and accuracy are those "
        "of the first. The held-out sequences are single segments, a form that rows with pairs of segments do not "
        "train on."
    ]
    lines += [
        f"{count(len(others), 'row')} of the same pre-training as {row}: {', '.join(others)}."
        for row, others in evidence.trained.items()
        if others
    ]
    if any(each.causal for each in evidence.pretrainings):
        lines.append(
            "Left to right: the loss (nats) of every next token of the same text, [SEP] included, and its perplexity. "
            "Neither compares with a masked LM's, which sees both sides of a token."
        )
    if plateaus:
        lines.append(
            f"The unigram plateau, the entropy of the held-out tokens, is at {' and '.join(plateaus)} nats. A row that "
            "never saw [MASK] is judged by its own masking."
        )
    return lines


def timed(evidence: Evidence) -> list[str]:
    """How the curves over training time are read, if there are any."""
    if all(point.seconds is None for each in evidence.pretrainings for point in each.curve):
        return []
    lines = ["Training time is that of the updates, evaluations not counted, on the machine that a run had."]
    if len(evidence.machines) > 1:
        told = " and ".join(f"{what} ({'; '.join(rows)})" for what, rows in evidence.machines.items())
        lines.append(f"Machines differ, and times compare only between runs on the same: {told}.")
    return lines


def warnings(evidence: Evidence) -> list[str]:
    """Rows that have learnt nothing, and measurements on which pre-training does not help."""
    lines = [
        f"Row {each.variant}, seed {each.seed}, has learnt next to nothing of context: its held-out loss of "
        f"{each.loss:.3f} nats is not {PLATEAU} below the unigram entropy of {each.plateau:.3f}. "
        "Its measurements say nothing."
        for each in evidence.pretrainings
        if each.learnt_nothing
    ]
    for row in (row for row in evidence.variants if evidence.untrained(row)):
        for name in evidence.measurements:
            gain, issue = evidence.gain(row, name), evidence.unhelped(row, name)
            if issue and gain is not None:
                lines.append(
                    f"{name}: {issue}; the baseline is {gain:+.2f} points from the same model without pre-training. "
                    "Differences between rows say nothing there."
                )
    return lines


def caveats(evidence: Evidence) -> list[str]:
    """What the reader has to know before believing a difference."""
    lines = []
    if evidence.imported:
        lines.append(
            f"{evidence.pretrained} was pre-trained elsewhere. All rows are of this checkpoint: n counts fine-tuning "
            "seeds, and what is found holds for this checkpoint."
        )
    lines += _differences_from_paper(evidence)
    if any(each.rotary for each in evidence.pretrainings if each.finished and not each.untrained):
        lines.append(
            "Positions are rotary, where BERT's are learned: a small masked LM with learned positions stays on the "
            "unigram plateau."
        )
    if evidence.world:
        lines.append(
            "Text or tasks come from the embedded microworld, an invented world: its tasks share the form of the "
            "paper's, not the language, and only directions compare."
        )
    seeds = max((each.n for each in _differences(evidence)), default=0)
    if 0 < seeds < FEW:
        lines.append(
            f"n is small: with {count(seeds, evidence.unit)}, only effects much larger than the noise between "
            f"{'fine-tuning seeds' if evidence.imported else 'seeds'} can be told from chance. All else is undecided."
        )
    for row, what in evidence.numerics_mismatch.items():
        lines.append(f"Row {row} was computed with {what}, not as the baseline: last digits may differ for that alone.")
    for row, other in evidence.duplicates.items():
        lines.append(f"Rows {row} and {other} coincide at this scale: trained once and shown as equal.")
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
    places = {told: f" on {', '.join(names)}" if any(names) else "" for told, names in columns.items()}
    return [
        f"Not the paper's setting{where}: directions compare with the "
        f"published figures, sizes do not. What differs: {told}."
        for told, where in places.items()
    ]


def _differences(evidence: Evidence) -> list[Effect]:
    """Those between rows that were pre-trained, and the baseline."""
    rows = [row for row in evidence.variants if row != evidence.baseline and not evidence.untrained(row)]
    pairs = [evidence.difference(row, name) for row in rows for name in evidence.measurements]
    return [each for each in pairs if each is not None]


def _failed(cells: Iterable[Cell]) -> dict[str, list[str]]:
    """What ended without a value, by the reason; one mention for each row, column and seed."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.value is None and cell.status != "pending":
            because = f"{cell.status} ({cell.reason})" if cell.reason else cell.status
            because = cell.reason if cell.reason.startswith(f"{cell.status} at step") else because
            what = f"{cell.measurement} of {cell.variant}, seed {cell.pretrain_seed}"
            found.setdefault(because, {})[what] = None
    return {because: list(names) for because, names in found.items()}
