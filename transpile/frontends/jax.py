"""A live JAX function as a module, with the Python source of its instructions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..errors import Diagnostic, UsageError
from ..hlo.attributes import SliceDimension
from ..hlo.ir import HloModule, Instruction, StackFrame, with_replaced
from ..hlo.literal_values import array_name, array_sha256, distinct_names
from ..hlo.parser import parse_module
from ..hlo.shapes import ArrayShape
from ..hlo.source import SourceText
from .held_leaves import jitted
from .hlo_proto import read_literal, without_large_literals
from .jaxlib_conversion import module_text
from .loop_paths import loop_paths
from .manual_computations import of_one_device
from .token_arguments import without_tokens
from .trees import trees_of

WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))  # only with JAX_ENABLE_X64
_DEEPEST = 2  # levels of closures in closures
_OF_VARIABLES = ".value"  # the attribute of flax variables that holds the array
_DIFFERENT = 4  # numbers at the beginning of a part of an array
_PLACES = 64  # where the first number of a part is compared


def required_jax() -> Any:
    """Return the module ``jax``. Raises ``UsageError`` (XP430) if it is not installed."""
    try:
        import jax
    except ImportError:
        hint = "pip install 'xla2py[jax]'"
        raise UsageError(Diagnostic("XP430", "lowering a JAX function needs jax", hint=hint)) from None
    return jax


@contextmanager
def wide_types(are_wanted: bool) -> Iterator[None]:
    """Enable JAX's 64-bit types if ``are_wanted``; otherwise leave the setting unchanged."""
    with required_jax().enable_x64(True) if are_wanted else nullcontext():
        yield


def not_lowered(what: str, error: Exception) -> UsageError:
    """Return the error (XP722) for a function whose tracing raised ``error``."""
    message = f"{what} cannot be lowered: {type(error).__name__}: {str(error).splitlines()[0]}"
    return UsageError(Diagnostic("XP722", message))


def lower(fn: Callable[..., Any], *example_args: Any, **example_kwargs: Any) -> HloModule:
    """Lower ``fn`` for arguments of the shapes and dtypes of the examples (arrays or ``jax.ShapeDtypeStruct``).

    ``fn`` is a function or the result of ``jax.jit`` or ``equinox.filter_jit``; see :func:`.held_leaves.jitted` for
    arguments that are not arrays. The module has all constants and stack frames, in ``sources`` the ``.py`` files of
    ``fn`` and of what it calls, in ``trees`` the pytrees of its arguments and results, in ``constant_names`` the names
    of the constants that ``fn`` closes over. Raises ``UsageError`` XP430 without jax, and whatever tracing ``fn``
    raises.
    """
    jax = required_jax()
    function, args, kwargs = jitted(jax, fn, example_args, example_kwargs)
    module = lowered(function, *args, **kwargs)[0]
    return with_named_constants(jax, fn, module)


def lowered(function: Any, *example_args: Any, **example_kwargs: Any) -> tuple[HloModule, Any]:
    """Return the module of a result of ``jax.jit``, as :func:`lower` does, and its ``jax.stages.Lowered``."""
    can_be_traced = hasattr(function, "trace")  # what has been traced already can only be lowered
    traced = function.trace(*example_args, **example_kwargs) if can_be_traced else function
    found = traced.lower() if can_be_traced else traced.lower(*example_args, **example_kwargs)
    module = of_lowered(found, getattr(function, "__name__", "jax function"))
    jaxpr = getattr(traced, "jaxpr", None)
    paths = loop_paths(required_jax(), module, jaxpr) if jaxpr is not None else {}
    return replace(module, loop_paths=paths), found


