"""A Kalman filter: filtered means and the log likelihood."""

import numpy as np


def main(transition, process_noise, observation, observation_noise, start_0, start_1, readings):
    """Return the filtered means [steps, states] and the log likelihood of the ``readings``."""
    for name, given, shape in (
        ("transition", transition, (4, 4)),
        ("process_noise", process_noise, (4, 4)),
        ("observation", observation, (2, 4)),
        ("observation_noise", observation_noise, (2, 2)),
        ("start_0", start_0, (4,)),
        ("start_1", start_1, (4, 4)),
        ("readings", readings, (30, 2)),
    ):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    mean, covariance = start_0, start_1
    log_likelihood = np.float32(0)
    means = np.empty((len(readings), len(mean)), dtype=np.float32)
    for t, reading in enumerate(readings):
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + process_noise
        surprise = reading - observation @ mean
        spread = observation @ covariance @ observation.T + observation_noise
        gain = np.linalg.solve(spread, observation @ covariance).T
        _, log_determinant = np.linalg.slogdet(spread)
        mahalanobis = surprise @ np.linalg.solve(spread, surprise)
        log_likelihood = log_likelihood - 0.5 * (
            mahalanobis + log_determinant + len(surprise) * float(np.log(2 * np.pi))
        )
        mean = mean + gain @ surprise
        covariance = covariance - gain @ spread @ gain.T
        means[t] = mean
    return means, log_likelihood
