"""BERT Table 5: what next-sentence prediction and reading in both directions are worth (BERT base, development sets).

| pre-training       | MNLI-m | QNLI | MRPC | SST-2 | SQuAD 1.1 F1 |
|:-------------------|-------:|-----:|-----:|------:|-------------:|
| BERT               |   84.4 | 88.4 | 86.7 |  92.7 |         88.5 |
| no NSP             |   83.9 | 84.9 | 86.5 |  92.6 |         87.9 |
| LTR & no NSP       |   82.1 | 84.3 | 77.5 |  92.1 |         77.8 |
| LTR & no NSP + BiLSTM | 82.1 | 84.1 | 75.7 | 91.6 |         84.9 |

LTR is a left-to-right language model: the causal mask stays when it is fine-tuned, and a sequence is classified from its
last token. The BiLSTM is put on top of it at fine-tuning, randomly initialised: the two rows share their pre-training.
Named entities are measured too, without a published figure. Run it: `bertlab ablate nsp`.
"""

from bertlab import CausalLM, Claim, FineTuning, MaskedLM, Measurement, Study, Variant, table
from bertlab.lab.papers import GOOGLE_NOTE

MNLI = "MNLI"
QNLI = "QNLI"
MRPC = "MRPC"
SST2 = "SST-2"
SQUAD = "SQuAD 1.1"
NER = "NER"

study = Study(
    name="nsp",
    question="What are next-sentence prediction and reading in both directions worth?",
    source="Devlin et al. 2019, Table 5",
    baseline="BERT",
    variants=[
        Variant("BERT"),
        Variant("no NSP", objective=(MaskedLM(),)),
        Variant("LTR & no NSP", objective=(CausalLM(),)),
        Variant("LTR & no NSP + BiLSTM", objective=(CausalLM(),), adaptation=FineTuning(bilstm=True)),
    ],
    measurements=[
        Measurement(MNLI, task="mnli"),
        Measurement(QNLI, task="qnli"),
        Measurement(MRPC, task="mrpc"),
        Measurement(SST2, task="sst2"),
        Measurement(SQUAD, task="squad", metric="f1"),
        Measurement(NER, task="conll2003", metric="f1"),
    ],
    published=table((MNLI, QNLI, MRPC, SST2, SQUAD), {
        "BERT": (84.4, 88.4, 86.7, 92.7, 88.5),
        "no NSP": (83.9, 84.9, 86.5, 92.6, 87.9),
        "LTR & no NSP": (82.1, 84.3, 77.5, 92.1, 77.8),
        "LTR & no NSP + BiLSTM": (82.1, 84.1, 75.7, 91.6, 84.9),
    }),
    claims=[
        *(Claim(f"NSP helps {on}", better="BERT", worse="no NSP", on=on) for on in (QNLI, MNLI, SQUAD)),
        *(
            Claim(f"Left-to-right is worse on {on}", better="no NSP", worse="LTR & no NSP", on=on)
            for on in (MNLI, QNLI, MRPC, SST2, SQUAD)
        ),
        Claim("The BiLSTM helps on SQuAD", better="LTR & no NSP + BiLSTM", worse="LTR & no NSP", on=SQUAD),
        *(
            Claim(f"The BiLSTM hurts {on}", better="LTR & no NSP", worse="LTR & no NSP + BiLSTM", on=on)
            for on in (QNLI, MRPC, SST2)
        ),
    ],
    notes=[
        GOOGLE_NOTE,
        '"no NSP" keeps segment pairs, half with random text; RoBERTa suspects that BERT\'s did, and that this made the loss.',
        "MRPC is accuracy, as in this table of the paper; its Table 1 has F1.",
        "QNLI was released anew in January 2019, after the first version of the paper: the published 84.1 to 88.4 may be of "
        "the earlier release (not verified).",
    ],
)
