"""Functions on arrays as handlers of XLA's foreign function interface, whose structures xla/ffi/api/c_api.h describes.

A handler is a C function that takes the address of a call frame: a Python function, or a ``main`` that Numba compiles.
"""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Callable, Sequence
from copy import copy
from math import prod
from pathlib import Path
from traceback import format_exc
from types import ModuleType
from typing import Any, NamedTuple

import jinja2
import numpy as np

from ...python.modules import parsed
from ..places import main_of

TEMPLATE = Path(__file__).resolve().parents[3] / "templates" / "jax" / "handler.py.j2"
Array = tuple[tuple[int, ...], str]  # its shape and type
_Word = ctypes.c_int64
_Buffer = _Word * 4  # its fourth word is the address of the data
_Frame = _Word * 15
_FUNCTION = ctypes.CFUNCTYPE(_Word, _Word)
_INTERNAL = 13  # XLA_FFI_Error_Code_INTERNAL
_CHECKS = ("check_arguments", "check_trees")
_PASSING = (
    ast.stmt,
    ast.expr_context,
    ast.keyword,
    ast.Name,
    ast.Tuple,
    ast.Subscript,
    ast.Slice,
    ast.Constant,
    ast.Attribute,
    ast.operator,
)
_MADE = frozenset(
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 bool empty zeros full copy reshape".split()
)
"""Functions and methods of NumPy that are the same in Numba."""


class Handler(NamedTuple):
    """A C function, which is at the address as long as ``kept`` lives."""

    kept: Any
    address: int


def register(jax: Any, name: str, handler: Handler) -> None:
    """Register a handler with JAX's CPU platform under a name."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    jax.ffi.register_ffi_target(name, new(handler.address, None, None), platform="cpu")


# -- handlers of Python


def python_handler(
    function: Callable[..., Sequence[Any]], arguments: Sequence[Array], results: Sequence[Array]
) -> Handler:
    """Return a handler that calls a function of arrays, which returns arrays of the results' shapes."""
    count, forms = len(arguments), [*map(_form, (*arguments, *results))]
    given, returned = (_Word * count).from_address, (_Word * len(results)).from_address
    frame_at, buffer_at, new = _Frame.from_address, _Buffer.from_address, np.ndarray  # bound once: microseconds count

    def handler(address: int) -> int:
        frame = frame_at(address)
        if frame[1]:
            return _tell_version(frame)
        try:
            places = zip(forms, (*given(frame[9]), *returned(frame[14])), strict=True)
            arrays = [new(shape, dtype, octets(buffer_at(place)[3])) for (shape, dtype, octets), place in places]
            for output, x in zip(arrays[count:], function(*arrays[:count]), strict=True):
                output[...] = x
        except BaseException:  # C has no exceptions: XLA raises the returned error
            return _error(frame[2], format_exc())
        return 0

    kept = _FUNCTION(handler)
    return Handler(kept, ctypes.cast(kept, ctypes.c_void_p).value or 0)


def _form(array: Array) -> tuple[tuple[int, ...], np.dtype[Any], Callable[[int], Any]]:
    """Return the shape and type of an array, and the function that returns its bytes at an address."""
    shape, dtype = array[0], np.dtype(array[1])
    return shape, dtype, (ctypes.c_char * (prod(shape) * dtype.itemsize)).from_address


def _tell_version(frame: Any) -> int:
    """Answer the query of the interface's version with JAX's own, as long as its major version is 0, which keeps these
    structures.
    """
    version = (_Word * 5).from_address(frame[2])[4]
    _Buffer.from_address(_Buffer.from_address(frame[1])[3])[3] = version if version & 0xFFFFFFFF == 0 else 0
    return 0


def _error(interface: int, message: str) -> int:
    """Return an error that XLA raises; the seventh word of the interface is the function that creates it."""
    text = ctypes.create_string_buffer(message.encode())
    arguments = (_Word * 4)(32, 0, ctypes.addressof(text), _INTERNAL)
    return int(_FUNCTION((_Word * 7).from_address(interface)[6])(ctypes.addressof(arguments)))


# -- main as handlers call it


def unchecked_main(source: str, module: ModuleType) -> Callable[..., Any]:
    """Return ``main`` without its checks of arrays, which JAX has done."""
    return _with_main(_unchecked(source), module)["main"]  # type: ignore[no-any-return]


def _unchecked(source: str) -> ast.FunctionDef:
    main = copy(main_of(parsed(source).tree))
    main.body = [node for node in main.body if not _is_check(node)]
    return main


def _with_main(main: ast.FunctionDef, module: ModuleType) -> dict[str, Any]:
    """Return the namespace of a module, with another ``main``."""
    namespace = dict(module.__dict__)
    exec(compile(ast.Module([main], []), str(module.__file__), "exec", dont_inherit=True), namespace)
    return namespace


# -- handlers of compiled code


def compiled_handler(
    source: str, module: ModuleType, arguments: Sequence[Array], results: Sequence[Array], *, is_tuple: bool
) -> Handler | None:
    """Return a handler of the compiled ``main``, which takes and returns arrays of these shapes, or None.

    It is None if ``main`` does more than pass arrays to compiled functions, as Numba's arithmetic has other types than
    NumPy's, or if Numba cannot compile it.
    """
    main = _unchecked(source)
    main.decorator_list = []
    compiled = {node.name for node in parsed(source).functions if any(_is_njit(each) for each in node.decorator_list)}
    if not all(_passes(node, compiled) for statement in main.body for node in ast.walk(statement)):
        return None
    namespace = _with_main(main, module)
    namespace["main"] = namespace["njit"](namespace["main"], error_model="numpy", nogil=True)
    template = jinja2.Template(TEMPLATE.read_text("utf-8"), trim_blocks=True, undefined=jinja2.StrictUndefined)
    text = template.render(arguments=arguments, results=results, is_tuple=is_tuple)
    exec(compile(text, str(TEMPLATE), "exec", dont_inherit=True), namespace)
    found = namespace["handler"]
    return found and Handler(found, found.address)


def _passes(node: ast.AST, compiled: set[str]) -> bool:
    """Return whether a part of ``main`` means the same in Numba as in NumPy."""
    match node:
        case ast.Call(func=ast.Name(name)):
            return name in compiled
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _MADE
        case ast.BinOp():
            return isinstance(node.op, ast.MatMult)
    return isinstance(node, _PASSING)


def _is_njit(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "njit"


def _is_check(node: ast.stmt) -> bool:
    """Return whether a statement is ``check_arguments(..)``, which JAX has done."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _CHECKS
