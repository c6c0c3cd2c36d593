"""Elements that a mask chooses, gathered, computed and put back: a choice by the mask among all elements."""

import numpy as np

from xla2py.tests.passes.raising import CHANGES, EXACT, STAYS, cases, lacks
from xla2py.tests.recording.lazy_jax import jnp

X = np.array([3, -1, 0.5, np.nan, -2, 7, np.inf, 1], np.float32)
Y = np.arange(8, dtype=np.float32) - 3
K = np.array([5, 2**31 - 1, 0, -4, 9, 1, 2, 3], np.int32)


def places(mask, **more):
    return jnp.nonzero(mask, **{"size": 8, "fill_value": 8, **more})[0]


def at(mask, value, update="set", **more):
    """Where ``mask(x)`` holds, ``value(x, y)`` of the elements there."""

    def function(x, y):
        inside = places(mask(x), **more)
        return getattr(x.at[inside], update)(value(x, y, inside), mode="drop")

    return function


def positive(x):
    return x > 0


def product(x, y, inside):
    return x[inside] * y[inside] + 2


test_compactions = cases("compactions", X, Y, budget=EXACT)(
    (at(positive, product), "np.where(", lacks("cumsum", "scatter_at")),
    (at(positive, product, "add"), "np.where(", lacks("scatter_at")),
    (at(positive, product, "min"), "np.where(", lacks("scatter_at")),
    (at(positive, lambda x, y, i: jnp.where(y[i] > 0, x[i], 1 / y[i])), lacks("scatter_at")),
    (at(positive, lambda x, y, i: 5.0), lacks("scatter_at")),
    (at(positive, lambda x, y, i: i * 2.0), lacks("scatter_at")),
    (at(lambda x: x > 99, product), lacks("scatter_at")),
    (at(lambda x: x < 99, product), lacks("scatter_at")),
    (at(jnp.isnan, lambda x, y, i: y[i]), lacks("scatter_at")),
    (at(positive, lambda x, y, i: y[::-1][i]), lacks("scatter_at")),
    (at(positive, lambda x, y, i: x[i] * y.sum()), lacks("scatter_at")),
    (at(positive, lambda x, y, i: x[i] * y[i].sum()), CHANGES),
    # near-misses: places that are cut off, padded by one of the array, or of a shorter array; work across elements
    (at(positive, product, size=7), STAYS),
    (at(positive, product, fill_value=7), STAYS),
    (at(positive, product, fill_value=0), STAYS),
    (at(positive, product, fill_value=-1), STAYS),
    (at(lambda x: x[:7] > 0, product, size=7), STAYS),
    (at(positive, lambda x, y, i: jnp.cumsum(x[i])), STAYS),
    (at(positive, lambda x, y, i: x[i][::-1]), STAYS),
    (at(positive, lambda x, y, i: y[i + 1]), STAYS),
    (at(positive, lambda x, y, i: y), STAYS),
    (at(positive, lambda x, y, i: jnp.concatenate([y, y])[i]), STAYS),
)

test_counts = cases("compactions", K, Y, budget=EXACT)(
    (lambda k, y: k.at[places(y > 0)].add(1, mode="drop"), "return k + (y > 0)"),
    (lambda k, y: k.at[places(y > 0)].add(2, mode="drop"), "np.where("),
    (lambda k, y: k.at[places(y > 0)].set(k[places(y > 0)] * 2, mode="drop"), "np.where("),
    (lambda k, y: k.at[places(y > 0)].set(k[places(y < 0)] * 2, mode="drop"), STAYS),
)
