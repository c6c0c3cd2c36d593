"""Lowers cholesky, triangular-solve and fft."""

from __future__ import annotations

from typing import Any

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...array.rewriting import called, prelude_call
from ...array.value import Value, transposed
from ...hlo.ir import Instruction
from .lowering import FunctionLowering, lowers


@lowers("cholesky")
def cholesky(lowering: FunctionLowering, instruction: Instruction, a: Value) -> Value:
    keywords: dict[str, Any] = {} if instruction["lower"] else {"lower": False}
    return lowering.call("cholesky", (lowering.plain(a),), **keywords)


@lowers("triangular-solve")
def triangular_solve(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value:
    """Lower a triangular solve. The prelude's function solves from the left; other forms use transposes."""
    graph, matrix, sides = lowering.graph, lowering.plain(a), lowering.plain(b)
    if matrix.shape[-2:] == (1, 1) and not matrix.type.is_complex:
        return b if instruction["unit_diagonal"] else Value.of(lowering.node("divide", (sides, matrix), sides.type))
    form, left_side, lower = instruction["transpose_a"], instruction["left_side"], instruction["lower"]
    if form == "ADJOINT" and matrix.type.is_complex:
        matrix = called(graph, "np.conj", (matrix,), matrix)
    if (form == "NO_TRANSPOSE") != left_side:
        matrix, lower = transposed(graph, matrix), not lower
    if not left_side:
        sides = transposed(graph, sides)
    flags = {"lower": lower, "unit_diagonal": instruction["unit_diagonal"]}
    keywords: dict[str, Any] = {name: True for name, is_set in flags.items() if is_set}
    solution = lowering.call("triangular_solve", (matrix, sides), **keywords)
    return solution if left_side else Value.of(transposed(graph, lowering.plain(solution)))


@lowers("fft")
def fft(lowering: FunctionLowering, instruction: Instruction, x: Value) -> Value:
    """Lower a Fourier transform to NumPy's own, if there is something to transform."""
    lengths, kind = instruction["fft_length"], instruction["fft_type"]
    node = lowering.plain(x)
    if not node.shape or 0 in node.shape or 0 in lengths:
        arguments = (Slot(0), kind, lengths)
        return lowering.call("fourier_transform", (node,), arguments=arguments)
    # A spectrum does not tell whether its signal has an odd length; with free sizes, it may have at other sizes.
    may_be_odd = bool(lowering.module.module.free_sizes)
    if kind == "IRFFT" and lengths[-1] == 1 and len(lengths) > 1 and not may_be_odd:
        # cuFFT assumes that such a spectrum is symmetric along the axis before the last; length 1 needs no transform.
        spectrum = lowering.graph.add("fft", (node,), kind="ifft", lengths=lengths, own_length=True)
        return Value.of(lowering.graph.add("real", (spectrum,)))
    own = kind != "IRFFT" or (lengths[-1] == 2 * (node.shape[-1] - 1) and not may_be_odd)
    return Value.of(lowering.graph.add("fft", (node,), kind=kind.lower(), lengths=lengths, own_length=own))


def permutation(graph: Graph, rows: Node, size: int) -> Node:
    """Return the order of ``size`` rows after exchanging row ``k`` with row ``rows[.., k]``, for all ``k`` in order."""
    within = (0, max(size - 1, 0))
    return prelude_call(graph, "pivots_to_permutation", (rows,), (Slot(0), size), interval=within)
