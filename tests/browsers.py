"""A real browser, for the tests of the pages."""

import shutil

import pytest


@pytest.fixture(scope="module")
def chromium():
    """The one that is installed; none is downloaded."""
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    executable = next(found, None)
    if executable is None:
        pytest.skip("no browser: the page was not looked at; on Debian: apt install chromium")
    reason = "no browser: playwright is missing"
    sync_api = pytest.importorskip("playwright.sync_api", reason=reason)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()
