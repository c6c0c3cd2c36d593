"""Repeated, padded and neighbouring elements by NumPy's names: what is raised, near-misses, values on each target."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.array([1, -0.0, np.nan, np.inf, 5, 6.5, -7], np.float32)
ROWS = np.arange(20, dtype=np.float32).reshape(4, 5)
CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
WHOLE = np.array([-(2**31), 2**31 - 1, 3, 2**31 - 5], np.int32)

RAISED = [
    ("differences", lambda x: jnp.diff(x), X, "return np.diff(x)"),
    ("differences", lambda x: jnp.diff(x), WHOLE, "return np.diff(x)"),
    ("differences", lambda x: jnp.diff(x, axis=0), ROWS, "return np.diff(x, axis=0)"),
    ("differences", lambda x: jnp.diff(x, n=3), ROWS, "return np.diff(x, n=3)"),
    ("differences", lambda x: jnp.diff(x, n=2, axis=0), ROWS, "return np.diff(x, n=2, axis=0)"),
    ("tilings", lambda x: jnp.tile(x, 3), X, "return np.tile(x, 3)"),
    ("tilings", lambda x: jnp.tile(x, (2, 3)), ROWS, "return np.tile(x, (2, 3))"),
    ("tilings", lambda x: jnp.tile(x, (1, 3, 1)), CUBE, "return np.tile(x, (1, 3, 1))"),
    ("tilings", lambda x: jnp.repeat(x, 3), X, "return np.repeat(x, 3)"),
    ("tilings", lambda x: jnp.repeat(x, 3, axis=0), ROWS, "return np.repeat(x, 3, axis=0)"),
    ("tilings", lambda x: jnp.repeat(x, 2, axis=-1), CUBE, "return np.repeat(x, 2, axis=-1)"),
    ("tilings", lambda x: jnp.repeat(x, 2, axis=1), CUBE, "return np.repeat(x, 2, axis=1)"),
    ("tilings", lambda x: jnp.repeat(x, 3)[:, None] * x[:2], X, "return np.repeat(x, 3)[:, None] * x[:2]"),
    ("paddings", lambda x: jnp.pad(x, 2, mode="edge"), ROWS, 'return np.pad(x, 2, mode="edge")'),
    ("paddings", lambda x: jnp.pad(x, (1, 2), mode="wrap"), X, 'return np.pad(x, (1, 2), mode="wrap")'),
    ("paddings", lambda x: jnp.pad(x, 1, mode="wrap"), X, 'return np.pad(x, 1, mode="wrap")'),
    ("paddings", lambda x: jnp.pad(x, 3, mode="reflect"), ROWS, 'return np.pad(x, 3, mode="reflect")'),
    ("paddings", lambda x: jnp.pad(x, 2, mode="symmetric"), ROWS, 'return np.pad(x, 2, mode="symmetric")'),
    (
        "paddings",
        lambda x: jnp.pad(x, ((0, 0), (2, 1)), mode="edge"),
        ROWS,
        'return np.pad(x, ((0, 0), (2, 1)), mode="edge")',
    ),
    ("paddings", lambda x: jnp.pad(x, 1, mode="wrap"), CUBE, 'return np.pad(x, 1, mode="wrap")'),
]


@pytest.mark.parametrize(("without", "function", "x", "expected"), RAISED)
def test_movements(without, function, x, expected):
    before, after = hlo(function, x), optimised(function, x)
    assert main(before) == expected and main(after) == expected
    assert expected.split("(")[0] not in main(before, disable_passes=[without])
    assert_agrees(before, x, without=without, budget=EXACT)


test_other_movements = cases("differences", ROWS, says=lambda name: lacks(f"np.{name}("), budget=EXACT)(
    (lambda x: x[1:] - x[1:][::-1], "diff"),
    (lambda x: x[:-1] - x[1:], "diff"),
    (lambda x: x[1:] ^ x[:-1], X > 1, "diff"),
    (lambda x: x[2:] - x[:-2], "diff"),
    (lambda x: x[1:] + x[:-1], "diff"),
    (lambda x: x[1:-1] - x[:-2], "diff"),
    (lambda x: x[1:, 1:] - x[:-1, :-1], "diff"),
    (lambda x: x[1:, 1:] - x[:-1, 1:], "diff"),
    (lambda x: jnp.broadcast_to(x[:, None], (4, 3, 5)).reshape(3, 20), "tile"),
    (lambda x: jnp.broadcast_to(x[:, None], (4, 3, 5)).reshape(12, 5)[None] + jnp.zeros((2, 1, 1)), "tile"),
    (lambda x: jnp.broadcast_to(x[:, None, :, None], (4, 3, 5, 2)).reshape(12, 10), "repeat"),
    (lambda x: jnp.broadcast_to(x, (3, 4, 5)).reshape(3, 20), "tile"),
    (
        lambda x: (y := jnp.broadcast_to(x[:, :, None], (4, 5, 3))).reshape(4, 15)[:, :3] + jnp.cumsum(y, axis=2)[:, 0],
        "repeat",
    ),
    (lambda x: jnp.broadcast_to(x[:, None], (4, 3, 5)), "repeat"),
    (lambda x: jnp.concatenate([x[-1:], x]), "pad"),
    (lambda x: jnp.concatenate([x[:1], x, x[:1]]), "pad"),
    (lambda x: jnp.concatenate([x[1:3], x, x[-3:-1]]), "pad"),
    (lambda x: jnp.concatenate([x[:1], x, x[-1:]], 1) if x.ndim == 1 else jnp.concatenate([x, x, x]), "pad"),
    (lambda x: jnp.concatenate([x[-1:, ::-1], x, x[:1]]), "pad"),
    (lambda x: jnp.concatenate([x[-1:] * 2, x, x[:1]]), "pad"),
)


def test_of_nothing():
    empty = np.zeros((0, 3), np.float32)
    for function in (lambda x: jnp.tile(x, (2, 2)), lambda x: jnp.repeat(x, 2, axis=1), lambda x: jnp.diff(x, axis=1)):
        text = hlo(function, empty)
        assert_agrees(text, empty, without="tilings", budget=EXACT)


ENLARGED = [
    (lambda x: jax.image.resize(x, (12, 5), "nearest"), ROWS, "return np.repeat(x, 3, axis=0)"),
    (lambda x: jax.image.resize(x, (4, 10), "nearest"), ROWS, "return np.repeat(x, 2, axis=-1)"),
    (lambda x: x[jnp.arange(140) // 20], X, "return np.repeat(x, 20)"),
    (
        lambda x: x[jnp.floor((jnp.arange(80) + 0.5) / 20).astype(int)],
        X,
        "return x[np.arange(80, dtype=np.int32) // 20]",
    ),
]


@pytest.mark.parametrize(("function", "x", "expected"), ENLARGED)
def test_what_is_enlarged_is_repeated(function, x, expected):
    text = hlo(function, x)
    assert main(text) == expected
    assert_agrees(text, x, without="repeated_positions", budget=EXACT)
    assert "repeat" not in xla2py.emit(text, "cupy", style="fast").source  # kernels read where it is computed


def test_other_positions_are_not_repeated():
    for function in (lambda x: x[jnp.arange(8) // 2 * 2], lambda x: x[(jnp.arange(8) + 1) // 2], lambda x: x[::2]):
        text = hlo(function, ROWS[:, :4].reshape(16))
        assert "repeat" not in main(text)
        assert_agrees(text, ROWS[:, :4].reshape(16), without="constants", budget=EXACT)


def test_targets():
    text = hlo(lambda x: (jnp.tile(x, (2, 3)), jnp.pad(x, 1, mode="wrap"), jnp.diff(x)), ROWS)
    source = xla2py.emit(text, "cupy").source
    assert all(part in source for part in ("cp.tile(x, (2, 3))", 'cp.pad(x, 1, mode="wrap")', "cp.diff(x)"))
    assert not any(part in xla2py.emit(text, "dask").source for part in ("tile(x", "mode=", "diff("))
