"""The verifier of kernels: operations against their rows, offsets against arrays and loops, results against lines.

Fusion makes only valid kernels, so an error found here is a bug in fusion, reported before any text is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..array.node import Node
from ..array.program import Branch, Function, Loop, roots, tree_nodes
from ..array.traversal import is_inside, topological
from ..hlo.element_types import PRED, U32
from .index_maps import Offset, is_in_order
from .kernel import Kernel, given_type
from .lines import Lines
from .operations import REDUCTIONS, RUNNING, element_type_of, is_of_elements, kernel_operation
from .phases import once_for_a_line


class InvalidKernelError(AssertionError):
    """A kernel that breaks a rule of the dialect; the message names the node and the rule."""


def verify_kernels(function: Function) -> None:
    """Raise InvalidKernelError for the first invalid kernel that a function calls, or calls with other shapes."""
    for node in topological(roots(function)):
        if node.opcode == "kernel":
            kernel: Kernel = node.parameters["kernel"]
            verify_kernel(kernel)
            for parameter, operand in zip(kernel.function.parameters, node.operands, strict=True):
                if parameter.shape != operand.shape:
                    raise InvalidKernelError(f"a kernel over {kernel.loop}: {operand!r} is given for {parameter!r}")


def verify_kernel(kernel: Kernel) -> None:
    """Raise InvalidKernelError for the first rule that a kernel breaks."""
    for problem in _problems(kernel):
        raise InvalidKernelError(f"a kernel over {kernel.loop}: {problem}")


def _problems(kernel: Kernel) -> Iterator[str]:
    results = tree_nodes(kernel.function.results)
    nodes = topological(results)
    yield from _signature_problems(kernel, results)
    yield from _line_problems(kernel, nodes, results)
    for node in nodes:
        for problem in _node_problems(kernel, node):
            yield f"{node!r}: {problem}"


def _signature_problems(kernel: Kernel, results: list[Node]) -> Iterator[str]:
    parameters, inputs, outputs = kernel.function.parameters, kernel.inputs, kernel.outputs
    if len(parameters) != len(inputs):
        yield f"{len(inputs)} arrays are given for {len(parameters)} parameters"
    for parameter, given in zip(parameters, inputs, strict=False):
        if (parameter.shape, parameter.element_type) != (given.shape, given_type(given)):
            yield f"{parameter!r} stands for {given!r}"
        if parameter not in kernel.whole and parameter.shape not in (kernel.loop, ()):
            yield f"{parameter!r} has no element for each of the loop's"
    if not len(results) == len(outputs) == len(kernel.shapes):
        yield f"{len(results)} results in {len(kernel.shapes)} shapes stand for {len(outputs)} nodes"
    for result, output in zip(results, outputs, strict=False):
        if result.element_type is not output.element_type:
            yield f"{result!r} stands for {output!r}"


def _line_problems(kernel: Kernel, nodes: list[Node], results: list[Node]) -> Iterator[str]:
    """Yield violations of: a result of lines is the same for all elements of a line; any other has one element for each
    of the loop's.
    """
    lines, elements = kernel.lines, prod(kernel.loop)
    if lines is None:
        if kernel.reductions or kernel.of_lines or kernel.parts != 1:
            yield "it reduces, and has no lines"
        once: set[Node] = set()
    else:
        if lines.length * lines.count != elements:
            yield f"{lines.count} lines of {lines.length} elements are not all of the loop's"
        once = once_for_a_line(kernel, nodes)
    of_a_line = kernel.parts * (lines.count if lines is not None else 0)
    if kernel.rows is not None:
        yield from _row_problems(kernel)
        return
    for node, shape, at in zip(results, kernel.shapes, kernel.at, strict=False):
        if node not in kernel.of_lines:
            if prod(shape) != elements:
                yield f"{node!r} has {elements} elements, and is stored as {shape}"
        elif node not in once:
            yield f"{node!r} differs between the elements of a line, of which each gives one"
        elif prod(shape) != of_a_line:
            yield f"{node!r} has {of_a_line} elements, one for each line or part of one, and is stored as {shape}"
        elif not is_in_order(at):
            yield f"{node!r} does not have its elements in the order of lines"


def _node_problems(kernel: Kernel, node: Node) -> Iterator[str]:
    row = kernel_operation(node)
    if row is None and not is_of_elements(node):
        yield "kernels have no such operation"
        return
    if row is not None:
        if row.operands is not None and len(node.operands) != row.operands:
            yield f"it has {len(node.operands)} operands, not {row.operands}"
        yield from (f"it has no {name}" for name in row.parameters if name not in node.parameters)
    expected = element_type_of(node)
    if expected is not None and node.element_type is not expected:
        yield f"its type is not {expected}, which follows"
    for needed in node.operands:
        if not is_inside(node.region, needed.region):
            yield f"{needed!r} is not in scope"
        if needed in kernel.whole and "at" not in node.parameters:
            yield f"the array {needed!r} is no element"
    if node.opcode in _RULES:
        yield from _RULES[node.opcode](kernel, node)
    if node.opcode in REDUCTIONS:
        yield from _reduction_problems(kernel, node)
    if node.opcode in RUNNING and kernel.lines != Lines.along(kernel.loop, (node.parameters["axis"],)):
        yield "it runs along another axis than the lines"
    if node.opcode in RUNNING and kernel.parts > 1:
        yield "it runs along lines that are cut"
    if node.opcode in (*REDUCTIONS, *RUNNING) and node.region is not kernel.function.graph.root:
        yield "it folds a line where not all elements of it come by"


def _reduction_problems(kernel: Kernel, node: Node) -> Iterator[str]:
    if node not in kernel.reductions:
        yield "it folds a line, and is not among the reductions"
    bounds = node.operands[1:]
    if bounds and (len(bounds) != 2 or kernel.parts > 1):
        yield "it goes over no interval of a whole line"
    if not set(bounds) <= once_for_a_line(kernel, topological(bounds)):
        yield "its interval differs between the elements of a line"


def _row_problems(kernel: Kernel) -> Iterator[str]:
    """Yield violations of: the elements of each row of a table come from adjacent elements of the loop, which are
    computed together.
    """
    assert kernel.rows is not None
    if kernel.lines is not None or len(kernel.shapes) != 1:
        yield "it adds lines, or several results, to rows"
    width = prod(kernel.shapes[0][1:])
    if kernel.rows not in kernel.whole or prod(kernel.rows.shape) * width != prod(kernel.loop):
        yield f"{kernel.rows!r} has no number for each row"
    if width % kernel.at_once:
        yield f"rows of {width} are no groups of {kernel.at_once}"


def _read_problems(kernel: Kernel, node: Node) -> Iterator[str]:
    (array,) = node.operands
    if array not in kernel.whole:
        yield f"{array!r} is read elsewhere, and given by element"
    runs_everywhere = node.region is kernel.function.graph.root or node.region.kind == "loop"
    if runs_everywhere and -1 not in array.shape:  # -1: a length that is known only at run time
        yield from _place_problems(node.parameters["at"], kernel.loop, prod(array.shape))


def _draw_problems(kernel: Kernel, node: Node) -> Iterator[str]:
    (key,) = node.operands
    if key not in kernel.whole or prod(key.shape) != 2 or key.element_type is not U32:
        yield f"{key!r} is no key of two words"


def _gather_problems(kernel: Kernel, node: Node) -> Iterator[str]:
    array, *indices = node.operands
    if node.opcode == "guarded_gather":
        _, fill, *indices = indices
        if fill.element_type is not node.element_type:
            yield f"it is filled with {fill!r}"
    if array not in kernel.whole:
        yield f"{array!r} is read elsewhere, and given by element"
    if len(indices) != len(node.parameters["strides"]):
        yield f"{len(indices)} indices are given for {len(node.parameters['strides'])} axes"
    if any(not index.type.is_integral for index in indices):
        yield "an index is no integer"


def _place_problems(at: Offset, loop: tuple[int, ...], size: int) -> Iterator[str]:
    elements = prod(loop)
    ranges = [
        (term.factor, (term.modulus if term.modulus is not None else -(-elements // term.divisor)) - 1)
        for term in at.terms
    ]
    low = at.start + sum(min(0, factor * last) for factor, last in ranges)
    high = at.start + sum(max(0, factor * last) for factor, last in ranges)
    if low < 0 or high >= size:
        yield f"it reads places {low} to {high} of {size}"


def _conditional_problems(kernel: Kernel, node: Node) -> Iterator[str]:
    branches: tuple[Branch, ...] = node.parameters["branches"]
    if len(node.parameters["tests"]) != len(branches) - 1:
        yield f"{len(node.parameters['tests'])} tests decide between {len(branches)} branches"
    for branch in branches:
        if [result.element_type for result in branch.results] != [node.element_type]:
            yield f"a branch gives {branch.results}"


def _loop_problems(kernel: Kernel, node: Node) -> Iterator[str]:
    loop: Loop = node.parameters["loop"]
    if loop.counter is None and loop.condition is None:
        yield "its rounds never end"
    if loop.condition is not None and loop.condition.element_type is not PRED:
        yield f"{loop.condition!r} does not tell whether it goes on"
    if loop.count is not None or loop.bounds is not None or loop.stores or loop.effect is not None:
        yield "nobody knows how many rounds it has, or it stores"
    for carry in loop.carries:
        kinds = {each.element_type for each in (carry.initial, carry.parameter, carry.following) if each is not None}
        if len(kinds) != 1 or carry.following is None:
            yield f"{carry.parameter!r} does not keep its type"


_RULES = {
    "read": _read_problems,
    "draw": _draw_problems,
    **dict.fromkeys(("gather", "guarded_gather"), _gather_problems),
    "conditional": _conditional_problems,
    "loop": _loop_problems,
}
