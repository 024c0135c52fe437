"""Task files: a value that its kind cannot have is one line with file, row and column, before any training."""

import datetime

import pytest

STUDY = """
from bertlab.lab.study import Measurement, Study, Task, Variant

study = Study(name="own", question="?", source="me", baseline="a", variants=[Variant("a")],
              measurements=[Measurement("m", task=Task(kind="{kind}", path="rows", text={text}, label="{label}"),
                                        metric="{metric}")])
"""
KINDS = {
    "classification": ({"text": '"a b"', "label": "0"}, {"text": '"c"', "label": "1"}),
    "regression": ({"text": '"a b"', "label": "0.5"}, {"text": '"c"', "label": "-1"}),
    "span": ({"question": '"a"', "context": '"b c"', "answers": '{"text": ["c"], "answer_start": [2]}'},) * 2,
    "tagging": ({"tokens": '["a", "b"]', "tags": '["B-X", "O"]'},) * 2,
    "multiple-choice": ({"context": '"a"', "endings": '["b", "c"]', "label": "1"},) * 2,
}
"""Two good examples of each kind, the label last, their values as JSON."""
DIGITS, DEEP, DEEPER = "9" * 400, "[" * 900 + "]" * 900, "[" * 10_000 + "]" * 10_000


def lines(rows):
    return "".join("{" + ", ".join(f'"{name}": {value}' for name, value in row.items()) + "}\n" for row in rows)


@pytest.fixture
def folder(place):
    """Writes the study of a kind of task, its examples and a file to train on."""

    def written(kind, file, content):
        *text, label = KINDS[kind][0]
        metric = {"regression": "pearson", "span": "f1"}.get(kind, "accuracy")
        (place / "own.py").write_text(STUDY.format(kind=kind, text=tuple(text), label=label, metric=metric))
        (place / "rows").mkdir()
        (place / "rows" / "validation.jsonl").write_text(lines(KINDS[kind]))
        if isinstance(content, str):
            (place / "rows" / file).write_text(content)
        else:
            import pyarrow
            import pyarrow.parquet

            table = content if isinstance(content, pyarrow.Table) else pyarrow.table(content)
            pyarrow.parquet.write_table(table, place / "rows" / file)

    return written


ABLATE = ("ablate", "own.py", "--scale", "smoke")


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [
        *[
            (kind, "label", value)
            for kind in ("classification", "regression")
            for value in ("NaN", "Infinity", "-1e400", DIGITS, "1e300", str(10**30), "null", DEEP)
        ],
        ("classification", "label", '"much"'),
        ("classification", "label", "0.5"),
        ("regression", "label", f'"{DIGITS}"'),
        ("regression", "label", "true"),
        *[("classification", "text", value) for value in ("3", '["a"]', "null", DEEP)],
        ("span", "context", "7"),
        ("span", "answers", DEEP),
        ("span", "answers", f'{{"text": ["c"], "answer_start": [{10**30}]}}'),
        ("span", "answers", f'{{"text": [{DIGITS}], "answer_start": [0]}}'),
        ("tagging", "tokens", '"a b"'),
        ("tagging", "tokens", '["a", 3]'),
        ("tagging", "tags", "null"),
        ("tagging", "tags", '["B-X", null]'),
        ("multiple-choice", "endings", DIGITS),
        ("multiple-choice", "endings", '["b", NaN]'),
        ("multiple-choice", "label", str(10**30)),
        ("multiple-choice", "label", "NaN"),
    ],
)
def test_values_in_lines(refused, folder, kind, column, value):
    good, other = KINDS[kind]
    folder(kind, "train.jsonl", lines([good, {**other, column: value}]))
    refused(*ABLATE, says=rf"rows/train\.jsonl column {column} row 2\b")


DAY = datetime.date(2000, 1, 1)


def year_300000():
    import pyarrow

    days = (300_000 - 1970) * 365
    return {"text": ["a", "b"], "label": pyarrow.array([0, days], pyarrow.int32()).cast(pyarrow.date32())}


def two_columns():
    import pyarrow

    return pyarrow.table([["a"], [0], [1]], names=["text", "label", "label"])


@pytest.mark.parametrize(
    ("kind", "column", "values", "row"),
    [
        ("regression", "label", [0.5, float("nan")], 2),
        ("regression", "label", [0.5, 1e300], 2),
        ("regression", "label", [DAY, DAY], 1),
        ("classification", "label", [0, None], 2),
        ("classification", "label", [b"a", b"b"], 1),
        ("classification", "text", [[1], [2]], 1),
        ("classification", "text", [{"a": 1}, {"a": 2}], 1),
    ],
)
def test_values_in_parquet(refused, folder, kind, column, values, row):
    good = {"text": ["a", "b"], "label": [0, 1]}
    folder(kind, "train.parquet", {**good, column: values})
    refused(*ABLATE, says=rf"rows/train\.parquet column {column} row {row}\b")


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("train.jsonl", '{"text": "a", "label": 0, "label": 1}\n', "line 1 is not JSON .it has 'label' twice"),
        ("train.parquet", two_columns, "is not a Parquet file that can be read: it has 'label' twice"),
        ("train.jsonl", f'{{"text": "a", "label": {DEEPER}}}\n', "line 1 is not JSON"),
        ("train.jsonl", f'{{"text": "a", "label": {DIGITS * 12}}}\n', "line 1 is not JSON"),
        ("train.parquet", year_300000, "is not a Parquet file that can be read"),
        ("train.csv", "text,label,label\na,0,1\n", "is not a table .* in each row: it has 'label' twice"),
        ("train.csv", "text,label\na,0,1\nb,1\n", "is not a table with a header and as many cells in each row"),
        ("train.tsv", f"text\tlabel\na\t{DIGITS}\n", r"column label row 1: give texts alone, or whole numbers"),
    ],
)
def test_rows_that_are_none(refused, folder, file, content, says):
    folder("classification", file, content() if callable(content) else content)
    refused(*ABLATE, says=rf"rows/({file}|validation.jsonl) {says}")  # a column that mixes types is wrong in either


@pytest.mark.parametrize("more", [(), ("--search",)])
def test_a_metric_of_two_labels_is_refused_for_three_before_any_trial(folder, refused, place, more):
    folder("classification", "train.jsonl", "".join(f'{{"text": "a", "label": {label}}}\n' for label in (0, 1, 2)))
    (place / "own.py").write_text((place / "own.py").read_text().replace('metric="accuracy"', 'metric="f1"'))
    refused("ablate", "own.py", "--scale", "smoke", "--runs", "runs", *more, says="no metric 'f1': choose metric= from")
