"""BERT Figure 5: does a masked LM, which predicts 15 % of the tokens, learn more slowly than a left-to-right LM?

The figure has MNLI over the steps of pre-training, without numbers. The text says that the masked LM converges
marginally slower, but lies above the left-to-right one almost at once. Both are without next-sentence prediction, the
rows of `nsp`; BERT stands beside them. A small masked LM has to find its positions first, which learned ones make slow:
so below base the same two are trained with learned positions too. Each is measured after every tenth of its steps,
without training again. Run it: `bertlab ablate convergence`.
"""

from bertlab.recipe import Objective
from bertlab.study import Claim, Measurement, Study, Variant

MNLI = "MNLI"

MASKED = Objective(next_sentence=False)
LEFT_TO_RIGHT = Objective(kind="left-to-right", next_sentence=False)
LEARNED = {"model.positions": "learned"}

study = Study(
    name="convergence",
    question="Does a masked LM learn more slowly than a left-to-right LM?",
    source="Devlin et al. 2019, Figure 5",
    baseline="masked LM",
    variants=[
        Variant("masked LM", objective=MASKED),
        Variant("left-to-right", objective=LEFT_TO_RIGHT),
        Variant("BERT"),
        Variant("masked LM, learned positions", objective=MASKED, fields=LEARNED),
        Variant("left-to-right, learned positions", objective=LEFT_TO_RIGHT, fields=LEARNED),
    ],
    measurements=[Measurement(MNLI, task="mnli", milestones=(10, 20, 30, 40, 50, 60, 70, 80, 90, 100))],
    claims=[
        Claim("The masked LM is ahead after a fifth of the steps", better="masked LM", worse="left-to-right", on=MNLI, at=20),
        Claim("The masked LM is ahead at the end", better="masked LM", worse="left-to-right", on=MNLI),
    ],
    notes=[
        "The figure has no printed numbers, so nothing is published here. At scales base and paper positions are learned "
        "anyway, and the last two rows are the first two.",
    ],
)
