"""A real browser, and a visit to a page in it: for the tests of the pages."""

import shutil
from urllib.parse import urljoin

import pytest

DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
CORNER = {"x": 10, "y": 10}  # the first map of a layer
LATE_MS = 120_000  # a busy machine's too


#: What Playwright calls each, and the names of its program.
BROWSERS = {
    "chromium": (None, ("chromium", "chromium-browser", "google-chrome")),
    "firefox": ("moz-firefox", ("firefox-esr", "firefox")),
}
#: For a test of what every browser must do; the others are in Chromium alone.
in_each_browser = pytest.mark.parametrize("browser", BROWSERS, indirect=True)


@pytest.fixture(scope="module")
def browser(request):
    """One that is installed; none is downloaded."""
    name = getattr(request, "param", "chromium")
    channel, programs = BROWSERS[name]
    executable = next(filter(None, map(shutil.which, programs)), None)
    if executable is None:
        pytest.skip(f"no browser: {name} is not installed; on Debian: apt install {programs[0]}")
    reason = "no browser: playwright is missing"
    sync_api = pytest.importorskip("playwright.sync_api", reason=reason)
    arguments = ["--no-sandbox"] if name == "chromium" else []
    with sync_api.sync_playwright() as playwright:
        kind = getattr(playwright, name)
        browser = kind.launch(executable_path=executable, channel=channel, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """`visit(url)` opens a page; what it complains of, and asks others for, fails the test."""
    contexts, complaints, requests, urls = [], [], set(), set()
    own = ["data:", "blob:"]

    def open_page(url, **options):
        context = browser.new_context(**options)
        context.set_default_timeout(LATE_MS)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: requests.add(request.url.partition("#")[0]))
        urls.add(url)
        if url.startswith("http:"):
            own.append(urljoin(url, "."))
        tab.goto(url)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith(tuple(own))} <= urls


@pytest.fixture
def see(visit, page):
    """`see()` opens the classroom's page of the test's file, ready to be used."""

    def open_page(viewport=DESK, **options):
        tab = visit(page.as_uri(), viewport=viewport, **options)
        tab.wait_for_selector("html[data-ready]")
        return tab

    return open_page


@pytest.fixture
def tab(see):
    """The same page, open on a desk."""
    return see()


def violations(tab):
    """What axe finds on the page."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


def end_of(located):
    """How far below the top of the screen it ends."""
    box = located.bounding_box()
    return box["y"] + box["height"]


def colours(tab, selector):
    """The colours of the areas of these."""
    found = "all => all.map(one => getComputedStyle(one).backgroundColor)"
    return tab.locator(selector).evaluate_all(found)


def enlarge(tab):
    """As for a reader whose browser's type is twice as large."""
    session = tab.context.new_cdp_session(tab)
    session.send("Page.setFontSizes", {"fontSizes": {"standard": 32}})


def draw_line(tab, line):
    """On the classroom's canvas, by the mouse: points from 0 to 1."""
    box = tab.locator("#draw").bounding_box()
    first, *rest = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in line]
    tab.mouse.move(*first)
    tab.mouse.down()
    for place in rest:
        tab.mouse.move(*place)
    tab.mouse.up()
