"""Anyone's numbers get the statistics of a study: paired by seed and example, corrected for claims and for looks."""

import numpy as np
import pandas
import pytest
from scipy.stats import ttest_rel

from bertlab import judge
from bertlab.errors import BadInput
from bertlab.report.looks import LookHistory
from bertlab.report.statistics.effects import effect
from bertlab.report.verdicts import holm, seeds_needed
from bertlab.tasks.metrics import Mean
from simulated import numbers
from small_record import look


def of(table, variant):
    return table[table.variant == variant].sort_values("seed").value.to_numpy()


def test_differences_are_paired_by_seed_and_corrected_for_all_hypotheses():
    table = numbers(a=1.5, b=0.9, c=-1.5)
    shuffled = table.sample(frac=1, random_state=1)
    found = judge(shuffled, baseline="base").decisions.set_index("better")
    ps = [ttest_rel(of(table, name), of(table, "base")).pvalue for name in found.index]
    assert found.p.tolist() == pytest.approx(ps)
    assert found.adjusted_p.tolist() == pytest.approx(holm(ps))
    assert found.effect["a"] == pytest.approx((of(table, "a") - of(table, "base")).mean())
    assert found.decision.to_dict() == {"a": "keep", "b": "more seeds", "c": "discard"}


def test_where_less_is_better_the_other_variant_is_kept():
    table = numbers(a=1.5, b=-1.5)
    found = judge(table, baseline="base", lower_is_better="value").decisions.set_index("better")
    assert found.decision.to_dict() == {"a": "discard", "b": "keep"}
    assert found.effect["b"] > 0 > found.effect["a"]


def test_examples_are_paired_too():
    rng = np.random.default_rng(1)
    scores = {name: rng.normal(by, 1, (5, 30)) for name, by in (("base", 0.0), ("a", 0.5))}
    lines = [
        {"variant": name, "seed": seed, "example": f"x{example}", "measurement": "acc", "value": value}
        for name, rows in scores.items()
        for seed, row in enumerate(rows)
        for example, value in enumerate(row)
    ]
    table = pandas.DataFrame(lines).sample(frac=1, random_state=0)
    (found,) = judge(table, claims="a > base on acc").decisions.itertuples()
    runs = [{seed: [Mean(row)] for seed, row in enumerate(scores[name])} for name in ("a", "base")]
    expected = effect(*runs)
    assert (found.p, found.low) == pytest.approx((expected.p, expected.interval.low))


def test_more_seeds_says_how_many_would_decide():
    table = numbers(b=0.6)
    found = judge(table, baseline="base")
    differences = of(table, "b") - of(table, "base")
    runs = [
        {seed: [Mean(np.array([value]))] for seed, value in enumerate(values)}
        for values in (differences, 0 * differences)
    ]
    needed = seeds_needed(differences.mean(), None, effect(*runs).spread)
    assert found.decision == "more seeds"
    assert found.judged[0].more == needed - 6
    few = judge(table[table.seed < 2], baseline="base")
    assert (few.decision, few.judged[0].more) == ("more seeds", 2)
    assert judge(table, claims="base > b").decision == "discard"


@pytest.mark.parametrize("max_seeds", [None, 12])
@pytest.mark.parametrize(("by", "size"), [(1.0, 0.0), (0.1, 12345.6)])
def test_what_has_no_p_value_is_never_kept(max_seeds, by, size):
    """Differences are equal up to the rounding of the values, too."""
    equal = numbers(a=0.0).assign(value=lambda table: size * (1 + table.seed) + by * (table.variant == "a"))
    (found,) = judge(equal, baseline="base", max_seeds=max_seeds).judged
    assert (found.what, found.more) == ("more seeds", 1)
    assert found.why == "all differences are equal, which gives no p-value"
    (worse,) = judge(equal, claims="base > a", max_seeds=max_seeds).judged
    assert (worse.what, worse.why) == ("discard", "the mean difference is not on the claimed side")
    if max_seeds:
        (last,) = judge(equal, baseline="base", max_seeds=equal.seed.nunique()).judged
        assert last.what == "discard", "no seeds are left"
    (few,) = judge(numbers(seeds=3, a=9.0), baseline="base", max_seeds=max_seeds).judged
    assert (few.what, few.more, few.why) == ("more seeds", 1, "a verdict needs at least 4 seeds")


