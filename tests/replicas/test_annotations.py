"""Programs from before XLA's partitioner, which only say how arrays are to be divided: they compute whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

import xla2py
from xla2py.transpile.frontends.loading import load

PROGRAM = """HloModule annotated, num_partitions=8, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["data"=2, "model"=4]>}}

ENTRY main {
  x = f32[16,8] parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}, frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"data\\"}, {}]>"}
  w = f32[8,12] parameter(1), sharding={devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}
  b = f32[13] parameter(2), sharding={devices=[8]<=[8]}
  p = f32[16,12] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[16,12] custom-call(p), custom_call_target="Sharding", sharding={devices=[2,4]<=[8]}
  n = f32[13] negate(b)
  ROOT r = (f32[16,12], f32[13]) tuple(c, n), sharding={{devices=[2,4]<=[8]}, {replicated}}
}
"""  # noqa: E501 - as XLA writes it
X, W, B = np.arange(128, dtype=np.float32).reshape(16, 8), np.ones((8, 12), np.float32), np.arange(13, dtype=np.float32)
DESCRIBED = """Whole arrays, annotated to be divided along the axes `data` (2) and `model` (4):
x: float32[16, 8], rows over `data`
w: float32[8, 12], columns over `model`
b: float32[13], elements over `data` and `model`
result 0: float32[16, 12], rows over `data`, columns over `model`
"""


@pytest.mark.parametrize("target", ["numpy", "dask"])
@pytest.mark.parametrize("counts", ["num_partitions=8, ", ""])
def test_arrays_are_whole_and_their_layout_is_described(target, counts):
    emitted = xla2py.emit(PROGRAM.replace("num_partitions=8, ", counts), target)
    assert DESCRIBED in emitted.source
    product, negated = (np.asarray(each) for each in emitted.load().main(X, W, B))
    np.testing.assert_array_equal(product, X @ W)
    np.testing.assert_array_equal(negated, -B)  # 13 elements, which no mesh of 8 divides evenly


def test_a_program_without_names_of_axes_is_described_with_numbers():
    text = PROGRAM.partition(", frontend_attributes={xla.sdy.meshes")[0] + "\n" + PROGRAM.partition("\n")[2]
    source = xla2py.emit(text).source
    assert "w: float32[8, 12], columns over `axis_1`" in source and "def main(" in source


def test_what_is_partitioned_already_stays_so():
    local = PROGRAM.replace('custom-call(p), custom_call_target="Sharding"', "negate(p)").replace(
        "xla.sdy.sharding", "no"
    )
    assert load(local).num_partitions == 8  # nothing else tells that these arrays are whole
