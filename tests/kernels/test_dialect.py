"""The dialect of kernels, and what writes it in any language, know no target."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
NEUTRAL = sorted(
    path
    for pattern in ("transpile/kernels/*.py", "transpile/passes/fusion/*.py", "transpile/emission/kernel*.py")
    for path in CHECKOUT.glob(pattern)
)
WORDS = re.compile(r"cuda|warp|\bblocks?\b|thread|register|cupy|c\+\+|numba", re.IGNORECASE)


@pytest.mark.parametrize("path", NEUTRAL, ids=lambda path: path.stem)
def test_no_word_of_a_device_is_in(path):
    text = path.read_text(encoding="utf-8")
    if path.name == "__init__.py":
        text = text.partition('"""\n\n')[2]  # a description may say where renderers are
    assert WORDS.findall(text) == []
