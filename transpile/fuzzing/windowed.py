"""Operations that slide windows: reduce-window, select-and-scatter, convolution."""

from __future__ import annotations

from random import Random

from ..hlo.attribute_parsers import parse_dim_labels
from ..hlo.attributes import Window, WindowDimension
from .drawing import Recipe, array, placed, scalar_function, sizes


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
