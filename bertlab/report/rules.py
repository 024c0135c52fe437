"""Rules of verdicts that were made after values had been seen: where one decides, the verdict has a mark."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A rule with the day from which on it holds: it was made without knowing runs that began later."""

    since: str
    what: str

    def mark(self, otherwise: str = "") -> str:
        """What stands beside a verdict that it decides; `otherwise` is the outcome without it, if that is known."""
        text = f"rests on a rule that was made on {self.since}, after values had been seen: {self.what}"
        return f"{text}; without it {otherwise}" if otherwise else text


WORSE = Rule("2026-11-23", "in a claim on pre-training, the worse model may have learned nothing")
LENDERS = Rule("2026-11-25", "a variant with a model that learned nothing lends no variance to the others")
PREMISE = Rule("2026-11-29", "a model has to have learned the loss that a claim compares")
FLOOR = Rule("2026-11-29", "a variant of the claim has to be above every floor of the task")
SIZES = Rule("2026-11-29", "a claim on absolute sizes is tested at these sizes only")
SHORT_RUNS = Rule("2026-11-29", "masked spans have to be nearly as long as in sequences of 512 tokens")
PASSES = Rule("2026-12-01", "a variant has to pass over its text about as often as it says")
RULES = (WORSE, LENDERS, PREMISE, FLOOR, SIZES, SHORT_RUNS, PASSES)
"""A verdict rests on a rule if it is another without it."""
LATER = "this claim, though the paper's, was added to the study after these runs had been seen"
ENDPOINT = Rule("2026-11-27", "the second endpoint is the probability of the right answer, not its logarithm")
"""What verdicts by the logarithm would have been is not computed."""
