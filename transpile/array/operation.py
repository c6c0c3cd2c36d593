"""One row of the table of operations.

A row has the name of an operation, what it takes, the rules that give its type, the map from the axes of its operands
to the axes of its result, its traits and a default name for its value. Rules get the operands and the parameters of a
node; what a rule leaves open is given by whoever makes the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from ..dataclass import dataclass
from ..hlo.element_types import ElementType

Shape = tuple[int, ...]
Interval = tuple[int, int]  # inclusive bounds of every element of an integer node
AxisMap = tuple[int | None, ...]  # for each axis of an operand: the axis of the result, None where it is needed whole


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
Row = dict[str, Any]  # columns that rows have in common
ShapeRule = Callable[[Sequence[Any], Parameters], "Shape | None"]
TypeRule = Callable[[Sequence[Any], Parameters], "ElementType | None"]
ResultsRule = Callable[[Sequence[Any], Parameters], "tuple[tuple[Shape, ElementType | None], ...] | None"]
IntervalRule = Callable[[Sequence[Any], Parameters, ElementType], "Interval | None"]
MagnitudeRule = Callable[[Any, "list[float]"], "float | None"]
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
    ``default_names`` are what a value is called that nothing else names, one for each result; ``names_after`` are the
    forms of names after what it works on, where that has a name: after one array alone, after two.

    The flags behind the rules are traits, which passes and the emission ask for.
    """

    name: str
    operands: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    shape: ShapeRule | None = None
    element_type: TypeRule | None = None
    results: ResultsRule | None = None
    interval: IntervalRule | None = None
    magnitude: MagnitudeRule | None = None  # of floats
    python_int: PythonIntRule | None = None
    axes: AxesRule | None = None
    function: str = ""  # of the library, where a call of it with the operands is all that is written
    default_names: tuple[str, ...] = ()
    names_after: tuple[str, ...] = ()
    # what it computes
    is_elementwise: bool = False  # each element needs the elements at its own place, after broadcasting
    is_commutative: bool = False  # its two operands may change places
    is_idempotent: bool = False  # of a value and itself it is the value
    promotes: bool = False  # the library converts its operands to one type before it computes
    is_discontinuous: bool = False  # a number that is a little larger may give quite another
    rounds: Callable[[float], int] | None = None  # how it rounds one number to a whole one
    is_blind_to_minus: bool = False  # it gives the same for -0 as for 0
    wraps: bool = False  # an integer that leaves its type comes in at the other end
    is_quiet: bool = False  # the library never warns of what it gives of real numbers, as of no infinity
    hides: bool = False  # kernels compute what it is made of with what is around it, and a call stands in their way
    is_costly: bool = False  # it takes many times the time of an addition
    takes_arrays: bool = False  # where a library tells arrays from numbers, each operand has to be an array
    is_product: bool = False  # it multiplies its operands and sums over axes of both
    is_reduction: bool = False  # it folds axes of its operand
    folds: str = ""  # the element-wise operation by which it folds, where folds of parts fold to that of the whole
    widens: bool = False  # it may accumulate in a wider element type than its operand's, which is then given
    shares_axes: bool = False  # all of its several results have the axes that the axis map says
    # where its elements are
    is_view: bool = False  # the result may look at the memory of the first operand
    allocates: bool = False  # the result is an array that nothing else looks at
    passes_on: bool = False  # the result may be an operand, or look at the memory of one
    is_read_only: bool = False  # the result may be an array that cannot be written
    moves: bool = False  # its elements are those of operands, or known numbers: nothing is computed
    joins: bool = False  # each element is one of an operand's, piece by piece
    changes: bool = False  # the result is the first operand with something written into it
    counts: bool = False  # positions along an axis: how large they are follows from a size
    is_generated: bool = False  # the elements come from numbers alone, and no array is read
    is_known_on_host: bool = False  # made of Python numbers it is one
    # how it is written
    is_atom: bool = False  # a name or a number, without an operation
    is_light: bool = False  # a reader takes it in with its operand, as a part of an array
    # what else it does
    has_effect: bool = False  # it must happen once, in its order among the others
    asks_host: bool = False  # a function that the program is handed does it
    has_body: bool = False  # it holds code of its own
    stands_alone: bool = False  # equal nodes must not become one

    @property
    def least_operands(self) -> int:
        """Return how many operands a node has at least."""
        return len(self.operands) - self.takes_any

    @property
    def is_source(self) -> bool:
        """Tell whether it makes an array of numbers alone, or stands for one that is given."""
        makes = not self.operands or self.is_filled or self.operands == ("*count",)
        return makes and not self.is_known_on_host and not self.has_effect

    @property
    def takes_positions(self) -> bool:
        """Tell whether operands of it are positions of elements in the first."""
        return self.operands[-1:] in (("index",), ("*indices",))

    @property
    def is_filled(self) -> bool:
        """Tell whether it makes an array of one number."""
        return self.operands == ("fill",)

    @property
    def takes_any(self) -> bool:
        """Tell whether the last operand stands for any number."""
        return bool(self.operands) and self.operands[-1].startswith("*")


class Table:
    """Rows by name, filled by the modules that declare them."""

    def __init__(self, **traits: Any) -> None:
        self.rows: dict[str, Operation] = {}
        self.traits = traits  # of all rows that do not say otherwise

    def define(
        self, rows: str, operands: str = "", *, names: str = "", after: str = "", traits: str = "", **row: Any
    ) -> None:
        """Add a row of these operands, ``"x *indices"``, for each of some names.

        ``names`` are its default names, ``after`` the names after operands, ``traits`` its flags without ``is_``.
        Raises AssertionError where a name has a row already.
        """
        flags = {_flag(trait): True for trait in traits.split()}
        words = {"default_names": tuple(names.split()), "names_after": tuple(after.split())}
        for name in rows.split():
            assert name not in self.rows, f"{name} has two rows"
            self.rows[name] = Operation(name, tuple(operands.split()), **{**self.traits, **words, **flags, **row})


def _flag(trait: str) -> str:
    return trait if trait in Operation.__dataclass_fields__ else f"is_{trait}"
