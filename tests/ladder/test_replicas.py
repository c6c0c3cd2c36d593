"""Replicas on CuPy without a GPU: all of them in one process on the twin, compared with NumPy's."""

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import numpy as np

import xla2py
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.ladder.replicas import replicated
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.ladder.static import problems
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare, flatten

DIVIDED = """HloModule divided, num_partitions=4
ENTRY e {
  x = f32[2,3] parameter(0), sharding={devices=[2,2]<=[4]}
  w = f32[3] parameter(1), sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  all = f32[2,3] broadcast(w), dimensions={1}
  products = f32[2,3] multiply(x, all)
  doubled = f32[3] add(w, w)
  ROOT r = (f32[2,3], f32[3]) tuple(products, doubled),
    sharding={{devices=[2,2]<=[4]}, {devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}}
}
"""


@needs_compiler
@pytest.mark.parametrize("several", replicated(), ids=str)
def test_replicas_do_on_the_twin_what_they_do_on_numpy(several):
    emitted = xla2py.emit(several.module(), "cupy", format=False)
    assert problems(emitted.source) == []
    expected = xla2py.emit(several.module(), format=False).load().run_local(several.inputs())
    with twin():
        found = to_host(emitted.load().run_local(to_device(several.inputs())))
    leaves = compare([x for _, x in flatten(expected)], [x for _, x in flatten(found)], Budget(terms=8))
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []


@needs_compiler
def test_whole_arrays_are_split_and_joined():
    emitted = xla2py.emit(DIVIDED, "cupy", format=False)
    assert problems(emitted.source) == []
    x, w = np.arange(24, dtype=np.float32).reshape(4, 6), np.arange(6, dtype=np.float32)
    with twin():
        products, doubled = to_host(emitted.load().main(*to_device([x, w])))
    np.testing.assert_array_equal(products, x * w)
    np.testing.assert_array_equal(doubled, w + w)
