"""Kernels that simulate and sample: fields on grids, bodies, signals and random paths, at two sizes each.

Functions named ``.._in_loops`` are compiled by Numba before they are timed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import fori_loop, scan

from xla2py.benchmarks.cpu_kit.program import at_sizes, integers, normal, uniform

f32 = np.float32
c64 = np.complex64


def histogram(x: Any) -> Any:
    return jnp.zeros(64, jnp.int32).at[(x * 64).astype(jnp.int32)].add(1)


def histogram_by_hand(x: Any) -> Any:
    return np.bincount((x * 64).astype(np.int32), minlength=64)


def histogram_in_loops(x: Any) -> Any:
    counts = np.zeros(64, np.int32)
    for value in x:
        counts[int(value * f32(64))] += 1
    return counts


def escape(c: Any) -> Any:
    """The Mandelbrot set, with the points that are still inside gathered in each round."""
    count = len(c)

    def step(_: Any, state: Any) -> Any:
        z, rounds = state
        (inside,) = jnp.nonzero(z.real**2 + z.imag**2 < 4, size=count, fill_value=count)
        z = z.at[inside].set(z[inside] ** 2 + c[inside], mode="drop")
        return z, rounds.at[inside].add(1, mode="drop")

    return fori_loop(0, 30, step, (jnp.zeros_like(c), jnp.zeros(count, jnp.int32)))[1]


def escape_by_hand(c: Any) -> Any:
    z, rounds = np.zeros_like(c), np.zeros(len(c), np.int32)
    for _ in range(30):
        (inside,) = np.nonzero(z.real**2 + z.imag**2 < 4)
        z[inside] = z[inside] ** 2 + c[inside]
        rounds[inside] += 1
    return rounds


def escape_in_loops(c: Any) -> Any:
    rounds = np.zeros(len(c), np.int32)
    for i in range(len(c)):
        z = c64(0)
        for _ in range(30):
            if z.real * z.real + z.imag * z.imag >= 4:
                break
            z = z * z + c[i]
            rounds[i] += 1
    return rounds


def stockham(x: Any) -> Any:
    """A Fourier transform without bit reversal, for a power of two."""
    half, stride = len(x) // 2, 1
    while half:
        a, b = x.reshape(2, half, stride)
        turns = jnp.exp(-1j * jnp.pi * jnp.arange(half) / half).astype(x.dtype)[:, None]
        x = jnp.stack((a + b, (a - b) * turns), axis=1).reshape(-1)
        half, stride = half // 2, stride * 2
    return x


def stockham_by_hand(x: Any) -> Any:
    half, stride = len(x) // 2, 1
    while half:
        a, b = x.reshape(2, half, stride)
        y = np.empty((half, 2, stride), x.dtype)
        np.add(a, b, out=y[:, 0])
        np.multiply(a - b, np.exp(-1j * np.pi * np.arange(half) / half).astype(x.dtype)[:, None], out=y[:, 1])
        x, half, stride = y.ravel(), half // 2, stride * 2
    return x


def stockham_in_loops(x: Any) -> Any:
    x, y = x.copy(), np.empty_like(x)
    half, stride = len(x) // 2, 1
    while half:
        for j in range(half):
            turn = c64(np.exp(-1j * np.pi * j / half))
            for k in range(stride):
                a, b = x[j * stride + k], x[(half + j) * stride + k]
                y[2 * j * stride + k] = a + b
                y[(2 * j + 1) * stride + k] = (a - b) * turn
        x, y = y, x
        half, stride = half // 2, stride * 2
    return x


def layers(phases: Any, couplings: Any) -> Any:
    """The product of 2x2 transfer matrices of a stack of layers."""

    def step(total: Any, layer: Any) -> Any:
        phase, coupling = layer
        turn = jnp.exp(1j * phase)
        matrix = jnp.array([[turn, coupling * jnp.conj(turn)], [coupling * turn, jnp.conj(turn)]])
        return matrix @ total / jnp.sqrt(1 - coupling**2), None

    return scan(step, jnp.eye(2, dtype=jnp.complex64), (phases, couplings))[0]


def layers_by_hand(phases: Any, couplings: Any) -> Any:
    total = np.eye(2, dtype=c64)
    for phase, coupling in zip(phases, couplings, strict=True):
        turn = c64(np.exp(1j * phase))
        matrix = np.array([[turn, coupling * turn.conjugate()], [coupling * turn, turn.conjugate()]], c64)
        total = matrix @ total / np.sqrt(1 - coupling**2)
    return total


def layers_in_loops(phases: Any, couplings: Any) -> Any:
    a, b, c, d = c64(1), c64(0), c64(0), c64(1)
    for k in range(len(phases)):
        turn, r = c64(np.exp(c64(1j) * phases[k])), couplings[k]
        back = turn.conjugate()
        scale = f32(1) / np.sqrt(f32(1) - r * r)
        a, c = (turn * a + r * back * c) * scale, (r * turn * a + back * c) * scale
        b, d = (turn * b + r * back * d) * scale, (r * turn * b + back * d) * scale
    return np.array([[a, b], [c, d]])


def circuit(state: Any, angles: Any) -> Any:
    """Rotations of all qubits, then controlled signs of neighbours, layer by layer."""
    qubits = angles.shape[1]

    def layer(state: Any, turns: Any) -> Any:
        for q in range(qubits):
            c, s = jnp.cos(turns[q] / 2), jnp.sin(turns[q] / 2)
            gate = jnp.array([[c, -1j * s], [-1j * s, c]])
            state = jnp.einsum("ij,ajb->aib", gate, state.reshape(2**q, 2, -1)).reshape(-1)
        for q in range(qubits - 1):
            parts = state.reshape(2**q, 2, 2, -1)
            state = parts.at[:, 1, 1].multiply(-1).reshape(-1)
        return state, None

    return scan(layer, state, angles)[0]


def circuit_by_hand(state: Any, angles: Any) -> Any:
    state = state.copy()
    for turns in angles:
        for q, turn in enumerate(turns):
            c, s = np.cos(turn / 2), c64(1j) * np.sin(turn / 2)
            parts = state.reshape(2**q, 2, -1)
            low, high = parts[:, 0].copy(), parts[:, 1].copy()
            parts[:, 0] = c * low - s * high
            parts[:, 1] = c * high - s * low
        for q in range(len(turns) - 1):
            state.reshape(2**q, 2, 2, -1)[:, 1, 1] *= -1
    return state


def circuit_in_loops(state: Any, angles: Any) -> Any:
    state, qubits = state.copy(), angles.shape[1]
    for turns in angles:
        for q in range(qubits):
            c, s = np.cos(turns[q] / f32(2)), c64(1j) * np.sin(turns[q] / f32(2))
            far = 1 << (qubits - 1 - q)
            for k in range(len(state)):
                if not k & far:
                    low, high = state[k], state[k + far]
                    state[k], state[k + far] = c * low - s * high, c * high - s * low
        for q in range(qubits - 1):
            both = 3 << (qubits - 2 - q)
            for k in range(len(state)):
                if k & both == both:
                    state[k] = -state[k]
    return state


def likelihoods(points: Any, values: Any, scales: Any) -> Any:
    """Log likelihoods of a Gaussian process for several length scales."""
    squares = (points[:, None] - points) ** 2

    def one(scale: Any) -> Any:
        cov = jnp.exp(-0.5 * squares / scale**2) + 0.1 * jnp.eye(len(points))
        lower = jnp.linalg.cholesky(cov)
        half = jax.scipy.linalg.solve_triangular(lower, values, lower=True)
        return -0.5 * half @ half - jnp.log(jnp.diag(lower)).sum()

    return jax.lax.map(one, scales)


def likelihoods_by_hand(points: Any, values: Any, scales: Any) -> Any:
    squares, found = (points[:, None] - points) ** 2, np.empty_like(scales)
    for k, scale in enumerate(scales):
        cov = np.exp(f32(-0.5) * squares / scale**2) + f32(0.1) * np.eye(len(points), dtype=f32)
        lower = np.linalg.cholesky(cov)
        half = np.linalg.solve(lower, values)
        found[k] = f32(-0.5) * half @ half - np.log(np.diag(lower)).sum()
    return found


def likelihoods_in_loops(points: Any, values: Any, scales: Any) -> Any:
    n, found = len(points), np.empty_like(scales)
    cov = np.empty((n, n), f32)
    for k in range(len(scales)):
        for i in range(n):
            for j in range(i + 1):
                far = points[i] - points[j]
                cov[i, j] = np.exp(f32(-0.5) * far * far / (scales[k] * scales[k]))
                cov[j, i] = cov[i, j]
            cov[i, i] += f32(0.1)
        lower = np.linalg.cholesky(cov)
        total, half = f32(0), np.empty(n, f32)
        for i in range(n):
            rest = values[i]
            for j in range(i):
                rest -= lower[i, j] * half[j]
            half[i] = rest / lower[i, i]
            total -= f32(0.5) * half[i] * half[i] + np.log(lower[i, i])
        found[k] = total
    return found


LOW = np.array([0.4829629, 0.8365163, 0.2241439, -0.1294095], f32)
HIGH = np.array([-0.1294095, -0.2241439, 0.8365163, -0.4829629], f32)


def wavelets(x: Any) -> Any:
    """Four levels of Daubechies's wavelets of four taps, on a circle."""
    parts = []
    for _ in range(4):
        shifted = jnp.stack([jnp.roll(x, -k)[::2] for k in range(4)])
        parts.append(HIGH @ shifted)
        x = LOW @ shifted
    return jnp.concatenate([x, *parts[::-1]])


