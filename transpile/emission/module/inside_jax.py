"""An emitted module as a function of JAX."""

from __future__ import annotations

import ast
import ctypes
import inspect
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import jinja2
import numpy as np

from ...array.node import Node
from ...array.program import Program
from ...array.result_trees import mapped
from ...errors import Diagnostic, UsageError
from ...frontends.jax import required_jax
from ...hlo.ir import Built, ResultTree
from ..trees.result_trees import with_objects
from .compiled_functions import is_compiled

TEMPLATE = Path(__file__).resolve().parents[3] / "templates" / "jax" / "handler.py.j2"
_KEPT: dict[str, Any] = {}  # the handlers of this process, by name: compiled programs call them at their address
_CHECKS = ("check_arguments", "check_trees")
Arrays = Sequence[tuple[tuple[int, ...], str]]  # shapes and types


class Emitted(Protocol):
    """What is asked of a :class:`.GeneratedModule`."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def program(self) -> Program | None: ...
    @property
    def sizes(self) -> Mapping[str, range]: ...
    @property
    def result_tree(self) -> ResultTree: ...
    def load(self) -> ModuleType: ...


def function_of_jax(generated: Emitted, gradient: Emitted | None) -> Callable[..., Any]:
    """Return ``main`` as a function of JAX; :meth:`.GeneratedModule.as_jax` says what it does."""
    jax = required_jax()
    called = _called(jax, generated)
    if gradient is None:
        return called
    derived, structure = _called(jax, gradient), jax.tree_util.tree_structure
    function = jax.custom_vjp(called)

    def pulled(kept: tuple[Any, ...], given: Any) -> Any:
        found = derived(*kept, given)  # a module gives an array in place of a tuple of one
        return found if len(kept) > 1 or structure(found) == structure(kept) else (found,)

    function.defvjp(lambda *arguments: (called(*arguments), arguments), pulled)
    return function  # type: ignore[no-any-return]


def _called(jax: Any, generated: Emitted) -> Callable[..., Any]:
    """Return a function that calls ``main``: its compiled code where it has that, or Python."""
    module = generated.load()
    shapes = _shapes(jax, generated, module)
    found = _compiled(jax, generated, module, shapes) if is_compiled(generated.source) else None
    called = found or _called_back(jax, module, shapes)
    called.__name__, called.__doc__ = generated.name, module.__doc__
    return called


def _compiled(jax: Any, generated: Emitted, module: ModuleType, shapes: Any) -> Callable[..., Any] | None:
    """Return a function that calls the compiled code of ``main``, None where it takes trees or cannot be compiled."""
    assert generated.program is not None
    parameters = generated.program.entry.parameters
    wanted = [(each.shape, str(each.element_type.dtype)) for each in parameters if each.element_type is not None]
    signature, leaves = inspect.signature(module.main), jax.tree_util.tree_leaves(shapes)
    names = [name for name, each in signature.parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    results = [(each.shape, str(each.dtype)) for each in leaves]
    if len(names) < len(signature.parameters) or len(names) != len(wanted) or generated.result_tree is not None:
        return None
    is_tuple = isinstance(shapes, tuple)
    target = handler_of(jax, generated.source, module, wanted, results, is_tuple=is_tuple)
    if not target:
        return None
    call = jax.ffi.ffi_call(target, shapes, vmap_method="sequential")

    def called(*arguments: Any, **named: Any) -> Any:
        arrays = [jax.numpy.asarray(x) for x in signature.bind(*arguments, **named).args]
        for name, x, expected in zip(names, arrays, wanted, strict=True):
            if (x.shape, str(x.dtype)) != expected:
                raise TypeError(f"{name}: expected {_text(expected)}, got {_text((x.shape, str(x.dtype)))}")
        return call(*arrays)

    return called


def _text(array: tuple[tuple[int, ...], str]) -> str:
    return f"{array[1]}{[*array[0]]}"


def _called_back(jax: Any, module: ModuleType, shapes: Any) -> Callable[..., Any]:
    """Return a function that calls ``main`` on the host, at each execution."""
    tree = jax.tree_util
    structure = tree.tree_structure(shapes)

    def on_host(*arguments: Any, **named: Any) -> Any:
        positional, by_name = tree.tree_map(np.asarray, (arguments, named))
        leaves = tree.tree_leaves(module.main(*positional, **by_name))
        return tree.tree_unflatten(structure, [np.asarray(leaf) for leaf in leaves])

    def called(*arguments: Any, **named: Any) -> Any:
        return jax.pure_callback(on_host, shapes, *arguments, vmap_method="sequential", **named)

    return called


def _shapes(jax: Any, generated: Emitted, module: ModuleType) -> Any:
    """Return what ``main`` returns, with shapes in place of arrays. Raises UsageError (XP726) where it is not known."""
    program = generated.program
    nodes = program.entry.results if program is not None and hasattr(module, "main") else None
    parts = list(nodes) if isinstance(nodes, tuple | list) else [nodes]
    arrays = [
        jax.ShapeDtypeStruct(part.shape, part.element_type.dtype)
        for part in parts
        if isinstance(part, Node) and part.element_type is not None
    ]
    if len(arrays) < len(parts) or generated.sizes:
        hint = "emit a program for one device, with all sizes, in this process"
        raise UsageError(Diagnostic("XP726", f"the shapes that {generated.name} returns are not known", hint=hint))
    if generated.result_tree is None:
        return arrays[0] if isinstance(nodes, Node) else tuple(arrays)

    def made(built: Built) -> Any:
        build = getattr(module, built.name)
        return build(**dict(zip(built.fields, built.parts, strict=True))) if built.fields else build(*built.parts)

    return with_objects(mapped(generated.result_tree, arrays.__getitem__), made)


# -- compiled functions as a handler of XLA


def handler_of(jax: Any, source: str, module: ModuleType, arguments: Arrays, results: Arrays, *, is_tuple: bool) -> str:
    """Compile ``main``, which takes and returns arrays of these shapes, and return the name that JAX calls it by.

    The name is empty where Numba cannot compile ``main``, or what it calls.
    """
    template = jinja2.Template(TEMPLATE.read_text("utf-8"), trim_blocks=True, undefined=jinja2.StrictUndefined)
    text = template.render(arguments=arguments, results=results, is_tuple=is_tuple)
    name = f"xla2py_{sha256(f'{source}{text}'.encode()).hexdigest()[:16]}"
    if name not in _KEPT:
        handler = _compiled_functions(source, text, module)
        if handler is None:
            return ""
        jax.ffi.register_ffi_target(name, _capsule(handler.address), platform="cpu")
        _KEPT[name] = handler
    return name


def _compiled_functions(source: str, text: str, module: ModuleType) -> Any:
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
