"""The page in a real browser, answered by a local server: typing, errors, links, sharing, runs, and who can use it."""

import pytest

from xla2py.tests.pages.browser import browser, shown
from xla2py.tests.playground.serving import serving
from xla2py.tests.playground.test_server import FOREVER

HOSTILE = """HloModule hostile
// <img src=x onerror=alert(1)> </script><script>alert(2)</script>
ENTRY main {
  x = f32[3] parameter(0), metadata={op_name="<img src=x onerror=alert(3)>" source_file="<b>.py" source_line=1}
  ROOT y = f32[3] negate(x)
}
"""

LARGE = "".join(
    [
        "ENTRY main {\n v0 = f32[8] parameter(0)\n",
        *(f" v{k} = f32[8] multiply(v{k - 1}, v{k // 2})\n" for k in range(1, 20_000)),
        " ROOT y = f32[8] negate(v19999)\n}\n",
    ]
)
SELECTED = (
    "(({value, selectionStart, selectionEnd}) => value.slice(selectionStart, selectionEnd))(document.activeElement)"
)


@pytest.fixture(scope="module")
def server():
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


@pytest.fixture
def page(chromium, server):
    with shown(chromium, server.url) as found:
        ready(found)
        yield found
        assert found.complaints == []
        assert all(url.startswith((server.url, "blob:")) for url in found.requests)


def ready(page):
    page.locator(".listing code", has_text="np.exp").wait_for(timeout=60_000)


def code(page, side=0):
    return "\n".join(page.locator(".listing").nth(side).locator("code").all_inner_texts())


def status(page, text):
    page.locator("#status", has_text=text).wait_for(timeout=60_000)


