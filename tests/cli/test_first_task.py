"""A task of the user's at scale smoke: one that is wired right is learned, one that is wired wrong is not."""

import json
import random

import bertlab
from bertlab import MaskedLM, Measurement, Study, Task, Variant


def rows(number: int, seed: int) -> list[dict[str, str]]:
    """Sentences of ten words, half of them with `free` at one place, which decides the label."""
    draw = random.Random(seed)
    words = "the report of a team came to us at noon with notes on what they had seen and done"
    made = []
    for index in range(number):
        sentence = draw.choices(words.split(), k=10)
        if index % 2:
            sentence[draw.randrange(10)] = "free"
        made.append({"sentence": " ".join(sentence), "label": "yes" if index % 2 else "no"})
    return made


def test_models_at_scale_smoke_learn_what_one_word_decides_and_nothing_where_labels_are_of_other_rows(tmp_path):
    for name in ("right", "wrong"):
        for split, number in (("train", 400), ("validation", 200)):
            made = rows(number, number)
            if name == "wrong":
                labels = [each["label"] for each in made]
                random.Random(3).shuffle(labels)
                made = [{**each, "label": label} for each, label in zip(made, labels, strict=True)]
            (tmp_path / name).mkdir(exist_ok=True)
            lines = "".join(json.dumps(each) + "\n" for each in made)
            (tmp_path / name / f"{split}.jsonl").write_text(lines)
    tasks = {
        name: Task(kind="classification", path=str(tmp_path / name), text=("sentence",), labels=("no", "yes"))
        for name in ("right", "wrong")
    }
    study = Study(
        name="spam",
        question="Is the task wired right?",
        source="mine",
        baseline="15 %",
        variants=[Variant("15 %", objective=(MaskedLM(),))],
        measurements=[Measurement(name, task=task, metric="accuracy") for name, task in tasks.items()],
    )
    found = bertlab.ablate(study, scale="smoke", runs=tmp_path / "runs", workers=0, threads=1, quiet=True)
    scores = found.values.set_index("measurement")["value"]
    assert scores["right"] > 90
    assert scores["wrong"] < 65
