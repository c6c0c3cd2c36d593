"""Functions that dialects above HLO, ``jax.experimental.sparse`` and XLA's library call by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..builder import DotDimensionNumbers, GatherDimensionNumbers, ScatterDimensionNumbers, XlaBuilder, XlaOp
from ..element_types import ELEMENT_TYPES, S32, U32, U64
from ..layouts import make_shape
from .call import Call, CustomCall, Definition
from .fields import TEXT, ConfigError, Field, Kind
from .gpu_lapack import lapack_call

_COMPOSITES = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan")
_MATH = {"Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Cosh": "cosh"}
# Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), table 2 and section 3.3: Philox 4x32.
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_SCRAMBLING_KEY = (0x3EC8F720, 0x02461E29)  # XLA's constant
_SCRAMBLED = ("u64[] -> u64[2] u64[]",)
_SOLVED = ("T[*,1,n] T[*,1,n] T[*,1,n] T[*,k,n] -> T[*,k,n]", "T[*,3,n] T[*,k,n] -> T[*,k,n]")


def _operation(name: str) -> Definition:
    def definition(b: XlaBuilder, call: Call, x: XlaOp) -> XlaOp:
        operation: Callable[[XlaOp], XlaOp] = getattr(b, name)
        return operation(x)

    return definition


def _next_after(b: XlaBuilder, call: Call, x: XlaOp, y: XlaOp) -> XlaOp:
    """Return the float next to ``x`` towards ``y``: as integers, the magnitudes of adjacent floats differ by 1."""
    element_type = x.array_shape.element_type
    if not element_type.is_floating or element_type.bits < 16:
        raise ConfigError(f"takes floating-point numbers of 16 bits and more, not {element_type}")
    integers = ELEMENT_TYPES[f"s{element_type.bits}"]
    lowest = int(np.iinfo(integers.dtype).min)
    sign, magnitude = b.constant(lowest, integers), b.constant(-lowest - 1, integers)
    bits, goal = (b.bitcast_convert_type(value, integers) for value in (x, y))
    size, goal_size = (b.and_(value, magnitude) for value in (bits, goal))
    goal_sign = b.and_(goal, sign)
    shrinks = b.or_(b.gt(size, goal_size), b.ne(b.and_(bits, sign), goal_sign))
    one = b.broadcast(b.one(integers), x.array_shape.dimensions)
    step = b.select(shrinks, b.neg(one), one)
    from_zero = b.select(b.eq(goal_size, 0), goal, b.or_(goal_sign, one))
    moved = b.select(b.eq(size, 0), from_zero, b.add(bits, step))
    moved = b.select(b.eq(x, y), goal, moved)
    is_nan = b.or_(b.ne(x, x), b.ne(y, y))
    nan = b.broadcast(b.constant(np.nan, element_type), x.array_shape.dimensions)
    return b.select(is_nan, nan, b.bitcast_convert_type(moved, element_type))


def _diagonal(b: XlaBuilder, call: Call, x: XlaOp) -> XlaOp:
    """Return the diagonal: every (k + 1)-th element of the leading square matrices with k rows."""
    *batch, m, n = x.array_shape.dimensions
    k, count = min(m, n), len(batch)
    square = b.slice(x, [0] * (count + 2), [*batch, k, k])
    return b.slice(b.reshape(square, [*batch, k * k]), [0] * (count + 1), [*batch, k * k], [1] * count + [k + 1])


def _einsum(b: XlaBuilder, call: Call, x: XlaOp, y: XlaOp) -> XlaOp:
    """Return ``ij,jk->ik``: letters for the dimensions of two operands and of the result."""
    letters, _, wanted = call[TEXT].replace(" ", "").partition("->")
    left, _, right = letters.partition(",")
    named = all(part.isalpha() and len(set(part)) == len(part) for part in (left, right) if part)
    ranks = (x.array_shape.rank, y.array_shape.rank)
    if not named or (len(left), len(right)) != ranks or not set(wanted) <= {*left, *right}:
        raise ConfigError(f"cannot read the subscripts {call[TEXT]!r} for {ranks[0]} and {ranks[1]} dimensions")
    x, left = _summed(b, x, left, right + wanted)
    y, right = _summed(b, y, right, left + wanted)
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter in wanted]
    gone = [letter for letter in shared if letter not in wanted]
    numbers = DotDimensionNumbers(
        [left.index(c) for c in gone],
        [right.index(c) for c in gone],
        [left.index(c) for c in batch],
        [right.index(c) for c in batch],
    )
    made = [*batch, *(c for c in left if c not in shared), *(c for c in right if c not in shared)]
    if sorted(made) != sorted(wanted):
        raise ConfigError(f"cannot read the subscripts {call[TEXT]!r}")
    return b.transpose(b.dot_general(x, y, numbers), [made.index(c) for c in wanted])


def _summed(b: XlaBuilder, x: XlaOp, letters: str, kept: str) -> tuple[XlaOp, str]:
    """Return an operand summed along the dimensions that only it has, and its remaining letters."""
    alone = [d for d, letter in enumerate(letters) if letter not in kept]
    if not alone:
        return x, letters
    zero = b.zero(x.array_shape.element_type)
    return b.reduce(x, zero, b.add, alone), "".join(c for c in letters if c in kept)


def _philox(b: XlaBuilder, words: list[XlaOp]) -> list[XlaOp]:
    """Return four u32 after all rounds of Philox with the key with which XLA scrambles other keys."""
    keys = list(_SCRAMBLING_KEY)
    for _ in range(_ROUNDS):
        high, low = zip(*(_product(b, words[2 * k], _MULTIPLIERS[k]) for k in (0, 1)), strict=True)
        first, second = (b.constant(key, U32) for key in keys)
        words = [b.xor(b.xor(high[1], words[1]), first), low[1], b.xor(b.xor(high[0], words[3]), second), low[0]]
        keys = [(key + step) % 2**32 for key, step in zip(keys, _STEPS, strict=True)]
    return words


def _product(b: XlaBuilder, word: XlaOp, factor: int) -> tuple[XlaOp, XlaOp]:
    """Return the high and the low half of a product of u32."""
    product = b.mul(b.convert_element_type(word, U64), b.constant(factor, U64))
    high = b.shift_right_logical(product, b.constant(32, U64))
    return b.convert_element_type(high, U32), b.convert_element_type(product, U32)


def _joined(b: XlaBuilder, low: XlaOp, high: XlaOp) -> XlaOp:
    """Return a u64 from its halves."""
    shifted = b.shift_left(b.convert_element_type(high, U64), b.constant(32, U64))
    return b.or_(b.convert_element_type(low, U64), shifted)


def _scrambled_philox_key(b: XlaBuilder, call: Call, key: XlaOp) -> XlaOp:
    """Define the initial state and key, which depend on all bits of the given key."""
    zero = b.constant(0, U32)
    high = b.convert_element_type(b.shift_right_logical(key, b.constant(32, U64)), U32)
    # Each half of the key is widened to 64 bits, of which the upper ones are 0.
    words = _philox(b, [b.convert_element_type(key, U32), zero, high, zero])
    state = [b.reshape(each, [1]) for each in (b.constant(0, U64), _joined(b, words[2], words[3]))]
    return b.tuple([b.concat_in_dim(state, 0), _joined(b, words[0], words[1])])


def _tridiagonal_solver(b: XlaBuilder, call: Call, *operands: XlaOp) -> XlaOp:
    """Define tridiagonal systems with a right side in each row of the last operand. The diagonals are three operands,
    or one array of the upper, the main and the lower one. Rows are exchanged, so a 0 on the diagonal does not make the
    matrix singular.
    """
    *diagonals, right = operands
    *batch, _, n = right.array_shape.dimensions
    if len(diagonals) == 1:
        diagonals = [b.slice_in_dim(diagonals[0], k, k + 1, 1, len(batch)) for k in (2, 1, 0)]
    bands = [b.reshape(diagonal, [*batch, n]) for diagonal in diagonals]
    swapped = [*range(len(batch)), len(batch) + 1, len(batch)]
    given = (*bands, b.transpose(right, swapped))
    shapes = [*(each.array_shape for each in given), make_shape(S32, batch)]
    return b.transpose(lapack_call(b, "gtsv", given, shapes)[3], swapped)


def _check_rows(call: Call) -> None:
    if call.sizes["p"] != call.sizes["n"] + 1:
        raise ConfigError(f"needs where each of {call.sizes['n']} rows begins, and where the last one ends")


def _csr_product(b: XlaBuilder, call: Call, values: XlaOp, begins: XlaOp, columns: XlaOp, dense: XlaOp) -> XlaOp:
    """Define the product. Elements of a row are added in order; elements behind the last row are ignored."""
    count, rows = call.sizes["e"], call.sizes["n"]
    vector = call.sizes.get("k")
    kept = [] if vector is None else [vector]
    into = ScatterDimensionNumbers((), (0,), (0,), 1)
    ends = b.reshape(b.slice_in_dim(begins, 1, rows + 1, 1, 0), [rows, 1])
    none, one = b.zero(S32), b.one(S32)
    ended = b.scatter(b.broadcast(none, [count]), ends, b.broadcast(one, [rows]), b.add, into)
    row = b.reduce_window(ended, none, b.add, [count], [1], [(max(count - 1, 0), 0)])
    window = (1,) if kept else ()
    numbers = GatherDimensionNumbers(window, (0,), (0,), 1)
    picked = b.gather(dense, b.reshape(columns, [count, 1]), numbers, [1, *kept])
    products = b.mul(b.broadcast_in_dim(values, [count, *kept], [0]), picked)
    zeros = b.broadcast(b.zero(values.array_shape.element_type), [rows, *kept])
    into = ScatterDimensionNumbers(window, (0,), (0,), 1)
    return b.scatter(zeros, b.reshape(row, [count, 1]), products, b.add, into)


FUNCTIONS: dict[str, CustomCall] = {
    **{
        f"{dialect}.{name}": CustomCall(("A[*] -> A[*]",), _operation(name))
        for dialect in ("mhlo", "chlo")
        for name in _COMPOSITES
    },
    **{f"xla_builder.math.{name}": CustomCall(("A[*] -> A[*]",), _operation(method)) for name, method in _MATH.items()},
    "xla_builder.math.Atan": CustomCall(
        ("A[*] -> A[*]",), lambda b, call, x: b.atan2(x, b.one(x.array_shape.element_type))
    ),
    "xla_builder.math.NextAfter": CustomCall(("A[*] A[*] -> A[*]",), _next_after),
    "xla_builder.matrix.GetMatrixDiagonalViaGather": CustomCall(("A[*,m,n] -> A[*,min(m,n)]",), _diagonal),
    "xla_builder.matrix.Einsum": CustomCall(("A[?] A[?] -> A[?]",), _einsum, config={TEXT: Field(Kind.WORD)}),
    "xla_builder.prng.ScramblePhiloxKey": CustomCall(_SCRAMBLED, _scrambled_philox_key),
    "xla_builder.tridiagonal.TridiagonalSolver": CustomCall(_SOLVED, _tridiagonal_solver),
    "cpu_csr_sparse_dense_ffi": CustomCall(
        ("A[e] s32[p] s32[e] A[m] -> A[n]", "A[e] s32[p] s32[e] A[m,k] -> A[n,k]"), _csr_product, check=_check_rows
    ),
}
