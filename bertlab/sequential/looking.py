"""What a look finds at claims whose seeds are added one after another."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from bertlab.lab.claim import Claim
from bertlab.names import plain
from bertlab.report.looks import hypothesis
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import LEVEL
from bertlab.report.verdicts import ClaimTest
from bertlab.sequential.power import chance, final_level
from bertlab.store.record import ClaimLook


def claim_looks(
    judged: Sequence[ClaimTest],
    likely: Mapping[Claim, ClaimTest],
    claims: Collection[Claim],
    error: float = 1 - LEVEL,
) -> Iterator[ClaimLook]:
    """What a look finds at each of the claims that have new seeds and a p-value, by both `verdicts.endpoints`.

    `error` is the largest chance of a wrong verdict on the claims of an endpoint together.
    """
    texts = {(plain(claim.text), claim.on) for claim in claims}
    for metric, family in (("", judged), (LIKELIHOOD, [*likely.values()])):
        undecided = sum(trial.testable and trial.outcome == "undecided" for trial in family)
        for trial in family:
            claim, looked, effect = trial.claim, trial.history, trial.pair.effect
            if (claim.text, claim.on) not in texts or trial.p is None or looked is None or effect is None:
                continue
            n = min(pair.effect.n for pair in trial.pairs if pair.effect)
            if looked.exhausted or (looked.looks and n <= looked.looks[-1].n):
                continue
            level = final_level(looked, n, error / undecided) if undecided else 1.0
            power = chance(effect, claim.margin, looked.maximum, level, trial.pair.true)
            sides = all(pair.as_claimed(claim.margin) for pair in trial.pairs)
            yield ClaimLook(
                claim=claim.text,
                hypothesis=hypothesis(claim),
                on=claim.on,
                metric=metric,
                n=n,
                p=trial.p,
                as_claimed=sides,
                power=power,
            )
