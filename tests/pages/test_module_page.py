"""The page of a module: what it holds, that nothing in it can run or load anything, and that it works in a browser."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import xla2py
from xla2py.tests.pages.browser import browser, shown
from xla2py.transpile.errors import UsageError
from xla2py.transpile.pages import module_page, write_page
from xla2py.transpile.pages.highlight import LONGEST_LINE, hlo_lines, python_lines, visible
from xla2py.transpile.pages.panes import make_panes

ROOT = Path(__file__).parents[2]
HOSTILE = """
HloModule hostile, entry_computation_layout={(f32[3]{0})->f32[3]{0}}
// </script><script>alert(1)</script> \u202e
ENTRY main {
  x = f32[3] parameter(0), metadata={op_name="<img src=x onerror=alert(1)>"}
  ROOT y = f32[3] negate(x), metadata={source_file="</code><script>alert(2)</script>.py" source_line=3}
}
"""


def emitted(name, **options):
    return xla2py.emit(xla2py.load(ROOT / "examples" / "hlo" / f"{name}.hlo"), sources=ROOT, **options)


class Elements(HTMLParser):
    """The tags of a page and their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.mark.parametrize("name", ["attention.before", "kmeans.after", "transformer_block.before"])
def test_panes_hold_the_texts_line_by_line(name):
    generated = emitted(name)
    hlo, python, source = make_panes(generated)
    for pane, text in ((hlo, generated.program.original.source.text), (python, generated.source)):
        shown_lines = ["".join(token.text for token in row.tokens) for row in pane.rows]
        assert shown_lines[: len(text.splitlines())] == [line[:LONGEST_LINE] for line in text.splitlines()]
    statements = {number for row in python.rows for number in row.statements}
    assert statements == {number for row in hlo.rows for number in row.statements}
    assert {number for row in source.rows for number in row.places} == {n for row in hlo.rows for n in row.places}
    assert statements


def test_a_module_without_text_is_printed():
    module = replace(xla2py.load("ENTRY main { x = f32[3] parameter(0) ROOT y = f32[3] negate(x) }"), source=None)
    hlo, python = make_panes(xla2py.emit(module))
    (row,) = [row for row in hlo.rows if any("negate" in token.text for token in row.tokens)]
    assert [r.tokens for r in python.rows if r.statements == row.statements]


def test_nothing_of_the_module_becomes_markup():
    page = module_page(xla2py.emit(HOSTILE))
    tags = [tag for tag, _ in Elements(page).found]
    assert tags.count("script") == 1
    assert "img" not in tags
    assert "\u202e" not in page and "\\u202e" in page
    assert not any(name.startswith("on") for _, attributes in Elements(page).found for name in attributes)


def test_a_page_refers_to_nothing_outside_and_forbids_it():
    page = module_page(emitted("attention.before"))
    for tag, attributes in Elements(page).found:
        assert tag not in ("link", "iframe", "object", "img")
        assert not {"src", "href", "style"} & set(attributes)
    policy = next(a["content"] for t, a in Elements(page).found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"url\(|@import|https?:", page.split("</style>")[0])


def test_colours_keep_the_text():
    text = 'def f(x):\n    """Doc\n    string."""\n    return f"{x!r}" + \'é\'  # done\n\tbroken = (\n'
    assert ["".join(t.text for t in line) for line in python_lines(text)] == [visible(s) for s in text.split("\n")]
    kinds = {token.text: token.kind for line in python_lines(text) for token in line}
    assert (kinds["def"], kinds["f"], kinds["# done"]) == ("keyword", "definition", "comment")
    (line,) = hlo_lines('  ROOT a.1 = f32[2,3]{1,0} add(b, c), dimensions={0}, metadata={op_name="}x"}')
    kinds = {token.kind: token.text for token in line}
    assert kinds["type"] == "f32[2,3]{1,0}"
    assert kinds["opcode"] == "add"
    assert kinds["metadata"] == 'metadata={op_name="}x"}'
    (line,) = hlo_lines("constant({" + "1, " * 100_000 + "1})")
    assert sum(len(token.text) for token in line) < LONGEST_LINE + 100


