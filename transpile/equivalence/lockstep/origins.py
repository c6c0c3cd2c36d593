"""The origin of a difference: a run in lockstep in the worker processes of a differential test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...emission.module.generated import GeneratedModule
from ...errors import Diagnostic, XlaToPythonError
from ...hlo.carriers import Array
from ...hlo.ir import HloModule
from ..inputs.coverage import Reach
from ..inputs.generate import nest
from ..reference.participants import Workers
from ..reference.worker import RemoteError, WorkerDied, WorkerTimeout
from ..reports.results import Origin
from .recorder import Event, record
from .run import Lockstep, lockstep


def find_origin(
    module: HloModule,
    emitted: GeneratedModule,
    arrays: Sequence[Array],
    workers: Workers,
    *,
    source: str | None = None,
    campaign: str = "",
) -> Origin:
    """Return the first instruction that an emitted module, or its edited text ``source``, gets wrong.

    ``arrays`` are the entry's parameters, with tuples flattened in order. The module runs in the process of its target,
    the reference in that of XLA; ``failure`` of the result tells if one of them ends or hangs.
    """

    def recorded(probed: GeneratedModule, arguments: Sequence[Any]) -> tuple[list[Event], str]:
        try:
            answer = workers.ask(probed.target, record, probed, list(arguments))
        except (WorkerDied, WorkerTimeout, RemoteError) as error:
            return [], str(error)
        events: tuple[list[Event], str] = answer.value
        return events

    def by_xla(text: str, operands: Sequence[Array]) -> list[Array]:
        run = workers.run_reference("xla", text, operands)
        if run.failure is not None:
            raise XlaToPythonError(Diagnostic("XP461", f"XLA gives no results: {run.message}"))
        return list(run.results)

    arguments = nest([parameter.shape for parameter in module.entry.parameters], arrays)
    found = lockstep(module, emitted, arguments, source, record=recorded, evaluate=by_xla)
    return _origin(found, campaign)


def find_first_origin(
    module: HloModule,
    emitted: GeneratedModule,
    draws: Iterable[Sequence[Array]],
    workers: Workers,
    reach: Reach | None = None,
    *,
    source: str | None = None,
) -> Origin:
    """Return the first instruction that goes wrong on any inputs of ``draws``.

    Only the first inputs, and those that reach new parts of the program, run in lockstep, until all parts are reached.
    The result names the parts that are not.
    """
    shapes = [parameter.shape for parameter in module.entry.parameters]
    found = Origin()
    for number, arrays in enumerate(draws):
        reaches_more = reach is not None and reach.try_inputs(workers, nest(shapes, arrays))
        if number == 0 or reaches_more:
            one = find_origin(module, emitted, arrays, workers, source=source)
            unchecked = tuple(dict.fromkeys((*found.unchecked, *one.unchecked)))
            found = replace(one, checked=found.checked + one.checked, unchecked=unchecked)
        if found.instruction or found.failure or reach is None or reach.is_complete:
            break
    return found if reach is None else replace(found, unreached=reach.unreached)


def _origin(found: Lockstep, campaign: str) -> Origin:
    first = found.first
    if first is None:
        return Origin(campaign, found.checked, unchecked=found.unchecked, failure=found.failure)
    return Origin(
        campaign,
        found.checked,
        first.instruction.name,
        first.instruction.opcode,
        first.line,
        first.text,
        first.source,
        first.iterations,
        tuple(instruction.name for instruction in first.inside),
        first.leaf,
        first.note,
        len(found.divergences) - 1,
        found.unchecked,
        found.failure,
    )
