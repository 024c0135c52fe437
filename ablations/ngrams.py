"""ALBERT's masking (section 4.1): single tokens or n-grams of whole words as what a masked LM has to predict.

| masked tokens | what is drawn                                                                |
|:--------------|:-----------------------------------------------------------------------------|
| tokens        | single tokens, as in BERT                                                    |
| n-grams       | 1 to 3 consecutive whole words, n of them with a probability proportional to 1/n |

The paper masks n-grams in all its models and publishes no comparison with single tokens. The tasks are those of its
tables; the sentence task is its own. All variants are evaluated on the same single masked tokens, and each on its own
masks too. Run it: `bertlab ablate ngrams`.
"""

from bertlab import MaskedLM, NGrams, SentenceOrder, Study, Tokens, Variant
from bertlab.lab.papers import ALBERT, ALBERT_MODEL, ALBERT_NOTE, ALBERT_TASKS

study = Study(
    name="ngrams",
    question="Should a masked LM predict single tokens or n-grams?",
    source="Lan et al. 2020, section 4.1",
    baseline="tokens",
    variants=[
        Variant("tokens", objective=(MaskedLM(selection=Tokens()), SentenceOrder())),
        Variant("n-grams", objective=(MaskedLM(selection=NGrams(longest=3)), SentenceOrder())),
    ],
    measurements=ALBERT_TASKS,
    at_paper=ALBERT | ALBERT_MODEL,
    notes=[
        ALBERT_NOTE,
        "The paper makes no claim about n-grams and prints no figures for single tokens: nothing here is compared with it.",
        'The paper\'s n-grams are "of complete words". What is shown is drawn token by token, as in its released code; '
        "n-grams that overlap become one, where that code skips the second. No n-gram crosses [SEP].",
    ],
)  # fmt: skip
