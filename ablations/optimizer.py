"""Which optimiser should pre-train an encoder? (Wen et al. 2025; Nado et al. 2021; You et al. 2020; Shazeer and Stern 2018)

| variant   | the update of a matrix, at a rate of 1                                               | peak rate     |
|:----------|:-------------------------------------------------------------------------------------|:--------------|
| AdamW     | the mean of its gradients over the root mean of their squares, as in BERT             | the scale's   |
| LAMB      | the same, as large as the matrix                                                      | 5 times that  |
| Adafactor | its gradient over what rows and columns have of these roots, as large as the matrix  | 25 times that |
| Muon      | the mean of its gradients, made orthogonal; that of AdamW for embeddings and heads   | the scale's   |

All have the steps, the schedule and the weight decay of the scale. Rates were chosen by trials, which the notes have.
Run it: `bertlab ablate optimizer`.
"""

from bertlab import LAMB, Adafactor, AdamW, Claim, Measurement, Muon, RelativeSchedule, Study, Variant

PERPLEXITY = "LM perplexity"

study = Study(
    name="optimizer",
    question="Which optimiser should pre-train an encoder?",
    source="Wen et al. 2025; Nado et al. 2021; You et al. 2020; Shazeer and Stern 2018",
    baseline="AdamW",
    variants=[
        Variant("AdamW", optimizer=AdamW()),
        Variant("LAMB", optimizer=LAMB(), relative=RelativeSchedule(peak_lr=5)),
        Variant("Adafactor", optimizer=Adafactor(), relative=RelativeSchedule(peak_lr=25)),
        Variant("Muon", optimizer=Muon()),
    ],
    measurements=[
        Measurement(PERPLEXITY, metric="perplexity"),
        Measurement("MNLI", task="mnli"),
        Measurement("SST-2", task="sst2"),
        Measurement("BLiMP", task="blimp"),
    ],
    claims=[
        # Wen et al. 2025, abstract: all the fastest optimisers use matrices as preconditioners, Muon among them
        Claim("Muon is faster than AdamW: its loss is lower after as many steps", better="Muon", worse="AdamW", on=PERPLEXITY),
    ],
    at_scale={"micro": {"schedule.peak_lr": "4e-3"}},
    unlike=["a masked language model (Wen et al.: left-to-right ones, of 130 million to 1.2 billion parameters)"],
    notes=[
        "Each has a peak rate of its own, the best of three by the held-out MLM loss of one seed at scale micro on the synthetic text, "
        "before any other value was looked at: AdamW 2.50, 2.26 and 2.48 at 2e-3, 4e-3 and 8e-3; LAMB 2.58, 2.40 and 5.82 at 6e-3, "
        "2e-2 and 6e-2; Adafactor 3.89, 2.64 and 2.26 at 1e-2, 3e-2 and 1e-1; Muon 2.39, 2.12 and 2.17 at 2e-3, 4e-3 and 8e-3. These "
        "losses choose rates and compare nothing. Scale micro has AdamW's best rate here, twice its own; at other scales AdamW has that "
        "of the scale, and the others the same multiples of it, which nobody has tried there.",
        "Rates of LAMB and Adafactor are relative to the size of the weights. Adafactor's is at most 1 / sqrt(step), so that a larger "
        "one than 1e-1 would change little.",
        "No value is published of these four on one masked language model. Nado et al. (abstract) find that Adam matches or exceeds "
        "LAMB in pre-training BERT in large batches, 32,768 sequences and more: here batches are those of the scale, and no claim is made. "
        "You et al. made LAMB for such batches. Shazeer and Stern (abstract) find Adafactor comparable with Adam in machine translation.",
        "Wen et al. tuned all settings of ten optimisers, and find those that use matrices, such as Muon, 1.4 times as fast as AdamW with "
        "0.1 billion parameters and 1.1 times with 1.2 billion (abstract). Here weight decay and momentum are the usual ones.",
        "All have as many steps. One of Muon's takes longer: for each matrix it has five iterations of matrix products.",
        "Fine-tuning has AdamW for all.",
        "Perplexity is that of the masked LM on held-out text: lower is better.",
    ],
)  # fmt: skip
