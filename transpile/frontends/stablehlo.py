"""StableHLO of other front ends, made as jaxlib translates it. For the process that calls jaxlib: needs its MLIR."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from typing import Any

MAIN = "main"
_PLATFORM_INDEX = "_platform_index"
_GLOBAL_CONSTANT = "jax.global_constant"
_DIALECTS = ("sdy", "mpmd", "chlo", "stablehlo")
_BYTECODE = b"ML\xefR"


class FreeSizesError(Exception):
    """Arguments have sizes that the module leaves open; the text names them."""


class RefusedError(Exception):
    """The module has no function to begin with, or an operation that jaxlib has not."""


def prepared(content: bytes, platform: int | None) -> tuple[bytes, list[str]]:
    """A module that begins in ``main`` and has no attributes of unknown dialects, and the names of those left out.

    ``platform`` is the number of the one, of several, that the program is for; None leaves that to an argument. A
    module that is so already is returned as it is. Raises ``FreeSizesError``, ``RefusedError`` and what jaxlib raises
    for a text or bytecode that it cannot read.
    """
    mlir = importlib.import_module("jaxlib.mlir.ir")
    context = _context(mlir)
    module, left_out = _read(mlir, content, context)
    with context:
        function, is_renamed = _main_function(mlir, module)
        _require_sizes(mlir, function)
        is_chosen = _choose_platform(mlir, function, platform)
    if not (left_out or is_renamed or is_chosen):
        return content, []
    return bytecode(module), left_out


def bytecode(module: Any) -> bytes:
    """The bytecode of a module of jaxlib's MLIR."""
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def _context(mlir: Any) -> Any:
    """A context with the dialects that a module of JAX may use."""
    context, registry = mlir.Context(), mlir.DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for name in _DIALECTS:
        importlib.import_module(f"jaxlib.mlir.dialects.{name}").register_dialect(context)
    return context


def _read(mlir: Any, content: bytes, context: Any) -> tuple[Any, list[str]]:
    """The module, and the attributes of unknown dialects that it had."""

    def parsed() -> Any:
        if content.startswith(_BYTECODE):
            stablehlo = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
            return stablehlo.deserialize_portable_artifact(context, content)
        return mlir.Module.parse(content, context)

    try:
        return parsed(), []
    except (mlir.MLIRError, ValueError) as error:
        refusal = error
    context.allow_unregistered_dialects = True
    try:
        module = parsed()
    except (mlir.MLIRError, ValueError):
        raise refusal from None
    operations = list(_operations(module.operation))
    for operation in operations:
        if not context.is_registered_operation(operation.name):
            place = str(operation.location).removeprefix("loc(").removesuffix(")")
            raise RefusedError(f"{place}: error: no dialect of jaxlib has the operation '{operation.name}'")
    left_out: dict[str, None] = {}
    for operation in operations:
        left_out.update(dict.fromkeys(_without_unknown(mlir, operation)))
    return module, sorted(left_out)


def _operations(operation: Any) -> Iterator[Any]:
    """An operation and all within it."""
    waiting = [operation]
    while waiting:
        operation = waiting.pop()
        yield operation
        waiting += (each.operation for region in operation.regions for block in region for each in block)


def _without_unknown(mlir: Any, operation: Any) -> Iterator[str]:
    """Take away what an operation, or the arguments and results of a function, say in words of unknown dialects."""
    for name in _names(operation.attributes):
        value = operation.attributes[name]
        if name in ("arg_attrs", "res_attrs"):
            rows = [_known(mlir, row) for row in value]
            operation.attributes[name] = mlir.ArrayAttr.get([row for row, _ in rows], operation.context)
            yield from (unknown for _, found in rows for unknown in found)
        elif "." in name and _is_unknown(mlir, value):
            del operation.attributes[name]
            yield name


def _names(attributes: Any) -> list[str]:
    """The names of attributes, which iterate as words or as pairs, by the version of jaxlib."""
    return [each if isinstance(each, str) else each.name for each in attributes]


