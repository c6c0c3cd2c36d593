"""Calls of one function, each on what the last one gave, are a loop where their other arguments step."""

import ast
import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.emission.as_xla import emitted, text_of
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.equivalence.lockstep.run import lockstep

COUNT = 5
rng = np.random.default_rng(4)
X = rng.normal(size=(4, 8)).astype(np.float32)
WEIGHTS = (0.3 * rng.normal(size=(COUNT, 8, 8))).astype(np.float32)
SCALES = rng.normal(size=(COUNT,)).astype(np.float32)


def layer(x, weight, scale):
    hidden = jnp.tanh(x @ weight) * scale
    return x + hidden / jnp.sqrt((hidden * hidden).sum(axis=-1, keepdims=True) + 1e-3)


def body(function, *given, **options):
    """The lines of ``main``."""
    source = text_of(function, *given, atol=1e-5, checks=False, annotate="none", **options)
    main = ast.parse(source[source.index("def main(") :]).body[0]
    return "\n".join(ast.unparse(statement) for statement in main.body)


def rows(x, weights, scales):
    for k in range(COUNT):
        x = layer(x, weights[k], scales[k])
    return x


def test_rows_of_arrays():
    text = body(rows, X, WEIGHTS, SCALES)
    assert f"for i in range({COUNT}):\n    x = layer(x, weights[i], scales[i" in text
    assert text.endswith("\nreturn x")


def test_rows_from_the_last_to_the_second():
    def backward(x, weights, scales):
        for k in range(COUNT - 1, 0, -1):
            x = layer(x, weights[k], scales[0])
        return jnp.sin(x)

    text = body(backward, X, WEIGHTS, SCALES)
    assert f"for i in range({COUNT - 1}, 0, -1):" in text


def test_a_list_in_a_tree():
    layers = [{"weight": weight, "scale": scale} for weight, scale in zip(WEIGHTS, SCALES, strict=True)]

    def model(layers, x):
        for each in layers:
            x = layer(x, each["weight"], each["scale"])
        return x

    text = body(model, layers, X, nested=True)
    assert "x = layer(x, layers[i])" in text
    assert text.count("layer(") == 1
    assert body(model, layers, X).count("layer(") == COUNT  # each has a name of its own


def test_the_same_again_and_again():
    def repeated(x, weight, scale):
        for _ in range(COUNT):
            x = layer(x, weight, scale)
        return x

    text = body(repeated, X, WEIGHTS[0], SCALES[0])
    assert f"for _ in range({COUNT}):\n    x = layer(x, weight, scale)" in text


def test_what_is_read_later_keeps_its_name():
    def residual(x, weights, scales):
        y = x
        for k in range(COUNT):
            y = layer(y, weights[k], scales[k])
        return y + x, jnp.cos(x)

    text = body(residual, X, WEIGHTS, SCALES)
    name = re.search(r"^(\w+) = x\nfor i in", text, re.MULTILINE)[1]
    assert f"{name} = layer({name}, weights[i]" in text


def test_what_every_call_reads_keeps_its_name():
    def anchored(x, weights, scale):
        hidden = jnp.sin(x)
        for k in range(COUNT):
            hidden = layer(hidden, weights[k], scale) if k else layer(hidden, weights[0], scale)
        scale = hidden
        return scale

    assert "for i in range" in body(anchored, X, WEIGHTS, SCALES[0])


def test_two_chains_after_one_another():
    def both(x, weights, scales):
        return rows(rows(x, weights, scales), weights + 1, scales)

    assert body(both, X, WEIGHTS, SCALES).count("for i in range") == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, weights, scales: layer(layer(layer(x, weights[0], 1), weights[1], 1), weights[2], 1),  # three
        lambda x, weights, scales: layer(  # 0, 1, 3, 4
            layer(layer(layer(x, weights[0], 1), weights[1], 1), weights[3], 1), weights[4], 1
        ),
        lambda x, weights, scales: layer(  # one steps up, one down
            layer(layer(layer(x, weights[0], scales[3]), weights[1], scales[2]), weights[2], scales[1]),
            weights[3],
            scales[0],
        ),
    ],
)
def test_others_stay_calls(function):
    text = body(function, X, WEIGHTS, SCALES)
    assert "for " not in text and text.count("layer(") >= 3


