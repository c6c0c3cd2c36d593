"""How a program runs in chunks, as ``xla2py inspect -t dask`` shows it: by the names of the emitted ``main``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from .arrays import leaf_name
from .quantities import size_text
from .terminal import write_table

if TYPE_CHECKING:
    from ..array.node import Node
    from ..array.program import Tree
    from ..compilation import Compilation
    from ..target import Phase, Plan

RESULT = "result"


def show_chunk_plan(compilation: Compilation, plan: Plan, arguments: Mapping[str, str]) -> None:
    """Show the chunks of the arguments, the phases in the order in which they run, and what that takes.

    ``arguments`` are what the emitted ``main`` calls the program's parameters.
    """

    def told(name: str) -> str:
        """Return the name in the emitted main of an argument, or of an array of a tuple: ``state.0``."""
        found = (arguments[each] + name.removeprefix(each) for each in _beginnings(name) if each in arguments)
        return next(found, name)

    names = _names(compilation)
    cut = [(told(argument), str(sizes).replace("-1", "all")) for argument, sizes in plan.chunks]
    write_table(("argument", "chunks"), cut or [("all", "in one piece")])
    click.echo()
    rows = [
        (
            str(phase.level),
            ", ".join(_unique(names.get(node, phase.name) for node in phase.arrays)),
            str(phase.tasks),
            size_text(phase.task_bytes),
            size_text(phase.file_task_bytes),
            ", ".join(_unique(told(text) if x is None else names.get(x, text) for x, text in _sources(phase))),
            phase.note,
        )
        for phase in plan.phases
    ]
    write_table(("phase", "computes", "tasks", "one holds", "of files", "from", ""), rows)
    click.echo(f"\npasses over the arguments  {plan.passes}")
    loaded, mapped = size_text(plan.peak_bytes), size_text(plan.file_peak_bytes)
    click.echo(f"peak memory in chunks      files: about {mapped}, arrays that must be loaded: about {loaded};")
    click.echo(f"                           in {plan.threads} threads, the result not counted")


def _sources(phase: Phase) -> Iterator[tuple[Node | None, str]]:
    return zip(phase.sources, phase.reads, strict=True)


def _unique(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _names(compilation: Compilation) -> dict[Node, str]:
    """Return the names that the emitted ``main`` gives its values, and the places of those that it returns.

    A value that is taken apart is called as its parts are.
    """
    from ..emission.module.module_writer import write_module
    from ..options import Options

    program = compilation.program
    functions = write_module(program, compilation.target, Options()).functions
    (main,) = [written for written in functions if written.function is program.entry]
    names = {node: name for line in main.lines for node, name in line.after.items()}
    for path, node in _leaves(program.entry.results):
        names.setdefault(node, leaf_name(RESULT, path))
    parts: dict[Node, list[str]] = {}
    for node, name in names.items():
        if node.opcode == "item" and node.operands[0] not in names:
            parts.setdefault(node.operands[0], []).append(name)
    return names | {node: ", ".join(own) for node, own in parts.items()}


def _leaves(tree: Tree, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
    """The values of a tree of results, each with its place in it."""
    if isinstance(tree, tuple):
        for k, part in enumerate(tree):
            yield from _leaves(part, (*path, k))
    elif tree is not None:
        yield path, tree


def _beginnings(name: str) -> list[str]:
    """A name, and what is left of it without the numbers at its end, one after the other."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
