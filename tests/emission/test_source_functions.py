"""Carried values, stacked outputs and parameters have the author's names, which may be bound again in between."""

import ast
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp, lax
from xla2py.transpile.emission.naming.source_functions import _called_with


def bound_again(x):
    def attempt(state):
        time, step = state
        step = jnp.minimum(step, 3 - time)
        error = jnp.sin(step) * time
        return time + step * 0.5, step * 1.5 + jnp.abs(error)

    return lax.while_loop(lambda state: state[0] < 2.5, attempt, (x, 0.1 * x))


def read_late(x):
    def step(carry, row):
        a, b = carry
        old = a
        a = jnp.tanh(a * row + b)
        b = jnp.cos(old) + a
        a = a - old
        return (a, b), old * b

    (a, b), products = lax.scan(step, (x, 2 * x), jnp.arange(4.0))
    return a, b, products


def nested(x):
    def outer(_, total):
        def inner(_, total):
            total = jnp.sin(total) + total
            return total * 0.9

        start = total * 2
        total = lax.fori_loop(0, 3, inner, start)
        return total - start + jnp.cos(total)

    return lax.fori_loop(0, 4, outer, x)


def swapped(x):
    def turn(pair, _):
        left, right = pair
        left, right = right, left + right
        return (left, right), left

    (left, right), lefts = lax.scan(turn, (x, x + 1), length=6)
    return left, right, lefts


def scaled(rate, values):
    values = jnp.exp(-values) * rate
    return jnp.tanh(values) + values / (1 + values * values)


def called(x):
    return scaled(2.5 * x, x + 1) - scaled(x, x - 1)


def normalised(x, scale, offset):
    centred = x - x.mean()
    return centred / jnp.sqrt(x.var() + 1e-5) * scale + offset


def told_apart_by_operator(x):
    return normalised(normalised(x, x[0], x[1]), x[2], x[0])


def told_apart_by_side(x):
    pull = jnp.exp(-x)

    def turned(by, x):
        return jnp.sin(x - by * pull) / (x / by) - jnp.tanh(by)

    return turned(x, x * 2) + turned(x * 3, x)


def filled(x):
    def fill(k, state):
        rest, parts = state
        part = jnp.sin(rest) * k
        return rest - part, parts.at[k].set(part)

    return lax.fori_loop(0, 4, fill, (x, jnp.zeros(4)))


def carried_beside_another(x):
    def pair(level, factor):  # as many parameters as a step of fori_loop has, and it returns two values
        scaled = level * factor
        return scaled + 1, scaled

    last, rows = lax.scan(pair, x, jnp.arange(1.0, 4.0))
    return last, rows


def counted_in_its_state(x):
    def advance(state):
        count, height, speed = state
        return count + 1, height + 0.1 * speed, speed - jnp.sin(height)

    return lax.while_loop(lambda state: state[0] < 4, advance, (0, x, 2 * x))[1:]


def state_of_two_arrays(x):
    def advance(carry):
        iteration, state = carry
        return iteration + 1, (state[0] + 0.1 * state[1], state[1] - jnp.sin(state[0]))

    return lax.scan(lambda carry, _: (advance(carry), None), (0, (x, 2 * x)), length=4)[0][1]


def rows_of_times(x):
    def step(carry, t):
        y, before = carry
        h = t - before
        y = y + h * jnp.sin(t) + t
        return (y, t), y

    (last, _), y = lax.scan(step, (x, 0 * x), jnp.arange(4.0) * x)
    return last - y


def with_an_unread_count(x):
    def step(carry, t):
        y, count = carry
        return (y * t + 1, count + 1), jnp.sin(y)

    (y, _count), waves = lax.scan(step, (x, 0), jnp.arange(4.0) * x)
    return y - waves


def signed(x):
    signs = jnp.array([[1, -1, -1 / 2], [-1, 1, 1], [1, 1, 1], [-1, 1, 1], [1, 1, -1]])
    return jnp.sin(signs * x).sum(axis=0)


def descended(x):
    def valley(x):
        return jnp.sum((x[1:] - x[:-1] ** 2) ** 2)

    def limited(x, by):
        return x - jnp.tanh(by) * by

    point = lax.fori_loop(0, 3, lambda _, x: limited(x, jnp.cos(x)), x) * jnp.sin(x)
    return limited(point, jax.grad(valley)(point))


