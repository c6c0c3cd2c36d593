"""A Python function that was traced many times without ``jit`` is emitted once."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.trees.named_results import NamedResults
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.passes.outlining.by_call_stack import outlining

CHECKOUT = Path(__file__).resolve().parents[2]
LAYERS = 8


def layer(x, weight, bias):
    hidden = jnp.tanh(x @ weight + bias)
    mean = hidden.mean(axis=-1, keepdims=True)
    return x + (hidden - mean) / jnp.sqrt(hidden.var(axis=-1, keepdims=True) + 1e-5)


def stacked(layer, x, weights, biases):
    for weight, bias in zip(weights, biases, strict=True):
        x = layer(x, weight, bias)
    return x


def traced(x, weights, biases):
    return stacked(layer, x, weights, biases)


def jitted(x, weights, biases):
    return stacked(jax.jit(layer), x, weights, biases)


def trained(x, weights, biases):
    def loss(weights):
        return (stacked(layer, x, weights, biases) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(weights)
    return value, [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients, strict=True)]


def rematerialised(x, weights, biases):
    return jax.grad(lambda weights: (stacked(jax.checkpoint(layer), x, weights, biases) ** 2).mean())(weights)


def arguments(count):
    rng = np.random.default_rng(0)
    draws = [
        (0.3 * rng.normal(size=shape)).astype(np.float32) for shape in [(4, 8), *[(8, 8)] * count, *[(8,)] * count]
    ]
    return draws[0], draws[1 : count + 1], draws[count + 1 :]


def hlo(function, *given):
    return jax.jit(function).lower(*given).as_text("hlo", debug_info=True)


def assert_computes(source, function, *given, tolerance=1e-4):
    found = source.load().main(*jax.tree.leaves(given))
    results = found if isinstance(found, tuple) else (found,)
    for expected, actual in zip(jax.tree.leaves(function(*given)), results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("function", [traced, jitted])
def test_layers_are_one_function_and_as_many_calls(function):
    given = arguments(LAYERS)
    emitted = xla2py.emit(hlo(function, *given), checks=False)
    program = emitted.source[emitted.source.index("def main") :]
    assert re.findall(r"^def (\w+)", program, re.MULTILINE) == ["main", "layer"]
    assert len(re.findall(r"\blayer\(", program)) == LAYERS + 1
    assert program.count("np.tanh(") == 1
    assert_computes(emitted, function, *given)


@pytest.mark.parametrize("function", [trained, rematerialised])
def test_so_are_the_gradients_of_a_layer(function):
    given = arguments(LAYERS)
    emitted = xla2py.emit(hlo(function, *given), checks=False, disable_passes=["layers"])
    program = emitted.source[emitted.source.index("def main") :]
    assert len(re.findall(r"^def d_layer\(", program, re.MULTILINE)) == 1
    assert len(re.findall(r"\bd_layer\(", program)) == LAYERS + 1
    assert re.search(r"^def d_layer\([^)]*\bgradient: Array", program, re.MULTILINE)
    assert_computes(emitted, function, *given)


@pytest.mark.texts_of("0.10")
def test_what_a_function_leaves_to_its_gradient_has_its_name_in_both():
    program = xla2py.emit(hlo(trained, *arguments(3)), checks=False).source
    gradient = re.search(r"^def d_layer\([^)]*layer_results: LayerResults.*?\n\n\n", program, re.MULTILINE | re.DOTALL)[
        0
    ]
    left = re.search(r"^class LayerResults\(NamedTuple\):\n(.*?)\n\n\n", program, re.MULTILINE | re.DOTALL)[1]
    assert "ratio" not in left  # 1 / (root * root), which the gradient alone reads
    for name in ("tanh", "root", "difference"):
        assert re.search(rf"\blayer_results\.{name}(_\d+)?\b", gradient)
        assert re.search(rf"\b{name}(_\d+)?\b", left)


def normalised(x, offset, scale):
    deviation = jnp.sqrt(jnp.square(x).sum(axis=-1, keepdims=True) + 1e-5)
    return jnp.tanh(jnp.sin(x) / deviation) * scale + offset


def test_parameters_stand_in_the_order_of_their_first_use():
    def scaled(x, offsets, scales):
        return stacked(normalised, x, offsets, scales)

    x, _, biases = arguments(LAYERS)
    emitted = xla2py.emit(hlo(scaled, x, biases, [bias + 1 for bias in biases]), checks=False)
    assert "def normalised(x: Array, scales: Array, offsets: Array)" in emitted.source
    assert_computes(emitted, scaled, x, biases, [bias + 1 for bias in biases])


@pytest.mark.parametrize("function", [traced, trained, rematerialised])
def test_the_outlined_module_is_valid_and_without_the_pass_the_text_is_as_right(function):
    given = arguments(3)
    text = hlo(function, *given)
    module, _ = outlining(xla2py.load(text))
    assert any(computation.name.startswith(("layer.", "d_layer.")) for computation in module.computations)
    verify(module)
    unchanged = xla2py.emit(text, checks=False, disable_passes=["outlining", "layers"])
    assert "def layer" not in unchanged.source
    assert_computes(unchanged, function, *given)


def rows(x):
    def centred(row, scale):
        centre = row - row.mean()
        return jnp.sin(centre) * scale + jnp.cos(centre) / (1 + jnp.exp(-row))

    return centred(x[0], 2.0), centred(x[1], 2.0), centred(x[2], 3.0)


def test_calls_that_differ_in_a_constant_share_a_function_that_is_given_it():
    x = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    emitted = xla2py.emit(hlo(rows, x), checks=False)
    assert len(re.findall(r"\bcentred\(", emitted.source)) == 4
    assert "3" in re.search(r"centred\(x\[2\].*\)", emitted.source)[0]
    assert_computes(emitted, rows, x)


def stirred(x, rate):
    """A step, then some more in a loop, one of them in a branch."""

    def step(x):
        around = jnp.roll(x, 1) * rate + jnp.roll(x, -1) * (1 - rate)
        return jnp.tanh(jnp.sin(around) / jnp.sqrt(1 + around * around) + x / (1 + jnp.exp(-around)))

    def round_(k, x):
        return jax.lax.cond(x[0] > 0, step, jnp.cos, step(x))

    return jax.lax.fori_loop(0, 5, round_, step(x))


def test_what_is_done_before_a_loop_and_in_it_is_one_function():
    x, rate = np.linspace(-1, 1, 6, dtype=np.float32), np.float32(0.25)
    text = hlo(stirred, x, rate)
    emitted = xla2py.emit(text, checks=False)
    assert len(re.findall(r"\bstep\(", emitted.source)) == 4
    verify(outlining(xla2py.load(text), around_loops=True)[0])
    assert_computes(emitted, stirred, x, rate)
    fast = xla2py.emit(text, checks=False, style="fast")
    assert "def step" not in fast.source
    assert_computes(fast, stirred, x, rate)


def test_little_work_stands_around_a_loop_as_in_it():
    def counted(x):
        def step(x):
            return jnp.sin(x) / (1 + x * x)

        return jax.lax.fori_loop(0, 5, lambda k, x: step(x), step(x))

    module = xla2py.load(hlo(counted, np.ones(3, np.float32)))
    assert outlining(module, around_loops=True)[0] is module


def two_shapes(x, y):
    def activated(v):
        return jnp.sin(v) * jnp.cos(v) + jnp.exp(-v) / (1 + jnp.exp(v))

    return activated(x), activated(y)


def flipped(x):
    def step(v, flip):
        return jnp.sin(v) * jnp.cos(v[::-1] if flip else v + 1) + jnp.exp(-v) / (1 + jnp.exp(v))

    return step(x, True), step(x, False)


@pytest.mark.parametrize(("function", "shapes"), [(two_shapes, [(4,), (2, 3)]), (flipped, [(4,)])])
def test_calls_with_other_shapes_or_another_body_stay_apart(function, shapes):
    given = [np.ones(shape, np.float32) for shape in shapes]
    text = hlo(function, *given)
    module = xla2py.load(text)
    assert outlining(module)[0] is module
    assert_computes(xla2py.emit(text, checks=False), function, *given)


def chained(x):
    def half(v, other):
        return jnp.sin(v) * jnp.cos(v) + jnp.exp(-v), jnp.tanh(other) * jnp.sqrt(1 + other * other)

    first, second = half(x, x)
    third, fourth = half(second, first)
    return third + fourth


def test_calls_that_feed_each_other():
    x = np.ones(4, np.float32)
    emitted = xla2py.emit(hlo(chained, x), checks=False)
    assert_computes(emitted, chained, x)


def test_a_module_without_stack_frames_is_left_alone():
    module = xla2py.load("ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] sine(x) }")
    assert outlining(module)[0] is module


def hidden_layer(x, weight):
    x = jnp.sin(jnp.maximum(x @ weight, 0) @ weight.T) / (1 + x * x)
    return jnp.tanh(x * jnp.cos(x))


@pytest.mark.texts_of("0.10")
def test_fields_are_called_as_the_function_calls_what_it_gives():
    """Not all after the author's ``x`` of the line that they are computed in."""

    def step(x, weights):
        def loss(weights, x):
            for weight in weights:
                x = hidden_layer(x, weight)
            return (x * x).sum()

        return jax.grad(loss)(weights, x)

    module = xla2py.from_jax(step, np.ones((4, 8), np.float32), [np.ones((8, 8), np.float32)] * 3)
    body = ast.parse(xla2py.emit(module, disable_passes=["layers"]).source).body
    (fields,) = ([field.target.id for field in each.body[1:]] for each in body if isinstance(each, ast.ClassDef))
    (given,) = (
        node.value.args
        for node in ast.walk(next(each for each in body if getattr(each, "name", "") == "hidden_layer"))
        if isinstance(node, ast.Return)
    )
    pairs = [(field, each.id) for field, each in zip(fields, given, strict=True) if isinstance(each, ast.Name)]
    assert len(pairs) > 2 and all(re.fullmatch(rf"{name}(_\d+)?", field) for field, name in pairs)
    assert sum(re.fullmatch(r"x(_\d+)?", field) is not None for field in fields) < 3


