"""``x.at[i].divide(y)`` divides only the part ``x[i]``, where JAX divides all of x by an array of ones."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.passes.raising import STAYS, cases, hlo, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.float32([[3, -0.0, np.nan], [np.inf, 2, 1e-40], [0, -5, 7]])
Y = np.float32([0, -2, 3])


def looped(step):
    return lambda x, y: jax.lax.fori_loop(0, 3, lambda i, x: step(i, x, y), x)


test_parts_are_divided = cases("divided_parts", X, Y, claims=[lacks("ones")])(
    (lambda x, y: x.at[0].divide(y), "updated[0] = x[0] / y"),
    (lambda x, y: x.at[:, 1].divide(y[2]), "updated[:, 1] = x[:, 1] / y[2]"),
    (looped(lambda i, x, y: x.at[i].divide(y[i])), "x[i] = x[i] / y[i]"),
    (looped(lambda i, x, y: x.at[i].divide(x[i, i])), "x[i] = x[i] / x[i, i]"),
    (looped(lambda i, x, y: x.at[i, i].divide(y[i])), "x[i, i] = x[i, i] / y[i]"),
)
test_what_is_no_division_of_a_part_stays = cases("divided_parts", X, Y, claims=[STAYS])(
    lambda x, y: x / jnp.full((3, 3), 2.0).at[0].set(y),
    lambda x, y: x / jnp.ones((3, 3)).at[0].set(y) + jnp.ones((3, 3)).at[0].set(y),
    lambda x, y: jnp.ones((3, 3)).at[0].set(y) / x,
    lambda x, y: y / jnp.ones((3, 3)).at[0].set(y),
)


@pytest.mark.compiled
def test_loops_with_divided_rows_compile():
    def divided(x):
        return jax.lax.fori_loop(0, 5, lambda i, x: x.at[i].divide(x[i, i]), x)

    x = np.arange(25, dtype=np.float32).reshape(5, 5) - 12
    text = hlo(divided, x)
    module = emit(text, style="fast")
    assert "for i in range(5)" not in module.source.split("def main")[1]
    np.testing.assert_array_equal(module.load().main(x), emit(text).load().main(x))
