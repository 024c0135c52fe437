"""The page of HTML: verdicts first, the numbers of the CSV, and nothing that is not in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from bertlab.report import facts, page

VOID = ("meta", "br", "hr", "img", "input", "link")


class Elements(HTMLParser):
    """Every element with its attributes, the elements that it is in, and the text in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.every: list[dict[str, Any]] = []
        self.open: list[dict[str, Any]] = []
        self.feed(text)
        assert not self.open, "an element that is not closed"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        element = {"tag": tag, "within": [each["tag"] for each in self.open], "text": "", **dict(attributes)}
        self.every.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.every.append({"tag": tag, "within": [], "text": "", **dict(attributes)})

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element["text"] = " ".join(f"{element['text']} {data}".split())

    def all(self, *tags: str) -> list[dict[str, Any]]:
        """Elements of these tags, in order."""
        return [element for element in self.every if element["tag"] in tags]

    def rows(self, name: str) -> list[list[str]]:
        """The text of the cells of the table with this class or caption, a list a row."""
        rows: list[list[str]] = []
        inside = False
        for element in self.every:
            if element["tag"] == "table":
                inside = element.get("class") == name or name in element["text"]
            elif inside and element["tag"] == "tr":
                rows.append([])
            elif inside and element["tag"] in ("td", "th"):
                rows[-1].append(element["text"].replace("−", "-"))
        return rows


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pages of a whole study are, which the first test writes."""
    return tmp_path_factory.mktemp("pages") / "out"


@pytest.fixture
def written(claimed: Any, out: Path) -> Elements:
    """The page of a whole study."""
    if not out.exists():
        page.write([], claimed.root, out)
    return Elements((out / "index.html").read_text(encoding="utf-8"))


def test_verdicts_come_first(written: Elements) -> None:
    assert written.all("h1", "h2", "h3", "table")[0]["text"] == "What was decided"
    assert written.rows("studies") == [], "a single study has no table of all"
    assert "Of 3 claims, 1 is reproduced, 1 is contradicted, 1 is undecided." in written.all("header")[0]["text"]
    texts = [each["text"].replace("−", "-") for each in written.all("li")]
    lines = [text for text in texts if "beats" in text]
    outcomes = ["reproduced", "contradicted"]
    assert [line.split()[0] for line in lines] == [*outcomes, *outcomes, "undecided"]
    assert re.fullmatch(
        r"reproduced 80/10/10 beats 0/0/100 \+\d\.\d ±\d\.\d paper \(\+0\.5\) "
        r"80/10/10 - 0/0/100, NER \(BC5CDR\); masking, tiny on microworld",
        lines[0],
    )
    assert re.fullmatch(
        r"reproduced 80/10/10 beats 0/0/100 80/10/10 - 0/0/100: \+\d\.\d \(\d\.\d to \d\.\d\) published \(\+0\.5\), "
        r"n = 6, seeds alone p (=|<) \.\d+",
        lines[2],
    )


def test_the_numbers_are_those_of_the_csv(
    written: Elements, of_csv: Callable[[Path], dict[tuple[str, str], tuple[str, str, str]]], out: Path
) -> None:
    found: dict[tuple[str, str], tuple[str, str, str]] = {}
    minus = {row[0]: row for row in written.rows("Each variant minus the baseline")}
    for row in written.rows("results")[1:]:
        for place, name in enumerate(("MNLI", "NER")):
            value, _, paper = row[1 + place].partition(" ±")
            effect = minus.get(row[0], [""] * 5)[1 + 2 * place]
            value = value.removeprefix("✗ ")
            found[name, row[0].removesuffix(" (baseline)")] = (value, paper[4:].strip(" ()"), effect.split(" ")[0])
    known = of_csv(out / "masking.csv")
    assert len(known) == 7
    assert {key: found[key] for key in known} == known
    assert found["NER", "no pre-training"] == ("", "", "")


def test_a_value_is_shaded_where_a_claim_on_it_is_decided(written: Elements) -> None:
    shaded = [each for each in written.all("td") if each.get("class") in ("yes", "no")]
    marks = [each for each in written.all("span") if each.get("class") == "mark"]
    # a claim on NER of 0/0/100 is reproduced and one contradicted, which counts
    assert [(each["class"], each["text"][0]) for each in shaded] == [("no", "✗")]
    assert [each["aria-label"] for each in marks] == ["contradicted"]


def test_nothing_comes_from_elsewhere(written: Elements, out: Path) -> None:
    text = (out / "index.html").read_text(encoding="utf-8")
    assert not written.all("link", "img", "iframe", "object", "embed", "base", "form")
    policy = next(each["content"] for each in written.all("meta") if each.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert [each for each in policy.split("; ") if "script" in each] == [f"script-src 'sha256-{hashed}'"]
    data = {f"masking{part}.csv" for part in ("", "-summary", "-claims", "-noise")}
    for element in written.every:
        assert not any(name.startswith("on") or name == "src" for name in element)
        link = next((value for name, value in element.items() if name.endswith("href")), "#")
        assert link.startswith("#") or link in ("agreement.html", *data, *facts.PAPERS.values())
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    assert "@import" not in text
    assert "<!--" not in text


def test_a_reader_of_any_kind_finds_the_way(written: Elements) -> None:
    assert written.all("html")[0]["lang"] == "en"
    assert written.all("title")[0]["text"]
    assert any(each.get("name") == "viewport" for each in written.all("meta"))
    ids = {each["id"] for each in written.every if "id" in each}
    assert all(each["href"][1:] in ids for each in written.all("a") if each["href"].startswith("#"))
    levels = [int(each["tag"][1]) for each in written.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(written.all("caption")) == len(written.all("table")) == 10, "that of all studies is not there"
    details = written.all("details")
    assert len(details) == len(written.all("summary"))
    assert [each["text"].split()[0] for each in details if "open" in each] == ["Effects,", "Learning"], "figures"
    assert all(each.get("scope") for each in written.all("th"))
    pictures = [each for each in written.all("svg") if each.get("role") == "img"]
    assert len(pictures) == 3
    assert all(each["aria-label"] and "viewbox" in each and "width" not in each for each in pictures)
    assert all(each.get("aria-hidden") for each in written.all("svg") if each not in pictures)


def test_figures_have_the_ink_of_the_page(out: Path, written: Elements) -> None:
    text = (out / "index.html").read_text(encoding="utf-8")
    figures = text[text.index("<figure>") :]
    assert "currentColor" in figures
    assert "var(--grid)" in figures
    assert not re.search("#222222|#e4e4e4|#ffffff", figures, re.IGNORECASE)


def test_of_studies_that_were_not_asked_for_claims_are_shown(claimed: Any, tmp_path: Path) -> None:
    other = type(claimed)(claimed.root, study="other")
    other.cells, other.rows = claimed.cells, claimed.rows
    claim = {"text": "B", "better": "80/10/10", "worse": "0/0/100", "on": "NER"}
    other.record("other", claims=[claim, {**claim, "text": "C", "worse": "none"}])
    page.write(["masking"], claimed.root, tmp_path / "out")
    found = Elements((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    assert [each["id"] for each in found.all("article")] == ["study-masking"]
    assert "Of 5 claims" in found.all("header")[0]["text"]
    assert found.rows("studies")[1][:4] == [
        "masking",
        "Does mixing [MASK] with random tokens matter?",
        "tiny on microworld",
        "1 reproduced 1 contradicted 1 undecided",
    ]
    (rest,) = (each for each in found.all("details") if each.get("class") == "rest")
    assert rest["text"].startswith("1 not measured not measured C")
    assert "open" not in rest
    assert [each["text"] for each in found.all("a") if "tbody" in each["within"]] == ["masking"]
    assert "other Scale tiny on microworld: claims alone" in found.all("main")[0]["text"]


def test_of_a_checkpoint_it_stands_at_the_verdicts(claimed: Any, tmp_path: Path, written: Elements) -> None:
    alone = "for this checkpoint alone"
    assert alone not in written.all("html")[0]["text"].lower()
    (path,) = (claimed.root / "studies").glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "pretrained": "bert-base-uncased"}))
    page.write([], claimed.root, tmp_path / "out")
    found = Elements((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    assert [alone in each["text"].lower() for each in found.all("h3")] == [True]
    for name in ("index.md", "masking.md"):
        assert alone in (tmp_path / "out" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "shown", "linked"),
    [
        ("Devlin et al. 2019, Table 8", "Source: Devlin et al. 2019, Table 8.", {"Devlin et al. 2019, Table 8"}),
        (
            "Xiong et al. 2020; Another 2021; Shen et al. 2020",
            "Source: Xiong et al. 2020; Another 2021; Shen et al. 2020.",
            {"Xiong et al. 2020", "Shen et al. 2020"},
        ),
        ("mine", "Source: mine.", set()),
        ("", "Not the paper's setting", set()),
    ],
)
def test_each_cited_paper_has_its_own_link(
    builder: Any, tmp_path: Path, source: str, shown: str, linked: set[str]
) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    builder.record(source=source)
    page.write([], builder.root, tmp_path / "out")
    markdown = MarkdownIt("gfm-like").render((tmp_path / "out" / "masking.md").read_text(encoding="utf-8"))
    for text in ((tmp_path / "out" / "index.html").read_text(encoding="utf-8"), markdown):
        found = Elements(text)
        (line,) = (each["text"] for each in found.all("p") if "the paper's setting" in each["text"])
        assert re.sub(r" (?=[;.])", "", line).startswith(shown)
        links = {each["text"]: each["href"] for each in found.all("a") if each["href"] in facts.PAPERS.values()}
        assert links.keys() == linked
        assert all(
            text.startswith(name) for text, at in links.items() for name in facts.PAPERS if facts.PAPERS[name] == at
        )


def test_what_is_missing_is_noted(builder: Any, tmp_path: Path) -> None:
    run_id = builder.pretrain("80/10/10")
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run_id)
    builder.cell("80/10/10", "MNLI", None, finetune_seed=1)
    builder.cell("80/10/10", "MNLI", 33.3, finetune_seed=2, status="collapsed", pretrain_id=run_id)
    builder.cell("100/0/0", "MNLI", None, pretrain_id=builder.pretrain("100/0/0", finished=False))
    builder.record()
    page.write([], builder.root, tmp_path / "out")
    found = Elements((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    rows = found.rows("results")
    assert rows[1] == ["80/10/10 (baseline)", "41.6 ±11.8 1 pending; 1 collapsed 84.2"]
    assert rows[2] == ["100/0/0", "pending 84.3"]
    assert "No claims were recorded with these runs." in found.all("header")[0]["text"]
    assert "2 of 4 values are measured; 2 pending." in found.all("article")[0]["text"]


@pytest.mark.parametrize("learned", [False, True])
def test_one_warning_comes_before_the_first_result(builder: Any, tmp_path: Path, learned: bool) -> None:
    """That of the page if no model learned anything, else that of the study."""
    for place, variant in enumerate(("80/10/10", "100/0/0", "0/0/100")):
        run = builder.pretrain(variant, loss=5.85, own=5.85 + place)
        builder.cell(variant, "MNLI", 50.0, pretrain_id=run)
    shared = builder.pretrain("80/0/20", run_id=run, finished=False)  # the same model, which counts once
    builder.cell("80/0/20", "MNLI", 50.0, pretrain_id=shared)
    builder.pretrain("no pre-training", loss=4.0, steps=0)
    if learned:
        builder.pretrain("50/50/0", loss=4.4)
    builder.record()
    page.write([], builder.root, tmp_path / "out")
    index = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    banner = "No model here learned more than how frequent words are"
    assert (f"# What was decided\n\n> [!WARNING]\n> {banner}" in index) is not learned
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert text[: text.index('<table class="results">')].count("Warning.") == 1
    found = Elements(text)
    (warning,) = (each["text"] for each in found.every if each.get("class") == "warning")
    alarm = f"3 of {4 if learned else 3} models learned next to nothing"
    assert warning.startswith(f"Warning. {alarm if learned else banner}")
    assert (banner in found.all("header")[0]["text"]) is not learned
    named = "0/0/100 and 80/0/20, seed 0 ("
    (caveats,) = (each["text"] for each in found.all("details") if each.get("id") == "caveats-masking")
    assert (named in warning, named in caveats) == (learned, not learned)
    found = Elements(MarkdownIt("gfm-like").render((tmp_path / "out" / "masking.md").read_text(encoding="utf-8")))
    (alert,) = (each["text"] for each in found.all("blockquote"))
    assert alert.startswith(f"[!WARNING] {alarm}")


def test_notes_of_markdown_do_not_fuse(written: Elements, out: Path) -> None:
    source = (out / "masking.md").read_text(encoding="utf-8")
    found = Elements(MarkdownIt("gfm-like").render(source))
    assert len(found.all("table")) == source.count("\n|:--")
    assert len(found.all("details")) == len(found.all("summary")) == source.count("<details>")
    # a table, a list or a paragraph, never several lines in one
    lines = [each["text"] for each in found.all("p", "li")]
    assert len(lines) > 20
    assert not [line for line in lines if " - " in line or "|" in line or "<" in line]
    assert not [line for line in lines if re.search(r"[a-z]\.[A-Z]", line)]
