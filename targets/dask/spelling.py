"""The letters of arrays as characters, in the indices that dask.array's ``blockwise`` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...transpile.array.node import Node
from .tracing import Letters

NAMES = "ijklmnopqrstuvwxyzabcdefghABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Spelling:
    """Characters for letters, in the order in which they are met.

    There are not enough for the axes of very many arrays: ``sizes_only`` lets those that are needed whole share one
    where they have the same size.
    """

    def __init__(self, characters: Mapping[Any, str] | None = None) -> None:
        self.characters: dict[object, str] = dict(characters or {})
        self.sizes_only = False

    def text(self, letters: Iterable[object]) -> str:
        return "".join(self.characters.setdefault(letter, NAMES[len(self.characters)]) for letter in letters)

    def of_source(self, letters: Letters, shape: tuple[int, ...]) -> str:
        if not self.sizes_only:
            return self.text(letters)
        keys: list[object] = []
        for letter, size in zip(letters, shape, strict=True):
            shared = (size, sum(isinstance(key, tuple) and key[0] == size for key in keys))
            keys.append(letter if letter.of is not None or letter in self.characters else shared)
        return self.text(keys)


def contracts(index: str, indices: tuple[str | None, ...]) -> bool:
    """Whether a letter of an operand is not one of the result."""
    return any(c not in index for text in indices for c in text or "")


def size_of_axis(node: Node, shape: tuple[int, ...], axis: int) -> int | None:
    """The size of a new axis; None where it is known at run time only."""
    if node.opcode == "prelude" and node.parameters["function"] == "crop":
        return None if node.parameters["arguments"][1][axis] is not None else shape[axis]
    return shape[axis]
