"""The module that a file, a text or bytes hold."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from ..errors import Diagnostic, UsageError
from ..files import file_error
from ..hlo.ir import HloModule
from ..hlo.lexer import escape
from ..hlo.parser import parse_module
from ..hlo.shape_parser import SHAPE_TEXT
from ..hlo.source import HloSyntaxError, SourceText, Span
from .hlo_proto import read_literal, snapshot_arguments
from .jaxlib_conversion import to_hlo
from .manual_computations import of_one_device
from .sniffing import Kind, sniff

_TEXT = re.compile(
    r"\s*(?:HloModule\b|ENTRY\b|(?:ROOT\s+)?(?:%[\w.\-]+\s*|[\w.\-]+\s+)=\s|" + SHAPE_TEXT + r"\s+[a-z][a-z\-]*\()"
)
_BYTE_ORDER_MARK = "\ufeff"


def load(source: str | bytes | os.PathLike[str] | HloModule, *, name: str | None = None) -> HloModule:
    """The module in a file, a text or bytes; a module is returned as it is.

    A ``str`` with a line break, or one that begins like HLO, is text; any other is a path. What the content is decides
    how it is read: HLO text, a serialized HloModuleProto, HloProto or HloSnapshot, StableHLO as MLIR text, bytecode or
    portable artifact (these by jaxlib, the ``xla`` extra). ``name`` is what errors call the source.
    Attributes that nobody knows and that cannot change a value are left out, and listed in the module's ``notes``.

    Raises ``HloSyntaxError`` (XP1xx) for malformed text and ``UsageError``: XP401 where a file cannot be read, XP430
    without jaxlib, XP431 where jaxlib refuses the content.
    """
    if isinstance(source, HloModule):
        return source
    if isinstance(source, bytes):
        return _from_bytes(source, name or "<bytes>")
    if isinstance(source, str) and ("\n" in source or not source.strip() or _TEXT.match(source)):
        return _from_bytes(source.encode("utf-8", "surrogatepass"), name or "<string>")
    return _from_bytes(_read(source), name or os.fspath(source))


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise file_error("read", os.fspath(path), error) from None
    except ValueError as error:  # a null character in the name
        raise UsageError(Diagnostic("XP401", f"cannot read {os.fspath(path)!a}: {error}")) from None


def _from_bytes(content: bytes, name: str) -> HloModule:
    kind = sniff(content)
    if kind is Kind.HLO_TEXT:
        return of_one_device(parse_module(SourceText(_decode(content, name), name)))
    converted = to_hlo(content, kind, name)
    text = converted.text
    if kind is Kind.STABLEHLO_TEXT:  # lines of the text itself, where it has no locations
        text = text.replace('source_file="-"', f'source_file="{escape(Path(name).name)}"')
    literals = {instruction: read_literal(literal) for instruction, literal in converted.literals.items()}
    module = of_one_device(parse_module(SourceText(text, name), literals))
    if kind is Kind.HLO_SNAPSHOT:
        module = replace(module, arguments=snapshot_arguments(memoryview(content)))
    return module


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        readable = content.decode("latin-1")
        message = "this is binary data: neither HLO text nor a program that jaxlib can read"
        span = Span(error.start, error.start + 1)
        raise HloSyntaxError(Diagnostic("XP101", message, span, SourceText(readable, name))) from None
