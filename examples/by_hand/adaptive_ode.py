"""The Lotka-Volterra equations by adaptive Runge-Kutta steps."""

import numpy as np


def derivative(state, rates):
    prey, predators = state
    return np.stack([rates[0] * prey - rates[1] * prey * predators, rates[2] * prey * predators - rates[3] * predators])


def main(state, rates, end_time, tolerance):
    """Return the state [2] at ``end_time``, and how many steps were accepted and rejected."""
    for name, given, shape in (
        ("state", state, (2,)),
        ("rates", rates, (4,)),
        ("end_time", end_time, ()),
        ("tolerance", tolerance, ()),
    ):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    time, step = np.float32(0), np.float32(0.1)
    accepted = rejected = np.int32(0)
    while time < end_time and accepted + rejected < 500:
        step = np.minimum(step, end_time - time)
        k1 = derivative(state, rates)
        k2 = derivative(state + step * k1, rates)
        k3 = derivative(state + step / 4 * (k1 + k2), rates)
        second_order = state + step / 2 * (k1 + k2)
        third_order = state + step / 6 * (k1 + k2 + 4 * k3)
        error = np.abs(third_order - second_order).max()
        if error <= tolerance:
            time, state, accepted = time + step, third_order, accepted + 1
        else:
            rejected = rejected + 1
        step = step * np.clip(0.9 * np.cbrt(tolerance / np.maximum(error, 1e-12)), 0.3, 3)
    return state, accepted, rejected
