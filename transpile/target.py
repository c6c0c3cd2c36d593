"""The type of a target: the array library that an emitted module imports, and its support of the array dialect."""

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
    """A call of a function of a target's own prelude, or of a ``package``, that replaces a node. ``arguments`` are
    positional, with a ``Slot`` for an operand; if empty, all operands in order. If ``is_operation``, the function is an
    operation of the array dialect, and the keywords are its parameters. ``operands``, if given, replace those of the
    node.
    """

    function: str
    arguments: tuple[Any, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()
    package: str = ""
    is_operation: bool = False
    operands: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """A package that modules may import. ``own_function(node)`` returns its call that replaces a node, if any;
    ``readable_function(node)`` is used if no kernels are written, and ``edge_function(node)`` if moreover the library
    may decide on special input (row ``singularities`` of ``passes/edges.toml``).
    """

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

    Predicates on operations: ``fuses(node)`` is whether kernels compute an operation element by element,
    ``reduces(node)`` whether they reduce along lines, ``runs(node)`` whether they compute running reductions of lines.
    ``compiles(node)`` is whether an operation that is not a kernel may be in a loop that is compiled as a function.
    ``refuses(node)`` returns the reason why a node would prevent fusion, so that nothing is raised to it, or None.
    Nodes that the style ``leaves`` to the library are never refused.

    Replacements: ``own_function(node)`` returns the call that replaces a node if kernels are written,
    ``loop_function(node)`` the one in a compiled loop, and ``loop_form(graph, node)`` another expression for it there.

    Limits: a loop has fewer than ``most_elements``, a kernel at most ``most_arguments``, and each array of a function
    with a loop that is compiled as a whole at most ``most_in_whole`` elements. ``parts(lines)`` is the number
    of parts that each line is cut into; the library reduces their results. ``pays(nodes, saved, is_repeated)`` is
    whether a kernel for these operations pays: it saves this number of stored arrays, and is in the body of a loop or
    not.

    Properties: with ``take_any_shape``, kernels that do not depend on positions also compute arrays of other shapes.
    The caller allocates the only result of a kernel, and any result of at least ``bytes_by_caller`` bytes, unless that
    is None. ``saves_launches``: parts of a value are computed where they are read, and arrays that change in most
    places are recomputed. ``recomputes``: cheap values are recomputed rather than read from an array. ``sums`` names
    the prelude function whose sums such kernels add up themselves if they compute several elements at once.
    ``cut_lines``: reduce only the interval of a line that a mask selects. Loops over at least ``parallel_from``
    elements may run in several threads if the target has any. ``at_once(kernel, least)`` is the number of adjacent
    elements that one thread of a kernel computes, for at least ``least`` elements (by default, a large number), unless
    the kernel writes rows of a loop's stacked output.

    ``any_size`` are the fields that differ if sizes are free; None if kernels cannot be written then. If kernels are
    strings in the module, ``language()`` says how they contain sizes
    (:class:`transpile.emission.any_size.kernel_strings.Language`). Kernels need the packages in ``requires``, which an
    ``extra`` of this distribution installs, and ``compiler_bytes`` of memory beside their arrays. ``declarations``
    makes the writer of a module's kernels (:class:`transpile.emission.kernels.declarations.Declarations`). Functions of
    the folder ``prelude`` replace prelude functions of the same names.
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
    loop_function: Callable[[Node], OwnCall | None] = _has_no_function
    loop_form: Callable[[Graph, Node], Node | None] | None = None
    most_elements: int = 2**31
    most_arguments: int = 32
    most_in_whole: int = 0
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
        """Return whether kernels compute an operation in any way."""
        return self.fuses(node) or self.reduces(node) or self.runs(node)

    def at_any_size(self) -> Kernels:
        """Return the kernels of a program with free sizes: those for large arrays, without rewrites for large arrays
        only.
        """
        pays = self.pays
        settings: dict[str, Any] = {"pays": lambda nodes, saved, _: pays(nodes, saved, True), "leaves": _does_nothing}
        return replace(self, **settings, **(self.any_size or {}))

    def missing(self) -> tuple[str, ...]:
        """Return the required packages that are not installed."""
        return tuple(name for name in self.requires if find_spec(name) is None)


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a call of ``main`` on a device: launches, bytes that kernels read and write, bytes of arguments and
    results alone, library calls by the host, allocations, and matrix products by dtype.
    """

    launches: int
    bytes_moved: int
    least_bytes: int
    host_calls: int
    allocations: int
    products: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Twin:
    """A stand-in for a library whose device is missing, so that modules can be compared.

    ``missing()`` names what is missing (``no GPU``), or "" if the device is present. Within ``active()`` an import of
    the library finds the twin; ``adopt`` makes arguments of ``main`` from nested NumPy arrays, ``fetch`` NumPy arrays
    from its results. ``costs(load, arguments)`` counts the costs of a call of ``main`` on the device.
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

    ``packages`` are the import packages of the library: an exception of theirs is not an error of the module.
    ``requires`` names the distributions that must be installed, alternatives joined by ``|``. ``prepare()`` does work
    in a new process that would otherwise count for the first module. ``cut(array)`` turns a NumPy array into the
    hardest argument for a module: one in several chunks, if it may be in chunks. ``materialise(results,
    in_this_thread)`` computes lazy results. ``devices()`` describes the devices, ``advice()`` what would make modules
    faster on this machine. With ``maps_devices``, a process needs more address space than memory.
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
    """The limits that a user sets: bytes of memory (``2GiB``), the size of chunks in bytes or elements, and the number
    of threads that share the memory; empty for the target's own choice.
    """

    memory: str = ""
    chunks: str = ""
    threads: str = ""

    def given(self) -> list[tuple[str, str]]:
        """Return the limits on memory and chunks that are set, by name."""
        return [(name, size) for name, size in (("memory", self.memory), ("chunks", self.chunks)) if size]


@dataclass(frozen=True, slots=True)
class Phase:
    """One function that a program applies to its chunks: the number of calls, and the most bytes that one call holds.

    ``name`` and ``reads`` describe what it computes and reads, by operations and by the program's arguments; ``arrays``
    and ``sources`` are the corresponding nodes of ``main``, None for an argument.
    """

    name: str
    level: int  # phases of one level are independent
    tasks: int
    task_bytes: int
    file_task_bytes: int  # if arguments are files
    reads: tuple[str, ...]  # the arguments, or results of earlier phases
    note: str = ""  # operations that have no form in chunks
    in_turn: bool = False  # each task continues from the one before
    arrays: tuple[Node, ...] = ()
    sources: tuple[Node | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a program in chunks: phases, how often its large arguments are read, and the most bytes held with
    this number of ``threads``: if chunks of arguments must be loaded, and if arguments are files, of which a task may
    read a few rows at a time. ``layout`` lets the same program at other sizes follow this plan.
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
    """The way a target captures a program as a graph once and launches it many times.

    ``cannot_hold(node)`` returns the reason why a node cannot be in a graph, or None; ``own_function(node)`` the call
    that replaces a node there. Functions of the folder ``prelude`` replace those of the same names.
    """

    cannot_hold: Callable[[Node], str | None]
    own_function: Callable[[Node], OwnCall | None] = _has_no_function
    prelude: Path | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One array library.

    ``macros`` is the folder of its own macros, which take precedence over the shared ones; it may be in any package.
    ``prelude`` are the folders of its own prelude functions, with their rows beside them (``rows.toml``). Functions
    written for NumPy are carried over to the target, or only those of the modules that ``carried_over`` names.
    ``scalars`` is the namespace of dtypes, scalars, ``inf`` and ``nan``, if it is not the library itself.

    ``refuses(node)`` returns the reason why the target does not support a node, ``refuses_function(function)`` the
    reason why a function cannot be written as a whole, or None. ``features`` are the properties of its arrays beside
    operations. ``lacks`` names the element types for which the library has no dtype: they are carried in int8 and
    uint8. ``precisions`` are those of float32 products. ``own_function(node)`` returns the call that replaces a node,
    if any; ``readable_function(node)`` the one used if no kernels are written. ``packages`` are optional packages that
    a module may import, by name. Constant arrays of up to ``largest_folded`` elements are written where they are used,
    larger ones once, at the top of the module.

    ``arrange`` turns a program into the form that runs in chunks, within limits of memory, and returns its plan.
    ``arrange(.., layout)`` follows the layout of another plan; ``arrange(.., compiler_bytes=..)`` reserves memory for
    the compiler of kernels, which are those of block functions. ``runners`` run a program of several replicas, whose
    body is written for the target ``replicas`` if given; each is a method of a class of the prelude. ``kernels`` are
    given if the target offers the style ``fast``, ``graphs`` if it can capture programs. ``adopt(array)`` makes an
    argument of ``main`` from a NumPy array. ``library`` is the way modules run; ``twin`` runs them in tests if the
    target's device is missing. Helpers that modules share are in the target's file; those of the prelude's modules in
    ``helpers_of`` are those of the target of that name, in its file.
    """

    name: str
    title: str  # for people
    namespace: str  # the name of the library in emitted code
    imports: tuple[str, ...]
    macros: Path
    refuses: Refuses = field(default=_supports_everything)
    refuses_function: Callable[[Function], str | None] = field(default=_supports_every_function)
    features: Features = field(default_factory=Features)
    arrange: Callable[..., tuple[Program, Plan]] | None = None
    scalars: str = ""
    largest_folded: int = 8
    runners: Mapping[str, str] = field(
        default_factory=lambda: {"run_local": "InThreads", "run_mpi": "OnRanks"}, hash=False
    )
    replicas: Target | None = None
    prelude: tuple[Path, ...] = ()
    helpers_of: Mapping[str, str] = field(default_factory=dict, hash=False)
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
    """Return the installed targets, by entry point ``xla2py.targets``; NumPy, which supports everything, first."""
    from importlib.metadata import entry_points

    names = (point.name for point in entry_points(group="xla2py.targets"))
    return sorted(names, key=lambda name: (name != "numpy", name))


def require_targets(names: Sequence[str]) -> Sequence[str]:
    """Return the names if each is an installed target. Raises ``UsageError`` (XP406) if one is not, or there are
    none.
    """
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
    """Return the target of a name. Raises ``UsageError`` (XP406) for an unknown name."""
    own = _own_target(name)
    if own is not None:
        return own
    require_targets([name])
    from importlib.metadata import entry_points

    (point,) = entry_points(group="xla2py.targets", name=name)
    target: Target = point.load()
    return target


def _own_target(name: str) -> Target | None:
    """Return the target in a folder of ``targets/``, without a search of installed packages; None if there is none."""
    folder = name.replace("-", "_")
    if not folder.isidentifier() or not (TARGETS / folder / "__init__.py").is_file():
        return None
    target: Target = import_module(f"..targets.{folder}", __package__).TARGET
    return target if target.name == name else None


def twin_of(target: Target) -> Twin | None:
    """Return the twin that a target needs on this machine; None if its own library can run."""
    return target.twin if target.twin is not None and target.twin.missing() else None


def adopted(target: Target, value: Any) -> Any:
    """Return the argument of a target's ``main`` for ``value``: each NumPy array in tuples and lists becomes the
    library's.
    """
    if isinstance(value, tuple | list):
        return type(value)(adopted(target, part) for part in value)
    return None if value is None else target.adopt(value)
