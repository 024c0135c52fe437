"""ELMo, GPT and BERT on the same text (BERT Figure 3, Tables 1, 2, 4 and 7; GLUE test server, the others development sets).

|              | MNLI-m | MNLI-mm | QQP  | QNLI | SST-2 | CoLA | STS-B | MRPC | RTE  | Average | SQuAD 1.1 | SWAG | NER  |
|:-------------|-------:|--------:|-----:|-----:|------:|-----:|------:|-----:|-----:|--------:|----------:|-----:|-----:|
| ELMo         |   76.4 |    76.1 | 64.8 | 79.8 |  90.4 | 36.0 |  73.3 | 84.9 | 56.8 |    71.0 |      85.6 | 59.1 | 95.7 |
| GPT          |   82.1 |    81.4 | 70.3 | 87.4 |  91.3 | 45.4 |  80.0 | 82.3 | 56.0 |    75.1 |           |      |      |
| BERT         |   84.6 |    83.4 | 71.2 | 90.5 |  93.5 | 52.1 |  85.8 | 88.9 | 66.4 |    79.6 |      88.5 | 81.6 | 96.4 |

QQP and MRPC are F1, CoLA is Matthews correlation, STS-B Spearman correlation, SQuAD and NER F1, the others accuracy. ELMo
is a frozen bidirectional language model under a BiLSTM; GPT reads from left to right. Two more rows have no published
figure: BERT without next-sentence prediction, and a left-to-right beside a right-to-left Transformer, each as large as the
scale's model, which BERT's section 5.1 names and does not train. All rows have the same text, vocabulary and number of
tokens; three more, with fewer steps, have the FLOPs of BERT.

The paper's models had different texts. Published values of two families that had the same are BabyLM's of 2023, at the end.

Run it: `bertlab ablate lineage`.
"""

from typing import Any

from bertlab import (
    GPT,
    BidirectionalLM,
    BiLSTM,
    CausalLM,
    Claim,
    ELMo,
    MaskedLM,
    Measurement,
    PublishedTable,
    RelativeSchedule,
    Size,
    Study,
    Variant,
    table,
)
from bertlab.lab.papers import (
    BERT_GLUE,
    BERT_GLUE_AVERAGE,
    BERT_GLUE_COLUMNS,
    BERT_GLUE_NOTE,
    BERT_GLUE_UNLIKE,
    ELMO_NOTES,
    ELMO_SIZE,
    ELMO_UNLIKE,
    GOOGLE_NOTE,
    SAME_RUNS_NOTE,
)

SQUAD = "SQuAD 1.1"
SWAG = "SWAG"
NER = "NER"

ELMO: dict[str, Any] = {"model": BiLSTM(), "objective": (BidirectionalLM(),), "size": ELMO_SIZE, "adaptation": ELMo()}
LEFT_TO_RIGHT: dict[str, Any] = {"objective": (CausalLM(),), "adaptation": GPT()}
SIDE_BY_SIDE: dict[str, Any] = {
    "fields": {"model": "bitransformer", "model.segments": "1", "objective": "bidirectional_lm"}, "size": Size(width=2),
}
SAME_FLOPS = RelativeSchedule(equal_flops=True)

study = Study(
    name="lineage",
    question="How do ELMo, GPT and BERT compare if all of them read the same text?",
    source="Devlin et al. 2019, Figure 3 and Tables 1, 2, 4, 7",
    baseline="BERT",
    variants=[
        Variant("ELMo", **ELMO),
        Variant("GPT", **LEFT_TO_RIGHT),
        Variant("BERT"),
        Variant("BERT without NSP", objective=(MaskedLM(),)),
        Variant("LTR + RTL", **SIDE_BY_SIDE),
        Variant("ELMo, equal FLOPs", **ELMO, relative=SAME_FLOPS),
        Variant("GPT, equal FLOPs", **LEFT_TO_RIGHT, relative=SAME_FLOPS),
        Variant("LTR + RTL, equal FLOPs", **SIDE_BY_SIDE, relative=SAME_FLOPS),
    ],
    measurements=[
        *BERT_GLUE,
        Measurement(SQUAD, task="squad", metric="f1"),
        Measurement(SWAG, task="swag"),
        Measurement(NER, task="conll2003", metric="f1"),
    ],
    averages=[BERT_GLUE_AVERAGE],
    published=table(BERT_GLUE_COLUMNS, {
        "ELMo": (76.4, 76.1, 64.8, 79.8, 90.4, 36.0, 73.3, 84.9, 56.8, 71.0),
        "GPT": (82.1, 81.4, 70.3, 87.4, 91.3, 45.4, 80.0, 82.3, 56.0, 75.1),
        "BERT": (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6),
    }) | table((SQUAD, SWAG, NER), {"ELMo": (85.6, 59.1, 95.7), "BERT": (88.5, 81.6, 96.4)}),
    related=[
        PublishedTable(
            "Left to right (OPT) and masked (RoBERTa) on the same 10 or 100 million words: accuracy, MRPC and QQP macro F1, one seed",
            source="BabyLM 2023, baselines of its evaluation pipeline",
            columns=("CoLA", "SST-2", "MRPC", "QQP", "MNLI", "MNLI-mm", "QNLI", "RTE"),
            rows={
                "OPT-125m, 10 M": (64.6, 81.9, 72.5, 60.4, 57.6, 60.0, 61.5, 60.0),
                "RoBERTa-base, 10 M": (70.8, 87.0, 79.2, 73.7, 73.2, 74.0, 77.0, 61.6),
                "OPT-125m, 100 M": (73.7, 86.6, 82.1, 77.8, 70.1, 71.9, 80.1, 67.7),
                "RoBERTa-base, 100 M": (75.9, 88.6, 80.5, 78.5, 68.7, 78.0, 82.3, 51.5),
            },
        ),
    ],
    claims=[
        *(
            Claim(f"BERT outperforms GPT on {on}", better="BERT", worse="GPT", on=on)
            for on in ("MNLI-m", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE")
        ),
        *(
            Claim(f"GPT outperforms ELMo on {on}", better="GPT", worse="ELMo", on=on)
            for on in ("MNLI-m", "QQP", "QNLI", "SST-2", "CoLA", "STS-B")
        ),
        *(Claim(f"BERT outperforms ELMo on {on}", better="BERT", worse="ELMo", on=on) for on in (SQUAD, SWAG)),
    ],
    unlike=[
        *ELMO_UNLIKE,
        "all models have the same text and segment pairs (papers: each its own)",
        "GPT reads a pair of texts in one order and has BERT's vocabulary (paper: in both orders on MRPC, QQP and STS-B)",
        *BERT_GLUE_UNLIKE,
        (SQUAD, "ELMo under a BiLSTM (paper: BiDAF)"),
        (SWAG, "ELMo under a BiLSTM (paper: ESIM)"),
        (NER, "uncased text (paper: cased)"),
        (NER, "ELMo under a BiLSTM (paper: with a CRF above it)"),
    ],
    notes=[
        GOOGLE_NOTE,
        *ELMO_NOTES,
        "The paper's ELMo has attention between two texts. On MRPC and RTE it is above GPT in the paper, and no claim is made.",
        BERT_GLUE_NOTE,
        "The two Transformers side by side have no segments: from the right, training begins in the second segment of a pair, and never "
        "in the first, which is all that a single text has.",
        "The paper's GPT has 78.0 on the test set of SWAG, and BERT large 86.3; BERT base has a figure of the development set.",
        SAME_RUNS_NOTE,
    ],
)  # fmt: skip
