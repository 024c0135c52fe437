"""Few examples: why do some fine-tunings fail? (Mosbach et al. 2021; Zhang et al. 2021; Dodge et al. 2020)

| variant                               | epochs | Adam's bias correction | new weights before fine-tuning |
|:--------------------------------------|-------:|:-----------------------|:-------------------------------|
| 3 epochs, no bias correction          |      3 | no                     |                                |
| 3 epochs                              |      3 | yes                    |                                |
| 20 epochs, no bias correction         |     20 | no                     |                                |
| 20 epochs                             |     20 | yes                    |                                |
| new top layers, no bias correction    |      3 | no                     | two layers, pooler             |
| new top layers                        |      3 | yes                    | two layers, pooler             |
| new top layers, 20 epochs             |     20 | yes                    | two layers, pooler             |

The first one is the fine-tuning of BERT's released code, on small sets: RTE (accuracy), MRPC (F1), CoLA (Matthews). All
variants share one pre-training, and each is fine-tuned five times with other seeds. Beside the mean stand the failed
runs, whose accuracy is not above a majority guess (Mosbach et al., section 3.2), the spread over restarts, and the best of
five, which BERT's paper reports of its large model (section 4.1). Run it: `bertlab ablate stability`.
"""

from bertlab import Claim, FineTuning, Measurement, Study, TopLayers, Variant

RTE = "RTE"
MRPC = "MRPC"
COLA = "CoLA"
SMALL_SETS = (RTE, MRPC, COLA)

study = Study(
    name="stability",
    question="What keeps fine-tunings on few examples from failing?",
    source="Mosbach et al. 2021; Zhang et al. 2021; Dodge et al. 2020",
    baseline="3 epochs, no bias correction",
    variants=[
        Variant("3 epochs, no bias correction", adaptation=FineTuning(epochs=3, bias_correction=False)),
        Variant("3 epochs", adaptation=FineTuning(epochs=3)),
        Variant("20 epochs, no bias correction", adaptation=FineTuning(epochs=20, bias_correction=False)),
        Variant("20 epochs", adaptation=FineTuning(epochs=20)),
        Variant("new top layers, no bias correction",
                adaptation=TopLayers(layers=2, reinitialised=True, epochs=3, bias_correction=False)),
        Variant("new top layers", adaptation=TopLayers(layers=2, reinitialised=True, epochs=3)),
        Variant("new top layers, 20 epochs", adaptation=TopLayers(layers=2, reinitialised=True, epochs=20)),
    ],
    measurements=[
        Measurement(RTE, task="rte"),
        Measurement(MRPC, task="mrpc", metric="f1"),
        Measurement(COLA, task="cola", metric="matthews"),
    ],
    restarts=5,
    claims=[],
    at_paper={
        # Mosbach et al., section 3.2 and their code
        "model.layers": "24",
        "model.hidden": "1024",
        "model.heads": "16",
        "finetune.batch_size": "16",
        "finetune.peak_lr": "2e-5",
    },
    at_scale={"micro": {}},
    notes=[],
)  # fmt: skip
