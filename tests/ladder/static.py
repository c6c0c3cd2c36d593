"""What can be said about an emitted CuPy module without running it, against the CuPy that is installed.

Names, signatures of functions and methods, counts of ufuncs' operands, what waits for the device or copies to it, and
the C++ of kernels: the literals that would make a float32 kernel compute in float64, and what NVRTC does not know.
"""

from __future__ import annotations

import ast
import ctypes
import importlib
import inspect
import math
import re
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import cupy
import cupyx
import ml_dtypes
import numpy as np
from cuda.pathfinder import LoadedDL

from xla2py.targets.cupy.twin.installed import MAY_WAIT, WAITS, cupyx_function, has_cublas

_SOLVERS = frozenset("cholesky qr svd eigh eig eigvalsh eigvals solve inv pinv lstsq".split())
_WAITING_BUILTINS = frozenset("float int bool complex print list tuple".split())
_MODULES: dict[str, Any] = {"math": math, "cp": cupy, "cupyx": cupyx, "np": np, "ml_dtypes": ml_dtypes}
# The attributes of what these give.
_GIVEN = {"CDLL": set(dir(ctypes.CFUNCTYPE(None))), "load_nvidia_dynamic_lib": set(LoadedDL.__annotations__)}
_CUBLAS = "cp.cuda.cublas"  # cannot be imported where there is no cuBLAS
_KERNELS = frozenset(("ElementwiseKernel", "RawKernel", "ReductionKernel"))
_UNKNOWN_TO_NVRTC = ("INFINITY", "NAN", "#include", "std::", "assert(", "printf(")
_FLOAT_LITERAL = re.compile(r"(?<![\w.])(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?(?![\w.])")


