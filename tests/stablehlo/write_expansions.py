"""Write ``transpile/stablehlo/expansions/``: ``python -m xla2py.tests.stablehlo.write_expansions``.

Each file is a module of HLO with a computation of one number for each element type, as jaxlib translates an operation
of CHLO, or one of StableHLO on complex numbers, that HLO does not have.
"""

from __future__ import annotations

from pathlib import Path

from xla2py.tests.stablehlo.jaxlib_reader import converted_stablehlo
from xla2py.transpile.hlo.ir import Computation, HloModule
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.stablehlo import expansions

FOLDER = Path(expansions.__file__).parent / "expansions"
REALS, WIDE, COMPLEX = ("f16", "bf16", "f32", "f64"), ("f32", "f64"), ("complex<f32>", "complex<f64>")
OPERATIONS = {  # by the types that are written; narrow floats that are left out are computed in float32
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh"), REALS + COMPLEX),
    **dict.fromkeys(("cosh", "sinh"), WIDE + COMPLEX),
    **dict.fromkeys(("bessel_i1e", "digamma", "erf_inv", "erfc", "lgamma", "polygamma", "zeta"), WIDE),
    **dict.fromkeys(("is_inf", "is_neg_inf", "is_pos_inf", "next_after"), REALS),
    **dict.fromkeys(("conj", "square"), COMPLEX),
    **dict.fromkeys(("exponential", "log", "log_plus_one", "sqrt"), COMPLEX),
}
_OF_TWO = frozenset(("next_after", "polygamma", "zeta"))
_OF_STABLEHLO = frozenset(("exponential", "log", "log_plus_one", "sqrt"))


def expansion(name: str, element_type: str) -> Computation:
    """What jaxlib makes of an operation on one number."""
    own, result = f"tensor<{element_type}>", "tensor<i1>" if name.startswith("is_") else f"tensor<{element_type}>"
    operands = [f"%arg{k}" for k in range(2 if name in _OF_TWO else 1)]
    given, types = ", ".join(f"{each}: {own}" for each in operands), ", ".join([own] * len(operands))
    signature = own if name in _OF_STABLEHLO else f"{types} -> {result}"
    dialect = "stablehlo" if name in _OF_STABLEHLO else "chlo"
    text = (
        f"func.func @main({given}) -> {result} {{\n"
        f"  %0 = {dialect}.{name} {', '.join(operands)} : {signature} loc(unknown)\n"
        f"  return %0 : {result}\n}}\n"
    )
    return parse_module(converted_stablehlo(text.encode()).text).entry


def module_of(name: str) -> str:
    """The text of an operation's file."""
    computations = []
    for element_type in OPERATIONS[name]:
        found = expansion(name, element_type)
        own = found.parameters[0].array_shape.element_type.name
        computations.append(Computation(f"{name}.{own}", found.instructions, found.root))
    module = HloModule(name, tuple(computations), computations[-1])
    return print_module(module)


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for name in OPERATIONS:
        (FOLDER / f"{name}.hlo").write_text(module_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()
