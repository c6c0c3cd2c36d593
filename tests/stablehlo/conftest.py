"""The forms of the installed jaxlib where they differ from those that the reader writes."""

from functools import cache

import pytest


@cache
def at_hand(name, word):
    """A function as the jaxlib at hand writes it out: jaxlib compiles it, once for all tests."""
    from xla2py.tests.stablehlo.write_expansions import expansion

    return expansion(name, word)


@pytest.fixture
def forms_of_jaxlib(monkeypatch):
    """Our reader writes out functions as the jaxlib at hand does.

    Ours are those of jaxlib 0.10, but for digamma, which polygamma takes: at 0 it is -infinity, as in version 0.12, not
    NaN. The asin of that version is one arc tangent, which is less exact.
    """
    jaxlib = pytest.importorskip("jaxlib")
    others = ("asin",) if jaxlib.version.__version_info__ >= (0, 12) else ("digamma", "polygamma")
    from xla2py.tests.stablehlo.write_expansions import OPERATIONS
    from xla2py.transpile.stablehlo import expansions

    words = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "c64": "complex<f32>", "c128": "complex<f64>"}
    own = expansions.expanded

    def expanded(name, element_type):
        if name not in others:
            return own(name, element_type)
        word = words.get(element_type.name)
        return at_hand(name, word) if word in OPERATIONS[name] else None

    monkeypatch.setattr(expansions, "expanded", expanded)
