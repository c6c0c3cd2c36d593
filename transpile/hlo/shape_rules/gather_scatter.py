"""Shape rules of gather and scatter (operation-semantics seed, Gather and Scatter), with batching dimensions."""

from __future__ import annotations

from ..shapes import ArrayShape, Shape
from .common import (
    Operation,
    Rule,
    array_of,
    dynamic_flags,
    one_or_tuple,
    require_dimensions,
    require_reducer,
    require_same_type,
    scalar,
    shape_text,
    signature,
    sizes_text,
)


def _index_sizes(op: Operation, indices: ArrayShape) -> list[tuple[int, bool]]:
    """Return sizes of the index array and whether they are dynamic, with the implicit trailing 1 made explicit."""
    if not indices.element_type.is_integral:
        op.refuse("XP211", f"indices have to be integers, not {indices.element_type}")
    vector_dimension = op["index_vector_dim"]
    if not 0 <= vector_dimension <= indices.rank:
        op.refuse("XP215", f"index_vector_dim {vector_dimension} is not in [0, {indices.rank}]: {shape_text(indices)}")
    sizes = list(zip(indices.dimensions, dynamic_flags(indices), strict=True))
    return [*sizes, (1, False)] if vector_dimension == indices.rank else sizes


def _require_index_map(op: Operation, name: str, operand: ArrayShape, index_sizes: list[tuple[int, bool]]) -> None:
    index_map, length = op[name], index_sizes[op["index_vector_dim"]][0]
    if len(index_map) != length:
        op.refuse(
            "XP215", f"{name} {sizes_text(index_map)} has to name {length} dimensions, one for each index component"
        )
    require_dimensions(op, index_map, operand.rank, name)


def _require_batching(
    op: Operation, operand: ArrayShape, index_sizes: list[tuple[int, bool]], names: tuple[str, str, str, str]
) -> None:
    """Refuse batching dimensions of operand and indices that differ in number (XP215) or size (XP213), or have another
    use (XP215).
    """
    operand_name, indices_name, removed_name, map_name = names
    in_operand, in_indices = op[operand_name], op[indices_name]
    require_dimensions(op, in_operand, operand.rank, operand_name, increasing=True)
    require_dimensions(op, in_indices, len(index_sizes), indices_name)
    if op["index_vector_dim"] in in_indices:
        op.refuse("XP215", f"{indices_name} {sizes_text(in_indices)} names index_vector_dim")
    for name in (removed_name, map_name):
        if shared := set(in_operand) & set(op[name]):
            op.refuse("XP215", f"dimension {min(shared)} is both in {operand_name} and in {name}")
    if len(in_operand) != len(in_indices):
        op.refuse(
            "XP215",
            f"{operand_name} {sizes_text(in_operand)} and {indices_name} {sizes_text(in_indices)} differ in length",
        )
    for a, b in zip(in_operand, in_indices, strict=True):
        if operand.dimensions[a] != index_sizes[b][0]:
            op.refuse(
                "XP213",
                f"batching dimension {a} of the operand has {operand.dimensions[a]} elements, "
                f"dimension {b} of the indices has {index_sizes[b][0]}",
            )


