"""SpanBERT Table 6: which tokens a masked LM has to predict.

| masked tokens   | SQuAD 2.0 F1 | NewsQA F1 | TriviaQA F1 | Coreference F1 | MNLI-m | QNLI | GLUE |
|:----------------|-------------:|----------:|------------:|---------------:|-------:|-----:|-----:|
| subword tokens  |         83.8 |      72.0 |        76.3 |           77.7 |   86.7 | 92.5 | 83.2 |
| whole words     |         84.3 |      72.8 |        77.1 |           76.6 |   86.3 | 92.8 | 82.9 |
| named entities  |         84.8 |      72.7 |        78.7 |           75.6 |   86.0 | 93.1 | 83.2 |
| noun phrases    |         85.0 |      73.0 |        77.7 |           76.7 |   86.5 | 93.2 | 83.5 |
| geometric spans |         85.4 |      73.0 |        78.8 |           76.4 |   87.0 | 93.3 | 83.4 |

Development sets; BERT's segment pairs with next-sentence prediction, 15 % of the tokens in each variant. Geometric spans
have 3.8 words on average and are replaced as a whole. Named entities and noun phrases have half of the tokens, random whole
words the others. All variants are evaluated on the same single masked tokens, and each on its own masks too.

Run it: `bertlab ablate spans`. On text of your own a spaCy pipeline finds entities and phrases: `bertlab ablate spans --corpus
books/ --set corpus.annotator=en_core_web_sm`. Without one, these two variants are left out.
"""

from bertlab import (
    Claim,
    Entities,
    GeometricSpans,
    MaskedLM,
    Measurement,
    Needs,
    NextSentence,
    NounPhrases,
    Study,
    Tokens,
    Variant,
    WholeWords,
    table,
)
from bertlab.lab.papers import (
    COREFERENCE,
    COREFERENCE_NOTE,
    GLUE,
    GLUE_AVERAGE,
    GLUE_NOTE,
    SPANBERT,
    SPANBERT_NOTE,
    SPANBERT_UNLIKE,
)

SQUAD_2 = "SQuAD 2.0"
NEWSQA = "NewsQA"
TRIVIAQA = "TriviaQA"
MNLI = "MNLI"
QNLI = "QNLI"
COLUMNS = SQUAD_2, NEWSQA, TRIVIAQA, MNLI, QNLI

LONG = Needs(length=128)
"""In shorter sequences, 15 % of the tokens have no room for spans of the paper's length."""

study = Study(
    name="spans",
    question="Should a masked LM predict single tokens, whole words or spans?",
    source="Joshi et al. 2020, Table 6",
    baseline="subword tokens",
    variants=[
        Variant("subword tokens", objective=(MaskedLM(selection=Tokens()), NextSentence())),
        Variant("whole words", objective=(MaskedLM(selection=WholeWords()), NextSentence())),
        Variant("named entities", objective=(MaskedLM(selection=Entities()), NextSentence())),
        Variant("noun phrases", objective=(MaskedLM(selection=NounPhrases()), NextSentence())),
        Variant("geometric spans", objective=(MaskedLM(selection=GeometricSpans(p=0.2, longest=10)), NextSentence())),
    ],
    measurements=[
        Measurement(SQUAD_2, task="squad_v2", metric="f1"),
        Measurement(NEWSQA, task="newsqa", metric="f1"),
        Measurement(TRIVIAQA, task="triviaqa", metric="f1"),
        COREFERENCE,
        Measurement(MNLI, task="mnli"),
        Measurement(QNLI, task="qnli"),
        *GLUE,
    ],
    averages=[GLUE_AVERAGE],
    published=table((*COLUMNS, GLUE_AVERAGE.name, COREFERENCE.name), {
        "subword tokens": (83.8, 72.0, 76.3, 86.7, 92.5, 83.2, 77.7),
        "whole words": (84.3, 72.8, 77.1, 86.3, 92.8, 82.9, 76.6),
        "named entities": (84.8, 72.7, 78.7, 86.0, 93.1, 83.2, 75.6),
        "noun phrases": (85.0, 73.0, 77.7, 86.5, 93.2, 83.5, 76.7),
        "geometric spans": (85.4, 73.0, 78.8, 87.0, 93.3, 83.4, 76.4),
    }),
    claims=[
        Claim(f"Random spans are preferable to tokens and words on {on}", better="geometric spans",
              worse=("subword tokens", "whole words"), on=on, needs=LONG)
        for on in COLUMNS
    ] + [
        # where the table agrees: on NewsQA noun phrases are as good
        Claim(f"Random spans are preferable to named entities and noun phrases on {on}", better="geometric spans",
              worse=("named entities", "noun phrases"), on=on, needs=LONG)
        for on in (SQUAD_2, MNLI, QNLI)
    ] + [
        Claim("Random spans are preferable to named entities on TriviaQA", better="geometric spans",
              worse="named entities", on=TRIVIAQA, needs=LONG),
        Claim("Noun phrases are worse than random spans on TriviaQA", better="geometric spans", worse="noun phrases",
              on=TRIVIAQA, needs=LONG),
        Claim("On coreference, subword tokens are preferable to any form of span masking", better="subword tokens",
              worse=("whole words", "named entities", "noun phrases", "geometric spans"), on=COREFERENCE.name, needs=LONG),
    ],
    at_paper=SPANBERT,  # sections 4.2 and 6.1
    unlike=SPANBERT_UNLIKE,
    notes=[
        COREFERENCE_NOTE,
        GLUE_NOTE,
        SPANBERT_NOTE,
        "Named entities and noun phrases are those that a spaCy pipeline of the user's choice finds in each sentence, "
        "without entities that are numbers or dates; those of the synthetic text follow from its lexicon. They have half of the "
        "masked tokens in the mean, and fewer where a sequence has few.",
        "NewsQA and TriviaQA are the MRQA shared task's. The paper keeps half of each development set as a test set; here all "
        "of it is measured. In training, the answer of a window is the first one in it; the released code takes the first one "
        "in the whole context, and has windows without it answer nothing. On synthetic text, both columns are the same "
        "runs: the first one counts.",
        "The paper chose batch size and learning rate for each task, and its code keeps the best of several checkpoints on "
        "the development set.",
        "Where the budget would split a word or cut a span, whole words are kept here and in the paper's text; its "
        "released code cuts the last word. What is shown for a whole word is drawn piece by piece, as in Google's code; "
        "the paper does not say.",
    ],
)  # fmt: skip
