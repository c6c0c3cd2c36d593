"""The forms of the installed jaxlib where they differ from those of jaxlib 0.10, which the reader writes."""

from functools import cache

import pytest


@pytest.fixture
def forms_of_jaxlib(monkeypatch):
    """Our reader writes out three functions as the jaxlib at hand does.

    Version 0.12 writes asin with one arc tangent, and digamma, which polygamma takes, is -infinity at 0. Ours are
    those of 0.10: they give what the XLA gives that all values are compared with.
    """
    jaxlib = pytest.importorskip("jaxlib")
    if jaxlib.version.__version_info__ < (0, 12):
        return
    from xla2py.tests.stablehlo.write_expansions import OPERATIONS, expansion
    from xla2py.transpile.stablehlo import expansions

    words = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "c64": "complex<f32>", "c128": "complex<f64>"}
    own, at_hand = expansions.expanded, cache(expansion)

    def expanded(name, element_type):
        if name not in ("asin", "digamma", "polygamma"):
            return own(name, element_type)
        word = words.get(element_type.name)
        return at_hand(name, word) if word in OPERATIONS[name] else None

    monkeypatch.setattr(expansions, "expanded", expanded)
