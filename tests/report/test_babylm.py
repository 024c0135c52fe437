"""The predictions of minimal pairs as BabyLM's evaluation reads them."""

import numpy as np

from bertlab.report import babylm

PAIRS = (["a b", "a c", "b a", "b c", "c a"], ["b b", "c c", "a a", "c b", "a c"])
PARADIGMS = ["order", "order", "number", "order", "number"]


def pipelines_score(predicted, paradigm):
    """The points that BabyLM gives a paradigm: its file is compared with the good sentences, line by line."""
    rows = [good for good, of_pair in zip(PAIRS[0], PARADIGMS, strict=True) if of_pair == paradigm]
    hits = [one["pred"] == good for one, good in zip(predicted[paradigm]["predictions"], rows, strict=True)]
    return 100 * sum(hits) / len(hits)


def test_a_file_has_the_likelier_sentences_in_order_by_paradigm():
    margin = np.array([1.5, -0.1, 0.2, -3.0, -7.0])
    predicted = babylm.predictions(PAIRS, PARADIGMS, margin)
    assert predicted == {
        "order": {
            "predictions": [
                {"id": "order_0", "pred": "a b"},
                {"id": "order_1", "pred": "c c"},
                {"id": "order_2", "pred": "c b"},
            ]
        },
        "number": {"predictions": [{"id": "number_0", "pred": "b a"}, {"id": "number_1", "pred": "a c"}]},
    }
    assert [pipelines_score(predicted, name) for name in ("order", "number")] == [100 / 3, 50]


def test_a_model_that_tells_nothing_apart_has_half_of_the_points():
    pairs, margin = ([f"{number}" for number in range(100)], ["-"] * 100), np.zeros(100)
    chosen = babylm.predictions(pairs, ["all"] * 100, margin)["all"]["predictions"]
    assert sum(one["pred"] != "-" for one in chosen) == 50
