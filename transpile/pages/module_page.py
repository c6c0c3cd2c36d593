"""The page of one emitted module."""

from __future__ import annotations

from ..emission import GeneratedModule
from .page import render
from .panes import make_panes, original


def module_page(generated: GeneratedModule) -> str:
    """Return an HTML page with a module's HLO, the emitted Python and the program's own source, with linked lines.

    The page is one file without external references; text of the module is escaped.
    """
    module = original(generated)
    return render(
        "module",
        title=module.name,
        target=generated.target,
        instructions=sum(1 for _ in module.instructions()),
        panes=make_panes(generated),
    )
