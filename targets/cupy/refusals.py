"""The operations that the CuPy target supports."""

from __future__ import annotations

from ...transpile.array.node import Node
from ..refusals import ELEMENTWISE, Rule, refused_by, supports


def refuses(node: Node) -> str | None:
    """Return the reason why the CuPy target does not support a node, or None if it does."""
    if node.parameters.get("function") == "image_filter":
        return "one kernel adds up all shifted images faster"
    if node.parameters.get("function") == "top_values":
        return "one kernel finds the first of each row together with their places"
    if node.parameters.get("function") == "search_rows":
        return "halving in all rows at once takes fewer kernels"
    return refused_by(RULES, None, node)


# Functions of CuPy that are the same as NumPy's of that name.
LIBRARY = frozenset(
    "angle arccos arccosh arcsin arcsinh arctan arctanh bartlett blackman conj copysign diff fft.fftfreq fmod "
    "full_like hamming hanning hypot kaiser linalg.cholesky linalg.eigh linalg.eigvalsh linalg.solve linalg.svd "
    "nextafter log10 log2 pad repeat signbit tile trunc".split()
)


def _called_by_name(node: Node) -> str | None:
    function = node.parameters["function"]
    if node.parameters["keywords"].get("upper"):
        return f"cp.{function} has no upper"
    if function == "log2" and node.type.is_complex:
        return "cp.log2 takes no complex numbers"
    return None if function in LIBRARY else f"cp.{function} is not what np.{function} is"


def _remainder(node: Node) -> str | None:
    """Return a reason if integers may be divided by 0: CuPy gives the dividend, NumPy and HLO's frontends give 0."""
    bounds = node.operands[1].interval
    if not node.type.is_integral or node.is_python_int or (bounds is not None and bounds[0] > 0):
        return None
    return "it may divide by 0"


RULES: dict[str, Rule] = {
    **supports(ELEMENTWISE),
    "library": _called_by_name,
    "remainder": _remainder,
    # leaves and structure
    **supports(
        "parameter literal integer as_int item arange range tri eye tril triu diagonal roll array full zeros ones "
        "empty copy"
    ),
    **supports("view axis_size expand transpose reshape broadcast_to concatenate stack call"),
    **supports("getitem setitem update_at take advanced_index take_along_axis pad"),
    # reductions and contractions
    **supports("sum mean var std prod max min any all argmax argmin cumsum cumprod cummax cummin bitwise_reduce"),
    **supports("matmul tensordot einsum sort argsort fft"),
    # several replicas, and the host
    **supports("collective send recv replica-id partition-id infeed outfeed to_host from_host"),
    # control flow; a branch, and a loop of unknown trip count, wait for the condition
    **supports("loop conditional"),
}
