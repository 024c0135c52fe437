"""Names that try to be more than names, wherever a name can stand: what is written is that of a study with plain ones.

The pages are read by markdown-it, with tables, raw HTML, bare links, footnotes and formulas on."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from rich.console import Console

from bertlab.cli import console, table
from bertlab.cli.console import complain, print_json, say
from bertlab.cli.results import print_result
from bertlab.cli.table import print_table
from bertlab.names import plain, visible
from bertlab.report import escape, page, tidy
from bertlab.report.agreement import agreement
from bertlab.report.gather import gather_all
from bertlab.report.pages import Chapter, chapter, decided, render, undecided
from bertlab.report.study_results import StudyResults
from bertlab.store.result import Failure
from bertlab.store.runs import Store

PLAIN = "plainname"
CALLED = {'"MNLI"': PLAIN, '"mnli"': PLAIN, '"accuracy"': PLAIN, '"80/10/10"': PLAIN, '"validation"': PLAIN}
CALLED |= {'"100/0/0"': f"a {PLAIN}", '"0/0/100"': f"{PLAIN} 2", '"microworld"': PLAIN, '"A Processor"': PLAIN}


class Page(HTMLParser):
    """A page as a browser has it: tags with their attributes, in order, and the text of headings and table cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.texts: dict[str, list[str]] = {"h1": [], "th": [], "td": []}
        self.others: list[str] = []
        self.feed(html)

    @classmethod
    def of(cls, text: str) -> Page:
        """The page that a reader of Markdown makes."""
        reader = MarkdownIt("gfm-like").use(footnote_plugin).use(dollarmath_plugin).use(front_matter_plugin)
        reader.linkify.set({"fuzzy_link": False})  # GitHub makes no link of `example.org`
        return cls(reader.render(text))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attributes))
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", []))

    def handle_data(self, data: str) -> None:
        last = self.tags[-1][0] if self.tags else ""
        if last in self.texts:
            self.texts[last][-1] += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


@pytest.fixture
def named(builder: Any, fill: Callable[..., None]) -> Callable[[str], StudyResults]:
    """The results of a whole study in which everything that has a name has this one."""
    builder.study = PLAIN
    fill(builder, seeds=(0,), finetune_seeds=1)
    lost = builder.pretrain("80/0/20", finished=False)
    builder.cell("80/0/20", "MNLI", None, pretrain_id=lost)
    texts = {"question": PLAIN, "source": PLAIN, "baseline": "80/10/10", "notes": [PLAIN], "command": f"x {PLAIN}"}
    texts["claims"] = [{"text": PLAIN, "better": "80/10/10", "worse": "100/0/0", "on": "MNLI", "within": None}]
    related = [{"title": PLAIN, "source": PLAIN, "columns": [PLAIN], "rows": {PLAIN: [1.0]}}]
    searched = {"searched": {PLAIN: {PLAIN: 1.0}}, "rates": {PLAIN: {PLAIN: 3.0}}}
    builder.record(**texts, **searched, substitutes={PLAIN: PLAIN}, intermediate_task={PLAIN: PLAIN}, related=related)
    Store(builder.root).create_directories()
    written = {path: path.read_text() for path in builder.root.rglob("*.json*")}

    def made(name: str) -> StudyResults:
        for path, text in written.items():
            for old, new in CALLED.items():
                text = text.replace(old, f'"{new}"')
            path.write_text(text.replace(PLAIN, json.dumps(name)[1:-1]))
        builder.seal()
        Store(builder.root).fail(Failure(id=lost, status=name, reason=name))
        return gather_all(Store(builder.root))[0]

    return made


def unseen(text: str) -> set[str]:
    """What of a text acts and is not seen."""
    return {each for each in text if unicodedata.category(each)[0] == "C"} - {"\n"}


def pictured(study: StudyResults, alt: str) -> Chapter:
    """The study on one page, with figures that are none."""
    made = chapter([study], written=False)
    pictures: Any = tuple(
        SimpleNamespace(kind=kind, title=alt, alt=alt, svg=b'<svg viewBox="0 0 1 1"></svg>')
        for kind in ("effects", "points", "curves")
    )
    sections = tuple(dataclasses.replace(each, stem="stem", pictures=pictures) for each in made.sections)
    return dataclasses.replace(made, stem="stem", sections=sections, written=True)


