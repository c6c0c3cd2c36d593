"""Custom calls for placement, dynamic sizes and random seeds."""

from __future__ import annotations

from collections.abc import Sequence

from ..shape_rules.common import shape_text
from ..shapes import UNBOUNDED, ArrayShape, Shape, leaves
from .call import Call, CustomCall
from .fields import ConfigError

# Placement and sharding hints: identities on one device.
PLACEMENTS = frozenset(
    "Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement MoveToHost MoveToDevice Pin Unpin "
    "LayoutConstraint ShardBarrierFrom ShardBarrierTo SetBound xla.sdy.FuncResultSharding "
    "xla.sdy.GlobalToLocalShape xla.sdy.LocalToGlobalShape".split()
)


def _check_placement(call: Call) -> None:
    """Check that the results have the types of the first operands, of which they may be parts."""
    taken = [leaf for operand in call.instruction.operands for _, leaf in leaves(operand.shape)]
    given = [leaf for _, leaf in leaves(call.instruction.shape)]
    if len(taken) < len(given) or any(map(_differ, given, taken)):
        raise ConfigError("gives back its operands, and these are others")


def _differ(a: Shape, b: Shape) -> bool:
    if isinstance(a, ArrayShape) and isinstance(b, ArrayShape):
        return a.element_type is not b.element_type
    return a != b


def _sizes_given(call: Call) -> None:
    """Check that the results are a static array of the operand's bounds, and its size in each dimension."""
    (operand,) = call.instruction.operands
    result, *sizes = call.instruction.element_shapes
    _require_sizes(operand.array_shape, result, sizes)


def _sizes_taken(call: Call) -> None:
    operand, *sizes = (operand.shape for operand in call.instruction.operands)
    _require_sizes(call.result(), operand, sizes)


def _require_sizes(dynamic: ArrayShape, static: Shape, sizes: Sequence[Shape]) -> None:
    assert isinstance(static, ArrayShape)
    if static.is_dynamic or static.dimensions != dynamic.dimensions or UNBOUNDED in dynamic.dimensions:
        raise ConfigError(f"cannot stand between {shape_text(dynamic)} and {shape_text(static)}")
    if [shape_text(size) for size in sizes] != ["s32[]"] * static.rank:
        raise ConfigError(f"needs a size s32[] for each of {static.rank} dimensions")


def _rows(call: Call) -> None:
    if call.sizes["k"] > call.sizes["n"]:
        raise ConfigError(f"cannot exchange {call.sizes['k']} of {call.sizes['n']} rows")


_PLACEMENT = CustomCall(("any -> any",), rule="placement", takes_dynamic=True, check=_check_placement, runs_on_cpu=True)
_PERMUTATION = CustomCall(("s32[*,k] -> s32[*,n]",), rule="pivots_to_permutation", check=_rows)
_THREEFRY = CustomCall(("u32[*] u32[*] u32[*] u32[*] -> u32[*] u32[*]",), rule="threefry_2x32")
OTHERS: dict[str, CustomCall] = {
    **dict.fromkeys(sorted(PLACEMENTS), _PLACEMENT),
    "AllocateBuffer": CustomCall(("... -> A[?]",), rule="zeros", runs_on_cpu=True),
    "PadToStatic": CustomCall(
        ("A[?] -> A[?] ...",), rule="pad_to_static", takes_dynamic=True, check=_sizes_given, runs_on_cpu=True
    ),
    "SliceToDynamic": CustomCall(
        ("A[?] ... -> A[?]",), rule="slice_to_dynamic", takes_dynamic=True, check=_sizes_taken, runs_on_cpu=True
    ),
    "GetRngSeed": CustomCall(("-> u64[]",), rule="rng_seed"),
    "cu_lu_pivots_to_permutation": _PERMUTATION,
    "hip_lu_pivots_to_permutation": _PERMUTATION,
    "cu_threefry2x32_ffi": _THREEFRY,
    "hip_threefry2x32_ffi": _THREEFRY,
}
