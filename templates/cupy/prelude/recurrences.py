"""Linear recurrences along an axis, as ``jax.lax.associative_scan`` computes them.

Source: Blelloch, Prefix sums and their applications, 1990, section 1.4.
"""

from math import prod

import cupy as cp

part_of_recurrence = cp.ElementwiseKernel(
    "raw T factors, raw T terms, int64 length, int64 part, int64 parts, int64 inner",
    "T product, T state",
    """
    long long row = i / inner, from = row % parts * part;
    long long at = (row / parts * length + from) * inner + i % inner;
    product = 1;
    state = 0;
    for (long long k = from; k < from + part && k < length; k++, at += inner) {
        state = factors[at] * state + terms[at];
        product *= factors[at];
    }
    """,
    "part_of_recurrence",
)

states_of_part = cp.ElementwiseKernel(
    "raw T factors, raw T terms, raw T ends, "
    "int64 length, int64 part, int64 parts, int64 inner",
    "raw T states",
    """
    long long row = i / inner, from = row % parts * part;
    long long at = (row / parts * length + from) * inner + i % inner;
    T state = from ? ends[i - inner] : T(0);
    for (long long k = from; k < from + part && k < length; k++, at += inner) {
        state = factors[at] * state + terms[at];
        states[at] = state;
    }
    """,
    "states_of_part",
)

SHORT_PART = 64  # elements that a thread computes one after the other
MANY_THREADS = 1 << 17  # keep a device busy


def linear_recurrence(
    factors: cp.ndarray, terms: cp.ndarray, *, axis: int = 0
) -> cp.ndarray:
    """Return x with ``x[i] = factors[i] * x[i - 1] + terms[i]`` along ``axis``, from
    ``x[-1] = 0``.

    If there are few lines, each is cut in parts: the products and last states of the
    parts are a recurrence, which gives the states with which the parts begin.
    """
    inner = prod(terms.shape[axis + 1 :])
    if axis and inner < 32:  # neighbouring threads read neighbouring lines
        factors, terms = cp.moveaxis(factors, axis, 0), cp.moveaxis(terms, axis, 0)
        return cp.moveaxis(linear_recurrence(factors, terms), 0, axis)
    factors, terms = cp.ascontiguousarray(factors), cp.ascontiguousarray(terms)
    outer, length = prod(terms.shape[:axis]), terms.shape[axis]
    most = -(-length // SHORT_PART)
    part = -(-length // max(1, min(most, MANY_THREADS // max(1, outer * inner))))
    parts = -(-length // max(1, part))
    sizes = [cp.int64(size) for size in (length, part, parts, inner)]
    ends = terms
    if parts > 1:
        shape = (outer, parts, inner)
        products, last = cp.empty(shape, terms.dtype), cp.empty(shape, terms.dtype)
        part_of_recurrence(factors, terms, *sizes, products, last)
        ends = cp.ascontiguousarray(linear_recurrence(products, last, axis=1))
    states = cp.empty_like(terms)
    states_of_part(factors, terms, ends, *sizes, states, size=outer * parts * inner)
    return states