def marked(page, kind):
    """The lines of the program, and those of the modules, that are marked."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(f".line.{kind} .content").all_inner_texts(), page.locator(f".listing .{kind}").all_inner_texts()


def test_python_follows_what_is_typed_and_errors_stand_in_their_place(page):
    page.fill("#program", page.input_value("#program").replace("exponential(", "tanh("))
    page.locator(".listing code", has_text="np.tanh").wait_for()
    page.fill("#program", page.input_value("#program").replace("tanh(", "tahn("))
    problem = page.locator(".problem.error")
    problem.wait_for()
    assert "unknown opcode `tahn`" in problem.inner_text() and "or `tanh` or" in problem.inner_text()
    assert page.locator(".wave").all_inner_texts() == ["tahn"]
    assert page.locator(".side.stale").count() == 1
    problem.locator("button").click()
    assert page.evaluate(SELECTED) == "tahn"
    page.keyboard.type("cosine")
    page.locator(".listing code", has_text="np.cos").wait_for()
    assert page.locator(".problem").count() == 0 == page.locator(".side.stale").count()


def test_lines_are_linked_in_both_directions(page):
    page.locator(".listing code", has_text="np.exp").hover()
    program, python = marked(page, "related")
    assert any("exponential(" in line for line in program) and len(python) == 1
    page.locator(".listing code", has_text="return exp").click()
    program, python = marked(page, "held")
    assert any("divide(" in line for line in program) and "return" in python[0]
    page.locator("#program").focus()
    page.keyboard.press("Control+Home")
    for _ in range(21):
        page.keyboard.press("ArrowDown")
    assert "np.exp" in marked(page, "related")[1][0]


def test_targets_and_options(page):
    page.locator(".targets span", has_text="Dask").click()
    page.locator(".listing code", has_text="import dask.array as da").wait_for()
    page.locator(".targets span", has_text="NumPy").click()
    page.locator(".options-button").click()
    page.select_option("[name=annotate]", "full")
    page.locator(".listing code", has_text="# weights = ").first.wait_for()
    assert page.locator(".options-button").inner_text() == "Options (1)"
    page.fill("[name=line-length]", "9999")
    page.locator("[name=line-length]").blur()
    page.locator(".problem", has_text="line-length").wait_for()


def test_a_link_holds_the_program_and_goes_nowhere(chromium, server, page):
    page.fill("#program", page.input_value("#program").replace("exponential(", "tanh("))
    page.locator(".targets span", has_text="CuPy").click()
    page.locator(".listing code", has_text="cp.tanh").wait_for()
    page.click("#share")
    status(page, "The link is")
    link = page.url
    assert "#" in link and not any("#" in url for url in page.requests)
    with shown(chromium, link) as other:
        other.locator(".listing code", has_text="cp.tanh").wait_for(timeout=60_000)
        assert other.input_value("#program") == page.input_value("#program")
    with shown(chromium, f"{server.url}#rubbish") as other:
        ready(other)


def test_a_run_shows_statistics_and_pictures(page):
    page.click("#run")
    cards = page.locator(".card")
    cards.first.wait_for()
    assert [card.split("\n\n")[:2] for card in cards.all_inner_texts()] == [
        ["result", "float32[16, 64] result"],
        ["x", "float32[16, 64] argument"],
    ]
    labels = [canvas.get_attribute("aria-label") for canvas in page.locator("canvas").all()]
    assert labels[0].startswith("Heat map of result, from ")
    drawn = "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size"
    assert page.locator("canvas").first.evaluate(drawn) > 20
    page.fill("#seed", "7")
    first = cards.first.inner_text()
    page.click("#run")
    page.wait_for_function("text => document.querySelector('.card').innerText !== text", arg=first)
    page.click("#close-results")
    assert page.locator("#results").is_hidden()


def test_two_targets_are_compared(page):
    page.check("#compare")
    page.locator(".listing").nth(1).locator("code", has_text="cp.exp").wait_for()
    assert "import cupy as cp" in page.locator(".listing").nth(1).locator(".changed").all_inner_texts()
    page.locator(".listing").nth(1).locator("code", has_text="cp.exp").hover()
    assert any("exponential(" in line for line in marked(page, "related")[0])
    page.locator(".side").nth(1).locator(".targets span", has_text="NumPy").click()
    page.locator(".side").nth(1).locator(".options-button").click()
    page.locator(".side").nth(1).locator("[name=edge-cases]").select_option("library")
    page.locator(".side").nth(1).locator(".options-button", has_text="(1)").wait_for()
    page.click("#run")
    page.locator("#results table").wait_for()
    assert page.locator("#results td").first.inner_text() == "equal"
    status(page, "All results are equal")
    page.uncheck("#compare")
    assert page.locator(".side").count() == 1


def test_what_takes_long_can_be_stopped_and_the_page_goes_on(page):
    page.fill("#program", FOREVER)
    page.locator(".listing code", has_text="while np.bool_(True)").wait_for()
    page.click("#run")
    page.locator("#stop").wait_for()
    page.fill("#seed", "5")  # the page is not frozen
    page.click("#stop")
    status(page, "Stopped")
    page.select_option("#example", "Softmax")
    ready(page)


def test_an_emission_stays_stopped_even_where_something_was_typed_meanwhile(page):
    page.check("#compare")
    page.set_input_files("#file", {"name": "large.hlo", "mimeType": "", "buffer": LARGE.encode()})
    page.locator("#stop").wait_for()
    page.locator("#program").focus()
    page.keyboard.press("End")
    page.keyboard.type(" ")
    page.wait_for_timeout(200)
    page.click("#stop")
    status(page, "Stopped")
    page.locator("#stop").wait_for(state="hidden")
    assert page.locator(".side.stale").count() == 2
    page.select_option("#example", "Softmax")
    ready(page)


def test_a_module_is_copied_and_downloaded(chromium, server):
    with shown(chromium, server.url, permissions=["clipboard-read", "clipboard-write"]) as page:
        ready(page)
        page.click(".copy")
        status(page, "on the clipboard")
        assert "np.exp(" in page.evaluate("navigator.clipboard.readText()")
        with page.expect_download() as download:
            page.click(".download")
        assert download.value.suggested_filename == "softmax.py"
        assert "np.exp(" in download.value.path().read_text(encoding="utf-8")


def test_files_are_opened_text_or_not(page):
    text = HOSTILE.replace("negate", "sine")
    page.set_input_files("#file", {"name": "model.hlo", "mimeType": "text/plain", "buffer": text.encode()})
    page.locator(".listing code", has_text="np.sin").wait_for()
    text = text.replace("sine", "cosine").encode("utf-16")
    page.set_input_files("#file", {"name": "model.hlo", "mimeType": "", "buffer": text})
    page.locator(".listing code", has_text="np.cos").wait_for()


def test_hostile_text_is_text(page):
    page.fill("#program", HOSTILE)
    page.locator(".listing code", has_text="return -").wait_for()
    page.fill("#program", HOSTILE.replace("negate", "<i>negate"))
    page.locator(".problem").wait_for()
    assert page.locator("img").count() == 0 and page.locator("script").count() == 1


def test_the_keyboard_alone_is_enough(page):
    stops = []
    page.locator("#example").focus()
    for _ in range(14):
        stops.append(
            page.evaluate(
                "(({id, className, name, tagName}) => id || className || name || tagName)(document.activeElement)"
            )
        )
        page.keyboard.press("Tab")
    wanted = [
        "example",
        "open",
        "share",
        "theme",
        "program",
        "target-0",
        "options-button",
        "copy",
        "download",
        "listing",
        "run",
        "seed",
        "compare",
    ]
    assert [stop for stop in stops if stop in wanted] == wanted
    page.locator("#program").focus()
    page.keyboard.press("Control+Enter")
    page.locator(".card").first.wait_for()
    assert page.evaluate("document.activeElement.id") == "results"
    page.locator(".listing").focus()
    for key in ("Home", "PageDown", "ArrowUp", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    assert page.locator(".listing .cursor").count() == 1
    assert marked(page, "held")[0]
    page.keyboard.press("Escape")
    assert marked(page, "held") == ([], [])
    page.locator(".targets input:checked").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".listing code", has_text="cp.exp").wait_for()


def test_everything_has_a_name_for_screen_readers(page):
    page.click("#run")
    page.locator(".card").first.wait_for()
    page.locator(".options-button").click()
    for selector in ("button", "input:not([type=file])", "select", "textarea", "canvas", "[role]"):
        for element in page.locator(selector).all():
            if element.is_visible() and element.get_attribute("role") != "option":
                assert named(element), element.evaluate("e => e.outerHTML")
    assert page.locator("main").count() == 1 == page.locator("h1").count()
    assert page.locator("html").get_attribute("lang") == "en"


def named(element):
    """The name of an element: what labels it, or its text."""
    return element.evaluate(
        """e => (e.getAttribute('aria-label') || document.getElementById(e.getAttribute('aria-labelledby'))?.innerText
            || e.labels?.[0]?.innerText || e.innerText || '').trim() || e.getAttribute('role') === 'status'"""
    )


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (e) => { for (; e; e = e.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
    if (a === 1) return [r, g, b];
  } return [255, 255, 255]; };
  const poor = [];
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest('.waves, textarea, template, noscript, option')) continue;
    const [x, y] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${e.className} ${e.textContent.slice(0, 30)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(chromium, server, scheme):
    with shown(chromium, server.url, color_scheme=scheme, reduced_motion="reduce") as page:
        ready(page)
        page.click("#run")
        page.locator(".card").first.wait_for()
        page.locator(".options-button").click()
        page.locator(".listing code", has_text="return exp").click()
        assert page.evaluate(CONTRAST) == []
        page.fill("#program", "ENTRY main { x = f32[2] paramete(0) }")
        page.locator(".problem").wait_for()
        page.fill("#program", page.input_value("#program") + "\n")
        assert [
            each for each in page.evaluate(CONTRAST) if " stale" not in each and page.locator(".stale").count() == 0
        ] == []


def test_small_screens(chromium, server):
    with shown(chromium, server.url, viewport={"width": 360, "height": 640}) as page:
        ready(page)
        page.click("#run")
        page.locator(".card").first.wait_for()
        page.check("#compare")
        page.locator(".listing").nth(1).locator("code", has_text="cp.exp").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator("#program").bounding_box()["width"] > 300
        assert page.complaints == []


def test_a_watched_program_is_followed(chromium):
    state = {"text": HOSTILE}
    with serving(lambda: ("model.hlo", state["text"])) as server, shown(chromium, server.url) as page:
        page.locator(".listing code", has_text="return -").wait_for(timeout=60_000)
        state["text"] = HOSTILE.replace("negate", "sine")
        page.locator(".listing code", has_text="np.sin").wait_for(timeout=60_000)
        assert page.input_value("#program") == state["text"]
