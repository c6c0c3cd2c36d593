"""The generated documents are those that the code would write now."""

from pathlib import Path

import pytest

from xla2py.documentation.write import PAGES

CHECKOUT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_document_is_current(name):
    written = (CHECKOUT / name).read_text(encoding="utf-8")
    assert written == PAGES[name](CHECKOUT), "run: make docs"
