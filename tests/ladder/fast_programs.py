"""Programs for the style ``fast`` of CuPy, and what is asked of the modules that are made of them."""

from __future__ import annotations

import numpy as np

from xla2py.tests.recording.lazy_jax import jax


def kernels(module):
    """The names of a module's kernels."""
    return [line.split()[0] for line in module.source.splitlines() if line.split()[1:2] == ["="] and "_kernel" in line]


def program(*lines):
    return "HloModule m\nENTRY main {\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n"


CHAIN = program(
    "x = f32[4,6] parameter(0)",
    "y = f32[6] parameter(1)",
    "one = f32[] constant(1)",
    "ones = f32[4,6] broadcast(one), dimensions={}",
    "row = f32[4,6] broadcast(y), dimensions={1}",
    "lifted = f32[4,6] add(x, ones)",
    "larger = f32[4,6] maximum(lifted, row)",
    "ROOT r = f32[4,6] multiply(larger, larger)",
)
ROW = np.float32([1, np.nan, 3, -1, 0, 9])
TABLE = np.arange(24, dtype=np.float32).reshape(4, 6) - 7


def softmax(rows, columns, axis=1):
    shape, line = f"f32[{rows},{columns}]", f"f32[{(rows, columns)[1 - axis]}]"
    return program(
        f"x = {shape} parameter(0)",
        "lowest = f32[] constant(-inf)",
        "zero = f32[] constant(0)",
        f"peak = {line} reduce(x, lowest), dimensions={{{axis}}}, to_apply=larger",
        f"peaks = {shape} broadcast(peak), dimensions={{{1 - axis}}}",
        f"lower = {shape} subtract(x, peaks)",
        f"exp = {shape} exponential(lower)",
        f"total = {line} reduce(exp, zero), dimensions={{{axis}}}, to_apply=sum",
        f"totals = {shape} broadcast(total), dimensions={{{1 - axis}}}",
        f"ratio = {shape} divide(exp, totals)",
        f"ROOT r = ({shape}, {line}) tuple(ratio, total)",
    ).replace("ENTRY", COMBINERS + "ENTRY")


COMBINERS = """larger { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
"""


def rows_of(shape):
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    x[-1, shape[1] // 2] = np.nan
    return x


def rotated(x, cosine, sine):
    half = x.shape[-1] // 2
    left, right = x[..., :half], x[..., half:]
    return jax.numpy.concatenate([left * cosine - right * sine, right * cosine + left * sine], -1)


def turned(x, cosine, sine):
    half = x.shape[-1] // 2
    return x * cosine[0, 0] + jax.numpy.concatenate([-x[..., half:], x[..., :half]], -1) * sine[0, 0]


def interleaved(x, cosine, sine):
    left, right = x[..., ::2], x[..., 1::2]
    return jax.numpy.stack([left * cosine - right * sine, right * cosine + left * sine], -1)


def laplacian(x, *_):
    roll = jax.numpy.roll
    return roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -1, 1) - x * 4


def nested(x, cosine, _):
    inner = jax.numpy.concatenate([x[:, :2] * cosine[0, 0], x[:, 1:] - 1], 1)
    return jax.numpy.concatenate([inner[::-1] * 2, x, x[:, 1:3]], 1) * 3


def framed(x, *_):
    padded = jax.numpy.pad(x * 2, ((0, 0), (1, 2), (3, 0)), constant_values=-jax.numpy.inf)
    return jax.numpy.exp(padded) + 1


def shifted(x, *_):
    return x - jax.numpy.pad(x[:, :-1] * x[:, 1:], ((0, 0), (1, 0), (0, 0)))


def turned_frame(x, cosine, _):
    padded = jax.numpy.pad(jax.numpy.tanh(x), ((2, 1), (0, 0), (0, 0)), constant_values=3)
    return padded[::-1, 1:] * 2 + jax.numpy.pad(cosine[0, 0] * x[0, 1:], ((0, 0), (0, 0)))


PLANE = np.random.default_rng(10).normal(size=(4, 6, 8)).astype(np.float32)
TURNS = [np.random.default_rng(11).normal(size=(6, 4)).astype(np.float32) for _ in range(2)]
