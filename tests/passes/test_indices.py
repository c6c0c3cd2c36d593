"""What arrays are indexed by, in the words of the library."""

import numpy as np

from xla2py import emit
from xla2py.tests.ladder.running import on_twin
from xla2py.tests.passes.raising import EXACT, cases, entry, hlo, lacks, main
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

X = np.arange(30, dtype=np.float32).reshape(5, 6)
ANY = np.array([0, 3, -1, 4, -5, -6, 9, -100], np.int32)  # also outside of both ends

test_an_index_is_written_as_the_library_takes_it = cases(
    "indices", X, ANY, inputs=[(X, np.roll(ANY, shift)) for shift in range(len(ANY))], budget=EXACT
)(
    (lambda x, i: x[i[0]], "return x[min(max(int(i[0]), -5), 4)]"),
    (lambda x, i: x[:, i[1]], "return x[:, min(max(int(i[1]), -6), 5)]"),
    (lambda x, i: x[i[0], i[1]], "return x[min(max(int(i[0]), -5), 4), min(max(int(i[1]), -6), 5)]"),
    (lambda x, i: x[0, i % 3 - 2], "return x[0][i % 3 - 2]"),  # proved to be in range
    (lambda x, i: x[0, (i % 3 - 1) % 6], "return x[0][i % 3 - 1]"),
    (lambda x, i: x[0, (i % 3 - 7) % 6], "% 6]"),  # below the start
    (lambda x, i: x[0, (i % 3 - 1) % 5], "% 5]"),  # around another size
    (lambda x, i: x[jnp.argmax(x[:, 0])], "return x[x[:, 0].argmax()]"),
    (lambda x, i: x[jnp.argmax(x, axis=0), 0], "return x[:, 0][x.argmax(axis=0)]"),
)

test_indices_in_an_array = cases("indices", X, ANY, budget=EXACT)(
    (lambda x, i: x[i], "return x[np.clip(i, -5, 4)]"),
    (lambda x, i: x[i] + x[i, 1:2], "x[clipped_i]"),  # one index for both
    (lambda x, i: x[lax.top_k(x[:, 0], 2)[1]], "\nreturn x[indices]"),  # proved to be in range
    (lambda x, i: x[:, lax.top_k(x[0], 4)[1] // 2], "\nreturn x[:, indices // 2]"),
    (lambda x, i: x[jnp.minimum(jnp.searchsorted(x[:, 0], x[0]), 4)], "x[np.minimum(search_sorted("),
    # not an index alone:
    (lambda x, i: x[jnp.where(i < 0, i + 5, i)] + jnp.where(i < 0, i + 5, i)[:, None], "np.where(i < 0, i + 5, i)"),
)

test_bounds_of_what_is_clamped_anyway = cases("indices", X, ANY, budget=EXACT)(
    (lambda x, i: jnp.take(x, jnp.maximum(i, 0), axis=0, mode="clip"), 'np.take(x, i, axis=0, mode="clip")'),
    (lambda x, i: jnp.take(x, jnp.minimum(-3, i), axis=1, mode="clip") * 2, "np.minimum(i, -3)"),
    (lambda x, i: jnp.take(x, jnp.minimum(jnp.maximum(-i, -2), 5), axis=1, mode="clip"), "np.take(x, -i, axis=1"),
    (lambda x, i: jnp.take(x, jnp.maximum(i[::-1], i), axis=0, mode="clip"), "np.maximum("),
    (lambda x, i: jnp.take(x, jnp.maximum(i, 1), axis=0, mode="clip"), "np.maximum(i, 1)"),
    (lambda x, i: jnp.take(x, jnp.minimum(i, 3), axis=0, mode="clip"), "np.minimum(i, 3)"),
    (lambda x, i: x[jnp.maximum(i, 0)], 'np.take(x, i, axis=0, mode="clip")'),
)


def test_what_one_rewrite_makes_always_comes_in_the_same_order():
    text = hlo(lambda x, i: x[i, i[::-1]] + jnp.sin(x)[i, i[::-1]], X, ANY)
    texts, others = set(), []
    for count in range(20):  # nodes lie elsewhere in memory each time
        others.append([object() for _ in range(7919 * count % 20000)])
        texts.add(main(text))
    assert len(texts) == 1 and "clipped_i_2" in texts.pop()


def stored(x, state):
    return jax.lax.scan(lambda state, row: (state + row, (jnp.argmax(row), jnp.sum(row > 2))), state, x)


test_what_is_stored_needs_no_type = cases("indices", X, X[0], budget=EXACT)(
    (stored, lacks("astype"), "dtype=np.int32)\n"),
)


def other(index):
    return entry(
        *("x = f32[5,6] parameter(0)", "i = s32[] parameter(1)", "zero = s32[] constant(0)", "n = s32[] constant(4)"),
        *(f"a = s32[] {index}", "wrong = pred[] compare(i, zero), direction=LT", "s = s32[] select(wrong, a, i)"),
        "d = f32[1,6] dynamic-slice(x, s, zero), dynamic_slice_sizes={1,6}",
    )


test_other_choices_of_an_index_stay = cases(
    "indices", X, np.int32(0), inputs=[(X, np.int32(value)) for value in (-6, -2, 0, 3, 7)], budget=EXACT
)(
    (other("add(i, n)"), "i + 4 if i < 0 else i"),  # not the size of the axis
    (other("multiply(i, n)"), "i * 4 if i < 0 else i"),
)

test_an_index_that_is_a_result_too_and_unsigned_ones_stay = cases("indices", budget=EXACT)(
    (lambda x: (jnp.argmax(x), x.reshape(-1)[jnp.argmax(x)]), X, "astype(np.int32)"),
    (lambda x, i: x[i], (X, np.uint32(3))),
    (lambda x, i: x[i], (X, np.uint32(2**32 - 1))),
)


def test_repeated_updates_on_cupy_drop_no_place_that_counts_from_the_end():
    x, numbers = np.arange(5, dtype=np.uint8), np.array([0, 5, 1, 2, 0, 4], np.int32)
    text = hlo(lambda x, i: x.at[i % 6 - 3].add(np.uint8(2)), x, numbers)
    expected = x.copy()
    np.add.at(expected, numbers % 6 - 3, 2)
    np.testing.assert_array_equal(on_twin(emit(text, "cupy"), [x, numbers]), expected)
    np.testing.assert_array_equal(emit(text).load().main(x, numbers), expected)
