"""What the studies of one paper have in common: settings for `at_paper`, differences for `unlike`, columns of tables.

`from bertlab.lab.papers import ALBERT`, then `Study(..., at_paper=ALBERT | {"schedule.steps": "1000000"})`.
"""

from typing import Any

from bertlab.inputs.formats import Chunks
from bertlab.lab.study import Average, Measurement
from bertlab.objectives import SpanCorruption
from bertlab.recipe import T5, Inputs, Size, TaskSource
from bertlab.text.tokenizers import WordPiece


def group(path: str, **fields: str) -> dict[str, str]:
    """Settings of one group of fields, or of one task: `group("tasks.mnli", epochs="4")`."""
    return {f"{path}.{name}": text for name, text in fields.items()}


ONE_LENGTH = {"inputs.length": "512", "inputs.phase2_length": "0", "inputs.phase2_share": "0"}
"""Sequences of 512 tokens from the first step on, where BERT begins with 128."""

GOOGLE_NOTE = (
    "Learning rates rise to their peak and fall from there; in Google's code they fall from the first step on, to 0.99 "
    "of the peak at the end of a warm-up of 1 %, and in fine-tuning to 0.9 at the end of one of 10 %."
)
"""What schedules here have of their own, for `notes` of BERT's studies."""

BERT_GLUE = [
    Measurement("MNLI-m", task="mnli"),
    Measurement("MNLI-mm", task="mnli-mismatched"),
    Measurement("QQP", task="qqp", metric="f1"),
    Measurement("QNLI", task="qnli"),
    Measurement("SST-2", task="sst2"),
    Measurement("CoLA", task="cola", metric="matthews"),
    Measurement("STS-B", task="stsb", metric="spearman"),
    Measurement("MRPC", task="mrpc", metric="f1"),
    Measurement("RTE", task="rte"),
]
"""GLUE (Wang et al. 2019) with the metrics of BERT's Table 1."""
BERT_GLUE_AVERAGE = Average("Average", of=tuple(task.name for task in BERT_GLUE))
"""The average of BERT's Table 1."""
BERT_GLUE_COLUMNS = (*(task.name for task in BERT_GLUE), BERT_GLUE_AVERAGE.name)
"""The columns of BERT's Table 1."""
BERT_GLUE_UNLIKE: list[str | tuple[str, str]] = [
    (task.name, "development set (paper: the test server)") for task in BERT_GLUE
]
"""What keeps measured values from being those of BERT's Table 1."""
BERT_GLUE_NOTE = "The average is that of the nine columns, without WNLI: it is not GLUE's own score."
"""What the average of BERT's Table 1 leaves out, for `notes`."""
SAME_RUNS_NOTE = (
    "On synthetic text, the two columns of MNLI and RTE are the same runs, and so are those of QQP and MRPC."
)
"""What the synthetic tasks make of the columns of BERT's Table 1, for `notes`."""

CASED = {"tokenizer.lowercase": "false", "tokenizer.vocabulary": "28996"}
"""BERT's cased models, with as many entries as their vocabulary has."""

ROBERTA_FINE_TUNING = {"bias_correction": "true", "beta2": "0.98", "max_grad_norm": "1e9"}
"""Adam in RoBERTa's fine-tuning: fairseq's, which corrects the bias, with beta2 as in its pre-training and without
clipping."""

ROBERTA = ONE_LENGTH | {
    "model.layer_norm_eps": "1e-5",
    "inputs.short_seq_prob": "0",
    "optimizer.bias_correction": "true",
    **group("finetune", **ROBERTA_FINE_TUNING),
}
"""RoBERTa (Liu et al. 2019), sections 3.1 and 3.3, and the LayerNorm and Adam of its code, fairseq."""
GPT2_VOCABULARY = "The paper's vocabulary is GPT-2's; here one of the same size is trained on the text."
"""What byte-level BPE here has of its own, for `notes`."""

ONE_TEXT = {"model.segments": "1"}
"""The model of RoBERTa: without a sentence task, all tokens have the same segment embedding, also in pairs of texts."""
ONE_SEPARATOR = "Pairs of texts have one separator between them, where RoBERTa has two."
"""What fine-tuning here has of its own, for `notes`."""

ROBERTA_SPANS = group("span", **ROBERTA_FINE_TUNING) | {"tasks.squad_v2.answerability": "true"}
"""RoBERTa's SQuAD, section 3.3: Adam as above, and a classifier of whether a question has an answer."""

