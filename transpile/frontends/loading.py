"""The loader of modules from files, texts, bytes and JAX objects."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError, XlaToPythonError
from ..files import file_error
from ..hlo.ir import HloModule
from ..hlo.parser import parse_module
from ..hlo.shape_parser import SHAPE_TEXT
from ..hlo.source import HloSyntaxError, SourceText, Span
from . import safetensors
from .exported_file import read_exported
from .hlo_proto import read_literal, snapshot_arguments
from .jax import lower, not_lowered, of_lowered, with_trees
from .jaxlib_conversion import compiled_text, to_hlo
from .manual_computations import of_one_device
from .shard_layouts import as_whole, layout_of_compiled, with_layout
from .sniffing import Kind, sniff
from .token_arguments import without_tokens
from .tree_files import with_trees_beside

_TEXT = re.compile(
    r"\s*(?:HloModule\b|ENTRY\b|(?:ROOT\s+)?(?:%[\w.\-]+\s*|[\w.\-]+\s+)=\s|" + SHAPE_TEXT + r"\s+[a-z][a-z\-]*\()"
)
_CPU = "cpu"
_LEFT_OUT = b"{...}"  # in place of an elided constant
_BYTE_ORDER_MARK = "\ufeff"
_UTF_16 = {  # by the byte order mark, or a text's first letters
    re.compile(rb"\xff\xfe|(?:[\n\r\t -~]\0){8}"): "utf-16-le",
    re.compile(rb"\xfe\xff|(?:\0[\n\r\t -~]){8}"): "utf-16-be",
}
_JAXPR = re.compile(rb"\s*(?:let\s[^{]*=\s*)?\{\s*(?:\x1b\[[\d;]*m\s*)*lambda\b")  # possibly behind one that it calls


def load(
    source: Any,
    *,
    name: str | None = None,
    examples: Sequence[Any] = (),
    function: str | None = None,
    sizes: Mapping[str, int] | None = None,
) -> HloModule:
    """Load the module from a file, a text, bytes or a JAX object; a module is returned unchanged.

    A JAX object is a ``jax.stages.Traced``, ``Lowered`` or ``Compiled``, a ``jax.export.Exported``, the result of
    ``Lowered.compiler_ir``, or a function, which is traced for the ``examples``: arrays, or objects with a shape and a
    dtype. A ``str`` with a line break, or one that begins like HLO, is text; any other is a path. The content decides
    the format: HLO text, a serialized HloModuleProto, HloProto or HloSnapshot, a serialized ``Exported``, or StableHLO
    as MLIR text, bytecode or portable artifact (jaxlib, the ``xla`` extra, reads the protos). Error messages call the
    source ``name``. ``function`` is the StableHLO function to read, if it is neither ``main`` nor the only public one.
    An export for several platforms is read for the CPU if possible, otherwise for the first platform. ``sizes`` are
    numbers for the symbols that an export has as sizes of its arguments.

    Unknown attributes that cannot change a value are ignored and listed in the module's ``notes``.

    Raises ``HloSyntaxError`` (XP1xx) for malformed text and ``UsageError``: XP401 if a file cannot be read, XP425 if
    argument sizes are open (``OpenSizes`` if ``sizes`` are all that is missing), XP430 without jaxlib, XP431 if jaxlib
    refuses the content, XP720 for a truncated message, XP722 if an object is not a program or cannot be traced.
    """
    if isinstance(source, HloModule):
        return source
    if not isinstance(source, str | bytes | bytearray | memoryview | os.PathLike):
        return of_object(source, examples, name, sizes=sizes)
    if isinstance(source, bytes | bytearray | memoryview):
        return _from_bytes(bytes(source), name or "<bytes>", function=function, sizes=sizes)
    if isinstance(source, str) and ("\n" in source or not source.strip() or _TEXT.match(source)):
        text = source.encode("utf-8", "surrogatepass")
        return _from_bytes(text, name or "<string>", function=function, sizes=sizes)
    return _from_file(Path(source), name or os.fspath(source), function, sizes)


def of_object(
    found: Any, examples: Sequence[Any] = (), name: str | None = None, *, sizes: Mapping[str, int] | None = None
) -> HloModule:
    """Return the module of a JAX object: see :func:`load`. ``name`` is its name in errors."""
    if isinstance(found, HloModule):
        return found
    name = name or str(getattr(found, "__name__", type(found).__name__))
    try:
        if is_function(found):
            return lower(found, *examples)
        if hasattr(found, "lower"):  # Traced
            found = found.lower()
        if hasattr(found, "mlir_module_serialized"):  # Exported
            program = bytes(found.mlir_module_serialized)
            return with_trees(_from_bytes(program, name, _platform(found.platforms), sizes=sizes), found)
        if hasattr(found, "as_serialized_hlo_module_proto"):  # compiler_ir("hlo")
            return _from_bytes(found.as_serialized_hlo_module_proto(), name)
        if hasattr(getattr(found, "operation", None), "write_bytecode"):  # compiler_ir("stablehlo")
            return _from_bytes(found.operation.get_asm(enable_debug_info=True).encode(), name)
        if hasattr(found, "compiler_ir"):  # Lowered
            module = of_lowered(found, name)
            return module if module.num_partitions > 1 else as_whole(module)
        if hasattr(found, "runtime_executable"):  # Compiled
            module = with_trees(_from_bytes(compiled_text(found).encode(), name), found)
            return replace(module, layout=layout_of_compiled(module, found) or module.layout)
    except XlaToPythonError:
        raise
    except Exception as error:  # tracing the user's function may raise anything
        raise not_lowered(name, error) from error
    raise UsageError(Diagnostic("XP722", f"an object of type {type(found).__name__} is not a program"))


def is_function(found: Any) -> bool:
    """Return whether an object is a function that can be traced; a ``Compiled`` is callable, but is not."""
    return callable(found) and not hasattr(found, "runtime_executable")


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise file_error("read", os.fspath(path), error) from None
    except ValueError as error:  # a null character in the path
        raise UsageError(Diagnostic("XP401", f"cannot read {os.fspath(path)!a}: {error}")) from None


def _from_file(path: Path, name: str, function: str | None, sizes: Mapping[str, int] | None) -> HloModule:
    """Return the module in a file. Constants that a text elides, and its pytrees, may be in sidecars."""
    content = _read(path)
    literals = _arrays_beside(path) if _LEFT_OUT in content else {}
    module = _from_bytes(content, name, function=function, sizes=sizes, literals=literals)
    return with_trees_beside(module, path)


def _arrays_beside(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays in the sidecar of a text, by the names of constants; empty if there is no such file."""
    tensors = path.with_suffix(safetensors.SUFFIX)
    if not tensors.is_file():
        return {}
    try:
        return safetensors.read(tensors)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(Diagnostic("XP725", f"{tensors} has no arrays of {path.name}: {error}")) from error


