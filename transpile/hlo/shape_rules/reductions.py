"""Shape rules of reductions, windows, sorting, map, scan and batch normalisation."""

from __future__ import annotations

from ..element_types import PRED, S32
from ..shapes import ArrayShape, Shape, TupleShape, compatible
from .common import (
    Operation,
    Rule,
    array_of,
    dynamic_flags,
    is_scalar,
    one_or_tuple,
    refuse,
    require_arity,
    require_dimension,
    require_dimensions,
    require_parameters,
    require_rank,
    require_reducer,
    require_same_sizes,
    require_same_type,
    require_type,
    scalar,
    shape_text,
    signature,
    sizes_text,
    window_output,
    with_type,
)


def _arrays_and_initial(op: Operation) -> tuple[tuple[ArrayShape, ...], tuple[ArrayShape, ...]]:
    """Return the two halves of a variadic reduction's operands."""
    count, rest = divmod(len(op.operands), 2)
    if rest:
        op.refuse("XP201", f"arrays and as many init values: an even number, not {len(op.operands)}")
    arrays, initial = op.arrays(0, count), op.arrays(count)
    require_same_sizes(op, arrays)
    return arrays, initial


def _reduced_shape(op: Operation, arrays: list[ArrayShape]) -> Shape:
    """Return one array, or a tuple; a reducer with a tuple of one allows a declared tuple of one."""
    reducer = signature(op["to_apply"])
    if len(arrays) == 1 and isinstance(reducer.result, TupleShape) and isinstance(op.declared, TupleShape):
        return TupleShape(tuple(arrays))
    return one_or_tuple(arrays)


def _reduce(op: Operation) -> Shape:
    arrays, initial = _arrays_and_initial(op)
    dimensions = op["dimensions"]
    require_dimensions(op, dimensions, arrays[0].rank, "dimension")
    accumulators = require_reducer(op, signature(op["to_apply"]), [a.element_type for a in arrays], initial)
    kept = [d for d in range(arrays[0].rank) if d not in dimensions]
    sizes = [arrays[0].dimensions[d] for d in kept]
    flags = [dynamic_flags(arrays[0])[d] for d in kept]
    return _reduced_shape(op, [array_of(accumulator.element_type, sizes, flags) for accumulator in accumulators])


def _reduce_window(op: Operation) -> Shape:
    arrays, initial = _arrays_and_initial(op)
    require_reducer(op, signature(op["to_apply"]), [a.element_type for a in arrays], initial)
    return _reduced_shape(op, [window_output(op, array, op["window"]) for array in arrays])


def _select_and_scatter(op: Operation) -> Shape:
    operand, source, initial = op.array(0), op.array(1, "the source"), op.array(2, "the init value")
    select = signature(op["select"])
    require_arity(op, select, 2, "select")
    if not is_scalar(select.result, PRED):
        op.refuse("XP217", f"select {select.name} has to give pred[], not {shape_text(select.result)}")
    element = scalar(operand.element_type)
    for parameter in select.parameters:
        if not compatible(parameter, element, ignore_float_width=True):
            op.refuse("XP217", f"select {select.name} takes {shape_text(parameter)}, not {shape_text(element)}")
    require_same_type(op, (operand, source, initial), "operand, source and init value")
    require_reducer(op, signature(op["scatter"]), [source.element_type], [initial], any_float_width=True)
    places = window_output(op, operand, op["window"])
    if places.dimensions != source.dimensions:
        op.refuse(
            "XP213", f"the window takes {sizes_text(places.dimensions)} places, but the source is {shape_text(source)}"
        )
    return operand.without_layout()


