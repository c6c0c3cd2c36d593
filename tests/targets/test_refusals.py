"""What the targets refuse: by the name of the operation, with the reason, all of it at once."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import xla2py
from xla2py.targets.cupy import fusion
from xla2py.targets.cupy.refusals import RULES
from xla2py.targets.numpy import kernels as numpy_kernels
from xla2py.transpile.array.operations import OPERATIONS, functions
from xla2py.transpile.array.operations.functions import rows_of
from xla2py.transpile.emission.expression import TEMPLATES
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.target import Target, load_target


def module(shapes: str, *instructions: str) -> str:
    lines = [f"{'xyz'[k]} = {shape} parameter({k})" for k, shape in enumerate(shapes.split())]
    lines += [f"r{k} = {instruction}" for k, instruction in enumerate(instructions)]
    return "ENTRY main {\n  " + "\n  ".join([*lines[:-1], f"ROOT {lines[-1]}"]) + "\n}\n"


def complaints(text: str, target: str | Target) -> list[str]:
    """The text of the one error about a program; nothing where the target supports it."""
    try:
        xla2py.emit(text, target=target)
    except UnsupportedError as error:
        assert all(diagnostic.code == "XP301" and diagnostic.span for diagnostic in error.diagnostics)
        return [diagnostic.message for diagnostic in error.diagnostics]
    return []


@pytest.mark.parametrize("target", ["numpy", "cupy", "dask"])
def test_what_has_no_meaning_is_refused_everywhere(target):
    text = module("c64[4] f32[4]", "c64[4] remainder(x, x)", "f32[4] remainder(y, y)", "(c64[4], f32[4]) tuple(r0, r1)")
    assert complaints(text, target) == ["remainder is not supported: complex numbers have none"]


def test_all_refusals_come_at_once_and_like_stands_with_like():
    reasons = {"tan": "angles are unknown here", "cbrt": "so are roots"}
    chary = replace(load_target("numpy"), refuses=lambda node: reasons.get(node.opcode))
    text = module("f32[4]", "f32[4] tan(x)", "f32[4] cbrt(r0)", "f32[4] cosine(r1)", "f32[4] tan(r2)")
    tan, cbrt = (f"{name} is not supported on NumPy: {reason}" for name, reason in reasons.items())
    assert complaints(text, chary) == [tan, tan, cbrt]
    with pytest.raises(UnsupportedError) as caught:
        xla2py.emit(text, target=chary)
    lines = text.splitlines()
    places = [lines[text[: d.span.start].count("\n")].split(" = ")[0].strip() for d in caught.value.diagnostics]
    assert places == ["r0", "ROOT r3", "r1"]


# What the array dialect has and CuPy leaves to NumPy.
LEFT_TO_NUMPY = {"prelude", "median", "qr", "cumlogaddexp"}
MADE_LATER = {"kernel", "length", "step", "unpack"}  # of what is not refused: in style fast, for chunks, for names
MADE_LATER |= {f"integer_{word}" for word in ("abs", "clamp", "maximum", "minimum", "select")}  # Python's
WRITTEN_BY_STATEMENTS = {"parameter", "literal", "integer", "loop", "conditional", "setitem", "update_at"}


def macros(folder: str) -> set[str]:
    """The operations that a folder of macros writes: macros whose first parameter is a node."""
    names = set()
    for path in (TEMPLATES / folder).glob("*.j2"):
        for found in re.finditer(r"macro (\w+)\(node\b([^)]*)\)", path.read_text(encoding="utf-8")):
            names.add(found[1].rstrip("_"))
    parts = (
        "library_function modulo reduction listed recut guarded narrowed as_array constant mask ddof typed is_retyped"
    )
    return names - set(parts.split())


def test_a_table_decides_about_every_operation_that_has_words():
    listed = {opcode.replace("-", "_") for opcode in RULES}
    written = macros("array") | macros("cupy")
    written |= {row.name.replace("-", "_") for row in OPERATIONS.values() if row.function}
    assert written - listed == LEFT_TO_NUMPY | MADE_LATER
    assert listed - written - {"update_at"} == WRITTEN_BY_STATEMENTS - {"update_at"}


def test_cupy_has_every_function_that_macros_of_element_wise_operations_call():
    """They are supported by their traits, without a row for each."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    texts = [(TEMPLATES / folder / "elementwise.j2").read_text(encoding="utf-8") for folder in ("array", "cupy")]
    called = {name for text in texts for name in re.findall(r"\{\{ xp \}\}\.(\w+)", text)}
    called |= {row.function for row in OPERATIONS.values() if row.function}
    assert len(called) > 30
    assert [name for name in sorted(called) if not hasattr(cupy, name)] == []


# Functions of elements that kernels do not know, and that nothing is raised to which they could compute.
CALLED_BESIDE_KERNELS = frozenset(
    (
        "arccos arccosh arcsin arcsinh arctan arctanh betainc betaln complex_arccos complex_arccosh complex_arcsin "
        "complex_arcsinh complex_atan2 complex_cos complex_sin complex_sinc complex_sqrt complex_square deg2rad "
        "digamma digamma_with_limits entr erfcx erfcx_float64 expi expi_with_limits expn expn_with_limits fmod "
        "full_like gammainc gammainc_with_limits gammaincc gammaincc_with_limits gaussian heaviside i0e i0e_float64 "
        "i1e i1e_float64 igamma_grad_a isclose kl_div lgamma log_ndtr log_ndtr_float64 log_ratio logaddexp2 "
        "map_elements ndtr_slope ndtri nextafter normal_of polygamma polygamma_with_limits rad2deg random_gamma_grad "
        "rel_entr sinc sinc_curvature sinc_slope sort_key special.betainc special.digamma special.entr special.erf "
        "special.erfc special.erfcx special.erfinv special.gammainc special.gammaincc special.gammaln special.i0e "
        "special.i1e special.ndtr special.ndtri special.xlog1py special.xlogy special.zeta stochastic_convert "
        "total_order_key trigamma uniform_of xlog1py xlogy zeta"
    ).split()
)


def test_a_function_of_elements_is_known_to_kernels_or_says_whether_it_hides_them():
    library = rows_of(Path(functions.__file__).with_name("library.toml"), "library")
    rows = {**library, **rows_of(TEMPLATES / "prelude" / "rows.toml", "prelude")}
    plain = {name for name, row in rows.items() if row.is_elementwise and not row.blocks_fusion}
    assert plain - {*numpy_kernels._TABLE.functions, *fusion._TABLE.functions} == CALLED_BESIDE_KERNELS
