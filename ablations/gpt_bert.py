"""GPT-BERT: which share of the sequences should be causal, and which masked? (Charpentier and Samuel 2024, Figure 2)

| causal to masked | BLiMP | MNLI | validation loss |
|:-----------------|------:|-----:|----------------:|
| causal only      |  74.6 | 80.2 |            6.71 |
| 15:1             |  78.8 | 81.1 |            2.18 |
| 1:1              |  83.9 |      |            1.74 |
| 1:7              |  84.8 |      |            1.66 |
| 1:15             |  84.4 | 84.2 |            1.66 |
| masked only      |  84.3 |      |            1.66 |

One model of base size for each ratio, on 100 million words, evaluated with attention to both sides. Each sequence is causal or
masked, with its own mask of attention, and all rows have as many steps. Run it: `bertlab ablate gpt-bert`.
"""

from bertlab import CausalLM, Claim, FullSentences, Inputs, MaskedLM, Measurement, Schedule, Stages, Study, Variant

MNLI = "MNLI"
BLIMP = "BLiMP"
LOSS = "MLM loss"

FULL = Inputs(format=FullSentences())
ALL_CAUSAL = Schedule(
    over_steps={
        "causal_lm.share": Stages(multiples=(2, 0), begins=(1,)),
        "masked_lm.share": Stages(multiples=(0, 2), begins=(1,)),
    }
)
"""In all steps: the halves of the sequences count twice and not at all."""
MIXED = {causal: (MaskedLM(share=1 - causal), CausalLM(share=causal)) for causal in (1 / 2, 15 / 16, 1 / 8, 1 / 16)}
"""This share of the sequences is causal, and the others are masked."""


study = Study(
    name="gpt-bert",
    question="Should one model be a masked and a causal language model, and how much of each?",
    source="Charpentier and Samuel 2024, Figure 2",
    baseline="masked only",
    variants=[
        Variant("causal only", inputs=FULL, objective=MIXED[1 / 2], schedule=ALL_CAUSAL),
        Variant("15:1", inputs=FULL, objective=MIXED[15 / 16]),
        Variant("1:1", inputs=FULL, objective=MIXED[1 / 2]),
        Variant("1:7", inputs=FULL, objective=MIXED[1 / 8]),
        Variant("1:15", inputs=FULL, objective=MIXED[1 / 16]),
        Variant("masked only", inputs=FULL, objective=(MaskedLM(),)),
    ],
    measurements=[
        Measurement(MNLI, task="mnli"),
        Measurement("SST-2", task="sst2"),
        Measurement(BLIMP, task="blimp"),
        Measurement(LOSS, metric="masked_lm_loss"),
    ],
    published={
        ("causal only", MNLI): 80.2,
        ("15:1", MNLI): 81.1,
        ("1:15", MNLI): 84.2,
        ("causal only", BLIMP): 74.6,
        ("15:1", BLIMP): 78.8,
        ("1:1", BLIMP): 83.9,
        ("1:7", BLIMP): 84.8,
        ("1:15", BLIMP): 84.4,
        ("masked only", BLIMP): 84.3,
        ("causal only", LOSS): 6.71,
        ("15:1", LOSS): 2.18,
        ("1:1", LOSS): 1.74,
        ("1:7", LOSS): 1.66,
        ("1:15", LOSS): 1.66,
        ("masked only", LOSS): 1.66,
    },
    claims=[
        # the abstract; section 4.2 calls 1:15 the best ratio on MNLI
        *(
            Claim(f"The hybrid outperforms models that are masked only or causal only on {on}", better="1:15",
                  worse=("masked only", "causal only"), on=on)
            for on in (BLIMP, MNLI)
        ),
        # section 4.2
        *(
            Claim(f"As few masked sequences as one in 16 lead to a significant increase on {on}", better="15:1",
                  worse="causal only", on=on)
            for on in (BLIMP, MNLI)
        ),
        Claim("As few masked sequences as one in 16 lead to a much lower loss", better="15:1", worse="causal only", on=LOSS),
        Claim("A low ratio has the best loss", better=("1:7", "1:15"), worse=("15:1", "1:1"), on=LOSS),
    ],
    text="the corpus of BabyLM 2024, FineWeb-Edu and Cosmopedia, a third each",
    at_paper={  # Table 3, STRICT
        "model.intermediate": "2560",
        "tokenizer": "byte_level_bpe",
        "tokenizer.vocabulary": "16384",
        "inputs.length": "512",
        "inputs.phase2_length": "0",
        "inputs.phase2_share": "0",
        "inputs.short_seq_prob": "0",
        "schedule.batch_size": "4096",  # two million tokens
        "schedule.steps": "15625",
        "schedule.peak_lr": "0.01",
        "schedule.warmup": "0.016",
        "schedule.curve": "cosine",
        "schedule.curve.floor": "0.1",
        "optimizer": "lamb",
        "optimizer.beta2": "0.98",
        "optimizer.epsilon": "1e-8",
        "optimizer.weight_decay": "0.1",
        "optimizer.max_grad_norm": "2",
    },
    unlike=[
        "a masked token is predicted at its own place (paper: at the place before it, as a causal LM does)",
        "the model is BERT's (paper: LTG-BERT's, with gates of attention and learned weights of all layers)",
        "15 % are masked (paper: 30 % at first and 15 % at the end)",
        "batches of two million tokens in sequences of 512 (paper: one million at first and four at the end, in 128 to 512)",
        (BLIMP, "likelihoods as they are (paper: at the temperature that is best for each model)"),
    ],
    notes=[
        "The published values are the numbers printed in Figure 2, of evaluation with attention to both sides. In the text of the "
        "figure, numbers of a panel stand from top to bottom: those of MNLI are shown where section 4.2 says which row they "
        "belong to. Their loss is that of tokens predicted at the place before.",
        "The text says 84.2 on MNLI of the ratio that it prints as 15:16, which is one causal sequence in 16: the row 1:15.",
        "The paper chose batch size, learning rate and epochs of MNLI for each model on SST-2; here all have those of the scale.",
        "The paper has a copy of its text for each objective; here each sequence is drawn to be causal or masked anew in each pass.",
        "A model of causal sequences alone sees both sides of a token in its task and in the loss all the same, as in the paper.",
    ],
)  # fmt: skip
