"""SpanBERT Table 7: sequences of one or two segments, and the span boundary objective, for masked spans.

| objective             | SQuAD 2.0 F1 | NewsQA F1 | TriviaQA F1 | Coreference F1 | MNLI-m | QNLI | GLUE |
|:----------------------|-------------:|----------:|------------:|---------------:|-------:|-----:|-----:|
| two segments + NSP    |         85.4 |      73.0 |        78.8 |           76.4 |   87.0 | 93.3 | 83.4 |
| single sequence       |         86.7 |      73.4 |        80.0 |           76.3 |   87.3 | 93.8 | 83.8 |
| single sequence + SBO |         86.8 |      74.1 |        80.3 |           79.0 |   87.6 | 93.9 | 84.0 |

Development sets; geometric spans of whole words, 15 % of the tokens, in each variant. A single sequence is one stretch of
a document, up to the full length; batches have as many tokens as those of sentences packed across documents. SBO predicts
each token of a span from the vectors of the two tokens beside it. Run it: `bertlab ablate span-boundary`.
"""

from bertlab import (
    Claim,
    DocSentences,
    GeometricSpans,
    Inputs,
    MaskedLM,
    Measurement,
    Needs,
    NextSentence,
    SegmentPairs,
    SpanBoundary,
    Study,
    Variant,
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

SPANS = MaskedLM(selection=GeometricSpans(p=0.2, longest=10))
PAIR = Inputs(format=SegmentPairs())
SINGLE = Inputs(format=DocSentences())

study = Study(
    name="span-boundary",
    question="For masked spans, what are a single sequence and the span boundary objective worth?",
    source="Joshi et al. 2020, Table 7",
    baseline="two segments + NSP",
    variants=[
        Variant("two segments + NSP", inputs=PAIR, objective=(SPANS, NextSentence())),
        Variant("single sequence", inputs=SINGLE, objective=(SPANS,)),
        Variant("single sequence + SBO", inputs=SINGLE, objective=(SPANS, SpanBoundary())),
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
        "two segments + NSP": (85.4, 73.0, 78.8, 87.0, 93.3, 83.4, 76.4),
        "single sequence": (86.7, 73.4, 80.0, 87.3, 93.8, 83.8, 76.3),
        "single sequence + SBO": (86.8, 74.1, 80.3, 87.6, 93.9, 84.0, 79.0),
    }),
    claims=[
        *(
            Claim(f"Single-sequence training improves {on}", better="single sequence", worse="two segments + NSP", on=on, needs=LONG)
            for on in COLUMNS
        ),
        *(
            Claim(f"Adding SBO further improves {on}", better="single sequence + SBO", worse="single sequence", on=on, needs=LONG)
            for on in (*COLUMNS, COREFERENCE.name)
        ),
    ],
    at_paper=SPANBERT,  # sections 4.2 and 6.2
    unlike=SPANBERT_UNLIKE,
    notes=[
        COREFERENCE_NOTE,
        GLUE_NOTE,
        SPANBERT_NOTE,
        "NewsQA and TriviaQA are the MRQA shared task's. The paper keeps half of each development set as a test set; here all "
        "of it is measured. In training, the answer of a window is the first one in it; the released code takes the first one "
        "in the whole context, and has windows without it answer nothing. On synthetic text, both columns are the same "
        "runs: the first one counts.",
        "The paper chose batch size and learning rate for each task, and its code keeps the best of several checkpoints on "
        "the development set.",
        "Where documents are short, so are pairs of segments: on the synthetic text, single sequences see 1.2 times as many "
        "tokens at scale tiny, and 0.95 times as many at scale micro.",
        "SBO predicts all tokens of a span; the paper's released code leaves out those beyond the first 15, and spans at "
        "the ends of a sequence. Sentences longer than a sequence are cut here and left out there.",
    ],
)  # fmt: skip
