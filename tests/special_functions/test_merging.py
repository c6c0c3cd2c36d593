"""One text stands for the types in which a function is written alike."""

import pytest

from xla2py.tests.special_functions.merging import merge, plain_form
from xla2py.transpile.passes.special_functions.library import _texts_in

F32 = """// scaled, as JAX writes it.
// numbers that arguments leave: 2.5
HloModule pattern

ENTRY main {
  x = f32[2] parameter(0)
  half = f32[] constant(0.5)
  halves = f32[2] broadcast(half), dimensions={}
  factor = f32[] constant(2.5)
  factors = f32[2] broadcast(factor), dimensions={}
  product = f32[2] multiply(x, factors)
  ROOT sum = f32[2] add(product, halves)
}
"""
F64 = """// scaled, as JAX writes it.
// numbers that arguments leave: 2.25
HloModule pattern

ENTRY main {
  a = f64[2] parameter(0)
  b = f64[] constant(2.25)
  c = f64[2] broadcast(b), dimensions={}
  d = f64[2] multiply(a, c)
  e = f64[] constant(0.5)
  f = f64[2] broadcast(e), dimensions={}
  ROOT g = f64[2] add(d, f)
}
"""


def written(folder):
    """The texts in a folder by their types, each with its numbers and those that arguments leave."""
    found = [text for path in sorted(folder.glob("*.hlo")) for text in _texts_in(path)]
    return {each.kind: (each.written, each.numbers, each.kept) for each in found}


@pytest.mark.parametrize(
    ("other", "files"), [(F64, 1), (F64.replace("add(d, f)", "add(f, d)"), 2), (F64.replace("add(d", "subtract(d"), 2)]
)
def test_texts_that_differ_by_types_and_numbers_are_one_file(tmp_path, other, files):
    (tmp_path / "scaled.f32.hlo").write_text(F32)
    (tmp_path / "scaled.f64.hlo").write_text(other)
    merge(tmp_path)
    assert len(list(tmp_path.glob("*.hlo"))) == files
    found = written(tmp_path)
    for kind, text, kept in (("f32", F32, 2.5), ("f64", other, 2.25)):
        assert plain_form(found[kind][0]) == plain_form(text)
        assert found[kind][1:] == ({0.5, kept}, {kept})
    merge(tmp_path)  # again
    assert written(tmp_path) == found