def test_only_pages_are_overwritten(tmp_path):
    path = tmp_path / "page.html"
    page = module_page(xla2py.emit(HOSTILE))
    write_page(page, path)
    write_page(page, path)
    path.write_text("notes")
    with pytest.raises(UsageError) as error:
        write_page(page, path)
    assert error.value.diagnostics[0].code == "XP640"
    write_page(page, path, force=True)
    assert path.read_text("utf-8") == page


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


@pytest.fixture
def page_of(tmp_path):
    def write(generated):
        path = tmp_path / "page.html"
        path.write_text(module_page(generated), "utf-8")
        return path

    return write


def texts(page, pane, kind):
    return page.locator(f"[data-pane={pane}] .rows > .{kind}").all_inner_texts()


def test_hovering_lights_what_belongs_together(chromium, page_of):
    with shown(chromium, page_of(emitted("attention.before"))) as page:
        page.locator("[data-pane=python] code", has_text="return weights @").hover()
        (python,) = texts(page, "python", "related")
        hlo = texts(page, "hlo", "related")
        (source,) = texts(page, "source", "related")
        assert python.strip().startswith("return")
        assert all("dot_general" in line for line in hlo) and hlo
        assert "jnp.einsum" in source
        page.locator("[data-pane=source] code", has_text="jax.nn.softmax").hover()
        assert any("softmax" in line for line in texts(page, "python", "related"))
        assert not any("return" in line for line in texts(page, "python", "related"))
        assert page.complaints == []
        assert len(page.requests) == 1


def test_a_click_brings_the_other_panes_into_view_and_keys_do_all_of_it(chromium, page_of):
    with shown(chromium, page_of(emitted("threefry_sampling.after"))) as page:
        rows = page.locator("[data-pane=python] [data-s]")
        rows.last.scroll_into_view_if_needed()
        rows.last.click()
        assert texts(page, "python", "held")
        held = page.locator("[data-pane=hlo] .held").first
        pane, line = page.locator("[data-pane=hlo] .rows").bounding_box(), held.bounding_box()
        assert pane["y"] <= line["y"] <= pane["y"] + pane["height"]
        page.keyboard.press("Escape")
        assert not texts(page, "hlo", "held")
        page.locator("[data-pane=python] .rows").focus()
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            page.keyboard.press(key)
        assert len(texts(page, "python", "cursor")) == 1
        assert texts(page, "hlo", "held")
        page.keyboard.press("ArrowLeft")
        assert len(texts(page, "hlo", "cursor")) == 1
        assert page.complaints == []


def test_a_click_on_a_softmax_brings_what_gives_its_value_into_view(chromium, page_of):
    with shown(chromium, page_of(emitted("attention.before"))) as page:
        page.locator("[data-pane=python] code", has_text="= softmax(").click()
        (row,) = page.locator("[data-pane=hlo] .held[data-m]").all()
        assert " divide(" in row.inner_text()  # reducers, the maximum and the sum stand far above
        pane, line = page.locator("[data-pane=hlo] .rows").bounding_box(), row.bounding_box()
        assert pane["y"] <= line["y"] <= pane["y"] + pane["height"]
        page.keyboard.press("ArrowLeft")
        assert texts(page, "hlo", "cursor") == [row.inner_text()]
        assert page.complaints == []


@pytest.mark.parametrize("scheme, background", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 27, 35)")])
def test_light_and_dark(chromium, page_of, scheme, background):
    colour = "getComputedStyle(document.querySelector('.pane')).backgroundColor"
    with shown(chromium, page_of(emitted("attention.before")), color_scheme=scheme) as page:
        assert page.evaluate(colour) == background
        page.locator("#theme").click()
        assert page.evaluate(colour) != background


def test_small_screens_show_the_panes_below_each_other(chromium, page_of):
    with shown(chromium, page_of(emitted("attention.before")), viewport={"width": 400, "height": 800}) as page:
        boxes = [box.bounding_box() for box in page.locator(".pane").all()]
        assert len({box["x"] for box in boxes}) == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_hostile_text_does_nothing_in_a_browser(chromium, page_of):
    with shown(chromium, page_of(xla2py.emit(HOSTILE))) as page:
        assert "alert(1)" in page.locator("[data-pane=hlo]").inner_text()
        assert page.complaints == []
        assert len(page.requests) == 1