def _platform(names: Sequence[str]) -> int | None:
    """Return the index of the platform for which a program for several is read; None for a single one."""
    if len(names) < 2:
        return None
    return names.index(_CPU) if _CPU in names else 0


def _from_bytes(
    content: bytes,
    name: str,
    platform: int | None = None,
    function: str | None = None,
    sizes: Mapping[str, int] | None = None,
    literals: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> HloModule:
    content = _in_utf8(content)
    kind = sniff(content)
    if kind is Kind.EXPORTED:
        exported = read_exported(content)
        module = _from_bytes(bytes(exported.program), name, _platform(exported.platforms), function, sizes)
        fits = len(exported.trees.leaves) == len(module.entry.parameters)
        return replace(module, trees=exported.trees) if fits else module
    if kind is Kind.HLO_TEXT and _JAXPR.match(content):
        hint = "jax.jit(function).lower(*arguments).as_text('hlo') is HLO; or give xla2py the function itself"
        raise HloSyntaxError(
            Diagnostic("XP142", "this is a jaxpr, not HLO", Span(0, 1), SourceText(_decode(content, name), name), hint)
        )
    if kind is Kind.HLO_TEXT:
        return _divided(parse_module(SourceText(_decode(content, name), name), literals))
    if kind in (Kind.STABLEHLO_TEXT, Kind.STABLEHLO_BYTECODE):
        return _divided(_from_stablehlo(content, kind, name, function, platform, sizes))
    converted = to_hlo(content, kind, name)
    left_out = {instruction: read_literal(literal) for instruction, literal in converted.literals.items()}
    module = _divided(parse_module(TranslatedText(converted.text, name), left_out))
    if kind is Kind.HLO_SNAPSHOT:
        module = replace(module, arguments=snapshot_arguments(memoryview(content)))
    return module


def _from_stablehlo(
    content: bytes, kind: Kind, name: str, function: str | None, platform: int | None, sizes: Mapping[str, int] | None
) -> HloModule:
    from ..stablehlo.reading import read_bytecode, read_text  # imported here, because programs of HLO do not need these

    if kind is Kind.STABLEHLO_TEXT:
        return read_text(SourceText(_decode(content, name), name), function, platform, sizes)
    return read_bytecode(content, name, function, platform, sizes)


def _divided(module: HloModule) -> HloModule:
    """Return a program without tokens; one for several devices as the program of one device with its layout, if it
    specifies one.
    """
    return with_layout(of_one_device(as_whole(without_tokens(module))))


def _in_utf8(content: bytes) -> bytes:
    """Return UTF-16 text, as some shells write it, in UTF-8; any other content unchanged."""
    encoding = next((encoding for marks, encoding in _UTF_16.items() if marks.match(content)), None)
    if encoding is None:
        return content
    return content.decode(encoding, "replace").removeprefix(_BYTE_ORDER_MARK).encode("utf-8", "surrogatepass")


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        readable = content.decode("latin-1")
        message = "this is binary data: neither HLO text nor a program that jaxlib can read"
        span = Span(error.start, error.start + 1)
        raise HloSyntaxError(Diagnostic("XP101", message, span, SourceText(readable, name))) from None


# -- text that is a translation of the user's input


@dataclass(frozen=True)
class TranslatedText(SourceText):
    """The HLO text of a file in another format."""

    def place(self, span: Span) -> tuple[SourceText, Span]:
        """Return the place in the translation, under a name that marks it as one."""
        return self._as_hlo, span

    @cached_property
    def _as_hlo(self) -> SourceText:
        return SourceText(self.text, f"{self.name} (as HLO text)")
