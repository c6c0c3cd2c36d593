"""Functions of single numbers that array libraries have, and that JAX writes in terms of others."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...array.graph import Graph
from ...array.imaginary import imaginary_place
from ...array.live import live_nodes
from ...array.node import Node, literal_value
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ...array.value import filled
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Make, Rule, apply_rules, is_full_float


def _is_full_complex(element_type: ElementType) -> bool:
    return element_type.is_complex


def _nan_to_num(graph: Graph, node: Node, found: Bindings) -> Node | None:
    limits = np.finfo(node.type.dtype)
    if literal_value(found["LARGEST"]) != limits.max or literal_value(found["LOWEST"]) != limits.min:
        return None
    return called(graph, "np.nan_to_num", (found["x"],), node)


def _shifted_out(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return zeros for a shift by the width or more, such as of the upper word of a 32-bit seed."""
    is_empty = literal_value(found["PLACES"]) >= node.type.bits
    return filled(graph, graph.literal(0, node.type), node.shape) if is_empty else None


_DISCONTINUOUS = [opcode for opcode, row in OPERATIONS.items() if row.is_discontinuous]
_TOLERANCES = {"rtol": 1e-5, "atol": 1e-8}  # NumPy's own


def _is_close(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, y = found["x"], found["y"]
    if not is_full_float(x.type) or x.is_literal or y.is_literal:
        return None
    given = {name: found.get(name.upper()) or graph.literal(0, x.type) for name in _TOLERANCES}
    if not all(np.isfinite(literal_value(number)) for number in given.values()):
        return None
    keywords = {
        name: number.parameters["constant"]
        for name, number in given.items()
        if literal_value(number) != number.type.dtype.type(_TOLERANCES[name])
    }
    return called(graph, "np.isclose", (x, y), node, **keywords)


def _sign_bit(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x = found["x"]
    of_float = is_full_float(x.type) and found["bits"].type.is_signed and found["bits"].type.bits == x.type.bits
    last = int(literal_value(found["PLACES"])) == x.type.bits - 1
    return called(graph, "np.signbit", (x,), node) if of_float and last else None


def _complex_logistic(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a call of the prelude's function, since NumPy's quotient is NaN where the exponential overflows."""
    return called(graph, "complex_logistic", (found["z"],), node) if literal_value(found["ONE"]) == 1 else None


def _hyperbolic(function: str) -> Make:
    """Return what makes a call for a sum or a difference of two exponentials of numbers from which log(2) is taken."""

    def made(graph: Graph, node: Node, found: Bindings) -> Node | None:
        half = found["half"]
        number = half.operands[0] if half.opcode == "log" else half
        if not number.is_literal or literal_value(number) != (0.5 if half.opcode == "log" else np.log(_half(node))):
            return None
        return called(graph, function, (found["z"],), node)

    return made


def _half(node: Node) -> np.ndarray:
    return np.array(0.5, node.type.dtype)


def _log_of_sum(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the logarithm of a sum of exponentials of complex numbers, of which one may be 0."""
    a = found["a"]
    b = found["b"] if "b" in found else found["NONE"]
    whole_turn = found["turn"].type.dtype.type(2 * math.pi)
    is_wrapped = found["turn"].parameters["arguments"][1].array == whole_turn
    if literal_value(found["TWO"]) != 2 or ("NONE" in found and literal_value(b) != 0) or not is_wrapped:
        return None
    return called(graph, "complex_logaddexp", (a, b), node)


def _whole(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the complex number of a real one, as a conversion gives it."""
    x, zero = found["x"], found["ZERO"]
    if literal_value(zero) != 0 or np.signbit(literal_value(zero)) or x.shape != node.shape:
        return None
    if x.is_literal:
        return graph.literal(literal_value(x).astype(node.type.dtype), node.type)
    return graph.add("convert", (x,), element_type=node.type)


def _real_divisor(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a converted choice between a real number and 1 where that is 0, for one between converted numbers."""
    x = found["x"]
    if not x.type.is_floating or literal_value(found["ZERO"]) != 0 or literal_value(found["ONE"]) != 1:
        return None
    is_zero = graph.add("compare", (x, graph.literal(0, x.type)), direction="EQ")
    return graph.add("convert", (graph.add("select", (is_zero, graph.literal(1, x.type), x)),), element_type=node.type)


def _turned(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return ``np.exp`` of an imaginary number, whose result has length 1; adding 0 makes -0 positive."""
    z = found["z"]
    place = imaginary_place(z)
    if place is None:
        return None
    if place < 0:
        z = graph.add("add", (z, graph.literal(0, z.type)), element_type=z.type)
    return called(graph, "np.exp", (z,), node)


def _turned_back(graph: Graph, node: Node, found: Bindings) -> Node | None:
    turned = _turned(graph, node, found)
    return called(graph, "np.conj", (turned,), node) if turned is not None else None


def _parts_of_turned(graph: Graph, node: Node, found: Bindings, *, is_back: bool) -> Node | None:
    """Return the cosine and the sine as the parts of a complex number, for kernels."""
    y, sine, place = found["y"], found["sin"], imaginary_place(found["z"])
    if place is None:
        return None
    if place < 0:
        zero = graph.literal(0, y.type)
        sine = graph.add("select", (graph.add("compare", (y, zero), direction="EQ"), zero, sine))
    sine = graph.add("negate", (sine,)) if is_back else sine
    return called(graph, "complex_from_parts", (found["cos"], sine), node)


_CLOSE = "or_(compare(x, y, direction='EQ'), and_(is_finite(y), compare(abs(subtract(x, y)), {}, direction='LE')))"
_TOLERANCE = ("add(multiply(abs(y), RTOL), ATOL)", "multiply(abs(y), RTOL)")
_NUMBERS = "(numbers := select(isnan(x), 0, x))"
_BELOW_INF = f"(finite := select(compare({_NUMBERS}, inf, direction='EQ'), LARGEST, numbers))"
_LENGTH = (
    "select((none := compare((most := maximum((a := abs(x)), (b := abs(y)))), 0, direction='EQ')), most, "
    "multiply(most, sqrt(add(multiply((q := divide(minimum(a, b), select(none, 1, most))), q), 1))))"
)
_ANY_INFINITE = "or_(compare(a, inf, direction='EQ'), compare(b, inf, direction='EQ'))"
_HALF = "(half := exponential(multiply((x := real(z)), 0.5)))"
_SWELLS = "(swells := compare((e := exponential(x)), inf, direction='EQ'))"
_REAL = f"select({_SWELLS}, multiply(multiply({_HALF}, (cos := cosine((y := imag(z))))), half), multiply(e, cos))"
_IMAGINARY = "select(swells, multiply(multiply(half, (sin := sine(y))), half), multiply(e, sin))"
_PARTS_OF_EXP = f"{_REAL}, {{sign}}select(compare(y, 0, direction='EQ'), 0, {_IMAGINARY}){{end}}"
_EXP = f"prelude.complex_from_parts({_PARTS_OF_EXP.format(sign='', end='')})"
_CONJUGATE = f"prelude.complex_from_parts({_PARTS_OF_EXP.format(sign='negate(', end=')')})"
_EXP_OF_MINUS = _EXP.replace("(z)", "(minus)").replace("real(minus)", "real((minus := negate(z)))", 1)
_LARGER = (
    "(larger := select(select(compare(real(a), {real}, direction='EQ'), compare(imag(a), {imag}, direction='GT'), "
    "compare(real(a), {real}, direction='GT')), a, {b}))"
)
_LOG_OF_SUM_OF_EXP = (
    "(sum := add({larger}, prelude.complex_log1p(prelude.complex_exp(subtract({both}, multiply(larger, TWO))))))"
)
_WRAPPED = f"subtract((turn := np.mod(add(imag(sum), {math.pi!r}))), {math.pi!r})"
_ZERO = "(zero := compare(x, 0, direction='EQ'))"
_ROUND = "divide(sine((safe := select(zero, 1, {pi_x}))), safe)"
_DIFFERENCE = "(d := subtract(x, y))"
_LOG_OF_SUM = "multiply(log_plus_one(exponential(multiply(negate(abs(d)), 0.6931471805599453))), 1.4426950408889634)"

_NO_INFINITY = "and_(and_(not_(isnan(x)), compare(x, inf, direction='NE')), compare(x, -inf, direction='NE'))"

RULES = (
    # complex numbers
    Rule("prelude.complex_from_parts(real(z), negate(imag(z)))", "np.conj(z)", when=_is_full_complex),
    Rule("prelude.complex_from_parts(x, ZERO)", _whole, when=_is_full_complex),
    Rule("select(compare((z := convert(x)), ZERO, direction='EQ'), ONE, z)", _real_divisor, when=_is_full_complex),
    FloatRule("atan2(imag(z), real(z))", "np.angle(z)"),
    Rule(_EXP, _turned, when=_is_full_complex),
    Rule(_EXP, partial(_parts_of_turned, is_back=False), when=_is_full_complex),
    Rule(_CONJUGATE, _turned_back, when=_is_full_complex),
    Rule(_CONJUGATE, partial(_parts_of_turned, is_back=True), when=_is_full_complex),
    Rule(_EXP, "prelude.complex_exp(z)", when=_is_full_complex),
    Rule(_CONJUGATE, "np.conj(prelude.complex_exp(z))", when=_is_full_complex),
    *(
        Rule(f"divide(ONE, add({exp}, ONE))", _complex_logistic, when=_is_full_complex)
        for exp in ("prelude.complex_exp(negate(z))", "exponential(negate(z))", _EXP_OF_MINUS)
    ),
    *(
        Rule(
            f"{opcode}(prelude.complex_exp(add(z, half)), prelude.complex_exp(subtract(half, z)))",
            _hyperbolic(function),
            when=_is_full_complex,
        )
        for opcode, function in (("subtract", "complex_sinh"), ("add", "complex_cosh"))
    ),
    *(
        Rule(
            f"prelude.complex_from_parts(real({_LOG_OF_SUM_OF_EXP.format(larger=larger, both=both)}), {_WRAPPED})",
            _log_of_sum,
            when=_is_full_complex,
        )
        for larger, both in (
            (_LARGER.format(real="real(b)", imag="imag(b)", b="b"), "add(a, b)"),
            (_LARGER.format(real="0", imag="0", b="NONE"), "add(a, NONE)"),
            (_LARGER.format(real="0", imag="0", b="NONE"), "a"),
        )
    ),
    # bits, signs and whole parts
    Rule("prelude.shift_right_logical(x, PLACES)", _shifted_out),
    Rule("compare(shift_right_arithmetic((bits := view(x)), PLACES), 0, direction='NE')", _sign_bit),
    FloatRule("select(np.signbit(y), negate((a := abs(x))), a)", "np.copysign(x, y)"),
    FloatRule(
        "select(compare(x, 0, direction='LT'), 0, "
        "select(compare(x, 0, direction='GT'), 1, select(isnan(x), x, middle)))",
        "np.heaviside(x, middle)",
    ),
    FloatRule("select(compare(x, 0, direction='LT'), ceil(x), floor(x))", "np.trunc(x)"),
    FloatRule("select(compare(x, 0, direction='GE'), floor(x), ceil(x))", "np.trunc(x)"),
    Rule("np.conj(np.conj(x))", "x"),
    # what is close, finite, long
    Rule(_NO_INFINITY, "is_finite(x)"),
    *(Rule(_CLOSE.format(tolerance), _is_close) for tolerance in _TOLERANCE),
    FloatRule(f"select(compare({_BELOW_INF}, -inf, direction='EQ'), LOWEST, finite)", _nan_to_num),
    FloatRule(f"select({_ANY_INFINITE}, inf, {_LENGTH})", "np.hypot(x, y)"),
    FloatRule("np.hypot(real(x), imag(x))", "abs(x)"),
    FloatRule(f"select(isnan({_DIFFERENCE}), add(x, y), add(maximum(x, y), {_LOG_OF_SUM}))", "np.logaddexp2(x, y)"),
    FloatRule(f"multiply(x, {math.pi / 180!r})", "np.deg2rad(x)"),
    FloatRule(f"multiply(x, {180 / math.pi!r})", "np.rad2deg(x)"),
    *(
        FloatRule(f"select({_ZERO}, add(multiply({of}, 0), 1), {_ROUND.format(pi_x=pi_x)})", "np.sinc(x)")
        for of, pi_x in ((f"(p := multiply(x, {math.pi!r}))", "p"), ("x", f"multiply(x, {math.pi!r})"))
    ),
)

_PARTS_OF_LOG = "{0}(real((log := log(z))), {1!r}), {0}({2}, {1!r})"

LOGARITHMS = (
    *(
        Rule(
            f"prelude.complex_from_parts({_PARTS_OF_LOG.format(opcode, number, imag)})",
            f"np.log{base}(z)",
            when=_is_full_complex,
        )
        for base in (2, 10)
        for opcode, number in (("divide", math.log(base)), ("multiply", math.log2(math.e) / math.log2(base)))
        for imag in ("np.angle(z)", "imag(log)", "atan2(imag(z), real(z))")
    ),
    FloatRule(f"divide(log(x), {math.log(2)!r})", "np.log2(x)"),
    FloatRule(f"multiply(log(x), {1 / math.log(2)!r})", "np.log2(x)"),
    FloatRule(f"divide(log(x), {math.log(10)!r})", "np.log10(x)"),
    FloatRule(f"multiply(log(x), {1 / math.log(10)!r})", "np.log10(x)"),
)


def ufuncs(function: Function, supports: Support) -> None:
    """Raise compositions to calls by name, except for logarithms that are rounded to integers: the last bit could
    change the integer.
    """
    cut = {operand for node in live_nodes(function).of(_DISCONTINUOUS) for operand in node.operands}
    apply_rules(function, LOGARITHMS, supports, but=cut)
    apply_rules(function, RULES, supports)
