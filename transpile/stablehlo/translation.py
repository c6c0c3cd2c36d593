"""A program of MLIR as a module of HLO.

Functions that are called become computations, callees first; a region becomes a computation of what it is given and of
what it sees around it. What an instruction is comes from :data:`.rows.ROWS` or :data:`.rules.RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from ..hlo.attributes import Raw
from ..hlo.header import EntryComputationLayout
from ..hlo.ir import Computation, HloModule, Instruction, OpMetadata
from ..hlo.lexer import quote
from ..hlo.parser_state import did_you_mean
from ..hlo.shapes import ArrayShape, Shape, TupleShape, compatible
from ..hlo.shardings import parse_meshes
from ..hlo.source import Diagnostic, HloSyntaxError, SourceText, Span
from ..hlo.verifier import verify
from .origins import Origins
from .preparation import functions_of
from .program import Argument, FunctionType, Operation, Program, Region, Symbol, Type, Unread, Value, inside
from .result_shardings import with_shardings
from .rows import ROWS, AttributeValueError
from .shardings import marks, meshes_in_header, meshes_of, spelled
from .writer import Names, Writer, in_order


class Translator:
    """Translates one program by rules, of which that of ``*`` is for operations without one.

    Raises ``HloSyntaxError`` with the place of the operation that is at fault.
    """

    def __init__(self, program: Program, origins: Origins, source: SourceText, rules: Mapping[str, Rule]) -> None:
        self.program = program
        self.origins = origins
        self.source = source
        self.rules = rules
        self.names = Names()
        self.functions = functions_of(program)
        self.meshes = parse_meshes(spelled(meshes_of(program)))
        self.written: dict[str, Computation] = {}
        self.attributes: dict[tuple[str, int], dict[str, Any]] = {}
        self.captured: dict[Region, dict[Value, None]] = {}
        self.constants: dict[Value, Any] = {}  # the numbers of those that are translated
        self.wrong_results: HloSyntaxError | None = None

    def module(self, main: Operation) -> HloModule:
        """The module whose entry is a function."""
        for each in self._callees_first(main):
            self.written[str(each.attributes["sym_name"])] = self._function(each, is_entry=each is main)
        entry = self.written[str(main.attributes["sym_name"])]
        own = str(main.attributes["sym_name"])
        header = self._header(entry, main)
        module = HloModule(
            self.program.name or own,
            in_order(entry, self.names.callees),
            entry,
            header,
            self.origins.frames,
            source=self.source,
            notes=tuple(self.program.notes),
        )
        if self.wrong_results is not None:
            verify(module, self.source)  # what is wrong before comes first
            raise self.wrong_results
        return module

    def _header(self, entry: Computation, main: Operation) -> dict[str, Any]:
        parameters = tuple(parameter.shape for parameter in entry.parameters)
        header: dict[str, Any] = {"entry_computation_layout": EntryComputationLayout(parameters, entry.root.shape)}
        header |= _shared_buffers(main)
        if (meshes := meshes_in_header(self.program)) is not None:
            header["frontend_attributes"] = meshes
        return header

    # -- functions

    def _callees_first(self, main: Operation) -> list[Operation]:
        """The functions that are called from one, and it, callees before callers, without recursion."""
        done: dict[Operation, None] = {}
        opened: set[Operation] = set()
        waiting = [main]
        while waiting:
            each = waiting[-1]
            if each in done:
                waiting.pop()
            elif each in opened:
                waiting.pop()
                done[each] = None
            else:
                opened.add(each)
                for operation in [each for each in inside([each]) if each.name in CALLS]:
                    if (name := callee_name(operation)) is None:
                        continue
                    callee = self._callee(name, operation)
                    if callee in opened and callee not in done:
                        raise self.error("XP118", f"the function {quote(name)} calls itself", operation.span)
                    waiting.append(callee)
        return list(done)

    def _callee(self, name: str, operation: Operation) -> Operation:
        found = self.functions.get(name)
        if found is None or not found.regions:
            hint = did_you_mean(name, self.functions)
            raise self.error("XP116", f"there is no function {quote(name)} with a body", operation.span, hint)
        return found

    def _function(self, function: Operation, *, is_entry: bool) -> Computation:
        if not function.regions:
            name = quote(str(function.attributes["sym_name"]))
            raise self.error("XP116", f"the function {name} has no body", function.span)
        (region,) = function.regions
        writer = Writer(self.names, {})
        for number, argument in enumerate(region.arguments):
            self._parameter(writer, number, argument, function.span, "Arg", is_entry=is_entry)
        results = self.results(writer, region)
        self._check_results(function)
        root = with_shardings(writer, function, results, self.meshes) if is_entry else None
        if root is None:
            root = results[0] if len(results) == 1 else writer.tuple(results)
        return writer.computation(str(function.attributes["sym_name"]), root, function.span)

    def _check_results(self, function: Operation) -> None:
        """Keep an error if the results of a function do not have the types that it declares."""
        declared, last = function.attributes.get("function_type"), function.regions[0].operations[-1]
        if not isinstance(declared, FunctionType):
            return
        given = [value.type for value in last.operands]
        if len(given) != len(declared.results):
            message = f"{len(given)} results are returned, {len(declared.results)} declared"
            self.wrong_results = self.error("XP141", message, last.span)
        for own, type_ in zip(given, declared.results, strict=False):
            if isinstance(own, Shape) and isinstance(type_, Shape) and not compatible(own, type_):
                self.wrong_results = self.error("XP141", f"{own} is returned, {type_} is declared", last.span)

    def _parameter(
        self, writer: Writer, number: int, value: Argument, span: Span, stem: str, *, is_entry: bool = False
    ) -> Instruction:
        name = self.origins.name_of(value.location)
        metadata = OpMetadata(op_name=name) if name else None
        stem = (name.rpartition("/")[2] if name else "") or f"{stem}_{number}"
        made = writer.parameter(number, self.shape(value.type, span), stem, metadata, value.span or span)
        if is_entry and value.attributes:
            made = writer.marked(made, marks(value.attributes, self.meshes))
        writer.values[value] = made
        return made

    # -- regions

    def body(self, writer: Writer, region: Region, extra: Sequence[Value] = ()) -> Instruction:
        """Translate the operations of a region; what it hands back, and ``extra`` values, is the root."""
        results = self.results(writer, region, extra)
        return results[0] if len(results) == 1 else writer.tuple(results)

    def results(self, writer: Writer, region: Region, extra: Sequence[Value] = ()) -> list[Instruction]:
        """Translate the operations of a region; gives what it hands back, and ``extra`` values."""
        plain = self.rules["*"]
        for operation in region.operations[:-1]:
            writer.span = operation.span
            if operation.location is not None or operation.name != "stablehlo.constant":  # which says no place
                writer.metadata = self.origins.of(operation.location, operation.span)
            made = self.rules.get(operation.name, plain)(self, writer, operation)
            if made is not None:
                results = operation.results
                parts = [made] if len(results) == 1 else writer.elements(made, len(results))
                writer.values.update(zip(results, parts, strict=True))
        if not region.operations or not is_return(region.operations[-1]):
            raise self.error("XP103", "this region ends without a return", region.span)
        last = region.operations[-1]
        writer.span, writer.metadata = last.span, None
        return [writer.values[value] for value in (*last.operands, *extra)]

    def reducer(self, region: Region, span: Span, stem: str = "region") -> Computation:
        """A region of scalars as a computation of them."""
        writer = Writer(self.names, {})
        for number, argument in enumerate(region.arguments):
            self._parameter(writer, number, argument, span, "Arg")
        self.capture_constants(writer, region, span)
        root = self.body(writer, region)
        return writer.computation(stem, root, region.span)

    def capture_constants(self, writer: Writer, region: Region, span: Span) -> None:
        """Repeat in a computation the constants that its region sees around it; nothing else can be seen there."""
        for value in self.captures(region):
            if value not in self.constants:
                raise self.error("XP112", "this region needs a value from outside, which a reducer cannot take", span)
            writer.span = span
            self.repeat_constant(writer, value, span)

    def repeat_constant(self, writer: Writer, value: Value, span: Span) -> None:
        """Give a computation a constant of its own for one that its region sees around it."""
        writer.values[value] = writer.constant(self.constants[value], self.array(value, span))

    def captures(self, region: Region) -> dict[Value, None]:
        """The values that a region needs and does not define, in the order in which it needs them."""
        found = self.captured.get(region)
        if found is None:
            needed = list[Value]()
            for operation in region.operations:
                needed += operation.operands
                if operation.regions:
                    needed += chain.from_iterable(map(self.captures, operation.regions))
            outer = set(needed).difference(region.arguments, *[each.results for each in region.operations])
            found = self.captured[region] = {value: None for value in needed if value in outer}
        return found

    # -- parts of operations

    def read_attributes(self, operation: Operation) -> dict[str, Any]:
        """The attributes in HLO of an operation that has a row; equal ones are read once."""
        key = (operation.name, id(operation.attributes))
        known = self.attributes.get(key)
        if known is None:
            try:
                known = ROWS[operation.name].read(operation.attributes)
                if any("." in name for name in operation.attributes):
                    known |= marks(operation.attributes, self.meshes)
            except AttributeValueError as error:
                raise self.error("XP123", f"{operation.name}: {error}", operation.span) from None
            self.attributes[key] = known
        return known

    def shape(self, type_: Type, span: Span | None) -> Shape:
        """The shape that a type is. Raises ``HloSyntaxError`` (XP106) for a type that HLO does not have."""
        if isinstance(type_, (Unread, FunctionType)):
            text = type_.text if isinstance(type_, Unread) else "a function"
            message = f"{quote(text)} is no type that HLO has"
            if "quant." in text:
                message = f"the quantized type {quote(text)} is not read: the program is to be dequantized first"
            raise self.error("XP106", message, span)
        return type_

    def array(self, value: Value, span: Span | None) -> ArrayShape:
        """The shape of a value that must be an array."""
        shape = self.shape(value.type, span)
        if not isinstance(shape, ArrayShape):
            raise self.error("XP141", f"an array is expected, not {shape}", span)
        return shape

    def result_shape(self, operation: Operation) -> Shape:
        """The shape of the one result, or a tuple of all."""
        if len(operation.results) == 1:
            type_ = operation.results[0].type
            return type_ if isinstance(type_, Shape) else self.shape(type_, operation.span)
        return TupleShape(tuple(self.shape(value.type, operation.span) for value in operation.results))

    def error(self, code: str, message: str, span: Span | None, hint: str | None = None) -> HloSyntaxError:
        """A complaint about the operation at a place in the user's text."""
        return HloSyntaxError(Diagnostic(code, message, span, self.source, hint))


