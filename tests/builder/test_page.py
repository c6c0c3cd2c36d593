"""The page of the builder's operations: complete and true."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from xla2py.documentation.builder import becomes
from xla2py.transpile.hlo import builder
from xla2py.transpile.hlo.builder import XlaBuilder
from xla2py.transpile.hlo.builder.examples import example, operations

PAGE = Path(__file__).parents[2] / "docs" / "builder.md"
BLOCKS = re.findall(r"```python\n(>>> .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_operation_has_a_docstring_and_an_example() -> None:
    for name in operations():
        assert getattr(XlaBuilder, name).__doc__, name
        assert example(name).operation == name


def test_the_page_has_every_operation() -> None:
    assert sorted(re.findall(r"^#### `(\w+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == sorted(operations())


@pytest.mark.parametrize("part", range(8))
def test_the_page_is_true(part: int) -> None:
    assert len(BLOCKS) > 150
    runner = doctest.DocTestRunner(verbose=False)
    parser = doctest.DocTestParser()
    for number, block in enumerate(BLOCKS[part::8]):
        runner.run(parser.get_doctest(block, {"becomes": becomes, **vars(builder)}, f"block {number}", str(PAGE), 0))
    assert runner.summarize(verbose=False).failed == 0