def wavelets_by_hand(x: Any) -> Any:
    parts = []
    for _ in range(4):
        around = np.append(x, x[:3])
        taps = [around[k : k + len(x) : 2] for k in range(4)]
        parts.append(sum(h * tap for h, tap in zip(HIGH, taps, strict=True)))
        x = sum(h * tap for h, tap in zip(LOW, taps, strict=True))
    return np.concatenate([x, *parts[::-1]])


def wavelets_in_loops(x: Any) -> Any:
    out, x = np.empty_like(x), x.copy()
    n = len(x)
    for _ in range(4):
        low = np.empty(n // 2, f32)
        for i in range(n // 2):
            a, b, c, d = x[2 * i], x[2 * i + 1], x[(2 * i + 2) % n], x[(2 * i + 3) % n]
            low[i] = LOW[0] * a + LOW[1] * b + LOW[2] * c + LOW[3] * d
            out[n // 2 + i] = HIGH[0] * a + HIGH[1] * b + HIGH[2] * c + HIGH[3] * d
        x, n = low, n // 2
    out[:n] = x
    return out


def checksum(data: Any) -> Any:
    """CRC-32, bit by bit."""

    def byte(crc: Any, value: Any) -> Any:
        crc = crc ^ value.astype(jnp.uint32)

        def bit(_: Any, crc: Any) -> Any:
            return jnp.where(crc & 1 == 1, (crc >> 1) ^ jnp.uint32(0xEDB88320), crc >> 1)

        return fori_loop(0, 8, bit, crc), None

    return ~scan(byte, jnp.uint32(0xFFFFFFFF), data)[0]


def checksum_by_hand(data: Any) -> Any:
    crc = 0xFFFFFFFF
    for value in data.tolist():
        crc ^= value
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    return np.uint32(crc ^ 0xFFFFFFFF)


def checksum_in_loops(data: Any) -> Any:
    crc = np.uint32(0xFFFFFFFF)
    for value in data:
        crc ^= np.uint32(value)
        for _ in range(8):
            crc = np.uint32(crc >> np.uint32(1)) ^ (np.uint32(0xEDB88320) if crc & np.uint32(1) else np.uint32(0))
    return crc ^ np.uint32(0xFFFFFFFF)


def bodies(x: Any, v: Any, mass: Any) -> Any:
    """Twenty leapfrog steps of bodies that attract each other."""

    def pull(x: Any) -> Any:
        apart = x[None] - x[:, None]
        square = (apart**2).sum(-1) + 0.01
        return (apart * (mass / square**1.5)[..., None]).sum(1)

    def step(_: Any, state: Any) -> Any:
        x, v = state
        v = v + 0.005 * pull(x)
        x = x + 0.01 * v
        return x, v + 0.005 * pull(x)

    return fori_loop(0, 20, step, (x, v))


def bodies_by_hand(x: Any, v: Any, mass: Any) -> Any:
    def pull(x: Any) -> Any:
        apart = x[None] - x[:, None]
        square = (apart**2).sum(-1) + f32(0.01)
        return (apart * (mass / square ** f32(1.5))[..., None]).sum(1)

    for _ in range(20):
        v = v + f32(0.005) * pull(x)
        x = x + f32(0.01) * v
        v = v + f32(0.005) * pull(x)
    return x, v


def bodies_in_loops(x: Any, v: Any, mass: Any) -> Any:
    x, v, n = x.copy(), v.copy(), len(x)
    for _ in range(20):
        for half in range(2):
            for i in range(n):
                a, b, c = f32(0), f32(0), f32(0)
                for j in range(n):
                    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                    square = dx * dx + dy * dy + dz * dz + f32(0.01)
                    weight = mass[j] / (square * np.sqrt(square))
                    a, b, c = a + weight * dx, b + weight * dy, c + weight * dz
                v[i, 0] += f32(0.005) * a
                v[i, 1] += f32(0.005) * b
                v[i, 2] += f32(0.005) * c
            if half == 0:
                x += f32(0.01) * v
    return x, v


def maxwell(source: Any) -> Any:
    """Waves of an electric field in a box, on Yee's grid."""
    n = source.shape[1]

    def step(state: Any, now: Any) -> Any:
        e, hx, hy = state
        hx = hx.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
        hy = hy.at[:-1, :].add(0.5 * (e[1:, :] - e[:-1, :]))
        e = e.at[1:, 1:].add(0.5 * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1]))
        return (e.at[n // 2].add(now), hx, hy), None

    return scan(step, (jnp.zeros((n, n)),) * 3, source)[0][0]


def maxwell_by_hand(source: Any) -> Any:
    n = source.shape[1]
    e, hx, hy = (np.zeros((n, n), f32) for _ in range(3))
    for now in source:
        hx[:, :-1] -= f32(0.5) * (e[:, 1:] - e[:, :-1])
        hy[:-1, :] += f32(0.5) * (e[1:, :] - e[:-1, :])
        e[1:, 1:] += f32(0.5) * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1])
        e[n // 2] += now
    return e


def maxwell_in_loops(source: Any) -> Any:
    n = source.shape[1]
    e, hx, hy = np.zeros((n, n), f32), np.zeros((n, n), f32), np.zeros((n, n), f32)
    for t in range(len(source)):
        for i in range(n):
            for j in range(n - 1):
                hx[i, j] -= f32(0.5) * (e[i, j + 1] - e[i, j])
        for i in range(n - 1):
            for j in range(n):
                hy[i, j] += f32(0.5) * (e[i + 1, j] - e[i, j])
        for i in range(1, n):
            for j in range(1, n):
                e[i, j] += f32(0.5) * (hy[i, j] - hy[i - 1, j] - hx[i, j] + hx[i, j - 1])
        for j in range(n):
            e[n // 2, j] += source[t, j]
    return e


def conjugate(b: Any) -> Any:
    """Thirty steps of conjugate gradients for Poisson's equation."""

    def laplace(u: Any) -> Any:
        v = jnp.pad(u, 1)
        return 4 * u - v[:-2, 1:-1] - v[2:, 1:-1] - v[1:-1, :-2] - v[1:-1, 2:]

    def step(_: Any, state: Any) -> Any:
        x, r, p, square = state
        image = laplace(p)
        size = square / jnp.sum(p * image)
        x, r = x + size * p, r - size * image
        following = jnp.sum(r * r)
        return x, r, r + following / square * p, following

    return fori_loop(0, 30, step, (jnp.zeros_like(b), b, b, jnp.sum(b * b)))[0]


def conjugate_by_hand(b: Any) -> Any:
    x, r, p, square = np.zeros_like(b), b.copy(), b.copy(), (b * b).sum()
    for _ in range(30):
        image = 4 * p
        image[1:] -= p[:-1]
        image[:-1] -= p[1:]
        image[:, 1:] -= p[:, :-1]
        image[:, :-1] -= p[:, 1:]
        size = square / (p * image).sum()
        x += size * p
        r -= size * image
        following = (r * r).sum()
        p = r + following / square * p
        square = following
    return x


def conjugate_in_loops(b: Any) -> Any:
    n, m = b.shape
    x, r, p, image = np.zeros_like(b), b.copy(), b.copy(), np.empty_like(b)
    square = (b * b).sum()
    for _ in range(30):
        along = f32(0)
        for i in range(n):
            for j in range(m):
                value = f32(4) * p[i, j]
                value -= p[i - 1, j] if i > 0 else f32(0)
                value -= p[i + 1, j] if i < n - 1 else f32(0)
                value -= p[i, j - 1] if j > 0 else f32(0)
                value -= p[i, j + 1] if j < m - 1 else f32(0)
                image[i, j] = value
                along += value * p[i, j]
        size, following = square / along, f32(0)
        for i in range(n):
            for j in range(m):
                x[i, j] += size * p[i, j]
                r[i, j] -= size * image[i, j]
                following += r[i, j] * r[i, j]
        for i in range(n):
            for j in range(m):
                p[i, j] = r[i, j] + following / square * p[i, j]
        square = following
    return x


def lorenz(start: Any, noise: Any) -> Any:
    """A path of Lorenz's equations by Runge and Kutta's method, with kicks."""

    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(s: Any, kick: Any) -> Any:
        a = slope(s)
        b = slope(s + 0.005 * a)
        c = slope(s + 0.005 * b)
        d = slope(s + 0.01 * c)
        s = s + 0.01 / 6 * (a + 2 * b + 2 * c + d) + 0.001 * kick
        return s, s

    return scan(step, start, noise)[1]


def lorenz_by_hand(start: Any, noise: Any) -> Any:
    def slope(s: Any) -> Any:
        x, y, z = s
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - f32(8 / 3) * z], f32)

    path, s = np.empty_like(noise), start
    for t, kick in enumerate(noise):
        a = slope(s)
        b = slope(s + f32(0.005) * a)
        c = slope(s + f32(0.005) * b)
        d = slope(s + f32(0.01) * c)
        s = s + f32(0.01 / 6) * (a + 2 * b + 2 * c + d) + f32(0.001) * kick
        path[t] = s
    return path


def lorenz_in_loops(start: Any, noise: Any) -> Any:
    path = np.empty_like(noise)
    s, slopes, at = start.copy(), np.empty((4, 3), f32), np.empty(3, f32)
    for t in range(len(noise)):
        for k in range(4):
            h = f32(0.0) if k == 0 else f32(0.01) if k == 3 else f32(0.005)
            for i in range(3):
                at[i] = s[i] + h * slopes[k - 1, i] if k else s[i]
            slopes[k, 0] = f32(10) * (at[1] - at[0])
            slopes[k, 1] = at[0] * (f32(28) - at[2]) - at[1]
            slopes[k, 2] = at[0] * at[1] - f32(8 / 3) * at[2]
        for i in range(3):
            total = slopes[0, i] + f32(2) * slopes[1, i] + f32(2) * slopes[2, i] + slopes[3, i]
            s[i] += f32(0.01 / 6) * total + f32(0.001) * noise[t, i]
            path[t, i] = s[i]
    return path


def heston(normals: Any) -> Any:
    """The price of a call, by paths whose variance is random."""

    def step(state: Any, z: Any) -> Any:
        price, variance = state
        root = jnp.sqrt(jnp.maximum(variance, 0) * 0.01)
        price = price * jnp.exp(-0.005 * variance + root * z[0])
        return (price, variance + 2 * (0.04 - variance) * 0.01 + 0.3 * root * (0.6 * z[1] - 0.8 * z[0])), None

    start = jnp.ones(normals.shape[2]), jnp.full(normals.shape[2], 0.04)
    (price, _), _ = scan(step, start, normals)
    return jnp.maximum(price - 1, 0).mean()


def heston_by_hand(normals: Any) -> Any:
    price, variance = np.ones(normals.shape[2], f32), np.full(normals.shape[2], 0.04, f32)
    for z in normals:
        root = np.sqrt(np.maximum(variance, 0) * f32(0.01))
        price *= np.exp(f32(-0.005) * variance + root * z[0])
        variance += f32(0.02) * (f32(0.04) - variance) + f32(0.3) * root * (f32(0.6) * z[1] - f32(0.8) * z[0])
    return np.maximum(price - 1, 0).mean()


def heston_in_loops(normals: Any) -> Any:
    total = 0.0
    for path in range(normals.shape[2]):
        price, variance = f32(1), f32(0.04)
        for t in range(normals.shape[0]):
            z, w = normals[t, 0, path], normals[t, 1, path]
            root = np.sqrt(max(variance, f32(0)) * f32(0.01))
            price *= np.exp(f32(-0.005) * variance + root * z)
            variance += f32(0.02) * (f32(0.04) - variance) + f32(0.3) * root * (f32(0.6) * w - f32(0.8) * z)
        total += max(price - f32(1), f32(0))
    return f32(total / normals.shape[2])


def cascade(x: Any, sections: Any) -> Any:
    """Four sections of recursive filters, one behind the other."""

    def step(state: Any, value: Any) -> Any:
        kept = []
        for k in range(4):
            b0, b1, b2, a1, a2 = sections[k]
            out = b0 * value + state[k, 0]
            kept.append(jnp.array([b1 * value - a1 * out + state[k, 1], b2 * value - a2 * out]))
            value = out
        return jnp.stack(kept), value

    return scan(step, jnp.zeros((4, 2)), x)[1]


def cascade_by_hand(x: Any, sections: Any) -> Any:
    values, coefficients = x.tolist(), sections.tolist()
    for b0, b1, b2, a1, a2 in coefficients:
        first = second = 0.0
        for t, value in enumerate(values):
            out = b0 * value + first
            first, second = b1 * value - a1 * out + second, b2 * value - a2 * out
            values[t] = out
    return np.array(values, f32)


def cascade_in_loops(x: Any, sections: Any) -> Any:
    x = x.copy()
    for k in range(4):
        b0, b1, b2, a1, a2 = sections[k]
        first, second = f32(0), f32(0)
        for t in range(len(x)):
            value = x[t]
            out = b0 * value + first
            first, second = b1 * value - a1 * out + second, b2 * value - a2 * out
            x[t] = out
    return x


def magnet(spins: Any, draws: Any) -> Any:
    """Sweeps of Ising's model, one colour of a chessboard after the other."""
    rows, columns = spins.shape
    even = (jnp.arange(rows)[:, None] + jnp.arange(columns)) % 2 == 0

    def sweep(spins: Any, draws: Any) -> Any:
        for colour, draw in zip((even, ~even), draws, strict=True):
            around = sum(jnp.roll(spins, shift, axis) for shift in (1, -1) for axis in (0, 1))
            turn = colour & (draw < jnp.exp(-0.8 * spins * around))
            spins = jnp.where(turn, -spins, spins)
        return spins, None

    return scan(sweep, spins, draws)[0]


def magnet_by_hand(spins: Any, draws: Any) -> Any:
    spins = spins.copy()
    even = (np.arange(spins.shape[0])[:, None] + np.arange(spins.shape[1])) % 2 == 0
    for pair in draws:
        for colour, draw in zip((even, ~even), pair, strict=True):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            spins[colour & (draw < np.exp(f32(-0.8) * spins * around))] *= -1
    return spins


def magnet_in_loops(spins: Any, draws: Any) -> Any:
    spins = spins.copy()
    n, m = spins.shape
    for t in range(len(draws)):
        for colour in range(2):
            for i in range(n):
                for j in range((i + colour) % 2, m, 2):
                    around = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % m]
                    if draws[t, colour, i, j] < np.exp(f32(-0.8) * spins[i, j] * around):
                        spins[i, j] = -spins[i, j]
    return spins


