"""Modules whose functions read what nobody has bound, or hide what the module has, are found; the gallery has none."""

import re
from pathlib import Path

import pytest

from xla2py.transpile.emission import emit
from xla2py.transpile.python import verifier
from xla2py.transpile.python.verifier import UnsoundModuleError, problems
from xla2py.transpile.target import TEMPLATES

CHECKOUT = Path(__file__).parents[2]
COPIED = {
    name
    for folder in (TEMPLATES, CHECKOUT / "targets")
    for path in folder.rglob("*.py")
    for name in re.findall(r"^(?:async )?def (\w+)", path.read_text("utf-8"), re.MULTILINE)
}
HEAD = "import numpy as np\nsize = 3\ndef helper(x): return x\ndef main(x):\n    "


def of_main(*lines):
    return problems(HEAD + "\n    ".join(lines), ["main"])


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["y = x + z", "return y"], "z"),
        (["z = z + 1", "return z"], "z"),
        (["if x:", "    y = 1", "return y"], "y"),
        (["if x:", "    return 1", "else:", "    y = 1", "del y", "return y"], "y"),
        (["for i in range(3):", "    x = y", "    y = x", "return x"], "y"),
        (["while later:", "    x += 1", "return x"], "later"),
        (["return [y for z in x]"], "y"),
        (["return helper(lambda y: y + z)"], "z"),
        (["def inner(y):", "    return y + z", "return inner(x)"], "z"),
        (["raise ValueError(text)"], "text"),
    ],
)
def test_names_that_are_read_before_they_are_bound_are_found(lines, name):
    assert of_main(*lines) == [f"main: {name} is read before it is bound"]


@pytest.mark.parametrize(
    "lines",
    [
        ["y = np.abs(x) + size", "return helper(y)"],
        ["if x:", "    y = 1", "else:", "    y = 2", "return y"],
        ["if x:", "    raise ValueError", "else:", "    y = 2", "return y"],
        ["for i in range(3):", "    y = x", "return y, i"],
        ["while (y := x) is None:", "    x = y", "return {z: y for z in x}"],
        ["def inner(y):", "    w = y + x + z", "    return w", "z = 1", "return inner(x)"],
        ["x[0], (y, *z) = x", "x[0] += y", "return helper(lambda w: w + y), z, len(x), __file__"],
    ],
)
def test_sound_functions_are_left_alone(lines):
    assert of_main(*lines) == []


@pytest.mark.parametrize("name", ["np", "size", "helper", "main"])
def test_names_that_hide_those_of_the_module_are_found(name):
    assert of_main(f"{name} = x", f"return {name}") == [f"main: {name} hides what the module calls so"]
    assert problems(f"{HEAD}return x\ndef other({name}): return {name}", ["other"]) != []


def test_the_programs_of_the_gallery_are_sound():
    found = [
        f"{path.name}: {problem}"
        for path in sorted((CHECKOUT / "generated").rglob("*.py"))
        for source in [path.read_text("utf-8")]
        for problem in problems(source, set(re.findall(r"^def (\w+)", source, re.MULTILINE)) - COPIED)
        if "_kernel: " not in problem  # what is compiled apart has names of its own
    ]
    assert found == []


def test_modules_are_verified_where_programs_are(monkeypatch):
    text = "ENTRY main { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }"
    assert emit(text, debug=True)
    monkeypatch.setattr(verifier, "problems", lambda source, names: [f"{name} is wrong" for name in names])
    assert emit(text)
    with pytest.raises(UnsoundModuleError, match="main is wrong"):
        emit(text, debug=True)