def test_fields_of_one_word_are_called_after_the_calls_that_make_them():
    named = NamedResults("Results")
    named.name_fields([["y"], ["y"], ["y"], ["z"]], {1: "norm_0", 2: "norm_1", 3: "norm_1"}, [])
    assert named.fields == ("y", "norm_0_y", "norm_1_y", "z")


def test_functions_that_nothing_uses_any_more_are_dropped():
    text = (CHECKOUT / "examples" / "hlo" / "cnn_train_step.after.hlo").read_text("utf-8")
    names = re.findall(r"^def (\w+)", xla2py.emit(text, sources=CHECKOUT).source, re.MULTILINE)
    assert "main" in names and not any("pool" in name for name in names)


def pulled(x, y, z):
    """The gradients of both factors of a product come from one place."""
    rest = y - x
    turned = x * (z - y) - rest
    return jnp.tanh(rest * turned) * jnp.sin(turned) + x * y


def test_gradients_of_products_are_one_function_too():
    def loss(x, z):
        y = x + 1
        for _ in range(2):
            y = y + pulled(x, y, z)
        return (pulled(y, x, z) ** 2).sum()

    x = np.linspace(0.5, 1, 4, dtype=np.float32)
    text = hlo(jax.grad(loss, (0, 1)), x, x + 1)
    assert xla2py.emit(text).source.count("d_pulled(") >= 3
    assert_computes(xla2py.emit(text), jax.grad(loss, (0, 1)), x, x + 1)


