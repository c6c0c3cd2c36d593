"""Small arrays of single elements are lists of rows; parts of arrays are added to where they are."""

from __future__ import annotations

import numpy as np

from xla2py.tests.passes.raising import CHANGES, STAYS, assert_agrees, cases, entry, lacks, main, times
from xla2py.tests.recording.lazy_jax import jax, jnp

A, B = np.float32(0.5), np.float32(-2)
X = np.float32([1, -2, 3, 4, -5, 6])


def of_numbers(*lines: str) -> str:
    return entry("a = f32[] parameter(0)", "b = f32[] parameter(1)", "zero = f32[] constant(0)", *lines)


ROWS = (
    "n = f32[] negate(b)",
    *(f"{name}1 = f32[1,1] reshape({name})" for name in ("a", "b", "n")),
    "top = f32[1,2] concatenate(a1, n1), dimensions={1}",
    "bottom = f32[1,2] concatenate(b1, a1), dimensions={1}",
)
WRITTEN = (
    "o = f32[2,2] broadcast(zero), dimensions={}",
    "i = s32[] constant(0)",
    "j = s32[] constant(1)",
    "a1 = f32[1,1] reshape(a)",
    "b1 = f32[1,1] reshape(b)",
    "w = f32[2,2] dynamic-update-slice(o, a1, i, j)",
)
test_elements_stand_in_rows = cases("small_arrays", A, B, claims=[CHANGES])(
    (of_numbers(*ROWS, "r = f32[2,2] concatenate(top, bottom), dimensions={0}"), "np.array([[a, -b], [b, a]])"),
    (
        of_numbers(*ROWS, "c = f32[1,2] constant({{0, 1}})", "r = f32[2,2] concatenate(top, c), dimensions={0}"),
        "np.array([[a, -b], [0, 1]], dtype=np.float32)",
    ),
    (
        of_numbers(*WRITTEN, "r = f32[2,2] dynamic-update-slice(w, b1, j, i)"),
        "np.array([[0, a], [b, 0]], dtype=np.float32)",
    ),
)

test_one_change_of_many_elements_stays_one = cases("small_arrays", A, B)(
    (of_numbers(*WRITTEN[:-1], f"r = {WRITTEN[-1].partition(' = ')[2]}"), "[0, 1] = a"),
)


WAVE = (
    "wave { x = f32[] parameter(0)\n s = f32[] sine(x)\n e = f32[] exponential(s)\n t = f32[] tanh(e)\n"
    " p = f32[] multiply(t, x)\n q = f32[] add(p, s)\n ROOT r = f32[1,1] reshape(q) }\n"
)
CALLED = of_numbers(
    *(f"{name}1 = f32[1,1] call({name}), to_apply=wave" for name in "ab"),
    "top = f32[1,2] concatenate(a1, b1), dimensions={1}",
    "bottom = f32[1,2] concatenate(b1, a1), dimensions={1}",
    "p0 = f32[2,2] pad(top, zero), padding=0_1x0_0",
    "p1 = f32[2,2] pad(bottom, zero), padding=1_0x0_0",
    "r = f32[2,2] add(p0, p1)",
).replace("ENTRY", WAVE + "ENTRY")


def test_results_of_calls_are_elements():
    text = main(CALLED)
    assert "np.array([[wave_out, wave_out_2], [wave_out_2, wave_out]])" in text and "pad" not in text
    assert_agrees(CALLED, A, B, without="small_arrays")


ADD = "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT r = f32[] add(x, y) }\n"
SCATTER = (
    "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1, to_apply=add"
)


def scattered(places: str, base: str) -> str:
    return entry(
        "x = f32[6] parameter(0)",
        "v = f32[3] slice(x), slice={[2:5]}",
        "zero = f32[] constant(0)",
        "zeros = f32[6] broadcast(zero), dimensions={}",
        f"i = s32[3] constant({places})",
        f"r = f32[6] scatter({base}, i, v), {SCATTER}",
        functions=ADD,
    )


test_what_is_added_at_constant_places = cases(
    "constant_places", X
)(
    (scattered("{0, 3, 5}", "x"), "[[0, 3, 5]] += "),
    (scattered("{4, 1, 0}", "zeros"), "[[4, 1, 0]] = "),
    (scattered("{3, 1, 3}", "x"), "np.add.at("),  # twice the same
    (lambda x: 1 / jnp.zeros(6).at[jnp.array([4, 1, 0])].add(x[:3]), "[[4, 1, 0]] += "),  # tells -0
    (
        lambda x: jax.grad(lambda y: (y[:, jnp.array([1, 2, 0])] * x.reshape(2, 3)).sum())(x.reshape(2, 3)),
        "[:, [2, 0, 1]]",
    ),
)


