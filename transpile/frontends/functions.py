"""Programs named in Python: ``package.module:function(f32[4,8], s32[])``.

The object may be a function that JAX can trace, with the shapes of its arguments in HLO's own words; or, without
parentheses, something that is a program already: a ``jax.stages.Lowered``, a ``jax.export.Exported``, a module.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import Diagnostic, UsageError
from ..hlo.ir import HloModule
from ..hlo.lexer import Cursor
from ..hlo.shape_parser import parse_shape
from ..hlo.shapes import ArrayShape, Shape, TupleShape
from ..hlo.source import SourceText
from .jax import required_jax
from .loading import is_function, of_object

_REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*)(?:\((?P<shapes>.*)\))?")


def is_reference(argument: str) -> bool:
    """Tell whether a word names an object in a Python module rather than a file."""
    return _REFERENCE.fullmatch(argument) is not None and not Path(argument).exists()


def reference_parts(reference: str) -> tuple[str, str]:
    """The module and the name that a reference names."""
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    return match["module"], match["name"]


def referenced(reference: str, folder: Path) -> Any:
    """The object that a reference names, imported with ``folder`` first on the path. Raises ``UsageError`` (XP721)."""
    with _importing_from(folder):
        return _object(*reference_parts(reference))


def load_function(reference: str, folder: Path) -> HloModule:
    """The program that an importable object is. Its module is imported with ``folder`` first on the path.

    Raises ``UsageError``: XP721 where there is no such object or its import fails, XP722 where it is no program or
    does not take such arguments; ``HloSyntaxError`` for shapes that are none.
    """
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    shapes = None if match["shapes"] is None else _shapes(match["shapes"], reference)
    with _importing_from(folder):
        found = _object(match["module"], match["name"])
        if shapes is None and is_function(found):
            hint = "say what it takes: 'module:function(f32[4,8], s32[])', or 'module:function()'"
            raise UsageError(Diagnostic("XP722", "the shapes of the function's arguments are not known", hint=hint))
        module = of_object(found, shapes or (), reference)
    return module if module.source is None else replace(module, source=replace(module.source, name=reference))


def _object(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever the user's module raises
        message = f"cannot import {name} from {module}: {type(error).__name__}: {error}"
        raise UsageError(Diagnostic("XP721", message)) from error


def _shapes(text: str, reference: str) -> tuple[Any, ...]:
    source = SourceText(f"({text})", reference)
    cursor = Cursor(source)
    shape = parse_shape(cursor)
    if cursor.skip() != len(source.text) or not isinstance(shape, TupleShape):
        raise cursor.error("XP102", "a comma or the end of the arguments is expected", cursor.position)
    return tuple(_example(element) for element in shape.elements)


def _example(shape: Shape) -> Any:
    """Return what JAX traces in place of an argument."""
    if isinstance(shape, TupleShape):
        return tuple(_example(element) for element in shape.elements)
    if not isinstance(shape, ArrayShape):
        raise UsageError(Diagnostic("XP722", f"no argument has the shape {shape}"))
    return required_jax().ShapeDtypeStruct(shape.dimensions, shape.element_type.dtype)


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    place = str(folder.resolve())
    sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(place)
