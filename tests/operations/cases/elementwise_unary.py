"""Element-wise operations on one operand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import EXACT, Case, case, shape_text
from xla2py.tests.operations.definitions import integer_unary, rounded
from xla2py.tests.operations.values import COMPLEXES, FLOATS, INTEGERS, PRED, SIGNED, Array, dtype, edges, numbers
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

# What each operation admits. XLA on the CPU knows no s1 and u1, and counts bits of a sign-extended s4.
ELEMENT_TYPES_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        "cosine exponential exponential-minus-one log log-plus-one logistic rsqrt sine sqrt tan tanh".split(),
        FLOATS + COMPLEXES,
    ),
    **dict.fromkeys("cbrt ceil erf exp2 floor is-finite log2 round-nearest-afz round-nearest-even".split(), FLOATS),
    **dict.fromkeys("acos acosh asin asinh atanh cosh sinh".split(), FLOATS + COMPLEXES),
    **dict.fromkeys("count-leading-zeros popcnt".split(), INTEGERS),
    "abs": SIGNED + FLOATS + COMPLEXES,
    "imag": tuple(name for name in FLOATS if name != "f8e8m0fnu") + COMPLEXES,  # which has no zero
    "real": FLOATS + COMPLEXES,
    "negate": INTEGERS + FLOATS + COMPLEXES,
    "not": PRED + INTEGERS,
    "sign": SIGNED + FLOATS + COMPLEXES,
}

EXACT_ON_FLOATS = set("abs ceil floor imag is-finite negate real round-nearest-afz round-nearest-even sign".split())
REAL_PART = {"abs", "imag", "real"}

# Not in XLA on the CPU for f16 and wider; narrower floats it computes in f32.
BY_NUMPY = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "exp2": np.exp2,
    "log2": np.log2,
    "sinh": np.sinh,
}


def result_type(opcode: str, name: str) -> str:
    if opcode == "is-finite":
        return "pred"
    return ELEMENT_TYPES[name].real.name if opcode in REAL_PART else name


def unary(opcode: str, name: str, operand: Array) -> Case:
    result = shape_text(np.empty(operand.shape, dtype(result_type(opcode, name))))
    element_type = ELEMENT_TYPES[name]
    oracle = None
    if element_type.bits == 1 or (opcode == "popcnt" and element_type.bits < 8):
        oracle = integer_unary(opcode)
    elif opcode in BY_NUMPY:
        oracle = rounded(BY_NUMPY[opcode])
    budget = {"budget": EXACT} if opcode in EXACT_ON_FLOATS and not element_type.is_complex else {}
    return case(opcode, f"r = {result} {opcode}(p0)", operand, oracle=oracle, **budget)


def cases() -> Iterator[Case]:
    for opcode, names in ELEMENT_TYPES_OF.items():
        for name in names:
            values = edges(name)
            if opcode == "sqrt" and name in COMPLEXES:  # XLA takes the other side of the branch cut at -0j
                values = values[(values.real >= 0) | (values.imag != 0) | ~np.signbit(values.imag)]
            yield unary(opcode, name, values)
        for sizes in [(), (0,), (1,), (2, 0, 3), (1, 4, 1)]:
            yield unary(opcode, names[-1], numbers(names[-1], *sizes))
