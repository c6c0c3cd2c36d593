"""Worked examples of the shapes-and-layouts documents, old and new.

What needs no program (indices, buffers, padding) is in ``tests/hlo/test_layouts.py`` and ``test_indexing.py``.
"""

import numpy as np

import xla2py
from xla2py.tests.seeds.examples import example, proven
from xla2py.transpile.hlo.element_types import BF16
from xla2py.transpile.hlo.shapes import ArrayShape, Layout

LETTERS = np.frombuffer(b"abcdef", np.int8).reshape(2, 3)

EXAMPLES = [
    example(
        "minor_to_major [0, 1]: a d b e c f",
        "x = s8[2,3]{0,1} parameter(0)\nROOT r = s8[6]{0} bitcast(x)",
        (LETTERS,),
        np.frombuffer(b"adbecf", np.int8),
    ),
    example(
        "minor_to_major [1, 0]: a b c d e f",
        "x = s8[2,3]{1,0} parameter(0)\nROOT r = s8[6]{0} bitcast(x)",
        (LETTERS,),
        np.frombuffer(b"abcdef", np.int8),
    ),
    example(
        "the default order is major to minor",
        "x = s8[2,3] parameter(0)\nROOT r = s8[6] bitcast(x)",
        (LETTERS,),
        np.frombuffer(b"abcdef", np.int8),
    ),
    example(
        "a column-major buffer read as row-major is the transpose",
        "x = s8[2,3]{0,1} parameter(0)\nROOT r = s8[3,2]{1,0} bitcast(x)",
        (LETTERS,),
        LETTERS.T.copy(),
    ),
    example(
        "copy changes the layout, not the value",
        "x = s8[2,3]{0,1} parameter(0)\nROOT r = s8[2,3]{1,0} copy(x)",
        (LETTERS,),
        LETTERS,
    ),
    example(
        "size 0 is a size",
        "x = f32[0,3] parameter(0)\nROOT r = f32[0,3] negate(x)",
        (np.zeros((0, 3), np.float32),),
        np.zeros((0, 3), np.float32),
    ),
]


test_worked_examples = proven(EXAMPLES, on_xla=False)  # which has no bitcasts in text


def test_the_instruction_with_tiles():
    module = xla2py.load("""HloModule newer
    ENTRY main {
      exponential.183 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)} parameter(0)
      broadcast.3115 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)} parameter(1)
      ROOT add.936 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}
                     add(exponential.183, broadcast.3115)
    }""")
    root = module.entry.root
    layout = Layout((3, 2, 0, 1), ((8, 128), (2, 1)))
    assert root.name == "add.936" and root.opcode == "add"
    assert root.shape == ArrayShape(BF16, (8, 1, 1280, 16384), layout=layout)
    assert [operand.name for operand in root.operands] == ["exponential.183", "broadcast.3115"]


def test_the_instruction_in_another_memory_space():
    module = xla2py.load("""HloModule newer
    %all-reduce-scatter.3 (p: bf16[32,32,8192]) -> bf16[32,32,4096] {
      %p = bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)} parameter(0)
      ROOT %s = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)} slice(%p), slice={[0:32], [0:32], [0:4096]}
    }
    ENTRY %main {
      %fusion.32 = bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)} parameter(0)
      ROOT %fusion.3 = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}
            fusion(bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)} %fusion.32),
            kind=kCustom, calls=%all-reduce-scatter.3
    }""")
    root = module.entry.root
    assert root["kind"] == "kCustom"
    assert [called.name for called in root.called] == ["all-reduce-scatter.3"]
    assert root.shape == ArrayShape(BF16, (32, 32, 4096), layout=Layout((2, 1, 0), ((8, 128), (2, 1)), memory_space=1))
