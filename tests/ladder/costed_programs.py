"""Common programs in JAX, small, with the arguments on which their costs are counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from xla2py.tests.recording.lazy_jax import jax, jnp, lax

GENERATOR = np.random.default_rng(0)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return GENERATOR.normal(size=shape).astype(dtype)


def bf16(*shape: int) -> Any:
    return numbers(*shape, dtype=ml_dtypes.bfloat16)


def places(end: int, *shape: int) -> Any:
    return GENERATOR.integers(0, end, shape).astype(np.int32)


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def batch_norm(x: Any) -> Any:
    return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5)


def attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.mT * 0.125, -1) @ v


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def max_pool(x: Any, size: int) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, 2, 2, 1), "SAME")


def convolution(x: Any, kernel: Any, groups: int = 1) -> Any:
    numbered = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": groups}
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", **numbered)


def lstm(x: Any, w: Any, u: Any, start: Any) -> Any:
    def step(state: Any, input: Any) -> Any:
        hidden, cell = state
        gate, forget, new, out = jnp.split(input @ w + hidden @ u, 4, -1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(gate) * jnp.tanh(new)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(cell)
        return (hidden, cell), hidden

    return lax.scan(step, (start, start), x)[1]


def mlp_step(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
    def loss(w: Any, b: Any, v: Any) -> Any:
        return ((jax.nn.gelu(x @ w + b) @ v - y) ** 2).mean()

    gradients = jax.grad(loss, (0, 1, 2))(w, b, v)
    return [old - 0.1 * gradient for old, gradient in zip((w, b, v), gradients, strict=True)]


def stencil(u: Any) -> Any:
    def step(_: Any, u: Any) -> Any:
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u.at[1:-1, 1:-1].set(inner)

    return lax.fori_loop(0, 10, step, u)


def fft_convolution(x: Any, kernel: Any) -> Any:
    return jnp.fft.irfft(jnp.fft.rfft(x, 255) * jnp.fft.rfft(kernel, 255), 255)


def gradient(function: Callable[..., Any], *arguments: int) -> Callable[..., Any]:
    """Return the gradient of the sum of squares of what a function gives."""
    return jax.grad(lambda *given: (function(*given) ** 2).sum(), arguments or 0)


# What XLA makes of the programs on a GPU, as the step ``kernels`` of benchmarks/gpu.py found it.
_FOUND = map(json.loads, Path(__file__).with_name("xla_kernels.jsonl").read_text("utf-8").splitlines())
XLA_KERNELS: dict[str, dict[str, int]] = {record["item"]: record for record in _FOUND}
KEY = np.array([1, 2], np.uint32)
PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "gelu": (jax.nn.gelu, [numbers(64, 128)]),
    "gelu, bfloat16": (jax.nn.gelu, [bf16(64, 128)]),
    "softmax": (jax.nn.softmax, [numbers(64, 128)]),
    "layer norm": (layer_norm, [numbers(64, 256), numbers(256), numbers(256)]),
    "layer norm, gradients": (gradient(layer_norm, 0, 1, 2), [numbers(512, 256), numbers(256), numbers(256)]),
    "batch norm, channels last": (batch_norm, [numbers(8, 16, 16, 32)]),
    "batch norm, channels last, larger": (batch_norm, [numbers(32, 56, 56, 16)]),
    "attention": (attention, [numbers(2, 4, 32, 16)] * 3),
    "attention, bfloat16": (attention, [bf16(2, 4, 32, 16)] * 3),
    "product of heads behind positions": (
        lambda q, k: jnp.einsum("bthd,bshd->bhts", q, k),
        [numbers(2, 64, 4, 1024)] * 2,
    ),
    "product of grouped heads, bfloat16": (
        lambda q, k: jnp.einsum("bqhgd,bkhd->bhgqk", q, k),
        [bf16(2, 64, 4, 2, 32), bf16(2, 64, 4, 32)],
    ),
    "dense layer, bfloat16": (lambda x, w, b: jax.nn.relu(x @ w + b), [bf16(64, 32), bf16(32, 64), bf16(64)]),
    "MLP, training step": (mlp_step, [numbers(64, 128), numbers(128), numbers(128, 32), numbers(16, 64), bf16(16, 32)]),
    "cross entropy": (cross_entropy, [numbers(32, 512), places(512, 32)]),
    "cross entropy, gradient": (jax.grad(cross_entropy), [numbers(32, 512), places(512, 32)]),
    "embedding": (lambda table, at: table[at], [numbers(512, 32), places(512, 8, 8)]),
    "embedding, gradient": (gradient(lambda table, at: table[at]), [numbers(512, 32), places(512, 8, 8)]),
    "segment sum": (lambda x, at: jax.ops.segment_sum(x, at, 16), [numbers(128, 8), places(16, 128)]),
    "random bits": (lambda key: jax.random.bits(key, (64, 64)), [KEY]),
    "uniform numbers": (lambda key: jax.random.uniform(key, (64, 64)), [KEY]),
    "normal numbers": (lambda key: jax.random.normal(key, (64, 64)), [KEY]),
    "convolution": (convolution, [numbers(2, 16, 16, 8), numbers(3, 3, 8, 16)]),
    "convolution, gradients": (gradient(convolution, 0, 1), [numbers(2, 16, 16, 8), numbers(3, 3, 8, 16)]),
    "convolution, bfloat16": (convolution, [bf16(2, 16, 16, 8), bf16(3, 3, 8, 16)]),
    "depthwise convolution": (lambda x, w: convolution(x, w, 8), [numbers(2, 16, 16, 8), numbers(3, 3, 1, 8)]),
    "max pool 2 x 2": (lambda x: max_pool(x, 2), [numbers(2, 16, 16, 8)]),
    "max pool 2 x 2, gradient": (gradient(lambda x: max_pool(x, 2)), [numbers(2, 16, 16, 8)]),
    "max pool 3 x 3, gradient": (gradient(lambda x: max_pool(x, 3)), [numbers(2, 16, 16, 8)]),
    "LSTM, 8 steps": (lstm, [numbers(8, 4, 16), numbers(16, 64), numbers(16, 64), numbers(4, 16)]),
    "LSTM, 8 steps, gradients": (
        gradient(lstm, 1, 2),
        [numbers(8, 4, 16), numbers(16, 64), numbers(16, 64), numbers(4, 16)],
    ),
    "top-k": (lambda x: lax.top_k(x, 8), [numbers(16, 128)]),
    "sort of rows": (lambda x: jnp.sort(x, -1), [numbers(16, 128)]),
    "argsort of rows": (lambda x: jnp.argsort(x, -1), [numbers(16, 128)]),
    "cumulative sum": (jnp.cumsum, [numbers(1000)]),
    "histogram": (lambda x: jnp.histogram(x, 32)[0], [numbers(1000)]),
    "FFT convolution": (fft_convolution, [numbers(4, 128), numbers(4, 128)]),
    "stencil, 10 steps": (stencil, [numbers(32, 32)]),
}
