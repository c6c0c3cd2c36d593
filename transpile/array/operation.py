"""What one row of the table of operations says.

A row has the name of an operation, what it takes, the rules that give its type, the map from the axes of its operands
to the axes of its result, its traits and a default name for its value. Rules get the operands and the parameters of a
node; what a rule leaves open is given by whoever makes the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..hlo.element_types import ElementType

Shape = tuple[int, ...]
Interval = tuple[int, int]  # inclusive bounds of every element of an integer node
AxisMap = tuple[int | None, ...]  # for each axis of an operand: the axis of the result, None where it is needed whole


class Operand(Protocol):
    """What rules read of the nodes that an operation takes."""

    @property
    def opcode(self) -> str: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def element_type(self) -> ElementType | None: ...
    @property
    def is_python_int(self) -> bool: ...
    @property
    def interval(self) -> Interval | None: ...
    @property
    def parameters(self) -> dict[str, Any]: ...
    @property
    def results(self) -> tuple[Any, ...]: ...


Parameters = Mapping[str, Any]
ShapeRule = Callable[[Sequence[Any], Parameters], "Shape | None"]
TypeRule = Callable[[Sequence[Any], Parameters], "ElementType | None"]
ResultsRule = Callable[[Sequence[Any], Parameters], "tuple[tuple[Shape, ElementType | None], ...] | None"]
IntervalRule = Callable[[Sequence[Any], Parameters, ElementType], "Interval | None"]
PythonIntRule = Callable[[Sequence[Any]], bool]
AxesRule = Callable[[Any], "list[AxisMap]"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation: the test that its values pass, and whether it may be left out."""

    kind: str
    accepts: Callable[[Any], bool]
    is_optional: bool = False

    @property
    def optional(self) -> Parameter:
        """The same parameter, which may be left out."""
        return Parameter(self.kind, self.accepts, True)


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """One row of the table.

    ``operands`` are the names of what it takes; the last stands for any number where it begins with ``*``. Where
    ``shape``, ``element_type`` or ``results`` is None, whoever makes a node gives it, or there is none.
    ``default_names`` are what a value is called that nothing else names, one for each result.

    ``is_elementwise``: each element of the result needs the elements at its own place, after broadcasting.
    ``is_commutative``: its two operands may change places. ``promotes``: the library converts its operands to one type
    before it computes. ``is_discontinuous``: a number that is a little larger may give quite another.
    ``is_costly``: it takes many times the time of an addition. ``is_idempotent``: of a value and itself it is the
    value. ``rounds``: how it rounds one number to a whole one. ``is_reduction``: it folds axes of its operand.
    ``folds``: the element-wise operation by which it folds, where folds of parts fold to that of the whole.
    ``is_view``: the result may look at the memory of the first operand. ``allocates``: the result is an array that
    nothing else looks at. ``joins``: each element of the result is one of an operand's, piece by piece.
    ``changes``: the result is the first operand with something written into it. ``is_generated``: its elements come
    from numbers alone, and no array is read. ``is_atom``: a name or a number, without an operation. ``is_light``: a
    reader takes it in with its operand, as the part of an array or an array in another shape.
    ``has_effect``: it must happen once, in its order among the others. ``asks_host``: a function that the program is
    handed does it. ``has_body``: it holds code of its own.
    ``widens``: it may accumulate in a wider element type than its operand's, which is then given.
    ``stands_alone``: equal nodes must not become one. ``is_known_on_host``: made of Python numbers it is one.
    """

    name: str
    operands: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    shape: ShapeRule | None = None
    element_type: TypeRule | None = None
    results: ResultsRule | None = None
    interval: IntervalRule | None = None
    python_int: PythonIntRule | None = None
    axes: AxesRule | None = None
    default_names: tuple[str, ...] = ()
    is_elementwise: bool = False
    is_commutative: bool = False
    promotes: bool = False
    is_discontinuous: bool = False
    is_costly: bool = False
    is_idempotent: bool = False
    rounds: Callable[[float], int] | None = None
    is_reduction: bool = False
    folds: str = ""
    is_view: bool = False
    allocates: bool = False
    joins: bool = False
    changes: bool = False
    is_generated: bool = False
    is_atom: bool = False
    is_light: bool = False
    has_effect: bool = False
    asks_host: bool = False
    has_body: bool = False
    stands_alone: bool = False
    widens: bool = False
    is_known_on_host: bool = False

    @property
    def least_operands(self) -> int:
        """How many operands a node has at least."""
        return len(self.operands) - self.takes_any

    @property
    def is_filled(self) -> bool:
        """It makes an array of one number."""
        return self.operands == ("fill",)

    @property
    def takes_any(self) -> bool:
        """The last operand stands for any number."""
        return bool(self.operands) and self.operands[-1].startswith("*")


class Table:
    """Rows by name, filled by the modules that declare them."""

    def __init__(self) -> None:
        self.rows: dict[str, Operation] = {}

    def define(self, names: str, operands: str = "", **row: Any) -> None:
        """Add a row of these operands, ``"x *indices"``, for each of some names.

        Raises AssertionError where a name has a row already.
        """
        for name in names.split():
            assert name not in self.rows, f"{name} has two rows"
            self.rows[name] = Operation(name, tuple(operands.split()), **row)
