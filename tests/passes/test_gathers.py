"""gather as indexing: clamps where an index may be out of bounds, none where it cannot be."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, entry, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax

jnp, lax = jax.numpy, jax.lax
X = np.arange(60, dtype=np.float32).reshape(5, 4, 3)
FLAT = np.arange(10, dtype=np.float32)
WILD = np.array([0, 3, -1, 7, -9, 2**31 - 1, -(2**31)], np.int32)


def rows(index: str, shape: str = "s32[3,1]", dimensions: str = "f32[3,4]", collapsed: str = "0") -> str:
    numbers = f"offset_dims={{1}}, collapsed_slice_dims={{{collapsed}}}, start_index_map={{0}}, index_vector_dim=1"
    return entry(
        "x = f32[5,4] parameter(0)",
        f"i = {shape} {index}",
        f"g = {dimensions} gather(x, i), {numbers}, slice_sizes={{1,4}}",
    )


test_rows = cases("gathers", X[..., 0], budget=EXACT)(
    (rows("constant({{4},{0},{4}})"), lacks("mode", "gather")),
    (rows("constant({{5},{0},{-1}})"), 'mode="clip"'),  # out of bounds
    (rows("constant({{9}})", "s32[1,1]", "f32[1,4]"), "return x[4:]"),
    (rows("parameter(1)", "s32[0,1]", "f32[0,4]"), (X[..., 0], np.zeros((0, 1), np.int32))),
    (lambda x: x[::-1, np.array([1, 1])].sum(), "np.broadcast_to(x[:, 1][::-1, None], (5, 2)).sum()"),
    # ``jax.vmap`` of ``x[i]`` joins the places of a batch with zeros for the other axes:
    (
        jax.vmap(lambda x, i: x[i] + x[2, i], in_axes=(None, 0)),
        (X[..., 0], WILD),
        lacks("concatenate", "np.zeros"),
    ),
)


def within(last: str) -> str:
    """Whether two places, of which one is at most 12, lie in bounds of which one is given: what guards updates."""
    return entry(
        "x = s32[] parameter(0)",
        "low = s32[] constant(0)",
        "high = s32[] constant(11)",
        "one = s32[] constant(1)",
        "i = s32[] clamp(low, x, high)",
        "next = s32[] add(i, one)",
        "first = s32[1] constant({0})",
        "second = s32[1] reshape(next)",
        "places = s32[2] concatenate(first, second), dimensions={0}",
        f"bounds = s32[2] constant({{0, {last}}})",
        "inside = pred[2] compare(places, bounds), direction=LE",
        "yes = pred[] constant(true)",
        "g = pred[] reduce(inside, yes), dimensions={0}, to_apply=both",
        functions="both {\na = pred[] parameter(0)\nb = pred[] parameter(1)\nROOT c = pred[] and(a, b)\n}\n",
    )


test_places_are_compared_with_bounds_one_by_one = cases("gathers", WILD[1], budget=EXACT)(
    (within("12"), "return np.bool_(True)"),
    (within("11"), lacks("True")),
)


def test_pieces_of_several_places_are_counted_from_their_begin():
    numbers = "offset_dims={}, collapsed_slice_dims={0,1,2}, start_index_map={2,0,1}, index_vector_dim=1"
    text = entry(
        "x = f32[5,4,3] parameter(0)",
        "i = s32[7,2] parameter(1)",
        "j = s32[7,1] parameter(2)",
        "k = s32[7,3] concatenate(j, i), dimensions={1}",
        f"g = f32[7] gather(x, k), {numbers}, slice_sizes={{1,1,1}}",
    )
    assert "concatenate" not in main(text)
    places = np.stack([WILD, WILD[::-1]], axis=1)
    assert_agrees(text, X, places, WILD[:, None], without="gathers", budget=EXACT)


test_indexing_of_jax = cases("gathers", X, WILD, claims=[lacks("gather(")], budget=EXACT, also=[optimised])(
    (lambda x, i: x[i], "return x[np.clip(i, -5, 4)]"),
    (lambda x, i: x[i % 5], "return x[i % 5]"),
    (lambda x, i: x[:, jnp.clip(i, 0, 3)], "return x[:, np.clip(i, 0, 3)]"),
    (lambda x, i: x[jnp.clip(i, 0, 4)], "return x[np.clip(i, 0, 4)]"),
    (lambda x, i: x.at[i].get(mode="fill", fill_value=-1), "np.where("),
    (lambda x, i: x[jnp.argmax(x, axis=0), :, 1], "x.argmax(axis=0)"),
    (lambda x, i: x[1, i, 2], "return x[1, :, 2][np.clip(i, -4, 3)]"),
    (lambda x, i: jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1), "np.take_along_axis(x, "),
    (lambda x, i: jnp.take_along_axis(x[..., 0], jnp.argmax(x[..., 0], 1)[:, None], 1), "[np.arange(5"),
)


WINDOWS = (
    "x = f32[10] parameter(0)",
    "i = s32[7,1] parameter(1)",
    "g = f32[7,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, "
    "slice_sizes={3}",
)
OF_ONE_ROW = entry(
    "x = f32[1,10] parameter(0)",
    "i = s32[7,2] parameter(1)",
    "g = f32[7,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, "
    "index_vector_dim=1, slice_sizes={1,4}",
)
WITHOUT_THE_ROW = OF_ONE_ROW.replace("start_index_map={0,1}", "start_index_map={0}").replace("s32[7,2]", "s32[7,1]")
test_windows_and_parts_of_axes = cases("gathers", budget=EXACT)(
    (
        entry(*WINDOWS),
        (FLAT, WILD[:, None]),
        "return x[np.clip(i[:, 0], 0, 7)[:, None] + np.arange(3, dtype=np.int32)]",
    ),
    (OF_ONE_ROW, (FLAT[None], np.stack([WILD, WILD], 1))),
    (WITHOUT_THE_ROW, (FLAT[None], WILD[:, None]), lacks("gather(")),
)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: jax.vmap(lambda row, k: lax.dynamic_slice(row[:, 0], (k,), (3,)))(x, i[:5]),
        lambda x, i: jax.vmap(lambda k, m: lax.dynamic_slice(x, (k, m, 0), (2, 3, 3)))(i, i[::-1]),
        lambda x, i: jax.vmap(lambda k, m: lax.dynamic_slice(x, (k, m, 1), (2, 1, 2)))(i, i[::-1]),
        lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (0, 0, k), (5, 4, 2)))(i),
        lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(jnp.tile(x.reshape(-1), 5), (k,), (9,)))(i.astype(jnp.uint8)),
        lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(jnp.broadcast_to(x[0], (5, 4, 3)), (k, 0, 1), (2, 2, 2)))(i),
    ],
    ids=["rows", "crops", "crops of a part", "ends", "bytes", "repeated"],
)
@pytest.mark.parametrize("form", [hlo, optimised])
def test_slices_of_a_batch(function, form):
    text = form(function, X, WILD)
    if form is hlo:
        assert "gather(" not in main(text)
    assert_agrees(text, X, WILD, without="gathers", budget=EXACT)


test_indices_of_any_integer_type = cases("gathers", budget=EXACT)(
    *(
        (rows("parameter(1)", f"{kind}[3,1]"), (X[..., 0], np.array([[limits.max], [1], [limits.min]], limits.dtype)))
        for kind, limits in (
            ("u8", np.iinfo("u1")),
            ("s8", np.iinfo("i1")),
            ("u32", np.iinfo("u4")),
            ("s64", np.iinfo("i8")),
        )
    )
)

test_other_remainders_keep_their_guards = cases("gathers", WILD, WILD[::-1], claims=[lacks("%")], budget=EXACT)(
    lambda i, j: i % -5,
    lambda i, j: jnp.fmod(i, j),
    lambda i, j: jnp.fmod(i, 5),
)
