"""Shape rules of dot, ragged-dot, scaled-dot and convolution."""

from __future__ import annotations

from collections.abc import Sequence

from ..attributes import ConvolutionDimensionNumbers
from ..shapes import ArrayShape, Shape
from .common import (
    Operation,
    Rule,
    accumulated_type,
    array_of,
    dynamic_flags,
    refuse,
    require_dimensions,
    require_rank,
    shape_text,
    sizes_text,
    wider,
    window_output,
)


def _require_pairs(op: Operation, lhs: ArrayShape, rhs: ArrayShape, kind: str, equal_sizes: bool = True) -> None:
    """Refuse corresponding lhs and rhs dimensions that differ in number (XP215) or size (XP213)."""
    left, right = op[f"lhs_{kind}_dims"], op[f"rhs_{kind}_dims"]
    if len(left) != len(right):
        op.refuse(
            "XP215", f"lhs_{kind}_dims {sizes_text(left)} and rhs_{kind}_dims {sizes_text(right)} differ in length"
        )
    for a, b in zip(left, right, strict=True):
        if equal_sizes and lhs.dimensions[a] != rhs.dimensions[b]:
            op.refuse(
                "XP213",
                f"{kind} dimension {a} of {shape_text(lhs)} has {lhs.dimensions[a]} elements, "
                f"dimension {b} of {shape_text(rhs)} has {rhs.dimensions[b]}",
            )


def _free(shape: ArrayShape, *used: Sequence[int]) -> list[int]:
    taken = {dimension for dimensions in used for dimension in dimensions}
    return [d for d in range(shape.rank) if d not in taken]


def _contracted(
    op: Operation, lhs: ArrayShape, rhs: ArrayShape, *, group_dims: Sequence[int] = (), equal_sizes: bool = True
) -> ArrayShape:
    """Return batch, free lhs and free rhs dimensions, in this order; ``group_dims`` of the rhs are reduced, too."""
    for side, shape, extra in (("lhs", lhs, ()), ("rhs", rhs, group_dims)):
        numbers = (*op[f"{side}_batch_dims"], *op[f"{side}_contracting_dims"], *extra)
        require_dimensions(op, numbers, shape.rank, f"{side} batch and contracting dimension")
    _require_pairs(op, lhs, rhs, "batch")
    _require_pairs(op, lhs, rhs, "contracting", equal_sizes)
    kept = [(lhs, d) for d in op["lhs_batch_dims"]]
    kept += [(lhs, d) for d in _free(lhs, op["lhs_batch_dims"], op["lhs_contracting_dims"])]
    kept += [(rhs, d) for d in _free(rhs, op["rhs_batch_dims"], op["rhs_contracting_dims"], group_dims)]
    return array_of(
        accumulated_type(op, wider(lhs.element_type, rhs.element_type)),
        (shape.dimensions[d] for shape, d in kept),
        (dynamic_flags(shape)[d] for shape, d in kept),
    )


def _dot(op: Operation) -> Shape:
    lhs, rhs = op.array(0, "lhs"), op.array(1, "rhs")
    sparse = len(op.operands) > 2
    if sparse and op["sparsity"] is None and op["sparsity_config"] is None:
        refuse("XP201", f"{op.opcode} takes 2 operands, not {len(op.operands)}; metadata needs a sparsity attribute")
    # A sparse side stores N of every M elements of its contracting dimension, so the sizes differ.
    return _contracted(op, lhs, rhs, equal_sizes=not sparse)