SPANBERT = ONE_LENGTH | {
    **group("model", layers="24", hidden="1024", heads="16"),
    **CASED,
    "inputs.short_seq_prob": "0",
    **group("schedule", steps="1200000", warmup="0.00833333"),
    **group("optimizer", bias_correction="true", epsilon="1e-8", weight_decay="0.1"),
    # appendix B; learning rates and the batch size of the released code's commands, as the paper chose among several
    **group("finetune", epochs="10", peak_lr="2e-5"),
    **group("tasks.cola", epochs="4"),
    **group("span", epochs="4", peak_lr="2e-5", length="512"),
    **group("tasks.squad_v2", epochs="4", batch_size="32"),
    # the released code's setting of SpanBERT large; one learning rate of the encoder, one of the head
    **group("tasks.ontonotes", epochs="20", batch_size="1", peak_lr="1e-5", head_lr="30", length="512"),
    **group("tasks.ontonotes", head_dropout="0.3"),
}
"""SpanBERT (Joshi et al. 2020), sections 4.2 and 6: the model of BERT large, and the Adam of fairseq. (The released
code's command has a weight decay of 0.01.)"""

SPANBERT_UNLIKE: list[str | tuple[str, str]] = [
    "1.2 million steps are the whole schedule (paper: the first half of one)",
    ("Coreference", "without speakers, genres and segments (paper: with them)"),
]
"""What keeps a study from being SpanBERT's own setting."""
SPANBERT_NOTE = (
    "The paper puts the passage before the question (section 4.1), here the question is first. It answers nothing "
    "where [CLS] scores best; here a threshold on that score is chosen on the rows that are reported. Batches have "
    "256 sequences in all variants; the paper's of segment pairs have about 390, as its footnote says. Claims on "
    "spans are not tested in sequences of fewer than 128 tokens, 15 % of which have no room for spans of 3.8 words."
)
"""What question answering and batches here have of their own, for `notes`."""

COREFERENCE = Measurement("Coreference", task="ontonotes", metric="f1")
"""OntoNotes, whose score is the mean F1 of MUC, B-cubed and CEAF-e."""
COREFERENCE_NOTE = (
    "Coreference is that of OntoNotes as CoNLL-2012 has it, here of the development set; the paper does not say which "
    "set its ablations measure. The model is that of section 4.2, with the coarse scores of Lee et al. 2018. It lacks "
    "features of speaker, genre and segment and second-order inference, which the released code has. Spans begin and "
    "end with words, and those that are kept, 0.4 per word (released code: per word piece), may cross. In training, a "
    "document of more than three segments is several; the released code trains on a random part of it."
)
"""What this column of SpanBERT's tables has of its own."""
GLUE = [
    Measurement("CoLA", task="cola", metric="matthews"),
    Measurement("SST-2", task="sst2"),
    Measurement("MRPC", task="mrpc"),
    Measurement("STS-B", task="stsb", metric="pearson"),
    Measurement("QQP", task="qqp"),
    Measurement("RTE", task="rte"),
]
"""The tasks of GLUE (Wang et al. 2019) that SpanBERT's tables print in their average alone."""
GLUE_AVERAGE = Average(
    "GLUE",
    of=(
        "MNLI",
        "QNLI",
        "RTE",
        "CoLA",
        "SST-2",
        ("MRPC", "f1", "accuracy"),
        ("QQP", "f1", "accuracy"),
        ("STS-B", "pearson", "spearman"),
    ),
)
"""SpanBERT's average, without WNLI (section 4.1); tasks with two metrics count with their mean, as GLUE counts them."""
GLUE_NOTE = (
    "GLUE is the mean of eight tasks, without WNLI, which section 4.1 excludes; MRPC and QQP count with the mean of F1 "
    "and accuracy, STS-B with that of Pearson and Spearman. The paper prints no values of six of the tasks, and does "
    "not say how two metrics of one task count. On synthetic text, QQP has the runs of MRPC, and RTE those of MNLI."
)

HEAD_DROPOUT = {"dropout": "0", "head_dropout": "0.1"}
"""Dropout on the classifier alone, in four of ALBERT's tasks."""

