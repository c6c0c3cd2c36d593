"""The newer shapes seed, "Memory space identifiers"."""

from __future__ import annotations

import pytest

from xla2py.transpile.hlo.builder import ArrayShape, Layout, XlaBuilder, parse_shape
from xla2py.transpile.hlo.layouts import memory_space_name
from xla2py.transpile.hlo.printer import print_module


@pytest.mark.parametrize(
    ("space", "name"),
    [
        (0, "high-bandwidth memory (HBM)"),
        (1, "vector memory (VMEM)"),
        (2, "device-specific memory space 2"),
        (3, "device-specific memory space 3"),
        (5, "host memory"),
    ],
)
def test_the_names_of_memory_spaces(space: int, name: str) -> None:
    assert memory_space_name(space) == name


def test_the_fusion_s_shape_keeps_its_memory_space() -> None:
    text = "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}"
    shape = parse_shape(text)
    assert isinstance(shape, ArrayShape)
    assert shape.layout == Layout((2, 1, 0), ((8, 128), (2, 1)), memory_space=1)
    b = XlaBuilder("fusion")
    b.parameter(0, shape, "fusion.32")
    assert f"fusion.32 = {text} parameter(0)" in print_module(b.build())


def test_s_0_is_left_out() -> None:
    assert str(parse_shape("f32[2]{0:S(0)}")) == "f32[2]{0}"
