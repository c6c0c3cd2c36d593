"""The page of a differential test: in a browser, with hostile programs, and how large it gets."""

from contextlib import nullcontext
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import xla2py
from xla2py.tests.equivalence.broken_templates import broken_addition
from xla2py.tests.pages.browser import browser, shown
from xla2py.transpile.equivalence import checking
from xla2py.transpile.equivalence.checking import Checker, Plan
from xla2py.transpile.equivalence.reports.html import report_to_html
from xla2py.transpile.equivalence.reports.results import CheckReport
from xla2py.transpile.pages.charts import chart

ROOT = Path(__file__).parents[2]
ATTENTION = "examples/hlo/attention.before.hlo"
HOSTILE = """
HloModule hostile
// </script><img src=x onerror=alert(1)> \u202e
ENTRY main {
  x = f32[3] parameter(0), metadata={op_name="</details><img src=x onerror=alert(2)>"}
  y = f32[3] parameter(1)
  ROOT z = f32[3] add(x, y), metadata={source_file="</code><script>alert(3)</script>.py" source_line=3}
}
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """One program is right; attention divides by another number; the hostile one is emitted wrongly."""
    folder = tmp_path_factory.mktemp("broken")

    def faulty(module, target, **options):
        fault = module.name if target == "numpy" else ""
        with broken_addition(folder) if fault == "hostile" else nullcontext():
            generated = xla2py.emit(module, target, **options)
        if fault != "jit_attention":
            return generated
        return replace(generated, source=generated.source.replace("/ 5.656854", "/ 5.65"))

    plan = Plan(("numpy", "dask"), lockstep=True, options={"sources": ROOT})
    with pytest.MonkeyPatch.context() as patch, Checker(plan) as checker:
        patch.setattr(checking, "emit", faulty)
        for path in ("examples/hlo/kmeans.before.hlo", ATTENTION):
            checker.check(xla2py.load(ROOT / path), path)
        checker.check(xla2py.load(HOSTILE.encode()), '"><img src=x onerror=alert(4)>.hlo')
        return checker.report()


@pytest.fixture(scope="module")
def path(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_to_html(report), "utf-8")
    return path


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


class Elements(HTMLParser):
    """The tags of a page, and what may be of each: attributes and the tags that must be closed."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in ("meta", "input", "rect", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("rect", "line"):
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_nothing_of_a_program_becomes_markup(report):
    page = report_to_html(report)
    elements = Elements(page)
    assert not elements.open
    tags = [tag for tag, _ in elements.found]
    assert tags.count("script") == 1 and "img" not in tags
    assert "\u202e" not in page and "\\u202e" in page
    for tag, attributes in elements.found:
        assert not {"src", "style", *(name for name in attributes if name.startswith("on"))} & set(attributes)
        assert tag not in ("link", "iframe", "object")
        assert attributes.get("href", "#").startswith("#")


def test_fifty_programs_are_less_than_five_megabytes(report):
    programs = []
    for path in sorted((ROOT / "examples" / "hlo").glob("*.before.hlo")):
        module = xla2py.load(path)
        emitted = {target: xla2py.emit(module, target, format=False) for target in ("numpy",)}
        programs.append(replace(report.programs[0], name=module.name, path=path.name, emitted=emitted))
    size = len(report_to_html(CheckReport(tuple(programs))).encode())
    assert size / len(programs) < 5_000_000 / 50


def test_bars_are_as_high_as_the_logarithm_of_their_counts():
    found = chart("Errors", "ULP", (0.0, 0.5, 1e-4), (99_999, 0, 9, 1), 2, is_bad=True)
    assert [bar.label for bar in found.bars] == ["0", "0.5", "1e-4", "more", "NaN ∞"]
    assert [round(bar.height, 2) for bar in found.bars] == [1.0, 0.0, 0.2, 0.06, 0.1]
    assert [bar.is_outside for bar in found.bars] == [False, False, False, True, True]
    assert [bar.shown_count for bar in found.bars] == ["100k", "", "9", "1", "2"]
    assert found.text.startswith("Errors: equal: 99,999; at most 1e-4 ULP: 9; more than 1e-4 ULP: 1; NaN")


def programs_shown(page):
    return [part.get_attribute("data-name") for part in page.locator(".program:visible").all()]