def test_what_is_read_of_every_call_stands_in_a_list():
    def all_layers(x, weights, scales):
        return [x := layer(x, weights[k], scales[k]) for k in range(COUNT)]

    text = body(all_layers, X, WEIGHTS, SCALES)
    assert "\n    xs[i] = x\n    x = layer(x, weights[i], scales[i" in text
    assert text.endswith("return (*xs[1:], x)")


def test_what_one_chain_gives_is_what_the_next_reads_backwards():
    def both(x, weights, scales):
        kept = []
        for k in range(COUNT):
            kept.append(x)
            x = layer(x, weights[k], scales[k])
        y = jnp.tanh(x)
        for k in reversed(range(COUNT)):
            y = mixed(y, kept[k], weights[k])
        return y

    def mixed(y, x, weight):
        hidden = jnp.sin(y @ weight) * jnp.cos(x)
        return hidden / jnp.sqrt((hidden * hidden).sum(axis=-1, keepdims=True) + 1e-3) + y * x

    text = body(both, X, WEIGHTS, SCALES)
    assert "xs: list[Any] = [None] * 5" in text and "    xs[i] = x\n" in text
    assert re.search(r"for i in reversed\(range\(5\)\):\n    (\w+) = mixed\(\1, weights\[i\], xs\[i\]\)", text)


def test_keys_with_numbers_are_counted():
    names = [f"block_{k}" for k in range(COUNT)]
    params = {name: {"weight": w, "scale": s} for name, w, s in zip(names, WEIGHTS, SCALES, strict=True)}

    def model(params, x):
        hidden = {}
        for name in names:
            x = hidden[name] = layer(x, **params[name])
        return {"x": x, "hidden": {name: jnp.sin(each) for name, each in hidden.items()}}

    text = body(model, params, X, nested=True)
    assert "layer(x, params[f'block_{i}']" in text and text.count("layer(") == 1


def test_weights_of_a_file_are_counted():
    pytest.importorskip("jax")
    blocks = [{"w": w, "b": b} for w, b in zip(WEIGHTS, rng.normal(size=(COUNT, 8)).astype(np.float32), strict=True)]

    def model(x):
        for block in blocks:
            x = layer(x, block["w"], block["b"])
        return x

    def differently(x):
        for block in [*blocks[:2], *blocks[3:], blocks[2]]:
            x = layer(x, block["w"], block["b"])
        return x

    emitted = xla2py.emit(xla2py.from_jax(model, X), constants="safetensors", annotate="none")
    np.testing.assert_allclose(emitted.load().main(X), model(X), rtol=1e-5, atol=1e-5)
    assert emitted.source.count("layer(") == 2 and "layer(x, blocks[i])" in emitted.source
    assert len(emitted.constants) == 2 * COUNT and emitted.constants["blocks.3.w"] is not None
    other = xla2py.emit(xla2py.from_jax(differently, X), constants="safetensors")
    np.testing.assert_allclose(other.load().main(X), differently(X), rtol=1e-5, atol=1e-5)


def test_lists_of_lockstep():
    def all_layers(x, weights, scales):
        return [x := layer(x, weights[k], scales[k]) for k in range(COUNT)]

    module = xla2py.load(jax.jit(all_layers).lower(X, WEIGHTS, SCALES).as_text("hlo", debug_info=True))
    found = lockstep(module, xla2py.emit(module), [X, WEIGHTS, SCALES])
    assert not found.divergences and not found.unchecked and not found.failure


