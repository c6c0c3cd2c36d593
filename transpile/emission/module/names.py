"""The names of a module's functions, and the names that its prelude and the user's own functions bring in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...array.graph import Graph
from ...array.node import ForeignName, Node, PreludeName
from ...array.program import Function, Program, roots
from ...array.traversal import topological
from ...hlo.function_words import is_machinery
from ..naming.gradients import updates
from ..naming.identifiers import base_name, identifier, own_name
from ..naming.scopes import GRADIENT, ContextNames
from ..prelude.library import Prelude
from .entry_point import CHECK_ARRAYS, CHECK_TREES

DECORATORS = frozenset(("cache",))  # imported names that no function body reads: values may have them
_OF_CONSTANTS = ("constant", "mapped_constant", "mapped_tensor", "device_constant", "StoredTree")
_SAYS_NOTHING = re.compile(
    r"(region_\d+.*|none|call|lambda|fn|fun|func|forward|apply|wrapped|wrapper|inner|body_fun|)(_\d+)?"
)


def prelude_calls(program: Program) -> list[Node]:
    """Return the calls of prelude functions, and of the user's own functions, in a program."""
    return [node for function in program.functions for node in topological(roots(function)) if node.opcode == "prelude"]


def foreign_names(calls: Sequence[Node]) -> list[ForeignName]:
    """Return the user's own functions that are called, each once."""
    called = (node.parameters["function"] for node in calls)
    return list(dict.fromkeys(function for function in called if isinstance(function, ForeignName)))


def prelude_names(program: Program, calls: Sequence[Node], library: Prelude, checks: Sequence[str]) -> set[str]:
    """Return the names that the ``calls`` of prelude functions, and the functions in ``checks``, bring into a
    module.
    """
    called = {CHECK_ARRAYS, CHECK_TREES, *_OF_CONSTANTS, "copied"}
    called.update(filter(None, checks))
    if program.entry.chunks:
        called.update(("in_chunks", "Tiled"))
    for node in calls:
        called.update(_names_in([node.parameters[part] for part in ("function", "arguments", "keywords")]))
    return brought_in(sorted(called), library)


def brought_in(names: list[str], library: Prelude) -> set[str]:
    """Return the names that prelude functions bring into a module: of definitions that they need, and of imports."""
    definitions = library.closure(names)
    return {definition.name for definition in definitions}.union(*(definition.imported for definition in definitions))


def _names_in(argument: Any) -> Iterator[str]:
    """Yield the prelude names in a call's arguments."""
    if isinstance(argument, str):
        yield argument
    elif isinstance(argument, PreludeName):
        yield argument.name
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from _names_in(part)
    elif isinstance(argument, dict):
        yield from _names_in(tuple(argument.values()))


def function_name(function: Function, program: Program, contexts: ContextNames) -> str:
    """Return the name of a function.

    Jitted functions have a name of their own. If that is generic, like ``region_0.5`` and ``call``, the name is the
    call or the scope around all instructions. The steps of a loop are named after the program; a repeated function that
    computes new arguments is ``update``.
    """
    if function.repeated:
        return identifier(function.label) or ("update" if updates(function) else "part")
    if function.loop is not None:
        return (identifier(program.module.name.removeprefix("jit_")) or "loop") + "_steps"
    if function.origin is not None:
        return _block_name(function, function.origin)
    name = identifier(contexts.of_called(function)).lower().strip("_")
    prefix = GRADIENT if name.startswith(GRADIENT) else ""
    own = name.removeprefix(GRADIENT)
    if is_machinery(re.sub(r"(_\d+)+$", "", own)) or _SAYS_NOTHING.fullmatch(own):
        return prefix + (contexts.of_function(function.computation.instructions) or "step")
    return name


def _block_name(function: Function, origin: Graph) -> str:
    """Return ``total_block`` for blocks of ``total``; for more than two arrays, a name after the source function."""
    names = [base_name(node, origin) for node in function.block_of]
    if len(names) <= 2 and len(set(names)) == len(names):
        return "_and_".join(names) + "_block"
    return (identifier(own_name(function)) or "step") + "_block"