def _sort(op: Operation) -> Shape:
    operands, dimensions, comparator = op.arrays(), op["dimensions"], signature(op["to_apply"])
    require_same_sizes(op, operands)
    if len(dimensions) > 1:
        refuse("XP215", f"{op.opcode} sorts along one dimension, not {sizes_text(dimensions)}")
    require_dimension(op, dimensions[0] if dimensions else 0, max(operands[0].rank, 1), "dimension")
    if not is_scalar(comparator.result, PRED):
        op.refuse("XP217", f"comparator {comparator.name} has to give pred[], not {shape_text(comparator.result)}")
    require_arity(op, comparator, 2 * len(operands), "comparator")
    for number, parameter in enumerate(comparator.parameters):
        element = scalar(operands[number // 2].element_type)
        if not compatible(parameter, element, ignore_float_width=True):
            op.refuse(
                "XP217",
                f"parameter {number} of comparator {comparator.name} is {shape_text(parameter)}, "
                f"but operand {number // 2} has {element.element_type} elements",
            )
    return one_or_tuple([operand.without_layout() for operand in operands])


def _topk(op: Operation) -> Shape:
    operand, count = op.array(0), op["k"]
    require_rank(op, operand, 1, "the operand")
    if not 0 <= count <= operand.dimensions[-1]:
        op.refuse("XP218", f"k={count} of {operand.dimensions[-1]} elements")
    values = array_of(operand.element_type, (*operand.dimensions[:-1], count), (*dynamic_flags(operand)[:-1], False))
    return TupleShape((values, with_type(values, S32)))


def _map(op: Operation) -> Shape:
    operands, function = op.arrays(), signature(op["to_apply"])
    if not operands:
        refuse("XP201", f"{op.opcode} needs at least one operand")
    require_same_sizes(op, operands)
    dimensions = op["dimensions"]
    if dimensions and tuple(dimensions) != tuple(range(operands[0].rank)):
        refuse(
            "XP215", f"{op.opcode} goes over all dimensions of {shape_text(operands[0])}, not {sizes_text(dimensions)}"
        )
    require_parameters(op, function, [scalar(operand.element_type) for operand in operands], "the function")
    if not isinstance(function.result, ArrayShape) or not function.result.is_scalar:
        op.refuse("XP217", f"{function.name} has to give a scalar, not {shape_text(function.result)}")
    return with_type(operands[0], function.result.element_type)


def _scan(op: Operation) -> Shape:
    """Infer a scan. Operands are inputs then carries; the function takes one slice of each input and returns outputs
    then carries.
    """
    carries, dimensions, function = op["num_carries"], op["dimensions"] or (0,), signature(op["to_apply"])
    if carries is None or not 0 <= carries < len(op.operands):
        op.refuse("XP218", f"num_carries={carries} leaves no input among {len(op.operands)} operands")
    if len(dimensions) != 1:
        refuse("XP215", f"{op.opcode} goes along one dimension, not {sizes_text(dimensions)}")
    (dimension,), inputs = dimensions, op.arrays(0, len(op.operands) - carries)
    initial = op.operands[len(inputs) :]
    for array in inputs:
        require_dimension(op, dimension, array.rank, "dimension")
    lengths = {array.dimensions[dimension] for array in inputs}
    if len(lengths) > 1:
        op.refuse("XP213", f"the inputs' sizes along dimension {dimension} differ: {sorted(lengths)}")
    slices = [array_of(a.element_type, (n for d, n in enumerate(a.dimensions) if d != dimension)) for a in inputs]
    require_parameters(op, function, [*slices, *initial], "the function")
    results = function.result.elements if isinstance(function.result, TupleShape) else (function.result,)
    outputs = results[: len(results) - carries]
    for before, after in zip(initial, results[len(outputs) :], strict=False):
        if len(results) < carries or not compatible(before, after):
            op.refuse("XP217", f"{function.name} has to give back carries as it takes them, but is {function}")
    stacked: list[Shape] = []
    for output in outputs:
        if not isinstance(output, ArrayShape) or dimension > output.rank:
            op.refuse("XP217", f"output {shape_text(output)} cannot be stacked along dimension {dimension}")
        sizes = list(output.dimensions)
        sizes.insert(dimension, *lengths)
        stacked.append(array_of(output.element_type, sizes))
    return one_or_tuple([*stacked, *initial])


def _batch_norm(op: Operation) -> tuple[ArrayShape, ArrayShape]:
    """Check the operands that all three forms share; return the operand's and one feature vector's shape."""
    operand, *others = op.arrays()
    require_type(op, operand, lambda t: t.is_floating, "floating-point")
    require_rank(op, operand, 1, "the operand")
    require_dimension(op, op["feature_index"], operand.rank, "feature_index")
    require_same_type(op, (operand, *others))
    features = array_of(operand.element_type, (operand.dimensions[op["feature_index"]],))
    for number, vector in enumerate(others, 1):
        if op.opcode == "batch-norm-grad" and number == 4:
            require_same_sizes(op, (operand, vector), "operand and output gradient")
        elif vector.dimensions != features.dimensions:
            op.refuse("XP213", f"operand {number} has to be {features}, one value a feature, not {shape_text(vector)}")
    return operand.without_layout(), features


def _batch_norm_with_moments(op: Operation) -> Shape:
    operand, features = _batch_norm(op)
    return TupleShape((operand, features, features))


RULES: dict[str, Rule] = {
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "select-and-scatter": _select_and_scatter,
    "sort": _sort,
    "topk": _topk,
    "map": _map,
    "scan": _scan,
    "batch-norm-training": _batch_norm_with_moments,
    "batch-norm-inference": lambda op: _batch_norm(op)[0],
    "batch-norm-grad": _batch_norm_with_moments,
}