def test_it_can_be_left_out():
    text = body(rows, X, WEIGHTS, SCALES, disable_passes=["chains"])
    assert "for " not in text and text.count("layer(") == COUNT


def test_every_call_belongs_to_the_loop():
    text = jax.jit(rows).lower(X, WEIGHTS, SCALES).as_text("hlo", debug_info=True)
    emitted = xla2py.emit(text, disable_passes=["layers", "outlining"])
    calls = xla2py.emit(text)
    assert len(emitted.line_map().statements) > len(calls.line_map().statements)
    head = next(n for n, line in enumerate(calls.source.splitlines(), 1) if "for i in" in line)
    assert all(calls.line_map().at(number).instructions for number in (head, head + 1))


def test_lockstep_finds_no_difference():
    module = xla2py.load(jax.jit(rows).lower(X, WEIGHTS, SCALES).as_text("hlo", debug_info=True))
    found = lockstep(module, xla2py.emit(module), [X, WEIGHTS, SCALES])
    assert not found.divergences and not found.unchecked and not found.failure


def test_a_carried_value_keeps_its_name_beside_a_target_that_is_read_later():
    real = pytest.importorskip("jax")

    @real.jit
    def turned(a, x):
        y = real.numpy.sin(a * x) - real.numpy.cos(a) * 2 + real.numpy.roll(a, 1)
        x = real.numpy.clip(real.numpy.tanh(y * x) - real.numpy.roll(x, 1) * y, -3, 3)
        h = real.numpy.sin(real.numpy.roll(x, -1)) * x - real.numpy.tanh(x * x)
        return y, x, h

    def last(a, x):
        z = x
        for _ in range(4):
            a, z, x = turned(a, x)
        return z, a

    source = xla2py.emit(real.jit(last, keep_unused=True).lower(X[0], X[1])).source
    targets = re.search(r"for _ in range\(4\):.*\n +(.*) = turned\(", source)[1].split(", ")
    assert len(set(targets)) == 3


def test_two_operands_that_one_result_becomes_begin_with_their_own_values():
    def mixed(a, b):
        t = jnp.sin(a) - b * 0.5
        return jnp.tanh(t * a) + jnp.roll(t, 1) * b

    def program(x, z):
        for _ in range(5):
            x = z = mixed(z, x)
        return z

    body(program, X, X + 1)


def test_gradients_of_calls_whose_objects_are_named_later():
    real = pytest.importorskip("jax")
    tanh, roll, clip = real.numpy.tanh, real.numpy.roll, real.numpy.clip

    def smooth(u, v, axis):
        rolled = roll(roll(v, -1, axis), -1, axis)
        for _ in (0, 1):
            u = u + (tanh(rolled) * rolled) * 0.1
        return u

    def scaled(u, v, axis):
        return smooth(tanh(v) * u, v, axis)

    def smoothed(x, y):
        for i in range(4):
            x = clip(smooth(x, x, 0), -3, 3)
            y = clip(scaled(y, y, i % 2), -3, 3)
        return x, y

    def program(x, y):
        return real.value_and_grad(lambda x: sum((each * each).sum() for each in smoothed(x, y)))(x)

    emitted(program, X[:, :4], X[:, 4:], rtol=1e-4, atol=1e-4)


def test_values_in_another_order_do_not_have_the_names_of_the_parameters():
    def part(k, mode, u):
        a = -0.5 * k * u
        b = jnp.exp(a) - k * a
        return b + jnp.flip(b) * (0.1 if mode else 0.2)

    def program(x):
        for k in (1.0, 2.0, 3.0):
            x = part(k, "odd", x) * 0.5
        return x

    assert "mode" not in text_of(program, X[0], atol=1e-5)


