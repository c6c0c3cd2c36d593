"""Calls of prelude functions that take and give lazy arrays: for what is done in chunks, and what goes by windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...transpile.array.node import Node, PreludeName
from .cuts import Cuts, window_axis
from .windows import windows_of


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments and keywords. Its tasks read so many of the first operands themselves as
    ``reads`` says, if these are arguments of ``main`` that are cut."""

    function: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    reads: int


def _in_chunks(node: Node, cuts: Cuts) -> Call:
    form = cuts.form_in_chunks(node)
    assert form is not None
    arguments, keywords = form.call(node)
    sized = {"chunks": cuts.block_shape(node)} if form.is_sized else {}
    return Call(form.function, arguments, {**keywords, **sized}, form.reads)


def _in_windows(node: Node, cuts: Cuts) -> Call:
    axis, windows = window_axis(node, cuts), windows_of(node)
    assert axis is not None and windows is not None
    keywords = {
        "axis": axis,
        "size": windows.size(axis),
        "length": cuts.length(node, axis),
        "shape": node.shape,
        "padding": windows.padding,
    }
    arguments = (PreludeName(node.parameters["function"]), *node.parameters["arguments"])
    return Call("in_windows", arguments, {**keywords, **node.parameters["keywords"]}, 1)


CALLS: dict[str, Callable[[Node, Cuts], Call]] = {"lazy": _in_chunks, "windows": _in_windows}  # by the form of a node