def batched(x):
    def fall(state):
        return {"time": state["time"] + 0.5, "height": jnp.sin(state["height"]) - state["time"]}

    def one(x):
        return lax.while_loop(lambda state: state["height"] > 0, fall, {"time": x, "height": 2 * x})

    return jax.vmap(one)(x)["height"]


def stacked_beside_a_state(x):
    def step(state, row):
        level, slope = state
        level = level + slope * row
        slope = jnp.sin(level)
        return (level, slope), (level * row, jnp.tanh(slope))

    state, (heights, bends) = lax.scan(step, (x, 2 * x), jnp.arange(4.0))
    return state[1] + heights.sum(), bends


def beside_a_step_of_an_inner_function(x):
    def total(start):
        def step(state, row):
            level, slope = state
            level = jnp.tanh(level + slope * row)
            return (level, slope * 0.5), None

        return lax.scan(step, (start, start), jnp.arange(4.0))[0][0]

    def step(height, row):
        return height * 0.5 + row, jnp.sin(height)

    return lax.scan(step, total(x), jnp.arange(4.0))


def outputs_without_one(x):
    def step(state, row):
        level, slope = state
        mixed = level * slope
        level = jnp.tanh(level + slope * row)
        slope = slope - level * mixed
        return (level, slope), (level, slope, mixed)

    _, (levels, _slopes, mixtures) = lax.scan(step, (x, 2 * x), jnp.arange(4.0))
    return levels, mixtures


def gradient_of_a_scan(x):
    def loss(x):
        def step(state, row):
            height, speed = state
            speed = speed - x * jnp.sin(height)
            height = height + speed * row
            return (height, speed), jnp.cos(height)

        _, waves = lax.scan(step, (x, 2 * x), jnp.arange(4.0))
        return (waves**2).sum()

    return jax.grad(loss)(x)


def gradient_of_a_scan_of_calls(x):
    @jax.jit
    def moved(height, row):
        return jnp.sin(height) * row

    def loss(x):
        return (lax.scan(lambda height, row: (moved(height, row), None), x, jnp.arange(4.0))[0] ** 2).sum()

    return jax.grad(loss)(x)


def unread_beside_a_filled_array(x):
    def step(state, k):
        level, parts = state
        level = jnp.sin(level) + k
        return (level, parts.at[k].set(level * 2)), (level - k, level * k)

    (_, parts), (rests, _) = lax.scan(step, (x, jnp.zeros(4)), jnp.arange(4))
    return parts, rests


def taken_apart(x):
    rate = jnp.exp(x[0])

    def velocity(point):
        x, y, z = point
        return jnp.array([rate * (y - x), x * (2 - z) - y, x * y - 0.5 * z]) * jnp.exp(-x * y)

    for _ in range(3):
        x = x + 0.1 * velocity(jnp.sin(x))
    return x


def relaxed(level, dt, tau):
    change = jnp.minimum(dt / tau, 20.0)
    return level * jnp.exp(-change) + (1 - jnp.exp(-change)) * dt


def gate(x, dt, alpha, beta):
    tau = 1 / (alpha + beta)
    return relaxed(x, dt, tau) + jnp.tanh(alpha * tau)


def passed_on(x):
    for dt in (x * 0.1, x * 0.2, x * 0.3):
        x = gate(x, dt, jnp.sin(x), jnp.cos(x))
    return x


def joined(left, right):
    a1, b1 = left
    a2, b2 = right
    return jnp.tanh(a2 * a1) - jnp.sin(a1), jnp.exp(a2) * b1 + b2 * jnp.tanh(b1)


def given_pairs(x):
    near = joined((x, x + 1), (x * 2, jnp.cos(x)))
    far = joined((jnp.sin(x), near[0]), (x - 1, x))
    return joined((far[1], x), (jnp.exp(x), x * near[1]))


class Spring:
    def __init__(self, stiffness, rest):
        self.stiffness, self.rest = stiffness, rest

    def force(self, place):
        bend = jnp.tanh(place - self.rest)
        return self.stiffness * bend * jnp.exp(-bend * bend)


def of_objects(x):
    total = x
    for spring in (Spring(x * 2, x + 1), Spring(jnp.sin(x), x), Spring(x, jnp.exp(x))):
        total = total + spring.force(total)
    return total


