"""Operations of the builder that apply a sub-computation: reductions, windows, sorting, map, scan, gather and scatter;
and batch normalisation.

Source: operation-semantics seed, the sections of the same names.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..element_types import ElementType
from ..ir import Computation
from ..shape_rules.common import array_of, refuse, scalar
from ..shapes import Shape
from .arguments import (
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    WindowPadding,
    dimension_attributes,
    integer,
    integers,
    make_window,
)
from .core import BuilderCore, Callee, as_array_shape
from .op import Operand, XlaOp

Ints = Sequence[int]
Operands = Operand | Sequence[Operand]


class ReductionOperations(BuilderCore):
    """Operations with a sub-computation: a Python function over scalars, another builder, or a computation.

    Operations on several arrays return a tuple of as many.
    """

    # -- reductions

    def reduce(self, operands: Operands, init_values: Operands, computation: Callee, dimensions: Ints) -> XlaOp:
        """Reduce the dimensions with ``computation(accumulators.., values..)``, starting from the init values."""
        arrays, initial = self._arrays_and_initial(operands, init_values)
        types = [array.array_shape.element_type for array in arrays]
        attributes = {"dimensions": integers("reduce", dimensions), "to_apply": self._reducer(computation, types)}
        return self._instruction("reduce", (*arrays, *initial), attributes)

    def reduce_all(self, operand: Operand, init_value: Operand, computation: Callee) -> XlaOp:
        """Reduce every dimension."""
        op = self._operand(operand)
        return self.reduce(op, init_value, computation, range(op.array_shape.rank))

    def reduce_window(
        self,
        operands: Operands,
        init_values: Operands,
        computation: Callee,
        window_dimensions: Ints,
        window_strides: Ints | None,
        padding: WindowPadding,
        *,
        base_dilations: Ints | None = None,
        window_dilations: Ints | None = None,
    ) -> XlaOp:
        """Reduce every window; the padding, SAME, VALID or ``(low, high)`` pairs, is filled with init values."""
        arrays, initial = self._arrays_and_initial(operands, init_values)
        shape = as_array_shape("reduce-window", arrays[0].shape)
        types = [array.array_shape.element_type for array in arrays]
        window = make_window(
            *("reduce-window", shape.dimensions, window_dimensions, window_strides, padding),
            *(base_dilations, window_dilations),
        )
        attributes = {"window": window, "to_apply": self._reducer(computation, types)}
        return self._instruction("reduce-window", (*arrays, *initial), attributes)

    def reduce_window_with_general_padding(
        self,
        operands: Operands,
        init_values: Operands,
        computation: Callee,
        window_dimensions: Ints,
        window_strides: Ints | None,
        base_dilations: Ints | None,
        window_dilations: Ints | None,
        padding: Sequence[tuple[int, int]],
    ) -> XlaOp:
        """Reduce as :meth:`reduce_window` does, in the argument order of XLA's general form."""
        return self.reduce_window(
            *(operands, init_values, computation, window_dimensions, window_strides, padding),
            base_dilations=base_dilations,
            window_dilations=window_dilations,
        )

    def select_and_scatter(
        self,
        operand: Operand,
        select: Callee,
        window_dimensions: Ints,
        window_strides: Ints | None,
        padding: WindowPadding,
        source: Operand,
        init_value: Operand,
        scatter: Callee,
    ) -> XlaOp:
        """Add ``source`` to the elements that ``select`` picks from each window of the operand."""
        op = self._operand(operand)
        shape = as_array_shape("select-and-scatter", op.shape)
        element = scalar(shape.element_type)
        attributes = {
            "window": make_window("select-and-scatter", shape.dimensions, window_dimensions, window_strides, padding),
            "select": self._callee(select, [element, element], "select"),
            "scatter": self._callee(scatter, [element, element], "scatter"),
        }
        operands = (op, self._operand(source, like=op), self._operand(init_value, like=op))
        return self._instruction("select-and-scatter", operands, attributes)

    def select_and_scatter_with_general_padding(
        self,
        operand: Operand,
        select: Callee,
        window_dimensions: Ints,
        window_strides: Ints | None,
        padding: Sequence[tuple[int, int]],
        source: Operand,
        init_value: Operand,
        scatter: Callee,
    ) -> XlaOp:
        """Scatter as :meth:`select_and_scatter` does, with a ``(low, high)`` pair per dimension (XLA's name)."""
        return self.select_and_scatter(
            operand, select, window_dimensions, window_strides, padding, source, init_value, scatter
        )

    # -- over whole arrays

    def sort(self, operands: Operands, comparator: Callee, dimension: int = -1, is_stable: bool = False) -> XlaOp:
        """Sort arrays together along a dimension, the last by default.

        Parameters ``2k`` and ``2k + 1`` of the comparator are two values of operand ``k``; the comparator returns
        whether the first comes before the second.
        """
        arrays = self._arrays(operands)
        shapes = [as_array_shape("sort", array.shape) for array in arrays]
        parameters = [scalar(shape.element_type) for shape in shapes for _ in range(2)]
        dimension = integer("sort", dimension)
        attributes = {
            "dimensions": (dimension % shapes[0].rank if -shapes[0].rank <= dimension < 0 else dimension,),
            "is_stable": is_stable or None,
            "to_apply": self._callee(comparator, parameters, "comparator"),
        }
        return self._instruction("sort", arrays, attributes)

    def top_k(self, operand: Operand, k: int, largest: bool = True) -> XlaOp:
        """Return the ``k`` largest (or smallest) elements of the last dimension, sorted, and their indices (s32)."""
        return self._instruction("topk", (self._operand(operand),), {"k": integer("topk", k), "largest": largest})

    def map(self, operands: Operands, computation: Callee, dimensions: Ints | None = None) -> XlaOp:
        """Apply a function of scalars to the elements of arrays of one shape; ``dimensions`` must be all of them."""
        arrays = self._arrays(operands)
        shapes = [as_array_shape("map", array.shape) for array in arrays]
        attributes = {
            "dimensions": integers("map", range(shapes[0].rank) if dimensions is None else dimensions),
            "to_apply": self._callee(computation, [scalar(shape.element_type) for shape in shapes], "function"),
        }
        return self._instruction("map", arrays, attributes)

    def scan(
        self, inputs: Operands, inits: Operands, to_apply: Callee, scan_dimension: int = 0, *, is_reverse: bool = False
    ) -> XlaOp:
        """Run ``to_apply(slices.., carries..) -> (outputs.., carries..)`` along a dimension of the inputs.

        The result is a tuple of the stacked outputs and the last carries.
        """
        arrays, carries = self._arrays(inputs), self._operands(inits)
        slices: list[Shape] = []
        scan_dimension = integer("scan", scan_dimension)
        for array in arrays:
            shape = as_array_shape("scan", array.shape)
            if not 0 <= scan_dimension < shape.rank:
                refuse("XP215", f"scan: dimension {scan_dimension} is not in [0, {shape.rank})")
            sizes = (size for d, size in enumerate(shape.dimensions) if d != scan_dimension)
            slices.append(array_of(shape.element_type, sizes))
        attributes = {
            "dimensions": (scan_dimension,),
            "is_reverse": is_reverse or None,
            "num_carries": len(carries),
            "to_apply": self._callee(to_apply, [*slices, *(carry.shape for carry in carries)], "step"),
        }
        return self._instruction("scan", (*arrays, *carries), attributes)

    # -- gather and scatter

    def gather(
        self,
        operand: Operand,
        start_indices: Operand,
        dimension_numbers: GatherDimensionNumbers,
        slice_sizes: Ints,
        indices_are_sorted: bool = False,
    ) -> XlaOp:
        """Gather slices of ``slice_sizes`` at the index vectors in ``start_indices``, clamped to be in bounds."""
        attributes = {
            **dimension_attributes("gather", GatherDimensionNumbers, dimension_numbers),
            "slice_sizes": integers("gather", slice_sizes),
            "indices_are_sorted": indices_are_sorted or None,
        }
        return self._instruction("gather", (self._operand(operand), self._operand(start_indices)), attributes)

    def scatter(
        self,
        operands: Operands,
        scatter_indices: Operand,
        updates: Operands,
        update_computation: Callee,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> XlaOp:
        """Return the operands with ``update_computation(current.., update..)`` applied at the index vectors."""
        arrays, values = self._arrays(operands), self._operands(updates)
        types = [as_array_shape("scatter", array.shape).element_type for array in arrays]
        attributes = {
            **dimension_attributes("scatter", ScatterDimensionNumbers, dimension_numbers),
            "indices_are_sorted": indices_are_sorted or None,
            "unique_indices": unique_indices or None,
            "to_apply": self._reducer(update_computation, types),
        }
        return self._instruction("scatter", (*arrays, self._operand(scatter_indices), *values), attributes)

    # -- batch normalisation

    def batch_norm_training(
        self, operand: Operand, scale: Operand, offset: Operand, epsilon: float, feature_index: int
    ) -> XlaOp:
        """Return ``(normalised operand, batch mean, batch variance)``; all but the feature dimension are averaged."""
        return self._norm("batch-norm-training", (operand, scale, offset), epsilon, feature_index)

    def batch_norm_inference(
        self,
        operand: Operand,
        scale: Operand,
        offset: Operand,
        mean: Operand,
        variance: Operand,
        epsilon: float,
        feature_index: int,
    ) -> XlaOp:
        """Return the operand normalised with a known mean and variance of each feature."""
        return self._norm("batch-norm-inference", (operand, scale, offset, mean, variance), epsilon, feature_index)

    def batch_norm_grad(
        self,
        operand: Operand,
        scale: Operand,
        mean: Operand,
        variance: Operand,
        grad_output: Operand,
        epsilon: float,
        feature_index: int,
    ) -> XlaOp:
        """Return ``(gradient of operand, of scale, of offset)`` of :meth:`batch_norm_training`."""
        return self._norm("batch-norm-grad", (operand, scale, mean, variance, grad_output), epsilon, feature_index)

    # -- helpers

    def _norm(self, opcode: str, operands: Sequence[Operand], epsilon: float, feature_index: int) -> XlaOp:
        attributes = {"epsilon": float(epsilon), "feature_index": integer("batch-norm", feature_index)}
        return self._instruction(opcode, self._operands(list(operands)), attributes)

    def _arrays(self, operands: Operands) -> list[XlaOp]:
        arrays = self._operands(operands)
        if not arrays:
            refuse("XP201", "at least one array is needed")
        return arrays

    def _arrays_and_initial(self, operands: Operands, init_values: Operands) -> tuple[list[XlaOp], list[XlaOp]]:
        arrays = self._arrays(operands)
        values = init_values if isinstance(init_values, list | tuple) else [init_values]
        if len(values) != len(arrays):
            refuse("XP201", f"{len(arrays)} arrays to reduce, but {len(values)} init values")
        pairs = zip(values, arrays, strict=True)
        return arrays, [self._operand(value, like=array) for value, array in pairs]

    def _reducer(self, computation: Callee, types: Sequence[ElementType]) -> Computation:
        elements = [scalar(element_type) for element_type in types]
        return self._callee(computation, [*elements, *elements], "reducer")