def problems(source: str) -> list[str]:
    """Everything wrong with a module."""
    tree = ast.parse(source)
    found = [*_imports(tree)]
    own, texts = _OTHERS | _own_attributes(tree), _module_texts(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found += _attribute(node, own)
        elif isinstance(node, ast.Call):
            found += _call(node, own, texts)
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        if function.name not in MAY_WAIT | {"run_files", "stored_arrays"}:  # the command has no arrays of the device
            found += _waiting(function)
    return found


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            root = name.split(".")[0]
            if root in ("dask", "scipy", "jax"):
                yield f"imports {name}"
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cupyx"):
            for alias in node.names:
                try:
                    cupyx_function(f"{node.module}.{alias.name}")
                except AttributeError as error:
                    yield str(error)


def resolved(node: ast.expr) -> Any:
    """What ``cp.linalg.qr`` or ``cupyx.scatter_add`` is; None for an attribute of a value.

    Raises AttributeError for a name that the library does not have.
    """
    dotted = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    parts = dotted.split(".")
    if parts[0] not in _MODULES or not all(part.isidentifier() for part in parts):
        return None
    if dotted.startswith("cupyx."):
        return cupyx_function(dotted)
    if dotted == _CUBLAS or dotted.startswith(f"{_CUBLAS}."):
        name = dotted.removeprefix(_CUBLAS).lstrip(".")
        if not has_cublas(name):
            raise AttributeError(f"cupy.cuda.cublas has no {name}")
        return dotted
    value = _MODULES[parts[0]]
    for part in parts[1:]:
        value = getattr(value, part)
    return value


def _own_attributes(tree: ast.Module) -> set[str]:
    """Attributes of the module's own classes, and of the modules that it imports from the standard library."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found |= {part.name for part in ast.walk(node) if isinstance(part, ast.FunctionDef)}
            fields = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
            found |= {target.id for target in fields if isinstance(target, ast.Name)}
            found |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for module in modules:
                if module.split(".")[0] in sys.stdlib_module_names:
                    for alias in node.names:
                        value = getattr(importlib.import_module(module), alias.name, None)
                        found |= set(dir(value)) if value is not None else set(dir(importlib.import_module(module)))
            for alias in node.names:
                found |= _GIVEN.get(alias.name, set())
    return found


def _attribute(node: ast.Attribute, own: set[str]) -> Iterator[str]:
    try:
        value = resolved(node)
    except AttributeError as error:
        yield str(error)
        return
    root = ast.unparse(node).split(".")[0]
    if value is None and root not in _MODULES and not hasattr(cupy.ndarray, node.attr) and node.attr not in own:
        yield f"cupy.ndarray has no {node.attr}"


# Attributes of what is no array: dtypes, shapes, lists, strings, options of a command, MPI.
_OTHERS = frozenset(
    "name type kind char itemsize append reverse extend items keys values index strip removeprefix startswith min max "
    "smallest_normal eps tiny nmant value with_suffix setdefault update split join bits advance replace partition "
    "rank start stop c_contiguous ptr random count key exchange replica_id bit_length hexdigest add_note "
    "add_argument parse_args parameters Abort allgather Split_type COMM_TYPE_SHARED".split()
)


def _module_texts(tree: ast.Module) -> dict[str, str]:
    """The texts that names at the top of the module stand for."""
    return {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name) and isinstance(statement.value.value, str)
    }


def _call(node: ast.Call, own: set[str], texts: dict[str, str]) -> Iterator[str]:
    try:
        function = resolved(node.func)
    except AttributeError:
        return  # told already
    starred = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
    count, keywords = len(node.args), {keyword.arg: None for keyword in node.keywords if keyword.arg}
    if isinstance(function, cupy.ufunc):
        if not starred and (count != function.nin or set(keywords) - {"out"}):
            yield f"{ast.unparse(node)}: {function.name} takes {function.nin} operands"
        return
    if getattr(function, "__name__", "") in _KERNELS or ast.unparse(node.func) in ("RowKernel", "WideKernel"):
        yield from _kernel(node, texts)
    signature = _signature(node, function)
    is_own = (
        isinstance(node.func, ast.Attribute) and ast.unparse(node.func).startswith("self.") and node.func.attr in own
    )
    if signature is None or starred or is_own:
        return
    try:
        signature.bind(*node.args, **keywords)
    except TypeError as error:
        yield f"{ast.unparse(node)}: {error}"


def _signature(node: ast.Call, function: Any) -> inspect.Signature | None:
    if inspect.isfunction(function):
        return inspect.signature(function)
    if function is None and isinstance(node.func, ast.Attribute) and hasattr(cupy.ndarray, node.func.attr):
        signature = method_signature(node.func.attr)
        return signature.replace(parameters=list(signature.parameters.values())[1:]) if signature else None
    return None


@cache
def method_signature(name: str) -> inspect.Signature | None:
    """The signature of a method of ``cupy.ndarray``; compiled ones have it in their docstrings."""
    method = getattr(cupy.ndarray, name)
    try:
        return inspect.signature(method)
    except (ValueError, TypeError):
        lines = (method.__doc__ or "").splitlines() or [""]
        match = re.match(r"\w+\.\w+(\(self.*\))( ->|$)", lines[0])
    if match is None:
        return None
    plain = re.sub(r"\b(int|bint|bool|str) (?=\w)", "", match[1])  # without Cython's types
    arguments = ast.parse(f"def f{plain}: ...").body[0].args  # type: ignore[attr-defined]
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


def _waiting(function: ast.FunctionDef) -> Iterator[str]:
    """Yield what copies to the device or waits for it inside a function. The bounds of its loops may wait."""
    silenced = {
        inner
        for block in ast.walk(function)
        if isinstance(block, ast.With) and 'errstate(linalg="ignore")' in ast.unparse(block).replace("'", '"')
        for inner in ast.walk(block)
    }
    bounds = set(_bounds(function))
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in WAITS
            and not isinstance(resolved_or_none(node), ModuleType)
        ):
            yield f"{function.name}: .{node.attr} waits for the device"
        if not isinstance(node, ast.Call):
            continue
        is_waiting = isinstance(node.func, ast.Name) and node.func.id in _WAITING_BUILTINS
        is_waiting &= function.name == "main" and node not in bounds
        if is_waiting and not all(map(_is_number_on_host, node.args)):
            yield f"{function.name}: {ast.unparse(node)} waits for the device"
        text = ast.unparse(node.func)
        if text.startswith("cp.linalg.") and node.func.attr in _SOLVERS and node not in silenced:  # type: ignore[attr-defined]
            yield f"{function.name}: {text} waits to learn whether it succeeded"
        value = resolved_or_none(node.func)
        if value is cupy.array:
            yield f"{function.name}: {ast.unparse(node)} copies from the host at each call"
        if value is cupy.where and len(node.args) == 1:
            yield f"{function.name}: where with one argument waits for the count"


def _bounds(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of the bounds of loops, and of the numbers that bounds read by name."""
    nodes = list(ast.walk(function))
    found = [inner for loop in nodes if isinstance(loop, ast.For) for inner in ast.walk(loop.iter)]
    yield from found
    names = {node.id for node in found if isinstance(node, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names:
            yield node.value


def _is_number_on_host(node: ast.expr) -> bool:
    """Tell whether an expression is a number, or a constant of the library such as ``cp.nan``."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) or isinstance(resolved_or_none(node), float)


def resolved_or_none(node: ast.expr) -> Any:
    try:
        return resolved(node)
    except AttributeError:
        return None


def _text(node: ast.expr, known: dict[str, str]) -> str | None:
    """A text, a name of one, or several of such joined; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, known), _text(node.right, known)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.Name):
        return known.get(node.id)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _kernel(node: ast.Call, known: dict[str, str]) -> Iterator[str]:
    """The declaration is CuPy's to read, and its C++ stays within what NVRTC knows without headers."""
    texts = [text for part in node.args if (text := _text(part, known)) is not None]
    if not texts:
        return  # inside a class: its calls have the texts
    preambles = [_text(keyword.value, known) for keyword in node.keywords if keyword.arg == "preamble"]
    if None in preambles:
        yield f"{ast.unparse(node.func)}: no text is known for its preamble"
    kind = ast.unparse(node.func).split(".")[-1]
    if kind == "ElementwiseKernel":
        try:
            cupy.ElementwiseKernel(*texts[:4])
        except Exception as error:
            yield f"{ast.unparse(node.func)}: {error}"
    texts[2:2] = filter(None, preambles)
    body = "\n".join(texts[2:] if kind == "ElementwiseKernel" else texts)
    code = re.sub(r"#include <cupy/\w+\.cuh>|//[^\n]*|\"[^\"]*\"", "", body)
    for word in _UNKNOWN_TO_NVRTC:
        if word in code:
            yield f"kernel {texts[-1]}: NVRTC does not know {word}"
    declared = "\n".join(texts)
    if "float64" not in declared and "double" not in declared and "complex128" not in declared:
        for literal in _FLOAT_LITERAL.finditer(code):
            if "." in literal[0] or literal[2]:
                yield f"kernel {texts[-1]}: the literal {literal[0]} is a double"
    count = sum(text.count("<<") + text.count(">>") for text in texts[2:])
    if kind == "ElementwiseKernel" and count and re.search(r"(<<|>>)\s*[a-z_]*(amount|shift)\b", code):
        guarded = re.search(r"(amount|shift)\)?\s*(<|>=)", code)
        if guarded is None:
            yield f"kernel {texts[-1]}: a shift by the width or more is undefined"
