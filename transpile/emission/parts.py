"""The parts of a module beside the functions of its program, one for each concern."""

from __future__ import annotations

from collections.abc import Sequence

from .expression import Renderer


class Part:
    """One concern of a module: by itself it needs, defines and adds nothing."""

    @property
    def prelude_names(self) -> Sequence[str]:
        """The functions and classes of the prelude that the part uses."""
        return ()

    @property
    def names(self) -> set[str]:
        """Return what the part defines, so that no value may be called so."""
        return set()

    @property
    def public(self) -> Sequence[str]:
        """Return what the module offers because of it, beside the program's own function."""
        return ()

    def constants(self, renderer: Renderer) -> list[str]:
        """Return the constants that stand at the top, which functions of the program name."""
        return []

    def functions(self, renderer: Renderer) -> list[str]:
        """Return what stands behind the functions of the program."""
        return []

    def behind(self, renderer: Renderer) -> list[str]:
        """Return what stands behind the definitions of the prelude."""
        return []


class Replay(Part):
    """``replay`` beside ``main``: the program as a captured graph."""

    @property
    def prelude_names(self) -> Sequence[str]:
        return ("Replay",)

    @property
    def names(self) -> set[str]:
        return {"replay"}

    @property
    def public(self) -> Sequence[str]:
        return ("replay",)

    def behind(self, renderer: Renderer) -> list[str]:
        return [renderer.statement("replay", "main")]
