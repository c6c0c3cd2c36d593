"""Tuples, calls, loops, branches, random numbers and custom calls of the builder.

Source: operation-semantics seed, the sections of the same names.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, overload

from ..attributes import Raw
from ..element_types import PRED
from ..lexer import escape
from ..shape_rules.common import is_scalar, refuse, shape_text
from ..shapes import Shape, TokenShape, TupleShape
from .arguments import RandomAlgorithm, as_shape, bind_form, choice, is_integer
from .core import BuilderCore, Callee, as_array_shape
from .op import Operand, XlaOp


class ControlOperations(BuilderCore):
    # -- tuples

    def tuple(self, elements: Sequence[Operand]) -> XlaOp:
        """Make a tuple of any values, including tuples."""
        ops = self._operands(elements)
        return self._instruction("tuple", ops, {}, TupleShape(_shapes(ops)))

    def get_tuple_element(self, tuple_data: Operand, index: int) -> XlaOp:
        """Return element ``index``, a Python integer: an index known only at run time has no shape (XP219)."""
        return self._element(self._operand(tuple_data), index)

    def _element(self, op: XlaOp, index: object) -> XlaOp:
        if not is_integer(index):
            refuse("XP219", f"get-tuple-element: the index has to be a constant integer, not {index!r}")
        return self._instruction("get-tuple-element", (op,), {"index": operator.index(index)})

    # -- calls

    def call(self, computation: Callee, operands: Sequence[Operand] = ()) -> XlaOp:
        """Call a computation with these operands."""
        ops = self._operands(operands)
        callee = self._callee(computation, _shapes(ops), "callee")
        return self._instruction("call", ops, {"to_apply": callee})

    def composite_call(
        self, computation: Callee, operands: Sequence[Operand], name: str, attributes: str = "{}", version: int = 0
    ) -> XlaOp:
        """Call a computation that backends may replace by an implementation of their own, by its name."""
        ops = self._operands(operands)
        fields = {"composite.attributes": attributes, "composite.name": name, "composite.version": str(version)}
        text = ",".join(
            f'{key}="{escape(value)}"' if key != "composite.attributes" else f"{key}={value}"
            for key, value in fields.items()
        )
        marked = {
            "to_apply": self._callee(computation, _shapes(ops), "composite"),
            "is_composite": True,
            "frontend_attributes": Raw(f"{{{text}}}"),
        }
        return self._instruction("call", ops, marked)

    def while_(self, condition: Callee, body: Callee, init: Operand) -> XlaOp:
        """Apply ``body`` to the value while ``condition`` of the value is true; a tuple carries several values."""
        op = self._operand(init)
        attributes = {
            "condition": self._callee(condition, [op.shape], "condition"),
            "body": self._callee(body, [op.shape], "body"),
        }
        return self._instruction("while", (op,), attributes)

    @overload
    def conditional(
        self,
        pred: Operand,
        true_operand: Operand,
        true_computation: Callee,
        false_operand: Operand,
        false_computation: Callee,
    ) -> XlaOp: ...
    @overload
    def conditional(
        self, branch_index: Operand, branch_computations: Sequence[Callee], branch_operands: Sequence[Operand]
    ) -> XlaOp: ...
    def conditional(self, *arguments: Any, **keywords: Any) -> XlaOp:
        """Run one computation: a pred chooses the true or the false one, an s32 index the one with that number.

        ``conditional(pred, true_operand, true_computation, false_operand, false_computation)`` or
        ``conditional(branch_index, branch_computations, branch_operands)``; an index out of range runs the last branch.
        """
        chooser, *branches = bind_form("conditional", _CONDITIONAL, arguments, keywords).values()
        op = self._operand(chooser)
        if len(branches) == 4:
            if not is_scalar(op.shape, PRED):
                refuse("XP213", f"conditional: two branches are chosen by pred[], not by {op!r}")
            values, callees = [self._operand(branches[0]), self._operand(branches[2])], [branches[1], branches[3]]
        else:
            if not isinstance(branches[0], list | tuple):
                refuse("XP232", f"conditional: a list of branch computations is wanted, not {branches[0]!r}")
            callees, values = list(branches[0]), self._operands(branches[1])
        if len(callees) != len(values):
            refuse("XP201", f"conditional: {len(callees)} branches, but {len(values)} operands")
        computations = tuple(
            self._callee(callee, [value.shape], "branch") for callee, value in zip(callees, values, strict=True)
        )
        if is_scalar(op.shape, PRED) and len(computations) == 2:
            attributes = {"true_computation": computations[0], "false_computation": computations[1]}
            return self._instruction("conditional", (op, *values), attributes)
        return self._instruction("conditional", (op, *values), {"branch_computations": computations})

    def custom_call(
        self,
        call_target_name: str,
        operands: Sequence[Operand],
        shape: Shape,
        opaque: str = "",
        *,
        has_side_effect: bool = False,
        operand_shapes_with_layout: Sequence[Shape] | None = None,
        api_version: str | None = None,
    ) -> XlaOp:
        """Call code outside of the program; ``shape`` is that of its result, and ``opaque`` its configuration.

        ``operand_shapes_with_layout`` are the required layouts of the operands. If ``api_version`` is
        ``API_VERSION_TYPED_FFI``, ``opaque`` is a dictionary of typed attributes.
        """
        is_typed = api_version == "API_VERSION_TYPED_FFI"
        shapes = operand_shapes_with_layout
        attributes = {
            "custom_call_target": call_target_name,
            "custom_call_has_side_effect": has_side_effect or None,
            "operand_layout_constraints": None if shapes is None else tuple(as_shape("custom-call", s) for s in shapes),
            "api_version": api_version,
            "backend_config": Raw(opaque if is_typed else f'"{escape(opaque)}"') if opaque else None,
        }
        return self._instruction("custom-call", self._operands(operands), attributes, as_shape("custom-call", shape))

    # -- order

    def after_all(self, operands: Sequence[XlaOp] = ()) -> XlaOp:
        """Return a token after all these tokens. Raises XP210 for an array: only HLO text allows that."""
        for number, operand in enumerate(operands):
            if not isinstance(operand.shape, TokenShape):
                refuse("XP210", f"after-all: operand {number} has to be token[], not {shape_text(operand.shape)}")
        return self._instruction("after-all", self._operands(operands), {})

    def create_token(self) -> XlaOp:
        """Return a token that depends on nothing."""
        return self.after_all()

    def optimization_barrier(self, operand: Operand) -> XlaOp:
        """Return the operand; no optimisation moves work across the barrier."""
        return self._instruction("opt-barrier", (self._operand(operand),), {})

    # -- random numbers

    def rng_uniform(self, a: Operand, b: Operand, shape: Shape) -> XlaOp:
        """Return random numbers from ``[a, b)``; pred, integers or floats."""
        return self._rng("rng_uniform", a, b, shape)

    def rng_normal(self, mu: Operand, sigma: Operand, shape: Shape) -> XlaOp:
        """Return normally distributed random floats of mean ``mu`` and standard deviation ``sigma``."""
        return self._rng("rng_normal", mu, sigma, shape)

    def rng_bit_generator(self, algorithm: RandomAlgorithm, initial_state: Operand, shape: Shape) -> XlaOp:
        """Return ``(new state, random bits of the shape)``: the same bits for the same state."""
        state, name = self._operand(initial_state), "rng-bit-generator"
        declared = TupleShape((state.shape, as_array_shape(name, as_shape(name, shape))))
        chosen = choice(name, RandomAlgorithm, algorithm)
        return self._instruction(name, (state,), {"algorithm": chosen.value}, declared)

    def _rng(self, distribution: str, a: Operand, b: Operand, shape: Shape) -> XlaOp:
        shape = as_shape("rng", shape)
        element_type = as_array_shape("rng", shape).element_type
        bounds = [self._operand(v) if isinstance(v, XlaOp) else self.constant(v, element_type) for v in (a, b)]
        return self._instruction("rng", bounds, {"distribution": distribution}, shape)


_CONDITIONAL = (
    ("pred", "true_operand", "true_computation", "false_operand", "false_computation"),
    ("branch_index", "branch_computations", "branch_operands"),
)


def _shapes(ops: Sequence[XlaOp]) -> tuple[Shape, ...]:
    return tuple(op.shape for op in ops)
