"""The generated documents are those that the code would write now, and no paragraph of any page is long."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from xla2py.documentation.write import PAGES

CHECKOUT = Path(__file__).parents[1]
READ = [*sorted((CHECKOUT / "docs").glob("*.md")), *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md"))]
READ += [CHECKOUT / "examples" / "README.md", CHECKOUT / "generated" / "README.md"]
MOST_WORDS = 80
_ITEM = re.compile(r"([-*+]|\d+\.) ")
_CODE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)


# The page of programs of libraries: tests/test_library_programs.py, which emits them.
@pytest.mark.parametrize("name", sorted({*PAGES} - {"docs/library_programs.md"}))
def test_a_generated_document_is_current(name):
    written = (CHECKOUT / name).read_text(encoding="utf-8")
    assert written == PAGES[name](CHECKOUT), "run: make docs"


@pytest.mark.parametrize("page", READ, ids=[page.name for page in READ])
def test_no_paragraph_is_long(page):
    long = [text for text in paragraphs(page.read_text(encoding="utf-8")) if len(text.split()) > MOST_WORDS]
    assert not long, f"more than {MOST_WORDS} words: " + "\n\n".join(long)


NAMES = (CHECKOUT / "docs" / "names.md").read_text(encoding="utf-8")
HINTS = re.findall(r"^\| \d+ \| (.*?) \| `(.*?)` \| (.*?) \|$", NAMES, re.MULTILINE)


@pytest.mark.parametrize(("hint", "line", "place"), HINTS, ids=[line.split(" ")[0] for _, line, _ in HINTS])
def test_a_line_with_a_hint_stands_where_the_page_says(hint, line, place):
    file = re.search(r"\((.*)\)", place)
    part = {"above, with sources": "sources", "above, from the HLO": "alone"}.get(place)
    text = NAMES.partition(f"<!-- {part}:begin -->")[2].partition(f"<!-- {part}:end -->")[0]
    text = (CHECKOUT / "docs" / file[1]).read_text(encoding="utf-8") if file else text
    assert any(each.strip().startswith(line) for each in text.splitlines()), f"{hint}: no line '{line}' {place}"


def test_links_of_all_pages_lead_somewhere():
    broken = []
    for page in [*CHECKOUT.glob("*.md"), *READ]:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
            linked = page.parent / target if target else page
            is_there = "://" in target or linked.exists()
            if not is_there or (anchor and linked.suffix == ".md" and anchor not in anchors(linked)):
                broken.append(f"{page.name}: {target}#{anchor}")
    assert not broken


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, where GitHub and the site give the same."""
    headings = re.findall(r"^#+ (.*)$", _CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    names = (re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings)
    return {name for name in names if "--" not in name}


def test_the_site_lists_all_pages():
    menu = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    assert sorted(re.findall(r"\w+\.md", menu)) == sorted(page.name for page in (CHECKOUT / "docs").glob("*.md"))


def test_what_a_paragraph_is():
    text = "a b\nc\n\n- d\n  e\n- f\n\n```text\nnot this\n```\n| nor | this |\n## nor this\n1. g\n"
    assert list(paragraphs(text)) == ["a b c", "- d e", "- f", "1. g"]


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a page: items of lists by themselves, without blocks of code, tables and headings."""
    lines: list[str] = []
    for line in [*map(str.strip, _CODE.sub("", text).splitlines()), ""]:
        is_text = bool(line) and not line.startswith(("|", "#"))
        if lines and (not is_text or _ITEM.match(line)):
            yield " ".join(lines)
            lines = []
        lines += [line] if is_text else []
