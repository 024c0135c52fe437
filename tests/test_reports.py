"""The results in the repository give the tables beside them, on every machine."""

import functools
import itertools
import json
import re
import shutil
from operator import attrgetter
from pathlib import Path

import pandas
import pytest

from bertlab.report import tidy
from bertlab.report.export import write_parquet
from bertlab.report.gather import gather_all
from bertlab.store.archive import FILE
from bertlab.store.config import configs
from bertlab.store.runs import Store

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "reports"
STORES = sorted(path.parent for path in REPORTS.glob("*/runs.tar.xz"))
NAME = attrgetter("name")


@functools.cache
def gathered(store):
    """What the report of a store of the repository is made of."""
    return gather_all(Store(store))


def test_results_are_kept_in_few_bytes_and_files():
    assert STORES
    paths = [path for store in STORES for path in store.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in paths) < 29 * 2**20
    assert len(paths) < 150
    assert {path.parent for path in paths if path.name == FILE} == {*STORES}


def test_every_store_that_the_readme_lists_is_there_and_no_other():
    listed = re.findall(r"^\| `([\w-]+)/`", (REPORTS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(["example", *(store.name for store in STORES)])


@pytest.mark.parametrize("store", STORES, ids=NAME)
def test_the_commands_of_synthetic_studies_request_the_runs_that_are_there(store, call, tmp_path, capsys):
    runs = shutil.copytree(store, tmp_path / "runs")  # into which nothing must be written
    files = [file for stem, record in Store(runs).records().items() for file in configs(stem, record).items()]
    for name, (file, _) in files:
        # The steps of equal-time are those of equal training time, which a setting that was revised since then has
        # timed anew; a search begins with its trials, which are no results of a study and stay where they were made.
        if b"corpus" in file or b"search" in file or name.startswith("equal-time--"):
            continue
        config = runs / "studies" / f"{name}.toml"
        assert call("ablate", "--config", config, "--runs", runs, "--dry-run", "--json") == 0
        left = json.loads(capsys.readouterr().out)["to_do"]
        assert (left["pretrainings"], left["measurements"]) == (0, 0), name
    assert files


@pytest.fixture(scope="module", params=[REPORTS / "default", REPORTS / "real"], ids=NAME)
def reported(request, call, tmp_path_factory):
    """A store of the repository and its pages; those of the others would take minutes and show nothing new."""
    out = tmp_path_factory.mktemp("pages")
    assert call("report", "--runs", request.param, "--out", out) == 0
    return request.param, out / "index.html"


@pytest.mark.parametrize("store", STORES, ids=NAME)
def test_the_results_of_the_repository_give_its_tables(store, tmp_path):
    for run in Store(store).runs():
        run.verify()
    studies = gathered(store)
    for name, table in (("values", tidy.values), ("summary", tidy.summary), ("claims", tidy.claims)):
        write_parquet(tmp_path / f"{name}.parquet", table(studies))
        kept, again = (pandas.read_parquet(place / f"{name}.parquet") for place in (store, tmp_path))
        assert len(kept) > 0
        pandas.testing.assert_frame_equal(again, kept, rtol=1e-6)


@pytest.mark.parametrize("store", STORES, ids=NAME)
def test_the_readme_pivots_a_store_into_the_means_of_its_report(store):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.search(r"^key = \[.*\]\nmeans = table.pivot_table\(.*\)$", readme, re.MULTILINE)
    names = {"table": tidy.typed(tidy.values(gathered(store)))}  # what `results` returns
    exec(lines[0], names)
    summaries = {
        (study.name, study.scale, study.columns["setting"], variant, 100, name): study.summary(variant, name)
        for study in gathered(store)
        for variant, name in itertools.product(study.variants, study.measurements)
    }
    reported = {key: summary.mean for key, summary in summaries.items() if summary}
    assert len(reported) > 5
    for (*row, measurement), mean in reported.items():
        assert names["means"].loc[tuple(row), measurement] == pytest.approx(mean)


@pytest.mark.parametrize("store", STORES, ids=NAME)
def test_no_two_sections_of_a_table_look_alike(store):
    studies = gathered(store)
    for table in (tidy.values(studies), tidy.summary(studies), tidy.claims(studies)):
        sections = table[["study", "scale", "setting", "key"]].drop_duplicates()
        assert len(sections) == len(sections.drop_duplicates(["study", "scale", "setting"]))
        assert len(sections) == len(sections.drop_duplicates("key")) <= len(studies)


def test_a_page_of_seven_studies_is_below_900_kilobytes(reported):
    studies = len(Store(reported[0]).records())
    assert reported[1].stat().st_size < 900_000 / 7 * studies


@pytest.mark.parametrize(("width", "least"), [(400, 1), (1400, 7)])  # on a wide screen, single studies vary more
def test_a_page_of_seven_studies_is_below_12000_pixels(reported, browser, width, least):
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(reported[1].as_uri())
    studies, height = tab.evaluate(
        "[document.querySelectorAll('article').length, document.documentElement.scrollHeight]"
    )
    tab.close()
    assert height < 12_000 / 7 * (max(studies, least) + 0.5), "a page has a head too"
