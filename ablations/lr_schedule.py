"""How should the learning rate fall? (Bergsma et al. 2025; Hägele et al. 2024)

| variant             | after the warm-up, the rate ...                                       |
|:--------------------|:----------------------------------------------------------------------|
| linear              | falls linearly to 0, as in BERT                                       |
| cosine              | falls to 0 as half a period of a cosine                               |
| cosine to a tenth   | falls so to a tenth of its peak, as in many large language models     |
| stable, then linear | stays at its peak, and falls to 0 linearly over the last fifth        |
| stable, then 1-sqrt | stays at its peak, and falls to 0 as 1 - sqrt(t) over the last fifth  |
| constant            | stays at its peak                                                     |
| inverse square root | is inverse to the square root of the number of the update             |

Both papers train left-to-right language models and compare their losses; neither prints one of a masked LM. Here the
schedules train BERT, whose perplexity on held-out text, MNLI and SST-2 are measured. Run it: `bertlab ablate lr-schedule`.
"""

from bertlab import (
    Claim,
    Constant,
    Cosine,
    InverseSquareRoot,
    LinearDecay,
    Measurement,
    Schedule,
    Study,
    Variant,
    WarmupStableDecay,
)

PERPLEXITY = "LM perplexity"

COOLDOWN = 0.2
"""The share of the updates in which a stable rate falls, as in most runs of Hägele et al."""

study = Study(
    name="lr-schedule",
    question="How should the learning rate fall?",
    source="Bergsma et al. 2025; Hägele et al. 2024",
    baseline="linear",
    variants=[
        Variant("linear", schedule=Schedule(curve=LinearDecay())),
        Variant("cosine", schedule=Schedule(curve=Cosine(floor=0.0))),
        Variant("cosine to a tenth", schedule=Schedule(curve=Cosine(floor=0.1))),
        Variant("stable, then linear", schedule=Schedule(curve=WarmupStableDecay(cooldown=COOLDOWN, shape="linear"))),
        Variant("stable, then 1-sqrt", schedule=Schedule(curve=WarmupStableDecay(cooldown=COOLDOWN, shape="1-sqrt"))),
        Variant("constant", schedule=Schedule(curve=Constant())),
        Variant("inverse square root", schedule=Schedule(curve=InverseSquareRoot())),
    ],
    measurements=[
        Measurement(PERPLEXITY, metric="perplexity"),
        Measurement("MNLI", task="mnli"),
        Measurement("SST-2", task="sst2"),
        Measurement("BLiMP", task="blimp"),
    ],
    claims=[
        # Bergsma et al. 2025, abstract
        Claim("A linear decay to zero outperforms a cosine decay to a tenth", better="linear", worse="cosine to a tenth",
              on=PERPLEXITY),
        # Hägele et al. 2024
        Claim("A cooldown as 1 - sqrt(t) outperforms a linear one", better="stable, then 1-sqrt", worse="stable, then linear",
              on=PERPLEXITY),
        Claim("A constant rate needs a cooldown", better="stable, then 1-sqrt", worse="constant", on=PERPLEXITY),
    ],
    unlike=["a masked language model (papers: left-to-right ones, of up to 1.7 billion parameters)"],
    notes=[
        "No published value is shown: the papers compare losses of left-to-right models, which compare with none of a masked LM. "
        "Their texts were read in abstracts and in others' summaries; tables and figures were not at hand.",
        "Bergsma et al. say of an optimal peak rate for each schedule that linear decay to zero outperforms the others. Here all "
        "have the peak of the scale, which was chosen for a linear decay; `--set schedule.peak_lr=` gives all another one.",
        "Hägele et al. find that a constant rate with a cooldown matches a cosine, or is better. That two schedules are as good has "
        "no claim: the papers give no margin.",
        "The benefit that Bergsma et al. find is of 20 tokens of text for each parameter, and larger with more. The small scales see "
        "fewer: micro about four.",
        "Scales micro and tiny warm up over half of their steps, so that schedules differ in the other half alone; a fifth of all "
        "steps is then two fifths of that.",
        "Perplexity is that of the masked LM on held-out text: lower is better.",
    ],
)  # fmt: skip
