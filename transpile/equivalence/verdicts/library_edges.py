"""Differences that ``--edge-cases library`` explains: such a module leaves special input to its library.

On ordinary inputs and ties the results must agree; on edge values and large ranges they need not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...emission.module.generated import GeneratedModule
from ...emission.module.header import edges_of
from ...passes.library_semantics.edges import Edge, table
from ..reports.results import Run
from .comparison import Status

_BEYOND_THE_DOMAIN = ("edge", "large")  # campaigns


def edges_on(generated: GeneratedModule | None, campaign: str) -> tuple[Edge, ...]:
    """Return the rows of the table of edges that a module leaves to its library; none for campaigns without special
    input.
    """
    if generated is None or campaign not in _BEYOND_THE_DOMAIN:
        return ()
    names = edges_of(generated.source)
    return tuple(edge for edge in table() if edge.name in names)


def reasons(edges: Sequence[Edge]) -> tuple[str, ...]:
    """Return descriptions of the edges."""
    return tuple(f"edges of the library, {edge.name}: {edge.inputs}" for edge in edges)


def judged(run: Run, edges: Sequence[Edge]) -> Run:
    """Return a run, with status ``edge`` in place of a crash if its exception is one that the library raises on an
    edge.
    """
    kind = run.message.partition(":")[0]
    refused = run.failure is Status.CRASH and any(kind in edge.raises for edge in edges)
    return replace(run, failure=Status.EDGE) if refused else run
