"""The types of an emitted function's parameters and results."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from typing import Any

from ...array.node import Node
from ...array.program import Function, Program, Tree
from ...dataclass import dataclass
from ...hlo.ir import Built
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from ...python.modules import mentioned, parsed, statement_of
from ..expression import Renderer

ARRAY, SCALAR = "array", "scalar"
BLOCK = "block"  # a block of an array, for functions of a target with chunks
TREE = "tree"  # a tree of mixed parts
GROUP = "group"  # the group that replicas communicate through

# The type of a value: ARRAY, SCALAR for rank 0, None for a token, a tuple of types, a Holding, or TREE.
Type = Any


@dataclass(frozen=True, slots=True)
class Holding:
    """A ``container``, dict with words as keys or list, with the types of its parts, each once; TREE if mixed."""

    container: str
    parts: tuple[Type, ...]


def parameter_types(function: Function) -> list[Type]:
    """Return the type of each parameter; a tuple that only emitted code passes is passed as its arrays."""
    shapes = [parameter.shape for parameter in function.computation.parameters]
    return [
        _node_type(node)
        if node.element_type is not None or node.is_python_int
        else shape_type(shapes[node.parameters["argument"]])
        for node in function.parameters
    ]


def _node_type(node: Node) -> Type:
    return ARRAY if node.ndim else SCALAR


def shape_type(shape: Shape) -> Type:
    """Return the type of a value of an HLO shape."""
    if isinstance(shape, TupleShape):
        return tuple(shape_type(element) for element in shape.elements)
    if not isinstance(shape, ArrayShape):
        return None
    return ARRAY if shape.dimensions else SCALAR


def result_type(results: Tree) -> Type:
    """Return the type that a function returns."""
    if isinstance(results, Node):
        return _node_type(results)
    if isinstance(results, dict | list):
        parts = results.values() if isinstance(results, dict) else results
        kinds = tuple(dict.fromkeys(map(result_type, parts)))
        is_mixed = len(kinds) > 1 and not all(isinstance(kind, str) for kind in kinds)
        has_words = isinstance(results, list) or all(isinstance(key, str) for key in results)
        return Holding(type(results).__name__, (TREE,) if is_mixed else kinds) if has_words else TREE
    if isinstance(results, Built):
        return TREE
    return None if results is None else tuple(result_type(part) for part in results)


def has_tree(kind: Type) -> bool:
    """Return whether a type contains a TREE."""
    parts = kind.parts if isinstance(kind, Holding) else kind if isinstance(kind, tuple) else ()
    return kind == TREE or any(map(has_tree, parts))


def in_blocks(kind: Type) -> Type:
    """Return the type that a value has in functions of blocks."""
    if isinstance(kind, tuple):
        return tuple(map(in_blocks, kind))
    return BLOCK if kind in (ARRAY, SCALAR) else kind


def kinds_of_types(program: Program, has_blocks: bool) -> list[str]:
    """Return the kinds of arrays in a program's signatures; all functions but the entry may take blocks."""
    stack: list[Type] = []
    for function in program.functions:
        types = (*parameter_types(function), result_type(function.results))
        stack.append(in_blocks(types) if has_blocks and function is not program.entry else types)
    found: set[str] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found.add(item)
        elif item is not None:
            stack += item
    return sorted(found)


def without_lone_types(types: Sequence[str], functions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Inline type aliases that functions use once, not in a union; return the other aliases, and the functions."""
    kept, texts = [], list(functions)
    for line in types:
        alias = statement_of(line)
        assert isinstance(alias, ast.Assign | ast.AnnAssign) and alias.value is not None
        name = ast.unparse(alias.targets[0] if isinstance(alias, ast.Assign) else alias.target)
        users = [k for k, text in enumerate(texts) for _ in range(mentioned(text)[name])]
        text = _with_type(texts[users[0]], name, ast.unparse(alias.value)) if len(users) == 1 else None
        if text is None:
            kept.append(line)
        else:
            texts[users[0]] = text
    return kept, texts


def _with_type(text: str, name: str, kind: str) -> str | None:
    """Return a function's text with the only use of an alias replaced by its type, or None if that is in a union."""
    module = parsed(text)
    nodes = list(ast.walk(module.tree))
    (use,) = (node for node in nodes if isinstance(node, ast.Name) and node.id == name)
    is_in_union = any(isinstance(node, ast.BinOp) and use in (node.left, node.right) for node in nodes)
    return None if is_in_union else module.edited([(*module.extent(use), kind)])


def typing_names(renderer: Renderer) -> set[str]:
    """Return the names that the imports of types bind."""
    return {line.split()[-1] for line in renderer.statement("typing_imports").splitlines()}


def typing_imports(renderer: Renderer, names: Container[str]) -> list[str]:
    """Return the imports that the types among the names need."""
    lines: list[str] = renderer.statement("typing_imports").splitlines()
    return [line for line in lines if line.split()[-1] in names]
