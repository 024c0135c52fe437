"""What is pre-training worth, with few examples and with many? (Hao et al. 2019)

| variant      | weights before fine-tuning |
|:-------------|:---------------------------|
| pre-trained  | of the pre-training        |
| random start | random                     |

Both are trained on a task in the same way, on 1, 3, 10, 30 and 100 per cent of its training examples; of two sizes the
larger one has all examples of the smaller. Of the trainings on all examples of MNLI more is measured, losses in nats:

| column               | of the training                                                                       |
|:---------------------|:--------------------------------------------------------------------------------------|
| mean training loss   | over all its steps: the lower, the faster it converges                                |
| rise of held-out loss | from its lowest point to the end                                                     |
| training loss        | at its end                                                                            |
| loss at distance 1   | from there, along random filter-normalised directions (Li et al. 2018): low if the optimum is wide |
| lower half moved     | how far the weights of these layers are from where they began, as a share of their norm |
| upper half moved     | the same of the other layers                                                          |

The report has curves of both losses, a loss surface of both variants, and how far each layer moved. Run it: `bertlab ablate pretraining-value`.
"""

from bertlab import (
    Claim,
    FineTuning,
    LayerMovement,
    LossAtDistance,
    LossCurves,
    LossSurface,
    Measurement,
    Schedule,
    Study,
    Variant,
)

PRETRAINED = "pre-trained"
RANDOM = "random start"
MNLI = "MNLI"
MRPC = "MRPC"
TASKS = {MNLI: "mnli", MRPC: "mrpc"}
SHARES = {"1 %": 0.01, "3 %": 0.03, "10 %": 0.1, "30 %": 0.3}
DIAGNOSED = FineTuning(diagnostics=(LayerMovement(), LossAtDistance(), LossCurves(), LossSurface()))
CONVERGENCE = "mean training loss"
WIDTH = "loss at distance 1"

study = Study(
    name="pretraining-value",
    question="What is pre-training worth to a task, with few examples and with many?",
    source="Hao et al. 2019",
    baseline=PRETRAINED,
    variants=[
        Variant("pre-trained"),
        Variant("random start", schedule=Schedule(steps=0)),
    ],
    measurements=[
        *(
            Measurement(f"{name}, {share}", task=task, adaptation=FineTuning(train_share=part))
            for name, task in TASKS.items()
            for share, part in SHARES.items()
        ),
        *(Measurement(name, task=task, adaptation=DIAGNOSED) for name, task in TASKS.items()),
        Measurement(CONVERGENCE, task="mnli", adaptation=DIAGNOSED, metric="average_loss"),
        Measurement("rise of held-out loss", task="mnli", adaptation=DIAGNOSED, metric="rise_loss"),
        Measurement("training loss", task="mnli", adaptation=DIAGNOSED, metric="optimum_loss"),
        Measurement(WIDTH, task="mnli", adaptation=DIAGNOSED, metric="distance_loss"),
        Measurement("lower half moved", task="mnli", adaptation=DIAGNOSED, metric="lower_movement"),
        Measurement("upper half moved", task="mnli", adaptation=DIAGNOSED, metric="upper_movement"),
    ],
    claims=[
        # abstract
        Claim("Pre-training leads to wider optima compared with training from scratch", better=PRETRAINED, worse=RANDOM, on=WIDTH),
        Claim("Pre-training leads to easier optimization compared with training from scratch", better=PRETRAINED, worse=RANDOM,
              on=CONVERGENCE),
    ],
    notes=[
        "The paper draws its results; no figure of it is a number here. Its abstract says that pre-training reaches a good initial "
        "point, which leads to wider optima and easier optimization than training from scratch, that fine-tuning is robust to "
        "overfitting, and that lower layers are more invariant. How wide an optimum is and how easily it is reached are measured "
        "here by two losses of our own choice.",
        "No claim is made on the lower and upper layers, which are two columns of one variant, nor on overfitting, of which the "
        "paper does not say that training from scratch has more.",
        "Directions are random, and each row of a matrix is as long as that row of the weights. In the loss surface the other "
        "direction leads from the weights before training to those after it. The paper's surfaces have directions of their own.",
        "Losses at a distance and on surfaces are means over 256 training examples, without dropout.",
        "Training sizes below the whole are ours: the paper's question is asked of each.",
    ],
)  # fmt: skip
