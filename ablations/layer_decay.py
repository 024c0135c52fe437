"""Layer-wise learning rate decay (Howard and Ruder 2018; Clark et al. 2020): should lower layers change less?

| variant | the learning rate of each layer                                    |
|:--------|:-------------------------------------------------------------------|
| 1.0     | the same in all layers                                             |
| 0.95    | 0.95 of that of the layer above                                    |
| 0.9     | 0.9 of that of the layer above, as ELECTRA large                   |
| 0.8     | 0.8 of that of the layer above, as ELECTRA base and small          |

The head has the full rate, the last layer the first reduced one, the embeddings the lowest. Parameters that layers share
have the rate of the last layer. All variants share one pre-training. ELECTRA publishes no comparison of rates. Run it:
`bertlab ablate layer-decay`.
"""

from bertlab import FineTuning, Measurement, Study, Variant

study = Study(
    name="layer-decay",
    question="Should lower layers have lower learning rates in fine-tuning?",
    source="Howard and Ruder 2018, section 3.2; Clark et al. 2020, appendix",
    baseline="1.0",
    variants=[
        Variant("1.0", adaptation=FineTuning(layer_decay=1.0)),
        Variant("0.95", adaptation=FineTuning(layer_decay=0.95)),
        Variant("0.9", adaptation=FineTuning(layer_decay=0.9)),
        Variant("0.8", adaptation=FineTuning(layer_decay=0.8)),
    ],
    measurements=[
        Measurement("MNLI", task="mnli"),
        Measurement("SST-2", task="sst2"),
        Measurement("MRPC", task="mrpc"),
        Measurement("SQuAD 1.1", task="squad", metric="f1"),
    ],
    unlike=["BERT with BERT's fine-tuning (papers: an LSTM; ELECTRA, with rates of its own)"],
    notes=[
        "No claims: no published comparison of these rates was at hand.",
        "Howard and Ruder divide by 2.6 from layer to layer (0.38, which is no variant here), and compare their LSTM with and "
        "without that (their section 3.2 and table of ablations).",
        "Rates fall from layer to layer: the embeddings of a model of 12 layers have 0.05 of the peak at 0.8, those of a "
        "model of 2 layers 0.5. At small scales the variants differ less than in the models of the papers.",
        "ELECTRA's released code is one step lower throughout: its last layer has the square of the factor.",
        "The peak learning rate is the same for all variants and was not chosen for a decay, which slows lower layers and "
        "may need a higher peak.",
    ],
)
