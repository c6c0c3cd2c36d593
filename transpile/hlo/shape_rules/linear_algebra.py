"""Shape rules of Fourier transforms, matrix factorisations and random numbers."""

from __future__ import annotations

from ..element_types import C64, C128, F32, F64, PRED, U64
from ..shapes import ArrayShape, Shape, TupleShape, compatible
from .common import (
    Operation,
    Rule,
    array_of,
    declared_array,
    refuse,
    require_rank,
    require_same_type,
    require_type,
    shape_text,
    sizes_text,
    with_type,
)


def _fft(op: Operation) -> Shape:
    operand, lengths, kind = op.array(0), tuple(op["fft_length"]), op["fft_type"]
    rank = len(lengths)
    if not 1 <= rank <= 3:
        refuse("XP218", f"{op.opcode} transforms 1 to 3 dimensions, not {rank}")
    if kind == "RFFT":
        require_type(op, operand, lambda t: t is F32 or t is F64, "f32 or f64")
    else:
        require_type(op, operand, lambda t: t.is_complex, "complex")
    require_rank(op, operand, rank, "the operand")
    transformed = operand.dimensions[-rank:]
    if kind == "RFFT":
        result, wanted = with_type(operand, C64 if operand.element_type is F32 else C128), lengths
    elif kind == "IRFFT":
        is_empty = lengths[-1] == operand.dimensions[-1] == 0
        result, wanted = (
            with_type(operand, operand.element_type.real),
            (*lengths[:-1], _frequencies(lengths[-1], is_empty)),
        )
    else:
        # XLA's rules accept other lengths here; its CPU backend then transforms other data or aborts.
        result, wanted = operand.without_layout(), lengths
    if transformed != wanted:
        op.refuse(
            "XP213",
            f"{kind} of length {sizes_text(lengths)} wants the last sizes {sizes_text(wanted)}, "
            f"but the operand is {shape_text(operand)}",
        )
    last = _frequencies(lengths[-1], lengths[-1] == 0) if kind == "RFFT" else lengths[-1]
    return array_of(result.element_type, (*operand.dimensions[:-1], last), result.dynamic)


def _frequencies(length: int, is_empty: bool) -> int:
    """Return the number of frequencies of a real signal; 0 for an empty one."""
    return 0 if is_empty else length // 2 + 1


def _require_square(op: Operation, matrix: ArrayShape) -> None:
    require_type(op, matrix, lambda t: t.is_floating or t.is_complex, "floating-point or complex")
    require_rank(op, matrix, 2, "the matrix")
    if matrix.dimensions[-1] != matrix.dimensions[-2]:
        op.refuse("XP213", f"the last two dimensions have to be equal: {shape_text(matrix)}")


def _cholesky(op: Operation) -> Shape:
    matrix = op.array(0)
    _require_square(op, matrix)
    return matrix.without_layout()


def _triangular_solve(op: Operation) -> Shape:
    a, b = op.array(0, "a"), op.array(1, "b")
    _require_square(op, a)
    require_same_type(op, (a, b))
    if a.rank != b.rank:
        op.refuse("XP214", f"a and b differ in rank: {shape_text(a)} and {shape_text(b)}")
    if a.dimensions[:-2] != b.dimensions[:-2]:
        op.refuse("XP213", f"the batch dimensions differ: {shape_text(a)} and {shape_text(b)}")
    shared = b.dimensions[-2 if op["left_side"] else -1]
    if a.dimensions[-1] != shared:
        side = "rows" if op["left_side"] else "columns"
        op.refuse("XP213", f"a has {a.dimensions[-1]} columns, but b has {shared} {side}")
    return b.without_layout()


def _rng(op: Operation) -> Shape | None:
    bounds = op.arrays()[:2]  # XLA ignores a third one
    for bound in bounds:
        if not bound.is_scalar:
            op.refuse("XP213", f"the parameters have to be scalars, not {shape_text(bound)}")
    element_type = require_same_type(op, bounds)
    if op["distribution"] == "rng_normal":
        require_type(op, bounds[0], lambda t: t.is_floating, "floating-point")
    else:
        require_type(op, bounds[0], lambda t: t.is_floating or t.is_integral or t is PRED, "pred, integer or float")
    declared = declared_array(op)
    return None if declared is None else with_type(declared, element_type)


_STATE_SIZES = {"rng_three_fry": (2,), "rng_philox": (2, 3)}


def _rng_bit_generator(op: Operation) -> Shape | None:
    state, declared = op.array(0, "the state"), op.declared
    if op["algorithm"] in _STATE_SIZES:
        bits = state.size * state.element_type.bits
        allowed = _STATE_SIZES[op["algorithm"]]
        if not state.element_type.is_unsigned or state.rank != 1 or bits not in [64 * n for n in allowed]:
            wanted = " or ".join(f"u64[{n}]" for n in allowed)
            op.refuse("XP213", f"the state of {op['algorithm']} is {wanted}, not {shape_text(state)}")
    if declared is None:
        return None
    if isinstance(declared, TupleShape):
        if len(declared.elements) != 2 or not compatible(declared.elements[0], state):
            refuse("XP204", f"{op.opcode} gives (new state, bits), but is declared as {shape_text(declared)}")
        output = declared.elements[1]
    else:
        output = declared
    if not isinstance(output, ArrayShape) or output.element_type.is_complex or output.element_type is PRED:
        refuse("XP211", f"{op.opcode} gives integer or float bits, not {shape_text(output)}")
    return declared


RULES: dict[str, Rule] = {
    "fft": _fft,
    "cholesky": _cholesky,
    "triangular-solve": _triangular_solve,
    "rng": _rng,
    "rng-bit-generator": _rng_bit_generator,
    "rng-get-and-update-state": lambda op: ArrayShape(U64, (2,)),
}
