"""Pools and their gradients on CuPy: kernels that are compiled for the geometry of the windows."""

import functools
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.tests.ladder.running import needs_compiler, verdict
from xla2py.tests.ladder.test_device_functions import compared
from xla2py.tests.operations.case import EXACT
from xla2py.tests.recording.lazy_jax import jax, jnp, lax
from xla2py.tests.whole import much

pytestmark = needs_compiler
GENERATOR = np.random.default_rng(4)
IMAGES = GENERATOR.integers(-3, 3, (2, 7, 6, 3)).astype(np.float32)  # with equal numbers in a window
MANY = GENERATOR.integers(-3, 3, (2, 7, 6, 8)).astype(np.float32)  # channels, of which threads take 16 bytes at once
TYPED = {"3 channels": IMAGES, "8 channels": MANY, "bfloat16": MANY.astype(jnp.bfloat16)}


def pooled(x, combine, start, window, strides, padding):
    return lax.reduce_window(x, x.dtype.type(start), combine, (1, window, window, 1), (1, strides, strides, 1), padding)


@pytest.mark.parametrize(
    ("padding", "images", "sizes"), [*product(["SAME", "VALID"], TYPED, [(3, 2), (2, 1), (2, 3)])][:: much(2, 1)]
)
def test_a_pool_is_one_kernel_and_its_gradient_two(padding, images, sizes):
    images, (window, strides) = TYPED[images], sizes
    pool = functools.partial(pooled, window=window, strides=strides, padding=padding)
    for combine, start in ((lax.max, -jnp.inf), (lax.min, jnp.inf), (lax.add, 0)):
        compared(functools.partial(pool, combine=combine, start=start), images, launches=1, helper="pool")

    def gradient(x, source):
        return jax.vjp(functools.partial(pool, combine=lax.max, start=-jnp.inf), x)[1](source)[0]

    shape = jax.eval_shape(functools.partial(pool, combine=lax.max, start=-jnp.inf), images).shape
    source = GENERATOR.integers(-9, 9, shape).astype(images.dtype)
    launches = 2 if padding == "VALID" else None  # others have a pad before them
    compared(gradient, images, source, launches=launches, helper="pool_gradient")


PARTS = {
    "every other, turned": lambda x: x[:, 1::2, :, ::-1],
    "some channels": lambda x: x[..., :4],
    "turned axes": lambda x: x.transpose(0, 2, 1, 3),
    "from behind": lambda x: x[::-1],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_windows_of_parts_of_arrays_are_read_where_they_are(part):
    compared(lambda x: pooled(part(x), lax.max, -jnp.inf, 2, 1, "VALID"), MANY, launches=None, helper="pool")


GRADIENT = """HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ge { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE }
ENTRY main {
  x = f32[2,7,6,8] parameter(0)
  source = f32[2,4,3,8] parameter(1)
  zero = f32[] constant(0)
  ROOT r = f32[2,7,6,8] select-and-scatter(x, source, zero), select=ge, scatter=add,
    window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_0x0_0}
}
"""
SOURCE = GENERATOR.integers(1, 9, (2, 4, 3, 8)).astype(np.float32)
INSIDE = "inside &= fits || (index >= 0 && index < shape[axis]);"
FAULTS = {
    "elements before the first": (INSIDE, "inside &= fits || index < shape[axis];"),
    "elements behind the last": (INSIDE, "inside &= fits || index >= 0;"),
    "elements behind the end of a window": (" && own < sizes[axis]", ""),
    "windows behind the last": (" && window < counts[axis]", ""),
    "too few windows": ("(sizes[axis] + strides[axis] - 1) / strides[axis]", "sizes[axis] / strides[axis]"),
    "the last of equal numbers": ("chosen[k] STAYS numbers[k]", "chosen[k] > numbers[k]"),
    "another element of the window": ("size *= sizes[axis];", ""),
    "steps of single elements": ("step // together for step in before", "step for step in before"),
    "one channel for all": ("found[k] == tap", "found[0] == tap"),
}


@pytest.fixture(scope="module")
def gradient():
    """The module and its results, which are right without a fault."""
    emitted, expected = xla2py.emit(GRADIENT, "cupy", format=False), xla2py.emit(GRADIENT).load().main(MANY, SOURCE)
    assert verdict(emitted, [MANY, SOURCE], expected, EXACT) == ""
    return emitted, expected


@pytest.mark.parametrize(("good", "bad"), FAULTS.values(), ids=FAULTS)
def test_the_ladder_finds(good, bad, gradient):
    emitted, expected = gradient
    assert good in emitted.source
    wrong = replace(emitted, source=emitted.source.replace(good, bad))
    assert verdict(wrong, [MANY, SOURCE], expected, EXACT) != ""
