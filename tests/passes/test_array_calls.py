"""``np.gradient``, ``np.kron``, ``np.meshgrid`` and ``np.trapezoid``: what JAX composes and array libraries have."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, cases, lacks
from xla2py.tests.recording.lazy_jax import jnp

LINE = np.array([1, -2, 0.5, np.inf, 3, 4, np.nan, 7], np.float32)
SMOOTH = np.array([1, -2, 0.5, 9, 3, 4, -0.0, 7], np.float32)
TABLE = np.arange(35, dtype=np.float32).reshape(5, 7) ** 2
CUBE = np.arange(120, dtype=np.float32).reshape(5, 4, 6) ** 2
SQUARE = np.arange(49, dtype=np.float32).reshape(7, 7) ** 2
A = np.array([[1, -2], [np.nan, 0]], np.float32)
B = np.array([[3, -0.0, np.inf], [1, 2, 3]], np.float32)

test_gradients = cases("gradients", LINE)(
    (lambda x: jnp.gradient(x), "return np.gradient(x)"),
    (lambda x: jnp.gradient(x, 0.1), "return np.gradient(x, 0.1)"),
    (lambda x: jnp.gradient(x, -2.0), "return np.gradient(x, -2)"),
    (lambda x, h: jnp.gradient(x, h), (LINE, np.float32(0.3)), "return np.gradient(x, h)"),
    (lambda x, h: jnp.gradient(x, h), (LINE, np.float32(0)), "return np.gradient(x, h)"),
    (lambda x: jnp.gradient(x, 0.1, axis=0), TABLE, "return np.gradient(x, 0.1, axis=0)"),
    (lambda x: jnp.gradient(x)[1], TABLE, "return np.gradient(x, axis=1)"),
    (lambda x: jnp.gradient(x.astype(jnp.int32)), SMOOTH, "np.gradient("),
    (lambda x: jnp.gradient(x.T)[0], TABLE, "return np.gradient(x, axis=1).T"),
    (lambda x: jnp.gradient(x.T, 0.1)[1], TABLE, "return np.gradient(x, 0.1, axis=0).T"),
    (lambda x: jnp.gradient(x[:, 1])[0], CUBE, "return np.gradient(x[:, 1], axis=0)"),
    (lambda x: jnp.gradient(x[2], axis=1), CUBE, "return np.gradient(x[2], axis=1)"),
)

test_what_is_no_gradient = cases("gradients", LINE, claims=[STAYS])(
    lambda x: jnp.concatenate([x[1:2] - x[:1], (x[2:] - x[:-2]) * 0.25, x[7:] - x[6:7]]),
    lambda x: jnp.concatenate([x[2:3] - x[1:2], (x[2:] - x[:-2]) * 0.5, x[7:] - x[6:7]]),
    lambda x: jnp.concatenate([x[1:2] - x[:1], (x[2:] - x[:-2]) * 0.5, x[6:7] - x[7:]]),
    lambda x: jnp.concatenate([(x[1:2] - x[:1]) / 0.1, (x[2:] - x[:-2]) / 0.3, (x[7:] - x[6:7]) / 0.1]),
    lambda x: jnp.concatenate([x[1:2] - x[:1], (x[3:] - x[:-3]) * 0.5, x[7:] - x[6:7]]),
    lambda x: jnp.gradient(x[:2]),
    lambda x: jnp.gradient(x[:3]),
    lambda x: jnp.gradient(x.astype(jnp.float16)),
    (lambda x: jnp.stack([x[1, 1] - x[0, 0], *(x[2:, 1] - x[:-2, 1]) * 0.5, x[4, 1] - x[3, 1]]), CUBE[:, :, 0]),
    (lambda x: jnp.concatenate([(x[1] - x[0])[None], (x[:, 2:] - x[:, :-2]).T * 0.5, (x[6] - x[5])[None]]), SQUARE),
)

test_kroneckers = cases("kroneckers", A, B, budget=EXACT)(
    (lambda a, b: jnp.kron(a, b), "return np.kron(a, b)"),
    (lambda a, b: jnp.kron(b, a), "return np.kron(b, a)"),
    (lambda a, b: jnp.kron(jnp.kron(a, b), a), "return np.kron(np.kron(a, b), a)"),
    (lambda a, b: jnp.kron(jnp.eye(2), b), "np.kron(np.eye(2, dtype=np.float32), b)"),
)

test_what_is_no_kronecker = cases("kroneckers", A, B, claims=[STAYS], budget=EXACT)(
    lambda a, b: jnp.kron(a[0], b[0]),
    lambda a, b: (a[:, None, :, None] * b[:, None]).reshape(2, 12),
    lambda a, b: (a[:, :, None, None] * b).reshape(4, 6),
    lambda a, b: (a[:, None, :, None] + b[:, None]).reshape(4, 6),
)

X, Y, Z = (np.arange(n, dtype=np.float32) - 1 for n in (3, 4, 5))

test_grids = cases("grids", X, Y, budget=EXACT)(
    (lambda x, y: jnp.stack(jnp.meshgrid(x, y), -1), "= np.meshgrid(x, y)"),
    (lambda x, y: jnp.stack(jnp.meshgrid(x, y, indexing="ij")), '= np.meshgrid(x, y, indexing="ij")'),
    (lambda x, y, z: jnp.stack(jnp.meshgrid(x, y, z), -1), (X, Y, Z), "= np.meshgrid(x, y, z)"),
    (lambda x, y, z: jnp.stack(jnp.meshgrid(x, y, z, indexing="ij")), (X, Y, Z), 'z, indexing="ij")'),
    (lambda x, y: jnp.stack(jnp.meshgrid(x, x), -1).reshape(-1, 2), "= np.meshgrid(x, x)"),
)

test_what_is_no_grid = cases("grids", X, Y, claims=[STAYS], budget=EXACT)(
    lambda x, y: jnp.stack(jnp.meshgrid(x, y)[:1], -1),
    lambda x, y: jnp.stack([jnp.broadcast_to(x, (3, 3)), jnp.broadcast_to(x, (3, 3))]),
    lambda x, y: jnp.stack([jnp.broadcast_to(y[0], (3, 3)), jnp.broadcast_to(x, (3, 3))]),
    lambda x, y: jnp.stack(jnp.meshgrid(x, y, sparse=True)[:1]),
)

test_trapezoids = cases("trapezoids", SMOOTH, SMOOTH**2)(
    (lambda y, x: jnp.trapezoid(y, x), "return np.trapezoid(y, x)"),
    (lambda y, x: jnp.trapezoid(y, x), (TABLE, TABLE[0]), "return np.trapezoid(y, x)"),
    (lambda y, x: jnp.trapezoid(y, x), (TABLE, TABLE - 1), "return np.trapezoid(y, x)"),
    (lambda y, x: jnp.trapezoid(y, x), (LINE, SMOOTH), "return np.trapezoid(y, x)"),
)

test_what_is_no_trapezoid = cases("trapezoids", SMOOTH, SMOOTH**2, says=lacks, claims=[lacks("np.trapezoid")])(
    lambda y, x: jnp.sum((x[1:] - x[:-1]) * (y[1:] - y[:-1])) * 0.5,
    lambda y, x: jnp.sum((x[2:] - x[1:-1]) * (y[1:-1] + y[:-2])) * 0.5,
    lambda y, x: jnp.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) * 0.25,
    lambda y, x: jnp.trapezoid(y.astype(jnp.float16), x.astype(jnp.float16)),
)
