"""The heads of compiled functions, with the types of what they take and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....transpile.emission.expression import Renderer
from ....transpile.emission.trees.types import ARRAY, BLOCK, SCALAR


class HeadWriter:
    """Writes heads; ``kinds`` are those of the types in them."""

    def __init__(self, renderer: Renderer, has_blocks: bool, kinds: set[str]) -> None:
        self.renderer = renderer
        self.has_blocks = has_blocks
        self.kinds = kinds

    def head(self, name: str, parameters: Mapping[str, Sequence[int]], results: Sequence[Sequence[int]]) -> str:
        """The head of a function of arrays of these shapes, by their names, which returns some of these shapes."""
        typed = [(parameter, self._kind(shape)) for parameter, shape in parameters.items()]
        returned = tuple(map(self._kind, results))
        return self.renderer.statement("define", name, typed, [], [], returned[0] if len(returned) == 1 else returned)

    def _kind(self, shape: Sequence[int]) -> str:
        kind = BLOCK if self.has_blocks else ARRAY if shape else SCALAR
        self.kinds.add(kind)
        return kind
