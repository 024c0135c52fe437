"""The page of HTML in a real browser: headless Chromium, driven by playwright; skipped where there is none."""

import shutil

import pytest

from bertlab.report import page

sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: install the group `tests`")

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """The Chromium on the PATH, or else playwright's own."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=path, args=QUIET)
        except sync_api.Error as error:
            pytest.skip(f"no Chromium that starts: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def opened(claimed, browser, tmp_path):
    """The page of a study at a width and in a scheme; a message on the console or a request fails the test."""
    name = "w" * 90
    long = type(claimed)(claimed.root, study="long", corpus=[name])
    long.cell("80/10/10", "MNLI", 50.0, pretrain_id=long.pretrain("80/10/10", run_id="aaaa"), run_id="aaab")
    long.cells[0]["variant"] = long.rows[0]["variant"] = long.cells[0]["measurement"] = name
    claim = {"text": name, "better": name, "worse": name, "on": name}
    long.record("long", question=name, source=name, baseline=name, notes=[name], command=name, claims=[claim])
    page.write([], claimed.root, tmp_path / "out")
    complaints, pages = [], []

    def at(width, scheme="light"):
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(tab)
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(error.message))
        tab.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
        tab.goto((tmp_path / "out" / "index.html").as_uri())
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(opened, scheme):
    # WCAG 2 level AA: 4.5 to 1
    found = opened(1400, scheme).evaluate(
        """() => {
          const rgb = text => text.match(/[\\d.]+/g).map(Number)
          const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
            .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
            .reduce((sum, each, place) => sum + each * [0.2126, 0.7152, 0.0722][place], 0)
          const ground = each => {
            const colour = rgb(getComputedStyle(each).backgroundColor)
            return colour.length === 3 || colour[3] > 0 ? colour : ground(each.parentElement)
          }
          return [...document.querySelectorAll('h1, h2, h3, p, li, a, b, small, th, td, dt, dd, caption, code, .badge')]
            .map(each => {
              const [one, two] = [light(rgb(getComputedStyle(each).color)), light(ground(each))]
              return [(Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05), each.outerHTML.slice(0, 80)]
            })
            .filter(([ratio]) => ratio < 4.5)
        }"""
    )
    assert found == []


def test_the_numbers_are_those_of_the_csv(opened, of_csv, tmp_path):
    results = opened(400).evaluate(
        """[...document.querySelectorAll('#study-masking table.results tbody tr')].map(
           row => [...row.cells].map(cell => cell.innerText))"""
    )
    found = {}
    for variant, *cells in results:
        for name, text in zip(("MNLI", "NER"), cells, strict=True):
            value, _, rest = text.removeprefix("✓ ").removeprefix("✗ ").partition(" ±")
            found[name, variant.removesuffix(" (baseline)")] = (value, *rest.split()[1:])
    known = of_csv(tmp_path / "out" / "masking.csv")
    assert len(known) == 7
    for key, (value, published, _) in known.items():
        assert found[key] == (f"{float(value):.1f}", *([published] if published else []))


def test_it_prints_dark_on_light(opened):
    tab = opened(1400, "dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 252, 250)"
    assert tab.pdf(format="A4").startswith(b"%PDF")
