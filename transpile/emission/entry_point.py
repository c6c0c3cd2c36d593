"""How the program's own function, ``main`` or the body of one replica, takes its arguments and gives its results."""

from __future__ import annotations

from dataclasses import dataclass

from ..array.program import Program
from ..hlo.ir import ResultTree
from ..hlo.shapes import ArrayShape, leaves
from .argument_trees import Path, leaf_paths
from .replicas import ENTRY, Replicas
from .result_trees import fitting


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The form of the entry.

    ``paths`` has the place of each parameter in the trees that the function takes, None for an array of its own;
    ``result_tree`` is the tree that it returns, where that is known. ``check`` is the function of the prelude that
    checks the arguments, empty where none does.
    """

    name: str
    paths: tuple[Path | None, ...]
    result_tree: ResultTree
    check: str

    @property
    def takes_trees(self) -> bool:
        """Whether some argument is a tree of arrays."""
        return any(path is not None for path in self.paths)


def entry_point(program: Program, replicas: Replicas | None, nested: bool, checks: bool) -> EntryPoint:
    """The form of a program's entry: with trees if they are ``nested``, and with checks of the arguments."""
    parameters = program.entry.computation.parameters
    if replicas is not None:
        return EntryPoint(ENTRY, (None,) * len(parameters), None, _check(program, checks, False))
    if not nested:
        return EntryPoint("main", (None,) * len(parameters), None, _check(program, checks, False))
    paths = tuple(leaf_paths(parameters))
    tree = fitting(program.original.result_tree, program.entry.results)
    return EntryPoint("main", paths, tree, _check(program, checks, any(path is not None for path in paths)))


def _check(program: Program, checks: bool, has_trees: bool) -> str:
    """The function that checks the arguments; none where trees hold arrays of which only the bounds are known."""
    if not checks or not program.entry.parameters:
        return ""
    shapes = (part for parameter in program.entry.computation.parameters for _, part in leaves(parameter.shape))
    if any(isinstance(shape, ArrayShape) and shape.is_dynamic for shape in shapes):
        return "" if has_trees else "check_bounded_arguments"
    return "check_trees" if has_trees else "check_arguments"
