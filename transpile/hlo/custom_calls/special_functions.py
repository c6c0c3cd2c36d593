"""Special functions: custom calls of dialects above HLO, of XLA's library, and of recognised functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..element_types import F32, F64
from .call import Call, CustomCall, Definition
from .fields import ConfigError

if TYPE_CHECKING:
    from ..builder import XlaBuilder, XlaOp

# The functions of the prelude and of the library: the number of arguments, and other targets for them.
SPECIAL_FUNCTIONS: dict[str, tuple[int, tuple[str, ...]]] = {
    "betainc": (3, ("xla_builder.math.RegularizedIncompleteBeta",)),
    "betaln": (2, ()),
    "complex_sinc": (1, ()),
    **{f"complex_{name}": (1, ()) for name in "arccos arccosh arcsin arcsinh cos sin sqrt square".split()},
    "digamma": (1, ("xla_builder.math.Digamma", "chlo.digamma", "mhlo.digamma")),
    "digamma_with_limits": (1, ()),
    "entr": (1, ()),
    "erfcx": (1, ()),
    "expi": (1, ()),
    "expi_with_limits": (1, ()),
    "expn": (2, ()),
    "expn_with_limits": (2, ()),
    "gammainc": (2, ("xla_builder.math.Igamma",)),
    "gammainc_with_limits": (2, ()),
    "gammaincc": (2, ("xla_builder.math.Igammac",)),
    "gammaincc_with_limits": (2, ()),
    "gaussian": (1, ()),
    "i0e": (1, ("xla_builder.math.BesselI0e",)),
    "i1e": (1, ("xla_builder.math.BesselI1e", "chlo.bessel_i1e", "mhlo.bessel_i1e")),
    "igamma_grad_a": (2, ("xla_builder.math.IgammaGradA",)),
    "kl_div": (2, ()),
    "lgamma": (1, ("xla_builder.math.Lgamma", "chlo.lgamma", "mhlo.lgamma")),
    "log_ndtr": (1, ()),
    "log_ratio": (2, ()),
    "ndtr_slope": (2, ()),
    "ndtri": (1, ()),
    "np.arctan": (1, ()),
    "np.arctanh": (1, ()),
    "np.hypot": (2, ()),
    "np.nextafter": (2, ("chlo.next_after", "mhlo.next_after")),
    "polygamma": (2, ("xla_builder.math.Polygamma", "chlo.polygamma", "mhlo.polygamma")),
    "polygamma_with_limits": (2, ()),
    "random_gamma_grad": (2, ("xla_builder.math.RandomGammaGrad",)),
    "rel_entr": (2, ()),
    "sinc": (1, ()),
    "sinc_curvature": (3, ()),
    "sinc_slope": (2, ()),
    "trigamma": (1, ()),
    "xlogy": (2, ()),
    "xlog1py": (2, ()),
    "zeta": (2, ("xla_builder.math.Zeta", "chlo.zeta", "mhlo.zeta")),
}

ASSOCIATIVE_SCAN = "xla2py.associative_scan"  # the target of recognised scans: ``to_apply`` combines
LINEAR_RECURRENCE = "xla2py.linear_recurrence"  # the scan of pairs (factor, term) whose states are read
WITH_FLOAT64 = frozenset(("erfcx", "i0e", "i1e", "log_ndtr"))  # with a variant for float64: ``i0e_float64``

# Through a wider type: JAX 0.12 computes these for float32 to the last digit, or from functions that are. For
# narrower floats, JAX expands them in their own type.
IN_WIDER = {f"{function}_in_float64": (function, F64) for function in ("betainc", "betaln", "erfcx", "lgamma")} | {
    f"{function}_in_float32": (function, F32) for function in ("kl_div", "np.hypot", "rel_entr")
}


def own_target(function: str) -> str:
    """Return the target of calls of a recognised function; a text that is read may not contain it."""
    return f"xla2py.{function}"


def _named(function: str) -> Definition:
    """Return the definition as a call of our own target, through float32 for narrower floats."""

    def definition(b: XlaBuilder, call: Call, *operands: XlaOp) -> XlaOp:
        shape = operands[-1].array_shape
        element_type = shape.element_type
        if not element_type.is_floating or element_type.bits < 16:
            raise ConfigError(f"takes floating-point numbers of 16 bits and more, not {element_type}")
        if element_type.bits >= F32.bits:
            return b.custom_call(own_target(function), operands, shape)
        wide = [b.convert_element_type(operand, F32) for operand in operands]
        made = b.custom_call(own_target(function), wide, replace(shape, element_type=F32))
        return b.convert_element_type(made, element_type)

    return definition


OWN_TARGETS: Mapping[str, str] = {own_target(function): function for function in (*SPECIAL_FUNCTIONS, *IN_WIDER)}

SPECIAL_CALLS: dict[str, CustomCall] = {
    target: CustomCall((" ".join(["A[*]"] * count) + " -> A[*]",), _named(function))
    for function, (count, targets) in SPECIAL_FUNCTIONS.items()
    for target in targets
}