def filtered(x):
    weights = jnp.cos(x)

    def smooth(z):
        return jnp.tanh(z * weights) + jnp.exp(weights - z) * jnp.sin(z)

    return smooth(x) * smooth(x * 2) - smooth(jnp.exp(x))


class Linear:
    def slope(self, steep, at):
        return jnp.tanh(steep * at) * jnp.exp(-at) + jnp.sin(at * steep) / (1 + jnp.cos(steep))


class Curved:
    def slope(self, bend, width):
        return jnp.cosh(bend + width) * jnp.exp(-bend) + jnp.sin(bend - width) / (1 + jnp.cos(width))


def methods_of_one_name(x):
    linear, curved = Linear(), Curved()
    first = linear.slope(x, x[::-1]) + linear.slope(x[::-1] * 2, x)
    return first + curved.slope(first, first[::-1]) - curved.slope(first[::-1], 2 * first)


NAMES = {
    stacked_beside_a_state: ("heights[i] = ", "bends[i] = "),
    beside_a_step_of_an_inner_function: ("level = np.tanh(", "height = height * 0.5 + "),
    outputs_without_one: ("levels[i] = level", "all_mixed[i] = mixed"),  # mixtures are the second result, not slopes
    gradient_of_a_scan: ("d_height = ", "d_speed = "),
    gradient_of_a_scan_of_calls: ("d_x = d_x * ",),
    unread_beside_a_filled_array: ("differences[i] = ",),  # neither parts nor rests
    descended: ("d_point = ",),
    batched: ("height = np.where(",),
    rows_of_times: ("t = ", "ys[i] = y", "return y - ys"),
    with_an_unread_count: ("waves[i] = ", " - waves"),
    signed: ("SIGNS = np.array(", "x * SIGNS"),
    counted_in_its_state: ("height, speed = x, ",),
    filled: ("rest, parts = ", "parts[i] = part", "rest = rest - part"),
    carried_beside_another: ("level, rows = x, ", "level = scaled + 1"),
    bound_again: ("while time < 2.5:", "step = "),
    read_late: ("products[i] = ", "a, b"),
    nested: ("total = ",),
    swapped: ("left, right = ", "lefts[i] = "),
    called: ("def scaled(rate: Array, values: Array)",),
    methods_of_one_name: ("def slope(steep: Array, at: Array)", "def slope_2(bend: Array, width: Array)"),
    taken_apart: ("def velocity(point: Array, rate: Scalar)", "x, y, z = point"),
    told_apart_by_operator: ("* scale + offset", "def normalised(x: Array, scale: Scalar, offset: Scalar)"),
    told_apart_by_side: ("def turned(by: Array, x: Array, pull: Array)", "turned(x, x * 2, pull)"),
    passed_on: ("def gate(x: Array, dt: Array, alpha: Array, beta: Array)",),
    given_pairs: ("def joined(a1: Array, b1: Array, a2: Array, b2: Array)",),
    of_objects: ("def force(rest: Array, stiffness: Array, place: Array)",),
    filtered: ("def smooth(z: Array, weights: Array)",),
}


ARRAYS = (
    *(nested, called, descended, batched, methods_of_one_name, taken_apart, told_apart_by_operator),
    *(told_apart_by_side, passed_on, given_pairs, of_objects, filtered),
)


@pytest.mark.parametrize("function", NAMES, ids=lambda function: function.__name__)
def test_values_have_their_names_and_are_right(function):
    x = np.linspace(0.5, 1, 3, dtype=np.float32) if function in ARRAYS else np.float32(0.7)
    hlo = jax.jit(function).lower(x).as_text("hlo", debug_info=True)
    emitted = xla2py.emit(hlo, sources=Path(__file__).parent, checks=False)
    found, expected = emitted.load().main(x), function(x)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    for text in NAMES[function]:
        assert text in emitted.source


def test_parameters_are_told_apart_inside_fusions():
    examples = Path(xla2py.__file__).parent / "examples"
    optimised = (examples / "hlo" / "transformer_block.after.hlo").read_text("utf-8")
    assert "* scale + offset)" in xla2py.emit(optimised, sources=examples.parent).source


def test_leaves_of_a_state_do_not_have_the_names_beside_it():
    hlo = jax.jit(state_of_two_arrays).lower(np.float32(0.7)).as_text("hlo", debug_info=True)
    emitted = xla2py.emit(hlo, sources=Path(__file__).parent)
    assert "iteration" not in emitted.source
    np.testing.assert_allclose(emitted.load().main(np.float32(0.7)), state_of_two_arrays(np.float32(0.7)), rtol=1e-6)


