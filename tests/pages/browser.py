"""A real browser without a window, for the tests of pages; they are skipped where none is installed."""

import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


@contextmanager
def browser():
    """A Chromium, whichever is installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    executable = next((found for name in NAMES if (found := shutil.which(name))), None)
    if executable is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, args=OPTIONS)
        yield chromium
        chromium.close()


@contextmanager
def shown(chromium, place, **settings):
    """A file, or what is at an address, in a browser, with all that it complained about or asked the network for."""
    context = chromium.new_context(**{"viewport": {"width": 1400, "height": 800}, **settings})
    page = context.new_page()
    page.complaints, page.requests = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (page.complaints.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(place if isinstance(place, str) else place.as_uri())
    yield page
    context.close()
