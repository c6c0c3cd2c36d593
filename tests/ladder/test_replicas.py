"""Replicas on CuPy without a GPU: all of them in one process on the twin, compared with NumPy's."""

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.ladder.replicas import replicated
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.ladder.static import problems
from xla2py.transpile.equivalence.comparison import Budget, compare, flatten


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
