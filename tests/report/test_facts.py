"""What a report says of how each task was measured."""

import dataclasses

import pytest

from bertlab.report import facts, tables
from bertlab.report.gather import gather_all
from bertlab.report.notes import notes
from bertlab.store.runs import Store


@pytest.fixture
def evidence(builder):
    """The evidence of one measured cell by seed, with changes to its record."""

    def made(values=(60.0,), **record):
        for seed, value in enumerate(values):
            builder.cell("80/10/10", "NER", value, seed, 0, builder.pretrain("80/10/10", seed))
        builder.record(**record)
        return gather_all(Store(builder.root))[0]

    return made


def test_trained_parameters_are_shown(builder):
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "NER", 60.0, 0, 0, builder.pretrain(variant))
    builder.record()
    found = gather_all(Store(builder.root))[0]
    cells = (
        dataclasses.replace(each, trained_parameters=count) for each, count in zip(found.cells, (7000, 50), strict=True)
    )
    text = dict(facts.facts(dataclasses.replace(found, cells=tuple(cells))))["NER"]
    assert text.endswith("; 50 to 7,000 trained parameters")


def test_where_medians_are_published_medians_are_shown(evidence):
    found = evidence(values=(60.0, 61.0, 70.0), summary="median")
    assert tables.results(found).rows[0][1].startswith("61.00 (")
    assert notes("legend", found)[0].startswith("Measured: median (sd, n)")
    assert any("verdicts are of means" in line for line in notes("legend", found))
    plain = dataclasses.replace(found, medians=False)
    assert tables.results(plain).rows[0][1].startswith("63.67 (")


def test_a_study_without_published_values_speaks_of_none(evidence, builder):
    text = " ".join(notes("caveats", evidence()))
    assert "Not the paper's setting: directions compare with the published values, sizes do not. Differences: " in text
    for cell in builder.cells:
        cell["published"] = None
    builder.record(summary="median")
    found = gather_all(Store(builder.root))[0]
    text = " ".join([*notes("legend", found), *notes("caveats", found)])
    assert "Not the paper's setting. Differences: model.layers 4 (paper: 12)." in text
    assert "published" not in text
