"""Arrays that were cut and are joined again, and what devices exchange in pieces of one array."""

from itertools import pairwise

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import entry, main

SHAPE = (2, 6, 4)


def cut(dimension: int, *bounds: int) -> list[str]:
    """Lines that cut ``x`` along a dimension between the bounds: p0, p1, .."""
    lines = ["x = f32[2,6,4] parameter(0)"]
    for k, (start, stop) in enumerate(pairwise(bounds)):
        sizes = [stop - start if d == dimension else size for d, size in enumerate(SHAPE)]
        taken = [f"[{start}:{stop}]" if d == dimension else f"[0:{size}]" for d, size in enumerate(SHAPE)]
        shape = ",".join(map(str, sizes))
        lines.append(f"p{k} = f32[{shape}] slice(x), slice={{{', '.join(taken)}}}")
    return lines


@pytest.mark.parametrize(
    ("bounds", "root", "expected"),
    [
        ((0, 2, 4, 6), "r = f32[2,6,4] concatenate(p0, p1, p2), dimensions={1}", "return x"),
        ((0, 1, 2), "r = f32[2,2,4] concatenate(p0, p1), dimensions={1}", "return x[:, :2]"),
        ((1, 3, 5), "r = f32[2,4,4] concatenate(p0, p1), dimensions={1}", "return x[:, 1:5]"),
        ((0, 2, 4), "r = f32[2,4,4] concatenate(p1, p0), dimensions={1}", "np.concatenate"),
        ((0, 2, 4), "r = f32[4,2,4] concatenate(p0, p1), dimensions={0}", "np.concatenate"),
        ((0, 1, 2, 3), "r = f32[6,1,4] concatenate(p0, p1, p2), dimensions={0}", "np.concatenate"),
    ],
)
def test_what_is_joined_as_it_was_cut_is_not_cut(bounds, root, expected):
    text = entry(*cut(1, *bounds), root)
    assert expected in main(text)
    assert xla2py.check(text.encode()).is_good


def exchanging(*lines: str) -> str:
    text = "\n".join([*lines[:-1], f"ROOT {lines[-1]}"])
    return f"HloModule m, num_partitions=3\nENTRY main {{\n{text}\n}}"


@pytest.mark.parametrize(
    ("dimension", "bounds", "part", "call"),
    [
        (1, (0, 2, 4, 6), "f32[2,2,4]", "g.all_to_all(x, axis=1)"),
        (1, (0, 1, 2, 3), "f32[2,1,4]", "g.all_to_all(x[:, :3], axis=1)"),
        (2, (1, 2, 3, 4), "f32[2,6,1]", "g.all_to_all(x[..., 1:], axis=2)"),
        (1, (0, 1, 3, 4), None, None),
    ],
)
def test_pieces_of_one_array_are_exchanged_by_one_call(dimension, bounds, part, call):
    lines = cut(dimension, *bounds)
    if part is None:  # pieces of other lengths cannot be exchanged at all: here two are swapped
        lines, part = cut(1, 0, 2, 4, 6), "f32[2,2,4]"
        lines.append(f"a = ({part}, {part}, {part}) all-to-all(p1, p0, p2), channel_id=1, replica_groups={{{{0,1,2}}}}")
    else:
        lines.append(f"a = ({part}, {part}, {part}) all-to-all(p0, p1, p2), channel_id=1, replica_groups={{{{0,1,2}}}}")
    lines += [f"g{k} = {part} get-tuple-element(a), index={k}" for k in range(3)]
    sizes = [3 * n if d == dimension else n for d, n in enumerate(map(int, part[4:-1].split(",")))]
    joined = f"f32[{','.join(map(str, sizes))}]"
    whole = exchanging(*lines, f"r = {joined} concatenate(g0, g1, g2), dimensions={{{dimension}}}")
    apart = exchanging(*lines, f"r = {part} subtract(g2, g0)")
    source = xla2py.emit(whole).source
    if call is None:
        assert "g.all_to_all(np.stack([" in source
    else:
        assert call in source and "concatenate" not in source.split("\nclass ")[0]
        assert "np.stack([" not in xla2py.emit(apart).source.split("\nclass ")[0]
    for text in (whole, apart):
        assert xla2py.check(text.encode()).is_good


def test_an_array_beside_its_reverse_is_no_array_in_pieces():
    x = np.arange(2, dtype=np.float32)
    text = (
        "ENTRY main { x = f32[2,1] parameter(0)  y = f32[1,2] reshape(x)  z = f32[1,2] reverse(y), dimensions={0,1}\n"
    )
    made = xla2py.load(text + "ROOT r = f32[1,6] concatenate(z, z, y), dimensions={1} }")
    found = xla2py.emit(made).load().main(x[:, None])
    np.testing.assert_array_equal(found, np.float32([[1, 0, 1, 0, 0, 1]]))
