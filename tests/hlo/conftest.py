"""Fixtures that the tests of the language share."""

import pytest

from xla2py.tests.hlo.parsing import GRAMMAR
from xla2py.transpile.hlo.parser import parse_module


@pytest.fixture(scope="session")
def grammar():
    """The modules of the files in ``grammar/``, by name."""
    return {path.stem: parse_module(path.read_text()) for path in sorted(GRAMMAR.glob("*.hlo"))}