def of_html(study: StudyResults, alt: str) -> str:
    known: dict[str, Any] = {"summary": "Of 1 claim 1 is open.", "changes": None, "banner": []}
    chapters = [pictured(study, alt)]
    known |= {"decided": decided(chapters), "undecided": undecided(chapters)}
    return render("index.html.j2", chapters=chapters, agreed=agreement([study]), **known)


def html_tags(page: Page) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """Labels hold names, and are text; long names make a table one of many columns."""
    named, many = ("aria-label", "data-label"), ("class", "results many")
    return [
        (tag, [("class", "results") if each == many else each for each in attributes if each[0] not in named])
        for tag, attributes in page.tags
    ]


def latex_structure(text: str) -> list[str]:
    """Environments, lines, columns and bold numbers, but for text; braces have to be balanced."""
    bare = re.sub(r"\\[{}%&$_#]", "", text)
    assert bare.count("{") == bare.count("}")
    assert not unseen(text)
    return re.findall(r"\\(?:begin|end)\{[a-z]+\}|\\[a-z]+rule|\\\\$|&|%", bare, flags=re.MULTILINE)


def test_all_that_is_written_of_a_name_has_the_structure_of_a_plain_one(
    named: Callable[[str], StudyResults], hostile_names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    usual = named(PLAIN)
    usual_page = Page.of(render("study.md.j2", chapter=pictured(usual, "a figure")))
    usual_html = Page(of_html(usual, PLAIN))
    usual_latex = latex_structure(render("study.tex.j2", chapter=pictured(usual, PLAIN)))
    assert {"table", "h1", "details", "code", "img", "a"} <= {tag for tag, _ in usual_page.tags}
    assert {"table", "h1", "svg", "code", "details", "a", "dl"} <= {tag for tag, _ in usual_html.tags}
    for name in hostile_names:
        study = named(name)
        assert latex_structure(render("study.tex.j2", chapter=pictured(study, name))) == usual_latex, name
        in_csv(study, name)
        on_a_console(study, name, capsys)
        if plain(name):
            in_markdown(study, name, usual_page)
            in_html(study, name, usual_html)


def in_markdown(study: StudyResults, name: str, usual: Page) -> None:
    text = render("study.md.j2", chapter=pictured(study, "a figure"))
    found = Page.of(text)
    assert found.tags == usual.tags, name
    assert found.others == [], name
    assert not unseen(text), name
    assert found.texts["h1"] == [plain(name)]
    assert plain(f"{name} 2") in found.texts["td"]
    assert found.texts["th"].count(plain(name)) == usual.texts["th"].count(PLAIN)


def in_html(study: StudyResults, name: str, usual: Page) -> None:
    text = of_html(study, name)
    found = Page(text)
    assert html_tags(found) == html_tags(usual), name
    assert found.others == usual.others, name
    assert not unseen(text), name
    labels = [str(value) for _, attributes in found.tags for key, value in attributes if key == "aria-label"]
    assert plain(name) in labels


def in_csv(study: StudyResults, name: str) -> None:
    data = tidy.csv(tidy.values([study])).encode()
    lines = list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))
    frame = pandas.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
    assert tuple(frame.columns) == tuple(lines[0]) == tidy.VALUES
    assert len(lines) == len(frame) == len(data.splitlines()) - 1 == len(tidy.values([study]))
    assert frame.to_dict("records") == lines
    for column in ("study", "variant", "measurement", "task", "dataset", "split", "metric"):
        texts = {line[column] for line in lines}
        assert not any(text.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d")) for text in texts), name
        assert plain(name) in {re.sub(r"^'(?='*[-=+@\uff1d])", "", text) for text in texts}


def on_a_console(study: StudyResults, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_result(study)
    say(name)
    complain(name)
    out, err = capsys.readouterr()
    assert not unseen(out + err), name
    if len(name) < 20:
        assert plain(name) in out.splitlines()[0]
        assert visible(name) in err
    print_json({name: name})
    assert json.loads(out := capsys.readouterr().out) == {name: name}
    assert out.isascii()


def test_a_report_of_many_studies_stays_in_its_folder(builder: Any, hostile_names: list[str], tmp_path: Path) -> None:
    hostile_names = list({plain(name): name for name in hostile_names if plain(name)}.values())

    def written(names: list[str], place: Path) -> Page:
        for number, name in enumerate(names):
            made = type(builder)(place / "runs", study=name)
            made.pretrain(PLAIN, run_id=f"{number:04x}", metrics=[])
            made.cell(PLAIN, "MNLI", None, pretrain_id=f"{number:04x}")
            made.record(str(number), question=name, source=name)
        pages = page.write([], place / "runs", place / "out", ["md"]).pages
        assert len(set(pages)) == len(names) + 1
        assert {path.parent for path in pages} == {place / "out"}
        assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*\.md", path.name) for path in pages)
        index = Page.of((place / "out" / "index.md").read_text(encoding="utf-8"))
        links = [str(dict(attributes)["href"]) for tag, attributes in index.tags if tag == "a"]
        assert {place / "out" / link for link in links} == set(pages[1:])
        return index

    usual = written([f"plain{number}" for number in range(len(hostile_names))], tmp_path / "plain")
    found = written(hostile_names, tmp_path / "hostile")
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in usual.tags]
    assert found.others == []


def test_a_terminal_gets_no_escape_sequence_of_a_name(hostile_names: list[str], monkeypatch: Any) -> None:
    for name in hostile_names:
        terminal = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=80, markup=False)
        for module in (console, table):
            monkeypatch.setattr(module, "console", lambda terminal=terminal: terminal)
        say(f"it is {name}")
        print_table((name, name), [(name, name)], name)
        written = terminal.file.getvalue()
        assert "\x1b[1m" in written, "its own are there"
        assert not unseen(re.sub(r"\x1b\[[0-9;]*m", "", written)), name


