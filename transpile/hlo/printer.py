"""The printer of modules as HLO text: XLA's short form, with every constant in full.

The text depends on the module alone, parses back to an equal module, and XLA's own parser accepts it. Names that HLO
does not allow are changed as little as needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from .attributes import AttributeKind as K, Window
from .element_types import ElementType, Kind, from_dtype
from .header import HEADER_ATTRIBUTES
from .ir import Computation, HloModule, Instruction, OpMetadata, StackFrame, callees_first, fresh_name, legal_name
from .lexer import escape
from .literal_values import array_sha256, has_nan_payloads, mantissa_bits
from .literals import Literal
from .opcodes import COMMON_ATTRIBUTES, OPCODES
from .shape_parser import TYPE_NAMES
from .shapes import Shape
from .stack_frames import CallChains

_LOG10_2 = math.log10(2)


def literal_text(literal: Literal) -> str:
    """Return ``{{1, 2}, {3, 4}}``, ``(5, {1, 0.5})`` for a tuple, ``(1, -2)`` for a complex number."""
    if literal is None:
        return "token"
    if isinstance(literal, tuple):
        return f"({', '.join(map(literal_text, literal))})"
    texts = _element_texts(literal.reshape(-1), from_dtype(literal.dtype), is_scalar=literal.ndim == 0)
    return texts[0] if literal.ndim == 0 else _in_braces(texts, literal.shape)


def shaped_literal_text(literal: Literal) -> str:
    """Return a literal behind its shape, ``s32[2]{0} {1, 2}``; a tuple's elements each have their own.

    The shape has a layout: otherwise the first brace of the literal would be read as one.
    """
    if literal is None:
        return "token[] token"
    if isinstance(literal, tuple):
        return f"({', '.join(map(shaped_literal_text, literal))})"
    layout = f"{{{','.join(map(str, reversed(range(literal.ndim))))}}}" if literal.ndim else ""
    shape = f"{from_dtype(literal.dtype)}[{','.join(map(str, literal.shape))}]{layout}"
    return f"{shape} {literal_text(literal)}"


def _in_braces(texts: list[str], dimensions: tuple[int, ...]) -> str:
    for level in range(len(dimensions) - 1, -1, -1):
        size = dimensions[level]
        rows = math.prod(dimensions[:level])
        texts = [f"{{{', '.join(texts[row * size : (row + 1) * size])}}}" for row in range(rows)]
    return texts[0] if texts else "{}"


def _element_texts(values: npt.NDArray[Any], element_type: ElementType, is_scalar: bool) -> list[str]:
    if element_type.is_complex:
        parts = _float_texts(values.view(element_type.real.dtype), element_type.real)
        return [f"({real}, {imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
    if element_type.is_floating:
        return _float_texts(values, element_type)
    if element_type.kind is Kind.PRED:
        return [("true" if value else "false") if is_scalar else str(int(value)) for value in values.tolist()]
    wide = np.uint64 if element_type.is_unsigned else np.int64
    return list(map(str, values.astype(wide).tolist()))


def _float_texts(values: npt.NDArray[Any], element_type: ElementType) -> list[str]:
    """Return short decimal texts: the digits that the type always preserves, more only if they would be read as another
    number.
    """
    with np.errstate(invalid="ignore"):  # ml_dtypes raises this for NaN
        numbers = values.astype(np.float64)
    if element_type.bits == 64:
        texts = [repr(number).removesuffix(".0") for number in numbers.tolist()]
    else:
        kept = max(1, math.floor(mantissa_bits(element_type) * _LOG10_2))
        enough = math.ceil(1 + (mantissa_bits(element_type) + 1) * _LOG10_2)
        texts = [f"{number:.{kept}g}" for number in numbers.tolist()]
        for digits in (enough, 17):  # 17: ml_dtypes rounds near the smallest f8e8m0fnu in its own way
            for index in np.flatnonzero(_differ(texts, values, element_type)):
                texts[index] = f"{numbers[index]:.{digits}g}"
    for index in np.flatnonzero((numbers == 0) & np.signbit(numbers)):
        texts[index] = "-0.0"  # XLA reads -0 as an integer, without its sign
    for index in np.flatnonzero(np.isnan(numbers)):
        bits = int(values[index : index + 1].view(f"u{values.itemsize}")[0])
        texts[index] = _nan_text(bits, "-" if np.signbit(numbers[index]) else "", element_type)
    return texts


def _differ(texts: list[str], values: npt.NDArray[Any], element_type: ElementType) -> npt.NDArray[Any]:
    """Return which texts are read as other numbers than the values; NaNs are equal."""
    with np.errstate(over="ignore", invalid="ignore"):
        read_back = np.array(texts, dtype=np.float64).astype(element_type.dtype)
        differ: npt.NDArray[np.bool_] = (read_back != values) & ~(np.isnan(read_back) & np.isnan(values))
    return differ


def _nan_text(bits: int, sign: str, element_type: ElementType) -> str:
    """Return ``nan``, ``-nan``, or ``nan(0x7)`` if the mantissa is not that of the usual NaN."""
    if not has_nan_payloads(element_type):
        return f"{sign}nan"
    payload = bits & (1 << mantissa_bits(element_type)) - 1
    return f"{sign}nan" if payload == 1 << mantissa_bits(element_type) - 1 else f"{sign}nan(0x{payload:x})"


_NAME = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)

_LARGEST_HASHED_AS_TEXT = 1024  # elements of the largest constant that is hashed as text

_LEFT_OUT = ()  # marks a literal that is left out


# Words that are names for XLA only with a percent sign.
_KEYWORDS = frozenset(
    (
        *("ENTRY", "HloModule", "ROOT", "false", "inf", "manual", "maximal", "nan", "replicated", "true", "unknown"),
        *("last_tile_dim_replicate", "last_tile_dims", "shard_as", "shard_like", "unreduced"),
    )
)


def print_module(module: HloModule) -> str:
    """Return the module as HLO text, without user sources. Callees come before their callers."""
    return "".join(_Printer(module, literal_text).lines())


def print_without_constants(
    module: HloModule, wanted: Callable[[np.ndarray], bool], *, as_parameters: bool = False
) -> tuple[str, dict[str, np.ndarray]]:
    """Return the text without the ``wanted`` constants of the entry, and these constants by the names of their
    instructions.

    ``parse_module`` takes both. With ``as_parameters``, the constants become parameters behind those of the module.
    """
    if as_parameters:  # the layout lists the parameters
        header = {key: value for key, value in module.header.items() if key != "entry_computation_layout"}
        module = replace(module, header=header)
    printer = _WithoutConstants(module, wanted, as_parameters)
    return "".join(printer.lines()), printer.arrays


def module_sha256(module: HloModule, *, with_result_tree: bool = False) -> str:
    """Return the hash of a module in hexadecimal digits: the same on every machine, for any caller of the tracer.

    The text does not contain the tree of the results: ``with_result_tree`` adds it to the hash.
    """
    text_hash = sha256()
    if with_result_tree and module.trees is not None and module.trees.results is not None:
        text_hash.update(repr(module.trees.results).encode())
    for line in _HashedText(module).lines():
        text_hash.update(line.encode())
    return text_hash.hexdigest()


def _short_literal_text(literal: Literal) -> str:
    if not isinstance(literal, np.ndarray) or literal.size <= _LARGEST_HASHED_AS_TEXT:
        return literal_text(literal)
    return array_sha256(literal)


class _Printer:
    def __init__(self, module: HloModule, literal_text: Callable[[Literal], str]) -> None:
        self._module = module
        self._literal_text = literal_text
        self._frames = module.stack_frames
        self._computations = callees_first(*module.computations, module.entry)
        self._computation_names = _unique_names(self._computations)
        self._names: dict[int, str] = {}
        self._shapes: dict[int, str] = {}
        self._write: dict[K, Callable[[Any], str]] = {
            **_VALUES,
            K.COMPUTATION: lambda value: self._computation_names[id(value)],
            K.COMPUTATIONS: lambda value: f"{{{', '.join(self._computation_names[id(c)] for c in value)}}}",
            K.INSTRUCTIONS: lambda value: f"{{{', '.join(self._names[id(i)] for i in value)}}}",
        }

    def lines(self) -> Iterator[str]:
        module = self._module
        name = _legal(module.name) if module.name else self._computation_names[id(module.entry)]
        attributes = (f", {key}={_header_value(key, value)}" for key, value in module.header.items())
        yield f"HloModule {name}{''.join(attributes)}\n"
        yield from _stack_tables(module.stack_frames)
        for computation in self._computations:
            yield "\n"
            yield from self._computation(computation)

    def _computation(self, computation: Computation) -> Iterator[str]:
        self._names = _unique_names(computation.instructions)
        entry = "ENTRY " if computation is self._module.entry else ""
        yield f"{entry}{self._computation_names[id(computation)]} {{\n"
        for instruction in computation.instructions:
            root = "ROOT " if instruction is computation.root else ""
            yield f"  {root}{self._instruction(instruction)}\n"
        thread = computation.execution_thread
        yield "}\n" if thread == "main" else f'}}, execution_thread="{escape(thread)}"\n'

    def _instruction(self, instruction: Instruction) -> str:
        attributes = dict(instruction.attributes)
        if instruction.opcode == "constant":
            operands = self._literal_text(attributes.pop("literal"))
        elif instruction.opcode == "parameter":
            operands = str(attributes.pop("parameter_number"))
        else:
            operands = ", ".join([self._names[id(operand)] for operand in instruction.operands])
        text = f"{self._names[id(instruction)]} = {self._shape(instruction.shape)} {instruction.opcode}({operands})"
        specs = OPCODES[instruction.opcode].attributes
        for key, value in attributes.items():
            text += f", {key}={self._write[(specs.get(key) or COMMON_ATTRIBUTES[key]).kind](value)}"
        return text if instruction.metadata is None else f"{text}, metadata={self._metadata(instruction.metadata)}"

    def _shape(self, shape: Shape) -> str:
        text = self._shapes.get(id(shape))
        if text is None:
            text = self._shapes[id(shape)] = str(shape)
        return text

    def _metadata(self, metadata: OpMetadata) -> str:
        number = metadata.stack_frame_id
        frame = self._frames[number - 1] if 0 < number <= len(self._frames) else None
        return self._fields(metadata, frame, metadata.source_file, number)

    def _fields(self, metadata: OpMetadata, frame: StackFrame | None, source_file: str, number: int) -> str:
        fields = []
        if metadata.op_type:
            fields.append(f'op_type="{escape(metadata.op_type)}"')
        if metadata.op_name:
            fields.append(f'op_name="{escape(metadata.op_name)}"')
        if frame is None or metadata != frame.located(metadata):
            if source_file:
                fields.append(f'source_file="{escape(source_file)}"')
            fields += [f"{key}={value}" for key in _PLACE[1:] if (value := getattr(metadata, key))]
        if number:
            fields.append(f"stack_frame_id={number}")
        return f"{{{' '.join(fields + [f'{key}={value}' for key, value in metadata.extra])}}}"


class _WithoutConstants(_Printer):
    """The printer that leaves out and collects arrays."""

    def __init__(self, module: HloModule, wanted: Callable[[np.ndarray], bool], as_parameters: bool) -> None:
        super().__init__(module, lambda literal: "{...}" if literal is _LEFT_OUT else literal_text(literal))
        self.arrays: dict[str, np.ndarray] = {}
        self._wanted, self._as_parameters = wanted, as_parameters
        self._constants = {id(each) for each in module.entry.instructions if each.opcode == "constant"}

    def _instruction(self, instruction: Instruction) -> str:
        literal = instruction.attributes.get("literal")
        if id(instruction) not in self._constants or not isinstance(literal, np.ndarray) or not self._wanted(literal):
            return super()._instruction(instruction)
        attributes: dict[str, Any] = {**instruction.attributes, "literal": _LEFT_OUT}
        left = replace(instruction, attributes=attributes)
        if self._as_parameters:
            del attributes["literal"]
            attributes["parameter_number"] = len(self._module.entry.parameters) + len(self.arrays)
            left = replace(instruction, opcode="parameter", attributes=attributes)
        name = self._names[id(left)] = self._names[id(instruction)]
        self.arrays[name] = literal
        return super()._instruction(left)


class _HashedText(_Printer):
    """The printer for hashes: digests for large constants, and for each place in the source the calls around it, by
    file names without folders.
    """

    def __init__(self, module: HloModule) -> None:
        super().__init__(replace(module, stack_frames=()), _short_literal_text)
        self._chains = CallChains(module)
        self._texts: dict[int, str] = {}  # the calls around each frame, as text

    def _metadata(self, metadata: OpMetadata) -> str:
        return self._fields(metadata, None, _file(metadata.source_file), 0) + self._places(metadata.stack_frame_id)

    def _places(self, frame_id: int) -> str:
        """Return the calls around a frame as text."""
        if frame_id not in self._texts:
            calls = [self._chains.frames[number - 1] for number in self._chains.around(frame_id)]
            self._texts[frame_id] = repr([(_file(call.file_name), call.function_name, call.line) for call in calls])
        return self._texts[frame_id]


def _file(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


# -- order and names


def _unique_names(items: Iterable[Computation | Instruction]) -> dict[int, str]:
    """Return a legal name for each item by its ``id``; names that are legal and unique stay as they are."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    odd = []
    for item in items:
        if item.name not in taken and _NAME.fullmatch(item.name) and item.name not in TYPE_NAMES:
            taken.add(item.name)
            names[id(item)] = f"%{item.name}" if item.name in _KEYWORDS else item.name
        else:
            odd.append(item)
    for item in odd:
        name = fresh_name(_legal(item.name), taken)
        names[id(item)] = f"%{name}" if name in _KEYWORDS else name
    return names


