"""``python -m xla2py.documentation.picture``: the picture of the page in ``docs/images``, taken by a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Thread

from ..transpile.playground.server import Playground

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "playground.png"
WIDTH, HEIGHT = 1060, 740
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Show a softmax, hold a line of it, run it, and keep what is seen."""
    from playwright.sync_api import sync_playwright

    executable = next(found for name in BROWSERS if (found := shutil.which(name)))
    with Playground() as server, sync_playwright() as driver:
        Thread(target=server.serve_forever, daemon=True).start()
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
        )
        page.goto(server.url)
        line = page.locator(".listing code", has_text="= np.exp(")
        line.wait_for()
        page.click("#run")
        page.locator(".card").first.wait_for()
        line.click()
        page.mouse.move(5, 5)
        page.wait_for_timeout(200)
        page.screenshot(path=PICTURE)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
