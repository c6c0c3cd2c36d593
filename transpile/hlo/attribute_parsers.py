"""Parsers of attribute values, from text to the types of :mod:`.attributes`; one function per kind.

Each takes the text of one value, without comments, and raises ``ValueError`` with a message for people. Values that
name computations, instructions, shapes or literals are read by the parser, which has the context.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .attributes import (
    AttributeKind,
    ConvolutionDimensionNumbers,
    PaddingDimension,
    Raw,
    SliceDimension,
    Window,
    WindowDimension,
)
from .ir import OpMetadata
from .lexer import shorten, unescape

_INTEGER = re.compile(r"-?\d+", re.ASCII)
_INTEGERS = re.compile(r"\{\s*(?:-?\d+\s*(?:,\s*-?\d+\s*)*+)?\}", re.ASCII)
_WORDS = re.compile(r"\{\s*(?:\w+\s*(?:,\s*\w+\s*)*+)?\}", re.ASCII)
_FLOAT = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|-?inf|-?nan", re.ASCII)
_WORD = re.compile(r"[\w.\-]+", re.ASCII)
_NAME = re.compile(r"\w+", re.ASCII)
_WINDOW = re.compile(r"\{\s*(?:\w+=[\dx_\-]+[\s,]*+)*+\}", re.ASCII)
_WINDOW_FIELD = re.compile(r"(\w+)=([\dx_\-]+)", re.ASCII)
_NUMBERS = re.compile(r"-?\d+(?:x-?\d+)*", re.ASCII)
_WINDOW_PADS = re.compile(r"-?\d+_-?\d+(?:x-?\d+_-?\d+)*", re.ASCII)
_PADDING = re.compile(r"-?\d+_-?\d+(?:_\d+)?(?:x-?\d+_-?\d+(?:_\d+)?)*", re.ASCII)
_DIM_LABELS = re.compile(r"([bf\d?]+)_([io\d?]+)->([bf\d?]+)", re.ASCII)
_SLICE = re.compile(r"\{\s*(?:\[\s*\d+\s*:\s*\d+\s*(?::\s*\d+\s*)?\]\s*,?\s*)*+\}", re.ASCII)
_SLICE_DIMENSION = re.compile(r"\[\s*(\d+)\s*:\s*(\d+)\s*(?::\s*(\d+)\s*)?\]", re.ASCII)
_PAIRS = re.compile(r"\{\s*(?:\{\s*\d+\s*,\s*\d+\s*\}\s*,?\s*)*+\}", re.ASCII)
_PAIR = re.compile(r"\{\s*(\d+)\s*,\s*(\d+)\s*\}", re.ASCII)
_METADATA_FIELD = re.compile(r'[\s,]*(\w+)\s*=\s*("(?:[^"\\]++|\\[\s\S])*+"|\{[^{}"]*\}|[\w.+\-]++)', re.ASCII)
_METADATA_END = re.compile(r"[\s,]*\}")

PRECISIONS = ("default", "high", "highest", "packed_nibble")


def _int64(text: str) -> int:
    value = int(text) if len(text) < 21 else 1 << 70
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{shorten(text)} does not fit into 64 bits")
    return value


def _check(pattern: re.Pattern[str], text: str, example: str) -> None:
    if not pattern.fullmatch(text):
        raise ValueError(f"should look like {example}")


def parse_integer(text: str) -> int:
    _check(_INTEGER, text, "`3`")
    return _int64(text)


def parse_integers(text: str) -> tuple[int, ...]:
    _check(_INTEGERS, text, "`{0,1}`")
    return tuple(map(_int64, _INTEGER.findall(text)))


def parse_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("should be `true` or `false`")
    return text == "true"


def parse_bools(text: str) -> tuple[bool, ...]:
    """Parse ``{true,false}``; a single value needs no braces."""
    if text in ("true", "false"):
        return (parse_bool(text),)
    _check(_WORDS, text, "`{true,false}`")
    return tuple(map(parse_bool, _NAME.findall(text)))


def parse_float(text: str) -> float:
    _check(_FLOAT, text, "`1e-05`")
    return float(text)


def parse_word(text: str) -> str:
    _check(_WORD, text, "a word")
    return text


def parse_string(text: str) -> str:
    if not text.startswith('"'):
        raise ValueError("should look like a quoted string")
    return unescape(text[1:-1])


def parse_precisions(text: str) -> tuple[str, ...]:
    """Parse ``{highest,default}``; case does not matter."""
    _check(_WORDS, text, "`{highest,default}`")
    names = tuple(_NAME.findall(text.lower()))
    unknown = next((name for name in names if name not in PRECISIONS), None)
    if unknown is not None:
        raise ValueError(f"has no precision `{shorten(unknown)}`; precisions are {', '.join(PRECISIONS)}")
    return names


def parse_window(text: str) -> Window:
    """Parse ``{size=3x3 stride=1x2 pad=-1_2x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=1x0}``."""
    _check(_WINDOW, text, "`{size=3x3 stride=1x2 pad=0_0x1_1}`")
    fields: dict[str, list[tuple[int, ...]]] = {}
    for name, value in _WINDOW_FIELD.findall(text):
        if name not in _WINDOW_FIELDS:
            raise ValueError(f"has no field `{shorten(name)}`; fields are {', '.join(_WINDOW_FIELDS)}")
        if name in fields:
            raise ValueError(f"names `{name}` twice")
        _check(_WINDOW_PADS if name == "pad" else _NUMBERS, value, f"`{name}={_WINDOW_FIELDS[name][1]}`")
        fields[name] = [tuple(map(_int64, part.split("_"))) for part in value.split("x")]
    if not fields:
        return ()
    if "size" not in fields:
        raise ValueError("needs `size`")
    rank = len(fields["size"])
    if any(len(values) != rank for values in fields.values()):
        raise ValueError(f"has fields of different rank; size has {rank} dimensions")
    dimensions = []
    for index in range(rank):
        keywords: dict[str, Any] = {}
        for name, values in fields.items():
            keywords.update(zip(_WINDOW_FIELDS[name][0], values[index], strict=True))
        dimensions.append(_window_dimension(**keywords))
    return tuple(dimensions)


def _window_dimension(*, window_reversal: int = 0, **fields: int) -> WindowDimension:
    dimension = WindowDimension(**fields, window_reversal=bool(window_reversal))
    if dimension.size < 0 or min(dimension.stride, dimension.base_dilation, dimension.window_dilation) < 1:
        raise ValueError("needs sizes of at least 0, strides and dilations of at least 1")
    return dimension


# HLO's field -> (fields of WindowDimension, an example)
_WINDOW_FIELDS = {
    "size": (("size",), "3x3"),
    "stride": (("stride",), "1x2"),
    "pad": (("padding_low", "padding_high"), "0_0x1_1"),
    "lhs_dilate": (("base_dilation",), "1x2"),
    "rhs_dilate": (("window_dilation",), "1x2"),
    "rhs_reversal": (("window_reversal",), "0x1"),
}


def parse_dim_labels(text: str) -> ConvolutionDimensionNumbers:
    """Parse ``b01f_01io->b01f``; ``?`` marks a dimension without a role."""
    match = _DIM_LABELS.fullmatch(text)
    if match is None:
        raise ValueError("should look like `b01f_01io->b01f`")
    batch, feature, spatial = _roles(match[1], "bf")
    kernel_input, kernel_output, kernel_spatial = _roles(match[2], "io")
    output_batch, output_feature, output_spatial = _roles(match[3], "bf")
    if not len(spatial) == len(kernel_spatial) == len(output_spatial):
        raise ValueError("numbers different spatial dimensions for input, kernel and output")
    return ConvolutionDimensionNumbers(
        *(batch, feature, spatial),
        *(kernel_input, kernel_output, kernel_spatial),
        *(output_batch, output_feature, output_spatial),
        text,
    )


def _roles(labels: str, names: str) -> tuple[int, int, tuple[int, ...]]:
    """Return the positions of the two named dimensions, then of the spatial dimensions 0, 1, .."""
    spatial = "".join(sorted(c for c in labels if c.isdigit()))
    if any(labels.count(name) != 1 for name in names) or spatial != "0123456789"[: len(spatial)]:
        raise ValueError(f"needs `{names[0]}`, `{names[1]}` and 0, 1, .. once each in `{shorten(labels)}`")
    return labels.index(names[0]), labels.index(names[1]), tuple(labels.index(c) for c in spatial)


def parse_padding(text: str) -> tuple[PaddingDimension, ...]:
    """Parse ``2_-1x0_0_1``: low, high and interior of each dimension. The padding of a scalar is empty."""
    if not text:
        return ()
    _check(_PADDING, text, "`1_2x0_0_1`")
    return tuple(PaddingDimension(*map(_int64, part.split("_"))) for part in text.split("x"))


def parse_slice(text: str) -> tuple[SliceDimension, ...]:
    """Parse ``{[0:4:2], [0:8]}``."""
    _check(_SLICE, text, "`{[0:4:2], [0:8]}`")
    return tuple(
        SliceDimension(_int64(start), _int64(limit), _int64(stride or "1"))
        for start, limit, stride in _SLICE_DIMENSION.findall(text)
    )


def parse_pairs(text: str) -> tuple[tuple[int, int], ...]:
    _check(_PAIRS, text, "`{{0,1},{1,0}}`")
    return tuple((_int64(a), _int64(b)) for a, b in _PAIR.findall(text))


def parse_metadata(text: str) -> OpMetadata:
    """Parse ``{op_name="f/add" source_file="f.py", source_line=7}``; spaces or commas separate the fields."""
    fields: dict[str, Any] = {}
    extra: list[tuple[str, str]] = []
    at = 1
    while (match := _METADATA_FIELD.match(text, at)) is not None:
        name, value = match.groups()
        at = match.end()
        if name in fields:
            raise ValueError(f"names `{name}` twice")
        parse = _METADATA_PARSERS.get(name)
        if parse is not None:
            fields[name] = parse(value)
        else:
            extra.append((name, value))
    if text[at:] != "}" and not _METADATA_END.fullmatch(text, at):
        raise ValueError('should look like `{op_name="jit(f)/add" source_line=7}`')
    return OpMetadata(**fields, extra=tuple(extra))


_METADATA_PARSERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("op_type", "op_name", "source_file"), parse_string),
    **dict.fromkeys(("source_line", "source_end_line", "source_column", "source_end_column"), parse_integer),
    "stack_frame_id": parse_integer,
}


TEXT_PARSERS: dict[AttributeKind, Callable[[str], Any]] = {
    AttributeKind.INTEGER: parse_integer,
    AttributeKind.INTEGERS: parse_integers,
    AttributeKind.BOOL: parse_bool,
    AttributeKind.BOOLS: parse_bools,
    AttributeKind.FLOAT: parse_float,
    AttributeKind.WORD: parse_word,
    AttributeKind.STRING: parse_string,
    AttributeKind.WINDOW: parse_window,
    AttributeKind.DIM_LABELS: parse_dim_labels,
    AttributeKind.PADDING: parse_padding,
    AttributeKind.SLICE: parse_slice,
    AttributeKind.PAIRS: parse_pairs,
    AttributeKind.PRECISIONS: parse_precisions,
    AttributeKind.RAW: Raw,
}
