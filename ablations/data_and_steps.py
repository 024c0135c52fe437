"""RoBERTa Table 4: do more text and longer pre-training help? (large model, batches of 8K sequences)

| text   | steps | SQuAD 1.1 | SQuAD 2.0 | MNLI-m | SST-2 |
|:-------|------:|----------:|----------:|-------:|------:|
| 16 GB  |  100K |      93.6 |      87.3 |   89.0 |  95.3 |
| 160 GB |  100K |      94.0 |      87.7 |   89.3 |  95.6 |
| 160 GB |  300K |      94.4 |      88.7 |   90.0 |  96.1 |
| 160 GB |  500K |      94.6 |      89.4 |   90.2 |  96.4 |

Development sets; SQuAD as F1. The first row is of books and Wikipedia, which the others have too, with news, web pages
and stories. Here the first row has a tenth of the documents of the corpus, the others have all. Steps are multiples of
the scale's. The rows of BERT and XLNet, whose text and steps are not RoBERTa's, are left out. Run it: `bertlab ablate
data-and-steps`.
"""

from bertlab import Claim, Inputs, Measurement, Needs, RelativeSchedule, Study, Variant, table
from bertlab.lab.papers import GPT2_VOCABULARY, ONE_SEPARATOR, ONE_TEXT, ROBERTA, ROBERTA_SPANS

SQUAD = "SQuAD 1.1"
SQUAD_2 = "SQuAD 2.0"
MNLI = "MNLI"
SST2 = "SST-2"

LONG = Needs(steps=10_000)
"""What keeps more text or more steps from being the end of a beginning."""

study = Study(
    name="data-and-steps",
    question="Do more text and longer pre-training help?",
    source="Liu et al. 2019, Table 4",
    baseline="1/10 of the text",
    variants=[
        Variant("1/10 of the text", inputs=Inputs(document_share=0.1)),
        Variant("all text"),
        Variant("all text, 3x steps", relative=RelativeSchedule(steps=3)),
        Variant("all text, 5x steps", relative=RelativeSchedule(steps=5)),
    ],
    measurements=[
        Measurement(SQUAD, task="squad", metric="f1"),
        Measurement(SQUAD_2, task="squad_v2", metric="f1"),
        Measurement(MNLI, task="mnli"),
        Measurement(SST2, task="sst2"),
    ],
    published=table((SQUAD, SQUAD_2, MNLI, SST2), {
        "1/10 of the text": (93.6, 87.3, 89.0, 95.3),
        "all text": (94.0, 87.7, 89.3, 95.6),
        "all text, 3x steps": (94.4, 88.7, 90.0, 96.1),
        "all text, 5x steps": (94.6, 89.4, 90.2, 96.4),
    }),
    claims=[
        # section 5
        *(
            Claim(f"Additional text, in as many steps, improves {on}", better="all text", worse="1/10 of the text",
                  on=on, needs=LONG)
            for on in (SQUAD, SQUAD_2, MNLI, SST2)
        ),
        *(
            Claim(f"Pre-training for longer gives gains on {on}", on=on, needs=LONG,
                  rising=("all text", "all text, 3x steps", "all text, 5x steps"))
            for on in (SQUAD, SQUAD_2, MNLI, SST2)
        ),
    ],
    at_paper=ROBERTA | ROBERTA_SPANS | ONE_TEXT | {
        # sections 4.2 and 4.4, and the appendix: large
        "model.layers": "24",
        "model.hidden": "1024",
        "model.heads": "16",
        "objective": "masked_lm",
        "tokenizer": "byte_level_bpe",
        "tokenizer.vocabulary": "50265",
        "inputs.format": "full-sentences",
        "schedule.batch_size": "8192",
        "schedule.steps": "100000",
        "schedule.peak_lr": "4e-4",
        "schedule.warmup": "0.06",
        "optimizer.beta2": "0.98",
        "optimizer.max_grad_norm": "1e9",  # none
        "finetune.epochs": "10",
        "finetune.peak_lr": "1e-5",
        "finetune.warmup": "0.06",
        "finetune.weight_decay": "0.1",
        "span.epochs": "2",
        "span.peak_lr": "1.5e-5",
        "span.batch_size": "48",
        "span.warmup": "0.06",
    },
    unlike=[
        "a tenth of the text stands for 16 of 160 GB, and the rest is of the same kind (paper: news, web pages, stories)",
    ],
    notes=[
        "The claims are of 100,000 steps and more: with fewer than 10,000 they are not tested, as the first steps always add.",
        "The paper stops fine-tuning early on the development sets, and reports medians of five runs (section 5.1); here it runs "
        f"for all epochs, and means are reported. {GPT2_VOCABULARY}",
        "A longer run does not continue a shorter one: the learning rate falls linearly to 0 over the steps of each, "
        "so each variant is trained from the start.",
        "Less text in as many steps is more passes over it: where the steps do not get through a tenth of the text, as "
        "may be at small scales, the two variants differ in little but which documents they see.",
        "The appendix prints a warm-up of 30K for 500K steps; here the warm-up is the same share, 6 %, of the steps of "
        "each variant. For GLUE the paper chose learning rate and batch size for each task.",
        ONE_SEPARATOR,
    ],
)  # fmt: skip