def _shared_buffers(main: Operation) -> dict[str, Raw]:
    """Which results may lie where arguments did, and which arguments are given away."""
    rows = [argument.attributes or {} for argument in main.regions[0].arguments]
    count = len(main.regions[0].returned)
    places = [(row["tf.aliasing_output"], k) for k, row in enumerate(rows) if "tf.aliasing_output" in row]
    aliases = [
        f"{{{place if count != 1 else ''}}}: ({k}, {{}}, may-alias)"
        for place, k in sorted((place, k) for place, k in places if isinstance(place, int))
    ]
    donors = [f"({k}, {{}})" for k, row in enumerate(rows) if row.get("jax.buffer_donor") is True]
    listed = {"input_output_alias": aliases, "buffer_donor": donors}
    return {key: Raw(f"{{ {', '.join(words)} }}") for key, words in listed.items() if words}


CALLS = frozenset(("func.call", "stablehlo.composite", "stablehlo.custom_call"))


def callee_name(operation: Operation) -> str | None:
    """The function that an operation calls; None where it calls none."""
    if operation.name not in CALLS:
        return None
    if operation.name == "func.call":
        found = operation.attributes.get("callee", operation.attributes.get("symbol"))
    elif operation.name.endswith("composite"):
        found = operation.attributes.get("decomposition")
    else:
        listed = operation.attributes.get("called_computations")
        found = listed[0] if isinstance(listed, tuple) and listed else None
    return found.name if isinstance(found, Symbol) else found if isinstance(found, str) else None


def is_return(operation: Operation) -> bool:
    """Tell whether an operation hands values back."""
    return operation.name.endswith(".return")


# A rule gives the result of an operation, or a tuple of all; or it enters the results itself.
Rule = Callable[[Translator, Writer, Operation], Instruction | None]
