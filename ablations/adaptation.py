"""What has to be trained on a task? Houlsby et al. 2019, Table 1 (BERT large, GLUE test server), beside later ways.

| variant            | trained on each task                                             | MNLI | SST-2 | MRPC |
|:-------------------|:-----------------------------------------------------------------|-----:|------:|-----:|
| fine-tuning        | all weights                                                      | 86.7 |  94.9 | 89.3 |
| layer-wise decay   | all, each layer at 0.9 of the rate of the one above              |      |       |      |
| gradual unfreezing | all, from the top one layer after another                        |      |       |      |
| new top layer      | all, the last layer from new weights                             |      |       |      |
| top layer          | the last layer, pooler and head                                  |      |       |      |
| top three layers   | the last three layers, pooler and head                           |      |       |      |
| frozen encoder     | pooler and head                                                  |      |       |      |
| features           | a BiLSTM on the frozen encoder, pooler and head                  |      |       |      |
| adapters 8         | two adapters of 8 units a layer, the LayerNorms, and the head    |      |       |      |
| adapters 64        | the same with 64 units                                           | 85.3 |  94.2 | 89.6 |
| adapters 256       | the same with 256 units                                          |      |       |      |
| LoRA 2             | changes of queries and values of rank 2, and the head            |      |       |      |
| LoRA 8             | the same of rank 8                                               |      |       |      |
| LoRA 32            | the same of rank 32                                              |      |       |      |
| BitFit             | biases, and the head                                             |      |       |      |

MRPC is F1. Units are those at BERT large's width, 1,024; other widths get as many in proportion. All variants share one
pre-training. Under "Size and time" the report has what each trains and stores for a task, and the time of a run. The study
`adapters` has the paper's figures of BERT base. Run it: `bertlab ablate adaptation`.
"""

from bertlab import (
    Adapters,
    BitFit,
    Claim,
    FineTuning,
    GradualUnfreezing,
    LoRA,
    Measurement,
    Study,
    TopLayers,
    Variant,
    table,
)

MNLI = "MNLI"
MRPC = "MRPC"
SST2 = "SST-2"
LARGE = 1024

study = Study(
    name="adaptation",
    question="How much of a pre-trained model has to be trained on a task?",
    source="Houlsby et al. 2019, Table 1",
    baseline="fine-tuning",
    variants=[
        Variant("fine-tuning", adaptation=FineTuning()),
        Variant("layer-wise decay", adaptation=FineTuning(layer_decay=0.9)),
        Variant("gradual unfreezing", adaptation=GradualUnfreezing(stages=12)),
        Variant("new top layer", adaptation=TopLayers(layers=1, reinitialised=True)),
        Variant("top layer", adaptation=TopLayers(layers=1)),
        Variant("top three layers", adaptation=TopLayers(layers=3)),
        Variant("frozen encoder", adaptation=FineTuning(frozen=True, lr_factor=30)),
        Variant("features", adaptation=FineTuning(frozen=True, bilstm=True)),
        Variant("adapters 8", adaptation=Adapters(bottleneck=8, base_width=LARGE)),
        Variant("adapters 64", adaptation=Adapters(bottleneck=64, base_width=LARGE)),
        Variant("adapters 256", adaptation=Adapters(bottleneck=256, base_width=LARGE)),
        Variant("LoRA 2", adaptation=LoRA(rank=2)),
        Variant("LoRA 8", adaptation=LoRA(rank=8)),
        Variant("LoRA 32", adaptation=LoRA(rank=32)),
        Variant("BitFit", adaptation=BitFit()),
    ],
    measurements=[
        Measurement(MNLI, task="mnli"),
        Measurement(MRPC, task="mrpc", metric="f1"),
        Measurement(SST2, task="sst2"),
        Measurement("SQuAD 1.1", task="squad", metric="f1"),
    ],
    published=table((MNLI, SST2, MRPC), {
        "fine-tuning": (86.7, 94.9, 89.3),
        "adapters 64": (85.3, 94.2, 89.6),
    }),
    claims=[
        # section 3.4
        Claim(f"Adapters of 64 units are better than the top layer trained alone on {MNLI}", better="adapters 64", worse="top layer",
              on=MNLI),
    ],
    at_paper={"model.layers": "24", "model.hidden": "1024", "model.heads": "16"},
    unlike=[
        "one setting for all tasks (paper: learning rate, epochs and the best of several seeds chosen for each on the development set)",
        *((on, "development set (paper: the test server)") for on in (MNLI, SST2, MRPC)),
    ],
    notes=[
        "The paper compares adapters with the top layer on BERT base: 83.7 and 77.8 on MNLI-m. That adapters come near full "
        "fine-tuning is a claim of the study `adapters`, with the paper's figures of BERT base; in the table of BERT large it is one "
        "on the mean of GLUE with the size chosen for each task (80.0 against 80.4), and no variant is that row.",
        "Adapters of 64 units are 1.9 % of the parameters of BERT large at scale paper (paper: 2.1 % a task).",
        "Pooler and head alone have 30 times the rate of fine-tuning: at scale micro, of 3, 10, 30 and 100 times, the best mean of the "
        "four tasks on held-back training examples of one seed. It was chosen after the rate of fine-tuning had left two of three "
        "tasks at the majority guess.",
        "Without --search-rates, adapters, LoRA and BitFit have ten times the learning rate of fine-tuning at any width and rank, and a "
        "difference between widths may be one of rates. --search-rates chooses among three rates of each variant on each task.",
        "Gradual unfreezing has 12 equal stages, as in T5 (Raffel et al. 2020, section 3.5.1), where the embeddings, which are "
        "the output matrix too, are trained from the beginning; here they are unfrozen with the lowest layer.",
        "LoRA has alpha 8 at each rank. Its ranks and the top layers are absolute numbers: a model of two layers has two of three.",
        "Training on an intermediate task first is an option for all variants: `--intermediate-task mrpc=qqp`.",
    ],
)  # fmt: skip