@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize("scheme, background", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 27, 35)")])
def test_it_fits_the_screen_in_light_and_dark(chromium, path, scheme, background, width):
    colour = "getComputedStyle(document.querySelector('.program')).backgroundColor"
    settings = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    with shown(chromium, path, **settings) as page:
        assert page.evaluate(colour) == background
        for part in page.locator(".program > summary").all()[2:]:
            part.click()
        page.locator(".code:not([open]) > summary").last.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator("#theme").click()
        assert page.evaluate(colour) != background
        assert page.complaints == []
        assert len(page.requests) == 1


def test_what_differs_comes_first_and_open(chromium, path):
    with shown(chromium, path) as page:
        assert page.locator("main h2").first.inner_text() == "2 of 3 programs differ"
        names = programs_shown(page)
        assert names[0] == ATTENTION and "kmeans" in names[2]
        assert [part.get_attribute("open") for part in page.locator(".program").all()] == ["", "", None]
        card = page.locator(".program").first.locator(".card").first
        assert "first goes wrong at" in card.inner_text() and "examples/attention.py:10" in card.inner_text()
        assert card.locator("figure").count() == 2


def test_a_jump_holds_the_line_and_hovering_lights_what_is_linked(chromium, path):
    with shown(chromium, path) as page:
        program = page.locator(".program").first
        program.locator(".jump").click()
        held = program.locator("[data-pane=python]:visible .held").all_inner_texts()
        assert len(held) == 1 and "/ 5.65" in held[0]
        assert any("divide(" in line for line in program.locator("[data-pane=hlo] .held").all_inner_texts())
        assert any("jnp.einsum" in line for line in program.locator("[data-pane=source] .held").all_inner_texts())
        program.locator("[data-target=numpy] [data-s]", has_text="return weights @").hover()
        related = program.locator("[data-pane=hlo] .related").all_inner_texts()
        assert related and all("dot_general" in line for line in related)


def test_the_python_of_another_target_is_a_tab_away(chromium, path):
    with shown(chromium, path) as page:
        program = page.locator(".program").first
        tab = program.locator("[data-target=numpy] .tab", has_text="dask")
        tab.focus()
        page.keyboard.press("Enter")
        assert program.locator("[data-target=numpy]").is_hidden()
        dask = program.locator("[data-target=dask]")
        assert "import dask" in dask.inner_text()
        assert page.evaluate("document.activeElement.textContent") == "dask"
        dask.locator("[data-s]", has_text="return").last.hover()
        assert program.locator("[data-pane=hlo] .related").count()


def test_programs_are_filtered_by_status_and_name_with_the_keyboard(chromium, path):
    with shown(chromium, path) as page:
        everything = programs_shown(page)
        chip = page.locator(".filter button[data-status=differs]")
        chip.focus()
        page.keyboard.press("Space")
        assert chip.get_attribute("aria-pressed") == "true"
        differing = programs_shown(page)
        assert differing and not any("kmeans" in name for name in differing)
        rows = page.locator("tr[data-name]:visible").all()
        assert [row.get_attribute("data-name") for row in rows] == differing
        page.keyboard.press("Space")
        assert programs_shown(page) == everything
        page.locator("#name").fill("KMEANS")
        assert programs_shown(page) == ["examples/hlo/kmeans.before.hlo"]
        assert page.locator("#shown").inner_text() == "1 of 3 shown"


def test_the_summary_leads_to_a_program_and_opens_it(chromium, path):
    with shown(chromium, path) as page:
        page.locator("tr[data-name*=kmeans] a").click()
        program = page.locator(".program[data-name*=kmeans]")
        page.wait_for_function("document.querySelector('.program[data-name*=kmeans]').open")
        code = program.locator(".code")
        code.locator("summary").focus()
        page.keyboard.press("Enter")
        code.locator("[data-target=numpy] [data-s]", has_text="argmin").first.hover()
        assert code.locator("[data-pane=hlo] .related").count()
        assert page.complaints == []


def test_hostile_text_does_nothing_in_a_browser(chromium, path):
    with shown(chromium, path) as page:
        program = page.locator(".program[data-name*=onerror]")
        assert "alert(1)" in program.locator("[data-pane=hlo]").inner_text()
        assert "</code><script>alert(3)" in program.locator(".card").first.inner_text()
        assert page.complaints == []
        assert len(page.requests) == 1