def life(board: Any) -> Any:
    def step(_: Any, board: Any) -> Any:
        around = sum(jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)

    return fori_loop(0, 50, step, board)


def life_by_hand(board: Any) -> Any:
    for _ in range(50):
        wide = np.pad(board, 1, mode="wrap")
        lines = wide[:-2] + wide[1:-1] + wide[2:]
        around = lines[:, :-2] + lines[:, 1:-1] + lines[:, 2:] - board
        board = ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)
    return board


def life_in_loops(board: Any) -> Any:
    board, following = board.copy(), np.empty_like(board)
    n, m = board.shape
    for _ in range(50):
        for i in range(n):
            up, down = (i - 1) % n, (i + 1) % n
            for j in range(m):
                left, right = (j - 1) % m, (j + 1) % m
                around = board[up, left] + board[up, j] + board[up, right] + board[i, left]
                around += board[i, right] + board[down, left] + board[down, j] + board[down, right]
                following[i, j] = around == 3 or (board[i, j] == 1 and around == 2)
        board, following = following, board
    return board


def _sections() -> Any:
    return np.array([[0.2, 0.3, 0.2, -0.5, 0.2], [0.3, -0.1, 0.3, 0.1, 0.3]] * 2, f32)


def _state(qubits: int) -> Any:
    state = np.zeros(2**qubits, c64)
    state[0] = 1
    return state