ALBERT = ONE_LENGTH | {
    "masked_lm.selection": "ngrams",
    "tokenizer": "unigram",
    "tokenizer.vocabulary": "30000",
    **group("schedule", batch_size="4096", steps="125000", peak_lr="1.76e-3", warmup="0.025"),
    "optimizer": "lamb",
    "model.activation": "gelu_new",  # of the released code
    # appendix A.4: epochs are those that the steps take
    **group(
        "tasks.mnli", peak_lr="3e-5", batch_size="128", epochs="4", max_steps="10000", length="512", **HEAD_DROPOUT
    ),
    **group("tasks.sst2", peak_lr="1e-5", epochs="10", max_steps="20935", warmup="0.06", length="512", **HEAD_DROPOUT),
    **group("tasks.squad", batch_size="48", epochs="2", max_steps="3649", **HEAD_DROPOUT),
    **group("tasks.squad_v2", peak_lr="3e-5", epochs="3", max_steps="8144", length="512", **HEAD_DROPOUT),
    "tasks.squad_v2.answerability": "true",
    **group("tasks.race", peak_lr="2e-5", batch_size="32", epochs="5", max_steps="12000", warmup="0.0833333"),
}
"""ALBERT (Lan et al. 2020), sections 4.1 and 4.2, appendices A.3 and A.4. LAMB has no bias correction, as in the
released code."""

ALBERT_LOSSES = {"objective": "masked_lm,sentence_order"}
"""ALBERT's objective, section 3.1."""

ALBERT_MODEL = {"model.embedding_size": "128", "model.sharing": "all"}
"""What makes a model of BERT's shape one of ALBERT's, section 3.1."""

ALBERT_XXLARGE_UNLIKE: list[str | tuple[str, str]] = [
    "ALBERT xxlarge is trained from random weights (paper: from 6 trained layers)"
]
"""What keeps a study with its largest model from being ALBERT's own setting, footnote 5."""

ALBERT_NOTE = (
    "The paper stops fine-tuning early on the development sets that it reports, and has medians of five runs on the "
    "noisy tasks of GLUE (section 4.2.2); here all steps of its appendix are trained, and means are reported. "
    "Learning rates rise to their peak and fall from there; in Google's code they fall from the first step on, to 0.9"
    " of the peak at the end of a warm-up of 10 %."
)
"""What training here has of its own, for `notes`."""

ALBERT_TASKS = [
    Measurement("SQuAD 1.1", task="squad", metric="f1"),
    Measurement("SQuAD 2.0", task="squad_v2", metric="f1"),
    Measurement("MNLI", task="mnli"),
    Measurement("SST-2", task="sst2"),
    Measurement("RACE", task="race"),
]
"""The tasks of ALBERT's tables."""
ALBERT_AVERAGE = Average(
    "Avg", of=(("SQuAD 1.1", "f1", "exact"), ("SQuAD 2.0", "f1", "exact"), "MNLI", "SST-2", "RACE")
)
"""The average of ALBERT's tables, to which SQuAD's tasks contribute the mean of F1 and exact match."""
ALBERT_COLUMNS = (*(task.name for task in ALBERT_TASKS), ALBERT_AVERAGE.name)
"""The columns of ALBERT's tables."""

ELMO_SIZE = Size(width=4 / 3)
"""ELMo's width beside that of BERT base: 512 in either direction, and 768."""
ELMO_UNLIKE: list[str | tuple[str, str]] = [
    "ELMo reads word pieces by a table (paper: words by their characters)",
    "its text is that of the study (paper: the 1B Word Benchmark)",
    "its output layer is the token embeddings over the whole vocabulary (paper: a softmax over samples of 8,192 words)",
    "neither cells nor projections are clipped (released code: at 3, with states carried from batch to batch)",
    "embeddings are normalised, biases begin at 0, and the optimiser is the study's (released code: neither normalised "
    "nor 0 in forget gates, and Adagrad)",
]
"""What keeps a bidirectional language model from being ELMo (Peters et al. 2018)."""
ELMO_NOTES = [
    "The layers of ELMo's LSTMs have as many parameters as the layers of the scale's model, from which the number of "
    "cells follows: nine times the width of the projection at scale paper (paper: 4,096 cells, eight times).",
    "BiLSTM(embeddings='characters') reads the characters of word pieces, with the paper's filters, highway layers and "
    "projection, in a copy of this file.",
    "Above ELMo, a new BiLSTM of the scale's size for features reads its layers; a text or a pair of texts is the mean "
    "of its vectors with learned attention.",
]
"""What ELMo here has of its own, for `notes`."""

