"""Operations that prelude functions compute in chunks. Every module of this folder is loaded.

Each module has a table ``IMPLEMENTATIONS``, by the opcode of a node or by the prelude function that it calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from ....transpile.array.node import Node
from ..planning.chunked_implementation import ChunkedImplementation


def _rows() -> Iterator[tuple[str, tuple[ChunkedImplementation, ...]]]:
    for found in sorted(iter_modules(__path__), key=lambda found: found.name):
        yield from import_module(f"{__name__}.{found.name}").IMPLEMENTATIONS.items()


IMPLEMENTATIONS: dict[str, tuple[ChunkedImplementation, ...]] = {}
for _name, _found in _rows():
    IMPLEMENTATIONS[_name] = (*IMPLEMENTATIONS.get(_name, ()), *_found)


def implementations_of(node: Node) -> tuple[ChunkedImplementation, ...]:
    """Return the chunked implementations of a node, in order of preference."""
    return IMPLEMENTATIONS.get(node.parameters["function"] if node.opcode == "prelude" else node.opcode, ())
