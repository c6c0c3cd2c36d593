import itertools
import textwrap

import pytest

from xla2py.transpile.hlo.element_types import BF16, F32, S4
from xla2py.transpile.hlo.indexing import linear_index
from xla2py.transpile.hlo.layout_drawing import draw_layout
from xla2py.transpile.hlo.shapes import TOKEN, ArrayShape, BufferShape, Layout, TupleShape
from xla2py.transpile.hlo.source import HloVerificationError, UnsupportedError


def tiled(element_type, sizes, order, *tiles, **fields):
    return ArrayShape(element_type, sizes, layout=Layout(order, tiles, **fields))


def test_figure_1_of_the_tiled_layout_document():
    assert draw_layout(tiled(F32, (3, 5), (1, 0), (2, 2))) == textwrap.dedent("""\
        f32[3,5]{1,0:T(2,2)}

        elements      15 of 4 bytes; rank 2, true rank 2
        buffer        24 places, 96 bytes, of which 9 (37.5%) are padding
        order         dimension 1 varies fastest, then 0
        tile          (2,2) turns 3 x 5 into 2 x 3 x 2 x 2
        memory space  high-bandwidth memory (HBM)
        linear index  (i0 // 2) * 12 + (i1 // 2) * 4 + (i0 % 2) * 2 + i1 % 2

        where each element lies (3 x 5)

           0  1 |  4  5 |  8
           2  3 |  6  7 | 10
        --------------------
          12 13 | 16 17 | 20

        the buffer, place by place (. is padding)

          0 [0,0] [0,1] [1,0] [1,1] [0,2] [0,3] [1,2] [1,3] [0,4]     . [1,4]     . [2,0] [2,1]     .     .
         16 [2,2] [2,3]     .     . [2,4]     .     .     .""")


def test_the_column_major_array_of_the_seed():
    text = draw_layout(tiled(F32, (2, 3), (0, 1)))
    assert "order         dimension 0 varies fastest, then 1" in text
    assert "\n  0 2 4\n  1 3 5\n" in text
    assert text.endswith(" 0 [0,0] [1,0] [0,1] [1,1] [0,2] [1,2]")


def test_leading_dimensions_get_a_table_each():
    text = draw_layout(tiled(S4, (2, 1, 3), (2, 1, 0), element_size_in_bits=4))
    assert "6 of 4 bits" in text
    assert "[0, :, :]\n  0 1 2\n\n[1, :, :]\n  3 4 5" in text


def test_padding_and_memory_space_are_named():
    text = draw_layout(
        tiled(F32, (2, 3), (0, 1), padded_dimensions=(3, 5), tail_padding_alignment_in_elements=4, memory_space=5)
    )
    assert "16 places, 64 bytes, of which 10 (62.5%) are padding" in text
    assert "padded to     3 x 5" in text
    assert "tail padding  to a multiple of 4 elements" in text
    assert "memory space  host memory" in text


def test_a_large_shape_is_summarised():
    text = draw_layout(tiled(BF16, (8, 1, 1280, 16384), (3, 2, 0, 1), (8, 128), (2, 1), memory_space=1))
    assert "tile          (8,128) turns 1 x 8 x 1280 x 16384 into 1 x 8 x 160 x 128 x 8 x 128" in text
    assert "335,544,320 bytes, no padding" in text
    assert "vector memory (VMEM)" in text
    assert "where each element lies" not in text


def test_a_wide_table_is_left_out():
    assert "where each element lies" not in draw_layout(tiled(F32, (1, 400), (1, 0)))


@pytest.mark.parametrize(
    "shape",
    [
        tiled(F32, (), ()),
        tiled(F32, (7,), (0,), (None,)),
        tiled(F32, (5,), (0,), (2, 4)),
        tiled(F32, (3, 5), (0, 1), (2, 4), (2, 1, 1, 1), tail_padding_alignment_in_elements=32),
        tiled(F32, (3, 5), (1, 0), (2, 4), padded_dimensions=(4, 6)),
        tiled(F32, (2, 3, 5), (2, 0, 1), (2, None, 4)),
        tiled(F32, (2, 3, 5), (1, 0, 2), (None, 4, 2), (3, 1)),
        tiled(F32, (1, 9, 1, 17), (0, 3, 2, 1), (4, 8), (2, 1)),
    ],
    ids=str,
)
def test_the_formula_is_the_linear_index(shape):
    line = next(line for line in draw_layout(shape).splitlines() if line.startswith("linear index"))
    formula = compile(line.removeprefix("linear index").strip(), "formula", "eval")
    for index in itertools.product(*map(range, shape.dimensions)):
        names = {f"i{dimension}": i for dimension, i in enumerate(index)}
        assert eval(formula, {}, names) == linear_index(shape, index)


def test_every_place_of_the_buffer_is_drawn_once():
    shape = tiled(F32, (3, 5), (0, 1), (2, 4), (2, 1, 1, 1), tail_padding_alignment_in_elements=32)
    cells = draw_layout(shape).split("(. is padding)")[1].split()
    elements = [cell for cell in cells if cell.startswith("[")]
    assert len(elements) == len(set(elements)) == 15
    assert cells.count(".") == 32 - 15


def test_parts_of_a_tuple():
    text = draw_layout(TupleShape((tiled(F32, (2,), (0,)), TupleShape((TOKEN, BufferShape(tiled(F32, (), ())))))))
    assert "{0}: f32[2]{0}\n\nelements      2 of 4 bytes" in text
    assert "{1,0}: token[]\n\nholds no array" in text
    assert "{1,1}: b(f32[])\n\nelements      1 of 4 bytes; rank 0, true rank 0\nbuffer        1 place, 4 bytes" in text
    assert draw_layout(TupleShape(())) == "()\n\nholds no array"


def test_empty_and_dynamic_arrays():
    assert "0 places, 0 bytes, no padding" in draw_layout(tiled(F32, (0, 3), (1, 0)))
    assert "8 of 4 bytes (at its bounds)" in draw_layout(ArrayShape(F32, (4, 2), (True, False)))


def test_shapes_without_a_drawing():
    with pytest.raises(HloVerificationError, match="XP280"):
        draw_layout(tiled(F32, (2, 3), (0, 0)))
    with pytest.raises(UnsupportedError, match="XP380"):
        draw_layout(tiled(F32, (8, 8), (1, 0), dim_level_types=("D", "C")))
