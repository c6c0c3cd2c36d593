"""Operations on every element by itself."""

from __future__ import annotations

from xla2py.tests.targets.programs.program import (
    COMPLEX,
    ELEMENT_TYPES,
    INTEGERS,
    REAL,
    Program,
    number,
    program,
    several,
)

_UNARY = {
    "real": "abs acos acosh asin asinh atanh cbrt ceil cosine cosh exponential exponential-minus-one floor log "
    "log-plus-one negate round-nearest-even sine sinh sqrt tan tanh",
    "complex": "cosine exponential negate sine sqrt",
    "signed": "abs negate not sign",
    "unsigned": "negate not",
}
_BINARY = {
    "real": "add atan2 divide maximum minimum multiply power remainder subtract",
    "complex": "add divide multiply subtract",
    "signed": "add and maximum minimum multiply or subtract xor",
    "unsigned": "add and maximum minimum multiply or subtract xor",
}
_ORDERED = (
    "$T clamp(one, x, three)",
    "$T clamp(x, y, z)",
    "$T maximum(x, twos)",
    *(
        f"pred[3,5] compare({sides}), direction={each}"
        for sides in ("x, y", "twos, x")
        for each in ("LT", "LE", "GT", "GE")
    ),
)


def elementwise(family: str, kind: str) -> Program:
    """Everything that works on floats (``real``), ``complex``, ``signed`` or ``unsigned`` elements of one type."""
    results = [f"$T {opcode}(x)" for opcode in _UNARY[family].split()]
    results += [f"$T {opcode}(x, y)" for opcode in _BINARY[family].split()]
    results += ["$T select(which, x, y)", "$T select(which, twos, y)", "$T multiply(x, twos)"]
    results += [f"pred[3,5] compare(x, y), direction={direction}" for direction in ("EQ", "NE")]
    results += _ORDERED if family != "complex" else ["$R real(x)", "$R imag(x)"]
    results += ["pred[3,5] is-finite(x)"] if family == "real" else []
    results += ["$T logistic(x)", "$T rsqrt(x)"] if kind in ("f32", "f64") else []
    setup = """x = $T parameter(0)
        y = $T parameter(1)
        z = $T parameter(2)
        which = pred[3,5] parameter(3)
        one = $K[] constant($ONE)
        two = $K[] constant($TWO)
        three = $K[] constant($THREE)
        twos = $T broadcast(two), dimensions={}"""
    half = {"c64": "f32", "c128": "f64"}.get(kind, kind)
    words = {"T": f"{kind}[3,5]", "R": f"{half}[3,5]", "K": kind}
    words |= {name: number(kind, value) for name, value in (("ONE", 1), ("TWO", 2), ("THREE", 3))}
    return several(f"elementwise {kind}", setup, *results, special=family != "complex", **words)


def _conversions(source: str) -> Program:
    """Everything but from a float or a complex number to an integer, which saturates."""
    fractional = source in (*REAL, *COMPLEX)
    wanted = [to for to in ELEMENT_TYPES if to != source and not (fractional and to in INTEGERS)]
    results = [f"{to}[7] convert(x)" for to in wanted]
    return several(f"convert {source}", f"x = {source}[7] parameter(0)", *results, special=True)


PROGRAMS = [
    *(elementwise("real", kind) for kind in REAL),
    *(elementwise("complex", kind) for kind in COMPLEX),
    *(elementwise("unsigned" if kind[0] == "u" else "signed", kind) for kind in INTEGERS),
    several(
        "elementwise pred",
        "x = pred[3,5] parameter(0)\n y = pred[3,5] parameter(1)",
        *(f"pred[3,5] {opcode}(x, y)" for opcode in ("and", "or", "xor", "maximum", "minimum")),
        "pred[3,5] not(x)",
        "pred[3,5] compare(x, y), direction=EQ",
    ),
    *map(_conversions, ELEMENT_TYPES),
    program(
        "shifts",
        """x = s32[4] parameter(0)
        y = u32[4] parameter(1)
        amounts = u32[4] parameter(2)
        five = s32[] constant(5)
        fives = s32[4] broadcast(five), dimensions={}
        a = s32[4] shift-left(x, fives)
        b = s32[4] shift-right-arithmetic(x, fives)
        c = u32[4] shift-left(y, amounts)
        d = u32[4] shift-right-logical(y, amounts)
        all = (s32[4], s32[4], u32[4], u32[4]) tuple(a, b, c, d)""",
        special=True,
    ),
    several(
        "views of the same width",
        "a = f32[4,3] parameter(0)\n b = s32[] parameter(1)\n c = u16[5] parameter(2)\n d = f64[2] parameter(3)",
        "s32[4,3] bitcast-convert(a)",
        "f32[] bitcast-convert(b)",
        "bf16[5] bitcast-convert(c)",
        "u64[2] bitcast-convert(d)",
    ),
    program(
        "broadcast operands",
        """x = f32[4,6] parameter(0)
        row = f32[6] parameter(1)
        column = f32[4] parameter(2)
        scalar = f32[] parameter(3)
        rows = f32[4,6] broadcast(row), dimensions={1}
        columns = f32[4,6] broadcast(column), dimensions={0}
        scalars = f32[4,6] broadcast(scalar), dimensions={}
        a = f32[4,6] add(x, rows)
        b = f32[4,6] multiply(a, columns)
        c = f32[4,6] subtract(b, scalars)
        d = f32[4,6] add(rows, columns)
        all = (f32[4,6], f32[4,6]) tuple(c, d)""",
        special=True,
    ),
]
