"""The entry point: how ``main``, or the body of a replica, takes its arguments and returns its results."""

from __future__ import annotations

from collections.abc import Sequence

from ...array.program import Program
from ...array.result_trees import fitting
from ...dataclass import dataclass
from ...hlo.ir import ResultTree
from ...hlo.shapes import ArrayShape, TupleShape, leaves
from ...options import SIZES
from ..expression import Renderer
from ..replicas.collectives import ENTRY, Replicas
from ..trees.argument_trees import Path, leaf_paths

CAST, NO_CHECKS = "cast", "none"  # the values of ``checks`` other than "exact"
CHECK_ARRAYS = "check_arguments"  # the function that checks arrays of one dtype and shape
CHECK_TREES = "check_trees"  # the function that checks arrays in trees
CHECK_SIZES, CHECK_TREE_SIZES = "check_sizes", "check_tree_sizes"  # the same for modules for any size
_WRAPPED = 3  # lines of a call whose arguments fit one


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The form of the entry point.

    ``paths`` has the path of each parameter in the trees that the function takes, None for an array of its own;
    ``result_tree`` is the tree that it returns, if known. ``check`` is the prelude function that checks the arguments,
    or empty, and ``cast`` the one that casts them before, or empty. The first ``arguments`` parameters are arguments;
    the others are read from a file.
    """

    name: str
    paths: tuple[Path | None, ...]
    result_tree: ResultTree
    check: str
    cast: str = ""
    arguments: int = 0

    @property
    def argument_paths(self) -> tuple[Path | None, ...]:
        """The paths of the parameters that are arguments."""
        return self.paths[: self.arguments]

    @property
    def takes_trees(self) -> bool:
        """Whether some argument is a tree of arrays."""
        return any(path is not None for path in self.argument_paths)

    @property
    def has_signature(self) -> bool:
        """Whether the module has a constant with the types of the arguments."""
        return self.check not in ("", CHECK_ARRAYS) or self.cast == "cast_trees"


def entry_point(program: Program, replicas: Replicas | None, nested: bool, checks: str) -> EntryPoint:
    """Return the entry point of a program: with trees if they are ``nested``, and with the given ``checks``."""
    count = len(program.entry.computation.parameters) - len(program.original.stored)
    nested = nested and replicas is None
    found = leaf_paths(program.original)
    paths = (*(found[:count] if nested else [None] * count), *found[count:])
    trees = program.original.trees if nested else None
    tree = fitting(trees.results, program.entry.results) if trees is not None else None
    has_trees = any(path is not None for path in paths[:count])
    check = (CHECK_TREE_SIZES if has_trees else CHECK_SIZES) if checks == SIZES else _check(program, count, has_trees)
    check = check if checks != NO_CHECKS and count else ""
    cast = ("cast_trees" if has_trees else "cast_floats") if checks == CAST and check else ""
    return EntryPoint("main" if replicas is None else ENTRY, paths, tree, check, cast, count)


def _check(program: Program, count: int, has_trees: bool) -> str:
    """Return the function that checks the arguments; an empty string for trees with arrays of bounded dynamic shape."""
    shapes = [parameter.shape for parameter in program.entry.computation.parameters[:count]]
    parts = (part for shape in shapes for _, part in leaves(shape))
    if any(isinstance(part, ArrayShape) and part.is_dynamic for part in parts):
        return "" if has_trees else "check_bounded_arguments"
    if has_trees:
        return CHECK_TREES
    return "check_tuples" if any(isinstance(shape, TupleShape) for shape in shapes) else CHECK_ARRAYS


def array_checks(renderer: Renderer, names: Sequence[str], dtype: str, shape: tuple[int, ...]) -> list[str]:
    """Return the calls that check arrays of one dtype and shape: one, or several of a line each if that is shorter.

    A call that does not fit into a line has a line for each argument, and two for the brackets.
    """
    groups: list[list[str]] = []
    for name in names:
        if groups and _is_line(renderer, _array_check(renderer, [*groups[-1], name], dtype, shape)):
            groups[-1].append(name)
        else:
            groups.append([name])
    several = [_array_check(renderer, group, dtype, shape) for group in groups]
    one = _array_check(renderer, names, dtype, shape)
    count = sum(1 if _is_line(renderer, text) else _WRAPPED for text in several)
    return several if _is_line(renderer, one) or count < len(names) + 4 else [one]


def _array_check(renderer: Renderer, names: Sequence[str], dtype: str, shape: tuple[int, ...]) -> str:
    return renderer.statement(CHECK_ARRAYS, names, dtype, shape)


def _is_line(renderer: Renderer, text: str) -> bool:
    """Return whether a statement of the entry point fits into a line."""
    return renderer.layout.fits(text, 4)
