"""The type of a row of the table of operations.

A row has the name of an operation, its operands, the rules that infer its type, the map from the axes of its operands
to the axes of its result, its traits and default names for its value. Rules get the operands and the parameters of a
node. If a rule leaves a type open, the code that makes the node gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from ..dataclass import dataclass
from ..hlo.element_types import ElementType

Shape = tuple[int, ...]
Interval = tuple[int, int]  # inclusive bounds of every element of an integer node
AxisMap = tuple[int | None, ...]  # the result's axis for each axis of an operand; None if it is needed whole


class Operand(Protocol):
    """One operand of an operation, as rules read it."""

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
MagnitudeRule = Callable[[Any, "list[float]"], "float | None"]
PythonIntRule = Callable[[Sequence[Any]], bool]
AxesRule = Callable[[Any], "list[AxisMap]"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation: the test for its values, and whether it is optional."""

    kind: str
    accepts: Callable[[Any], bool]
    is_optional: bool = False

    @property
    def optional(self) -> Parameter:
        """This parameter as an optional one."""
        return Parameter(self.kind, self.accepts, True)


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """One row of the table.

    ``operands`` are the names of the operands; the last stands for any number of operands if it begins with ``*``. If
    ``shape``, ``element_type`` or ``results`` is None, the code that makes a node gives it, or there is none.
    ``default_names`` are the last choice for the names of values, one for each result. ``names_after`` are templates
    for names made from operands that have names: the first for one array operand, the second for two.

    The flags behind the rules are traits, which passes and the emission ask for.
    """

    name: str
    operands: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    shape: ShapeRule | None = None
    element_type: TypeRule | None = None
    results: ResultsRule | None = None
    interval: IntervalRule | None = None
    magnitude: MagnitudeRule | None = None  # for floats
    python_int: PythonIntRule | None = None
    exact: Callable[..., Interval | None] | None = None  # what Python's integers give, from intervals of the operands
    axes: AxesRule | None = None
    function: str = ""  # of the library, if a call of it with the operands is the whole expression
    default_names: tuple[str, ...] = ()
    names_after: tuple[str, ...] = ()
    # computation
    is_elementwise: bool = False  # each element needs only the elements at its own position, after broadcasting
    is_commutative: bool = False  # its two operands may be exchanged
    is_idempotent: bool = False  # op(x, x) is x
    promotes: bool = False  # the library converts its operands to one type before it computes
    is_discontinuous: bool = False  # a tiny change of an operand may change the result a lot
    rounds: Callable[[float], int] | None = None  # how it rounds one number to an integer
    ignores_sign_of_zero: bool = False  # -0 gives the same result as 0
    keeps_zero: bool = False  # a zero of either sign gives one of some sign
    wraps: bool = False  # integer overflow wraps around
    is_quiet: bool = False  # on real numbers, the library never warns of overflow or invalid values
    blocks_fusion: bool = False  # as a call, it would hide operations that kernels fuse with their surroundings
    is_costly: bool = False  # it takes many times the time of an addition
    takes_arrays: bool = False  # if a library distinguishes arrays from numbers, each operand must be an array
    is_product: bool = False  # it multiplies its operands and sums over axes of both
    is_reduction: bool = False  # it folds axes of its operand
    folds: str = ""  # the combining operation, if reductions of parts can be combined to the reduction of the whole
    widens: bool = False  # it may accumulate in a wider element type than its operand's, given with the node
    shares_axes: bool = False  # the axis map holds for all of its results
    # memory
    is_view: bool = False  # the result may be a view of the first operand
    allocates: bool = False  # the result is an array that nothing else aliases
    passes_on: bool = False  # the result may be an operand or alias one
    is_read_only: bool = False  # the result may be an array that cannot be written
    moves: bool = False  # pure data movement: its elements are operands' elements or known numbers
    joins: bool = False  # it joins its operands, piece by piece
    changes: bool = False  # the result is the first operand after an update
    counts: bool = False  # positions or counts along an axis: bounded by its size
    is_generated: bool = False  # its elements are computed from numbers; it reads no array
    is_known_on_host: bool = False  # applied to Python numbers, it gives a Python number
    # text
    is_atom: bool = False  # a name or a number, without an operation
    is_light: bool = False  # trivial to read together with its operand, as a part of an array is
    # effects and regions
    has_effect: bool = False  # it must run once, in order among the effects
    asks_host: bool = False  # a function that the caller passes to the program does it
    has_body: bool = False  # it has regions
    stands_alone: bool = False  # excluded from common subexpression elimination

    @property
    def least_operands(self) -> int:
        """The minimum number of operands."""
        return len(self.operands) - self.takes_any

    @property
    def is_source(self) -> bool:
        """Whether the operation makes an array from numbers alone, or stands for an array that is given."""
        makes = not self.operands or self.is_filled or self.operands == ("*count",)
        return makes and not self.is_known_on_host and not self.has_effect

    @property
    def takes_positions(self) -> bool:
        """Whether the last operands are positions of elements in the first operand."""
        return self.operands[-1:] in (("index",), ("*indices",))

    @property
    def is_filled(self) -> bool:
        """Whether the operation makes an array filled with one number."""
        return self.operands == ("fill",)

    @property
    def takes_any(self) -> bool:
        """Whether the last operand stands for any number of operands."""
        return bool(self.operands) and self.operands[-1].startswith("*")
