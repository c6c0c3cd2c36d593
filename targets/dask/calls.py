"""Calls of prelude functions that take and give lazy arrays: for what is done in chunks, and what goes by windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...transpile.array.node import Node, PreludeName
from .cuts import Cuts
from .links import CONVOLUTIONS
from .windows import layout_of, summed_letters


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments and keywords. Its tasks read so many of the first operands themselves as
    ``reads`` says, if these are arguments of ``main`` that are cut; if they ``take_files``, others in files."""

    function: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    reads: int
    take_files: bool = False


def _in_chunks(node: Node, cuts: Cuts) -> Call:
    form = cuts.form_in_chunks(node)
    assert form is not None
    arguments, keywords = form.call(node)
    sized = {"chunks": cuts.block_shape(node)} if form.is_sized else {}
    return Call(form.function, arguments, {**keywords, **sized}, form.reads)


def _in_windows(node: Node, cuts: Cuts) -> Call:
    function, arguments, keywords = (node.parameters[key] for key in ("function", "arguments", "keywords"))
    chunks = {"chunks": cuts.block_shape(node)}
    if function == "select_and_scatter":
        return Call("select_and_scatter_in_chunks", arguments, {**keywords, **chunks}, 2, take_files=True)
    summed = summed_letters(node, cuts.flags[node.operands[1]]) if len(node.operands) > 1 else ""
    known = {"layout": layout_of(node), "shape": node.shape, **chunks, **({"summed": summed} if summed else {})}
    reads = 2 if function in CONVOLUTIONS else 1
    return Call("in_windows", (PreludeName(function), *arguments), {**keywords, **known}, reads, take_files=True)


CALLS: dict[str, Callable[[Node, Cuts], Call]] = {"lazy": _in_chunks, "windows": _in_windows}  # by the form of a node