def settled(x):
    """A loop whose trace JAX keeps: the second call has the frames of the first below its own."""

    def step(_, y):
        return y - (y - x * jnp.sin(y)) / (1 - x * jnp.cos(y))

    return jnp.sqrt(jax.lax.fori_loop(0, 5, step, x) ** 2 + 1)


def test_a_function_with_a_loop_is_called_as_often_as_its_author_does():
    def program(x, y):
        first = settled(x)
        second = settled(y)
        return first * 2 + second

    x = np.linspace(0.1, 0.5, 4, dtype=np.float32)
    source = xla2py.emit(xla2py.from_jax(program, x, x + 0.1))
    assert source.source.count("settled(") == 3 and source.source.count("for _ in range(5):") == 1
    assert_computes(source, program, x, x + 0.1)


def test_what_a_call_gives_in_parts_has_the_names_that_the_function_gives_them():
    def state(elements):
        position = jnp.sin(elements[:3]) * elements[3]
        velocity = jnp.cos(position) * jnp.sqrt(elements[4]) - position
        return jnp.concatenate([position * 2, velocity])

    def program(elements, offset):
        chief = state(elements)
        deputy = state(elements + offset)
        return jnp.cross(chief[:3], chief[3:]), deputy[:3] - chief[:3], deputy[3:] @ chief[3:]

    x = np.linspace(0.1, 0.5, 5, dtype=np.float32)
    text = xla2py.emit(xla2py.from_jax(program, x, x * 2))
    assert_computes(text, program, x, x * 2)
    heads = re.findall(r"^ +(\w+), (\w+) = state\(", text.source, re.MULTILINE)
    assert len(heads) == 2 and not {"chief", "deputy"} & {name for head in heads for name in head}


def forced(u, k):
    """A product whose first factor depends on nothing else comes before all copies that depend on each other."""
    return -0.5 * k * jnp.tanh(jnp.sin(u) + 1.5) / (1.0 + jnp.cos(u))


def steps_of_a_loop(u, k):
    for weight in (0.1, 0.2, 0.4, 0.3):
        u = u + weight * forced(u, k)
    return u


def upwind(c, v, axis):
    """The lengths of the slices differ along the axes, all else is alike."""
    after = jnp.concatenate([c, jnp.take(c, jnp.arange(1), axis=axis)], axis=axis)
    after = jax.lax.slice_in_dim(after, 1, None, axis=axis)
    ratio = (after - c) / (1.0 + after * after)
    return v * jnp.where(v > 0, c + ratio, after - jnp.tanh(ratio))


def along_both_axes(u, v):
    return tuple(sum(upwind(c, w, axis) for axis, w in enumerate((u, v))) for c in (u, v))


@pytest.mark.parametrize(
    ("function", "shapes", "name", "functions", "calls"),
    [(steps_of_a_loop, [(4,), (4,)], "forced", 1, 4), (along_both_axes, [(3, 3)] * 2, "upwind", 2, 4)],
)
def test_calls_in_python_loops_are_told_apart(function, shapes, name, functions, calls):
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    emitted = xla2py.emit(hlo(function, *given), checks=False)
    program = emitted.source[emitted.source.index("def main") :]
    assert len(re.findall(rf"^def {name}.* -> Array:$", program, re.MULTILINE)) == functions  # one result each
    assert len(re.findall(rf"\b{name}\w*\(", program)) == functions + calls
    assert "-0.5" not in program[: program.index(f"def {name}")]
    assert_computes(emitted, function, *given)
