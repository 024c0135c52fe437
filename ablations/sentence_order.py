"""ALBERT Table 5: which sentence task beside the masked LM: none, next sentence, or sentence order? (ALBERT base)

| sentence task | MLM  | NSP  | SOP  | SQuAD 1.1 | SQuAD 2.0 | MNLI | SST-2 | RACE |  Avg |
|:--------------|-----:|-----:|-----:|----------:|----------:|-----:|------:|-----:|-----:|
| NSP           | 54.5 | 90.5 | 52.0 | 88.4/81.5 | 77.2/74.6 | 81.6 |  91.1 | 62.3 | 79.2 |
| none          | 54.9 | 52.4 | 53.3 | 88.6/81.5 | 78.1/75.3 | 81.5 |  89.9 | 61.7 | 79.0 |
| SOP           | 54.0 | 78.9 | 86.5 | 89.3/82.3 | 80.0/77.1 | 82.0 |  90.3 | 64.0 | 80.1 |

NSP pairs a segment with what follows it or with text of another document, SOP with what follows it, in order or
exchanged. The first three columns are accuracies on held-out text: the head of each sentence task is scored on the
pairs of the other too, where chance is 50. SQuAD is F1/EM: the columns here are F1, the average counts both. Run it:
`bertlab ablate sentence-order`.
"""

from bertlab import Claim, MaskedLM, Measurement, NextSentence, SentenceOrder, Study, Variant, table
from bertlab.lab.papers import ALBERT, ALBERT_AVERAGE, ALBERT_COLUMNS, ALBERT_MODEL, ALBERT_NOTE, ALBERT_TASKS

MLM = "MLM"
NSP = "NSP"
SOP = "SOP"
SQUAD, SQUAD_2, _, _, RACE, _ = ALBERT_COLUMNS

study = Study(
    name="sentence-order",
    question="Which sentence task should stand beside the masked LM: none, next sentence, or sentence order?",
    source="Lan et al. 2020, Table 5",
    baseline="NSP",
    variants=[
        Variant("NSP", objective=(MaskedLM(), NextSentence())),
        Variant("none", objective=(MaskedLM(),)),
        Variant("SOP", objective=(MaskedLM(), SentenceOrder())),
    ],
    measurements=[
        Measurement(MLM, metric="accuracy"),
        Measurement(NSP, metric="next_sentence_accuracy"),
        Measurement(SOP, metric="sentence_order_accuracy"),
        *ALBERT_TASKS,
    ],
    averages=[ALBERT_AVERAGE],
    published=table((MLM, NSP, SOP, *ALBERT_COLUMNS), {
        "NSP": (54.5, 90.5, 52.0, 88.4, 77.2, 81.6, 91.1, 62.3, 79.2),
        "none": (54.9, 52.4, 53.3, 88.6, 78.1, 81.5, 89.9, 61.7, 79.0),
        "SOP": (54.0, 78.9, 86.5, 89.3, 80.0, 82.0, 90.3, 64.0, 80.1),
    }),
    claims=[
        Claim("NSP brings no discriminative power to the SOP task, which SOP solves", better="SOP", worse="NSP", on=SOP),
        Claim("NSP stays at chance on SOP", better="NSP", worse="majority guess", on=SOP, within=3.0),
        Claim("SOP solves the NSP task relatively well", better="SOP", worse="majority guess", on=NSP),
        *(
            Claim(f"SOP helps {on}", better="SOP", worse=("none", "NSP"), on=on)
            for on in (SQUAD, SQUAD_2, RACE)  # section 4.6
        ),
    ],
    at_paper=ALBERT | ALBERT_MODEL,
    unlike=[(MLM, "accuracy on single tokens with 80/10/10 of the held-out text (paper: on n-grams of the text of SQuAD and RACE)")],
    notes=[
        "MLM, NSP and SOP are of the held-out text; the paper's are of a set made of the development text of SQuAD and RACE "
        "(section 4.2.1).",
        ALBERT_NOTE,
        '"none" keeps BERT\'s segment pairs, half of them with random text, as "no NSP" of the study nsp does: it differs '
        'from NSP in the loss alone. The paper calls its own "XLNet- and RoBERTa-style" (section 4.6), and says no more.',
        "NSP and SOP are accuracies of the head that the variant was trained with: without a sentence task there is none "
        "to score. The paper does not say how it scored one; its 52.4 and 53.3 are next to chance, which is 50.",
        'The paper says that SOP helps "multi-sentence encoding tasks" and names SQuAD 1.1, SQuAD 2.0 and RACE (section 4.6); '
        "MNLI has no claim, and the paper prints 82.0 and 81.6 for the model with SOP.",
        "The margin of three points around chance is chosen here.",
        "A pair whose form would tell its order has no SOP label: with its first sentence at its end it would end at "
        "another place, or one of its ends is within a sentence. On English textbooks 70 % of the pairs of 512 tokens have "
        "one, 65 % of 128, and 41 % of 64; ALBERT labels every pair.",
    ],
)  # fmt: skip
