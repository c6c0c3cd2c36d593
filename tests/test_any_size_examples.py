"""Every example whose sizes can be free is one module for all of them, which gives what one for each size gives."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import xla2py  # noqa: E402
from xla2py.transpile.equivalence.inputs import make_inputs, nest  # noqa: E402

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))
examples = importlib.import_module("any_size")
sys.path.remove(str(EXAMPLES))

LARGER = (0, 3, 16)  # how much larger than the least a size is; later ones are larger still


@pytest.mark.parametrize("name", sorted(examples.FREE))
def test_one_module_for_all_sizes(name):
    witnesses = examples.with_free_sizes(name)
    generic = xla2py.emit(witnesses).load()
    assert set(generic.SIZES) == set(examples.FREE[name].values())
    for seed, more in enumerate(LARGER):
        sizes = {size: own[0] + own.step * (more + k * seed) for k, (size, own) in enumerate(generic.SIZES.items())}
        module = witnesses.at(sizes)
        arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module, seed))
        with np.errstate(all="ignore"):
            expected = xla2py.emit(module, format=False).load().main(*arguments)
            results = (jax.tree_util.tree_leaves(each) for each in (generic.main(*arguments), expected))
        for found, own in zip(*results, strict=True):
            assert (np.asarray(found).dtype, np.shape(found)) == (np.asarray(own).dtype, np.shape(own))
            np.testing.assert_allclose(np.asarray(found), np.asarray(own), rtol=1e-5, atol=1e-6)
