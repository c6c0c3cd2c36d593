"""Programs of products and of loops: models, convolutions, linear algebra, random numbers, small states."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from xla2py.benchmarks.cpu_kit.arrays import layer_norm, softmax
from xla2py.benchmarks.cpu_kit.program import either, integers, normal, traced, uniform


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    return softmax(xp, q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5) @ v


def perceptron(xp: Any, x: Any, first: Any, second: Any) -> Any:
    return xp.maximum(x @ first, 0) @ second


def perceptron_step(x: Any, y: Any, first: Any, second: Any) -> Any:
    def loss(weights: Any) -> Any:
        return ((perceptron(jnp, x, *weights) - y) ** 2).mean()

    gradients = jax.grad(loss)((first, second))
    return first - 0.1 * gradients[0], second - 0.1 * gradients[1]


def perceptron_step_by_hand(x: Any, y: Any, first: Any, second: Any) -> Any:
    hidden = np.maximum(x @ first, 0)
    change = (hidden @ second - y) * np.float32(2 / y.size)
    back = (change @ second.T) * (hidden > 0)
    return first - np.float32(0.1) * (x.T @ back), second - np.float32(0.1) * (hidden.T @ change)


def adam(xp: Any, weights: Any, gradient: Any, mean: Any, square: Any) -> Any:
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient * gradient
    return weights - 0.001 * mean / (xp.sqrt(square) + 1e-8), mean, square


def block(xp: Any, x: Any, qkv: Any, out: Any, up: Any, down: Any, scale: Any) -> Any:
    heads = (layer_norm(xp, x, scale, scale) @ qkv).reshape(256, 3, 8, 32).transpose(1, 2, 0, 3)
    x = x + attention(xp, *heads).transpose(1, 0, 2).reshape(256, 256) @ out
    h = layer_norm(xp, x, scale, scale) @ up
    return x + h / (1 + xp.exp(-h)) @ down


def product_of_int8(x: Any, y: Any) -> Any:
    return jax.lax.dot(x, y, preferred_element_type=jnp.int32)


def product_of_int8_by_hand(x: Any, y: Any) -> Any:
    return (x.astype(np.float32) @ y.astype(np.float32)).astype(np.int32)


def convolve(size: int, stride: int = 1) -> Any:
    def function(x: Any, kernel: Any) -> Any:
        edges = [(size // 2, size // 2)] * 2
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), edges, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    return function


def convolve_by_hand(size: int, stride: int = 1) -> Any:
    def function(x: Any, kernel: Any) -> Any:
        edge = (size // 2, size // 2)
        padded = np.pad(x, ((0, 0), edge, edge, (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2))
        return np.tensordot(windows[:, ::stride, ::stride], kernel, ([3, 4, 5], [2, 0, 1]))

    return function


def convolution_gradients(x: Any, kernel: Any, change: Any) -> Any:
    return jax.vjp(convolve(3), x, kernel)[1](change)


def depthwise(x: Any, kernel: Any) -> Any:
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=64
    )


def solve_positive(a: Any, b: Any) -> Any:
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b)


def positive(size: int) -> Any:
    x = normal(size, size)
    return lambda: x() @ x().T + size * np.eye(size, dtype=np.float32)


PRODUCTS = [
    either("products", "matrices of 1024", lambda xp, x, y: x @ y, normal(1024, 1024), normal(1024, 1024)),
    either("products", "32 products, transposed", lambda xp, x, y: xp.einsum("bik,bjk->bij", x, y),
           normal(32, 128, 64), normal(32, 128, 64)),
    traced("low precision", "product of int8", product_of_int8, integers(512, 512, below=100, dtype=np.int8),
           integers(512, 512, below=100, dtype=np.int8), by_hand=product_of_int8_by_hand),
    either("models", "attention", attention, *[normal(4, 8, 256, 64)] * 3),
    either("models", "perceptron", perceptron, normal(128, 784), normal(784, 512, scale=0.04), normal(512, 10)),
    traced("models", "training step", perceptron_step, normal(128, 784), normal(128, 10),
           normal(784, 512, scale=0.04), normal(512, 10, scale=0.04), by_hand=perceptron_step_by_hand),
    either("models", "Adam, 1e6", adam, *[normal(10**6)] * 3, uniform(10**6)),
    either("models", "transformer block", block, normal(256, 256), normal(256, 768, scale=0.06),
           normal(256, 256, scale=0.06), normal(256, 1024, scale=0.06), normal(1024, 256, scale=0.03), normal(256)),
    traced("convolution", "3x3, 64 channels", convolve(3), normal(4, 56, 56, 64), normal(3, 3, 64, 64),
           by_hand=convolve_by_hand(3)),
    traced("convolution", "7x7, stride 2", convolve(7, 2), normal(4, 112, 112, 3), normal(7, 7, 3, 64),
           by_hand=convolve_by_hand(7, 2)),
    traced("convolution", "3x3, gradients", convolution_gradients, normal(4, 56, 56, 64), normal(3, 3, 64, 64),
           normal(4, 56, 56, 64)),
    traced("convolution", "channel by channel", depthwise, normal(4, 56, 56, 64), normal(3, 3, 1, 64)),
    either("transforms", "fft2 of 512", lambda xp, x: xp.fft.fft2(x), normal(512, 512, dtype=np.complex64)),
    either("transforms", "rfft of rows", lambda xp, x: xp.fft.rfft(x), normal(1024, 1024)),
    traced("linear algebra", "Cholesky and solve, 512", solve_positive, positive(512), normal(512, 64),
           by_hand=lambda a, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower=True), b), allowed=("scipy",)),
    either("linear algebra", "solve, 512", lambda xp, a, b: xp.linalg.solve(a, b), positive(512), normal(512, 64)),
    traced("random", "bits, 1e6", lambda key: jax.random.bits(jax.random.wrap_key_data(key), (10**6,)),
           lambda: np.array([0, 42], np.uint32)),
    traced("random", "normal numbers, 1e6", lambda key: jax.random.normal(jax.random.wrap_key_data(key), (10**6,)),
           lambda: np.array([0, 42], np.uint32)),
]  # fmt: skip


def heat(x: Any) -> Any:
    def step(_: Any, x: Any) -> Any:
        inner = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        return x.at[1:-1, 1:-1].set(inner)

    return jax.lax.fori_loop(0, 100, step, x)


def heat_by_hand(x: Any) -> Any:
    x = x.copy()
    for _ in range(100):
        x[1:-1, 1:-1] = np.float32(0.25) * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def most_likely_path(scores: Any, transitions: Any) -> Any:
    def step(best: Any, score: Any) -> Any:
        every = best[:, None] + transitions
        return every.max(0) + score, every.argmax(0)

    best, came_from = jax.lax.scan(step, scores[0], scores[1:])
    last = best.argmax()
    _, path = jax.lax.scan(lambda state, row: (row[state], row[state]), last, came_from, reverse=True)
    return best.max(), jnp.append(path, last)


def most_likely_path_by_hand(scores: Any, transitions: Any) -> Any:
    best, came_from = scores[0], []
    for score in scores[1:]:
        every = best[:, None] + transitions
        came_from.append(every.argmax(0))
        best = every.max(0) + score
    path = [int(best.argmax())]
    for row in reversed(came_from):
        path.append(int(row[path[-1]]))
    return best.max(), np.array(path[::-1])


def pendulum(state: Any) -> Any:
    def slope(state: Any) -> Any:
        return jnp.array([state[1], -9.81 * jnp.sin(state[0]) - 0.1 * state[1]])

    def step(_: Any, state: Any) -> Any:
        a = slope(state)
        b = slope(state + 0.005 * a)
        c = slope(state + 0.005 * b)
        d = slope(state + 0.01 * c)
        return state + 0.01 / 6 * (a + 2 * b + 2 * c + d)

    return jax.lax.fori_loop(0, 1000, step, state)


def life(board: Any) -> Any:
    def step(_: Any, board: Any) -> Any:
        turns = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        around = sum(jnp.roll(board, turn, (0, 1)) for turn in turns)
        return jnp.where((around == 3) | ((board == 1) & (around == 2)), 1, 0).astype(board.dtype)

    return jax.lax.fori_loop(0, 50, step, board)


def clusters(points: Any, centres: Any) -> Any:
    def step(_: Any, centres: Any) -> Any:
        nearest = ((points[:, None] - centres) ** 2).sum(-1).argmin(1)
        chosen = jax.nn.one_hot(nearest, len(centres))
        return chosen.T @ points / jnp.maximum(chosen.sum(0), 1)[:, None]

    return jax.lax.fori_loop(0, 20, step, centres)


def kalman(observed: Any, motion: Any, noise: Any) -> Any:
    def step(carry: Any, y: Any) -> Any:
        mean, spread = carry
        mean, spread = motion @ mean, motion @ spread @ motion.T + noise
        gain = spread[:, 0] / (spread[0, 0] + 0.5)
        mean = mean + gain * (y - mean[0])
        return (mean, spread - jnp.outer(gain, spread[0])), mean

    return jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), observed)[1]


def recurrent(xs: Any, inward: Any, across: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, o, g = jnp.split(x @ inward + h @ across, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((xs.shape[1], across.shape[0]), jnp.float32)
    return jax.lax.scan(step, (start, start), xs)[1]


def decode(tokens: Any, table: Any, keys: Any, values: Any) -> Any:
    def step(carry: Any, token: Any) -> Any:
        keys, values, place = carry
        x = table[token]
        keys = jax.lax.dynamic_update_slice(keys, x[None], (place, 0))
        values = jax.lax.dynamic_update_slice(values, x[None] * 0.5, (place, 0))
        weights = jax.nn.softmax(jnp.where(jnp.arange(len(keys)) <= place, keys @ x / 8, -jnp.inf))
        return (keys, values, place + 1), weights @ values

    return jax.lax.scan(step, (keys, values, 0), tokens)[1]


LOOPS = [
    traced("loops", "100 steps of a stencil, 512", heat, normal(512, 512), by_hand=heat_by_hand),
    traced("small loops", "100 steps of a stencil, 64", heat, normal(64, 64), by_hand=heat_by_hand),
    traced("small loops", "Viterbi", most_likely_path, normal(200, 16), normal(16, 16),
           by_hand=most_likely_path_by_hand),
    traced("small loops", "pendulum", pendulum, lambda: np.array([1.0, 0.0], np.float32)),
    traced("small loops", "life", life, integers(64, 64, below=2)),
    traced("small loops", "k-means", clusters, normal(2000, 2), normal(8, 2)),
    traced("small loops", "Kalman filter", kalman, normal(300), normal(4, 4, scale=0.3), positive(4)),
    traced("loops", "LSTM", recurrent, normal(64, 32, 128), normal(128, 1024, scale=0.1),
           normal(256, 1024, scale=0.06)),
    traced("small loops", "decoder with a cache", decode, integers(100, below=500), normal(500, 64),
           lambda: np.zeros((128, 64), np.float32), lambda: np.zeros((128, 64), np.float32)),
]  # fmt: skip
PROGRAMS = [*PRODUCTS, *LOOPS]
