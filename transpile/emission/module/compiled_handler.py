"""A module of compiled functions as a handler of XLA's foreign function interface: JAX calls it in a microsecond."""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2

TEMPLATE = Path(__file__).resolve().parents[3] / "templates" / "jax" / "handler.py.j2"
_KEPT: dict[str, Any] = {}  # the handlers of this process, by name: compiled programs call them at their address
_CHECKS = ("check_arguments", "check_trees")
Arrays = Sequence[tuple[tuple[int, ...], str]]  # shapes and types


def handler_of(jax: Any, source: str, module: ModuleType, arguments: Arrays, results: Arrays, *, is_tuple: bool) -> str:
    """Compile ``main``, which takes and returns arrays of these shapes, and return the name that JAX calls it by.

    The name is empty where Numba cannot compile ``main``, or what it calls.
    """
    template = jinja2.Template(TEMPLATE.read_text("utf-8"), trim_blocks=True, undefined=jinja2.StrictUndefined)
    text = template.render(arguments=arguments, results=results, is_tuple=is_tuple)
    name = f"xla2py_{sha256(f'{source}{text}'.encode()).hexdigest()[:16]}"
    if name not in _KEPT:
        handler = _compiled(source, text, module)
        if handler is None:
            return ""
        jax.ffi.register_ffi_target(name, _capsule(handler.address), platform="cpu")
        _KEPT[name] = handler
    return name


def _compiled(source: str, text: str, module: ModuleType) -> Any:
    """The handler of a module, whose functions are compiled for it where they are not yet; None where that fails."""
    namespace = dict(module.__dict__)
    compiled = namespace["njit"]
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and (node.name == "main" or not node.decorator_list):
            tree = ast.Module([without_checks(node)], [])
            exec(compile(tree, str(module.__file__), "exec", dont_inherit=True), namespace)
            namespace[node.name] = compiled(namespace[node.name], error_model="numpy", nogil=True)
    exec(compile(text, str(TEMPLATE), "exec", dont_inherit=True), namespace)
    return namespace["handler"]


def without_checks(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function without decorators, and without checks of arguments, which JAX has checked."""
    function.decorator_list, function.body = [], [node for node in function.body if not _is_check(node)]
    return function


def _is_check(node: ast.stmt) -> bool:
    """Tell whether a statement is ``check_arguments(..)``."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _CHECKS


def _capsule(address: int) -> Any:
    """A pointer as JAX takes it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)