def _plane(count: int) -> Any:
    rng = np.random.default_rng(4)
    return (rng.uniform(-2, 1, count) + 1j * rng.uniform(-1.5, 1.5, count)).astype(c64)


def _wave(count: int) -> Any:
    return normal(count)().astype(c64)


def _spins(size: int) -> Any:
    return (2 * integers(size, size, below=2)() - 1).astype(f32)


PROGRAMS = [
    *at_sizes("histogram", histogram, histogram_by_hand, histogram_in_loops, (10_000, 1_000_000),
              lambda n: (uniform(n),)),
    *at_sizes("Mandelbrot with compaction", escape, escape_by_hand, escape_in_loops, (2_000, 50_000),
              lambda n: (partial(_plane, n),)),
    *at_sizes("Stockham FFT", stockham, stockham_by_hand, stockham_in_loops, (512, 16_384),
              lambda n: (partial(_wave, n),)),
    *at_sizes("transfer matrices", layers, layers_by_hand, layers_in_loops, (100, 3_000),
              lambda n: (normal(n), uniform(n, low=-0.3, high=0.3))),
    *at_sizes("quantum circuit", circuit, circuit_by_hand, circuit_in_loops, (5, 12),
              lambda n: (partial(_state, n), normal(10, n))),
    *at_sizes("covariance likelihoods", likelihoods, likelihoods_by_hand, likelihoods_in_loops, (50, 200),
              lambda n: (normal(n), normal(n), uniform(20, low=0.3, high=2))),
    *at_sizes("wavelets", wavelets, wavelets_by_hand, wavelets_in_loops, (1_024, 65_536), lambda n: (normal(n),)),
    *at_sizes("CRC", checksum, checksum_by_hand, checksum_in_loops, (100, 5_000),
              lambda n: (integers(n, below=256, dtype=np.uint8),)),
    *at_sizes("bodies", bodies, bodies_by_hand, bodies_in_loops, (16, 200),
              lambda n: (normal(n, 3), normal(n, 3), uniform(n))),
    *at_sizes("Maxwell in a box", maxwell, maxwell_by_hand, maxwell_in_loops, (32, 256), lambda n: (normal(50, n),)),
    *at_sizes("conjugate gradients", conjugate, conjugate_by_hand, conjugate_in_loops, (32, 256),
              lambda n: (normal(n, n),)),
    *at_sizes("Lorenz by Runge-Kutta", lorenz, lorenz_by_hand, lorenz_in_loops, (100, 400),
              lambda n: (uniform(3), normal(n, 3))),
    *at_sizes("Heston paths", heston, heston_by_hand, heston_in_loops, (100, 10_000), lambda n: (normal(50, 2, n),)),
    *at_sizes("filter cascade", cascade, cascade_by_hand, cascade_in_loops, (200, 10_000),
              lambda n: (normal(n), _sections)),
    *at_sizes("Ising", magnet, magnet_by_hand, magnet_in_loops, (32, 128),
              lambda n: (partial(_spins, n), uniform(10, 2, n, n))),
    *at_sizes("life", life, life_by_hand, life_in_loops, (32, 256),
              lambda n: (integers(n, n, below=2, dtype=np.int32),)),
]  # fmt: skip
