"""Which axis of its result each axis of an operand is, for every operation of the array dialect.

Where a block of the result needs the block at the same place of an operand and nothing else of it, their axes are
linked; an axis that is not linked is needed whole. What has no row here needs everything whole, which is always
right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...transpile.array.node import Node, Slot
from ...transpile.array.value import FULL
from ..refusals import ELEMENTWISE
from .matrices import count_of_batches
from .nodes import name_of, shape_of
from .scatters import is_scatter, scatter_links

Links = tuple[int | None, ...]  # for each axis of an operand: the axis of the result
Rule = Callable[[Node], list[Links]]

ELEMENTWISE_FUNCTIONS = frozenset(
    "complex_atan2 complex_exp complex_expm1 complex_from_parts complex_log1p complex_logistic complex_maximum "
    "complex_minimum complex_rsqrt complex_sign count_leading_zeros erf erf_float64 erf_inv erf_inv_float64 erfc "
    "erfc_float64 int_divide int_power int_remainder logistic map_elements mulhi normal_cdf normal_of popcount "
    "reduce_precision round_half_away round_to rsqrt shift_right_arithmetic shift_right_logical sigmoid sign "
    "sort_key stochastic_convert to_int total_order_key uniform_of".split()
)


CONVOLUTIONS = ("convolution", "integer_convolution", "image_filter")
WINDOW_KEYWORDS = frozenset("strides padding base_dilation window_dilation".split())

# Functions of the array library.
ELEMENTWISE_LIBRARY = frozenset(
    "angle conj copysign deg2rad heaviside hypot isclose log10 log2 logaddexp2 nan_to_num rad2deg signbit sinc "
    "trunc".split()
)


def links(node: Node) -> list[Links]:
    """For each operand of a node, how its axes are linked."""
    if node.opcode == "item":
        shared = axes_of_its_call(node)
        return [tuple(axis if axis < shared else None for axis in range(len(shape_of(node.operands[0]))))]
    if node.opcode == "library":
        function = node.parameters["function"]
        return _elementwise(node) if function in ELEMENTWISE_LIBRARY else LIBRARY.get(function, _nothing)(node)
    if count_of_batches(node):
        return _batches(node)
    if node.opcode == "prelude":
        function = node.parameters["function"]
        if function in ELEMENTWISE_FUNCTIONS:
            return _elementwise(node)
        rule = FUNCTIONS.get(function)
    else:
        rule = OPERATIONS.get(node.opcode)
    return (rule or _nothing)(node)


def _nothing(node: Node) -> list[Links]:
    return [(None,) * operand.ndim for operand in node.operands]


def axes_of_its_call(item: Node) -> int:
    """How many of the axes of a result are those that its call is said to have: all of a call with several results,
    whose axes all are linked to its operands' in the same way, and of the first result of a factorisation; of other
    factors those that number the matrices."""
    (call,) = item.operands
    if call.opcode == "prelude" and call.parameters["function"] in FUNCTIONS:
        return item.ndim
    if name_of(call) in ("qr", "geqrf", "svd") and item.parameters["index"] == 0:
        return item.ndim
    return count_of_batches(call)


def _aligned(operand: Node, shape: Sequence[int]) -> Links:
    """Broadcasting: the last axes meet; an axis of one element that is repeated is needed whole."""
    offset = len(shape) - operand.ndim
    return tuple(offset + axis if size == shape[offset + axis] else None for axis, size in enumerate(operand.shape))


def _elementwise(node: Node) -> list[Links]:
    return [_aligned(operand, node.shape) for operand in node.operands]


def _view(node: Node) -> list[Links]:
    same = node.operands[0].type.dtype.itemsize == node.type.dtype.itemsize
    return _elementwise(node) if same else [(None,) * node.operands[0].ndim]


def _bitcast(node: Node) -> list[Links]:
    """Elements of another width come and go in a last axis."""
    shared = min(node.ndim, node.operands[0].ndim)
    return [tuple(axis if axis < shared else None for axis in range(node.operands[0].ndim))]


def _transpose(node: Node) -> list[Links]:
    axes = node.parameters["axes"]
    return [tuple(axes.index(axis) for axis in range(len(axes)))]


def _reshape(node: Node) -> list[Links]:
    """Axes that are neither merged nor split; in one block only one size may be left open."""
    found: dict[int, int] = {}
    source, target = node.operands[0].shape, node.shape
    i = k = 0
    while i < len(source) and k < len(target):
        left, right, first = source[i], target[k], (i, k)
        while left != right:
            if left < right and i + 1 < len(source):
                i += 1
                left *= source[i]
            elif left > right and k + 1 < len(target):
                k += 1
                right *= target[k]
            else:
                return [(None,) * len(source)]
        if first == (i, k):
            found[i] = k
        i, k = i + 1, k + 1
    if 0 in source:
        return [(None,) * len(source)]
    return [tuple(found.get(axis) for axis in range(len(source)))]


def _index_links(index: Sequence[object], ndim: int) -> Links:
    """Of ``x[index]``: the axes taken as they are."""
    result: list[int | None] = []
    place = 0
    for item in index:
        if item is None:
            place += 1
        elif item == ":":
            result.append(place)
            place += 1
        else:
            result.append(None)
            place += isinstance(item, tuple)
    return (*result, *range(place, place + ndim - len(result)))


def _getitem(node: Node) -> list[Links]:
    operand, *indices = node.operands
    if any(index.ndim for index in indices):
        return _nothing(node)
    return [_index_links(node.parameters["index"], operand.ndim), *((None,) * index.ndim for index in indices)]


def _setitem(node: Node) -> list[Links]:
    operand, value, *indices = node.operands
    if is_scatter(node) or any(index.ndim for index in indices):
        return _scattered(node)
    items = node.parameters["index"]
    whole = tuple(axis if items[axis] == ":" else None for axis in range(operand.ndim))
    kept = [
        axis if items[axis] == ":" else None for axis in range(operand.ndim) if not isinstance(items[axis], int | Slot)
    ]
    offset = len(kept) - value.ndim
    of_value = tuple(kept[offset + axis] if value.shape[axis] != 1 else None for axis in range(value.ndim))
    return [whole, of_value, *((None,) * index.ndim for index in indices)]


def _scattered(node: Node) -> list[Links]:
    return scatter_links(node) if is_scatter(node) else _nothing(node)


def _dynamic_update(node: Node) -> list[Links]:
    """Axes that the update has as a whole."""
    x, update, *starts = node.operands
    own = tuple(axis if n == update.shape[axis] else None for axis, n in enumerate(x.shape))
    return [own, own, *((None,) * start.ndim for start in starts)]


def _joined(node: Node) -> list[Links]:
    at = node.parameters["axis"]
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def _stack(node: Node) -> list[Links]:
    at = node.parameters["axis"]
    return [tuple(axis + (axis >= at) for axis in range(operand.ndim)) for operand in node.operands]


def _pad(node: Node) -> list[Links]:
    widths = node.parameters["widths"]
    return [tuple(axis if tuple(width) == (0, 0) else None for axis, width in enumerate(widths)), ()]


def _spread(node: Node) -> list[Links]:
    """Axes without padding and gaps."""
    padding, interior = node.parameters["arguments"][2], node.parameters["keywords"].get("interior")
    gaps = interior or (0,) * node.ndim
    whole = [tuple(ends) != (0, 0) or gap != 0 for ends, gap in zip(padding, gaps, strict=True)]
    return [tuple(None if needed else axis for axis, needed in enumerate(whole)), ()]


def _reduction(node: Node) -> list[Links]:
    axes = node.parameters["axes"] if "axes" in node.parameters else (node.parameters["axis"],)
    return [reduced(node.operands[0].ndim, axes, bool(node.parameters.get("keepdims")))]


def reduced(ndim: int, axes: Sequence[int], keepdims: bool = False) -> Links:
    """Of a reduction over ``axes``."""
    kept = [axis for axis in range(ndim) if axis not in axes]
    return tuple(None if axis in axes else axis if keepdims else kept.index(axis) for axis in range(ndim))


def _along(node: Node) -> list[Links]:
    """Work along one axis, which is needed whole; so is that of each operand."""
    at = node.parameters["axis"]
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def _roll(node: Node) -> list[Links]:
    axes = node.parameters["axis"]
    rolled = axes if isinstance(axes, tuple) else (axes,)
    return [tuple(axis if axis not in rolled else None for axis in range(node.ndim))]


def _take_along(node: Node) -> list[Links]:
    values, order = node.operands
    at = node.parameters["axis"]
    return [
        tuple(axis if axis != at and size != 1 else None for axis, size in enumerate(values.shape)),
        tuple(axis if size != 1 else None for axis, size in enumerate(order.shape)),
    ]


def _take(node: Node) -> list[Links]:
    values, index = node.operands
    at = node.parameters["axis"]
    return [
        tuple(None if axis == at else axis + (index.ndim - 1) * (axis > at) for axis in range(values.ndim)),
        tuple(range(at, at + index.ndim)),
    ]


def _advanced_index(node: Node) -> list[Links]:
    values, *indices = node.operands
    index = node.parameters["index"]
    first = index.count(FULL)
    if not all(item == FULL for item in index[:first]):
        return _nothing(node)
    count = node.ndim - (values.ndim - len(indices))
    end = first + len(indices)
    rows = tuple(
        axis if axis < first else None if axis < end else axis - len(indices) + count for axis in range(values.ndim)
    )
    batch = [_aligned(part, node.shape[first : first + count]) for part in indices]
    return [rows, *(tuple(None if axis is None else first + axis for axis in link) for link in batch)]


def _fft(node: Node) -> list[Links]:
    return [_leading(node.operands[0].ndim, len(node.parameters["lengths"]))]


def _leading(ndim: int, whole: int) -> Links:
    return tuple(axis if axis < ndim - whole else None for axis in range(ndim))


def _matmul(node: Node) -> list[Links]:
    a, b = node.operands[:2]
    first = 0 if a.ndim == 1 else 1
    batch = node.ndim - first - (b.ndim > 1)
    left: Links = (None,) if a.ndim == 1 else (*_aligned_batch(a, node.shape[:batch]), batch, None)
    right: Links = (None,) if b.ndim == 1 else (*_aligned_batch(b, node.shape[:batch]), None, node.ndim - 1)
    return [left, right]


def _aligned_batch(operand: Node, batch: Sequence[int]) -> Links:
    sizes = operand.shape[:-2]
    offset = len(batch) - len(sizes)
    return tuple(offset + axis if size == batch[offset + axis] else None for axis, size in enumerate(sizes))


def _tensordot(node: Node) -> list[Links]:
    a, b = node.operands
    left, right = node.parameters["axes"]
    first = reduced(a.ndim, left)
    offset = a.ndim - len(left)
    return [first, tuple(None if axis is None else axis + offset for axis in reduced(b.ndim, right))]


def _einsum(node: Node) -> list[Links]:
    given, result = node.parameters["subscripts"].split("->")
    return [tuple(result.index(c) if c in result else None for c in part) for part in given.split(",")]


def contracted(node: Node) -> list[tuple[int, int]]:
    """The axes of the first operand of a product and those of the second that they are summed with."""
    if node.opcode == "tensordot":
        return list(zip(*node.parameters["axes"], strict=True))
    if node.opcode == "einsum":
        left, right = node.parameters["subscripts"].split("->")[0].split(",")
        return [(left.index(c), right.index(c)) for c in left if c in right]
    if node.opcode == "matmul":
        a, b = node.operands
        return [(a.ndim - 1, max(0, b.ndim - 2))]
    if node.opcode == "prelude" and node.parameters["function"] in CONVOLUTIONS:
        x, kernel, _ = convolution_axes(node)
        return [] if "feature_groups" in node.parameters["keywords"] else [(x.index("C"), kernel.index("I"))]
    return []


def convolution_axes(node: Node) -> tuple[str, str, str]:
    """A letter for each axis of the images, of the kernel and of the result, as in the layout of a ``convolution``."""
    count = node.ndim - 2
    spatial = "DHW"[-count:] if 0 < count <= 3 else "".join(chr(ord("a") + k) for k in range(count))
    layout = node.parameters["keywords"].get("layout", f"N{spatial}C,{spatial}IO->N{spatial}C")
    if "channels_first" in node.parameters["keywords"]:
        layout = f"NC{spatial},OI{spatial}->NC{spatial}"
    x, kernel, result = layout.replace("->", ",").split(",")
    return x, kernel, result


def _matrices(node: Node) -> list[Links]:
    """The last two axes are matrices, those before them a batch."""
    return [_leading(operand.ndim, 2) for operand in node.operands]


def _numbered(node: Node) -> list[Links]:
    """Random numbers by a state and the count of each."""
    state, counts = node.operands
    return [(None,) * state.ndim, tuple(range(counts.ndim))]


def _batches(node: Node) -> list[Links]:
    count = count_of_batches(node)
    return [_leading(operand.ndim, operand.ndim - count) for operand in node.operands]


def _right_sides(node: Node) -> list[Links]:
    """Triangular systems share a matrix, and are independent."""
    matrix, sides = _matrices(node)
    free = node.ndim - (1 if node.parameters["keywords"].get("left_side", True) else 2)
    return [matrix, tuple(free if axis == free else place for axis, place in enumerate(sides))]


def _rows(node: Node) -> list[Links]:
    return [_leading(operand.ndim, 1) for operand in node.operands]


def _features(node: Node) -> list[Links]:
    """Batch normalisation with known statistics: vectors of features along one axis."""
    axis = node.parameters["keywords"].get("axis", -1) % node.ndim
    return [tuple(range(node.ndim)), *((axis,) for _ in node.operands[1:])]


def _convolution(node: Node) -> list[Links]:
    """Batches and output channels are independent, but for groups."""
    keywords = node.parameters["keywords"]
    x, kernel, result = convolution_axes(node)
    grouped = "feature_groups" in keywords or "batch_groups" in keywords
    batch = None if "batch_groups" in keywords else result.index("N")
    return [
        tuple(batch if letter == "N" else None for letter in x),
        tuple(result.index("C") if letter == "O" and not grouped else None for letter in kernel),
    ]


def _windows(node: Node) -> list[Links]:
    """Axes over which windows have one element and do not move."""
    arguments, keywords = node.parameters["arguments"], node.parameters["keywords"]
    sizes = arguments[-1]
    still = []
    for axis, size in enumerate(sizes):
        own = {key: keywords[key][axis] for key in WINDOW_KEYWORDS & keywords.keys()}
        still.append(size == 1 and tuple(own.pop("padding", (0, 0))) == (0, 0) and set(own.values()) <= {1})
    shape = node.shape or (node.results[0][0] if node.results else ())
    return [
        tuple(axis if still[axis] else None for axis in range(operand.ndim)) if operand.ndim == len(shape) else ()
        for operand in node.operands
    ]


def _cumulative(node: Node) -> list[Links]:
    at = node.parameters["keywords"].get("axis", 0)
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def _sorted_by_keys(node: Node) -> list[Links]:
    at = node.parameters["arguments"][-1]
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def _sorted_with(node: Node) -> list[Links]:
    at = node.parameters["arguments"][1]
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def _folded(node: Node) -> list[Links]:
    axes = node.parameters["arguments"][-1]
    return [reduced(operand.ndim, axes) if operand.ndim else () for operand in node.operands]


OPERATIONS: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys("square logaddexp copy".split(), _elementwise),
    "broadcast_to": _elementwise,
    **dict.fromkeys("tril triu".split(), _elementwise),  # spelled so where they are cut
    "diagonal": lambda node: _matrices(node),
    "view": _view,
    "transpose": _transpose,
    "reshape": _reshape,
    "expand": _getitem,
    "getitem": _getitem,
    "setitem": _setitem,
    "update_at": _scattered,
    "concatenate": _joined,
    "stack": _stack,
    "pad": _pad,
    **dict.fromkeys("sum mean prod max min any all bitwise_reduce argmax argmin".split(), _reduction),
    **dict.fromkeys("sort argsort cumsum cumprod cummax cummin".split(), _along),
    "roll": _roll,
    "take_along_axis": _take_along,
    "take": _take,
    "advanced_index": _advanced_index,
    "fft": _fft,
    "matmul": _matmul,
    "tensordot": _tensordot,
    "einsum": _einsum,
}

LIBRARY: dict[str, Rule] = {"trace": lambda node: _matrices(node)}

FUNCTIONS: dict[str, Rule] = {
    "pad": _spread,
    **dict.fromkeys(("random_bits_at", "philox_bits_at"), _numbered),
    "matmul": _matmul,
    "bitcast_convert": _bitcast,
    "cholesky": _matrices,
    "triangular_solve": _right_sides,
    "top_k": _rows,
    "batch_norm_inference": _features,
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **dict.fromkeys(("reduce_window", "fold_windows", "select_and_scatter"), _windows),
    "cumulative": _cumulative,
    "scatter_at": _scattered,
    "dynamic_update_slice": _dynamic_update,
    "sort_by_keys": _sorted_by_keys,
    "sort_with": _sorted_with,
    "fold_axes": _folded,
}