def test_an_object_is_handed_on_with_its_carried_result():
    @jax.jit
    def turned(x, weight):
        inner = jnp.sin(x) - weight[::-1] * 0.5
        return weight, jnp.sin(inner) - weight * 0.5

    def losses(x, weights):
        total = 0
        for k in range(4):
            y, x = turned(x, weights[k])
            total = total + (x * x).sum()
        return total + (y * x).sum() + ((x + y) ** 2).sum()

    text = body(jax.value_and_grad(losses, (0, 1)), X[0], WEIGHTS[:4, 0])
    assert re.search(r"\bd_\w+\(.*\b(\w+)s\[2\]", text)


def test_a_carried_value_leaves_what_the_next_begins_with():
    @jax.jit
    def begin(x, y):
        z = jnp.exp(x * 0.1) - y / 3
        x = jnp.tanh(z) * y + jnp.cumsum(x)
        y = x * jnp.exp(-z * z)
        x = x - jnp.sort(z)
        return x, y

    @jax.jit
    def turn(x, y):
        z = jnp.sin(y) * 2 + x
        y = x - jnp.cos(y)
        x = z * 0.5
        return x, y

    def turns(a, b, c):
        x, y = begin(a, b)
        x, y = begin(y, x)
        x, y = turn(x * 2 + c, y + c)
        for _ in range(4):
            x, y = turn(x, y)
        return x, y

    text = body(turns, X[0], X[1], X[2])  # compares the values
    assert re.search(r"= product \+ c\nfor _ in range\(5\):", text)


def test_a_result_of_the_last_call_leaves_what_all_calls_read():
    @jax.jit
    def mixed(x, y):
        larger = jnp.maximum(y * 0.5, x)
        return larger, larger - jnp.maximum(jnp.sort(y) + x, x) * 0.5

    def again(a, c):
        x = jnp.exp(a) - jnp.exp(c)
        y, z = mixed(x, a + a)
        for _ in range(4):
            y, z = mixed(x, y)
        return y, z

    assert "mixed(difference, " in body(again, X[0], X[1])  # compares the values


def test_values_read_behind_calls_in_one_expression_keep_their_names():
    @jax.jit
    def scaled(x):
        return jnp.sin(x * jnp.tanh(x) * jnp.tanh(x))

    def losses(x, c):
        x = x - c
        y = x
        for _ in range(5):
            y = scaled(y)
        return jnp.sin(x).sum() + jnp.sin(y).sum() * 2

    assert "d_scaled(" in body(jax.grad(losses, 1), X[0], X[1])  # compares the values


def coupling(x, weight, scale):
    shift = jnp.tanh(x @ weight) * scale
    logs = jnp.tanh(shift * shift - jnp.cos(shift))
    return x * jnp.exp(-logs) + shift, logs.sum(axis=-1)


def total(x, weights, scales, order=range(COUNT), started=None, read=lambda every: []):
    every = []
    for k in order:
        x, own = coupling(x, weights[k], scales[k])
        every.append(own)
        started = own if started is None else started + own
    return x, started, read(every)


@pytest.mark.parametrize(
    "function, line",
    [
        (total, r"sum\(totals\)"),
        (lambda *given: total(*given, order=range(COUNT)[::-1]), r"sum\(reversed\(totals\)\)"),
        (lambda *given: total(*given, started=given[0].max(axis=-1)), r"sum\(totals, \w+\.max\(axis=-1\)\)"),
        (lambda *given: total(*given, started=given[0].max()), r"sum\(totals, \w+\.max\(\)\)"),
    ],
)
def test_sums_of_what_all_calls_give(function, line):
    assert re.search(rf"\breturn \(\w+, {line}\)$", body(function, X, WEIGHTS, SCALES))


@pytest.mark.parametrize(
    "function",
    [
        lambda *given: total(*given, read=lambda every: every[2]),  # another reader
        lambda *given: total(*given, order=(0, 1, 2, 4, 3)),
    ],
)
def test_other_sums_stay(function):
    assert "sum(" not in body(function, X, WEIGHTS, SCALES)