def padded(*sums):
    pads = [f"p{k} = f32[8] pad(x, zero), padding={k}_{2 - k}" for k in range(3)]
    return entry("x = f32[6] parameter(0)", "zero = f32[] constant(0)", *pads[: len(sums) + 1], *sums)


test_overlapping_parts_are_added_to_slices = cases("added_parts", X)(
    (padded("s = f32[8] add(p0, p1)", "r = f32[8] add(s, p2)"), "[1:7] += x", "[2:] += x"),
    (padded("r = f32[8] add(p0, p1)"), lacks("+=")),
    (
        lambda x: jax.grad(lambda x: jnp.sin(x[jnp.array([0, 2])]).sum() + x[4] ** 2)(x),
        *("np.array([0, 0, 0, 0, x[4] * 2, 0]", "[table] += np.cos(x[table])"),
    ),
    (
        lambda x: jax.grad(lambda y: y[0, 2] * y[1, 1] + y[1].sum() ** 2)(x.reshape(2, 3)),
        *("np.zeros((2, 3)", "[1] = ", "[0, 2] += ", "[1, 1] += "),
    ),
    (
        lambda x: jax.grad(lambda x: jnp.where(x > 0, x[0], x[-1]).sum() + x[2] ** 2 + jnp.cos(x[0]))(jnp.tile(x, 2)),
        *("[-1] += np.where(", lacks("keepdims")),
    ),
    (lambda x: jnp.pad(x[1:3], (1, 3)) + jnp.zeros(6).at[jnp.array([3, 3, 1])].add(x[:3]), "np.add.at("),
    (lambda x: 1 / (jnp.pad(x[1:3], (1, 3)) + jnp.zeros(6).at[jnp.array([0, 4])].set(x[:2])), lacks("[1:3] += ")),
    (lambda x: jnp.exp(jnp.pad(x[1:3], (1, 3)) + jnp.zeros(6).at[jnp.array([0, 4])].set(x[:2])), "[[0, 4]] += "),
)


def taken(*places):
    """The gradient of a function of elements at some places."""
    return lambda x, i: jax.grad(lambda x: sum(jnp.sin(x[place(i)] * k).sum() for k, place in enumerate(places, 1)))(x)


PLACES = np.int32([0, 3, 3, 5])

test_what_is_scattered_is_added_to_one_array = cases(
    "added_parts", X, PLACES
)(
    (taken(lambda i: i % 4, lambda i: i % 5), times(1, "np.zeros"), times(2, "np.add.at("), lacks(" + d")),
    (taken(lambda i: i, lambda i: i + 1), times(1, "np.zeros"), times(2, "put_at("), lacks("+ scattered")),
    (taken(lambda i: i % 4, lambda i: i % 4), times(1, "np.add.at("), " + "),
    (taken(lambda i: i % 4, lambda i: i[:2] % 4), times(2, "np.add.at("), times(1, "np.zeros")),
    (lambda x, i: x * 2 + jnp.zeros(6).at[i % 4].add(x[:4]), " = x * 2\n", "np.add.at(", lacks("zeros")),
    # many small values would be lost in a large number
    (lambda x, i: x * 2 + jnp.zeros(6).at[jnp.tile(i, 20) % 4].add(jnp.tile(x[:4], 20)), times(1, "np.zeros")),
    (lambda x, i: jnp.zeros(6).at[i % 4].max(x[:4]) + jnp.zeros(6).at[i % 5].max(x[:4]), STAYS),
    (lambda x, i: jnp.ones(6).at[i % 4].add(x[:4]) + jnp.ones(6).at[i % 5].add(x[:4]), times(2, "np.ones")),
    (lambda x, i: (y := jnp.zeros(6).at[i % 4].add(x[:4])) + y[::-1], STAYS),
    (lambda x, i: 1 / (x + jnp.zeros(6).at[i % 4].add(x[:4])), lacks("x.copy()")),  # 1 / -0
    (
        lambda x, i: (
            jnp.zeros(6, jnp.bfloat16).at[i % 4].add(x[:4].astype(jnp.bfloat16))
            + jnp.zeros(6, jnp.bfloat16).at[i % 5].add(x[:4].astype(jnp.bfloat16))
        ),
        STAYS,
    ),
)


def interleaved(size: int, *paddings: str, both: str = "p0, p1", sum_: str = "add") -> str:
    """A sum of arrays of three numbers and of two, padded within."""
    parts = ("v = f32[3] slice(x), slice={[0:3]}", "w = f32[2] slice(x), slice={[4:6]}", "u = f32[3] exponential(v)")
    pads = (f"p{k} = f32[{size}] pad({'vwu'[k]}, zero), padding={each}" for k, each in enumerate(paddings))
    lines = ("x = f32[6] parameter(0)", "zero = f32[] constant(0)", *parts, *pads)
    return entry(*lines, f"r = f32[{size}] {sum_}({both})")


