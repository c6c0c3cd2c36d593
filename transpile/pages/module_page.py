"""The page of one emitted module."""

from __future__ import annotations

from ..emission import GeneratedModule
from .page import render
from .panes import make_panes, original


def module_page(generated: GeneratedModule) -> str:
    """HTML with a module's HLO, the Python emitted for it and the program's own source, lines linked to each other.

    The page is one file without a reference to anything outside; text of the module is escaped.
    """
    module = original(generated)
    return render(
        "module",
        title=module.name,
        target=generated.target,
        instructions=sum(1 for _ in module.instructions()),
        panes=make_panes(generated),
    )