def _gather(op: Operation) -> Shape:
    operand, indices = op.array(0), op.array(1, "the indices")
    sizes, offset_dims, collapsed = op["slice_sizes"], op["offset_dims"], op["collapsed_slice_dims"]
    batching = op["operand_batching_dims"]
    index_sizes = _index_sizes(op, indices)
    result_rank = len(offset_dims) + len(index_sizes) - 1
    require_dimensions(op, offset_dims, result_rank, "offset_dims", increasing=True)
    require_dimensions(op, collapsed, operand.rank, "collapsed_slice_dims", increasing=True)
    _require_index_map(op, "start_index_map", operand, index_sizes)
    _require_batching(
        op,
        operand,
        index_sizes,
        ("operand_batching_dims", "start_indices_batching_dims", "collapsed_slice_dims", "start_index_map"),
    )
    if len(sizes) != operand.rank:
        op.refuse("XP214", f"slice_sizes {sizes_text(sizes)} has to give a size for each of {shape_text(operand)}")
    if operand.rank != len(offset_dims) + len(collapsed) + len(batching):
        op.refuse(
            "XP215",
            f"the operand has {operand.rank} dimensions, but {len(offset_dims)} offset_dims, "
            f"{len(collapsed)} collapsed and {len(batching)} batching dimensions",
        )
    for number, (wanted, size) in enumerate(zip(sizes, operand.dimensions, strict=True)):
        if not 0 <= wanted <= size:
            op.refuse("XP218", f"slice size {wanted} in dimension {number} of {size} elements")
    for dimension in (*collapsed, *batching):
        if sizes[dimension] > 1:
            op.refuse("XP218", f"dimension {dimension} is removed, so its slice size is 1, not {sizes[dimension]}")
    removed = {*collapsed, *batching}
    flags = dynamic_flags(operand)
    offsets = iter(
        (sizes[d], flags[d] and sizes[d] == operand.dimensions[d]) for d in range(operand.rank) if d not in removed
    )
    batches = iter(index_sizes[: op["index_vector_dim"]] + index_sizes[op["index_vector_dim"] + 1 :])
    result = [next(offsets if d in offset_dims else batches) for d in range(result_rank)]
    return array_of(operand.element_type, (size for size, _ in result), (flag for _, flag in result))


def _scatter(op: Operation) -> Shape:
    count, rest = divmod(len(op.operands), 2)
    if not rest:
        op.refuse("XP201", f"operands, indices and as many updates: an odd number, not {len(op.operands)}")
    operands, indices, updates = op.arrays(0, count), op.array(count, "the indices"), op.arrays(count + 1)
    index_sizes = _index_sizes(op, indices)
    window_dims, inserted, batching = op["update_window_dims"], op["inserted_window_dims"], op["input_batching_dims"]
    scatter_sizes = [size for d, (size, _) in enumerate(index_sizes) if d != op["index_vector_dim"]]
    for operand, update in zip(operands, updates, strict=True):
        if update.rank != len(scatter_sizes) + len(window_dims):
            op.refuse(
                "XP214",
                f"updates need {len(scatter_sizes)} scatter and {len(window_dims)} window dimensions, "
                f"but are {shape_text(update)}",
            )
        require_dimensions(op, window_dims, update.rank, "update_window_dims", increasing=True)
        require_dimensions(op, inserted, operand.rank, "inserted_window_dims", increasing=True)
        if len(window_dims) + len(inserted) + len(batching) != operand.rank:
            op.refuse(
                "XP215",
                f"the operand has {operand.rank} dimensions, but {len(window_dims)} update_window_dims, "
                f"{len(inserted)} inserted and {len(batching)} batching dimensions",
            )
        _require_index_map(op, "scatter_dims_to_operand_dims", operand, index_sizes)
        _require_batching(
            op,
            operand,
            index_sizes,
            (
                "input_batching_dims",
                "scatter_indices_batching_dims",
                "inserted_window_dims",
                "scatter_dims_to_operand_dims",
            ),
        )
        bounds = [size for d, size in enumerate(operand.dimensions) if d not in inserted and d not in batching]
        for dimension, bound in zip(window_dims, bounds, strict=True):
            if update.dimensions[dimension] > bound:
                op.refuse(
                    "XP213",
                    f"window dimension {dimension} of the updates has {update.dimensions[dimension]} "
                    f"elements, the operand only {bound}",
                )
        scattered = [size for d, size in enumerate(update.dimensions) if d not in window_dims]
        if scattered != scatter_sizes:
            op.refuse(
                "XP213",
                f"the updates' scatter dimensions {sizes_text(scattered)} and the indices' "
                f"{sizes_text(scatter_sizes)} differ",
            )
        require_same_type(op, (operand, update), "operand and updates")
    require_reducer(
        op,
        signature(op["to_apply"]),
        [update.element_type for update in updates],
        [scalar(operand.element_type) for operand in operands],
        any_float_width=True,
    )
    return one_or_tuple([operand.without_layout() for operand in operands])


RULES: dict[str, Rule] = {"gather": _gather, "scatter": _scatter}
