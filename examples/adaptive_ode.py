"""The Lotka-Volterra equations by Runge-Kutta steps of order 2 and 3 with an adaptive step size."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def derivative(state, rates):
    prey, predators = state
    return jnp.stack(
        [rates[0] * prey - rates[1] * prey * predators, rates[2] * prey * predators - rates[3] * predators]
    )


def solve(state, rates, end_time, tolerance):
    """Returns the state at ``end_time``, the accepted and the rejected number of steps."""

    def unfinished(loop):
        time, _, _, accepted, rejected = loop
        return (time < end_time) & (accepted + rejected < 500)

    def attempt(loop):
        time, step, state, accepted, rejected = loop
        step = jnp.minimum(step, end_time - time)
        k1 = derivative(state, rates)
        k2 = derivative(state + step * k1, rates)
        k3 = derivative(state + step / 4 * (k1 + k2), rates)
        second_order = state + step / 2 * (k1 + k2)
        third_order = state + step / 6 * (k1 + k2 + 4 * k3)
        error = jnp.max(jnp.abs(third_order - second_order))

        def accept(_):
            return time + step, third_order, accepted + 1, rejected

        def reject(_):
            return time, state, accepted, rejected + 1

        time, state, accepted, rejected = lax.cond(error <= tolerance, accept, reject, None)
        growth = jnp.clip(0.9 * jnp.cbrt(tolerance / jnp.maximum(error, 1e-12)), 0.3, 3.0)
        return time, step * growth, state, accepted, rejected

    start = (jnp.float32(0), jnp.float32(0.1), state, 0, 0)
    _, _, state, accepted, rejected = lax.while_loop(unfinished, attempt, start)
    return state, accepted, rejected


def program():
    return solve, (
        np.array([10, 5], np.float32),
        np.array([1.1, 0.4, 0.1, 0.4], np.float32),
        np.float32(5),
        np.float32(1e-3),
    )
