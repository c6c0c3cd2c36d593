"""The operations of a kernel: what each takes, and the element type that it gives for one element.

Operations of elements have the names, the operands and the types of the array dialect's element-wise ones, and need no
row here. The others are about the loop: where an element is read, what its number tells, which piece it is of, what is
carried from round to round, and what the elements of a line give together.
"""

from __future__ import annotations

import numpy as np

from ..array import operations as array_operations
from ..array.node import Node
from ..dataclass import dataclass
from ..hlo.element_types import ElementType


@dataclass(frozen=True, slots=True)
class KernelOperation:
    """One row: how many operands, the parameters that a node must have, and whose type the result has.

    ``folds``: the element-wise operation by which a reduction folds the elements of a line, or nothing.
    """

    operands: int | None = 0  # any number where it is None
    parameters: tuple[str, ...] = ()
    is_like_operand: bool = False
    folds: str = ""


# What stands for an element of an argument, at its own place or elsewhere, and what follows from its number. Where that
# is, is said twice: as a place in row-major order, and as an index for each axis.
_PLACED = {
    "parameter": KernelOperation(),
    "literal": KernelOperation(parameters=("constant",)),
    "read": KernelOperation(1, ("at", "indices"), is_like_operand=True),
    # An array and computed indices along axes of these ``strides``, beside what ``at`` says; ``indices`` has None for
    # these axes. ``guarded_gather`` has a truth and a number behind the array: where that is false, the number.
    "gather": KernelOperation(None, ("at", "indices", "strides"), is_like_operand=True),
    "guarded_gather": KernelOperation(None, ("at", "indices", "strides"), is_like_operand=True),
    "draw": KernelOperation(1, ("at",)),  # random bits of the element at a place, under a key of two words
    "arange": KernelOperation(parameters=("places", "indices")),
    "tri": KernelOperation(parameters=("places", "indices", "diagonal")),
    "eye": KernelOperation(parameters=("places", "indices", "diagonal")),
}
_CONTROL = {
    "conditional": KernelOperation(parameters=("branches", "tests")),  # by the place of the element
    "loop": KernelOperation(None, ("loop",)),  # counted
    "item": KernelOperation(1, ("index",)),
    "scalar": KernelOperation(1),  # a counter, as a number of some type
    "view": KernelOperation(1),  # the number of another type that has the same bits
}
# Over the elements of a line. The extreme of places is the first.
_FOLDS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
_FOLDS |= {"argmax": "minimum", "argmin": "minimum"}
# Behind the elements there may be two numbers: the first element of a line that counts, and the one behind the last.
REDUCTIONS = {name: KernelOperation(None, (), is_like_operand=True, folds=fold) for name, fold in _FOLDS.items()}
# Over the elements of a line up to each, in the order of the axis, or ``backwards``: all of a loop go one way.
RUNNING = {
    name: KernelOperation(1, ("axis",), is_like_operand=True, folds=fold)
    for fold, name in array_operations.RUNNING.items()
}
REDUCTION_OF = {name: array_operations.REDUCTIONS[row.folds] for name, row in RUNNING.items()}  # of all elements
# Of a sum over a line and the count of its elements.
_QUOTIENTS = {name: KernelOperation(1, ("count",), is_like_operand=True) for name in ("mean", "var", "std")}

OPERATIONS: dict[str, KernelOperation] = {**_PLACED, **_CONTROL, **REDUCTIONS, **RUNNING, **_QUOTIENTS}


def kernel_operation(node: Node) -> KernelOperation | None:
    """The row of a node; None for an operation of elements, and for one that kernels do not have."""
    return OPERATIONS.get(node.opcode)


def is_generated(node: Node) -> bool:
    """An array whose elements follow from their index, in a way that kernels know."""
    is_known = node.operation.is_filled or kernel_operation(node) is not None
    return node.operation.is_generated and is_known and all(operand.is_literal for operand in node.operands)


def is_backwards(node: Node) -> bool:
    """Tell whether a running total begins with the last element of a line."""
    return bool(node.parameters.get("backwards"))


def is_of_elements(node: Node) -> bool:
    """The node is an operation of the array dialect on elements at one place."""
    return node.opcode not in OPERATIONS and node.operation.is_elementwise


def element_type_of(node: Node) -> ElementType | None:
    """The type that a node must have, by its row here or in the array dialect; None where none follows."""
    row = kernel_operation(node)
    if row is not None:
        return node.operands[0].element_type if row.is_like_operand else None
    rule = node.operation.element_type
    return rule(node.operands, node.parameters) if rule is not None and not node.operation.widens else None


def start_value(reduction: str, element_type: ElementType) -> np.ndarray:
    """The number of a type that changes no result of a reduction."""
    dtype = element_type.dtype
    if reduction in ("sum", "prod"):
        return np.asarray(dtype.type(reduction == "prod"))
    is_largest = reduction == "max"
    if element_type.is_floating:
        return np.asarray(dtype.type(-np.inf if is_largest else np.inf))
    bounds = np.iinfo(dtype)
    return np.asarray(dtype.type(bounds.min if is_largest else bounds.max))
