"""Groups and pairs of many devices are written as the loops that make them."""

import importlib.util

import numpy as np
import pytest

import xla2py
from xla2py.targets.numpy import TARGET as NUMPY
from xla2py.transpile.array.node import DeviceGroups, DevicePairs
from xla2py.transpile.emission import texts
from xla2py.transpile.emission.expression import Renderer

NUMBERS = np.arange(4096)
GROUPS = [
    (NUMBERS[:2048].reshape(64, 32), "[range(i, i + 32) for i in range(0, 2048, 32)]"),
    (NUMBERS[:2048].reshape(64, 32).T, "[range(i, i + 2048, 32) for i in range(32)]"),
    (
        NUMBERS.reshape(4, 8, 16, 8).transpose(0, 2, 3, 1).reshape(512, 8),
        "[range(i + j, i + j + 1024, 128) for i in range(0, 4096, 1024) for j in range(128)]",
    ),
    (
        NUMBERS.reshape(4, 8, 16, 8).transpose(0, 2, 1, 3).reshape(64, 64),
        "[[i + j + k + m for k in range(0, 1024, 128) for m in range(8)] "
        "for i in range(0, 4096, 1024) for j in range(0, 128, 8)]",
    ),
    (NUMBERS[:64].reshape(8, 8).T.reshape(1, 64), "[[i + j for i in range(8) for j in range(0, 64, 8)]]"),
    (NUMBERS[64:128].reshape(8, 8), "[range(i + 64, i + 64 + 8) for i in range(0, 64, 8)]"),
]
PAIRS = [
    ([(k, (k + 1) % 2048) for k in range(2048)], "[(i, (i + 1) % 2048) for i in range(2048)]"),
    ([(k, k + 1) for k in range(2047)], "[(i, i + 1) for i in range(2047)]"),
    ([(k, k - 1) for k in range(1, 2048)], "[(i + 1, i) for i in range(2047)]"),
    (
        [(k + i, k + (i + 3) % 8) for k in range(0, 512, 8) for i in range(8)],
        "[(i + j, i + (j + 3) % 8) for i in range(0, 512, 8) for j in range(8)]",
    ),
    (
        [(k + i, k + (i + 64) % 512) for k in range(64) for i in range(0, 512, 64)],
        "[(i + j, i + (j + 64) % 512) for i in range(64) for j in range(0, 512, 64)]",
    ),
    (
        [(k + s, k + t) for k in range(0, 256, 2) for s, t in ((0, 1), (1, 0))],
        "[(i + source, i + target) for i in range(0, 256, 2) for source, target in ((0, 1), (1, 0))]",
    ),
]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        *((DeviceGroups(tuple(map(tuple, groups.tolist()))), text) for groups, text in GROUPS),
        *((DevicePairs(tuple(pairs)), text) for pairs, text in PAIRS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_written_as_loops(item, text):
    assert Renderer(NUMPY.macros, "np").argument(item, ()) == text
    assert tuple(map(tuple, eval(text))) == item.lists


@pytest.mark.parametrize("seed", range(20))
def test_any_order_is_right(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 4)
    numbers = np.arange(sizes.prod()).reshape(sizes).transpose(rng.permutation(4))
    groups = numbers.reshape(sizes[: seed % 4].prod() and numbers.shape[0], -1) if seed % 2 else numbers.reshape(-1, 1)
    irregular = rng.permutation(64).reshape(8, 8)
    for lists in (groups, irregular):
        item = DeviceGroups(tuple(map(tuple, lists.tolist())))
        assert tuple(map(tuple, eval(Renderer(NUMPY.macros, "np").argument(item, ())))) == item.lists


def test_few_are_listed():
    renderer = Renderer(NUMPY.macros, "np")
    assert renderer.argument(DeviceGroups(((0, 2), (1, 3))), ()) == "((0, 2), (1, 3))"
    assert renderer.argument(DevicePairs(((0, 1), (1, 0))), ()) == "((0, 1), (1, 0))"


PROGRAM = """HloModule many, replica_count=64
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[3] parameter(0)  s = f32[3] all-reduce(x), replica_groups=[8,8]<=[8,8]T(1,0), to_apply=add
  ROOT r = f32[3] collective-permute(s), source_target_pairs=PAIRS }
"""


def test_the_loops_run():
    ring = ",".join(f"{{{k},{(k + 1) % 64}}}" for k in range(64))
    generated = xla2py.emit(PROGRAM.replace("PAIRS", f"{{{ring}}}"))
    assert "groups=[range(i, i + 64, 8) for i in range(8)]" in generated.source
    assert "[(i, (i + 1) % 64) for i in range(64)]" in generated.source
    namespace = {}
    exec(compile(generated.source, "emitted", "exec"), namespace)
    inputs = np.arange(64 * 3, dtype=np.float32).reshape(64, 3)
    results = namespace["run_local"]([(x,) for x in inputs])
    sums = inputs.reshape(8, 8, 3).sum(axis=0)  # of the devices that leave the same remainder by 8
    np.testing.assert_array_equal(np.stack(results), np.roll(np.tile(sums, (8, 1)), 1, axis=0))


@pytest.fixture
def small(monkeypatch):
    """Four replicas whose groups and pairs are written as thousands' are."""
    monkeypatch.setattr(texts, "LONGEST_LISTED", 0)
    text = PROGRAM.replace("64", "4").replace("[8,8]<=[8,8]", "[2,2]<=[2,2]")
    return text.replace("PAIRS", "{{0,1},{1,2},{2,3},{3,0}}")


def test_the_loops_run_on_a_cluster(small, workers, tmp_path):
    generated = xla2py.emit(small, "dask")
    assert "groups=[range(i, i + 4, 2) for i in range(2)]" in generated.source
    assert "in range(4)]" in generated.source
    generated.save(tmp_path / "looped.py")
    spec = importlib.util.spec_from_file_location("looped", tmp_path / "looped.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = [(np.float32([k, 10 * k, 100 * k]),) for k in range(4)]
    expected = np.array([[4, 40, 400], [2, 20, 200]] * 2, np.float32)
    for results in (module.run_local(arguments), module.run_replicas(workers.client, arguments, timeout=30)):
        np.testing.assert_array_equal(np.stack(results), expected)


def test_groups_of_several_calls_are_named_once():
    second = "t = f32[3] all-reduce(s), replica_groups=[8,8]<=[8,8]T(1,0), to_apply=add"
    twice = PROGRAM.replace(
        "  ROOT r = f32[3] collective-permute(s)", f"  {second}\n  ROOT r = f32[3] collective-permute(t)"
    )
    source = xla2py.emit(twice.replace("PAIRS", "{{0,1}}")).source
    assert source.count("GROUPS = [range(i, i + 64, 8) for i in range(8)]") == 1
    assert source.count("groups=GROUPS") == 2 and source.count("range(i, i + 64, 8)") == 1


def test_thousands_of_devices_take_few_lines():
    text = PROGRAM.replace("64", "2048").replace("[8,8]<=[8,8]T(1,0)", "[64,32]<=[2048]").replace("PAIRS", "{{0,1}}")
    for target in ("numpy", "cupy", "dask"):
        source = xla2py.emit(text, target).source
        assert "groups=[range(i, i + 32) for i in range(0, 2048, 32)]" in source
        assert max(map(len, source.splitlines())) < 120
