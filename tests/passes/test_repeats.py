"""What is done alike to several arrays becomes one function."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, entry, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

rng = np.random.default_rng(2)
SHAPES = [(4,), (3, 4), (2, 3)]
WEIGHTS = [rng.normal(size=shape).astype(np.float32) for shape in SHAPES]
MEANS = [0.1 * weight for weight in WEIGHTS]
RATE = np.float32(0.5)


def momentum(weight, mean, rate):
    mean = 0.9 * mean + 0.1 * jnp.tanh(weight)
    return weight - rate * mean / (jnp.sqrt(mean * mean) + 1e-3), mean


def flat(*arrays):
    return [*WEIGHTS, *MEANS, *arrays]


def updates(weights, means, rate):
    return [momentum(weight, mean, rate) for weight, mean in zip(weights, means, strict=True)]


def test_parts_of_different_shapes_are_one_function():
    text = hlo(updates, WEIGHTS, MEANS, RATE)
    body = main(text)
    assert body.count(" = update(") == 3
    assert "np.sqrt" not in body
    assert_agrees(text, *flat(RATE), without="repeats")


def test_without_stacks_too():
    text = re.sub(r", metadata=\{[^}]*\}", "", hlo(updates, WEIGHTS, MEANS, RATE))
    source = xla2py.emit(text, checks=False).source
    assert source.count("= update(") == 3 and "def update(" in source
    assert_agrees(text, *flat(RATE), without="repeats")


@pytest.mark.parametrize(
    "function",
    [
        lambda weights, means, rate: updates(weights[:2], means[:2], rate),  # two are too few
        lambda weights, means, rate: [w - rate * m for w, m in zip(weights, means, strict=True)],  # too little work
        lambda weights, means, rate: [  # all differ
            momentum(weight * factor, mean, rate)
            for factor, weight, mean in zip((1.5, 2, 3), weights, means, strict=True)
        ],
        lambda weights, means, rate: [  # a row for each: shapes matter
            momentum(weight, mean[..., :1], rate) for weight, mean in zip(weights, means, strict=True)
        ],
    ],
)
def test_others_stay(function):
    text = hlo(function, WEIGHTS, MEANS, RATE)
    assert main(text, disable_passes=["outlining"]) == main(text, disable_passes=["outlining", "repeats"])
    assert_agrees(text, *flat(RATE), without="repeats")


LAYERS = [rng.normal(size=shape).astype(np.float32) for shape in [(3, 4), (4,), (4, 1), (1,)]]


def gradient_of(weights, x):
    """The gradient of the last layer is a row, and that of its bias is a number; both are updated like other leaves."""

    def loss(weights):
        first, bias, last, shift = weights
        return ((jnp.sin(x @ first + bias) @ last + shift)[:, 0] ** 2).sum()

    return jax.grad(loss)(weights)


def trained(weights, means, x, rate):
    gradient = gradient_of(weights, x)
    means = [0.9 * mean + 0.1 * jnp.tanh(d * rate) * d for mean, d in zip(means, gradient, strict=True)]
    return [w - rate * m / (jnp.sqrt(m * m) + 1e-3) for w, m in zip(weights, means, strict=True)], means


def beside(weights, means, x, rate):
    """The function returns means that decay more slowly than those by which it changes the weights."""
    new, kept = [], []
    for w, mean, d in zip(weights, means, gradient_of(weights, x), strict=True):
        step = 0.9 * mean + 0.1 * d
        new.append(w - rate * (jnp.tanh(step) + 0.01 * w) / (1 + step * step))
        kept.append(0.99 * mean + 0.01 * d)
    return new, kept


@pytest.mark.parametrize("function", [trained, beside])
def test_unit_axes_that_were_left_out(function):
    text = hlo(function, LAYERS, LAYERS, WEIGHTS[1].T, RATE)
    body = main(text)
    assert body.count(" = update(") == 4
    assert all(part in body for part in ("np.array([", ")[:, None]", "x.T @ "))
    assert_agrees(text, *LAYERS, *LAYERS, WEIGHTS[1].T, RATE, without="repeats")


def test_unit_axes_stay_out_of_short_updates():
    def short(weights, means, x, rate):
        return [w * 0.99 - rate * d for w, d in zip(weights, gradient_of(weights, x), strict=True)]

    text = hlo(short, LAYERS, LAYERS, WEIGHTS[1].T, RATE)
    assert main(text) == main(text, disable_passes=["repeats"])


def test_unit_axes_stay_out_of_what_else_is_read():
    """The rows that are returned, and too few copies."""

    def told(weights, means, x, rate):
        new, means = trained(weights, means, x, rate)
        return new, means, jnp.tanh(means[2][:, 0] * rate)

    text = hlo(told, LAYERS, LAYERS, WEIGHTS[1].T, RATE)
    assert_agrees(text, *LAYERS, *LAYERS, WEIGHTS[1].T, RATE, without="repeats")
    text = hlo(lambda w, m, x, rate: trained(w, m, x, rate)[0][2:], LAYERS, LAYERS, WEIGHTS[1].T, RATE)
    assert main(text) == main(text, disable_passes=["repeats"])


def normalised(weights, means, rate):
    found = []
    for weight, mean in zip(weights, means, strict=True):
        new, mean = momentum(weight, mean, rate)
        found.append(momentum(new / new.sum(), mean, rate))
    return found


def chained(weights, means, rate):
    found = []
    for weight, mean in zip(weights, means, strict=True):
        new, mean = momentum(weight, mean, rate)
        rate = jnp.mean(new)
        found.append((new, mean))
    return found


@pytest.mark.parametrize("function", [normalised, chained])
def test_parts_that_need_results_in_between(function):
    assert_agrees(hlo(function, WEIGHTS, MEANS, RATE), *flat(RATE), without="repeats")


def test_a_target_without_calls_keeps_them_in_place():
    source = xla2py.emit(hlo(updates, WEIGHTS, MEANS, RATE), target="dask").source
    assert "part_of" not in source and "update(" not in source


def test_arguments_stand_first_in_their_order_then_gradients_then_numbers():
    def trained(weights, means, rate):
        def loss(weights):
            return jnp.sum((jnp.tanh(jnp.ones((5, 2)) @ weights[2]) @ weights[1] + weights[0]) ** 2)

        scale = 1 / (1 - rate**3)
        found = []
        for weight, mean, slope in zip(weights, means, jax.grad(loss)(weights), strict=True):
            mean = 0.9 * mean + 0.1 * slope * slope
            found.append((weight - scale * slope / (jnp.sqrt(mean) + 1e-3) * mean, mean))
        return found

    text = jax.jit(trained).lower(WEIGHTS, MEANS, RATE).as_text("hlo", debug_info=True)
    source = xla2py.emit(text, checks=False).source
    assert re.search(r"def \w+\(\s*weights: Array, means: Array, gradient: Array, \w+: Scalar\s*\)", source)
    assert_agrees(text, *flat(RATE), without="repeats")


def test_a_part_without_names_that_makes_no_argument_anew_is_a_part():
    def measured(weights, means, rate):
        return [
            jnp.sum(momentum(jnp.sin(rate) + 0 * weight, mean.sum() + 0 * mean, rate)[0])
            for weight, mean in zip(weights, means, strict=True)
        ]

    text = re.sub(r", metadata=\{[^}]*\}", "", hlo(measured, WEIGHTS, MEANS, RATE))
    assert "update(" not in xla2py.emit(text, checks=False).source
    assert_agrees(text, *flat(RATE), without="repeats")


def test_kernels_are_written_for_arrays_of_one_shape():
    text = hlo(updates, WEIGHTS, MEANS, RATE)
    assert_agrees(text, *flat(RATE), without="repeats")
    emitted = xla2py.emit(text, style="fused", checks=False).load()
    wanted = xla2py.emit(text, checks=False).load().main(*flat(RATE))
    for given, other in zip(emitted.main(*flat(RATE)), wanted, strict=True):
        np.testing.assert_allclose(given, other, rtol=1e-5)


def _quadrature(sizes, *numbers):
    """Sums of a long expression of positions, one for each number of them."""

    def density(k, a, b, c, d, e, f, g, h, i, j, m, n):
        s = jnp.sinc(k * a) * jnp.exp(-((k / b) ** 2)) + jnp.log(k * c + d) / (k * e + f)
        t = jnp.tanh(k * g) * jnp.cos(k * h + i) - jnp.sqrt(k * j + m) * n
        return (s * t + jnp.sin(s) * a) / (1 + t * t) * jnp.exp(-k) + s * k - t * b

    return sum(density(jnp.arange(size) * 0.5 + 0.25, *numbers).sum() for size in sizes)


NUMBERS = [np.float32(number) for number in np.linspace(0.5, 1.5, 12)]


@pytest.mark.texts_of("0.10")
def test_long_work_may_need_many_values():
    """Of the positions no more is computed outside than what is little work."""
    text = hlo(lambda *numbers: _quadrature((8, 16, 32), *numbers), *NUMBERS)
    source = xla2py.emit(text).source
    assert source.count("np.sinc(") == 1 and source.count("def part_of_density") <= 1
    assert source.count("np.tanh(") == 1
    assert_agrees(text, *NUMBERS, without="repeats")


def test_the_order_of_instructions_does_not_matter():
    lines, orders = [], [[0, 1, 2, 3, 4, 5, 6], [1, 2, 0, 3, 4, 5, 6], [0, 1, 2, 4, 3, 5, 6]]
    for k, order in enumerate(orders):
        own = [
            f"sin{k} = f32[4] sine(x{k})",
            f"q{k} = f32[4] multiply(x{k}, x{k})",
            f"r{k} = f32[4] exponential(q{k})",
            f"e{k} = f32[4] add(sin{k}, r{k})",
            f"c{k} = f32[4] cosine(q{k})",
            f"t{k} = f32[4] tanh(e{k})",
            f"v{k} = f32[4] divide(c{k}, t{k})",
        ]
        lines += [f"x{k} = f32[4] parameter({k})", *(own[n] for n in order)]
    results = ", ".join(f"{letter}{k}" for k in range(3) for letter in "vt")
    text = entry(*lines, f"all = ({', '.join(['f32[4]'] * 6)}) tuple({results})")
    assert "np." not in main(text)
    assert_agrees(text, *[np.linspace(k + 1, k + 2, 4, dtype=np.float32) for k in range(3)], without="repeats")


@pytest.mark.texts_of("0.10")
def test_two_copies_are_written_out():
    text = hlo(lambda *numbers: _quadrature((8, 16), *numbers), *NUMBERS)
    assert xla2py.emit(text).source.count("np.sinc(") == 2
    assert_agrees(text, *NUMBERS, without="repeats")