def test_a_narrow_terminal_breaks_names_between_words(monkeypatch: Any) -> None:
    terminal = Console(file=io.StringIO(), width=60, markup=False)
    monkeypatch.setattr(table, "console", lambda: terminal)
    print_table(("variant", *["accuracy"] * 6), [("NSP (baseline)", *["49.51 (0.72)"] * 6)])
    assert "(baseline)" in terminal.file.getvalue()


def test_markup_and_emoji_codes_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    say("[bold]x[/bold] [/] :smile: {0} %s")
    assert capsys.readouterr().out == "[bold]x[/bold] [/] :smile: {0} %s\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("80/10/10", "80/10/10"),
        ("100 % [MASK]", "100 % \\[MASK\\]"),
        ("a|b", "a&#124;b"),
        ("a\\|b", "a&#92;&#124;b"),
        ("a\nb\r\n# c", "a b # c"),
        ("`rm`", "&#96;rm&#96;"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[x](javascript:1)", "\\[x\\](javascript:1)"),
        ("![x](y)", "!\\[x\\](y)"),
        ("https://example.org", "https&#58;//example.org"),
        ("www.example.org", "www&#46;example.org"),
        ("_www.example.org", "\\_www&#46;example.org"),
        ("a@example.org", "a&#64;example.org"),
        ("**bold** _it_ ud_gum", "\\*\\*bold\\*\\* \\_it\\_ ud_gum"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("a\u202eb\x00c", "abc"),
    ],
)
def test_markdown(name: str, shown: str) -> None:
    assert escape.markdown(name) == shown


@pytest.mark.parametrize("name", ["# x", ":---:", "- x", "+ x", "= x", "1. x", "12) x", "> x", "---"])
def test_a_paragraph_opens_no_block(name: str) -> None:
    assert not re.match(r"[-+>=:#]|\d+[.)](\s|$)", escape.paragraph(name))


def test_a_heading_keeps_its_end() -> None:
    assert escape.paragraph("in C# ##") == "in C# #\\#"
    assert escape.paragraph("#") == "\\#"


def test_numbers_stay_readable() -> None:
    assert escape.paragraph("50.0 % of -0.5") == "50.0 % of -0.5"
    assert escape.paragraph("-0.5") == "-0.5"


@given(st.text())
def test_no_cell_ends_early_and_no_html_gets_through(name: str) -> None:
    shown = escape.markdown(name)
    assert not set(shown) & set("|`<>\n\r")
    assert not re.search(r"(?<!\\)[\[\]*]", shown)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=x", "\r+x", "\u200b-x", "＝1", "'=1"])
def test_no_formula_in_csv(name: str) -> None:
    assert escape.csv(name) == "'" + plain(name)


@pytest.mark.parametrize("name", ["80/10/10", "", "1-1", "'", "'quoted'"])
def test_csv_leaves_what_is_no_formula(name: str) -> None:
    assert escape.csv(name) == name
