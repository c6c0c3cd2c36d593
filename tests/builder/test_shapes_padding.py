"""The shapes seeds, "Padding": padded_dimensions of the older seed, the tail padding of the newer one."""

from __future__ import annotations

import numpy as np

from xla2py.transpile.hlo.builder import S8, ArrayShape, Layout, byte_size, is_padding, make_shape, parse_shape
from xla2py.transpile.hlo.indexing import to_buffer
from xla2py.transpile.hlo.layouts import physical_size

LETTERS = np.frombuffer(b"abcdef", np.int8).reshape(2, 3)

PADDED = ArrayShape(S8, (2, 3), layout=Layout((0, 1), padded_dimensions=(3, 5)))


def test_the_padded_array_of_the_seed() -> None:
    assert to_buffer(LETTERS, PADDED).tobytes().replace(bytes(1), b"0") == b"ad0be0cf0000000"
    assert is_padding(PADDED, range(15)).tolist() == [byte == "0" for byte in "ad0be0cf0000000"]


def test_it_is_the_layout_of_the_wider_array() -> None:
    wider = np.zeros((3, 5), np.int8)
    wider[:2, :3] = LETTERS
    np.testing.assert_array_equal(to_buffer(LETTERS, PADDED), to_buffer(wider, make_shape(S8, [3, 5], [0, 1])))


def test_the_number_of_elements_is_padded_to_a_multiple() -> None:
    shape = parse_shape("s8[2,3]{1,0:T(2,2)L(16)}")
    assert isinstance(shape, ArrayShape)
    assert (physical_size(shape), byte_size(shape)) == (16, 16)
    assert to_buffer(LETTERS, shape).tobytes().replace(bytes(1), b"0") == b"abdec0f000000000"
