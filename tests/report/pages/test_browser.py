"""The page of HTML in a real browser: headless Chromium, driven by playwright; skipped where there is none."""

import re

import pytest

from bertlab.lab.study import Claim
from bertlab.report import page
from bertlab.report.looks import hypothesis


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Where the pages are, which the first test writes."""
    return tmp_path_factory.mktemp("pages") / "out"


@pytest.fixture
def opened(claimed, browser, out):
    """The page of a study at a width and in a scheme; a message on the console or a request fails the test."""
    name = "w" * 90
    long = type(claimed)(claimed.root, study="long", corpus=[name])
    long.cell("80/10/10", "MNLI", 50.0, pretrain_id=long.pretrain("80/10/10", run_id="aaaa"), run_id="aaab")
    long.cells[0]["variant"] = long.rows[0]["variant"] = long.cells[0]["measurement"] = name
    claim = {"text": name, "better": name, "worse": name, "on": name}
    long.record("long", question=name, source=name, baseline=name, notes=[name], command=name, claims=[claim])
    if not out.exists():
        page.write([], claimed.root, out)
    complaints, pages = [], []

    def at(width, scheme="light"):
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(tab)
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(error.message))
        tab.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
        tab.goto((out / "index.html").as_uri())
        return tab

    yield at
    for tab in pages:
        tab.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_overflows(opened, width, scheme):
    tab = opened(width, scheme)
    scrolled, seen = tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert scrolled <= seen == width
    # what is wider than the page is within a box that scrolls, or is scaled with its figure
    assert (
        tab.evaluate(
            """[...document.querySelectorAll('body *')]
           .filter(each => !each.closest('.box, .skip, pre, svg'))
           .filter(each => each.getBoundingClientRect().right > innerWidth + 1)
           .map(each => each.outerHTML.slice(0, 80))"""
        )
        == []
    )


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (400, "light")])
def test_axe_finds_nothing(opened, width, scheme):
    # contrast of WCAG 2 level AA, names, headings, labels, and what a keyboard cannot reach
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: install the group `tests`")
    tab = opened(width, scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    found = axe.Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()


def test_studies_are_sorted_filtered_and_unfolded_by_keyboard(opened):
    tab = opened(1400)
    names = "[...document.querySelectorAll('.studies tbody:not([hidden]) th')].map(each => each.innerText)"
    first, second = tab.evaluate(names)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    decided = tab.get_by_role("button", name="verdicts")
    decided.press("Enter")
    up = tab.evaluate(names)
    decided.press("Enter")
    assert tab.evaluate(names) == up[::-1]
    assert up[-1] == "masking"
    assert tab.locator("[aria-sort=descending]").inner_text() == "verdicts"
    tab.get_by_label("Filter").press_sequentially("reproduced MASK")
    assert tab.evaluate(names) == ["masking"]
    assert {first, second} == set(up)
    folded = tab.locator("#study-masking caption", has_text="The value of each seed")
    assert not folded.is_visible()
    tab.locator("#study-masking summary", has_text="Seed by seed").press("Enter")
    assert folded.is_visible()


def test_without_script_everything_is_there(opened, browser, out):
    scripted = opened(1400)
    plain = browser.new_page(java_script_enabled=False)
    plain.goto((out / "index.html").as_uri())
    for what, extra in (("tbody tr", 0), ("details", 0), ("svg[role=img]", 0), ("button, input", 7)):
        assert scripted.locator(what).count() == plain.locator(what).count() + extra
    plain.close()


def test_a_study_takes_a_seventh_of_12000_pixels(opened):
    assert opened(1400).evaluate("document.querySelector('#study-masking').offsetHeight") < 12_000 / 7


def test_a_small_screen_has_the_figures_folded(opened):
    shown = "[...document.querySelectorAll('#study-masking svg')].filter(each => each.checkVisibility()).length"
    assert [opened(width).evaluate(shown) for width in (400, 1400)] == [0, 2]


def test_an_open_figure_is_no_wider_than_a_small_screen(opened):
    tab = opened(400)
    tab.evaluate("document.querySelectorAll('.figures > details').forEach(each => { each.open = true })")
    assert tab.evaluate("document.documentElement.scrollWidth") == 400


def test_verdicts_and_differences_are_on_a_small_screen(opened):
    outside = opened(400).evaluate(
        """[...document.querySelectorAll('.claims .badge, .claims .effect b, .studies td, .results td')]
           .map(each => each.getBoundingClientRect())
           .filter(each => each.width && (each.left < 0 || each.right > 400)).length"""
    )
    assert outside == 0


@pytest.mark.parametrize("names", [("MNLI", "SST-2", "MRPC", "SQuAD 1.1"), ("w" * 90, "v" * 90)])
def test_words_of_headings_break_only_on_a_page_without_room(builder, browser, tmp_path, names):
    for seed in (0, 1):
        run = builder.pretrain("full fine-tuning", seed)
        for name in names:
            task, value = ("NER", 9.0) if name == names[-1] else ("MNLI", 50.0)
            builder.cell("full fine-tuning", task, value + seed / 5, seed, pretrain_id=run)
            builder.cells[-1]["measurement"] = name
    builder.record(baseline="full fine-tuning")
    page.write([], builder.root, tmp_path, ["html"])
    tab = browser.new_page(viewport={"width": 400, "height": 900})
    tab.goto((tmp_path / "index.html").as_uri())
    broken, outside = tab.evaluate(
        """[[...document.querySelectorAll('.results thead th')].filter(each => each.checkVisibility()).flatMap(each =>
             [...each.firstChild.data.matchAll(/\\w+/g)].filter(word => {
               const range = document.createRange()
               range.setStart(each.firstChild, word.index)
               range.setEnd(each.firstChild, word.index + word[0].length)
               return range.getClientRects().length > 1
             }).map(word => word[0])),
            [...document.querySelectorAll('.results, .results td')]
              .filter(each => each.getBoundingClientRect().right > 400).length]"""
    )
    scrolled = tab.evaluate("document.documentElement.scrollWidth")
    tab.close()
    assert (broken, outside, scrolled) == ([], 0, 400)


@pytest.fixture(scope="module")
def after_rounds(tmp_path_factory):
    """Where the page of a study is whose seeds were added in rounds, which the first test writes."""
    return tmp_path_factory.mktemp("rounds") / "out"


@pytest.mark.parametrize("width", [400, 1400])
def test_a_badge_holds_the_verdict_alone_and_no_claim_is_cut_off(claimed, browser, after_rounds, width):
    claims = [
        {"text": f"{better} beats {worse}", "better": better, "worse": worse, "on": "NER"}
        for better, worse in (("80/10/10", "0/0/100"), ("0/0/100", "80/10/10"), ("100/0/0", "80/10/10"))
    ]
    known = {"on": "NER", "metric": "", "p": 1e-6, "as_claimed": True, "power": 0.3}
    entries = [known | {"claim": each["text"], "hypothesis": hypothesis(Claim(**each))} for each in claims]
    entries[1]["as_claimed"], entries[2]["p"] = False, 0.4
    looks = [{"seeds": {}, "claims": [each | {"n": n} for each in entries]} for n in (5, 6)]
    if not after_rounds.exists():
        claimed.record(claims=claims, sequential={"maximum": 8, "looks": looks})
        page.write([], claimed.root, after_rounds)
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto((after_rounds / "index.html").as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    found = tab.evaluate(
        """[...document.querySelectorAll('.more td .badge')].map(each => {
             const { width, right } = each.getBoundingClientRect()
             return [each.innerText, each.className, width < 120 && right <= innerWidth,
                     each.nextElementSibling.innerText.includes('2 looks, sequential p')]
           })"""
    )
    assert found == [
        ["reproduced", "badge yes", True, True],
        ["contradicted", "badge no", True, True],
        ["undecided", "badge open", True, True],
    ]
    tables = tab.locator("details", has_text="Claims in full").locator(".box")
    wider = tables.evaluate_all("found => found.map(box => [box.scrollWidth > box.clientWidth, box.innerText])")
    tab.close()
    assert [each for each, _ in wider] == [False, False]
    assert "−" in wider[0][1]
    assert not re.search(r"(?<![\w.])-\d", wider[0][1]), "a hyphen for a minus"


def test_the_numbers_are_those_of_the_csv(opened, of_csv, out):
    results = opened(400).evaluate(
        """[...document.querySelectorAll('#study-masking table.results tbody tr')].map(
           row => [...row.cells].map(cell => cell.innerText))"""
    )
    found = {}
    for variant, *cells in results:
        for name, text in zip(("MNLI", "NER"), cells, strict=True):
            value, _, rest = text.removeprefix("✓ ").removeprefix("✗ ").partition(" ±")
            found[name, variant.removesuffix(" (baseline)")] = (value, *(each.strip("()") for each in rest.split()[1:]))
    known = of_csv(out / "masking.csv")
    assert len(known) == 7
    for key, (value, published, _) in known.items():
        assert found[key] == (f"{float(value):.1f}", *([published] if published else []))


def test_it_prints_results_figures_and_the_details_that_are_open(opened):
    tab = opened(400)
    tab.locator("#study-masking summary", has_text="Floors").press("Enter")
    tab.emulate_media(media="print")
    shown = tab.evaluate(
        """[...document.querySelectorAll('#study-masking :is(summary, table, .claims, svg)')]
           .filter(each => each.checkVisibility())
           .map(each => each.matches('summary') ? each.innerText.split(/\\W/)[0] : each.localName)"""
    )
    assert shown == ["Warning", "table", "ul", "table", "Effects", "svg", "Learning", "svg", "Floors"]


def test_it_prints_dark_on_light(opened):
    tab = opened(1400, "dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 252, 250)"
    assert tab.pdf(format="A4").startswith(b"%PDF")
