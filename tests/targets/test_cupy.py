"""Emitted CuPy code without a GPU: names, calls and dtypes against the real package, values through a stand-in."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.programs.program import Program
from xla2py.tests.targets.programs.structure import BY_TWO_INDICES
from xla2py.tests.targets.programs.table import PROGRAMS
from xla2py.tests.targets.running import differences, on_device, on_numpy
from xla2py.transpile.emission.prelude import prelude

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

# What makes the host wait for the device, or copies from it.
WAITING_FUNCTIONS = {"float", "int", "bool", "complex", "print", "len", "list", "tuple"}
WAITING_NAMES = {"item", "tolist", "get", "asnumpy", "nonzero", "argwhere", "flatnonzero", "unique", "synchronize"}
MODULES = {"cp": cupy, "np": np, "ml_dtypes": ml_dtypes}


@cache
def source(program: Program) -> str:
    return xla2py.emit(program.text, "cupy", checks=False, format=False).source


@cache
def tree(program: Program) -> ast.Module:
    """The module without what comes from the prelude as it is: code that reads constants from their file."""
    module = ast.parse(source(program))
    copied = prelude().definitions
    module.body = [part for part in module.body if not (isinstance(part, ast.FunctionDef) and part.name in copied)]
    return module


def nodes(program: Program, kind: type[Any]) -> Iterator[Any]:
    return (node for node in ast.walk(tree(program)) if isinstance(node, kind))


def from_module(node: ast.expr) -> Any:
    """What ``cp.add`` or ``ml_dtypes.bfloat16`` is; None for an attribute of a value."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in MODULES:
        return getattr(MODULES[node.value.id], node.attr)
    return None


@cache
def method_signature(name: str) -> inspect.Signature | None:
    """The signature of a method of ``cupy.ndarray``; compiled ones have it in their docstrings."""
    method = getattr(cupy.ndarray, name)
    try:
        return inspect.signature(method)
    except ValueError:
        match = re.match(r"\w+\.\w+(\(self.*\))( ->|$)", (method.__doc__ or "").splitlines()[0])
    if match is None:
        return None
    arguments = ast.parse(f"def f{match[1]}: ...").body[0].args  # type: ignore[attr-defined]
    kinds = inspect.Parameter
    optional = len(arguments.args) - len(arguments.defaults)
    parameters = [
        kinds(a.arg, kinds.POSITIONAL_OR_KEYWORD, default=kinds.empty if k < optional else None)
        for k, a in enumerate(arguments.args)
    ]
    if arguments.vararg is not None:
        parameters.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    parameters += [kinds(a.arg, kinds.KEYWORD_ONLY, default=None) for a in arguments.kwonlyargs]
    return inspect.Signature(parameters)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_name_is_cupys(program):
    for attribute in nodes(program, ast.Attribute):
        if from_module(attribute) is None:
            assert hasattr(cupy.ndarray, attribute.attr), attribute.attr
    imported = {alias.name: alias.asname or alias.name for line in nodes(program, ast.Import) for alias in line.names}
    assert set(imported) <= {"cupy", "ml_dtypes", "numpy"}
    assert all(f"{local}." in source(program) for local in imported.values())


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_call_fits_its_function(program):
    for call in nodes(program, ast.Call):
        function = from_module(call.func)
        count, keywords = len(call.args), {keyword.arg: None for keyword in call.keywords}
        if isinstance(function, cupy.ufunc):
            assert (count, keywords) == (function.nin, {})
        elif inspect.isfunction(function):
            inspect.signature(function).bind(*call.args, **keywords)
        elif isinstance(call.func, ast.Attribute) and function is None:
            signature = method_signature(call.func.attr)
            if signature is not None:
                signature.bind(None, *call.args, **keywords)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_nothing_waits_for_the_device_or_copies_to_it(program):
    for call in nodes(program, ast.Call):
        if isinstance(call.func, ast.Name):
            assert call.func.id not in WAITING_FUNCTIONS
    assert not {attribute.attr for attribute in nodes(program, ast.Attribute)} & WAITING_NAMES
    for function in nodes(program, ast.FunctionDef):
        for call in ast.walk(function):
            assert not (isinstance(call, ast.Call) and from_module(call.func) is cupy.array), ast.unparse(call)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_dtype_is_cupys(program):
    from xla2py.tests.targets.device import supported

    for attribute in nodes(program, ast.Attribute):
        value = from_module(attribute)
        if isinstance(value, type) and issubclass(value, np.generic):
            supported(np.dtype(value))


@pytest.mark.parametrize("program", [*PROGRAMS, BY_TWO_INDICES], ids=str)
def test_the_stand_in_gives_what_numpy_gives(program):
    inputs = program.inputs()
    assert differences(on_numpy(program.text, inputs), on_device(program.text, inputs)) == []


REFUSED = {
    "x.item()": "waits",
    "bool(x)": "waits",
    "x[cp.argmax(x)]": "indexing by a number waits",
    "x + on_host": "Unsupported type",
    "cp.add(x, z)": "relies on promotion",
    "cp.where(x > 0, x, z)": "relies on promotion",
    "cp.gelu(x)": "has no attribute",
    "x.gelu()": "has no gelu",
    "cp.take(x, 0, mode='clip')": "unexpected keyword",
    "cp.stack([x, 1.0])": "of a scalar",
    "cp.cbrt(c)": "has no loop for complex64",
    "x.astype(ml_dtypes.float8_e5m2)": "Unsupported dtype",
}


@pytest.mark.parametrize("code", REFUSED)
def test_the_stand_in_refuses_what_cupy_would(code):
    from xla2py.tests.targets.device import DeviceArray, StandIn

    ones = np.ones(3, np.float32)
    arrays = {"x": DeviceArray(ones), "z": DeviceArray(ones.astype(float)), "c": DeviceArray(ones.astype(np.complex64))}
    with pytest.raises((AssertionError, AttributeError, TypeError, ValueError), match=REFUSED[code]):
        eval(code, {"cp": StandIn(), "ml_dtypes": ml_dtypes, "on_host": ones, **arrays})
