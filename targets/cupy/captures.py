"""The operations that a CUDA graph cannot hold: ``main`` is not captured if the program has one of them.

Source: CuPy 14.2. While a stream is captured, ``cublas.pyx`` and ``cusolver.pyx`` refuse to work on it, ``memory.pyx``
refuses copies from and to the host, and ``_routines_manipulation.pyx`` copies addresses to the device. cuBLAS itself
can be captured: ``gemm`` calls it without CuPy (``templates/cupy/prelude/graphs``).
"""

from __future__ import annotations

from ...transpile.array.node import Node
from ...transpile.array.program import Function
from ...transpile.array.scalars import is_known_on_host
from ...transpile.target import OwnCall
from ..refusals import Rule, lacks
from .functions import BY_GEMM, product_by_gemm

BLAS = "CuPy lets no call of its own of cuBLAS be captured, and gemm has no such product"
SOLVER = "CuPy lets no call of cuBLAS or cuSOLVER be captured"
PLAN = "cuFFT's plan is in a cache of CuPy's, which may drop it before the graph goes"
WAIT = "the host waits for the device to know how to go on"
SIZE = "the host waits for the size of the result"
COUNT = "the host counts the numbers that are gone, and a graph would give the same ones again"
HOST = "the host takes part"
FOREIGN = "it is not known what a function of your own does"
ADDRESSES = "CuPy copies the addresses of more than 8 small arrays from the host"


def cannot_be_captured(node: Node) -> str | None:
    """Return the reason why a node cannot be in a CUDA graph, or None."""
    if node.opcode != "prelude":
        return _RULES[node.opcode](node) if node.opcode in _RULES else None
    function = node.parameters["function"]
    if not isinstance(function, str):
        return FOREIGN
    return _FUNCTIONS[function](node) if function in _FUNCTIONS else None


def captured_product(node: Node) -> OwnCall | None:
    """Return the call of ``gemm`` or ``contract`` for a product of floats, since CuPy's own calls of cuBLAS refuse
    captures.
    """
    if node.opcode not in _PRODUCTS or len(node.operands) != 2 or not _goes_by_gemm(node):
        return None
    return product_by_gemm(node)


def _product(node: Node) -> str | None:
    """Return a reason unless a product is captured: by ``gemm``, or of integers, which CuPy multiplies in its own
    kernels.
    """
    return None if _is_of_integers(node) or captured_product(node) is not None else BLAS


def _by_gemm(node: Node) -> str | None:
    return None if _is_of_integers(node) or _goes_by_gemm(node) else BLAS


def _is_of_integers(node: Node) -> bool:
    return all(operand.type.is_integral for operand in node.operands)


def _goes_by_gemm(node: Node) -> bool:
    return all(operand.type.name in BY_GEMM for operand in node.operands)


def _joined(node: Node) -> str | None:
    several, types = len(node.operands), {operand.element_type for operand in node.operands}
    size = sum(operand.nbytes for operand in node.operands)
    return ADDRESSES if several > 8 and len(types) == 1 and size < several << 21 else None


def _scan(node: Node) -> str | None:
    """Return a reason for a scan of more than 8 steps: its stacked results are joined by an array of their
    addresses.
    """
    axis = node.parameters["keywords"].get("axis", 0)
    return ADDRESSES if node.operands[0].shape[axis] > 8 else None


def _scatter(node: Node) -> str | None:
    """Return a reason for a scatter with the program's own combiner: the host asks after each round whether to
    go on.
    """
    return WAIT if any(isinstance(argument, Function) for argument in node.parameters["arguments"]) else None


_PRODUCTS = ("matmul", "tensordot", "einsum")
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_PRODUCTS, _product),
    **dict.fromkeys(("concatenate", "stack"), _joined),
    **lacks("fft", PLAN),
    **lacks("infeed outfeed to_host from_host collective send recv replica-id partition-id", HOST),
    **lacks("as_int", WAIT),
    "loop": lambda node: WAIT if node.parameters["loop"].counter is None else None,
    "conditional": lambda node: None if is_known_on_host(node.operands[0]) else WAIT,
}
_FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(("gemm", "contract", "convolution"), _by_gemm),
    **dict.fromkeys(("matmul", "dot_general", "ragged_dot", "scaled_dot", "correlate"), _product),
    **lacks("cholesky potrf triangular_solve back_substitute getrf solve solve_transposed", SOLVER),
    **lacks("reflect apply_q geqrf geqp3 orgqr ormqr gehrd sytrd syevd gesdd geev gees", SOLVER),
    **lacks("fourier_transform", PLAN),
    **lacks("crop dynamic_reshape", SIZE),
    **lacks("rng_uniform rng_normal advance", COUNT),
    **lacks("gammainc gammaincc betainc igamma_grad_a random_gamma_grad", WAIT),
    "scatter": _scatter,
    "scan": _scan,
}
