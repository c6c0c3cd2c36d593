"""Operations that XLA on the CPU does not run: targets are compared with the readable module for NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from ..hlo.element_types import ELEMENT_TYPES
from ..hlo.ir import Computation, Instruction
from ..hlo.shapes import ArrayShape, TupleShape
from .drawing import Recipe, array, sizes

_FLOATS = ("f32", "f32", "f64", "bf16", "f16")
_INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
_INVERSE = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh")


def elementary(opcode: str, random: Random, name: str) -> Recipe:
    operand = array(random.choice(_FLOATS), *sizes(random, 0, 3))
    return Recipe(opcode, (operand,), is_rounded=True, runs_on_xla=False)


def mulhi(random: Random, name: str) -> Recipe:
    operand = array(random.choice(_INTEGERS), *sizes(random, 0, 3))
    return Recipe("mulhi", (operand, operand), runs_on_xla=False)


def topk(random: Random, name: str) -> Recipe:
    dimensions = sizes(random, 1, 3)
    operand = array(random.choice([*_FLOATS, "s32", "u8"]), *dimensions)
    k = random.randint(1, dimensions[-1])
    shape = (*dimensions[:-1], k)
    declared = TupleShape((ArrayShape(operand.element_type, shape), array("s32", *shape)))
    return Recipe("topk", (operand,), {"k": k, "largest": random.random() < 0.7}, declared, runs_on_xla=False)


def stochastic_convert(random: Random, name: str) -> Recipe:
    dimensions = sizes(random, 0, 3)
    source, bits = random.choice([("f32", "u32"), ("bf16", "u16"), ("f16", "u16")])
    result = array(random.choice(["s8", "s16", "s32"]), *dimensions)
    operands = (array(source, *dimensions), array(bits, *dimensions))
    return Recipe("stochastic-convert", operands, declared=result, runs_on_xla=False)


def ragged_dot(random: Random, name: str) -> Recipe:
    """Return the recipe of a product of groups of rows, each with its own matrix."""
    rows, inner, columns, groups = (random.randint(1, 5) for _ in range(4))
    attributes = {
        "lhs_batch_dims": (),
        "rhs_batch_dims": (),
        "lhs_contracting_dims": (1,),
        "rhs_contracting_dims": (1,),
        "lhs_ragged_dims": (0,),
        "rhs_group_dims": (0,),
    }
    element_type = random.choice(["f32", "f64", "s32"])
    operands = (array(element_type, rows, inner), array(element_type, groups, inner, columns), array("s32", groups))
    return Recipe("ragged-dot", operands, attributes, array(element_type, rows, columns), runs_on_xla=False)


def scan(random: Random, name: str) -> Recipe:
    """Return the recipe of running sums along a dimension, from either end."""
    dimensions = sizes(random, 1, 3)
    axis = random.randrange(len(dimensions))
    element_type = random.choice(["f32", "s32", "f64"])
    inner = [size for d, size in enumerate(dimensions) if d != axis]
    attributes = {
        "dimensions": (axis,),
        "num_carries": 1,
        "is_reverse": random.random() < 0.5,
        "to_apply": _running(f"{name}_running", array(element_type, *inner)),
    }
    operands = (array(element_type, *dimensions), array(element_type, *inner))
    return Recipe("scan", operands, attributes, TupleShape(operands), runs_on_xla=False)


def _running(name: str, shape: ArrayShape) -> Computation:
    x, carry = (
        Instruction(letter, "parameter", shape, attributes={"parameter_number": number})
        for number, letter in enumerate("ab")
    )
    total = Instruction("c", "add", shape, (x, carry))
    root = Instruction("d", "tuple", TupleShape((shape, shape)), (total, total))
    return Computation(name, (x, carry, total, root), root)


def get_dimension_size(random: Random, name: str) -> Recipe:
    dimensions = sizes(random, 1, 3)
    operand = ArrayShape(ELEMENT_TYPES[random.choice(["f32", "pred"])], tuple(dimensions))
    attributes = {"dimensions": (random.randrange(len(dimensions)),)}
    return Recipe("get-dimension-size", (operand,), attributes, runs_on_xla=False)


UNUSUAL: dict[str, tuple[Callable[[Random, str], Recipe], int]] = {
    **{opcode: (partial(elementary, opcode), 1) for opcode in _INVERSE},
    "mulhi": (mulhi, 2),
    "topk": (topk, 3),
    "stochastic-convert": (stochastic_convert, 1),
    "ragged-dot": (ragged_dot, 2),
    "scan": (scan, 2),
    "get-dimension-size": (get_dimension_size, 1),
}
