"""Operations with many attributes, valid by construction: gather, scatter, convolution, windows, dot, sort, FFT..

A recipe draws operand shapes and attributes that fit each other; shape inference gives the result's shape.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ..dataclass import dataclass
from ..hlo.attribute_parsers import parse_dim_labels
from ..hlo.attributes import Window, WindowDimension
from ..hlo.shapes import ArrayShape, TupleShape
from .drawing import Recipe, array, comparator, placed, places, scalar_function, sizes, some
from .unusual import UNUSUAL


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
    while not numbers.start_index_map:  # XLA's result is wrong if no dimension is indexed
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


def _window(random: Random, rank: int, dilated: bool = True) -> Window:
    def dimension() -> WindowDimension:
        return WindowDimension(
            size=random.choice([1, 2, 2, 3]),
            stride=random.choice([1, 1, 2, 3]),
            padding_low=random.choice([0, 0, 1, 2]),
            padding_high=random.choice([0, 0, 1, 2]),
            base_dilation=random.choice([1, 1, 2]) if dilated else 1,
            window_dilation=random.choice([1, 1, 2]) if dilated else 1,
        )

    return tuple(dimension() for _ in range(rank))


def reduce_window(random: Random, name: str) -> Recipe:
    operand = sizes(random, 1, 3)
    element_type = random.choice(["f32", "s32", "f64"])
    opcode = random.choice(["add", "maximum", "minimum"])
    attributes = {
        "window": _window(random, len(operand)),
        "to_apply": scalar_function(f"{name}_{opcode}_{element_type}", element_type, opcode),
    }
    return Recipe("reduce-window", (array(element_type, *operand), array(element_type)), attributes)


def select_and_scatter(random: Random, name: str) -> Recipe:
    operand = sizes(random, 1, 3)
    window = _window(random, len(operand), dilated=False)
    source = [dimension.output_size(size) for dimension, size in zip(window, operand, strict=True)]
    direction = random.choice(["GE", "LE", "GT"])
    attributes = {
        "window": window,
        "select": scalar_function(f"{name}_{direction}_f32", "f32", "compare", direction=direction),
        "scatter": scalar_function(f"{name}_add_f32", "f32", "add"),
    }
    operands = (array("f32", *operand), array("f32", *source), array("f32"))
    return Recipe("select-and-scatter", operands, attributes, needs_distinct=True)


def convolution(random: Random, name: str) -> Recipe:
    rank = random.choice([0, 1, 1, 2, 2, 3])
    window = tuple(
        WindowDimension(
            size=random.choice([1, 2, 3]),
            stride=random.choice([1, 1, 2]),
            padding_low=random.choice([-1, 0, 0, 1, 2]),
            padding_high=random.choice([-1, 0, 0, 1, 2]),
            base_dilation=random.choice([1, 1, 2]),
            window_dilation=random.choice([1, 1, 2]),
            window_reversal=random.random() < 0.2,
        )
        for _ in range(rank)
    )
    feature_groups, batch_groups = random.choice([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)])
    input_features = random.randint(1, 2)  # of one group
    orders = [random.sample(range(rank + 2), rank + 2) for _ in range(3)]
    letters = ("bf", "io", "bf")
    labels = [
        "".join(placed(order, [*pair, *map(str, range(rank))])) for order, pair in zip(orders, letters, strict=True)
    ]
    spatial = [random.choice([3, 4, 5]) for _ in range(rank)]
    batch = batch_groups * random.randint(1, 2)
    output_features = feature_groups * batch_groups * random.randint(1, 2)
    operand = placed(orders[0], [batch, feature_groups * input_features, *spatial])
    kernel = placed(orders[1], [input_features, output_features, *(dimension.size for dimension in window)])
    element_type = random.choice(["f32", "f32", "f64"])
    attributes = {
        "window": window,
        "dim_labels": parse_dim_labels("{}_{}->{}".format(*labels)),
        "feature_group_count": feature_groups,
        "batch_group_count": batch_groups,
    }
    return Recipe("convolution", (array(element_type, *operand), array(element_type, *kernel)), attributes)


def dot(random: Random, name: str) -> Recipe:
    batch, contracted = sizes(random, 0, 2), sizes(random, 0, 2)
    sides = []
    for _ in range(2):
        own = sizes(random, 0, 2)
        parts = [*batch, *contracted, *own]
        order = random.sample(range(len(parts)), len(parts))
        sides.append((placed(order, parts), order))
    element_type, result_type = random.choice(
        [("f32", "f32"), ("s32", "s32"), ("s8", "s32"), ("u8", "u32"), ("bf16", "f32"), ("f64", "f64"), ("c64", "c64")]
    )
    attributes = {}
    for prefix, (_, order) in zip(("lhs", "rhs"), sides, strict=True):
        attributes[f"{prefix}_batch_dims"] = tuple(order[: len(batch)])
        attributes[f"{prefix}_contracting_dims"] = tuple(order[len(batch) : len(batch) + len(contracted)])
    free = [
        size
        for shape, order in sides
        for dim, size in enumerate(shape)
        if dim not in order[: len(batch) + len(contracted)]
    ]
    operands = tuple(array(element_type, *shape) for shape, _ in sides)
    return Recipe("dot", operands, attributes, array(result_type, *batch, *free))


def sort(random: Random, name: str) -> Recipe:
    dimensions = sizes(random, 1, 3)
    count = random.randint(1, 3)
    types = [random.choice(["f32", "s32", "u8", "bf16", "f64"]) for _ in range(count)]
    attributes = {
        "dimensions": (random.randrange(len(dimensions)),),
        "is_stable": count > 1 or random.random() < 0.5,
        "to_apply": comparator(f"{name}_compare", types, random.choice(["LT", "GT"])),
    }
    return Recipe("sort", tuple(array(t, *dimensions) for t in types), attributes)


def fft(random: Random, name: str) -> Recipe:
    kind = random.choice(["FFT", "IFFT", "RFFT", "IRFFT"])
    length = tuple(random.choice([1, 2, 3, 4, 5, 8]) for _ in range(random.randint(1, 2)))
    last = length[-1] // 2 + 1 if kind == "IRFFT" else length[-1]
    operand = array("f32" if kind == "RFFT" else "c64", *sizes(random, 0, 1), *length[:-1], last)
    return Recipe("fft", (operand,), {"fft_type": kind, "fft_length": length}, is_rounded=True)


def cholesky(random: Random, name: str) -> Recipe:
    size = random.randint(1, 5)
    operand = array(random.choice(["f32", "f64", "c128"]), *sizes(random, 0, 1), size, size)
    return Recipe("cholesky", (operand,), {"lower": random.random() < 0.5}, is_rounded=True)


def triangular_solve(random: Random, name: str) -> Recipe:
    size, batch = random.randint(1, 5), sizes(random, 0, 1)
    is_left = random.random() < 0.5
    element_type = random.choice(["f32", "f64", "c64"])
    right_side = (size, random.randint(1, 3))
    attributes = {
        "left_side": is_left,
        "lower": random.random() < 0.5,
        "unit_diagonal": random.random() < 0.3,
        "transpose_a": random.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]),
    }
    sides = right_side if is_left else right_side[::-1]
    operands = (array(element_type, *batch, size, size), array(element_type, *batch, *sides))
    return Recipe("triangular-solve", operands, attributes, is_rounded=True)


def _batch_norm(opcode: str, operands: str) -> Callable[[Random, str], Recipe]:
    """Return the recipe of a batch norm; ``operands`` has ``a`` for a whole array, ``f`` for one number for each
    feature.
    """

    def batch_norm(random: Random, name: str) -> Recipe:
        dimensions = sizes(random, 2, 4)
        feature = random.randrange(len(dimensions))
        shapes = {"a": array("f32", *dimensions), "f": array("f32", dimensions[feature])}
        attributes = {"epsilon": 0.5, "feature_index": feature}
        return Recipe(opcode, tuple(shapes[each] for each in operands), attributes, is_rounded=True)

    return batch_norm


def map_(random: Random, name: str) -> Recipe:
    dimensions = sizes(random, 0, 3)
    element_type = random.choice(["f32", "s32", "u8"])
    opcode = random.choice(["add", "maximum", "subtract", "second"])
    attributes = {
        "dimensions": tuple(range(len(dimensions))),
        "to_apply": scalar_function(f"{name}_{opcode}_{element_type}", element_type, opcode),
    }
    return Recipe("map", (array(element_type, *dimensions),) * 2, attributes)


def rng_bit_generator(random: Random, name: str) -> Recipe:
    element_type, width = random.choice([("u32", 2), ("u64", 2), ("u8", 2), ("u32", 3)])
    bits = array(element_type, *sizes(random, 0, 3))
    state = array("u64", width)
    algorithm = "rng_philox" if width == 3 else random.choice(["rng_three_fry", "rng_default"])
    declared = TupleShape((state, bits))
    return Recipe("rng-bit-generator", (state,), {"algorithm": algorithm}, declared)


RECIPES: dict[str, tuple[Callable[[Random, str], Recipe], int]] = {
    "gather": (gather, 4),
    "scatter": (scatter, 4),
    "reduce-window": (reduce_window, 3),
    "select-and-scatter": (select_and_scatter, 2),
    "convolution": (convolution, 4),
    "dot": (dot, 3),
    "sort": (sort, 2),
    "dynamic-slice": (dynamic_slice, 2),
    "fft": (fft, 1),
    "cholesky": (cholesky, 1),
    "triangular-solve": (triangular_solve, 1),
    "batch-norm-grad": (_batch_norm("batch-norm-grad", "afffa"), 1),
    "batch-norm-inference": (_batch_norm("batch-norm-inference", "affff"), 1),
    "batch-norm-training": (_batch_norm("batch-norm-training", "aff"), 1),
    "map": (map_, 1),
    "rng-bit-generator": (rng_bit_generator, 1),
    **UNUSUAL,
}
