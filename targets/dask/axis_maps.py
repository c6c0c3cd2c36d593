"""Which axis of its result each axis of an operand is, for every operation of the array dialect.

Where a block of the result needs the block at the same place of an operand and nothing else of it, their axes are
the same; any other axis is needed whole. What has no row here needs everything whole, which is always right.
"""

from __future__ import annotations

from ...transpile.array.node import Node
from ..refusals import ELEMENTWISE
from . import axis_rules as rules
from . import index_axes, product_axes
from .axis_rules import AxisMap, Rule
from .matrices import count_of_batches
from .nodes import name_of, shape_of

# Functions of the prelude that work element by element.
ELEMENTWISE_FUNCTIONS = (
    "complex_atan2 complex_exp complex_expm1 complex_from_parts complex_log1p complex_logistic complex_maximum "
    "complex_minimum complex_rsqrt complex_sign count_leading_zeros erf erf_float64 erf_inv erf_inv_float64 erfc "
    "erfc_float64 int_divide int_power int_remainder logistic map_elements mulhi normal_cdf normal_of popcount "
    "reduce_precision round_half_away round_to rsqrt shift_right_arithmetic shift_right_logical sigmoid sign "
    "sort_key stochastic_convert to_int total_order_key uniform_of"
)

# Functions of the array library that do.
ELEMENTWISE_LIBRARY = (
    "angle conj copysign deg2rad full_like heaviside hypot isclose log10 log2 logaddexp2 nan_to_num rad2deg signbit "
    "sinc trunc"
)

OPERATIONS: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE.split(), rules.elementwise),
    **dict.fromkeys("square logaddexp copy broadcast_to".split(), rules.elementwise),
    **dict.fromkeys("tril triu".split(), rules.elementwise),  # they are legalized where they are cut
    "diagonal": rules.matrices,
    "view": rules.view,
    "transpose": rules.transpose,
    "reshape": rules.reshape,
    **dict.fromkeys("expand getitem".split(), index_axes.getitem),
    "setitem": index_axes.setitem,
    "update_at": index_axes.scattered,
    "concatenate": rules.along_axis,
    "stack": rules.stack,
    "pad": rules.pad,
    **dict.fromkeys("sum mean prod max min any all bitwise_reduce argmax argmin".split(), rules.reduction),
    **dict.fromkeys("sort argsort cumsum cumprod cummax cummin".split(), rules.along_axis),
    "roll": rules.roll,
    "take_along_axis": index_axes.take_along,
    "take": index_axes.take,
    "advanced_index": index_axes.advanced_index,
    "fft": rules.fft,
    "matmul": product_axes.matmul,
    "tensordot": product_axes.tensordot,
    "einsum": product_axes.einsum,
}

LIBRARY: dict[str, Rule] = {
    "trace": rules.matrices,
    **dict.fromkeys(ELEMENTWISE_LIBRARY.split(), rules.elementwise),
}

FUNCTIONS_ALONG_AXES: dict[str, Rule] = {
    "pad": rules.pad_with_gaps,
    **dict.fromkeys(("random_bits_at", "philox_bits_at"), rules.numbered),
    "matmul": product_axes.matmul,
    "bitcast_convert": rules.bitcast,
    "cholesky": rules.matrices,
    "triangular_solve": rules.right_sides,
    "top_k": rules.last_axis,
    "batch_norm_inference": rules.features,
    **dict.fromkeys(product_axes.CONVOLUTIONS, product_axes.convolution),
    **dict.fromkeys(("reduce_window", "fold_windows", "select_and_scatter"), product_axes.windows),
    "cumulative": rules.along_keyword,
    "scatter_at": index_axes.scattered,
    "dynamic_update_slice": index_axes.dynamic_update,
    "sort_by_keys": rules.along_argument(-1),
    "sort_with": rules.along_argument(1),
    "fold_axes": rules.folded,
}

FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE_FUNCTIONS.split(), rules.elementwise),
    **FUNCTIONS_ALONG_AXES,
}

TABLES = {"library": LIBRARY, "prelude": FUNCTIONS}


def axis_maps(node: Node) -> list[AxisMap]:
    """The axis map of each operand of a node: which axis of the result each axis is, None for one needed whole."""
    if node.opcode == "item":
        shared, (call,) = axes_of_its_call(node), node.operands
        return [tuple(axis if axis < shared else None for axis in range(len(shape_of(call))))]
    if node.opcode != "library" and (batches := count_of_batches(node)):
        return [rules.leading(operand.ndim, operand.ndim - batches) for operand in node.operands]
    table = TABLES.get(node.opcode)
    rule = OPERATIONS.get(node.opcode) if table is None else table.get(node.parameters["function"])
    return (rule or rules.nothing)(node)


def axes_of_its_call(item: Node) -> int:
    """How many of the first axes of a result are those that its call is said to have.

    All are of a call with several results whose axes are all the same as its operands', and of the first result of a
    factorisation; of other factors only those are that number the matrices.
    """
    (call,) = item.operands
    if call.opcode == "prelude" and call.parameters["function"] in FUNCTIONS_ALONG_AXES:
        return item.ndim
    if name_of(call) in ("qr", "geqrf", "svd") and item.parameters["index"] == 0:
        return item.ndim
    return count_of_batches(call)