def _ragged_dot(op: Operation) -> Shape:
    """Infer a product whose lhs is cut into groups along one dimension: a free one (then the rhs has a group
    dimension), a contracting one (then the result has a leading group dimension) or a batch one.
    """
    lhs, rhs, group_sizes = op.array(0, "lhs"), op.array(1, "rhs"), op.array(2, "group_sizes")
    ragged, group_dims = op["lhs_ragged_dims"], op["rhs_group_dims"]
    if not group_sizes.element_type.is_integral:
        op.refuse("XP211", f"group sizes have to be integers, not {group_sizes.element_type}")
    require_rank(op, group_sizes, 1, "group_sizes")
    if len(ragged) != 1:
        op.refuse("XP215", f"lhs_ragged_dims has to name one dimension, not {sizes_text(ragged)}")
    require_dimensions(op, ragged, lhs.rank, "lhs_ragged_dims")
    in_batch, in_contracting = ragged[0] in op["lhs_batch_dims"], ragged[0] in op["lhs_contracting_dims"]
    wanted = 0 if in_batch or in_contracting else 1
    if len(group_dims) != wanted:
        op.refuse("XP215", f"rhs_group_dims has to name {wanted} dimensions, not {sizes_text(group_dims)}")
    result = _contracted(op, lhs, rhs, group_dims=group_dims)
    if in_batch or in_contracting:
        peers = op["lhs_batch_dims" if in_batch else "lhs_contracting_dims"]
        before = (
            [d for d in peers if d < ragged[0]] if in_batch else [*op["lhs_batch_dims"], *_before(peers, ragged[0])]
        )
    else:
        free = _free(lhs, op["lhs_batch_dims"], op["lhs_contracting_dims"])
        before = [*op["lhs_batch_dims"], *_before(free, ragged[0])]
    prefix = tuple(lhs.dimensions[d] for d in before)
    if group_sizes.rank != 1 and group_sizes.dimensions[:-1] != prefix:
        op.refuse(
            "XP213",
            f"group sizes {shape_text(group_sizes)} have to be one vector or have the "
            f"leading sizes {sizes_text(prefix)}",
        )
    groups = group_sizes.dimensions[-1]
    for dimension in group_dims:
        if rhs.dimensions[dimension] != groups:
            op.refuse(
                "XP213",
                f"{groups} group sizes, but the rhs group dimension {dimension} has "
                f"{rhs.dimensions[dimension]} elements",
            )
    if in_contracting:
        return array_of(result.element_type, (groups, *result.dimensions), (False, *dynamic_flags(result)))
    return result


def _before(dimensions: Sequence[int], last: int) -> list[int]:
    return list(dimensions[: list(dimensions).index(last)])


def scaled_dot_order(op: Operation) -> tuple[int, int, int, int]:
    """Return the operand indices of lhs, rhs, lhs scale and rhs scale.

    XLA first wrote ``(lhs, lhs_scale, rhs, rhs_scale)`` and later ``(lhs, rhs, lhs_scale, rhs_scale)``; the sizes along
    the contracting dimensions distinguish them.
    """
    if len(op.operands) != 4:
        refuse("XP201", f"{op.opcode} takes lhs, rhs and a scale for each, not {len(op.operands)} operands")
    lhs = op.array(0, "lhs")
    for rhs_index, order in ((1, (0, 1, 2, 3)), (2, (0, 2, 1, 3))):
        rhs = op.array(rhs_index)
        pairs = list(zip(op["lhs_contracting_dims"], op["rhs_contracting_dims"], strict=False))
        fits = all(0 <= a < lhs.rank and 0 <= b < rhs.rank and lhs.dimensions[a] == rhs.dimensions[b] for a, b in pairs)
        if fits:
            return order
    return 0, 1, 2, 3


def _scaled_dot(op: Operation) -> Shape:
    lhs_index, rhs_index, *scale_indices = scaled_dot_order(op)
    lhs, rhs = op.array(lhs_index, "lhs"), op.array(rhs_index, "rhs")
    for side, scaled, scale_index in zip(("lhs", "rhs"), (lhs, rhs), scale_indices, strict=True):
        scale = op.array(scale_index, f"{side} scale")
        divides = scale.rank == scaled.rank and all(
            size == 0 or (blocks and size % blocks == 0)
            for size, blocks in zip(scaled.dimensions, scale.dimensions, strict=True)
        )
        if not scale.is_scalar and not divides:
            op.refuse("XP213", f"{side} {shape_text(scaled)} does not divide into blocks {shape_text(scale)}")
    return _contracted(op, lhs, rhs)


