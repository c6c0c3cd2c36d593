"""How the results of a program are sharded, as XLA's translation says it in HLO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..hlo.attributes import Raw
from ..hlo.ir import Instruction
from ..hlo.lexer import escape
from ..hlo.shardings import Mesh
from .program import Operation, Unread
from .shardings import marks
from .writer import Writer

_TARGET = "xla.sdy.FuncResultSharding"
_REPLICATED = "{replicated}"


def with_shardings(
    writer: Writer, function: Operation, results: Sequence[Instruction], meshes: Mapping[str, Mesh]
) -> Instruction | None:
    """The root of a program whose results have shardings; None where they have none."""
    listed = function.attributes.get("res_attrs")
    rows = [row if isinstance(row, dict) else {} for row in (listed if isinstance(listed, tuple) else ())]
    said = [marks(row, meshes).get("sharding") for row in rows]
    if len(rows) != len(results) or not any(said):
        return None
    named = [_named(writer, result, row) for result, row in zip(results, rows, strict=True)]
    if len(named) == 1:
        whole = writer.tuple(named)
        return writer.unmarked("get-tuple-element", named[0].shape, (whole,), {"index": 0, "sharding": said[0]})
    for result, sharding in zip(named, said, strict=True):  # as XLA does, though nothing takes them
        writer.unmarked("reshape", result.shape, (result,), {"sharding": sharding} if sharding is not None else {})
    parts = ", ".join(sharding.text if sharding is not None else _REPLICATED for sharding in said)
    return writer.marked(writer.tuple(named), {"sharding": Raw(f"{{{parts}}}")})


def _named(writer: Writer, result: Instruction, row: Mapping[str, Any]) -> Instruction:
    """The custom call that names the sharding of a result in Shardy's words."""
    sharding = row.get("sdy.sharding")
    if not isinstance(sharding, Unread):
        return result
    own = sharding.text.removeprefix("#sdy.sharding")
    words = f'{{xla.sdy.sharding="{escape(f"#sdy.sharding_per_value<[{own}]>")}"}}'
    attributes = {"custom_call_target": _TARGET, "custom_call_has_side_effect": True, "frontend_attributes": Raw(words)}
    return writer.unmarked("custom-call", result.shape, (result,), attributes)