def test_results_that_branches_choose_are_called_as_their_places():
    def chosen(x, state):
        raised = state["position"] * x
        lowered = state["speed"] - raised
        return lax.cond(x > 0, lambda: {"position": raised, "speed": lowered}, lambda: state)

    state = {"position": np.ones(3, np.float32), "speed": np.ones(3, np.float32)}
    source = xla2py.emit(xla2py.from_jax(chosen, np.float32(1), state)).source
    assert '"position": position' in source
    assert '"speed": speed' in source


def test_what_updates_a_leaf_is_called_after_the_end_of_its_path():
    def averaged(state, g):
        averages = jax.tree.map(lambda mean: 0.9 * mean + g, state[1])
        return (state[0], averages), jax.tree.map(lambda mean: jnp.sin(mean) / mean, averages)

    state = (np.float32(2), ({"a": np.ones(3, np.float32)}, {"b": np.ones(3, np.float32)}))
    source = xla2py.emit(xla2py.from_jax(averaged, state, np.ones(3, np.float32))).source
    assert "new_a = " in source
    assert "new_b = " in source


def test_a_step_is_not_the_function_that_read_such_rows_before():
    def before(depth, first, second):
        def step(total, row):
            return total + row[0], total * row[1]

        return lax.scan(step, depth, (first, second))

    def after(x, rows):
        return lax.scan(lambda c, v: (c * v + v, c - v), x, rows)

    rows = np.ones(11, np.float32)
    xla2py.from_jax(before, np.float32(1), rows, rows)
    assert "depth" not in xla2py.emit(xla2py.from_jax(after, np.float32(1), rows)).source


@pytest.mark.parametrize(
    ("step", "carried", "called"),
    [
        ("lambda i, x: f(x, i)", 1, [("f", 0)]),
        ("lambda c, /, row: f(row, c)", 0, [("f", 1)]),
        ("lambda *both: f(2, *both)", 1, []),
    ],
)
def test_a_lambda_hands_on_what_it_carries(step, carried, called):
    assert [*_called_with(ast.parse(step, mode="eval").body, carried)] == called


SPREAD = """HloModule m
NAME { key = u32[2] parameter(0)  low = f32[] parameter(1)  high = f32[] parameter(2)
  first = u32[1] slice(key), slice={[0:1]}  bits = u32[] reshape(first)  part = f32[] convert(bits)
  range = f32[] subtract(high, low)  exp = f32[] exponential(range)  sine = f32[] sine(part)
  scaled = f32[] multiply(sine, exp)  ROOT result = f32[] add(scaled, low) }
ENTRY main { k = u32[2] parameter(0)  a = f32[] parameter(1)  b = f32[] parameter(2)
  r = f32[] call(k, a, b), to_apply=NAME  s = f32[] call(k, b, r), to_apply=NAME  ROOT t = f32[] add(r, s) }
"""


@pytest.mark.parametrize(("name", "is_jaxs"), [("_uniform", True), ("uniform", False)])
def test_functions_of_jax_have_the_parameters_of_its_documents(name, is_jaxs):
    source = xla2py.emit(SPREAD.replace("NAME", name), checks=False).source
    assert ("minval: Scalar, maxval: Scalar)" in source) is is_jaxs


RISING = """HloModule m
soft { Arg_0.1 = f32[8] parameter(0)  sine = f32[8] sine(Arg_0.1)  exp = f32[8] exponential(sine)
  cosine = f32[8] cosine(Arg_0.1)  ratio = f32[8] divide(exp, cosine)  ROOT r = f32[8] add(ratio, Arg_0.1) }
ENTRY main { x = f32[8] parameter(0)  w = f32[8] parameter(1)
  a = f32[8] power(x, w)  b = f32[8] power(w, x)  k = f32[8] add(a, b)  l = f32[8] call(k), to_apply=soft
  n = f32[8] add(l, k)  o = f32[8] call(n), to_apply=soft  ROOT r = f32[8] multiply(o, n) }
"""


