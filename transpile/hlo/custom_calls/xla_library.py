"""Functions of XLA's library without an opcode: tridiagonal systems, and keys of random numbers."""

from __future__ import annotations

from ..builder import XlaBuilder, XlaOp
from ..element_types import S32, U32, U64
from ..layouts import make_shape
from .call import Call, CustomCall
from .gpu_lapack import lapack_call

# Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), table 2 and section 3.3: Philox 4x32.
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_SCRAMBLING_KEY = (0x3EC8F720, 0x02461E29)  # XLA's constant


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


_SCRAMBLED = ("u64[] -> u64[2] u64[]",)
_SOLVED = ("T[*,1,n] T[*,1,n] T[*,1,n] T[*,k,n] -> T[*,k,n]", "T[*,3,n] T[*,k,n] -> T[*,k,n]")
XLA_LIBRARY: dict[str, CustomCall] = {
    "xla_builder.prng.ScramblePhiloxKey": CustomCall(_SCRAMBLED, _scrambled_philox_key),
    "xla_builder.tridiagonal.TridiagonalSolver": CustomCall(_SOLVED, _tridiagonal_solver),
}