def _legal(name: str) -> str:
    name = legal_name(name)
    return f"{name}_" if name in TYPE_NAMES else name


# -- header


def _header_value(key: str, value: Any) -> str:
    kind = HEADER_ATTRIBUTES[key]
    return str(value) if kind is None else _VALUES[kind](value)


def _stack_tables(frames: tuple[StackFrame, ...]) -> Iterator[str]:
    if not frames:
        return
    files: dict[str, int] = {}
    functions: dict[str, int] = {}
    locations: dict[str, int] = {}
    rows: list[str] = []
    for number, frame in enumerate(frames, 1):
        file = files.setdefault(frame.file_name, len(files) + 1)
        function = functions.setdefault(frame.function_name, len(functions) + 1)
        place = f"line={frame.line} end_line={frame.end_line} column={frame.column} end_column={frame.end_column}"
        record = f"{{file_name_id={file} function_name_id={function} {place}}}"
        location = locations.setdefault(record, len(locations) + 1)
        # In the table, parent 1 stands for none.
        rows.append(f"{number} {{file_location_id={location} parent_frame_id={frame.parent + 1}}}\n")
    yield "\nFileNames\n"
    yield from (f'{number} "{escape(name)}"\n' for name, number in files.items())
    yield "\nFunctionNames\n"
    yield from (f'{number} "{escape(name)}"\n' for name, number in functions.items())
    yield "\nFileLocations\n"
    yield from (f"{number} {record}\n" for record, number in locations.items())
    yield "\nStackFrames\n"
    yield from rows


