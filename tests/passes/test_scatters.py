"""scatter as assignment: in place where it is proved to fit, and what is out of bounds left out where it is not."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, entry, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax

jnp, lax = jax.numpy, jax.lax
ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
X = np.arange(20, dtype=np.float32).reshape(5, 4)
ROWS = np.arange(28, dtype=np.float32).reshape(7, 4) + 100
WILD = np.array([0, 3, -1, 7, -9, 2**31 - 1, 3], np.int32)
INSIDE = np.array([0, 3, 3, 1, 0, 4, 3], np.int32)

test_updates_of_jax = cases(
    "scatters", X, ROWS, WILD, inputs=[(X, ROWS, WILD), (X, ROWS, INSIDE)], budget=EXACT, also=[optimised]
)(
    (lambda x, y, i: x.at[i].add(y), "scatter_at(x, np.where(i < 0, i + 5, i), y, np.add)"),
    (lambda x, y, i: x.at[i].set(y), "scatter_at(x, np.where(i < 0, i + 5, i), y)"),
    (lambda x, y, i: x.at[jnp.clip(i, 0, 4)].add(y), "np.add.at(updated, "),
    (lambda x, y, i: x.at[jnp.clip(i, 0, 4)].max(y), "np.maximum.at(updated, "),
    (lambda x, y, i: x.at[jnp.clip(i, 0, 4)].min(2.0), ", 2)"),
    (lambda x, y, i: x.at[jnp.clip(i, 0, 4)].set(y), "] = y"),
    (lambda x, y, i: x.at[:, jnp.clip(i, 0, 3)].add(y.T[:, :, None].sum(-1)[:1]), "np.add.at("),
    (lambda x, y, i: x.at[jnp.clip(i, 0, 4), jnp.clip(i, 0, 3)].multiply(y[:, 0]), "np.multiply.at(updated, ("),
    (lambda x, y, i: x.at[1:4, 2:].set(y[:3, :2]), "updated[1:4, 2:] = y[:3, :2]"),
    (lambda x, y, i: x.at[2].add(y[0]), "updated[2] += y[0]"),
    (lambda x, y, i: x.at[2, 3].set(7), "updated[2, 3] = 7"),
    (lambda x, y, i: x.at[jnp.argmax(x[:, 0])].set(y[0]), "updated[x[:, 0].argmax()"),
    (lambda x, y, i: x.at[i[0]].set(y[0]), ", y[0])"),
    (lambda x, y, i: x.at[i, :2].set(y[:, :2]), "updated[:, :2] = scatter_at(x[:, :2], "),
    (lambda x, y, i: x.at[i, 1:3].add(y[:, :2]), "updated[:, 1:3] = scatter_at(x[:, 1:3], "),
    (lambda x, y, i: x.at[jnp.clip(i, 0, 4), -3:].max(y[:, :3]), "np.maximum.at("),
    (lambda x, y, i: x.at[2:4, i].set(y[:, :2].T), "updated[2:4] = "),
    (lambda x, y, i: x.at[::2].max(y[:1]), "updated[::2] = np.maximum(x[::2], y[0])"),
    (lambda x, y, i: x.at[1::2, ::2].add(y[:1, :2]), "updated[1::2, ::2] += y[0, :2]"),
    (lambda x, y, i: x.at[jnp.arange(5)].max(y[:5]), "return np.maximum(x, y[:5])"),
    (lambda x, y, i: x[:, None].at[::2, 0].set(y[:3]), "[::2, 0] = y[:3]"),
    (lambda x, y, i: x[..., None].at[::2, :, 0].add(y[:3]), "[::2, :, 0] = x[::2] + y[:3]"),
    (lambda x, y, i: x.at[::2, 1:2].max(y[:3, :1]), "updated[::2, 1] = np.maximum(x[::2, 1], y[:3, 0])"),
    (lambda x, y, i: jnp.stack([x, x]).at[i % 2, 1:3, 2:].add(y[:, None, :2]), "np.add.at("),
)

# NumPy reads behind the end of values with fewer axes than the places of a vector.
test_values_have_the_axes_of_their_places = cases("scatters", X, ROWS, WILD, budget=EXACT, also=[optimised])(
    (lambda x, y, i: x[:, 0].at[jnp.clip(i[:6].reshape(3, 2), 0, 4)].add(y[0, :2]), ", y[:1, :2])"),
    (lambda x, y, i: x[:, 0].at[jnp.clip(i[:6].reshape(2, 1, 3), 0, 4)].max(y[0, :3] * 2), "[None])"),
    (lambda x, y, i: x[:, 0].at[jnp.clip(i[:2], 0, 4)].add(y[0, :2]), lacks("None")),
    (lambda x, y, i: x.at[jnp.clip(i[:6].reshape(3, 2), 0, 4)].add(y[0]), lacks("None")),
)
test_what_fits_nowhere_is_left_out = cases("scatters", X, ROWS, WILD, budget=EXACT, also=[optimised])(
    (lambda x, y, i: x.at[7].set(y[0]), lacks("scatter")),
    (lambda x, y, i: x.at[-6, 2].add(1), lacks("scatter")),
    (lambda x, y, i: x.at[i % 3 + 5].add(y), lacks("scatter")),
    (lambda x, y, i: x.at[i % 3 + 4].set(y[:1]), "scatter_at(x, "),
    (lambda x, y, i: x.at[jnp.clip(i, -9, -5)].max(y), "scatter_at(x, "),
)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y, i: jax.vmap(lambda row, k, u: lax.dynamic_update_slice(row, u, (k,)))(x, i[:5], y[:5, :2]),
        lambda x, y, i: jax.vmap(lambda x, k, u: lax.dynamic_update_slice(x, u, (k, 0)))(
            jnp.stack([x, x + 1]), i[:2], jnp.stack([y[:2], y[2:4]])
        ),
        lambda x, y, i: jax.vmap(lambda x, k, u: lax.dynamic_update_slice(x, u, (k, 1)))(
            jnp.stack([x, x + 1]), i[:2], jnp.stack([y[:2, 1:3], y[2:4, 1:3]])
        ),
        lambda x, y, i: jax.vjp(lambda x: jax.vmap(lambda k: lax.dynamic_slice(x, (k, 1), (2, 3)))(i), x)[1](
            jnp.stack([y[:, :3], y[:, 1:]], axis=1)
        )[0],
    ],
    ids=["rows", "whole lines", "parts", "gradient"],
)
@pytest.mark.parametrize("form", [hlo, optimised])
def test_windows_that_fit(function, form):
    text = form(function, X, ROWS, WILD)
    if form is hlo:
        assert "scatter(" not in main(text)
    assert_agrees(text, X, ROWS, WILD, without="scatters", budget=EXACT)


ONES = "update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
MAY_NOT_FIT = entry(
    *("x = f32[20] parameter(0)", "i = s32[7,1] parameter(1)", "y = f32[7,4] parameter(2)"),
    f"s = f32[20] scatter(x, i, y), {ONES}, to_apply=add",
    functions=ADD,
)
HALF = """half { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] subtract(b, a)
  h = f32[] constant(0.5)
  ROOT d = f32[] multiply(c, h) }"""
GENERAL = entry(
    *("x = f32[5,4] parameter(0)", "i = s32[7,1] parameter(1)", "y = f32[7,4] parameter(2)"),
    "s = f32[5,4] scatter(x, i, y), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=half",
    functions=HALF,
)
UNIT = entry(
    *("x = f32[3,4,1] parameter(0)", "i = s32[2,3] parameter(1)", "u = f32[2,3] parameter(2)"),
    "r = f32[3,4,1] scatter(x, i, u), update_window_dims={}, inserted_window_dims={1,2}, index_vector_dim=2, "
    "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={1}, to_apply=add",
    functions=ADD,
)
NARROW = [np.dtype(name) for name in ("i1", "u2", "f2", "c8")]
test_others = cases(
    "scatters"
)(
    (MAY_NOT_FIT, (X.reshape(-1), WILD[:, None] + 15, ROWS), "scatter("),  # is left out as a whole
    (GENERAL, (X, WILD[:, None], ROWS), "scatter("),
    (UNIT, (X[:3].reshape(3, 4, 1), np.int32([[0, 9, 3], [0, 1, -1]]), ROWS[:2, :3])),  # which the updates lack
    (lambda x, y: (x, x.at[1].set(y)), (X, ROWS[0]), "updated = x.copy()"),
    (lambda y, i: jax.ops.segment_sum(y, i, num_segments=5), (ROWS, WILD), lacks("scatter(")),
    (lambda i: jnp.bincount(i, length=5), INSIDE),
    *((lambda x, y, i: x.at[i].add(y), (X.astype(kind), ROWS.astype(kind), WILD)) for kind in NARROW),
    *((lambda x, y, i: x.at[jnp.clip(i, 0, 4)].set(y), (X.astype(kind), ROWS.astype(kind), WILD)) for kind in NARROW),
    (lambda x, y, i: x.at[i].add(y), (X, ROWS[:0], WILD[:0])),
    (lambda x, y, i: x.at[i].add(y), (X[:, :0], ROWS[:, :0], WILD)),
)


def counted_so_far(kind):
    """The text of ``jnp.nonzero(x, size=5)`` up to the counts: ones at the running totals of a mask."""
    return entry(
        *("x = s32[8] parameter(0)", "zero = s32[] constant(0)", "zeros = s32[8] broadcast(zero), dimensions={}"),
        *("mask = pred[8] compare(x, zeros), direction=NE", "ones = s32[8] convert(mask)"),
        f"totals = s32[8] reduce-window({kind}, zero), window={{size=8 pad=7_0}}, to_apply=add",
        *("below = pred[8] compare(totals, zeros), direction=LT", "five = s32[] constant(5)"),
        *("fives = s32[8] broadcast(five), dimensions={}", "more = s32[8] add(totals, fives)"),
        *("place = s32[8] select(below, more, totals)", "places = s32[8,1] reshape(place)"),
        *("one = s32[] constant(1)", "all = s32[8] broadcast(one), dimensions={}"),
        *("none = s32[5] broadcast(zero), dimensions={}", "y = s32[5] scatter(none, places, all), " + NUMBERS),
        functions="add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }",
    )


NUMBERS = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, " + (
    "index_vector_dim=1, to_apply=add"
)


def test_running_totals_of_a_mask_are_counted():
    text, x = counted_so_far("ones"), np.array([0, 3, 0, -1, 1, 1, 1, 1], np.int32)
    assert "np.minimum(" in main(text) and "np.bincount(" in main(text) and " < 0" not in main(text)
    for given in (x, x * 0, x * 0 + 1):
        assert_agrees(text, given, without="bincount", budget=EXACT)
    text = counted_so_far("x")  # any totals, which may be negative
    assert "np.bincount(" not in main(text)
    assert_agrees(text, x, without="bincount", budget=EXACT)


def test_places_from_a_table_in_a_loop():
    def program(x):
        order = jnp.array([2, 0, 3])
        return lax.fori_loop(0, 3, lambda i, out: out.at[order[i]].set(x[i] * 2), jnp.zeros(4))

    assert_agrees(hlo(program, X[:3, 0]), X[:3, 0], without="scatters", budget=EXACT)


def test_rows_exchanged_in_a_loop():
    """The old value of a carry is read behind the copy that its new value starts from."""

    def exchange(order, rows):
        def step(k, order):
            there = rows[k] % 5
            here = order[k]
            order = order.at[k].set(order[there])
            return order.at[there].set(here)

        return jax.lax.fori_loop(0, 5, step, order)

    order, rows = np.arange(5, dtype=np.float32), np.array([3, 3, 4, 4, 4], np.uint32)
    for form in (hlo, optimised):
        assert_agrees(form(exchange, order, rows), order, rows, without="scatters", budget=EXACT)


@pytest.mark.parametrize("width", [31, 32])
@pytest.mark.parametrize(("combine", "ufunc"), [("add", "np.add"), ("max", "np.maximum"), ("set", None)])
def test_long_rows_are_combined_in_rounds(width, combine, ufunc):
    x, rows = np.zeros((5, width), np.float32), np.arange(7 * width, dtype=np.float32).reshape(7, width)
    text = hlo(lambda x, rows, i: getattr(x.at[i], combine)(rows), x, rows, WILD)
    function = "scatter_rows" if width == 32 and ufunc else "scatter_at"
    assert f"return {function}(" in main(text) and (ufunc or "") in main(text)
    assert_agrees(text, x, rows, WILD, without="scatters", budget=EXACT)