def _require_labels(op: Operation, numbers: ConvolutionDimensionNumbers, lhs: ArrayShape, rhs: ArrayShape) -> None:
    """Refuse dimension numbers that are not a permutation for each array, or differ in the number of spatial ones."""
    spatial = len(numbers.input_spatial)
    parts = {
        "lhs": (numbers.input_batch, numbers.input_feature, *numbers.input_spatial),
        "rhs": (numbers.kernel_input_feature, numbers.kernel_output_feature, *numbers.kernel_spatial),
        "result": (numbers.output_batch, numbers.output_feature, *numbers.output_spatial),
    }
    for role, named in parts.items():
        if sorted(named) != list(range(spatial + 2)):
            op.refuse(
                "XP215",
                f"the {role} dimension numbers {sizes_text(named)} do not name each of {spatial + 2} dimensions once",
            )
    for role, shape in (("lhs", lhs), ("rhs", rhs)):
        if shape.rank != spatial + 2:
            op.refuse("XP214", f"the {role} needs {spatial + 2} dimensions, but is {shape_text(shape)}")
    if len(op["window"]) != spatial:
        op.refuse("XP216", f"a window of {len(op['window'])} dimensions for {spatial} spatial dimensions")


def _require_groups(op: Operation, batch: int, features: int, kernel_in: int, kernel_out: int) -> None:
    """Refuse sizes that break the divisibility rules of feature and batch groups (XP213, XP218)."""
    feature_groups, batch_groups = op["feature_group_count"], op["batch_group_count"]
    for name, count in (("feature_group_count", feature_groups), ("batch_group_count", batch_groups)):
        if count < 1:
            op.refuse("XP218", f"{name} has to be positive, not {count}")
    if feature_groups > 1 and batch_groups > 1:
        op.refuse("XP218", f"feature and batch groups exclude each other: {feature_groups}, {batch_groups}")
    if features != kernel_in * feature_groups:
        op.refuse(
            "XP213", f"{features} input features, but the kernel takes {kernel_in} in each of {feature_groups} groups"
        )
    for name, size, count in (
        ("output features", kernel_out, feature_groups),
        ("output features", kernel_out, batch_groups),
        ("input batch", batch, batch_groups),
    ):
        if size % count:
            op.refuse("XP213", f"the {name}, {size}, do not divide into {count} groups")


def _convolution(op: Operation) -> Shape:
    lhs, rhs = op.array(0, "lhs"), op.array(1, "rhs")
    numbers: ConvolutionDimensionNumbers = op["dim_labels"]
    _require_labels(op, numbers, lhs, rhs)
    batch, features = lhs.dimensions[numbers.input_batch], lhs.dimensions[numbers.input_feature]
    kernel_out = rhs.dimensions[numbers.kernel_output_feature]
    _require_groups(op, batch, features, rhs.dimensions[numbers.kernel_input_feature], kernel_out)
    window = tuple(rhs.dimensions[d] for d in numbers.kernel_spatial)
    if window != tuple(d.size for d in op["window"]):
        op.refuse(
            "XP216", f"the window {sizes_text(d.size for d in op['window'])} is not the kernel's {sizes_text(window)}"
        )
    lhs_dynamic, rhs_dynamic = dynamic_flags(lhs), dynamic_flags(rhs)
    if rhs_dynamic[numbers.kernel_output_feature]:
        op.refuse("XP213", f"the kernel's output features cannot be dynamic: {shape_text(rhs)}")
    base = array_of(lhs.element_type, (lhs.dimensions[d] for d in numbers.input_spatial))
    places = window_output(op, base, op["window"])
    sizes, dynamic = [0] * lhs.rank, [False] * lhs.rank
    sizes[numbers.output_batch] = batch // op["batch_group_count"]
    sizes[numbers.output_feature] = kernel_out
    dynamic[numbers.output_batch] = lhs_dynamic[numbers.input_batch]
    for i, output in enumerate(numbers.output_spatial):
        sizes[output] = places.dimensions[i]
        dynamic[output] = lhs_dynamic[numbers.input_spatial[i]] or rhs_dynamic[numbers.kernel_spatial[i]]
    return array_of(accumulated_type(op, wider(lhs.element_type, rhs.element_type)), sizes, dynamic)


RULES: dict[str, Rule] = {
    "dot": _dot,
    "ragged-dot": _ragged_dot,
    "scaled-dot": _scaled_dot,
    "convolution": _convolution,
}
