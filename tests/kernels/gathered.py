"""Programs that gather, with indices inside, behind both ends and before zero, for tests of kernels in any language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from xla2py.tests.recording.lazy_jax import jax, jnp, lax


def floats(*shape: int) -> Any:
    """Return normal numbers of a shape, which are the same in every process."""
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def indices(size: int, *shape: int, dtype: Any = np.int32) -> Any:
    """Numbers from -size - 3 to size + 2, or as far as the type goes."""
    low = -size - 3 if np.issubdtype(dtype, np.signedinteger) else 0
    return np.random.default_rng((size, *shape)).integers(low, size + 3, shape).astype(dtype)


def normalised_rows(table: Any, at: Any, scale: Any) -> Any:
    x = table[at]
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def narrow(table: Any, at: Any) -> Any:
    return jnp.take(table, at, axis=0) * 2


def in_a_loop(table: Any, start: Any) -> Any:
    return lax.fori_loop(0, 7, lambda k, at: (table[at] + k) % 11, start)


def concatenated(x: Any, at: Any) -> Any:
    return jnp.concatenate([x[at] * 2, x + 1])


def of_what_is_computed(x: Any, at: Any) -> Any:
    exp = jnp.exp(x)
    return exp, exp[at] + 1


def enlarged(x: Any) -> Any:
    return jax.image.resize(x, (2, 6, 8, 5), "nearest")


ROWS, COLUMNS = np.array([3, 1, 1, 0, 2]), np.array([0, 4, 2])
TABLE = floats(9, 40)
PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "filled": (lambda x, at, y: jnp.take(x, at, axis=0) * 8 + y, [TABLE, indices(9, 4, 5), floats(5, 40)]),
    "filled, middle axis": (lambda x, at: jnp.take(x, at, axis=1) - 1, [floats(3, 9, 5), indices(9, 4)]),
    "filled with a number": (lambda x, at: x.at[at].get(mode="fill", fill_value=3) + 1, [TABLE, indices(9, 6)]),
    "filled integers": (lambda x, at: jnp.take(x, at) * 3, [np.arange(7, dtype=np.int32), indices(7, 20)]),
    "clamped": (lambda x, at: jnp.tanh(x.at[at].get(mode="clip")), [TABLE, indices(9, 6)]),
    "along an axis": (lambda x, at: jnp.take_along_axis(x, at, 1) * 2 + 1, [TABLE, indices(40, 9, 3)]),
    "along an axis, clamped": (
        lambda x, at: jnp.take_along_axis(x, at, 0, mode="clip") * 2,
        [floats(9, 4, 3), indices(9, 2, 4, 3)],
    ),
    "two indices": (lambda x, i, j: jnp.exp(x[i, j]), [TABLE, indices(9, 6, 1), indices(40, 5)]),
    "two indices, rows": (lambda x, i, j: x[i, j] * 2, [floats(4, 5, 6), indices(4, 3), indices(5, 3)]),
    "an order that keeps no type": (lambda k, x: lax.sort((k, x), 0, num_keys=1)[1], [floats(9, 4), floats(9, 4)]),
    "enlarged": (enlarged, [floats(2, 3, 4, 5)]),
    "axis after axis": (lambda x: x[:, ROWS][:, :, COLUMNS] * 2, [floats(2, 4, 5)]),
    "axis before axis": (lambda x: x[:, :, COLUMNS][:, ROWS] * 2, [floats(2, 4, 5, 3)]),
    "axes apart": (lambda x: x[ROWS][:, :, COLUMNS] * 2, [floats(4, 2, 5)]),
    "narrow indices": (lambda x, at: x[at] * 2, [floats(50), indices(50, 30, dtype=np.int8)]),
    "indices without a sign": (lambda x, at: jnp.take(x, at) * 2, [floats(20), indices(20, 30, dtype=np.uint32)]),
    "narrow floats": (narrow, [TABLE.astype(ml_dtypes.bfloat16), indices(9, 6)]),
    "rows": (normalised_rows, [TABLE, indices(9, 12), floats(40)]),
    "in a loop": (in_a_loop, [np.arange(3, 14, dtype=np.int32), indices(11, 6)]),
    "in a piece": (concatenated, [floats(16), indices(16, 9)]),
    "of what is computed": (of_what_is_computed, [floats(30), indices(30, 8)]),
    "of a part": (lambda x, at: jnp.sin(x[2:7, ::2][at]) * 2, [TABLE, indices(5, 6)]),
}


def expected(name: str) -> list[Any]:
    """The results by XLA."""
    function, arguments = PROGRAMS[name]
    return jax.tree.leaves(jax.jit(function)(*arguments))
