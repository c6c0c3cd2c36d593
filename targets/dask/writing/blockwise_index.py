"""The index symbols of arrays as characters, in the indices that dask.array's ``blockwise`` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ....transpile.array.node import Node
from .tracing import Index

CHARACTERS = "ijklmnopqrstuvwxyzabcdefghABCDEFGHIJKLMNOPQRSTUVWXYZ"


class BlockwiseIndex:
    """Gives index symbols characters, in the order in which they are met.

    There are not enough for the axes of very many arrays: ``sizes_only`` lets those that are needed whole share one
    where they have the same size.
    """

    def __init__(self, characters: Mapping[Any, str] | None = None) -> None:
        self.characters: dict[object, str] = dict(characters or {})
        self.sizes_only = False

    def text(self, symbols: Iterable[object]) -> str:
        """A character for each symbol."""
        return "".join(self.characters.setdefault(symbol, CHARACTERS[len(self.characters)]) for symbol in symbols)

    def of_source(self, index: Index, shape: tuple[int, ...]) -> str:
        """The characters for an array that a block function is given."""
        if not self.sizes_only:
            return self.text(index)
        keys: list[object] = []
        for symbol, size in zip(index, shape, strict=True):
            shared = (size, sum(isinstance(key, tuple) and key[0] == size for key in keys))
            keys.append(symbol if symbol.is_cut or symbol in self.characters else shared)
        return self.text(keys)


def contracts(index: str, indices: tuple[str | None, ...]) -> bool:
    """Tell whether an operand has a character that the result does not have."""
    return any(c not in index for text in indices for c in text or "")


def size_of_axis(node: Node, shape: tuple[int, ...], axis: int) -> int | None:
    """The size of a new axis; None where it is known at run time only."""
    if node.opcode == "prelude" and node.parameters["function"] == "crop":
        return None if node.parameters["arguments"][1][axis] is not None else shape[axis]
    return shape[axis]
