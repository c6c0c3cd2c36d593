"""Modules of the fast style have the memory of large arrays used again."""

import pytest

import xla2py

PROGRAM = """HloModule m
ENTRY e {{
  x = f32[{n},{n}] parameter(0)
  ROOT y = f32[{n},{n}] dot(x, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""


@pytest.mark.parametrize(
    ("size", "style", "is_kept"), [(256, "fast", True), (128, "fast", False), (256, "readable", False)]
)
def test_large_arrays_alone_keep_memory(size, style, is_kept):
    module = xla2py.emit(PROGRAM.format(n=size), style=style)
    assert ("np.empty(2**25" in module.source) is is_kept
    module.load()
