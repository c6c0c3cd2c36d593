"""The forms of operations in loops that Numba compiles: element-wise expressions and indices in place of library
calls.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...transpile.array.contractions import spread, subscripts
from ...transpile.array.graph import Graph
from ...transpile.array.imaginary import imaginary_place
from ...transpile.array.node import Node, Slot, literal_value
from ...transpile.array.value import FULL, NEW, getitem, permute
from ...transpile.hlo.element_types import PRED, S32
from ...transpile.kernels.gathers import is_within
from ..element_rules import MOST_PIECES

_MOST_WRITTEN_OUT = 8  # rows, columns and terms of a product, up to which a call of BLAS takes longer
_MOST_OF_ROW, _MOST_OF_COLUMN = 16, 32  # the same for products of a vector and a matrix, or a vector from the right
_MOST_PRODUCTS = 2**18  # of a convolution, up to which matrix products are slower
_MOST_JOINED = 16  # arrays in a concatenation, each of which is a branch for every element
_SUMMED = frozenset("f32 f64 c64 c128".split())
_CONVOLVED = frozenset(("f32", "f64"))
_STARTS = frozenset("s32 s64 u32".split())
_AS_IT_IS = frozenset(("strides", "padding", "kernel_dilation", "reverse_kernel", "feature_groups", "layout"))


def loop_form(graph: Graph, node: Node) -> Node | None:
    """Return the node that replaces a node in a loop, or None."""
    rule = _FORMS.get(node.parameters["function"] if node.opcode in ("prelude", "library") else node.opcode)
    return rule(graph, node) if rule is not None else None


def _turned(graph: Graph, node: Node) -> Node | None:
    """Return ``np.exp`` of an imaginary number as its cosine and its sine."""
    (z,) = node.operands
    is_sum = z.opcode == "add" and z.operands[1].is_literal and not literal_value(z.operands[1])
    if not node.type.is_complex or imaginary_place(z.operands[0] if is_sum else z) is None:
        return None
    angle = graph.add("imag", (z,))
    parts = tuple(graph.add(opcode, (angle,)) for opcode in ("cosine", "sine"))
    slots = (Slot(0), Slot(1))
    return graph.add("prelude", parts, function="complex_from_parts", arguments=slots, keywords={})


def _of_one_type(graph: Graph, node: Node) -> Node | None:
    """Return an operation on real and complex numbers as one on complex numbers."""
    if node.element_type is None or not node.type.is_complex:
        return None
    types = {None if operand.is_python_int else operand.element_type for operand in node.operands}
    if None in types or types == {node.type}:
        return None
    kind = node.type
    given = (x if x.type is kind else graph.add("convert", (x,), element_type=kind) for x in node.operands)
    return graph.add(node.opcode, tuple(given), **node.parameters)


def _truth(graph: Graph, node: Node) -> Node | None:
    """Return ``any`` or ``all`` along axes as a comparison of a count, since kernels sum lines of numbers."""
    (x,) = node.operands
    if not node.ndim or 0 in x.shape or x.element_type is not PRED:
        return None
    how = {key: node.parameters[key] for key in ("axes", "keepdims") if key in node.parameters}
    total = graph.add("sum", (graph.add("convert", (x,), element_type=S32),), **how)
    most = graph.literal(prod(x.shape) // prod(node.shape), S32)
    if node.opcode == "all":
        return graph.add("compare", (total, most), direction="EQ")
    return graph.add("compare", (total, graph.literal(0, S32)), direction="NE")


def _count(graph: Graph, node: Node) -> Node | None:
    """Return a sum of booleans as a sum of integers."""
    (x,) = node.operands
    if x.element_type is not PRED or not node.type.is_integral or 0 in x.shape:
        return None
    how = {key: node.parameters[key] for key in ("axes", "keepdims") if key in node.parameters}
    return graph.add("sum", (graph.add("convert", (x,), element_type=node.type),), **how)


def _of_numbers(graph: Graph, node: Node) -> Node | None:
    """Return ``take`` of 0, 1, 2, .. as the index itself, clamped."""
    x, index = node.operands
    if x.opcode != "arange" or index.is_python_int or index.type.name not in _STARTS:
        return None
    if is_within(index, 0, x.shape[0]):
        return graph.add("convert", (index,), element_type=node.type)
    if not node.parameters["clamped"]:
        return None
    low, high = (graph.literal(limit, index.type) for limit in (0, x.shape[0] - 1))
    return graph.add("convert", (graph.add("clamp", (low, index, high)),), element_type=node.type)


def _product(graph: Graph, node: Node) -> Node | None:
    """Return a product of small matrices, or of selected parts of vectors, as a sum of element-wise products."""
    x, y = node.operands
    if min(x.ndim, y.ndim) < 1 or node.type.name not in _SUMMED or 0 in (*x.shape, *y.shape):
        return None
    most = _MOST_OF_COLUMN if y.ndim == 1 else _MOST_OF_ROW if x.ndim == 1 else _MOST_WRITTEN_OUT
    is_small = max(*x.shape[-2:], *y.shape[-2:]) <= most
    is_of_parts = x.opcode == y.opcode == "select" and x.ndim == y.ndim == 1
    if not (is_small or is_of_parts) or any(operand.element_type is not node.element_type for operand in node.operands):
        return None
    if y.ndim == 1:  # rows of x with y
        return graph.add("sum", (graph.add("multiply", (x, y)),), axes=(x.ndim - 1,))
    columns = permute(graph, y, [*range(y.ndim - 2), y.ndim - 1, y.ndim - 2])
    rows = x if x.ndim == 1 else getitem(graph, x, [FULL] * (x.ndim - 1) + [NEW, FULL])
    if x.ndim > 1:
        columns = getitem(graph, columns, [FULL] * (y.ndim - 2) + [NEW, FULL, FULL])
    product = graph.add("multiply", (rows, columns))
    return graph.add("sum", (product,), axes=(product.ndim - 1,))


def _contraction(graph: Graph, node: Node) -> Node | None:
    """Return a contraction along any axes as a sum of element-wise products if there are few terms, else as a matrix
    product.
    """
    text = subscripts(node)
    kinds = {each.element_type for each in (node, *node.operands)}
    if text is None or len(kinds) > 1 or node.type.name not in _SUMMED or 0 in (*node.shape, *node.operands[0].shape):
        return None
    left, right, result = text.replace("->", ",").split(",")
    alone = set(left) ^ set(right)
    if len(set(left)) < len(left) or len(set(right)) < len(right) or not alone <= set(result):
        return None
    sizes = dict(zip(left + right, node.operands[0].shape + node.operands[1].shape, strict=True))
    batch, summed = (
        [letter for letter in left if letter in right and (letter in result) == kept] for kept in (True, False)
    )
    rows, columns = ([letter for letter in own if letter in alone] for own in (left, right))
    factors = tuple(zip(node.operands, (left, right), strict=True))
    terms, height, width = (prod(sizes[letter] for letter in each) for each in (summed, rows, columns))
    if max(terms, min(height, width)) <= _MOST_WRITTEN_OUT:
        letters = [*batch, *rows, *columns, *summed]
        product = graph.add("multiply", tuple(spread(graph, factor, own, letters) for factor, own in factors))
        last = range(product.ndim - len(summed), product.ndim)
        made = graph.add("sum", (product,), axes=tuple(last)) if summed else product
    elif batch:
        return None  # the library computes batched products
    else:
        orders, shapes = (rows + summed, summed + columns), ((height, terms), (terms, width))
        matrices = (
            graph.add("reshape", (spread(graph, *factor, order),), shape=shape)
            for factor, order, shape in zip(factors, orders, shapes, strict=True)
        )
        made = graph.add("matmul", tuple(matrices))
        made = graph.add("reshape", (made,), shape=tuple(sizes[letter] for letter in rows + columns))
    return permute(graph, made, [(batch + rows + columns).index(letter) for letter in result])


def _part(graph: Graph, node: Node) -> Node | None:
    """Return a dynamic slice as an index with clamped starts."""
    x, *starts = node.operands
    _, slots, sizes = node.parameters["arguments"]
    found = _places(graph, x, [starts[slot.index - 1] for slot in slots], sizes, first=1)
    if found is None:
        return None
    index, places = found
    return graph.add("getitem", (x, *places), interval=node.interval, index=index)


def _changed_part(graph: Graph, node: Node) -> Node | None:
    """Return a dynamic update of a slice as an assignment with clamped starts."""
    x, value, *starts = node.operands
    slots = node.parameters["arguments"][2]
    found = _places(graph, x, [starts[slot.index - 2] for slot in slots], value.shape, first=2)
    if found is None:
        return None
    index, places = found
    return graph.add("setitem", (x, value, *places), index=index)


def _places(
    graph: Graph, x: Node, starts: list[Node], sizes: tuple[int, ...], first: int
) -> tuple[tuple[object, ...], list[Node]] | None:
    """Return the index of a part, and its clamped start along each sliced axis. The starts are operands from slot
    ``first``.
    """
    index: list[object] = []
    places: list[Node] = []
    for start, size, whole in zip(starts, sizes, x.shape, strict=True):
        if size == whole:
            index.append(FULL)
            continue
        number = graph.add("scalar", (start,), element_type=S32) if start.is_python_int else start
        if number.type.name not in _STARTS:
            return None
        low, high = (graph.literal(limit, number.type) for limit in (0, whole - size))
        index.append((Slot(first + len(places)), size))
        places.append(graph.add("clamp", (low, number, high)))
    return tuple(index), places


def _convolution(graph: Graph, node: Node) -> Node | None:
    """Return a convolution with few products along one or two axes as the prelude's, with channels last and the kernel
    in its correlation order.
    """
    x, kernel = node.operands
    keywords = dict(node.parameters["keywords"])
    kinds = {each.type.name for each in (node, *node.operands)}
    axes = x.ndim - 2
    if len(kinds) > 1 or not kinds <= _CONVOLVED or axes not in (1, 2) or not _AS_IT_IS.issuperset(keywords):
        return None
    spatial = "HW"[:axes]
    of_x, of_kernel, of_result = (
        keywords.get("layout", f"N{spatial}C,{spatial}IO->N{spatial}C").replace("->", ",").split(",")
    )
    letters = sorted(set(of_x) - set("NC"), key=of_x.index)
    depth = kernel.shape[of_kernel.index("I")]
    if (
        0 in (*node.shape, *kernel.shape)
        or prod(node.shape) * prod(kernel.shape[of_kernel.index(k)] for k in letters) * depth > _MOST_PRODUCTS
    ):
        return None
    x = permute(graph, x, [of_x.index(letter) for letter in ("N", *letters, "C")])
    kernel = permute(graph, kernel, [of_kernel.index(letter) for letter in (*letters, "I", "O")])
    flips = [(None, None, -1) if is_reversed else FULL for is_reversed in keywords.get("reverse_kernel", ())]
    kernel = getitem(graph, kernel, [*flips, *[FULL] * (kernel.ndim - len(flips))])
    settings = [keywords.get(name, (1,) * axes) for name in ("strides", "kernel_dilation")]
    before = tuple(low for low, _ in keywords.get("padding", ((0, 0),) * axes))
    shape = tuple(node.shape[of_result.index(letter)] for letter in ("N", *letters, "C"))
    if axes == 1:  # add an axis before the only one
        x, kernel = getitem(graph, x, [FULL, NEW, FULL, FULL]), getitem(graph, kernel, [NEW, FULL, FULL, FULL])
        settings, before, shape = [(1, *each) for each in settings], (0, *before), (shape[0], 1, *shape[1:])
    arguments = (Slot(0), Slot(1), settings[0], before, settings[1], shape)
    made = graph.add("prelude", (x, kernel), function="small_convolution", arguments=arguments, keywords={})
    made = getitem(graph, made, [FULL, 0, FULL, FULL]) if axes == 1 else made
    return permute(graph, made, [("N", *letters, "C").index(letter) for letter in of_result])


def _joined(graph: Graph, node: Node) -> Node | None:
    """Return a concatenation of many arrays as one of two concatenations, since kernels join only a few."""
    parts, how = node.operands, node.parameters
    if not MOST_PIECES < len(parts) <= _MOST_JOINED or any(0 in part.shape for part in parts):
        return None
    half = len(parts) // 2
    halves = tuple(graph.add("concatenate", each, **how) for each in (parts[:half], parts[half:]))
    return graph.add("concatenate", halves, **how)


def _chosen_bits(graph: Graph, node: Node) -> Node | None:
    """Return a choice between ``x ^ y`` and ``x`` as ``x`` ^ a choice between ``y`` and 0: LLVM computes several rounds
    of such a shift register at once.
    """
    which, *choices = node.operands
    for k, other in enumerate(reversed(choices)):
        changed = choices[k]
        if (
            changed.opcode != "xor"
            or other not in changed.operands
            or other.is_python_int
            or not other.type.is_integral
        ):
            continue
        x, y = changed.operands
        bits = [y if other is x else x, graph.literal(0, other.type)]
        return graph.add("xor", (other, graph.add("select", (which, *(bits if k == 0 else reversed(bits))))))
    return None


_FORMS: dict[str, Callable[[Graph, Node], Node | None]] = {
    "exp": _turned,
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), _of_one_type),
    "any": _truth,
    "all": _truth,
    "sum": _count,
    "take": _of_numbers,
    "matmul": _product,
    **dict.fromkeys(("tensordot", "einsum"), _contraction),
    "dynamic_slice": _part,
    "dynamic_update_slice": _changed_part,
    "convolution": _convolution,
    "concatenate": _joined,
    "select": _chosen_bits,
}
