"""Operations that read and write at indices: gather, scatter, dynamic slices."""

from __future__ import annotations

from random import Random

from ..dataclass import dataclass
from ..hlo.shapes import ArrayShape
from .drawing import Recipe, array, places, scalar_function, sizes, some


@dataclass(frozen=True)
class _IndexNumbers:
    """The attributes that gather and scatter share, under gather's names, and the shape of their indices."""

    operand: tuple[int, ...]
    indices: tuple[int, ...]
    slice_sizes: tuple[int, ...]
    collapsed: tuple[int, ...]
    operand_batching: tuple[int, ...]
    indices_batching: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int
    offset_dims: tuple[int, ...]
    batch_sizes: tuple[int, ...]


def _index_numbers(random: Random) -> _IndexNumbers:
    operand = sizes(random, 1, 4)
    dims = list(range(len(operand)))
    operand_batching = some(random, dims, 0.2)
    rest = [dim for dim in dims if dim not in operand_batching]
    start_index_map = some(random, rest, 0.6)
    random.shuffle(start_index_map)
    collapsed = some(random, rest, 0.4)
    slice_sizes = [
        1 if dim in collapsed or dim in operand_batching else random.randint(1, size)
        for dim, size in enumerate(operand)
    ]
    batch_sizes = sizes(random, 0, 2)
    for dim in operand_batching:
        batch_sizes.insert(random.randint(0, len(batch_sizes)), -dim - 1)
    order = [batch_sizes.index(-dim - 1) for dim in operand_batching]
    batch_sizes = [operand[-size - 1] if size < 0 else size for size in batch_sizes]
    is_implicit = len(start_index_map) == 1 and random.random() < 0.4
    vector_dim = len(batch_sizes) if is_implicit else random.randint(0, len(batch_sizes))
    indices = list(batch_sizes)
    if not is_implicit:
        indices.insert(vector_dim, len(start_index_map))
    window_count = len(operand) - len(collapsed) - len(operand_batching)
    return _IndexNumbers(
        tuple(operand),
        tuple(indices),
        tuple(slice_sizes),
        tuple(collapsed),
        tuple(operand_batching),
        tuple(dim if is_implicit or dim < vector_dim else dim + 1 for dim in order),
        tuple(start_index_map),
        vector_dim,
        tuple(places(random, window_count, window_count + len(batch_sizes))),
        tuple(batch_sizes),
    )


def gather(random: Random, name: str) -> Recipe:
    numbers = _index_numbers(random)
    element_type = random.choice(["f32", "s32", "pred", "bf16", "c64", "u8"])
    index_type = random.choice(["s32", "s32", "u8", "s64", "u32"])
    attributes = {
        "offset_dims": numbers.offset_dims,
        "collapsed_slice_dims": numbers.collapsed,
        "start_index_map": numbers.start_index_map,
        "operand_batching_dims": numbers.operand_batching,
        "start_indices_batching_dims": numbers.indices_batching,
        "index_vector_dim": numbers.index_vector_dim,
        "slice_sizes": numbers.slice_sizes,
    }
    operands = (array(element_type, *numbers.operand), array(index_type, *numbers.indices))
    return Recipe("gather", operands, attributes)


def scatter(random: Random, name: str) -> Recipe:
    numbers = _index_numbers(random)
    while not numbers.start_index_map:  # XLA goes wrong where no dimension is indexed
        numbers = _index_numbers(random)
    element_type = random.choice(["f32", "s32", "u8", "f64"])
    opcode = random.choice(["add", "add", "maximum", "minimum", "multiply", "second", "subtract"])
    batch = list(numbers.batch_sizes)
    windows = [
        size
        for dim, size in enumerate(numbers.slice_sizes)
        if dim not in (*numbers.collapsed, *numbers.operand_batching)
    ]
    updates = [
        windows.pop(0) if dim in numbers.offset_dims else batch.pop(0) for dim in range(len(windows) + len(batch))
    ]
    attributes = {
        "update_window_dims": numbers.offset_dims,
        "inserted_window_dims": numbers.collapsed,
        "scatter_dims_to_operand_dims": numbers.start_index_map,
        "input_batching_dims": numbers.operand_batching,
        "scatter_indices_batching_dims": numbers.indices_batching,
        "index_vector_dim": numbers.index_vector_dim,
        "to_apply": scalar_function(f"{name}_{opcode}_{element_type}", element_type, opcode),
    }
    operands = (array(element_type, *numbers.operand), array("s32", *numbers.indices), array(element_type, *updates))
    return Recipe("scatter", operands, attributes)


def dynamic_slice(random: Random, name: str) -> Recipe:
    dimensions = sizes(random, 1, 4)
    index = array(random.choice(["s32", "u8", "s64", "u32"]))
    window = tuple(random.randint(1, size) for size in dimensions)
    operand = array(random.choice(["f32", "u8", "c64"]), *dimensions)
    if random.random() < 0.5:
        return Recipe("dynamic-slice", (operand, *(index for _ in dimensions)), {"dynamic_slice_sizes": window})
    update = ArrayShape(operand.element_type, window)
    return Recipe("dynamic-update-slice", (operand, update, *(index for _ in dimensions)))