def _known(mlir: Any, row: Any) -> tuple[Any, list[str]]:
    """A dict of attributes without those of unknown dialects, and the names of these."""
    unknown = [each.name for each in row if _is_unknown(mlir, each.attr)]
    kept = {each.name: each.attr for each in row if each.name not in unknown}
    return mlir.DictAttr.get(kept, row.context), unknown


def _is_unknown(mlir: Any, value: Any) -> bool:
    """Tell whether an attribute, or a part of it, is one that no dialect here reads."""
    if isinstance(value, mlir.ArrayAttr):
        return any(_is_unknown(mlir, part) for part in value)
    if isinstance(value, mlir.DictAttr):
        return any(_is_unknown(mlir, part.attr) for part in value)
    return isinstance(value, mlir.OpaqueAttr)


def _main_function(mlir: Any, module: Any) -> tuple[Any, bool]:
    """The function that the program is, called ``main`` now, and whether it was called otherwise."""
    functions = [each for each in module.body.operations if each.operation.name == "func.func"]
    names = [mlir.StringAttr(each.operation.attributes["sym_name"]).value for each in functions]
    if MAIN in names:
        return functions[names.index(MAIN)], False
    public = [k for k, each in enumerate(functions) if _is_public(mlir, each.operation)]
    if len(public) != 1:
        found = f"{len(public)}: {', '.join(names[k] for k in public)}" if public else "none"
        raise RefusedError(f"a module without a function `main` has one that is public; this has {found}")
    function, name = functions[public[0]], names[public[0]]
    mlir.SymbolTable.replace_all_symbol_uses(name, MAIN, module.operation)
    mlir.SymbolTable.set_symbol_name(function, MAIN)
    if "sym_name" not in module.operation.attributes:
        module.operation.attributes["sym_name"] = mlir.StringAttr.get(name)  # the program is called so
    return function, True


def _is_public(mlir: Any, operation: Any) -> bool:
    if "sym_visibility" not in operation.attributes:
        return True
    return bool(mlir.StringAttr(operation.attributes["sym_visibility"]).value == "public")


def _require_sizes(mlir: Any, function: Any) -> None:
    """Raise ``FreeSizesError`` where an argument has an axis of any size; a bound is enough."""
    found = []
    for k, argument in enumerate(function.arguments):
        kind = argument.type
        if isinstance(kind, mlir.RankedTensorType) and not kind.has_static_shape and kind.encoding is None:
            found.append(f"argument {k + 1} is {kind}")
    if found:
        raise FreeSizesError(", ".join(found))


def _choose_platform(mlir: Any, function: Any, platform: int | None) -> bool:
    """Put the number of a platform in place of the argument that says it, or name that; tell whether there is one."""
    attributes = function.operation.attributes
    rows = list(attributes["arg_attrs"]) if "arg_attrs" in attributes else []
    found = next((k for k, row in enumerate(rows) if _is_platform_index(mlir, row)), None)
    if found is None:
        return False
    block, argument = function.body.blocks[0], function.arguments[found]
    if platform is None:
        argument.set_location(mlir.Location.name(_PLATFORM_INDEX.strip("_")))
        return True
    number = mlir.IntegerAttr.get(argument.type.element_type, platform)
    value = mlir.DenseElementsAttr.get_splat(argument.type, number)
    constant = importlib.import_module("jaxlib.mlir.dialects.stablehlo").ConstantOp
    with mlir.InsertionPoint.at_block_begin(block), mlir.Location.unknown():
        argument.replace_all_uses_with(constant(value).result)
    block.erase_argument(found)
    kind = mlir.FunctionType(mlir.TypeAttr(attributes["function_type"]).value)
    inputs = [each for k, each in enumerate(kind.inputs) if k != found]
    attributes["function_type"] = mlir.TypeAttr.get(mlir.FunctionType.get(inputs, kind.results))
    attributes["arg_attrs"] = mlir.ArrayAttr.get(rows[:found] + rows[found + 1 :])
    return True


def _is_platform_index(mlir: Any, row: Any) -> bool:
    if _GLOBAL_CONSTANT not in row:
        return False
    return bool(mlir.StringAttr(row[_GLOBAL_CONSTANT]).value == _PLATFORM_INDEX)
