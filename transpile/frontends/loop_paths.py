"""Reads the paths, in the traced function, of the values that loops carry and branches give:
``state.position['mu']``.

XLA's loops and conditionals have flat tuples. JAX knows the paths of their elements, but writes them nowhere into the
program, so they are read from the jaxpr that it was lowered from. A loop of the program is that of the jaxpr with the
same place and shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..hlo.ir import HloModule, Instruction, StackFrame
from ..hlo.shapes import ArrayShape, TupleShape
from ..hlo.stack_frames import CallChains

# The body, or the branches, among the parameters of a primitive.
_BODIES = {"cond": "branches", "scan": "jaxpr", "while": "body_jaxpr"}

_Loop = tuple[tuple[str, ...], tuple[Any, ...]]  # paths, and the types of leading elements of the tuple in XLA's loop


def loop_paths(jax: Any, module: HloModule, jaxpr: Any) -> Mapping[str, tuple[str, ...]]:
    """Return the paths of the leading elements of loops and conditionals by the names of their instructions.

    A path is empty if it is unknown; those of what a scan stacks or a branch gives begin with ``result``. ``jaxpr`` is
    the closed jaxpr that the module was lowered from.
    """
    loops = [instruction for instruction in module.instructions() if instruction.opcode in ("conditional", "while")]
    if not loops:
        return {}
    live, _ = jax.interpreters.partial_eval.dce_jaxpr(
        jaxpr.jaxpr, [True] * len(jaxpr.jaxpr.outvars)
    )  # as JAX lowers it
    chains, places = CallChains(module), {_place(frame) for frame in module.stack_frames}
    traced: dict[tuple[str, int], set[_Loop]] = {}
    for equation in _equations(live):
        place = next(filter(places.__contains__, map(_traced_place, _frames(equation))), None)
        find = _branches if equation.primitive.name == "cond" else _loop
        if place is not None and (found := find(equation)) is not None:
            traced.setdefault(place, set()).add(found)
    own = ((loop, chains.of(loop)) for loop in loops)
    alike = (
        (loop, _alike(loop, traced.get(_place(chains.frames[chain[-1] - 1]), set()))) for loop, chain in own if chain
    )
    return {loop.name: found.pop() for loop, found in alike if len(found) == 1}


def _alike(loop: Instruction, traced: set[_Loop]) -> set[tuple[str, ...]]:
    """Return the paths of those traced loops that carry arrays of the same types."""
    elements = loop.shape.elements if isinstance(loop.shape, TupleShape) else (loop.shape,)
    own = [(each.element_type.dtype, each.dimensions) for each in elements if isinstance(each, ArrayShape)]
    return {
        paths
        for paths, types in traced
        if len(types) <= len(own) and all(each in (None, given) for each, given in zip(types, own, strict=False))
    }


def _equations(jaxpr: Any) -> Iterator[Any]:
    """Yield the loops and conditionals of a jaxpr and of those inside it."""
    waiting, seen = [jaxpr], set[int]()
    while waiting:
        own = waiting.pop()
        own = getattr(own, "jaxpr", own)
        if id(own) in seen:
            continue
        seen.add(id(own))
        for equation in own.eqns:
            if equation.primitive.name in _BODIES:
                yield equation
            for parameter in equation.params.values():
                parts = parameter if isinstance(parameter, list | tuple) else [parameter]
                waiting.extend(part for part in parts if hasattr(getattr(part, "jaxpr", part), "eqns"))


def _loop(equation: Any) -> _Loop | None:
    """Return the paths and types of what a loop of a jaxpr carries, or None if the paths are unknown."""
    body = equation.params[_BODIES[equation.primitive.name]].jaxpr
    given, results = body.debug_info.arg_names, body.debug_info.result_paths
    if given is None or len(given) != len(body.invars):
        return None
    is_scan = equation.primitive.name == "scan"
    rows = _changed_ranks(equation.invars, body.invars) if is_scan else 0
    stacked = _changed_ranks(equation.outvars, body.outvars)
    carried = len(body.outvars) - stacked
    end = len(given) - rows
    is_known = isinstance(results, tuple) and len(results) == len(body.outvars)
    outputs = results[carried:] if is_known else ("",) * stacked
    counter = ("",) * is_scan
    paths = (*counter, *given[end - carried : end], *outputs)
    return paths, (*(None for _ in counter), *map(_type, equation.outvars))


def _branches(equation: Any) -> _Loop | None:
    """Return the paths and types of what branches of the author's give, or None if they differ or are unknown."""
    infos = [branch.jaxpr.debug_info for branch in equation.params["branches"]]
    paths = {info.result_paths for info in infos}
    if len(paths) > 1 or not equation.outvars or any(info.arg_names is None for info in infos):
        return None
    (own,) = paths
    is_known = isinstance(own, tuple) and len(own) == len(equation.outvars)
    return (own, tuple(map(_type, equation.outvars))) if is_known else None


def _changed_ranks(outside: Sequence[Any], inside: Sequence[Any]) -> int:
    """Return how many values are arrays of rows outside of a body."""
    pairs = zip(outside, inside, strict=True)
    return sum(len(own.aval.shape) != len(row.aval.shape) for own, row in pairs)


def _type(variable: Any) -> Any:
    """Return the type and the shape of a value; None for a random key, which XLA has as its words."""
    aval = variable.aval
    return (aval.dtype, aval.shape) if isinstance(aval.dtype, np.dtype) else None


def _frames(equation: Any) -> list[Any]:
    """Return the frames of the calls around an equation, innermost first."""
    traceback = equation.source_info.traceback
    return [] if traceback is None else list(traceback.frames)


def _place(frame: StackFrame) -> tuple[str, int]:
    return frame.file_name, frame.line


def _traced_place(frame: Any) -> tuple[str, int]:
    return frame.file_name, frame.line_num