ELECTRA_GLUE = [
    Measurement("CoLA", task="cola", metric="matthews"),
    Measurement("SST-2", task="sst2"),
    Measurement("MRPC", task="mrpc"),
    Measurement("STS-B", task="stsb", metric="spearman"),
    Measurement("QQP", task="qqp"),
    Measurement("MNLI", task="mnli"),
    Measurement("QNLI", task="qnli"),
    Measurement("RTE", task="rte"),
]
"""GLUE (Wang et al. 2019) with ELECTRA's metrics, section 3.1."""
ELECTRA_GLUE_AVERAGE = Average("GLUE", of=tuple(task.name for task in ELECTRA_GLUE))
"""ELECTRA's GLUE score, the mean of its tasks."""
ELECTRA = ONE_LENGTH | {
    "schedule.peak_lr": "2e-4",
    **group("finetune", peak_lr="1e-4", layer_decay="0.8"),
    **group("tasks.rte", epochs="10"),
    **group("tasks.stsb", epochs="10"),
}
"""ELECTRA base (Clark et al. 2020): the released code's settings, with BERT's batch size, steps and warm-up."""
ELECTRA_NOTES = [
    "GLUE is the mean of eight tasks, without WNLI. The paper reports medians of ten fine-tunings of one model; here "
    "means are reported. On synthetic text, QQP has the runs of MRPC, and RTE those of MNLI.",
    "Fine-tuning has the same pooler and classifier as BERT's here; the paper adds simple linear classifiers. Its "
    "learning rates fall one step lower from layer to layer in the released code.",
    "A sequence is one stretch of text, which may cross documents; in the released code nine of ten are two segments "
    "of one document.",
]
"""What training here has of its own, for `notes`."""

