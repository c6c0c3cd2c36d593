"""A target: the array library an emitted module imports, and what of the array dialect it supports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .array.graph import Graph
from .array.node import Node
from .array.operations.functions import declare_prelude
from .array.program import Function, Program
from .array.support import Features, Refuses
from .dataclass import dataclass
from .errors import Diagnostic, UsageError
from .kernels.kernel import Kernel
from .kernels.lines import Lines

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
TARGETS = TEMPLATES.with_name("targets")


def _supports_everything(node: Node) -> str | None:
    return None


def _supports_every_function(function: Function) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A call of a function of a target's own prelude, or of a ``package``: the positional arguments, a ``Slot`` for an
    operand of the node; without any, the operands in order. Where it ``is_operation``, it is one of the array dialect
    on the operands, with the keywords as its parameters. It may have other ``operands`` than the node."""

    function: str
    arguments: tuple[Any, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()
    package: str = ""
    is_operation: bool = False
    operands: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """A package that modules may import: ``own_function(node)`` is its call that stands for a node, if there is one,
    ``readable_function(node)`` that where no kernels are written, and ``edge_function(node)`` that where besides the
    library decides on special input (row ``singularities`` of ``passes/edges.toml``)."""

    own_function: Callable[[Node], OwnCall | None]
    readable_function: Callable[[Node], OwnCall | None]
    edge_function: Callable[[Node], OwnCall | None]


def _whole(lines: Lines) -> int:
    return 1


def _does_nothing(node: Node) -> bool:
    return False


def _has_no_function(node: Node) -> OwnCall | None:
    return None


def _saves_an_array(nodes: Sequence[Node], saved: int, is_repeated: bool) -> bool:
    return saved > 0


def _one(kernel: Kernel, least: int = 1) -> int:
    return 1


@dataclass(frozen=True, slots=True)
class Kernels:
    """The way a target writes kernels (``transpile/kernels``).

    ``fuses(node)`` says whether they compute an operation element by element, ``reduces(node)`` whether along lines,
    ``runs(node)`` whether they keep the running total of lines; ``parts(lines)`` is into how many parts each line is
    cut, whose results the library reduces again. A loop has fewer than ``most_elements``, a kernel at most
    ``most_arguments``; ``pays(nodes, saved, is_repeated)`` says whether it is worth to have one for these operations,
    which saves so many arrays that would be stored without it, and stands in the body of a loop or not.
    ``compiles(node)`` says whether what a loop calls beside kernels may be in a loop that is a function of its own,
    ``own_function(node)`` is the call that stands for a node where kernels are written, ``round_function(node)`` the
    one in a loop that is such a function, and ``loop_form(graph, node)`` what else stands for it there.
    ``refuses(node)`` gives the reason why a node would stand in the way of kernels, so that nothing is raised to it,
    or None; of what the style ``leaves`` to the library in any case, none does. Where they ``take_any_shape``, those
    that ask for no place compute arrays of other shapes, too. The only result of a kernel, and any with
    ``bytes_by_caller`` and more, is an array that the caller makes and a kernel fills, unless that is None. Where one
    ``saves_launches``, parts of what is computed are computed where they are read, and arrays that change in most
    places are computed anew. Where one ``recomputes``, it computes what is cheap again in place of reading an array of
    it. Kernels that compute several elements at once add them up themselves where else the function that ``sums`` names
    would. Those that ``cut_lines`` reduce the interval of a line that a mask selects, and nothing beside it. Loops over
    ``parallel_from`` elements and more may run in several threads, where a target has these; ``at_once(kernel,
    least)`` is how many neighbouring elements each thread of a kernel computes that writes no rows of what a loop
    stacks, where it computes the ``least`` of elements, a large number if none is given. ``any_size`` are the
    fields that are others where sizes are free; None where kernels cannot be written for any. Where kernels are
    strings in the text of a module, ``language()`` says how sizes stand in them
    (:class:`transpile.emission.any_size.kernel_strings.Language`). They need the packages that ``requires`` names,
    which an ``extra`` of this distribution installs, and ``compiler_bytes`` of memory beside their arrays.
    ``declarations`` makes what writes the kernels of a module
    (:class:`transpile.emission.kernels.declarations.Declarations`); the functions of the folder ``prelude`` stand in
    for those of the same names there.
    """

    fuses: Callable[[Node], bool]
    reduces: Callable[[Node], bool]
    declarations: Callable[..., Any]
    parts: Callable[[Lines], int] = _whole
    pays: Callable[[Sequence[Node], int, bool], bool] = _saves_an_array
    leaves: Callable[[Node], bool] = _does_nothing
    runs: Callable[[Node], bool] = _does_nothing
    compiles: Callable[[Node], bool] = _does_nothing
    own_function: Callable[[Node], OwnCall | None] = _has_no_function
    round_function: Callable[[Node], OwnCall | None] = _has_no_function
    loop_form: Callable[[Graph, Node], Node | None] | None = None
    most_elements: int = 2**31
    most_arguments: int = 32
    refuses: Refuses = _supports_everything
    take_any_shape: bool = False
    bytes_by_caller: int | None = None
    saves_launches: bool = False
    recomputes: bool = False
    sums: str = ""
    cut_lines: bool = False
    parallel_from: int | None = None
    at_once: Callable[..., int] = _one
    requires: tuple[str, ...] = ()
    extra: str = ""
    compiler_bytes: int = 0
    any_size: Mapping[str, Any] | None = field(default=None, hash=False)
    language: Callable[[], Any] | None = None
    prelude: Path | None = None

    def joins(self, node: Node) -> bool:
        """Tell whether kernels compute an operation in any way."""
        return self.fuses(node) or self.reduces(node) or self.runs(node)

    def at_any_size(self) -> Kernels:
        """Return the kernels of a program whose sizes are free: as for large arrays, without what only these have."""
        pays = self.pays
        settings: dict[str, Any] = {"pays": lambda nodes, saved, _: pays(nodes, saved, True), "leaves": _does_nothing}
        return replace(self, **settings, **(self.any_size or {}))

    def missing(self) -> tuple[str, ...]:
        """The packages that kernels need and that are not installed."""
        return tuple(name for name in self.requires if find_spec(name) is None)


@dataclass(frozen=True, slots=True)
class Costs:
    """The demands of a call of ``main`` on a device: kernels launched, bytes that they read and write, beside those of
    arguments and results alone, calls of the library by the host, arrays made, and matrix products by dtype.
    """

    launches: int
    bytes_moved: int
    least_bytes: int
    host_calls: int
    allocations: int
    products: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Twin:
    """A stand-in for a library where the device that it needs is missing, so that modules can be compared.

    ``missing()`` says what is missing (``no GPU``), and nothing where the device is there. Within ``active()`` an
    import of the library finds the twin; ``adopt`` makes arguments of ``main`` of NumPy arrays in a nest, ``fetch``
    NumPy arrays of what it returns. ``costs(load, arguments)`` counts what a call of ``main`` would ask of the device.
    """

    missing: Callable[[], str]
    active: Callable[[], AbstractContextManager[None]]
    adopt: Callable[[Any], Any]
    fetch: Callable[[Any], Any]
    costs: Callable[[Callable[[], Any], Sequence[Any]], Costs]


def _as_it_is(array: Any) -> Any:
    return array


def _computed(results: Any, in_this_thread: bool) -> Any:
    return results


def _nothing() -> None:
    return None


def _no_devices() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Library:
    """The way the modules of a target run.

    ``packages`` are the import packages of the library: what they raise is no fault of a module. ``requires`` names the
    distributions that must be installed, those joined by ``|`` in place of each other. ``prepare()`` does in a new
    process what would else count for the first module. ``cut(array)`` makes of a NumPy array the argument that is
    hardest for a module: one in several chunks, where it may be in chunks. ``materialise(results, in_this_thread)``
    computes what is lazy. ``devices()`` says in words which devices there are, ``advice()`` what would make modules
    faster on this machine. A process that ``maps_devices`` needs more addresses than memory.
    """

    packages: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    prepare: Callable[[], object] = _nothing
    cut: Callable[[Any], Any] = _as_it_is
    materialise: Callable[[Any, bool], Any] = _computed
    devices: Callable[[], str] = _no_devices
    advice: Callable[[], tuple[str, ...]] = tuple
    maps_devices: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that a user sets: bytes of memory (``2GiB``), the size of chunks in bytes or elements, and how many
    threads share the memory; empty for the target's own choice.
    """

    memory: str = ""
    chunks: str = ""
    threads: str = ""

    def given(self) -> list[tuple[str, str]]:
        """The sizes that are there, by name."""
        return [(name, size) for name, size in (("memory", self.memory), ("chunks", self.chunks)) if size]


@dataclass(frozen=True, slots=True)
class Phase:
    """One function that a program applies to its chunks: how often, and the bytes that one call holds at most.

    ``name`` and ``reads`` say what it computes and from what by their operations and by the program's arguments;
    ``arrays`` and ``sources`` are the nodes of ``main`` that have these, None for an argument.
    """

    name: str
    level: int  # phases of a level need nothing of each other
    tasks: int
    task_bytes: int
    file_task_bytes: int  # where arguments are files
    reads: tuple[str, ...]  # the arguments, or what of earlier phases is needed
    note: str = ""  # what has no form in chunks
    in_turn: bool = False  # each task goes on from the one before
    arrays: tuple[Node, ...] = ()
    sources: tuple[Node | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a program in chunks: phases, how often its large arguments are read, bytes held at most by so many
    ``threads``: where chunks of arguments must be loaded, and where these are files, of which a task may read a few
    rows at a time. ``layout`` is what the same program at other sizes is arranged alike by.
    """

    phases: tuple[Phase, ...]
    passes: int
    threads: int
    peak_bytes: int
    file_peak_bytes: int
    chunks: tuple[tuple[str, tuple[int, ...]], ...]  # argument: the sizes of its chunks, -1 for a whole axis
    layout: Any = None


@dataclass(frozen=True, slots=True)
class Graphs:
    """How a target captures a program as a graph once, and launches it often.

    ``cannot_hold(node)`` gives the reason why a node cannot be in a graph, or None; ``own_function(node)`` is the call
    that stands for a node there. The functions of the folder ``prelude`` stand in for those of the same names.
    """

    cannot_hold: Callable[[Node], str | None]
    own_function: Callable[[Node], OwnCall | None] = _has_no_function
    prelude: Path | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One array library.

    ``macros`` is the folder of its own macros, which go before the shared ones; it may be in any package.
    ``refuses(node)`` gives the reason why the target does not support a node, ``refuses_function(function)`` why a
    function cannot be written as a whole, or None. ``scalars`` is what dtypes, scalars, ``inf`` and ``nan`` are called
    by, where that is not the library itself. ``arrange`` gives a program the form in which the target runs it in
    chunks, within limits of memory, and tells what that will be like; ``arrange(.., layout)`` does it as in the layout
    of another plan, ``arrange(.., compiler_bytes=..)`` beside what compiles kernels, which are those of its block
    functions. ``features`` tells what its arrays have beside operations. Constant arrays of up to ``largest_folded``
    elements are written where they are used, larger ones once, at the top of the module. ``runners`` run a program of
    several replicas, which is written as for the target
    ``replicas`` where that is another. ``prelude`` are the folders of prelude functions of its own, with their rows
    beside them (``rows.toml``). Functions written for NumPy are carried over to it, or only those of the modules
    that ``carried_over`` names. ``own_function(node)`` is the call that stands for a node, if there is one,
    ``readable_function(node)`` that where no kernels are written;
    ``packages`` are those that a module may import besides, by their names. ``adopt(array)`` makes
    an argument of ``main`` of a NumPy array, where ``main`` does not take NumPy's own. ``lacks`` names the element
    types that the library has no dtype for: they are carried in int8 and uint8. ``kernels`` are there where it
    offers the style ``fast``. ``graphs`` are there where programs can be captured. ``precisions`` are those in
    which it multiplies float32. ``twin`` runs modules
    in tests where the target's device is missing, ``library`` is how they run else.
    """

    name: str
    title: str  # how people write it
    namespace: str  # what emitted code calls the library
    imports: tuple[str, ...]
    macros: Path
    refuses: Refuses = field(default=_supports_everything)
    refuses_function: Callable[[Function], str | None] = field(default=_supports_every_function)
    features: Features = field(default_factory=Features)
    arrange: Callable[..., tuple[Program, Plan]] | None = None
    scalars: str = ""
    largest_folded: int = 8
    runners: tuple[str, ...] = ("run_local", "run_mpi")
    replicas: Target | None = None
    prelude: tuple[Path, ...] = ()
    carried_over: frozenset[str] | None = None
    own_function: Callable[[Node], OwnCall | None] | None = None
    readable_function: Callable[[Node], OwnCall | None] | None = None
    packages: Mapping[str, Package] = field(default_factory=dict, hash=False)
    adopt: Callable[[Any], Any] = field(default=_as_it_is)
    lacks: frozenset[str] = frozenset()
    kernels: Kernels | None = None
    graphs: Graphs | None = None
    precisions: tuple[str, ...] = ("float32",)
    twin: Twin | None = None
    library: Library = field(default_factory=Library)

    def __post_init__(self) -> None:
        for folder in self.prelude:
            declare_prelude(folder)


def target_names() -> list[str]:
    """The installed targets, by entry point ``xla2py.targets``; NumPy, which supports everything, first."""
    from importlib.metadata import entry_points

    names = (point.name for point in entry_points(group="xla2py.targets"))
    return sorted(names, key=lambda name: (name != "numpy", name))


def require_targets(names: Sequence[str]) -> Sequence[str]:
    """The names, if each is that of an installed target. Raises ``UsageError`` (XP406) where one is not, or none is."""
    if names and all(_own_target(name) is not None for name in names):
        return names
    known = target_names()
    installed = f"installed targets: {', '.join(known)}"
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"did you mean '{close[0]}'?" if close else installed
            raise UsageError(Diagnostic("XP406", f"there is no target '{name}'", hint=hint))
    if not names:
        raise UsageError(Diagnostic("XP406", "no target is named", hint=installed))
    return names


def load_target(name: str) -> Target:
    """The target of a name. Raises ``UsageError`` (XP406) where none has it."""
    own = _own_target(name)
    if own is not None:
        return own
    require_targets([name])
    from importlib.metadata import entry_points

    (point,) = entry_points(group="xla2py.targets", name=name)
    target: Target = point.load()
    return target


def _own_target(name: str) -> Target | None:
    """The target of a folder of ``targets/``: to find it, nobody need look through what is installed."""
    folder = name.replace("-", "_")
    if not folder.isidentifier() or not (TARGETS / folder / "__init__.py").is_file():
        return None
    target: Target = import_module(f"..targets.{folder}", __package__).TARGET
    return target if target.name == name else None


def twin_of(target: Target) -> Twin | None:
    """The twin that a target needs here, or None where its own library can run."""
    return target.twin if target.twin is not None and target.twin.missing() else None


def adopted(target: Target, value: Any) -> Any:
    """Return what a target's ``main`` takes: ``value`` with each NumPy array in tuples and lists made the library's."""
    if isinstance(value, tuple | list):
        return type(value)(adopted(target, part) for part in value)
    return None if value is None else target.adopt(value)
