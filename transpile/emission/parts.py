"""The parts of a module besides the functions of its program, one for each concern."""

from __future__ import annotations

from collections.abc import Sequence, Set

from .expression import Renderer


class Part:
    """A concern of a module; this base class needs, defines and adds nothing."""

    @property
    def prelude_names(self) -> Sequence[str]:
        """The functions and classes of the prelude that the part uses."""
        return ()

    @property
    def names(self) -> Set[str]:
        """The names that the part defines, which no value may have."""
        return frozenset()

    @property
    def public(self) -> Sequence[str]:
        """The public names of the part, besides the program's own function."""
        return ()

    def constants(self, renderer: Renderer) -> list[str]:
        """Return the constants at the top of the module, which functions of the program use."""
        return []

    def functions(self, renderer: Renderer) -> list[str]:
        """Return the definitions that follow the functions of the program."""
        return []

    def behind(self, renderer: Renderer) -> list[str]:
        """Return the statements that follow the definitions of the prelude."""
        return []


class Replay(Part):
    """``replay`` beside ``main``: the program as a captured graph."""

    prelude_names = ("Replay",)
    names = frozenset(("replay",))
    public = ("replay",)

    def behind(self, renderer: Renderer) -> list[str]:
        return [renderer.statement("replay", "main")]
