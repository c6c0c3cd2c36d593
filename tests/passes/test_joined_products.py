"""Products of joined arrays: parts are multiplied before they are gathered, repeated and added."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from xla2py.tests.kernels.gathered import floats, indices
from xla2py.tests.passes.test_early_gathers import code, emitted
from xla2py.tests.recording.lazy_jax import jax, jnp

NODES, EDGES, WEIGHTS = floats(8, 32), floats(256, 32), floats(96, 32)
SENDERS, RECEIVERS = indices(8, 256), indices(8, 256)
NOT_FINITE = NODES.copy()
NOT_FINITE[:2, :2] = [[np.nan, np.inf], [-np.inf, 0]]


def messages(nodes, edges, senders, receivers, w):
    return jax.nn.relu(jnp.concatenate([edges, nodes[senders], nodes[receivers]], axis=1) @ w)


GRAPH = [NODES, EDGES, SENDERS, RECEIVERS, WEIGHTS]
PROGRAMS = {
    "messages": (messages, GRAPH),
    "not finite": (messages, [NOT_FINITE, *GRAPH[1:]]),
    "out of bounds": (messages, [NODES, EDGES, SENDERS - 12, RECEIVERS + 5, WEIGHTS]),
    "weights turned": (lambda x, e, i, j, w: jnp.concatenate([x[i], e, x[j]], 1) @ w.T, [*GRAPH[:4], WEIGHTS.T.copy()]),
    "neighbours stay joined": (
        lambda x, e, i, w: jnp.concatenate([e, e * 2, x[i]], axis=1) @ w,
        [NODES, EDGES, SENDERS, WEIGHTS],
    ),
    "a row of all": (
        lambda e, u, w: jnp.concatenate([e, jnp.broadcast_to(u, (256, 64))], 1) @ w + 1,
        [EDGES, floats(64), WEIGHTS],
    ),
    "a number": (
        lambda e, x, i, w: jnp.concatenate([e, x[i], jnp.zeros((256, 32), "f4")], 1) @ w,
        [EDGES, NODES, SENDERS, np.where(WEIGHTS > 1, np.inf, WEIGHTS)],
    ),
    "a number for each": (
        lambda x, i, j, w: jnp.concatenate([x[i], x[j]], 1) @ w,
        [floats(40, 32), indices(40, 1024), indices(40, 1024), WEIGHTS[:64, :1]],
    ),
    "batches": (
        lambda x, e, i, w: jnp.concatenate([e, x[:, i]], axis=2) @ w,
        [floats(3, 8, 32), floats(3, 256, 32), SENDERS, WEIGHTS[:64]],
    ),
}
OTHERS = {
    "more nodes than edges": (messages, [floats(300, 32), EDGES, SENDERS, RECEIVERS, WEIGHTS]),
    "small": (messages, [NODES[:, :2], EDGES[:, :2], SENDERS, RECEIVERS, WEIGHTS[:6, :4]]),
    "used twice": (
        lambda x, e, i, w: (y := jnp.concatenate([e, x[i]], axis=1), y @ w),
        [NODES, EDGES, SENDERS, WEIGHTS[:64]],
    ),
    "elements along rows": (
        lambda x, e, i, w: jnp.concatenate([e, jnp.take_along_axis(x, i, 0)], axis=1) @ w,
        [NODES, EDGES, indices(8, 256, 32), WEIGHTS[:64]],
    ),
    "rows below rows": (
        lambda x, e, i, w: jnp.concatenate([e, x[i]], axis=0) @ w,
        [NODES, EDGES, SENDERS, WEIGHTS[:32]],
    ),
    "sums of 16 bits": (messages, [x.astype(np.float16) if x.dtype == "f4" else x for x in GRAPH]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_are_multiplied_first(name):
    parts, whole = (emitted(*PROGRAMS[name], style="fast", disable_passes=off) for off in ([], ["joined_products"]))
    assert code(parts) != code(whole)
    assert parts.source.count("concatenate(") < whole.source.count("concatenate(") or name == "neighbours stay joined"
    function, arguments = PROGRAMS[name]
    found = parts.load(keep_compiled=False).main(*arguments)
    np.testing.assert_allclose(found, jax.jit(function)(*arguments), 2e-5, 5e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_not_pay_stays_joined(name):
    parts, whole = (emitted(*OTHERS[name], style="fast", disable_passes=off) for off in ([], ["joined_products"]))
    assert code(parts) == code(whole)
