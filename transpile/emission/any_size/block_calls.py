"""Edits that pass sizes as additional arguments to functions, in calls and where functions are applied to blocks."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ...python.modules import Edit, ModuleText

_BY_ROWS, _IN_TURN = "Tiled", "Summed"


def pass_sizes(
    module: ModuleText, parents: Mapping[ast.AST, ast.AST], use: ast.Name, names: Sequence[str], *, is_first: bool
) -> list[Edit] | None:
    """Return the edits that pass sizes to a function at one of its uses, or None for an unknown kind of use.

    ``use`` is called directly or passed to a function that applies it to blocks of arrays. In a direct call, the sizes
    come before the other arguments if ``is_first``. dask's ``blockwise`` takes an argument that is not an array with
    None as its indices, and ``Tiled`` has a flag per argument: whether it is cut into rows. ``loop_in_chunks`` passes
    whole arguments last.
    """
    call = parents[use]
    if not isinstance(call, ast.Call):
        return None
    if call.func is use and is_first:
        begin = module.extent(use)[1] + 1
        return [(begin, begin, ", ".join([*names, ""] if call.args or call.keywords else names))]
    if call.func is use:
        return [_at_end(module, call, names)]
    word, outer = name_of(call.func), parents[call]
    if word == "blockwise":
        return [_beside_arrays(module, call, names)]
    if word in (_BY_ROWS, _IN_TURN) and isinstance(outer, ast.Call) and name_of(outer.func) == "blockwise":
        own = [_at_end(module, call.args[1], ["None"] * len(names))] if word == _BY_ROWS else []
        return [*own, _beside_arrays(module, outer, names)]
    if word == "loop_in_chunks":
        whole = next((keyword.value for keyword in call.keywords if keyword.arg == "whole"), None)
        texts = names if whole is not None else [f"whole=({', '.join(names)},)"]
        return [_at_end(module, whole or call, texts)]
    return None


def add_size_parameters(module: ModuleText, function: ast.FunctionDef, names: Sequence[str]) -> Edit:
    """Return the edit that adds sizes as parameters behind those of a function."""
    own = function.args
    parts = [*own.posonlyargs, *own.args, own.vararg, *own.kwonlyargs, own.kwarg, *own.defaults, *own.kw_defaults]
    last = max(
        (module.extent(part)[1] for part in parts if part is not None), default=module.starts[function.lineno - 1]
    )
    end = module.bytes.index(b")", last)
    return _before(module, end, [f"{name}: int" if function.returns is not None else name for name in names])


def name_of(node: ast.AST) -> str:
    """Return the name of a function or a method, or an empty string."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _beside_arrays(module: ModuleText, call: ast.Call, names: Sequence[str]) -> Edit:
    """Return the edit that inserts numbers behind the arrays of a ``blockwise`` call, before its keywords."""
    begin = module.extent(call.keywords[0])[0]
    is_starred = any(isinstance(part, ast.Starred) for part in call.args)
    return begin, begin, "".join(f"*({name}, None), " if is_starred else f"{name}, None, " for name in names)


def _at_end(module: ModuleText, node: ast.expr, texts: Sequence[str]) -> Edit:
    """Return the edit that inserts more parts before the closing bracket of a node."""
    return _before(module, module.extent(node)[1] - 1, texts)


def _before(module: ModuleText, end: int, texts: Sequence[str]) -> Edit:
    before = module.bytes[:end].rstrip()[-1:]
    return end, end, {b"(": "", b",": " "}.get(before, ", ") + ", ".join(texts)