def test_looks_of_a_table_are_corrected():
    table = numbers(seeds=8, a=0.8)
    table["look"] = np.where(table.seed < 5, 1, 2)
    (found,) = judge(table, baseline="base", max_seeds=10).decisions.itertuples()
    ps = [ttest_rel(of(table, "a")[:n], of(table, "base")[:n]).pvalue for n in (5, 8)]
    history = LookHistory(10, tuple(look(n, p, True, 0.5) for n, p in zip((5, 8), ps, strict=True)))
    assert (found.looks, found.most_seeds) == (2, 10)
    assert found.sequential_p == pytest.approx(history.p)
    assert found.sequential_p > ps[1]


def test_seeds_without_a_pair_are_left_out_and_named():
    table = numbers(a=1.5)
    found = judge(table[(table.variant == "base") | (table.seed > 1)], baseline="base")
    assert found.decisions.n.tolist() == [4]
    assert found.notes[0] == "Not compared: seeds 0 and 1 of base on value, which a lacks."


def test_a_file_is_read_as_a_table_is(tmp_path):
    table = numbers(a=1.5, b=0.9)
    table.to_csv(tmp_path / "numbers.csv", index=False)
    table.to_parquet(tmp_path / "numbers.parquet")
    table.to_json(tmp_path / "numbers.jsonl", orient="records", lines=True, double_precision=15)
    expected = judge(table, baseline="base").decisions
    for suffix in ("csv", "parquet", "jsonl"):
        found = judge(tmp_path / f"numbers.{suffix}", baseline="base").decisions
        pandas.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    "text",
    [
        "variant\tseed\tvalue\n",
        '"variant"\t"seed"\t"value"\n',  # as R writes it
        "\ufeffvariant\tseed\tvalue\r\n",  # as Excel does
    ],
)
def test_a_table_of_tabs_may_quote_its_cells(tmp_path, text):
    mark, end = '"' * text.startswith('"'), text.removeprefix(text.rstrip())
    table = numbers(a=1.5)
    rows = [f"{mark}{name}{mark}\t{mark}{seed}{mark}\t{value!r}{end}" for name, seed, value in table.values.tolist()]
    (tmp_path / "numbers.tsv").write_bytes((text + "".join(rows)).encode())
    found = judge(tmp_path / "numbers.tsv", baseline="base").decisions
    pandas.testing.assert_frame_equal(found, judge(table, baseline="base").decisions)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("numbers.csv", b"variant;seed;value\na;0;1\n", "this has 'variant;seed;value'"),
        ("numbers.csv", "variant,seed,value\né,0,1\n".encode("latin-1"), "is not UTF-8"),
        ("numbers.txt", b"variant,seed,value\na,0,1\n", "is not named as a table"),
        ("numbers.json", b"[]", "is not named as a table"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_a_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        judge(tmp_path / name, baseline="a")


def test_names_of_measurements_may_have_the_words_of_a_claim():
    table = pandas.concat([numbers(a=1.5).assign(measurement=name) for name in ("x", "loss on cpu", "b > c")])
    for name in ("x", "loss on cpu", "b > c"):
        (found,) = judge(table, claims=f"a > base on {name}").judged
        assert (found.finding.on, found.what) == (name, "keep")


def test_a_hypothesis_that_is_given_twice_counts_once():
    table = numbers(a=1.5)
    once, twice = (judge(table, claims=["a > base"] * times).decisions for times in (1, 2))
    pandas.testing.assert_frame_equal(once, twice)


def test_names_are_compared_as_they_are_shown():
    table = numbers(a=1.5)
    table["variant"] = table.variant.replace({"a": "a\n b\x1b", "base": "my\tbase"})
    table["measurement"] = "loss\n(nats)"
    (found,) = judge(table, baseline="my\tbase", lower_is_better="loss\n(nats)").decisions.itertuples()
    assert (found.better, found.worse, found.measurement) == ("a b", "my base", "loss (nats)")


def test_a_table_without_examples_is_not_told_to_have_others():
    differences = (1.0, -1.0, 1.0, -1.0, 0.001)
    lines = [(name, seed, by * (name == "a")) for name in ("base", "a") for seed, by in enumerate(differences)]
    table = pandas.DataFrame(lines, columns=["variant", "seed", "value"])
    assert judge(table, baseline="base").judged[0].why == "if the true effect is +0.00, 10,000 seeds are too few"


TABLE = numbers(a=1.0)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            TABLE.drop(columns="seed"),
            {"baseline": "base"},
            "row 1 has no seed: a table needs variant, seed and value, and this has 'variant', 'value'",
        ),
        (TABLE.assign(value="x"), {"baseline": "base"}, "row 1: value is x, which is no number"),
        (TABLE.assign(value="nan"), {"baseline": "base"}, "row 1: value is nan, which is no number"),
        (TABLE.assign(value=float("inf")), {"baseline": "base"}, "row 1: value is inf, which is no number"),
        (TABLE.assign(value=float("nan")), {"baseline": "base"}, "row 1 has no value: fill it in"),
        (TABLE.assign(seed=pandas.NA), {"baseline": "base"}, "row 1 has no seed: fill it in"),
        (TABLE.assign(variant=" "), {"baseline": "base"}, "row 1 has no variant: fill it in"),
        (TABLE.assign(measurement=None), {"baseline": "base"}, "row 1 has no measurement: fill it in"),
        (TABLE.assign(seed=0.5), {"baseline": "base"}, "row 1: seed is 0.5: give a whole number"),
        (pandas.concat([TABLE, -TABLE.value], axis=1), {"baseline": "base"}, "table has the column 'value' twice"),
        (pandas.concat([TABLE, TABLE[:1]]), {"baseline": "base"}, "row 13: value of base, seed 0, is there twice"),
        (TABLE.assign(seed=range(12)), {"baseline": "base"}, "a and base have no seed in common on value"),
        (TABLE.assign(example=TABLE.seed), {"baseline": "base"}, "seed 1, has other examples than base"),
        (TABLE.assign(look=TABLE.seed), {"baseline": "base"}, "has several looks: give --max-seeds"),
        (TABLE[TABLE.variant == "base"], {"baseline": "base"}, "has no variant but base"),
        (TABLE[:0], {"baseline": "base"}, "has no row"),
        (TABLE, {}, "nothing to compare: give --baseline"),
        (TABLE, {"baseline": "bse"}, "unknown variant in --baseline 'bse': did you mean 'base'?"),
        (TABLE, {"claims": "a > bse"}, "unknown variant 'bse'"),
        (TABLE, {"claims": "a > base on f1"}, "unknown measurement 'f1'"),
        (TABLE, {"claims": "a"}, "write 'A > B on M'"),
        (TABLE, {"claims": "a > a"}, "write 'A > B on M'"),
        (TABLE, {"baseline": "base", "lower_is_better": "loss"}, "unknown measurement in --lower-is-better 'loss'"),
        (
            TABLE.assign(measurement="held-out loss"),
            {"baseline": "base"},
            "'held-out loss' sounds as if less were better",
        ),
        (TABLE, {"baseline": "base", "max_seeds": 5}, "6 seeds, and 5 were planned"),
        (TABLE, {"baseline": "base", "max_seeds": 3}, "--max-seeds is 3: give a number from 4 to 48"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_a_line(table, options, message):
    with pytest.raises(BadInput, match=r".") as refused:
        judge(table, **options)
    assert message in str(refused.value)