_PLACE = ("source_file", "source_line", "source_end_line", "source_column", "source_end_column")


# -- attribute values


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _list(items: Iterable[object], separator: str = ",") -> str:
    return f"{{{separator.join(map(str, items))}}}"


def _window(window: Window) -> str:
    fields = {
        "size": [str(d.size) for d in window],
        "stride": [str(d.stride) for d in window],
        "pad": [f"{d.padding_low}_{d.padding_high}" for d in window],
        "lhs_dilate": [str(d.base_dilation) for d in window],
        "rhs_dilate": [str(d.window_dilation) for d in window],
        "rhs_reversal": [str(int(d.window_reversal)) for d in window],
    }
    usual = {"stride": {"1"}, "pad": {"0_0"}, "lhs_dilate": {"1"}, "rhs_dilate": {"1"}, "rhs_reversal": {"0"}}
    written = (
        f"{key}={'x'.join(values)}" for key, values in fields.items() if values and set(values) != usual.get(key)
    )
    return _list(written, " ")


def _interior(value: int) -> str:
    return f"_{value}" if value else ""


def _stride(value: int) -> str:
    return f":{value}" if value != 1 else ""


_VALUES: dict[K, Callable[[Any], str]] = {
    K.INTEGER: str,
    K.INTEGERS: _list,
    K.BOOL: _bool,
    K.BOOLS: lambda value: _list(map(_bool, value)),
    K.FLOAT: lambda value: repr(float(value)),
    K.WORD: str,
    K.STRING: lambda value: f'"{escape(value)}"',
    K.WINDOW: _window,
    K.DIM_LABELS: lambda value: value.text,
    K.PADDING: lambda value: "x".join(f"{d.low}_{d.high}{_interior(d.interior)}" for d in value),
    K.SLICE: lambda value: _list((f"[{d.start}:{d.limit}{_stride(d.stride)}]" for d in value), ", "),
    K.REPLICA_GROUPS: lambda value: value.text or _list(_list(group) for group in value.groups),
    K.PAIRS: lambda value: _list(map(_list, value)),
    K.PRECISIONS: _list,
    K.SHAPE: str,
    K.SHAPES: lambda value: _list(value, ", "),
    K.LITERAL: shaped_literal_text,
    K.RAW: lambda value: value.text,
}
