"""Gisserot-Boukhlef et al. 2025: should an encoder be pre-trained by a masked LM, a causal one, or the one after the other?

| first steps causal | sequence classification (mean of SST-2, QQP and MNLI) |
|:-------------------|------------------------------------------------------:|
| none (masked)      |                                                  87.0 |
| 25 %               |                                                  87.9 |
| 50 %               |                                                  87.6 |
| 75 %               |                                                       |
| all (causal)       |                                                  83.6 |

The paper's models have 610 million parameters and 42,000 steps; Table 10 has the figures, accuracy on the development sets. All
rows have as many steps. A masked LM masks 40 % of the tokens, each by [MASK]; a causal one predicts each token from those
before it. Whatever they were trained for, models see both sides of a token in their tasks.
Run it: `bertlab ablate mlm-or-clm`.
"""

from bertlab import (
    Average,
    CausalLM,
    Claim,
    Corruption,
    FullSentences,
    Inputs,
    MaskedLM,
    Measurement,
    PublishedTable,
    Schedule,
    Stages,
    Study,
    Variant,
)

SST2 = "SST-2"
QQP = "QQP"
MNLI = "MNLI"
SQUAD = "SQuAD 1.1"
NER = "NER"
AVERAGE = "Sequence classification"

FULL = Inputs(format=FullSentences())
ALL = Corruption(mask=1.0, keep=0.0, random=0.0)
HALVES = (MaskedLM(mask_prob=0.4, corruption=ALL, share=0.5), CausalLM(share=0.5))
CAUSAL_UNTIL = {
    causal: Schedule(
        over_steps={
            "causal_lm.share": Stages(multiples=(2, 0), begins=(causal,)),
            "masked_lm.share": Stages(multiples=(0, 2), begins=(causal,)),
        }
    )
    for causal in (0.25, 0.5, 0.75, 1.0)
}
"""All sequences are causal in this share of the steps, and masked after it: each half of them counts twice or not."""


study = Study(
    name="mlm-or-clm",
    question="Should an encoder learn as a masked language model, a causal one, or as the one after the other?",
    source="Gisserot-Boukhlef et al. 2025, Table 10, as a summary reprints it",
    baseline="masked",
    variants=[
        Variant("masked", inputs=FULL, objective=(MaskedLM(mask_prob=0.4, corruption=ALL),)),
        Variant("25 % causal, then masked", inputs=FULL, objective=HALVES, schedule=CAUSAL_UNTIL[0.25]),
        Variant("50 % causal, then masked", inputs=FULL, objective=HALVES, schedule=CAUSAL_UNTIL[0.5]),
        Variant("75 % causal, then masked", inputs=FULL, objective=HALVES, schedule=CAUSAL_UNTIL[0.75]),
        Variant("causal", inputs=FULL, objective=HALVES, schedule=CAUSAL_UNTIL[1.0]),
    ],
    measurements=[
        Measurement(SST2, task="sst2"),
        Measurement(QQP, task="qqp"),
        Measurement(MNLI, task="mnli", milestones=(10, 100)),
        Measurement(SQUAD, task="squad", metric="f1"),
        Measurement(NER, task="conll2003", metric="f1"),
        Measurement("BLiMP", task="blimp"),
        Measurement("MLM loss", metric="masked_lm_loss"),
    ],
    averages=[Average(AVERAGE, of=(SST2, QQP, MNLI))],
    published={
        ("masked", AVERAGE): 87.00,
        ("25 % causal, then masked", AVERAGE): 87.85,
        ("50 % causal, then masked", AVERAGE): 87.58,
        ("causal", AVERAGE): 83.58,
    },
    related=[
        PublishedTable(
            "610 million parameters, 42,000 steps: accuracy on SST-2, QQP and MNLI; F1 on CoNLL, OntoNotes and UNER; F1 on SQuAD, "
            "SQuAD 2.0 and ReCoRD; NDCG@10 on MS MARCO, NQ and MLDR",
            source="Gisserot-Boukhlef et al. 2025, Tables 10 to 13, as a summary reprints them",
            columns=("sequences", "tokens", "questions", "retrieval"),
            rows={
                "masked": (87.00, 92.21, 62.77, 79.55),
                "10,000 steps causal, then masked": (87.85, 93.07, 67.77, 79.88),
                "causal": (83.58, 92.69, 42.09, 76.20),
            },
        ),
    ],
    claims=[
        # the abstract; the related table says on which tasks
        *(
            Claim(f"Training with MLM yields better performance on {on} than CLM", better="masked", worse="causal", on=on)
            for on in (SST2, MNLI, SQUAD)
        ),
        *(
            Claim(f"CLM and then MLM is better on {on} than MLM alone in as many steps", better="25 % causal, then masked",
                  worse="masked", on=on)
            for on in (SST2, MNLI, SQUAD, NER)
        ),
        Claim("CLM is more data-efficient: it is ahead after a tenth of the steps", better="causal", worse="masked", on=MNLI, at=10),
    ],
    text="FineWeb-Edu",
    at_paper={
        "model.layers": "26",
        "model.hidden": "1152",
        "model.heads": "18",
        "model.intermediate": "4096",
        "model.positions": "rotary",
        "model.norm_position": "pre",
        "model.dropout": "0",
        "tokenizer": "byte_level_bpe",
        "tokenizer.vocabulary": "128256",
        "inputs.length": "2048",
        "inputs.phase2_length": "0",
        "inputs.phase2_share": "0",
        "inputs.short_seq_prob": "0",
        "schedule.batch_size": "1152",  # 2,359,296 tokens
        "schedule.steps": "42000",
        "schedule.peak_lr": "5e-4",
        "schedule.warmup": "0.047619",  # 2,000 steps
        "schedule.curve": "warmup-stable-decay",
        "schedule.curve.cooldown": "0.047619",
        "optimizer.beta2": "0.95",
        "optimizer.epsilon": "1e-5",
        "optimizer.weight_decay": "0.1",
        "optimizer.bias_correction": "true",
        "finetune.batch_size": "32",
        "finetune.epochs": "1",
        "finetune.max_steps": "1000",
        "finetune.bias_correction": "true",
    },
    unlike=[
        "the model is BERT's, pre-norm with rotary positions (paper: EuroBERT's, with RMSNorm, SwiGLU and shared keys)",
        "the vocabulary is trained on the text (paper: Llama 3's)",
        "[CLS] stands for a text in classification (paper: the mean of its tokens)",
        "one learning rate for each task (paper: the best of six on the validation set)",
    ],
    notes=[
        "Published values are those of the paper's tables as a detailed summary reprints them; the paper itself was not at hand. "
        "A second source, which cites the paper, has the same four means. The one of 75 % is in neither.",
        "The question answering, token classification and retrieval of the paper are means over tasks of which some are not "
        "measured here: they stand in a table of their own.",
        "A model that was causal throughout sees both sides of a token in its tasks all the same, as in the paper; `nsp` and "
        "`lineage` have left-to-right models that stay so. Its MLM loss is that of a model that never learned to fill in [MASK].",
        "All rows have as many steps, in which a causal LM predicts all tokens and a masked one 40 % of them.",
        "The paper switches after 10,000 of 42,000 steps, which is its 25 %, while its learning rate is at the peak. At scales micro "
        "and tiny the rate rises in the first half of the steps and falls in the second.",
        "In the paper a causal LM is ahead in classification until 10,000 of its 42,000 steps: a tenth of them lies before that.",
    ],
)  # fmt: skip
