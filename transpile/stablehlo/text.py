"""MLIR text to a :class:`.program.Program`: generic and pretty forms of the dialects that StableHLO comes in.

The pretty forms of most operations are of one kind: operands, words and ``key = value`` up to a colon, types behind it.
One reader takes them all (:meth:`TextReader._plain`); those of another kind have a method of their own. What a line
says apart from names is read once (:mod:`.lines`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import accumulate
from typing import Any, NoReturn

from ..dataclass import dataclass
from ..hlo.lexer import Cursor, quote
from ..hlo.parser_state import did_you_mean
from ..hlo.source import Diagnostic, SourceText, Span
from .aliases import ALIAS, AliasReader
from .attributes import NAME, SYMBOL, convolution_labels, symbol_name
from .balanced import balanced
from .lines import LONGEST, VALUE, Template, Templates, split, width
from .program import Argument, FunctionType, Operation, Program, Region, Symbol, Type, Unread, Value
from .strings import string
from .types import parse_type, parse_types

_VALUE_NAME = re.compile(r"%[\w$.\-]++", re.ASCII)
_RESULTS = re.compile(r"%[\w$.\-]++(?::\d+)?(?:\s*,\s*%[\w$.\-]++(?::\d+)?)*+\s*=(?!=)", re.ASCII)
_RESULT = re.compile(r"(%[\w$.\-]++)(?::(\d{1,4}))?", re.ASCII)
_OPERATION = re.compile(r"[A-Za-z_][\w$]*+(?:\.[\w$]++)*+", re.ASCII)
_BLOCK = re.compile(r"\^[\w$.\-]++", re.ASCII)
_BLOCKS = re.compile(r"\{\s*+\^")
_LOCATION_ALIAS = re.compile(r"loc\((#[\w$.\-]++)\)", re.ASCII)
_LOCATION = re.compile(r"loc(?=\s*\()", re.ASCII)
_SLICES = re.compile(r"\[((?:\s*\d{1,19}\s*:\s*\d{1,19}\s*(?::\s*\d{1,19}\s*)?,?)*+)\]", re.ASCII)
_SLICE = re.compile(r"(\d+)\s*:\s*(\d+)\s*(?::\s*(\d+))?", re.ASCII)
_ARGUMENT = re.compile(r"(%[\w$.\-]++): (tensor<[^<>\"]*+>)(?=[,)])", re.ASCII)  # as most are
_END_OF_LINE = re.compile(r"[ \t\r]*+\n", re.ASCII)
_LABELS = re.compile(r"\[[^\]]*+\]\s*x\s*\[[^\]]*+\]\s*->\s*\[[^\]]*+\]")
_ONE = (1,)
_tuple = tuple.__new__  # of a named tuple this takes a third of the time of its own constructor
_KEY_PAIR = re.compile(r"x(?=\s*\[)")


@dataclass(slots=True)
class _Statement:
    """One operation as it is read: ``places`` are those of its operands among ``names``, ``arguments`` has the places
    of what its regions take; ``head`` is where they begin.
    """

    name: str
    span: Span
    names: list[str]
    counts: tuple[int, ...]
    places: list[int]
    attributes: dict[str, Any]
    regions: list[Region]
    types: tuple[Type, ...] = ()
    symbol: int | None = None
    arguments: list[tuple[int, Argument]] = field(default_factory=list)
    head: int | None = None


class TextReader:
    """Reads one text. Raises ``HloSyntaxError`` (XP1xx) with a place in it."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.text = source.text
        self.cursor = Cursor(source)
        self.notes: list[Diagnostic] = []
        self.attributes = AliasReader(self.cursor)
        self.types = self.cursor.shapes
        self._values: dict[str, Value] = {}
        self._templates = Templates(self.types)

    def read(self) -> Program:
        """The program that the text is."""
        cursor = self.cursor
        if (binary := self.text.find("\0")) >= 0:
            raise cursor.error("XP101", "this is binary data, not MLIR text", binary, binary + 1)
        region = Region()
        while not self._at_end():
            self._statement(region)
        modules = [each for each in region.operations if each.name == "builtin.module"]
        if not region.operations:
            raise cursor.error("XP100", "the text is empty", 0, 0)
        if len(modules) == 1 and len(region.operations) == 1:
            (module,) = modules
            name = module.attributes.get("sym_name", "")
            operations = module.regions[0].operations if module.regions else []
            own = {key: value for key, value in module.attributes.items() if key != "sym_name"}
            return Program(name if isinstance(name, str) else "", own, operations, self.notes)
        return Program("", {}, region.operations, self.notes)

    def _at_end(self) -> bool:
        """Pass aliases and resources; tell whether nothing is left."""
        cursor = self.cursor
        while not cursor.at_end():
            alias = ALIAS.match(self.text, cursor.position)
            if alias is not None:
                cursor.position = alias.end()
                self._pass_alias(alias[1])
            elif cursor.text.startswith("{-#", cursor.position):
                end = cursor.text.find("#-}", cursor.position)
                if end < 0:
                    raise cursor.error("XP103", "the resources are never closed: the text ends before")
                cursor.position = end + 3
            else:
                return False
        return True

    def _pass_alias(self, name: str) -> None:
        cursor = self.cursor
        if name.startswith("!"):
            parse_type(cursor)
        elif cursor.match(_LOCATION):
            balanced(cursor)
        else:
            self.attributes.read()

    # -- blocks

    def _region(self, arguments: Sequence[Argument] = (), *, is_isolated: bool = False) -> Region:
        """``{ ^bb0(%a: type): operations }``; the arguments are those that the operation has named already.

        Names that are defined within are gone behind it. An isolated region does not see those outside.
        """
        cursor = self.cursor
        start = cursor.skip()
        cursor.expect("{", "to open a region")
        cursor.enter(start)
        region = Region(list(arguments))
        outer, count = self._values, len(self._values)
        self._values = {} if is_isolated else outer
        for value in arguments:
            self._define(value.name, value, start)
        if cursor.match(_BLOCK):
            region.arguments += self._block_arguments()
            cursor.expect(":", "behind the block")
        self._lines(region)
        while not cursor.accept("}"):
            if cursor.looking_at("^"):
                message = "jumps between blocks are not read: control flow has operations of its own here"
                raise cursor.error("XP110", message, cursor.position, cursor.position + 1)
            self._statement(region)
            self._lines(region)
        self._values = outer
        for _ in range(len(outer) - count):
            outer.popitem()  # the last that came in
        region.span = Span(start, cursor.position)
        cursor.leave()
        return region

    def _block_arguments(self) -> list[Argument]:
        cursor = self.cursor
        arguments: list[Argument] = []
        if not cursor.accept("("):
            return arguments
        while not cursor.accept(")"):
            if arguments:
                cursor.expect(",", "between arguments")
            arguments.append(self._argument())
        return arguments

    def _argument(self, *, has_attributes: bool = False) -> Argument:
        cursor = self.cursor
        start = cursor.skip()
        plain = _ARGUMENT.match(self.text, start)
        if plain is not None and plain[2] in self.types:
            name, value = plain[1], Argument(self.types[plain[2]], plain[1])
            cursor.position = plain.end()
            value.span = Span(start, plain.end())
        else:
            name = cursor.expect_match(_VALUE_NAME, "an argument")
            cursor.expect(":", "before the argument's type")
            value = Argument(parse_type(cursor), name)
            if has_attributes and cursor.looking_at("{"):
                value.attributes = self.attributes.dictionary()
            value.span = Span(start, cursor.position)
            value.location = self._location()
        if not has_attributes:
            self._define(name, value, start)
        return value

    def _define(self, name: str, value: Value, start: int) -> None:
        if name in self._values:
            raise self.cursor.error("XP114", f"there are two values {quote(name)}", start, start + len(name))
        self._values[name] = value

    # -- one operation

    def _lines(self, region: Region) -> None:
        """Read lines of which others were the templates, up to one that is not like another."""
        text, cursor, values, templates = self.text, self.cursor, self._values, self._templates.by_parts
        start = cursor.skip()
        while 0 <= (end := text.find("\n", start)) - start <= LONGEST:
            line, location = text[start:end].lstrip(), None
            start = end - len(line)
            line = line.rstrip()
            if line.startswith("}"):
                return
            if line.endswith(")"):
                before, _, alias = line.rpartition(" loc(")
                if before and alias.startswith("#"):
                    line, location = before, alias[:-1]
            parts = split(line)
            key, names = tuple(parts[::2]), parts[1::2]
            template = templates.get(key) or self._templates.of_kind(key)
            if template is None:
                return
            try:
                operands = [values[names[place]] for place in template.order]
            except KeyError:
                return  # the general way says what is wrong
            if template.arguments is not None:
                self._open(region, template, operands, parts, start)
                start = cursor.skip()
                continue
            if template.counts != _ONE:
                results = list(map(Value, template.types))
                if not self._name_results(names, template.counts, results):
                    return
            elif names[0] in values:
                return
            else:
                values[names[0]] = result = Value(template.types[0])
                results = [result]
            first = start + line.index("=") + 2 if template.counts else start
            span = _tuple(Span, (first, start + len(line)))
            attributes = template.attributes
            if template.symbol is not None:
                attributes = attributes | {"symbol": Symbol(names[template.symbol])}
            region.operations.append(Operation(template.name, operands, results, attributes, (), location, span))
            cursor.position = end
            start = end + 1

    def _open(self, region: Region, template: Template, operands: list[Value], parts: list[str], start: int) -> None:
        """Read an operation whose line is like that of a template, and the regions that it opens."""
        cursor, names, attributes = self.cursor, parts[1::2], template.attributes
        *places, end = accumulate(map(len, parts), initial=start)
        arguments: list[Argument] = []
        for place, value in template.arguments or ():
            at, name = places[2 * place + 1], names[place]
            span = value.span and Span(at, at + len(name) + value.span.end - value.span.start - len(value.name))
            arguments.append(Argument(value.type, name, None, value.attributes, span))
        if template.symbol is not None:
            attributes = attributes | {"sym_name": names[template.symbol]}
        first = self.text.index("=", start) + 2 if template.counts else start
        span = Span(first, first + len(template.name))
        cursor.position = end - parts[-1].endswith("{")
        regions = _OPENED[template.name](self, arguments)
        results = list(map(Value, template.types))
        made = Operation(template.name, operands, results, attributes, regions, self._location(), span)
        self._add(region, made, names, template.counts, start)

    def _add(self, region: Region, made: Operation, names: Sequence[str], counts: Sequence[int], start: int) -> None:
        """Put an operation, whose results have these names, behind the others of a region."""
        if not self._name_results(names, counts, made.results):
            raise self.cursor.error("XP114", f"there are two values {quote(names[0])}", start, made.span.start)
        region.operations.append(made)

    def _name_results(self, names: Sequence[str], counts: Sequence[int], results: Sequence[Value]) -> bool:
        """Give results their names; False where one is taken. The name of several is that of the first, too."""
        values, number = self._values, 0
        for name, count in zip(names, counts, strict=False):
            if name in values:
                return False
            if count:
                values[name] = results[number]
            if count != 1:
                values.update((f"{name}#{k}", results[number + k]) for k in range(count))
            number += count
        return True

    def _statement(self, region: Region) -> None:
        cursor = self.cursor
        start = cursor.skip()
        found = cursor.match(_RESULTS)
        names: list[str] = []
        counts: list[int] = []
        for result in _RESULT.finditer(found.group()) if found is not None else ():
            names.append(result[1])
            counts.append(int(result[2]) if result[2] is not None else 1)
        first = cursor.skip()
        is_generic = cursor.looking_at('"')
        name = string(cursor) if is_generic else cursor.expect_match(_OPERATION, "an operation")
        name = _full_name(name)
        made = _Statement(name, Span(first, cursor.position), names, tuple(counts), [], {}, [])
        if is_generic:
            self._generic(made)
        else:
            (_FORMS.get(name) or TextReader._plain)(self, made)
        location = self._location(made)
        self._finish(region, made, location, start)

    def _finish(self, region: Region, made: _Statement, location: Any, start: int) -> None:
        types = self._result_types(made)
        operands = [self._values[made.names[place]] for place in made.places]
        results = list(map(Value, types))
        operation = Operation(made.name, operands, results, made.attributes, made.regions, location, made.span)
        self._add(region, operation, made.names, made.counts, start)
        self._keep(made, start, types, has_location=location is not None)

    def _keep(self, made: _Statement, start: int, types: Sequence[Type], *, has_location: bool) -> None:
        """Keep the line of an operation as a template; the regions that it opens are no part of that."""
        end = made.head if made.regions else self.cursor.position
        line = self.text[start:end].rstrip() if end is not None else "\n"  # looking for a location passes space
        if "\n" in line or len(line) > LONGEST:
            return
        order, arguments, count = tuple(made.places), None, sum(map(width, made.types))
        if made.regions:
            if not _END_OF_LINE.match(self.text, start + len(line)):
                return
            arguments = made.arguments
        elif has_location:
            line = line.rpartition(" loc(")[0] or line
        attributes, has_kind = made.attributes, not made.regions and _FORMS.get(made.name) is not TextReader._constant
        template = Template(made.name, made.counts, order, made.symbol, attributes, tuple(types), arguments)
        self._templates.keep(line, made.names, template, count if has_kind else None)

    def _result_types(self, made: _Statement) -> Sequence[Type]:
        """The types of the results, of which there must be as many as are named; those without a name have one, too."""
        count, types = sum(made.counts), made.types
        if len(types) == 1 and isinstance(types[0], FunctionType) and made.name != "func.constant":
            types = types[0].results
        elif count == 1 and types:
            types = types[-1:]  # of a select the last one is the result's
        elif not made.counts:
            return ()
        if made.counts and len(types) != count:
            message = f"{len(types)} types are given for {count} results of {quote(made.name)}"
            raise self.cursor.error("XP141", message, *made.span)
        return types

    def _location(self, made: _Statement | None = None) -> Any:
        cursor = self.cursor
        if not cursor.looking_at("loc"):
            return None
        alias = cursor.match(_LOCATION_ALIAS)
        if alias is not None:
            return alias[1]
        if not cursor.match(_LOCATION):
            return None
        return balanced(cursor)[1:-1]

    # -- values

    def _operand(self, made: _Statement) -> None:
        """The value that comes next, as an operand."""
        cursor = self.cursor
        start = cursor.skip()
        name = cursor.expect_match(VALUE, "a value")
        if name not in self._values:
            name = name.removesuffix("#0")  # the first is the only one
        if name not in self._values:
            self._undefined(name, start)
        made.places.append(len(made.names))
        made.names.append(name)

    def _undefined(self, name: str, start: int) -> NoReturn:
        cursor = self.cursor
        hint = did_you_mean(name, self._values)
        raise cursor.error("XP112", f"there is no value {quote(name)} here", start, cursor.position, hint)

    def _operands(self, made: _Statement, closing: str) -> None:
        """Values with commas between them, and what closes them."""
        cursor = self.cursor
        is_first = True
        while not cursor.accept(closing):
            if not is_first:
                cursor.expect(",", "between operands")
            is_first = False
            self._operand(made)

    # -- forms

    def _generic(self, made: _Statement) -> None:
        """``"name"(%a, %b) <{properties}> ({region}) {attributes} : (types) -> types``."""
        cursor = self.cursor
        cursor.expect("(", "before the operands")
        self._operands(made, ")")
        if cursor.looking_at("["):
            balanced(cursor)
        if cursor.looking_at("<{"):
            made.attributes.update(self.attributes.properties())
        if cursor.accept("("):
            is_isolated = made.name in _ISOLATED
            while not cursor.accept(")"):
                if made.regions:
                    cursor.expect(",", "between regions")
                made.regions.append(self._region(is_isolated=is_isolated))
        if cursor.looking_at("{"):
            made.attributes.update(self.attributes.dictionary())
        cursor.expect(":", "before the types")
        made.types = (parse_type(cursor),)
        rows = made.attributes.get("arg_attrs")
        if made.regions and isinstance(rows, tuple):
            for argument, row in zip(made.regions[0].arguments, rows, strict=False):
                argument.attributes = row if isinstance(row, dict) else None

    def _plain(self, made: _Statement) -> None:
        """Operands, words, ``key = value`` and attributes up to a colon, and types; regions may follow."""
        cursor, text = self.cursor, self.text
        attributes = made.attributes
        words: list[Any] = []
        line_end, first = text.find("\n", made.span.end), ""
        line_end = line_end if line_end >= 0 else len(text)
        while True:
            at = cursor.skip()
            before, first = first, text[at : at + 1]
            if first == "%":
                if at > line_end and before != "," and _RESULTS.match(text, at):
                    break
                self._operand(made)
            elif first == "," or first == "(" or first == ")":
                cursor.position = at + 1
            elif first == "@":
                name = cursor.expect_match(SYMBOL, "a symbol")
                attributes["symbol"] = Symbol(symbol_name(name))
                if made.name == "func.call":
                    made.symbol = len(made.names)
                    made.names.append(name[1:])
            elif first == '"':
                if at > line_end:
                    break
                words.append(string(cursor))
            elif first == "{" and _BLOCKS.match(text, at):
                made.regions.append(self._region())
            elif first == "{":
                attributes.update(self.attributes.dictionary())
            elif first == "<":
                self._angles(made)
            elif first == "[":
                words.append(self._bracket())
            elif first.isdecimal() or first == "-" or first == "#":
                words.append(self.attributes.read(has_type=False))
            elif first == ":":
                cursor.position = at + 1
                made.types = self._types()
                break
            elif at > line_end or (word := NAME.match(text, at)) is None or _LOCATION.match(text, at):
                break
            else:
                self._word(made, word, words)
        if words:
            attributes["words"] = tuple(words)
        while cursor.looking_at("{") and made.types:
            made.regions.append(self._region())

    def _types(self) -> tuple[Type, ...]:
        """``a, b``, or ``(a, b) -> c``, or ``a -> b``: what the results are comes last."""
        cursor = self.cursor
        types = parse_types(cursor)
        if not cursor.accept("->"):
            return types
        if cursor.accept("("):
            results = parse_types(cursor)
            cursor.expect(")", "to close the types")
            return (FunctionType(types, results),)
        return (FunctionType(types, (parse_type(cursor),)),)

    def _word(self, made: _Statement, name: re.Match[str], words: list[Any]) -> None:
        cursor = self.cursor
        cursor.position = name.end()
        if not cursor.accept("="):
            words.append(name.group())
            return
        key = name.group().strip('"')
        labels = _LABELS.match(cursor.text, cursor.skip()) if key == "dim_numbers" else None
        if labels is not None:
            cursor.position = labels.end()
            made.attributes[key] = convolution_labels(labels.group())
            return
        value = self.attributes.read(has_type=False)
        made.attributes[key] = (value, self.attributes.read()) if cursor.match(_KEY_PAIR) else value

    def _angles(self, made: _Statement) -> None:
        if self.cursor.looking_at("<{"):
            made.attributes.update(self.attributes.properties())
        else:
            made.attributes["angles"] = self.attributes.in_angles()

    def _bracket(self) -> Any:
        """``[0:6, 1:6:2]``, or a list."""
        cursor = self.cursor
        found = _SLICES.match(cursor.text, cursor.skip())
        if found is None or ":" not in found[1]:
            return self.attributes.read()
        cursor.position = found.end()
        return tuple((int(a), int(b), int(c or 1)) for a, b, c in _SLICE.findall(found[1]))

    def _constant(self, made: _Statement) -> None:
        """``stablehlo.constant {attributes} dense<1.0> : tensor<f32>``."""
        cursor = self.cursor
        if cursor.looking_at("{"):
            made.attributes.update(self.attributes.dictionary())
        start = cursor.skip()
        made.attributes["value"] = self.attributes.read()
        text = cursor.text[start : cursor.position]
        colon = text.rfind(":")
        position, cursor.position = cursor.position, start + colon + 1
        if colon < 0:
            cursor.position = position
            cursor.expect(":", "before the type of the constant")
        made.types = (parse_type(cursor),)

    def _while(self, made: _Statement) -> None:
        """``stablehlo.while(%a = %b, ..) : types attributes {..} cond {..} do {..}``."""
        cursor = self.cursor
        cursor.expect("(", "before what the loop carries")
        names: list[tuple[str, Any]] = []
        while not cursor.accept(")"):
            if names:
                cursor.expect(",", "between what the loop carries")
            name = cursor.expect_match(_VALUE_NAME, "a value of the loop")
            cursor.expect("=", "before the first value")
            made.names.append(name)
            self._operand(made)
            names.append((name, self._location()))
        if cursor.accept(":"):
            made.types = parse_types(cursor)
        if len(made.types) != len(names):
            message = f"{len(made.types)} types are given for {len(names)} values"
            raise cursor.error("XP141", message, *made.span)
        if not made.counts and names:
            made.counts = ()
        if self._accept_word("attributes"):
            made.attributes.update(self.attributes.dictionary())
        arguments = [Argument(type_, name, location) for type_, (name, location) in zip(made.types, names, strict=True)]
        if all(location is None for _, location in names):
            made.head = cursor.position
            made.arguments = [(place - 1, value) for place, value in zip(made.places, arguments, strict=True)]
        made.regions += self._bodies(arguments)

    def _bodies(self, arguments: Sequence[Argument]) -> list[Region]:
        """The regions of a loop, ``cond {..} do {..}``, which take the same."""
        regions: list[Region] = []
        for word in ("cond", "do"):
            if not self._accept_word(word):
                self.cursor.unexpected(f"`{word}`")
            regions.append(self._region([Argument(each.type, each.name, each.location) for each in arguments]))
        return regions

    def _accept_word(self, word: str) -> bool:
        found = NAME.match(self.text, self.cursor.position) if self.cursor.looking_at(word) else None
        if found is None or found.group() != word:
            return False
        self.cursor.position = found.end()
        return True

    def _reduce(self, made: _Statement) -> None:
        """``stablehlo.reduce(%a init: %b), .. applies stablehlo.add across dimensions = [0] : types``, or a reducer."""
        cursor = self.cursor
        pairs: list[int] = []
        while cursor.accept("("):
            self._operand(made)
            if not self._accept_word("init"):
                cursor.unexpected("`init:`")
            cursor.expect(":")
            self._operand(made)
            cursor.expect(")")
            pairs += made.places[-2:]
            cursor.accept(",")
        made.places[:] = [*pairs[::2], *pairs[1::2]]
        if self._accept_word("applies"):
            made.attributes["applies"] = _full_name(cursor.expect_match(_OPERATION, "an operation"))
        if not self._accept_word("across"):
            cursor.unexpected("`across`")
        self._plain_rest(made)
        if self._accept_word("reducer"):
            self._reducer(made, len(pairs) // 2)

    def _scan(self, made: _Statement) -> None:
        """``chlo.scan(%a, ..) inits (%b, ..) dimension = 0 attributes {..} {region} : types``."""
        cursor = self.cursor
        cursor.expect("(", "before the inputs")
        self._operands(made, ")")
        inputs = len(made.places)
        if not self._accept_word("inits"):
            cursor.unexpected("`inits`")
        cursor.expect("(", "before the first carries")
        self._operands(made, ")")
        made.attributes["operandSegmentSizes"] = (inputs, len(made.places) - inputs)
        self._plain_rest(made)

    def _plain_rest(self, made: _Statement) -> None:
        places = list(made.places)
        self._plain(made)
        made.places[:] = places

    def _reducer(self, made: _Statement, count: int) -> None:
        """``(%a: type, %b: type) (..) {..}``: in the region all left ones come first."""
        cursor = self.cursor
        pairs: list[Argument] = []
        while cursor.accept("("):
            for k in range(2):
                if k:
                    cursor.expect(",", "between the two sides")
                pairs.append(self._argument(has_attributes=True))
            cursor.expect(")")
        made.regions.append(self._region([*pairs[::2], *pairs[1::2]]))

    def _function(self, made: _Statement) -> None:
        """``func.func private @name(%a: type {..}) -> (type {..}) attributes {..} {..}``."""
        cursor = self.cursor
        visibility = next((word for word in ("public", "private", "nested") if self._accept_word(word)), None)
        if visibility is not None:
            made.attributes["sym_visibility"] = visibility
        name = cursor.expect_match(SYMBOL, "the name of the function")
        made.attributes["sym_name"] = symbol_name(name)
        cursor.expect("(", "before the arguments")
        arguments: list[Argument] = []
        is_declared = False
        while not cursor.accept(")"):
            if arguments:
                cursor.expect(",", "between arguments")
            is_declared = not cursor.looking_at("%")
            arguments.append(Argument(parse_type(cursor)) if is_declared else self._argument(has_attributes=True))
            if is_declared and cursor.looking_at("{"):
                self.attributes.dictionary()
        results, made.attributes["res_attrs"] = self._results() if cursor.accept("->") else ((), ())
        made.attributes["function_type"] = FunctionType(tuple(each.type for each in arguments), results)
        if self._accept_word("attributes"):
            made.attributes.update(self.attributes.dictionary())
        if cursor.looking_at("{"):
            if all(each.location is None for each in arguments):
                made.head, made.symbol = cursor.position + 1, 0
                made.names = [name[1:], *(each.name for each in arguments)]
                made.arguments = list(enumerate(arguments, 1))
            made.regions += self._body(arguments)

    def _body(self, arguments: Sequence[Argument]) -> list[Region]:
        return [self._region(arguments, is_isolated=True)]

    def _results(self) -> tuple[tuple[Type, ...], tuple[dict[str, Any], ...]]:
        cursor = self.cursor
        if not cursor.accept("("):
            return (parse_type(cursor),), ({},)
        types: list[Type] = []
        attributes: list[dict[str, Any]] = []
        while not cursor.accept(")"):
            if types:
                cursor.expect(",", "between results")
            types.append(parse_type(cursor))
            attributes.append(self.attributes.dictionary() if cursor.looking_at("{") else {})
            self._location()
        return tuple(types), tuple(attributes)

    def _module(self, made: _Statement) -> None:
        """``module @name attributes {..} {..}``."""
        cursor = self.cursor
        if cursor.looking_at("@"):
            made.attributes["sym_name"] = symbol_name(cursor.expect_match(SYMBOL, "the name of the module"))
        if self._accept_word("attributes"):
            made.attributes.update(self.attributes.dictionary())
        made.regions.append(self._region(is_isolated=True))

    def _mesh(self, made: _Statement) -> None:
        """``sdy.mesh @mesh = <["x"=2]>``."""
        cursor = self.cursor
        made.attributes["sym_name"] = symbol_name(cursor.expect_match(SYMBOL, "the name of the mesh"))
        cursor.expect("=")
        made.attributes["mesh"] = Unread(f"#sdy.mesh{balanced(cursor)}")
        if cursor.looking_at("{"):
            made.attributes.update(self.attributes.dictionary())

    def _manual_computation(self, made: _Statement) -> None:
        """``sdy.manual_computation(%a) in_shardings=[..] out_shardings=[..] manual_axes={..} (%b: t) {..} : t``."""
        cursor = self.cursor
        cursor.expect("(", "before the operands")
        self._operands(made, ")")
        for key in ("in_shardings", "out_shardings", "manual_axes"):
            if not self._accept_word(key):
                cursor.unexpected(f"`{key}`")
            cursor.expect("=")
            made.attributes[key] = Unread(balanced(cursor))
        arguments: list[Argument] = []
        if cursor.accept("("):
            while not cursor.accept(")"):
                if arguments:
                    cursor.expect(",", "between arguments")
                arguments.append(self._argument(has_attributes=True))
        made.regions.append(self._region(arguments))
        if cursor.looking_at("{"):
            made.attributes.update(self.attributes.dictionary())
        cursor.expect(":", "before the types")
        made.types = (parse_type(cursor),)


def _full_name(name: str) -> str:
    """The name of an operation with its dialect; MHLO is what StableHLO was before it had that name."""
    dialect, _, own = name.partition(".")
    return f"stablehlo.{own}" if dialect == "mhlo" else _FULL_NAMES.get(name, name)


_FULL_NAMES = {"module": "builtin.module", "call": "func.call", "return": "func.return", "func": "func.func"}
_ISOLATED = frozenset(("func.func", "builtin.module"))
_OPENED: dict[str, Callable[[TextReader, Sequence[Argument]], list[Region]]] = {
    "stablehlo.while": TextReader._bodies,
    "func.func": TextReader._body,
}
_FORMS: dict[str, Callable[[TextReader, _Statement], None]] = {
    "builtin.module": TextReader._module,
    "func.func": TextReader._function,
    "sdy.mesh": TextReader._mesh,
    "sdy.manual_computation": TextReader._manual_computation,
    "stablehlo.constant": TextReader._constant,
    "chlo.constant": TextReader._constant,
    "stablehlo.while": TextReader._while,
    "chlo.scan": TextReader._scan,
    "stablehlo.reduce": TextReader._reduce,
}
