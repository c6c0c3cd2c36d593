"""A row of the table of custom calls, and an instruction read by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from ...dataclass import dataclass
from ..builder import XlaBuilder, XlaOp
from ..ir import Computation, Instruction
from ..shapes import ArrayShape, TupleShape
from .fields import ConfigError, Field, read_fields
from .signatures import matched, require_columns

_NO_FIELDS: Mapping[str, Field] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Call:
    """A custom call whose shapes and configuration are what its target takes."""

    instruction: Instruction
    sizes: Mapping[str, int]  # by their names in the signature
    config: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The value of a field of the configuration."""
        return self.config[name]

    def result(self, index: int = 0) -> ArrayShape:
        """The shape of a result."""
        shape = self.instruction.element_shapes[index]
        assert isinstance(shape, ArrayShape)
        return shape

    def with_scratch(self, b: XlaBuilder, *results: XlaOp) -> XlaOp:
        """The results, and zeros for the memory that a library works in."""
        if not isinstance(self.instruction.shape, TupleShape):
            return results[0]
        scratch = [
            b.broadcast(b.zero(shape.element_type), shape.dimensions)
            for shape in self.instruction.element_shapes[len(results) :]
            if isinstance(shape, ArrayShape)
        ]
        return b.tuple([*results, *scratch])


Definition = Callable[..., XlaOp]
"""``(builder, call, *operands)``: what the call computes, in HLO's own operations. Raises ConfigError."""


@dataclass(frozen=True, slots=True)
class CustomCall:
    """The operands that custom calls of one target take, and what these compute.

    A ``definition`` says it in HLO; without one, ``rule`` names what lowers the call: a rule of the lowering, or a
    prelude function with the results of the call. ``attributes`` are those of the instruction that it must have,
    ``envelopes`` and ``config`` are for :func:`~.fields.read_fields`, ``signatures`` for :mod:`.signatures`.
    """

    signatures: tuple[str, ...]
    forms: tuple[str, ...] = field(default=(), kw_only=True)  # the signatures for every precision
    definition: Definition | None = None
    rule: str = ""
    config: Mapping[str, Field] = field(default_factory=lambda: _NO_FIELDS)
    envelopes: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    takes_dynamic: bool = False
    by_columns: bool = False  # whether matrices lie by columns
    runs_on_cpu: bool = False  # whether XLA on the CPU knows the target
    check: Callable[[Call], None] | None = None

    def read(self, instruction: Instruction) -> Call:
        """An instruction of this target. Raises ConfigError where it is not what the target takes."""
        for name in self.attributes:
            if instruction.attributes.get(name) is None:
                raise ConfigError(f"needs the attribute {name}")
        sizes = matched(instruction, self.signatures, self.takes_dynamic)
        if self.by_columns:
            require_columns(instruction, self.signatures)
        call = Call(
            instruction, sizes, read_fields(instruction.attributes.get("backend_config"), self.config, self.envelopes)
        )
        if self.check is not None:
            self.check(call)
        return call

    def computation(self, call: Call) -> Computation | None:
        """The call's definition as a computation of its operands; None where it has none in HLO.

        Raises ConfigError, or HloVerificationError where the operands do not fit together.
        """
        given: Computation | None = call.instruction.attributes.get("to_apply")
        if given is not None and self.definition is not None:
            return given
        if self.definition is None:
            return None
        builder = XlaBuilder(call.instruction["custom_call_target"])
        shapes = [operand.array_shape.without_layout() for operand in call.instruction.operands]
        parameters = [builder.parameter(number, shape) for number, shape in enumerate(shapes)]
        return builder.build_computation(self.definition(builder, call, *parameters))
