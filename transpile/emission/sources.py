"""Variable names from the user's own Python source.

XLA keeps, for each instruction, the file, line and start column of the expression it was traced from. Where that
expression is the value of an assignment, its target is the name the author gave to it. A ``return`` passes the
question on to the line of the caller. Only identifiers are ever taken from the files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..array.node import Graph, Node
from ..array.traversal import dependencies
from ..hlo.ir import HloModule, Instruction
from ..hlo.stack_frames import driver_frames
from .source_functions import SourceFunctions
from .source_lines import SourceLines

Place = tuple[str, int, int]  # file, line from 1, column from 0

Site = tuple[str, Place, int]  # name, place, frame around it

RETURNED = ""  # the expression is what a function returns


class SourceNames:
    """What the author called the values of a module."""

    def __init__(self, module: HloModule) -> None:
        self.frames = module.stack_frames
        self.driver = driver_frames(module)
        self.targets: dict[Place, str] = {}
        trees = {file_name: parsed(text) for file_name, text in sorted(module.sources.items())}
        for file_name, tree in trees.items():
            self.targets.update(targets(file_name, tree))
        self.functions = SourceFunctions(module, trees)
        self.lines = SourceLines(module)

    def site(self, instruction: Instruction) -> Site | None:
        """The author's name for an instruction's value, and where it is given: the place and the calls around it."""
        metadata = instruction.metadata
        if metadata is None or not self.targets:
            return None
        prefix = "d_" if is_gradient(instruction) else ""  # of what is computed there
        if not metadata.stack_frame_id:
            place = (metadata.source_file, metadata.source_line, metadata.source_column)
            name = self.targets.get(place)
            return (prefix + name, place, 0) if name else None
        frame_id = self._own_frame(metadata.stack_frame_id)
        while 0 < frame_id <= len(self.frames) and frame_id not in self.driver:
            frame = self.frames[frame_id - 1]
            place = (frame.file_name, frame.line, frame.column)
            name = self.targets.get(place)
            if name is None:
                return None
            if name != RETURNED:
                return prefix + name, place, frame.parent
            frame_id = frame.parent
        return None

    def _own_frame(self, frame_id: int) -> int:
        """A jaxpr that was cached keeps the line of its first caller as a leaf below the real one: drop it."""
        while 0 < frame_id <= len(self.frames):
            frame = self.frames[frame_id - 1]
            if not 0 < frame.parent <= len(self.frames):
                break
            around = self.frames[frame.parent - 1]
            if (around.file_name, around.function_name) != (frame.file_name, frame.function_name):
                break
            frame_id = frame.parent
        return frame_id

    def names(self, graph: Graph, nodes: list[Node], results: list[Node]) -> dict[Node, str]:
        """Names for the values that leave the expressions they were assigned from."""
        if not self.targets:
            return {}
        sites: dict[Node, Site] = {}
        for node in nodes:
            if node.opcode in ("literal", "integer", "parameter"):
                continue
            for instruction in reversed(graph.results.get(node, [])):
                site = self.site(instruction)
                if site is not None:
                    sites[node] = site
                    break
        leaving: dict[Site, list[Node]] = {}
        for node in _used_outside(graph, nodes, results, sites):
            leaving.setdefault(sites[node], []).append(node)
        # Of several, the last that the expression makes is its value; so are its likes, where it runs several times.
        last = {site: max(found, key=lambda node: node.number) for site, found in leaving.items()}
        return {node: site[0] for site, found in leaving.items() for node in found if _is_like(node, last[site])}


def _is_like(node: Node, other: Node) -> bool:
    """What an expression gives when it runs again: the same operation from the same instruction of the source."""
    return node is other or (
        node.opcode == "call" == other.opcode and node.parameters["function"] is other.parameters["function"]
    )


def _used_outside(graph: Graph, nodes: list[Node], results: list[Node], sites: dict[Node, Site]) -> Iterator[Node]:
    """The nodes that some node of another site, or the function's result, uses.

    What only gradients use of an expression is not its value, but a factor of its derivative.
    """
    gradients = {node for node in nodes if any(map(is_gradient, graph.results.get(node, ())))}
    outside = {node for node in results if node in sites}
    for user in nodes:
        for operand in dependencies(user):
            is_factor = user in gradients and operand not in gradients
            if operand in sites and not is_factor and (sites.get(user) != sites[operand] or _is_like(user, operand)):
                outside.add(operand)
    return (node for node in nodes if node in outside)


def is_gradient(instruction: Instruction) -> bool:
    """Whether JAX made an instruction to transpose another, as reverse differentiation does."""
    return instruction.metadata is not None and "transpose(" in instruction.metadata.op_name


def parsed(text: str) -> ast.Module:
    """A file as a tree; an empty one for what is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def targets(file_name: str, tree: ast.Module) -> dict[Place, str]:
    """Where the values of assignments and returns start in a file."""
    found: dict[Place, str] = {}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            _add(found, file_name, statement.targets[0], statement.value)
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign) and statement.value is not None:
            _add(found, file_name, statement.target, statement.value)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            for value in _elements(statement.value):
                found.setdefault((file_name, value.lineno, value.col_offset), RETURNED)
    return found


def _elements(value: ast.expr) -> list[ast.expr]:
    return [value, *value.elts] if isinstance(value, ast.Tuple) else [value]


def _add(found: dict[Place, str], file_name: str, target: ast.expr, value: ast.expr) -> None:
    """Note a target; a tuple meets a tuple element by element."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            _add(found, file_name, part, item)
    elif isinstance(target, ast.Name) and target.id.isidentifier():
        found[file_name, value.lineno, value.col_offset] = target.id
