"""Arrays that the rounds of a loop write into."""

from __future__ import annotations

from collections.abc import Sequence

from .renderer import NumbaRenderer


class Buffers:
    """Makes them once, before the first round; ``lines`` do that, ``names`` are those of all arrays of the loop's own
    that may be written into."""

    def __init__(self, renderer: NumbaRenderer) -> None:
        self.renderer = renderer
        self.lines: list[str] = []
        self.names: set[str] = set()

    def make(self, name: str, shape: Sequence[int | str], dtype: str) -> None:
        """Make an array, whatever is in it."""
        self.names.add(name)
        self.lines.append(self.renderer.statement("new_array", name, tuple(shape), dtype))

    def copy(self) -> Buffers:
        """The same arrays, to go back to."""
        made = Buffers(self.renderer)
        made.lines, made.names = [*self.lines], {*self.names}
        return made
