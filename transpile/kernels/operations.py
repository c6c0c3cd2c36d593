"""The operations of kernels: operands, parameters and result type for one element.

Operations on elements are the array dialect's element-wise ones, which need no row here. The rows here are about the
loop: reads at other positions, values from the element's number, pieces, loop-carried elements, and reductions of a
line.
"""

from __future__ import annotations

import numpy as np

from ..array import operations as array_operations
from ..array.node import Node
from ..dataclass import dataclass
from ..hlo.element_types import ElementType
from .gathers import gather_of


@dataclass(frozen=True, slots=True)
class KernelOperation:
    """One row: the number of operands, the parameters that a node must have, and whether the result has the type of the
    first operand.

    ``folds``: the element-wise operation by which a reduction combines the elements of a line, or "".
    """

    operands: int | None = 0  # None for any number
    parameters: tuple[str, ...] = ()
    is_like_operand: bool = False
    folds: str = ""


# Elements of arguments, at the own or another position, and values from the element's number. A position is given
# twice: as an offset in row-major order, and as an index for each axis.
_PLACED = {
    "parameter": KernelOperation(),
    "literal": KernelOperation(parameters=("constant",)),
    "read": KernelOperation(1, ("at", "indices"), is_like_operand=True),
    # An array and computed indices along axes of these ``strides``, added to the offset ``at``; ``indices`` has None
    # for these axes. ``guarded_gather`` has a condition and a fill behind the array: if false, the result is the fill.
    "gather": KernelOperation(None, ("at", "indices", "strides"), is_like_operand=True),
    "guarded_gather": KernelOperation(None, ("at", "indices", "strides"), is_like_operand=True),
    "draw": KernelOperation(1, ("at",)),  # random bits of the element at an offset, under a key of two words
    "arange": KernelOperation(parameters=("places", "indices")),
    "tri": KernelOperation(parameters=("places", "indices", "diagonal")),
    "eye": KernelOperation(parameters=("places", "indices", "diagonal")),
}
_CONTROL = {
    "conditional": KernelOperation(parameters=("branches", "tests")),  # by the position of the element
    "loop": KernelOperation(None, ("loop",)),  # counted
    "item": KernelOperation(1, ("index",)),
    "scalar": KernelOperation(1),  # a counter as a number of an element type
    "view": KernelOperation(1),  # a bitcast
}
# Over the elements of a line. Of several equal extremes, the first position wins.
_FOLDS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
_FOLDS |= {"argmax": "minimum", "argmin": "minimum"}
# Two more operands may bound the interval of a line that is reduced: its first element, and the one behind its last.
REDUCTIONS = {name: KernelOperation(None, (), is_like_operand=True, folds=fold) for name, fold in _FOLDS.items()}
# Running reductions, in the order of the axis or ``backwards``: all of a loop have the same direction.
RUNNING = {
    name: KernelOperation(1, ("axis",), is_like_operand=True, folds=fold)
    for fold, name in array_operations.RUNNING.items()
}
REDUCTION_OF = {name: array_operations.REDUCTIONS[row.folds] for name, row in RUNNING.items()}  # of all elements
# From a sum over a line and the number of its elements.
_QUOTIENTS = {name: KernelOperation(1, ("count",), is_like_operand=True) for name in ("mean", "var", "std")}

OPERATIONS: dict[str, KernelOperation] = {**_PLACED, **_CONTROL, **REDUCTIONS, **RUNNING, **_QUOTIENTS}


def kernel_operation(node: Node) -> KernelOperation | None:
    """Return the row of a node; None for an operation on elements, and for one that kernels do not have."""
    return OPERATIONS.get(node.opcode)


def is_generated(node: Node) -> bool:
    """Return whether the elements of an array follow from their index in a way that kernels support."""
    is_known = node.operation.is_filled or kernel_operation(node) is not None
    return node.operation.is_generated and is_known and all(operand.is_literal for operand in node.operands)


def is_backwards(node: Node) -> bool:
    """Return whether a running reduction begins with the last element of a line."""
    return bool(node.parameters.get("backwards"))


def is_of_elements(node: Node) -> bool:
    """Return whether the node is an element-wise operation of the array dialect."""
    return node.opcode not in OPERATIONS and node.operation.is_elementwise


def element_type_of(node: Node) -> ElementType | None:
    """Return the type that a node must have, by its row here or in the array dialect; None if its row leaves it
    open.
    """
    row = kernel_operation(node)
    if row is not None:
        return node.operands[0].element_type if row.is_like_operand else None
    rule = node.operation.element_type
    return rule(node.operands, node.parameters) if rule is not None and not node.operation.widens else None


def start_value(reduction: str, element_type: ElementType) -> np.ndarray:
    """Return the neutral element of a reduction in a type."""
    dtype = element_type.dtype
    if reduction in ("sum", "prod"):
        return np.asarray(dtype.type(reduction == "prod"))
    is_largest = reduction == "max"
    if element_type.is_floating:
        return np.asarray(dtype.type(-np.inf if is_largest else np.inf))
    bounds = np.iinfo(dtype)
    return np.asarray(dtype.type(bounds.min if is_largest else bounds.max))


def takes_long_alone(node: Node) -> bool:
    """Return whether compilers compute several of an operation at a time in much less than the time of each."""
    is_conversion = node.opcode == "prelude" and node.parameters["function"] == "to_int"
    return node.operation.is_costly and not is_conversion and node.opcode not in OPERATIONS and gather_of(node) is None


_FUNCTIONS = frozenset(("random_bits", "random_uniform", "random_normal"))


@dataclass(frozen=True, slots=True)
class Draw:
    """Random numbers from ``key``: bits, or floats in [``low``, ``high``) made of these, possibly made normal."""

    key: Node
    limits: tuple[float, ...] | None = None
    is_normal: bool = False


def draw_of(node: Node) -> Draw | None:
    """Return the draw that an operation is; None for any other operation."""
    if node.opcode != "prelude" or node.parameters["function"] not in _FUNCTIONS:
        return None
    (key,), (_, _, *limits) = node.operands, node.parameters["arguments"]
    if node.parameters["function"] == "random_bits":
        return Draw(key)
    if node.parameters["function"] == "random_normal":
        return Draw(key, (-0.99999994, 1.0), is_normal=True)
    return Draw(key, tuple(limits + [0.0, 1.0][len(limits) :]))