T5_READS: dict[str, Any] = {
    "model": T5(),
    "inputs": Inputs(format=Chunks()),
    "tokenizer": WordPiece(sentinels=100),
}
"""Model, sequences and vocabulary of T5's tables, for a variant."""
T5_DENOISES = T5_READS | {"objective": (SpanCorruption(),)}
"""The same with the objective of T5's baseline, which hides single tokens."""
T5_TASKS = [
    Measurement("GLUE", task="glue-text", metric="average"),
    Measurement("CNN/DM", task="cnn_dailymail-text", metric="rouge2"),
    Measurement("SQuAD", task="squad-text", metric="exact"),
    Measurement("SuperGLUE", task="superglue-text", metric="average"),
    Measurement("EnDe", task="wmt_en_de-text", metric="bleu"),
    Measurement("EnFr", task="wmt_en_fr-text", metric="bleu"),
    Measurement("EnRo", task="wmt_en_ro-text", metric="bleu"),
]
"""The seven columns of T5's tables: GLUE and SuperGLUE are mixtures, as in the paper (section 3.1.3)."""
T5_COLUMNS = tuple(task.name for task in T5_TASKS)
"""Their names."""
T5_BASELINE = (83.28, 19.24, 80.88, 71.36, 26.98, 39.82, 27.65)
"""T5's baseline in these columns: means of ten trainings (Table 1)."""
T5_BERT_STYLE = (82.96, 19.17, 80.65, 69.85, 26.78, 40.03, 27.41)
"""The BERT-style objective, which Tables 4 and 5 share."""
T5_BASE = ONE_LENGTH | {
    "tokenizer": "unigram",
    **group("tokenizer", vocabulary="32000", lowercase="false", keep_accents="true"),
    **group("schedule", batch_size="128", steps="524288", peak_lr="0.01", warmup="0", curve="inverse-square-root"),
    "schedule.curve.flat": "0.0190735",
    "optimizer": "adafactor",
    **group("optimizer", weight_decay="0", max_grad_norm="1e9"),
    **group("finetune", batch_size="128", epochs="1000", max_steps="262144", length="512", optimizer="adafactor"),
    **group("finetune", peak_lr="0.001", warmup="0", curve="constant", weight_decay="0", max_grad_norm="1e9"),
}
"""T5's baseline (Raffel et al. 2020, section 3.1)."""
T5_SMALL = {
    "optimizer": "adafactor",
    **group("schedule", peak_lr="3e-2", warmup="0.1"),
    **group("finetune", optimizer="adafactor", peak_lr="3e-2"),
    **{f"tasks.{task}-text.length": "96" for task in ("squad", "cnn_dailymail", "record", "superglue")},
    **group("tasks.wmt_en_fr-text", max_train_examples="0"),
}
"""Training at the small scales: T5's optimiser, room for synthetic texts, all pairs of the largest translation."""
T5_AT_SCALE = {"micro": T5_SMALL | {"model.heads": "6", "schedule.steps": "3200"}, "tiny": T5_SMALL}
"""T5's settings at the small scales. After 1,600 steps, micro's own, two of eight baselines predict hidden tokens
hardly better than word frequencies do."""
T5_TEXT = "C4"
"""The text of T5's pre-training."""
T5_UNLIKE: list[str | tuple[str, str]] = [
    "the last weights of a fine-tuning are measured (paper: for each task the best of about fifty)",
    "a fine-tuning passes at most 1,000 times over its examples (paper: 262,144 updates for all)",
    "the vocabulary is learned from English (paper: also from German, French and Romanian)",
    ("GLUE", "MNLI's matched half (paper: both)"),
    ("SuperGLUE", "without WSC (paper: with it)"),
]
"""What keeps a study from being T5's own setting."""
T5_NOTES = [
    "The paper prints standard deviations of ten baselines: .24 points on GLUE, .34 on SQuAD, .1 on translations. "
    "Claims of a difference are on columns where it is more than two of them.",
    "Inputs begin with [CLS], which T5 lacks, and [SEP] is its end mark. Where a vocabulary has no upper case, neither "
    "have outputs and scores.",
    "On synthetic text, GLUE and SuperGLUE are mixtures of six and of five tasks, each of them once.",
    "At micro and tiny, fine-tuning has Adafactor with a peak rate of 3e-2. Both were chosen at micro by the BLEU of "
    "one model without pre-training on `translation-hills`: 3.3, 8.9 and 0.8 with Adafactor at 1e-2, 3e-2 and 1e-1; "
    "0.8, 1.1 and 0.5 with AdamW at 1e-3, 3e-3 and 5e-3.",
    "Pre-training has Adafactor with that rate and a warm-up over a tenth of the steps there, and at micro six heads. "
    "They were chosen by the held-out loss of the hidden tokens of one baseline at micro, beside the same loss with "
    "another text's inputs: 5.42 and 7.60 nats, with AdamW at 3e-3 5.88 and 7.06. Frequencies of words have 5.74.",
    "At micro it has 3,200 steps, since after 1,600 the losses of four seeds of the baseline were 4.46, 5.54, 3.66 and "
    "5.40 nats; the scores of t5-baseline after 1,600 steps had been seen then.",
]
"""What training here has of its own, for `notes`."""

T5_MIXED = tuple(
    TaskSource(name=f"{name}-text")
    for name in (
        *("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte"),
        *("boolq", "cb", "copa", "multirc", "record", "wic", "wsc"),
        *("cnn_dailymail", "squad", "wmt_en_de", "wmt_en_fr", "wmt_en_ro"),
    )
)
"""The tasks of T5's multi-task training (section 3.5.2)."""
T5_MIXED_AT_SCALE = {
    scale: fields | group("multitask", length="96", data_scale="0.00915527") for scale, fields in T5_AT_SCALE.items()
}
"""The settings of mixtures: the largest synthetic translation has 16,000 pairs, that of the paper about 41 million, and
the paper's limits of 65,536 to 2,097,152 examples are those of 600 to 19,200."""
T5_MIXED_UNLIKE: list[str | tuple[str, str]] = [
    *T5_UNLIKE,
    "limits of examples are scaled with the data, at micro and tiny to 600 to 19,200 (paper: 2^16 to 2^21)",
    "tasks with equal examples are one in a mixture, and WNLI is in none (paper: all of GLUE and SuperGLUE)",
    "the last weights of a multi-task training are measured (paper: for each task the best on what is reported)",
]
"""What keeps a study of mixtures from being T5's own setting."""
T5_MIXED_NOTES = [
    *T5_NOTES,
    "Without fine-tuning, a training has 1.5 times the steps, as in the paper, whose fine-tuning has half as many as "
    "its pre-training; here it has fewer.",
    "Sequences of tasks have no [CLS], as in fine-tuning, and up to `multitask.length` tokens; those of text are as "
    "without tasks. Nothing but its sentinels marks text.",
]
"""What mixtures here have of their own, for `notes`."""
