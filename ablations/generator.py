"""ELECTRA section 3.2: how large should the generator be, and what should it share with the discriminator? (base size)

| width of the generator       | shared with the discriminator | GLUE |
|:-----------------------------|:------------------------------|-----:|
| that of the discriminator    | nothing                       | 83.6 |
| that of the discriminator    | embeddings                    | 84.3 |
| that of the discriminator    | all weights                   | 84.4 |
| a half of it                 | embeddings                    |      |
| a quarter of it              | embeddings                    |      |

Development sets, 500,000 steps each; the last two rows are in Figure 3 alone. Run it: `bertlab ablate generator`.
"""

from bertlab import Claim, FullSentences, Inputs, ReplacedTokens, Study, TokenGenerator, Variant
from bertlab.lab.papers import ELECTRA, ELECTRA_GLUE, ELECTRA_GLUE_AVERAGE, ELECTRA_NOTES

TASKS = "MNLI", "QNLI"

ONE_TEXT = Inputs(format=FullSentences())

study = Study(
    name="generator",
    question="How large should ELECTRA's generator be, and what should it share?",
    source="Clark et al. 2020, section 3.2",
    baseline="same size",
    variants=[
        Variant("same size", inputs=ONE_TEXT, objective=(TokenGenerator(width=1, sharing="embeddings"), ReplacedTokens())),
        Variant("same size, nothing shared", inputs=ONE_TEXT, objective=(TokenGenerator(width=1, sharing="none"), ReplacedTokens())),
        Variant("same size, all shared", inputs=ONE_TEXT, objective=(TokenGenerator(width=1, sharing="all"), ReplacedTokens())),
        Variant("1/2", inputs=ONE_TEXT, objective=(TokenGenerator(width=1 / 2, sharing="embeddings"), ReplacedTokens())),
        Variant("1/4", inputs=ONE_TEXT, objective=(TokenGenerator(width=1 / 4, sharing="embeddings"), ReplacedTokens())),
    ],
    measurements=ELECTRA_GLUE,
    averages=[ELECTRA_GLUE_AVERAGE],
    published={
        ("same size", "GLUE"): 84.3,
        ("same size, nothing shared", "GLUE"): 83.6,
        ("same size, all shared", "GLUE"): 84.4,
    },
    claims=[  # section 3.2
        *(
            Claim(f"A generator of {size} of the size works better than one of the same size on {on}", better=size,
                  worse="same size", on=on)
            for size in ("1/2", "1/4") for on in TASKS
        ),
        *(
            Claim(f"Sharing the embeddings improves {on}", better="same size", worse="same size, nothing shared", on=on)
            for on in TASKS
        ),
        *(
            Claim(f"Sharing all weights makes little difference to {on}", better="same size, all shared", worse="same size",
                  on=on, within=1.0)
            for on in TASKS
        ),
    ],
    at_paper=ELECTRA | {"schedule.steps": "500000", "schedule.warmup": "0.02"},
    notes=[
        *ELECTRA_NOTES,
        "The paper prints GLUE scores alone, on which no claim is tested: claims are on two of its tasks. Values of Figure "
        "3, by size, were not at hand. The figure also has sizes of 1/8 and less, 3/4, and a generator without context.",
        "Sizes are shares of the width; all have as many layers, as in the paper. All variants have the same steps, as in the "
        "paper, so that smaller generators take less time.",
        "The paper gives no margin for little difference: 1 point is ours.",
        "Where embeddings are shared, so are those of positions, which the paper shares in other models (section 3.2).",
    ],
)  # fmt: skip