test_interleaved_parts_are_written_to_their_places = cases("added_parts", X)(
    (interleaved(5, "0_0_1", "1_1_1"), "= np.zeros(5", "[::2] += x[:3]", "[1::2] += x[4:]", lacks("pad(")),
    (interleaved(8, "1_0_2", "0_4_2"), "[1::3] += x[:3]", "[:4:3] += x[4:]"),
    (interleaved(6, "0_1_1", "1_2_1", "1_0_1", both="p0, p2"), "[::2] += x[:3]", "[1::2] += np.exp(x[:3])"),
    (interleaved(6, "0_1_1", "2_1_1"), STAYS),  # they meet: the sum of -0 and -0 is -0
    (interleaved(6, "1_0_1", "0_4_0"), STAYS),
    (interleaved(7, "2_0_1", "0_5_0"), "[2::2] += x[:3]", "[:2] += x[4:]"),
    (interleaved(5, "0_0_1", "1_1_1", sum_="maximum"), STAYS),
    (lambda x: jnp.stack([jnp.exp(x), jnp.exp(-x)], axis=1), STAYS),
    (
        lambda x: jax.lax.associative_scan(lambda a, b: a @ b, x.reshape(6, 1, 1) * jnp.eye(2)),
        *("[::2] += ", "[1::2] += ", lacks("pad(")),
    ),
)


test_numbers_are_added_to_the_whole = cases("added_parts", X)(
    (lambda x: jnp.zeros(6).at[::2].set(x[:3]) + 1, STAYS),
)


def test_zeros_are_added_where_their_sign_is_told() -> None:
    lines = ("zero = f32[] constant(0)", "o = f32[6] broadcast(zero), dimensions={}", "s = f32[6] add(x, o)")
    told = entry("x = f32[6] parameter(0)", *lines, "r = f32[6] divide(x, s)")
    unseen = entry("x = f32[6] parameter(0)", *lines, "e = f32[6] exponential(x)", "r = f32[6] add(s, e)")
    assert "x + 0" in main(told)
    assert "+ 0" not in main(unseen)
    assert_agrees(unseen, np.float32([0, -0.0, 1, np.inf, np.nan, -1]), without="signed_zeros")


def test_a_switch_compares_the_number_itself() -> None:
    branches = "".join(
        f"b{k} {{ x = f32[6] parameter(0)\n ROOT r = f32[6] {op}(x) }}\n"
        for k, op in enumerate(("negate", "cosine", "sine"))
    )
    text = entry(
        "i = s32[] parameter(0)",
        "x = f32[6] parameter(1)",
        "low = s32[] constant(0)",
        "high = s32[] constant(2)",
        "which = s32[] clamp(low, i, high)",
        "r = f32[6] conditional(which, x, x, x), branch_computations={b0, b1, b2}",
        functions=branches,
    )
    assert "if i <= 0:" in main(text) and "if i == 1:" in main(text)
    for number in (-3, 0, 1, 2, 7):
        assert_agrees(text, np.int32(number), X, without="clips")


test_diagonals_of_zeros = cases("constant_places", X)(
    (lambda x: jnp.zeros((3, 3)).at[jnp.diag_indices(3)].set(x[:3]) @ x[3:6], "return np.diag(x[:3]) @ x[3:]"),
    (lambda x: jnp.zeros((3, 3)).at[jnp.diag_indices(3)].add(jnp.exp(x[:3])) @ x[3:6], "np.diag(np.exp(x[:3]))"),
    (lambda x: jnp.zeros((3, 4)).at[jnp.diag_indices(3)].set(x[:3]) @ x[2:6], STAYS),
    (lambda x: jnp.full((3, 3), -0.0).at[jnp.diag_indices(3)].set(x[:3]), STAYS),
)

test_one_element_with_zeros_around_it = cases("small_arrays", X)(
    (jax.grad(lambda x: jnp.sin(x[2])), "return np.array([0, 0, np.cos(x[2]), 0, 0, 0], dtype=np.float32)"),
    (lambda x: jnp.pad(x[:1], (1, 2), constant_values=2.0), "return np.array([2, x[0], 2, 2], dtype=np.float32)"),
    (lambda x: jnp.pad(x[:2], (1, 0)), "np.pad("),
    (lambda x: jnp.pad(x[:1, None], ((1, 1), (0, 0))), "np.pad("),
    (lambda x: jnp.pad(x[:1], (3, 90)), "np.pad("),  # too long
)
