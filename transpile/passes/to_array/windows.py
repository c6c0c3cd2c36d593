"""Lowers reduce-window and select-and-scatter: cumulative operations to the library's, pooling to the prelude."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.node import Slot, Ufunc, literal_value
from ...array.value import FULL, Value, getitem
from ...hlo.attributes import Window, WindowDimension
from ...hlo.ir import Computation, Instruction
from ...hlo.shapes import ArrayShape, TupleShape
from ..rewriting.patterns import is_number
from .lowering import FunctionLowering, Lowered, lowers
from .reducers import canonical, simple_reducer
from .reduction import is_identity, reduced, reduction_name, running
from .structure import reshaped

POOLING = {"select": Ufunc("greater-equal"), "combine": Ufunc("add")}  # the defaults of the prelude's function


@lowers("reduce-window")
def reduce_window(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    count = len(operands) // 2
    window: Window = instruction["window"]
    computation: Computation = instruction["to_apply"]
    opcode = simple_reducer(computation) if count == 1 else None
    if opcode is not None:
        simple = _cumulative(lowering, opcode, operands[0], operands[1], window)
        simple = simple or _blocks(lowering, opcode, operands[0], operands[1], window)
        if simple is not None:
            return (simple,) if isinstance(instruction.shape, TupleShape) else simple
    nodes = tuple(lowering.plain(value) for value in operands)
    sizes = tuple(dimension.size for dimension in window)
    keywords = window_keywords(window)
    if opcode is not None and is_identity(operands[1].node, opcode):
        (_shape,) = (shape for shape in instruction.element_shapes if isinstance(shape, ArrayShape))
        arguments: tuple[Any, ...] = (Slot(0), Slot(1), lowering.combiner(computation), sizes)
        pooled = lowering.call("reduce_window", nodes, arguments=arguments, **keywords)
        return (pooled,) if isinstance(instruction.shape, TupleShape) else pooled
    slots = tuple(Slot(k) for k in range(2 * count))
    function = "fold_windows"
    last: tuple[Any, ...] = (lowering.function_of(computation), sizes)
    found = _running(window, operands[0].shape)
    if found is not None:
        function, last = "cumulative", last[:1]
        keywords = {"axis": found[0], **({"reverse": True} if found[1] else {})}
    if not isinstance(instruction.shape, TupleShape):
        arguments = (*slots, *last)
        return lowering.call(function, nodes, arguments=arguments, **keywords)
    arguments = (slots[:count], slots[count:], *last)
    return lowering.call_many(function, nodes, arguments=arguments, **keywords)


def window_keywords(window: Window, base: str = "base_dilation", own: str = "window_dilation") -> dict[str, Any]:
    """Return the parameters that differ from a dense window of stride 1 without padding; ``base`` and ``own`` name
    dilations.
    """
    columns: dict[str, tuple[tuple[Any, ...], Any]] = {
        "strides": (tuple(d.stride for d in window), 1),
        "padding": (tuple((d.padding_low, d.padding_high) for d in window), (0, 0)),
        base: (tuple(d.base_dilation for d in window), 1),
        own: (tuple(d.window_dilation for d in window), 1),
    }
    return {key: values for key, (values, usual) in columns.items() if any(value != usual for value in values)}


def _is_trivial(dimension: WindowDimension) -> bool:
    return dimension == WindowDimension(1, window_dilation=dimension.window_dilation)


def _running(window: Window, shape: tuple[int, ...]) -> tuple[int, bool] | None:
    """Return (dimension, whether windows reach from an element to the end) if each window reaches from one end to an
    element; or None.
    """
    active = [d for d, dimension in enumerate(window) if not _is_trivial(dimension)]
    if len(active) != 1:
        return None
    (d,) = active
    part, size = window[d], shape[d]
    pads = (part.padding_low, part.padding_high)
    plain = part.size == size and part.stride == part.base_dilation == part.window_dilation == 1
    return (d, pads[0] == 0) if plain and pads in ((size - 1, 0), (0, size - 1)) else None


def _cumulative(lowering: FunctionLowering, opcode: str, array: Value, initial: Value, window: Window) -> Value | None:
    """Return a cumulative operation for windows as long as their axis, padded on one side only; or None."""
    found = _running(window, array.shape)
    return running(lowering, opcode, array, initial, *found) if found is not None else None


def _blocks(lowering: FunctionLowering, opcode: str, array: Value, initial: Value, window: Window) -> Value | None:
    """Return a reduction of blocks, made by a reshape, for adjacent windows without padding; or None. Elements behind
    the last whole block are cut off, where arrays are in memory.
    """
    reduction = reduction_name(opcode, array.node.type)
    usual = all(
        d.stride == d.size and d.padding_low == d.padding_high == 0 and d.base_dilation == d.window_dilation == 1
        for d in window
    )
    module = lowering.module.module  # at other sizes, blocks may not divide the axis
    free = set(array.shape) - module.fixed_sizes if module.free_sizes else ()
    sizes = list(zip(array.shape, window, strict=True))
    are_known = all(d.size == 1 or size not in free for size, d in sizes)
    if reduction is None or not usual or not are_known or any(size < d.size for size, d in sizes) or 0 in array.shape:
        return None
    if any(size % d.size for size, d in sizes):
        if not lowering.module.options.support.features.arrays_fit_memory:
            return None
        whole = [(None, size - size % d.size, None) if size % d.size else FULL for size, d in sizes]
        array = Value.of(getitem(lowering.graph, lowering.plain(array), whole))
    shape: list[int] = []
    reduced_dimensions: list[int] = []
    for size, d in zip(array.shape, window, strict=True):
        shape.append(size // d.size)
        if d.size != 1:
            reduced_dimensions.append(len(shape))
            shape.append(d.size)
    blocks = reshaped(lowering, array, tuple(shape))
    return reduced(lowering, opcode, reduction, blocks, initial, reduced_dimensions)


@lowers("select-and-scatter")
def select_and_scatter(
    lowering: FunctionLowering, instruction: Instruction, operand: Value, source: Value, initial: Value
) -> Lowered:
    window: Window = instruction["window"]
    if not window:
        return lowering.computation(instruction["scatter"], [initial, source])
    nodes = tuple(lowering.plain(value) for value in (operand, source, initial))
    functions = {
        "select": _comparison(lowering, instruction["select"]),
        "combine": lowering.combiner(instruction["scatter"]),
    }
    keywords = {key: function for key, function in functions.items() if function != POOLING[key]} | window_keywords(
        window
    )
    if is_number(initial.node, 0) and not np.signbit(literal_value(initial.node)):
        nodes = nodes[:2]
    else:
        keywords = {"init": Slot(2)} | keywords
    arguments = (Slot(0), Slot(1), tuple(d.size for d in window))
    return lowering.call("select_and_scatter", nodes, arguments=arguments, **keywords)


def _comparison(lowering: FunctionLowering, computation: Computation) -> Any:
    """Return the ufunc of ``a >= b`` and other comparisons, or the function of another computation."""
    names = {"(a < b)": "less", "(a <= b)": "less-equal", "(b < a)": "greater", "(b <= a)": "greater-equal"}
    name = names.get(canonical(computation))
    return Ufunc(name) if name is not None else lowering.function_of(computation)
