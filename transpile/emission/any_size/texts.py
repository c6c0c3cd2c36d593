"""The unification of the texts of one program at several sizes: one text, in which sizes have names.

The texts must be the same but for numbers. Each number that differs becomes an expression of the sizes, which a
function reads from the shapes of its arguments.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import count, zip_longest
from typing import NoReturn

from ...dataclass import dataclass
from ...errors import Diagnostic, UnsupportedError
from ...frontends.witnesses import Sizes
from ..expression import Renderer
from .block_calls import Insertion, handed
from .expressions import ATOM, FEWEST, Doubt, SizeExpression, integer_expression, literal_expression
from .kernel_strings import Language, declaration, kernel_in_common
from .places import (
    apart,
    bodies_begin,
    closing_bracket,
    is_comment_line,
    is_docstring,
    is_in_signature,
    kind_of,
    needed_level,
    without_long_place,
)
from .signs import join_signs

Shapes = Mapping[str, Sequence[Sequence[int | None]]]  # of the arguments of a function, in each of the texts

_SKIPPED = frozenset((tokenize.NL, tokenize.COMMENT))
_NUMBERS = re.compile(r"\d+")
_ALL = "-1"  # elements, in a row
_LEFT_OUT = "#"  # a comment


@dataclass(slots=True)
class _Function:
    """A function of the text: what names are taken in it, what it calls the sizes, and those that it needs."""

    name: str
    taken: set[str]
    shapes: Shapes
    line: int
    at: int  # its first token
    is_declared: bool = False  # a kernel whose text is a string: it is handed all sizes
    local: dict[str, str] = field(default_factory=dict)
    needed: dict[str, None] = field(default_factory=dict)

    def call(self, size: str) -> str:
        if size not in self.local:
            names = (size.lower(), f"{size.lower()}_size", *(f"{size.lower()}_size_{k}" for k in range(2, 9)))
            self.local[size] = next(name for name in names if name not in self.taken)
        return self.local[size]


@dataclass(frozen=True, slots=True)
class _Edit:
    """The place of a token, line and columns, and what stands there instead."""

    line: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Common:
    """The text that several have in common, how many must show what it says, and the doubts about it, one of a size."""

    text: str
    needed: int = FEWEST
    doubts: tuple[Doubt, ...] = ()


def in_common(
    texts: Sequence[str],
    sizes: Sizes,
    shapes: Mapping[str, Shapes],
    labels: Sequence[str],
    renderer: Renderer,
    language: Language | None = None,
) -> Common:
    """The text that is each of ``texts`` at its sizes.

    ``sizes`` has a number for each text, ``shapes`` those of the arguments of each function by name. ``labels`` say
    in errors what the texts are, ``language`` is that of kernels which are strings. Raises ``UnsupportedError``
    (XP424) at the first place that differs in more than numbers, or in numbers that no expression gives.
    """
    heads, rest = apart(texts, shapes)
    reader = _Reader(heads, sizes, shapes, labels, renderer, language)
    return Common(reader.text() + rest, reader.needed, tuple(reader.doubts.values()))


class _Reader:
    def __init__(
        self,
        texts: Sequence[str],
        sizes: Sizes,
        shapes: Mapping[str, Shapes],
        labels: Sequence[str],
        renderer: Renderer,
        language: Language | None,
    ) -> None:
        self.renderer = renderer
        self.language = language
        self.texts, self.sizes, self.labels = texts, sizes, labels
        self.tokens = [list(tokenize.generate_tokens(io.StringIO(text).readline)) for text in texts]
        self.shapes = shapes
        self.edits: list[_Edit] = []
        self.functions: list[_Function] = []
        self.needed = FEWEST  # texts
        self.doubts: dict[str, Doubt] = {}  # by size
        self.integers: dict[tuple[object, ...], SizeExpression | None] = {}

    def text(self) -> str:
        plain = [[token for token in tokens if token.type not in _SKIPPED] for tokens in self.tokens]
        for at in count():
            if (minus := join_signs(plain, at)) is not None:
                self._edit(minus, "+")
            row = [tokens[at] for tokens in plain if at < len(tokens)]
            if len(row) < len(plain):
                break
            if len({(token.type, kind_of(token)) for token in row}) > 1:
                self._refuse(row)
            if (first := row[0]).type == tokenize.NAME and first.string == "def" and first.start[1] == 0:
                self._begin(plain[0], at)
            elif self._is_declaration(plain[0], at):
                self._begin_declaration(plain[0], at)
            if len({token.string for token in row}) == 1:
                continue
            if first.type == tokenize.NUMBER:
                self._number(row, plain[0][at - 2 : at], plain[0][at + 1])
            elif first.type == tokenize.STRING and is_docstring(first):
                self._edit(first, self._described(row))
            elif first.type == tokenize.STRING and is_in_signature(plain[0], at):
                self._edit(first, self._described(row, are_names=True))
            elif first.type == tokenize.STRING and self.functions and self.functions[-1].is_declared:
                self._kernel(row)
            else:
                self._refuse(row)
        if len({len(tokens) for tokens in plain}) > 1:
            self._refuse([tokens[-1] for tokens in plain])
        self._read_comments()
        self._hand_sizes(plain[0])
        return self._edited()

    # -- places

    def _begin(self, tokens: Sequence[tokenize.TokenInfo], at: int) -> None:
        """A function begins: the names in it are taken."""
        name = tokens[at + 1].string
        inside: set[str] = set()
        for token in tokens[at + 2 :]:
            if token.start[1] == 0 and token.type == tokenize.NAME:
                break
            if token.type == tokenize.NAME:
                inside.add(token.string)
        self.functions.append(_Function(name, inside, self.shapes.get(name, {}), tokens[at].start[0], at))

    def _is_declaration(self, tokens: Sequence[tokenize.TokenInfo], at: int) -> bool:
        """Tell whether a kernel is declared, whose text is a string."""
        first = tokens[at]
        is_known = self.language is not None and first.string in self.shapes
        return is_known and first.start[1] == 0 and tokens[at + 1].string == "="

    def _begin_declaration(self, tokens: Sequence[tokenize.TokenInfo], at: int) -> None:
        """A kernel begins: words of its language and of its text are taken."""
        assert self.language is not None
        end = closing_bracket(tokens, next(k for k in range(at, len(tokens)) if tokens[k].string == "("))
        strings = (token.string for token in tokens[at:end] if token.type == tokenize.STRING)
        inside = {*self.language.reserved, *re.findall(r"[^\W\d]\w*", "\n".join(strings))}
        name = tokens[at].string
        self.functions.append(_Function(name, inside, {}, tokens[at].start[0], at, is_declared=True))

    # -- what differs

    def _number(
        self, row: Sequence[tokenize.TokenInfo], before: Sequence[tokenize.TokenInfo], after: tokenize.TokenInfo
    ) -> None:
        """A number differs; ``before`` are the two tokens before it."""
        function = self.functions[-1] if self.functions else None
        if function is None or function.name not in self.shapes:
            self._refuse(row)
        if [*(token.string for token in before), after.string] == ["reshape", "(", ")"]:
            self._edit(row[0], _ALL)
            return
        names = {size: function.call(size) for size in self.sizes}
        local = {names[size]: values for size, values in self.sizes.items()}
        found = literal_expression([token.string for token in row], local, partial(self._integer, sizes=local))
        if found is None:
            self._refuse(row)
        text = found.within(needed_level(before[0].string, before[1].string, after.string))
        self._edit(row[0], text)
        words = set(re.findall(r"[^\W\d]\w*", text))
        function.needed.update((size, None) for size, name in names.items() if name in words)

    def _kernel(self, row: Sequence[tokenize.TokenInfo]) -> None:
        """The string of a kernel differs."""
        assert self.language is not None
        function = self.functions[-1]
        names = {size: function.call(size) for size in self.sizes}
        local = {names[size]: values for size, values in self.sizes.items()}
        texts = [token.string.split("\n") for token in row]
        written = []
        for lines in zip_longest(*texts, fillvalue=""):
            text = kernel_in_common(
                lines, local, lambda values: self._integer(values, local), self.language, needed_level
            )
            if text is None:
                self._refuse(row, lines)
            written.append(text)
        self._edit(row[0], "\n".join(written))
        words = set(re.findall(r"[^\W\d]\w*", "\n".join(written)))
        function.needed.update((size, None) for size, name in names.items() if name in words)

    def _integer(
        self, values: tuple[int, ...], sizes: Sizes, dtype: Callable[[int], object] = int
    ) -> SizeExpression | None:
        """The expression of the sizes that has these values as numbers of a ``dtype``, looked for once."""
        key = (values, dtype, *sizes)
        if key not in self.integers:
            self.integers[key] = found = integer_expression(values, sizes, dtype)
            self.needed = max(self.needed, found.texts if found is not None else FEWEST)
            if found is not None and found.doubt is not None:
                name, number = found.doubt
                size = list(self.sizes)[list(sizes).index(name)]
                self.doubts[size] = Doubt(size, number, found.text)
        return self.integers[key]

    def _described(
        self, row: Sequence[tokenize.TokenInfo], sizes: Sizes | None = None, *, are_names: bool = False
    ) -> str:
        """A string in which numbers are said by sizes: where they ``are_names``, by these alone."""
        strings = [token.string for token in row]
        skeletons = [_NUMBERS.sub("#", string) for string in strings]
        if len({" ".join(skeleton.split()) for skeleton in skeletons}) > 1:  # lines may be broken elsewhere
            self._refuse(row)
        parts = []
        for values in zip(*(map(int, _NUMBERS.findall(string)) for string in strings), strict=True):
            found = self._integer(values, sizes or self.sizes)
            if found is None:
                self._refuse(row)
            if are_names and found.level != ATOM:
                message = f"an argument has an axis of size {found.text}, which needs a name of its own"
                raise UnsupportedError(Diagnostic("XP424", message))
            parts.append(found.text)
        texts = iter(parts)
        return _NUMBERS.sub(lambda _: next(texts), strings[0])

    def _refuse(self, row: Sequence[tokenize.TokenInfo], of_kernel: Sequence[str] = ()) -> NoReturn:
        """Raise ``UnsupportedError`` for what differs: the lines of ``row``, or those of a kernel among them."""
        own = of_kernel or [token.line for token in row]
        lines = dict(zip((line.strip() for line in own), self.labels, strict=True))
        shown = ", ".join(f"`{line}` at {label}" for line, label in list(lines.items())[:2])
        raise UnsupportedError(Diagnostic("XP424", f"the text is not the same at all sizes: {shown}"))

    def _read_comments(self) -> None:
        """Have comments on lines of their own in functions say sizes by name; those that cannot are left out."""
        rows = [[token for token in tokens if is_comment_line(token)] for tokens in self.tokens]
        alike = len(set(map(len, rows))) == 1
        for row in zip(*rows, strict=True) if alike else ():
            if len({token.string for token in row}) > 1:
                function = next(each for each in reversed(self.functions) if each.line < row[0].start[0])
                local = {function.call(size): values for size, values in self.sizes.items()}
                try:
                    self._edit(row[0], self._described(row, local))
                except UnsupportedError:
                    self._edit(row[0], _LEFT_OUT)

    def _hand_sizes(self, tokens: Sequence[tokenize.TokenInfo]) -> None:
        """Give functions other than the last the sizes that none of their arguments has: those that call them do."""
        for function in self.functions:
            if function.is_declared:
                self._hand_to_kernel(function, tokens)
                continue
            known = {size for shapes in function.shapes.values() for size in self._named_axes(shapes)}
            missing = [size for size in function.needed if size not in known]
            places = [at for at, token in enumerate(tokens) if token.string == function.name]
            if not missing or len(places) < 2:
                continue
            insertions: list[Insertion] = []
            for at in places:
                caller = next(each for each in reversed(self.functions) if each.at < at)
                names = [caller.call(size) for size in missing]
                if caller is function:
                    is_typed = tokens[closing_bracket(tokens, at + 1) + 1].string == "->"
                    names = [f"{name}: int" if is_typed else name for name in names]
                found = handed(tokens, at, names)
                if found is None:
                    break
                insertions += found
            else:
                self._hand(function, missing, places, insertions)

    def _hand_to_kernel(self, kernel: _Function, tokens: Sequence[tokenize.TokenInfo]) -> None:
        """Have the calls of a kernel give it sizes before anything else."""
        for at, token in enumerate(tokens):
            if token.string == kernel.name and at != kernel.at:
                caller = next(each for each in reversed(self.functions) if each.at < at)
                caller.needed.update(kernel.needed)
                names = ", ".join(caller.call(size) for size in self._needed(kernel))
                line, column = tokens[at + 1].end
                comma = ", " if names and tokens[at + 2].string != ")" else ""
                self.edits.append(_Edit(line, column, column, names + comma))

    def _needed(self, kernel: _Function) -> list[str]:
        """The sizes that a kernel is handed, in the order of the signature."""
        return [size for size in self.sizes if size in kernel.needed]

    def _hand(
        self, function: _Function, missing: Sequence[str], places: Sequence[int], insertions: Sequence[Insertion]
    ) -> None:
        """Have those that call a function at some places give it the sizes."""
        for at in places:
            caller = next(each for each in reversed(self.functions) if each.at < at)
            if caller is not function:
                caller.needed.update(dict.fromkeys(missing))
        self.edits += (_Edit(line, column, column, text) for (line, column), text in insertions)
        for size in missing:
            del function.needed[size]

    # -- the text

    def _edit(self, token: tokenize.TokenInfo, text: str) -> None:
        if token.start[0] == token.end[0]:
            self.edits.append(_Edit(token.start[0], token.start[1], token.end[1], text))
        else:
            for line, part in zip(count(token.start[0]), text.split("\n"), strict=False):
                start = token.start[1] if line == token.start[0] else 0
                end = token.end[1] if line == token.end[0] else len(self._line(line))
                self.edits.append(_Edit(line, start, end, part))

    def _line(self, number: int) -> str:
        return self.texts[0].split("\n")[number - 1]

    def _edited(self) -> str:
        lines: list[str] = self.texts[0].split("\n")
        for edit in sorted(self.edits, key=lambda edit: (edit.line, edit.start), reverse=True):
            line = lines[edit.line - 1]
            lines[edit.line - 1] = line[: edit.start] + edit.text + line[edit.end :]
        ends = [*(each.line for each in self.functions[1:]), len(lines) + 1]
        for function, end in reversed(list(zip(self.functions, ends, strict=True))):
            if function.is_declared:
                own = slice(function.line - 1, end - 1)
                needed = [function.local[size] for size in self._needed(function)]
                lines[own] = declaration(lines[own], needed, self.renderer.layout)
        reading = {each.name: each for each in self.functions if each.needed and not each.is_declared}
        for name, at in bodies_begin(lines) if reading else ():
            if name in reading:
                lines[at:at] = [f"    {binding}" for binding in self._bindings(reading[name])]
        return "\n".join(without_long_place(line, self.renderer.layout) for line in lines if line.strip() != _LEFT_OUT)

    def _bindings(self, function: _Function) -> Iterator[str]:
        """The lines that read the sizes from the arguments, the fewest that do."""
        missing = dict(function.needed)
        while missing:
            rows = {argument: self._named_axes(shapes) for argument, shapes in function.shapes.items()}
            argument = max(rows, key=lambda name: len({size for size in rows[name] if size in missing}), default="")
            axes = {size: axis for axis, size in reversed(list(enumerate(rows.get(argument, [])))) if size in missing}
            if not axes:
                size = next(iter(missing))
                message = f"no argument of {function.name} has an axis of size {size}, which it computes with"
                raise UnsupportedError(Diagnostic("XP424", message))
            yield self._binding(function, argument, axes, len(rows[argument]))
            for size in axes:
                del missing[size]

    def _named_axes(self, shapes: Sequence[Sequence[int | None]]) -> list[str | None]:
        """The free size that each axis of an argument has, where it is one itself."""
        columns = list(zip(*shapes, strict=True))
        return [next((size for size, own in self.sizes.items() if tuple(own) == column), None) for column in columns]

    def _binding(self, function: _Function, argument: str, axes: Mapping[str, int], rank: int) -> str:
        if len(axes) == 1:
            ((size, axis),) = axes.items()
            return self.renderer.statement("size_of", function.call(size), argument, axis)
        last = max(axes.values())
        by_axis = {axis: function.call(size) for size, axis in axes.items()}
        names = [by_axis.get(axis, "_") for axis in range(last + 1)]
        return self.renderer.statement("sizes_of", names, argument, len(names) == rank)
