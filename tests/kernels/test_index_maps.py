"""Index arithmetic of kernels against what NumPy's own views read."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st

from xla2py.transpile.array.graph import Graph
from xla2py.transpile.array.value import FULL, NEW
from xla2py.transpile.hlo.element_types import S32
from xla2py.transpile.kernels.index_maps import Offset, Term, identity, is_view, offset, through


def read(place, count):
    """The places that an offset gives for the elements of a loop."""
    at = np.arange(count)
    found = np.full(count, place.start)
    for term in place.terms:
        part = at // term.divisor
        found += (part if term.modulus is None else part % term.modulus) * term.factor
    return found


@st.composite
def views(draw):
    """(array of its own places, view nodes from the array outwards, what NumPy sees through them)."""
    graph = Graph()
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    array = np.arange(prod(shape)).reshape(shape)
    node, chain = graph.parameter(shape, S32, graph.root), []
    for kind in draw(st.lists(st.sampled_from(["transpose", "getitem", "expand", "broadcast_to"]), max_size=4)):
        if kind == "transpose":
            axes = tuple(draw(st.permutations(range(array.ndim))))
            array, settings = array.transpose(axes), {"axes": axes}
        elif kind == "broadcast_to":
            wide = tuple(draw(st.integers(1, 3)) if size == 1 else size for size in array.shape)
            array, settings = np.broadcast_to(array, (2, *wide)), {}
        else:
            index = [draw(items(size, kind)) for size in array.shape]
            if kind == "expand":
                index.insert(draw(st.integers(0, len(index))), NEW)
            array = array[
                tuple(
                    slice(*item) if isinstance(item, tuple) else slice(None) if item == FULL else item for item in index
                )
            ]
            settings = {"index": tuple(index)}
        node = graph.add(kind, (node,), shape=array.shape, **settings)
        chain.append(node)
    return shape, chain, array


def items(size, kind):
    if kind == "expand":
        return st.just(FULL)
    steps = st.sampled_from([(None, None, None), (None, None, -1), (size // 2, None, None), (None, None, 2)])
    return st.one_of(st.just(FULL), st.integers(-size, size - 1), steps)


@given(views())
def test_offsets_read_what_views_show(case):
    shape, chain, seen = case
    if not all(map(is_view, chain)):
        pytest.fail("each of these is a view")
    at = identity(seen.shape)
    for node in reversed(chain):
        at = through(node, at)
    assert read(offset(at, shape, seen.shape), seen.size).tolist() == seen.ravel().tolist()


def test_arithmetic_is_as_short_as_it_can_be():
    loop = (2, 3, 4)
    whole = identity(loop)
    assert offset(whole, loop, loop).is_own
    assert offset(whole[2:], (4,), loop) == Offset(0, (Term(1, 4, 1),))
    assert offset(whole[:2], (2, 3), loop) == Offset(0, (Term(4, None, 1),))
    assert offset((whole[1],), (3,), loop) == Offset(0, (Term(4, 3, 1),))
