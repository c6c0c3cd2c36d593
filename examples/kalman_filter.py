"""A Kalman filter that tracks a point moving in the plane from noisy position readings."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def kalman_filter(transition, process_noise, observation, observation_noise, start, readings):
    """start: (mean, covariance); readings: [steps, observed]. Returns the filtered means and the log likelihood."""

    def step(carry, reading):
        (mean, covariance), log_likelihood = carry
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + process_noise
        surprise = reading - observation @ mean
        spread = observation @ covariance @ observation.T + observation_noise
        gain = jnp.linalg.solve(spread, observation @ covariance).T
        _, log_determinant = jnp.linalg.slogdet(spread)
        mahalanobis = surprise @ jnp.linalg.solve(spread, surprise)
        log_likelihood = log_likelihood - 0.5 * (mahalanobis + log_determinant + len(surprise) * np.log(2 * np.pi))
        mean = mean + gain @ surprise
        covariance = covariance - gain @ spread @ gain.T
        return ((mean, covariance), log_likelihood), mean

    (_, log_likelihood), means = lax.scan(step, (start, jnp.float32(0)), readings)
    return means, log_likelihood


def program():
    rng = np.random.default_rng(0)
    transition = np.eye(4, dtype=np.float32) + 0.1 * np.eye(4, k=2, dtype=np.float32)
    observation = np.eye(2, 4, dtype=np.float32)
    start = (np.zeros(4, np.float32), np.eye(4, dtype=np.float32))
    path = np.cumsum(rng.normal(scale=0.1, size=(30, 2)), axis=0)
    readings = (path + rng.normal(scale=0.2, size=path.shape)).astype(np.float32)
    return kalman_filter, (
        transition,
        0.01 * np.eye(4, dtype=np.float32),
        observation,
        0.04 * np.eye(2, dtype=np.float32),
        start,
        readings,
    )
