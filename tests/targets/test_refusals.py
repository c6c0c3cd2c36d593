"""What the targets refuse: by the name of the operation, with the reason, all of it at once."""

import re
from dataclasses import replace

import pytest

import xla2py
from xla2py.targets.cupy.refusals import RULES
from xla2py.transpile.array.operations import OPERATIONS
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
MADE_LATER = {"kernel", "length", "step"}  # of what is not refused: by the style fast, and by scans in chunks
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
