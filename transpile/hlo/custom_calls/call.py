"""A row of the table of custom calls, and an instruction read by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...dataclass import dataclass
from ..attributes import Raw
from ..ir import Computation, Instruction
from ..shapes import ArrayShape, TupleShape, without_layouts
from .fields import ConfigError, Field, read_fields
from .signatures import by_rows, matched

if TYPE_CHECKING:
    from ..builder import XlaBuilder, XlaOp

_NO_FIELDS: Mapping[str, Field] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Call:
    """A custom call whose shapes and configuration match its target."""

    instruction: Instruction
    sizes: Mapping[str, int]  # by name in the signature
    config: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field of the configuration."""
        return self.config[name]

    def result(self, index: int = 0) -> ArrayShape:
        """Return the shape of a result."""
        shape = self.instruction.element_shapes[index]
        assert isinstance(shape, ArrayShape)
        return shape

    def with_scratch(self, b: XlaBuilder, *results: XlaOp) -> XlaOp:
        """Return the results, and zeros for the library's scratch memory."""
        if not isinstance(self.instruction.shape, TupleShape):
            return results[0]
        scratch = [
            b.broadcast(b.zero(shape.element_type), shape.dimensions)
            for shape in self.instruction.element_shapes[len(results) :]
            if isinstance(shape, ArrayShape)
        ]
        return b.tuple([*results, *scratch])


Definition = Callable[..., "XlaOp"]
"""``(builder, call, *operands)``: what the call computes, in HLO's own operations. Raises ConfigError."""


@dataclass(frozen=True, slots=True)
class CustomCall:
    """The signature and the definition of custom calls of one target.

    ``definition`` expresses the call in HLO, ``of_one`` that of real matrices of one element; without one, ``rule``
    names a lowering rule, or a prelude function with the results of the call. ``attributes`` are those that the
    instruction must have, ``envelopes`` and ``config`` are for :func:`~.fields.read_fields`, ``signatures`` for
    :mod:`.signatures`.
    """

    signatures: tuple[str, ...]
    forms: tuple[str, ...] = field(default=(), kw_only=True)  # the signatures for every precision
    definition: Definition | None = None
    of_one: Definition | None = field(default=None, kw_only=True)
    rule: str = ""
    config: Mapping[str, Field] = field(default_factory=lambda: _NO_FIELDS)
    envelopes: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    takes_dynamic: bool = False
    by_columns: bool = False  # whether matrices are column-major
    runs_on_cpu: bool = False  # whether XLA on the CPU knows the target
    check: Callable[[Call], None] | None = None

    def read(self, instruction: Instruction) -> Call:
        """Return an instruction of this target as a call. Raises ConfigError if it does not match."""
        for name in self.attributes:
            if instruction.attributes.get(name) is None:
                raise ConfigError(f"needs the attribute {name}")
        sizes = matched(instruction, self.signatures, self.takes_dynamic)
        if self.by_columns:
            by_rows(instruction, self.signatures)
        call = Call(
            instruction, sizes, read_fields(instruction.attributes.get("backend_config"), self.config, self.envelopes)
        )
        if self.check is not None:
            self.check(call)
        return call

    def computation(self, call: Call) -> Computation | None:
        """Return the call's definition as a computation of its operands; None if HLO cannot express it.

        Raises ConfigError, or HloVerificationError if the operands do not fit together.
        """
        given: Computation | None = call.instruction.attributes.get("to_apply")
        if given is not None and self.definition is not None:
            return given
        definition = self._of_one(call) or self._by_columns(call) or self.definition
        if definition is None:
            return None
        from ..builder import XlaBuilder

        builder = XlaBuilder(call.instruction["custom_call_target"])
        shapes = [operand.array_shape.without_layout() for operand in call.instruction.operands]
        parameters = [builder.parameter(number, shape) for number, shape in enumerate(shapes)]
        return builder.build_computation(definition(builder, call, *parameters))

    def _of_one(self, call: Call) -> Definition | None:
        if self.of_one is None or set(call.sizes.values()) != {1} or call.result().element_type.is_complex:
            return None
        return self.of_one

    def _by_columns(self, call: Call) -> Definition | None:
        """Return the definition on column-major matrices of the same memory, if some operands or results are row-major;
        else None.
        """
        operands, results = by_rows(call.instruction, self.signatures) if self.by_columns else ([], [])
        if not any((*operands, *results)):
            return None
        return partial(_turning, self.definition or _called, operands, results)


def _turning(
    definition: Definition, operands: list[bool], results: list[bool], b: XlaBuilder, call: Call, *given: XlaOp
) -> XlaOp:
    turned = (_by_columns(b, x) if is_by_rows else x for x, is_by_rows in zip(given, operands, strict=True))
    made = definition(b, call, *turned)
    if not isinstance(call.instruction.shape, TupleShape):
        return _by_rows(b, made) if results[0] else made
    parts = [made[k] for k in range(len(call.instruction.element_shapes))]
    return b.tuple([_by_rows(b, x) if is_by_rows else x for x, is_by_rows in zip(parts, results, strict=True)])


def _called(b: XlaBuilder, call: Call, *operands: XlaOp) -> XlaOp:
    """Return the call itself, with the layouts of its target."""
    attributes = call.instruction.attributes
    config: Raw | None = attributes.get("backend_config")
    shape, text = without_layouts(call.instruction.shape), "" if config is None else config.text
    api = attributes.get("api_version")
    return b.custom_call(attributes["custom_call_target"], operands, shape, text, api_version=api)


def _by_columns(b: XlaBuilder, x: XlaOp) -> XlaOp:
    """Return column-major matrices with the memory of the row-major ones in ``x``."""
    *batch, rows, columns = x.array_shape.dimensions
    return b.transpose(b.reshape(x, (*batch, columns, rows)), _swapped(x))


def _by_rows(b: XlaBuilder, x: XlaOp) -> XlaOp:
    return b.reshape(b.transpose(x, _swapped(x)), x.array_shape.dimensions)


def _swapped(x: XlaOp) -> list[int]:
    *batch, rows, columns = range(x.array_shape.rank)
    return [*batch, columns, rows]