@pytest.mark.parametrize(("given", "parameter"), [("k", "x"), ("rate", "rate")])
def test_a_single_parameter_is_not_called_as_what_makes_its_argument(given, parameter):
    text = RISING.replace("(k)", "(x)").replace("(n)", "(x)").replace("x =", "rate =").replace("(x", "(rate")
    source = xla2py.emit(RISING if given == "k" else text.replace(", x)", ", rate)")).source
    assert f"def soft({parameter}: Array)" in source


@pytest.mark.parametrize("name", ["_normal", "_threefry_split"])
def test_the_random_functions_of_jax_take_a_key(name):
    source = xla2py.emit(RISING.replace("soft", name), checks=False).source
    assert f"def {name.strip('_')}(key: Array)" in source


def test_parameters_are_not_those_of_a_function_main_that_traced_the_program():
    real = pytest.importorskip("jax")

    def main(options, names):
        lowered = real.jit(lambda x, y: real.numpy.sin(x) * y, keep_unused=True).lower(options, names)
        return xla2py.emit(lowered).source, xla2py.emit(
            xla2py.from_jax(lambda x, y: real.numpy.sin(x) * y, options, names)
        ).source

    for source in main(np.ones(3, np.float32), np.ones(3, np.float32)):
        assert "def main(x: Array, y: Array)" in source


class Shift:
    """A layer of a chain, whose method has the name of the chain's."""

    def __init__(self, weight, keep):
        self.weight, self.keep = weight, keep

    def moved(self, y, scale):
        kept = jnp.where(self.keep, y, 0)
        inner = jnp.tanh(kept @ self.weight) * scale
        return jnp.where(self.keep, y, y * jnp.exp(inner) - inner)


class Shifts:
    def __init__(self, *parts):
        self.parts = parts

    def moved(self, y, scale):
        for each in self.parts:
            y = each.moved(y, scale)
        return y


def test_the_inner_one_of_functions_of_a_name_has_its_own_parameters():
    keep = np.bool_([True, False, True])

    def program(x, u, v, a):
        return Shifts(Shift(u, keep), Shift(v, ~keep), Shift(v, keep)).moved(x, a)

    x, w = np.float32([[1, 2, 3], [4, 5, 6]]), np.eye(3, dtype=np.float32)
    source = xla2py.emit(xla2py.from_jax(program, x, w, w * 2, x[:1])).source
    assert "def moved(keep: Array, weight: Array, y: Array, scale: Array)" in source, source


def test_two_parameters_that_one_word_may_mean_have_the_names_of_what_is_given():
    """A parameter may be a value that the function computed before."""

    def around(grid, step):
        x, y = step * 2, step[0]
        return grid[x, y] + grid[x, -y] * grid[y, x]

    def program(tiles, place):
        grids = [tiles, tiles * 2, tiles + 1]
        return [around(each, place + k) for k, each in enumerate(grids)]

    tiles, place = np.float32(np.arange(16)).reshape(4, 4), np.int32([0, 1])
    source = xla2py.emit(xla2py.from_jax(program, tiles, place)).source
    assert "grid_2" not in source, source


def test_a_number_that_the_source_computes_on_the_left_of_a_value():
    """JAX puts it on the right."""

    def points(mean, cov, kappa):
        root = jnp.sin((len(mean) + kappa) * cov)
        return jnp.tanh(mean @ root) + jnp.cos(root) / (1 + root * root)

    def program(mean, cov):
        return points(points(mean, cov, 1.0)[0], jnp.exp(cov), 1.0)

    cov = np.float32(np.arange(9)).reshape(3, 3)
    source = xla2py.emit(xla2py.from_jax(program, cov[0], cov)).source
    assert "def points(mean: Array, cov: Array)" in source, source


def test_calls_whose_results_are_given_twice_take_their_arguments_in_the_order_of_the_source():
    def cell(w, x):
        h = jnp.tanh(x @ w)
        h = h * jnp.exp(-h * h) + jnp.sin(x)
        return h / (1 + jnp.abs(h)) + jnp.cos(h) * 2

    def program(w, x):
        return cell(w, x + 1), cell(w, x + 2), cell(w, x + 1)

    w, x = np.float32(np.arange(9)).reshape(3, 3) / 9, np.float32([1, -2, 3])
    emitted = xla2py.emit(xla2py.from_jax(program, w, x))
    assert "def cell(w: Array, x: Array)" in emitted.source, emitted.source
    first, other, last = emitted.load().main(w, x)
    assert first.shape == other.shape == (3,) and last is not first
    np.testing.assert_array_equal(last, first)
