"""cholesky, triangular-solve and fft."""

from __future__ import annotations

from typing import Any

from ...array.node import Slot
from ...array.value import Value
from ...hlo.ir import Instruction
from .lowering import FunctionLowering, lowers

_TRANSPOSES = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


@lowers("cholesky")
def cholesky(lowering: FunctionLowering, instruction: Instruction, a: Value) -> Value:
    keywords: dict[str, Any] = {} if instruction["lower"] else {"lower": False}
    return lowering.call("cholesky", (lowering.plain(a),), **keywords)


@lowers("triangular-solve")
def triangular_solve(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value:
    return solve(
        lowering,
        instruction,
        a,
        b,
        lower=instruction["lower"],
        unit_diagonal=instruction["unit_diagonal"],
        transpose=_TRANSPOSES[instruction["transpose_a"]],
        left_side=instruction["left_side"],
    )


def solve(
    lowering: FunctionLowering,
    instruction: Instruction,
    a: Value,
    b: Value,
    *,
    lower: bool,
    unit_diagonal: bool,
    transpose: str,
    left_side: bool,
) -> Value:
    """The prelude's triangular solve; what is usual is left out of the call."""
    given = {"lower": lower, "unit_diagonal": unit_diagonal, "transpose": transpose, "left_side": left_side}
    usual = {"lower": False, "unit_diagonal": False, "transpose": "N", "left_side": True}
    keywords: dict[str, Any] = {key: value for key, value in given.items() if value != usual[key]}
    nodes = (lowering.plain(a), lowering.plain(b))
    return lowering.call("triangular_solve", nodes, **keywords)


@lowers("fft")
def fft(lowering: FunctionLowering, instruction: Instruction, x: Value) -> Value:
    """NumPy's own transform where there is something to transform."""
    lengths, kind = instruction["fft_length"], instruction["fft_type"]
    node = lowering.plain(x)
    if not node.shape or 0 in node.shape or 0 in lengths:
        arguments = (Slot(0), kind, lengths)
        return lowering.call("fourier_transform", (node,), arguments=arguments)
    # A spectrum does not tell whether its signal has an odd length: where sizes are free, it may have at others.
    may_be_odd = bool(lowering.module.module.free_sizes)
    if kind == "IRFFT" and lengths[-1] == 1 and len(lengths) > 1 and not may_be_odd:
        # cuFFT takes such a spectrum to be symmetric along the axis before the last; that of one number is itself.
        spectrum = lowering.graph.add("fft", (node,), kind="ifft", lengths=lengths, own_length=True)
        return Value.of(lowering.graph.add("real", (spectrum,)))
    own = kind != "IRFFT" or (lengths[-1] == 2 * (node.shape[-1] - 1) and not may_be_odd)
    return Value.of(
        lowering.graph.add(
            "fft",
            (node,),
            kind=kind.lower(),
            lengths=lengths,
            own_length=own,
        )
    )
