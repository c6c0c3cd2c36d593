"""gather as indexing: clamps where an index may be out of bounds, none where it cannot be."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, entry, hlo, main, optimised
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


def test_constant_indices_in_bounds_need_no_clamp():
    text = rows("constant({{4},{0},{4}})")
    assert "mode" not in main(text) and "gather" not in main(text)
    assert_agrees(text, X[..., 0], without="gathers", budget=EXACT)


def test_constant_indices_out_of_bounds_are_clamped():
    text = rows("constant({{5},{0},{-1}})")
    assert 'mode="clip"' in main(text)
    assert_agrees(text, X[..., 0], without="gathers", budget=EXACT)


def test_one_constant_row_is_a_plain_index():
    text = rows("constant({{9}})", "s32[1,1]", "f32[1,4]")
    assert main(text) == "return x[4:]"
    assert_agrees(text, X[..., 0], without="gathers", budget=EXACT)


def test_starts_of_a_batch_are_pieces_of_what_they_are_joined_of():
    """``jax.vmap`` of ``x[i]`` joins the places of a batch with zeros for the other axes."""
    text = hlo(jax.vmap(lambda x, i: x[i] + x[2, i], in_axes=(None, 0)), X[..., 0], WILD)
    assert "concatenate" not in main(text) and "np.zeros" not in main(text)
    assert_agrees(text, X[..., 0], WILD, without="gathers", budget=EXACT)


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


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, i: x[i], "return x[np.clip(i, -5, 4)]"),
        (lambda x, i: x[:, jnp.clip(i, 0, 3)], "return x[:, np.clip(i, 0, 3)]"),
        (lambda x, i: x[jnp.clip(i, 0, 4)], "return x[np.clip(i, 0, 4)]"),
        (lambda x, i: x.at[i].get(mode="fill", fill_value=-1), "np.where("),
        (lambda x, i: x[jnp.argmax(x, axis=0), :, 1], "x.argmax(axis=0)"),
        (lambda x, i: x[1, i, 2], "return x[1, :, 2][np.clip(i, "),
        (lambda x, i: jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1), "np.take_along_axis(x, "),
        (lambda x, i: jnp.take_along_axis(x[..., 0], jnp.argmax(x[..., 0], 1)[:, None], 1), "[np.arange(5"),
    ],
    ids=["unknown", "second axis", "clipped", "filled", "argmax", "column", "along", "picked"],
)
@pytest.mark.parametrize("form", [hlo, optimised])
def test_indexing_of_jax(function, expected, form):
    text = form(function, X, WILD)
    emitted = main(text)
    assert "gather(" not in emitted
    if form is hlo:
        assert expected in emitted
    assert_agrees(text, X, WILD, without="gathers", budget=EXACT)


def test_places_of_the_elements_of_windows_are_indices():
    text = entry(
        "x = f32[10] parameter(0)",
        "i = s32[7,1] parameter(1)",
        "g = f32[7,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, "
        "slice_sizes={3}",
    )
    assert main(text) == "return x[np.clip(i[:, 0], 0, 7)[:, None] + np.arange(3, dtype=np.int32)]"
    assert_agrees(text, FLAT, WILD[:, None], without="gathers", budget=EXACT)


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


def test_an_axis_of_one_element_and_parts_of_axes():
    text = entry(
        "x = f32[1,10] parameter(0)",
        "i = s32[7,2] parameter(1)",
        "g = f32[7,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, "
        "index_vector_dim=1, slice_sizes={1,4}",
    )
    assert_agrees(text, FLAT[None], np.stack([WILD, WILD], 1), without="gathers", budget=EXACT)
    text = text.replace("start_index_map={0,1}", "start_index_map={0}").replace("s32[7,2]", "s32[7,1]")
    assert "gather(" not in main(text)
    assert_agrees(text, FLAT[None], WILD[:, None], without="gathers", budget=EXACT)


def test_an_empty_batch():
    text = rows("parameter(1)", "s32[0,1]", "f32[0,4]")
    assert_agrees(text, X[..., 0], np.zeros((0, 1), np.int32), without="gathers", budget=EXACT)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32, np.int64])
def test_indices_of_any_integer_type(dtype):
    kind = {"u": "u", "i": "s"}[np.dtype(dtype).kind] + str(8 * np.dtype(dtype).itemsize)
    text = rows("parameter(1)", f"{kind}[3,1]")
    top = np.iinfo(dtype)
    assert_agrees(text, X[..., 0], np.array([[top.max], [1], [top.min]], dtype), without="gathers", budget=EXACT)


@pytest.mark.parametrize("form", [hlo, optimised])
def test_an_index_by_a_remainder_is_in_bounds(form):
    text = form(lambda x, i: x[i % 5], X, WILD)
    if form is hlo:
        assert main(text) == "return x[i % 5]"
    assert_agrees(text, X, WILD, without="gathers", budget=EXACT)


@pytest.mark.parametrize("function", [lambda i, j: i % -5, lambda i, j: jnp.fmod(i, j), lambda i, j: jnp.fmod(i, 5)])
def test_other_remainders_keep_their_guards(function):
    text = hlo(function, WILD, WILD[::-1])
    assert "%" not in main(text)
    assert_agrees(text, WILD, WILD[::-1], without="gathers", budget=EXACT)