def of_lowered(lowered: Any, name: str) -> HloModule:
    """Return the module of a ``jax.stages.Lowered``, as :func:`lower` does; ``name`` is its name in errors."""
    proto = memoryview(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    small, literals = without_large_literals(proto)
    text = module_text(small) if literals else lowered.as_text("hlo", debug_info=True)
    source = SourceText(text, f"<{name}>")
    parsed = parse_module(source, {name: read_literal(literal) for name, literal in literals.items()})
    module = of_one_device(without_tokens(parsed))
    sources = _sources(_files_of_function(module.stack_frames))
    return with_trees(replace(module, sources=sources, host_functions=_host_functions(lowered)), lowered)


def _host_functions(lowered: Any) -> tuple[Callable[..., Any], ...]:
    """Return the functions that the callbacks of a ``jax.stages.Lowered`` call."""
    details = getattr(getattr(lowered, "_lowering", None), "compile_args", {})
    return tuple(partial(_called, function) for function in details.get("host_callbacks", ()))


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a JAX callback, which returns a list, for arrays: one array, or a tuple of several."""
    results = tuple(function(*map(np.asarray, arguments)))
    return results[0] if len(results) == 1 else results


def with_trees(module: HloModule, found: Any) -> HloModule:
    """Return the module with the trees of the ``Lowered``, ``Compiled`` or ``Exported`` that it was read from."""
    return replace(module, trees=trees_of(required_jax(), found, len(module.entry.parameters)))


def source_folder(found: Any) -> Path | None:
    """Return the folder of the source file of a Python function; None if it has none."""
    try:
        path = Path(inspect.getsourcefile(inspect.unwrap(found)) or "")
    except TypeError:  # not a function
        return None
    return path.parent if path.is_file() else None


def _files_of_function(frames: tuple[StackFrame, ...]) -> set[str]:
    """Return the files of all frames except those that lead to this module: they called :func:`lower`."""
    callers: set[int] = set()
    for number, frame in enumerate(frames, 1):
        while frame.file_name == __file__ and number and number not in callers:
            callers.add(number)
            number = frames[number - 1].parent
    return {frame.file_name for number, frame in enumerate(frames, 1) if number not in callers}


def _sources(file_names: set[str]) -> dict[str, str]:
    """Return the text of the files that are Python and can be read."""
    sources = {}
    for name in sorted(file_names):
        path = Path(name)
        if path.suffix == ".py" and path.is_file():
            try:
                sources[name] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue  # without the file, names come from the metadata
    return sources


# -- arrays that a traced function closes over


def with_named_constants(jax: Any, function: Callable[..., Any], module: HloModule) -> HloModule:
    """Return the module with names of its constants by the hash of their bytes: ``params.layers.0.w`` for the leaf of a
    pytree that ``function`` closes over, or reads from its globals, and ``A_CUBIC`` for a global of a source file of
    the program. The first of several equal arrays gives the name; different arrays of one name get numbers.

    JAX transposes, reshapes and cuts such an array while it traces: ``x @ embedding.T`` has a constant of its own. The
    array itself, transposed, reshaped or sliced, replaces this constant. Only leaves with the size and type of a
    constant are hashed.
    """
    literals = {i: i.attributes["literal"] for i in module.instructions() if i.opcode == "constant"}
    arrays = {i: x for i, x in literals.items() if isinstance(x, np.ndarray) and x.size > 1}
    wanted = set(map(_form, arrays.values()))
    names: dict[str, str] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, leaf in _captured(jax, function, _DEEPEST) if wanted else ():
        digest = array_sha256(np.asarray(leaf)) if _form(leaf) in wanted else ""
        if digest and digest not in names:
            names[digest], shapes[digest] = name, leaf.shape
    for name, array in _globals(module, wanted) if wanted else ():
        names.setdefault(array_sha256(array), name)
    digests = {i: array_sha256(x) for i, x in arrays.items()} if names else {}
    named = {i: shapes[digest] for i, digest in digests.items() if digest in shapes}
    made = {i: _in_other_shape(i, arrays[i], shape) for i, shape in named.items() if shape != arrays[i].shape}
    unnamed = {i: arrays[i].T for i, digest in digests.items() if arrays[i].ndim == 2 and digest not in names}
    made |= {i: _transpose_of(i, x) for i, x in unnamed.items() if array_sha256(x) in names}
    left = {i: x for i, x in arrays.items() if i not in made and digests.get(i) not in names and _may_be_part(x)}
    for name, leaf in _captured(jax, function, _DEEPEST) if left else ():
        parts = {i: start for i, x in left.items() if (start := _start_of(x, leaf)) is not None}
        # If less than half of the leaf were read, most of it would be stored in vain.
        if parts and 2 * sum(left[i].size for i in parts) >= leaf.size:
            names.setdefault(array_sha256(np.asarray(leaf)), name)
            made |= {i: _cut(i, np.asarray(leaf), start) for i, start in parts.items()}
            left = {i: x for i, x in left.items() if i not in parts}
    module = with_replaced(module, made) if made else module
    return replace(module, constant_names=distinct_names(names))


def _may_be_part(array: np.ndarray) -> bool:
    """Return whether a constant has too many different numbers to be in another array by chance."""
    return array.dtype.kind in "fV" and len(np.unique(array[..., :_DIFFERENT].ravel()[:_DIFFERENT])) == _DIFFERENT


def _start_of(part: np.ndarray, leaf: Any) -> tuple[int, ...] | None:
    """Return where a leaf has the elements of an array, which may lack its first axes; None if nowhere."""
    room = [n - m for n, m in zip(leaf.shape[::-1], part.shape[::-1], strict=False)][::-1]
    if leaf.dtype != part.dtype or leaf.ndim < part.ndim or leaf.size == part.size or min(room, default=0) < 0:
        return None
    whole = np.asarray(leaf)
    index: tuple[Any, ...] = (..., *(slice(n + 1) for n in room))
    for start in np.argwhere(whole[index] == part.flat[0])[:_PLACES]:
        if whole[_ranges(start, part.shape)].tobytes() == part.tobytes():
            return tuple(map(int, start))
    return None


def _ranges(start: Iterable[int], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the slices of an array of ``shape`` that begin at a position, one long on axes that it lacks."""
    at = tuple(start)
    sizes = (1,) * (len(at) - len(shape)) + shape
    return tuple(slice(int(first), int(first) + size) for first, size in zip(at, sizes, strict=True))


def _cut(constant: Instruction, whole: np.ndarray, start: tuple[int, ...]) -> list[Instruction]:
    """Return the instructions that compute a constant as a part of an array."""
    shape = constant.array_shape
    ranges = _ranges(start, shape.dimensions)
    array, part = _made_of(
        constant, whole, "slice", slice=tuple(SliceDimension(each.start, each.stop) for each in ranges)
    )
    if len(ranges) == len(shape.dimensions):
        return [array, part]
    sizes = tuple(each.stop - each.start for each in ranges)
    part = replace(part, name=f"{constant.name}.part", shape=ArrayShape(shape.element_type, sizes))
    return [array, part, replace(constant, opcode="reshape", operands=(part,), attributes={})]


def _in_other_shape(constant: Instruction, array: np.ndarray, shape: tuple[int, ...]) -> list[Instruction]:
    """Return the instructions that compute a constant from the array of its elements in another shape; ``row.T`` for a
    column.
    """
    whole = array.reshape(shape)
    is_turned = array.ndim == 2 and shape == array.shape[::-1] and 1 in shape
    return _transpose_of(constant, whole) if is_turned else _made_of(constant, whole, "reshape")


def _transpose_of(constant: Instruction, array: np.ndarray) -> list[Instruction]:
    return _made_of(constant, array, "transpose", dimensions=(1, 0))


def _made_of(constant: Instruction, array: np.ndarray, opcode: str, **attributes: Any) -> list[Instruction]:
    """Return the instructions that compute a constant from an array in another form."""
    shape = ArrayShape(constant.array_shape.element_type, array.shape)
    own = {**constant.attributes, "literal": np.ascontiguousarray(array)}
    whole = replace(constant, name=f"{constant.name}.array", shape=shape, attributes=own)
    return [whole, replace(constant, opcode=opcode, operands=(whole,), attributes=attributes)]


def _form(array: Any) -> tuple[int, str]:
    return array.size, str(array.dtype)


def _captured(jax: Any, function: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that a function closes over, with their names."""
    for name, value in _variables(function).items():
        if callable(value) and not _is_of_jax(value) and depth:
            yield from _captured(jax, value, depth - 1)
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            words = ".".join([name.strip("_") or name, *map(_word, path)]).removesuffix(_OF_VARIABLES)
            for way, array in _arrays_of(leaf):
                if isinstance(array, np.ndarray | jax.Array) and not isinstance(array, jax.core.Tracer):
                    yield array_name(f"{words}{way}"), array


def _globals(module: HloModule, wanted: Iterable[tuple[int, str]]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the NumPy arrays among the globals of the program's source files, with their names, cast as JAX does to the
    ``wanted`` types of constants of their size.
    """
    known = [vars(each) for each in [*sys.modules.values()] if isinstance(each, ModuleType)]
    files = [names for names in known if str(names.get("__file__")) in module.sources]
    for name, value in (pair for names in files for pair in [*names.items()]):
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            alike = (dtype for size, dtype in wanted if size == value.size)
            types = [dtype for dtype in alike if np.can_cast(value.dtype, dtype, "same_kind")]
            yield from ((name.strip("_"), value.astype(dtype)) for dtype in types)


def _arrays_of(leaf: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays in a leaf of a tree: itself, those of a Keras model, the attributes of any other object."""
    if _is_of_keras(leaf):
        yield from _variables_of_keras(leaf)
    elif hasattr(type(leaf), "__array__") or callable(leaf) or isinstance(leaf, ModuleType) or _is_of_jax(leaf):
        yield "", leaf
    else:
        yield from ((f".{name.strip('_')}", value) for name, value in getattr(leaf, "__dict__", {}).items())


def _is_of_keras(value: Any) -> bool:
    return any(each.__module__.split(".")[0] == "keras" for each in type(value).__mro__)


def _variables_of_keras(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a Keras model, layer or variable, which is one leaf for JAX, with their paths."""
    if hasattr(value, "value"):
        yield "", value.value
    for each in getattr(value, "variables", ()):
        yield f".{each.path.replace('/', '.')}", each.value


def _is_of_jax(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] in ("jax", "jaxlib", "numpy")


def _word(key: Any) -> str:
    """Return the text of a key of a JAX tree path: of a dict, a sequence, or an attribute."""
    return str(next(getattr(key, kind) for kind in ("key", "idx", "name", "__class__") if hasattr(key, kind)))


def _variables(function: Any) -> dict[str, Any]:
    """Return the named values that a function can read besides its arguments: closure, globals, bound object, partial
    arguments.
    """
    if isinstance(function, partial):
        given = {f"argument_{number}": value for number, value in enumerate(function.args)}
        return {**_variables(function.func), **given, **function.keywords}
    if inspect.ismethod(function):
        return {**vars(type(function.__self__)), **getattr(function.__self__, "__dict__", {})}
    own = inspect.unwrap(function)
    try:
        found = inspect.getclosurevars(own)
    except TypeError:  # not a Python function
        return {}
    inner = {name: own.__globals__[name] for name in _inner_names(own.__code__) if name in own.__globals__}
    return {**inner, **found.nonlocals, **found.globals}


def _inner_names(code: CodeType) -> Iterator[str]:
    """Yield the names that the functions nested in a function read."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from inner.co_names
            yield from _inner_names(inner)
