"""The unification of the texts of one program at several sizes: one text in which sizes have names.

The syntax trees must be the same except for numbers. Each number that differs becomes an expression of the sizes. A
function reads these from the shapes of its arguments, or gets them from its callers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from itertools import zip_longest
from keyword import kwlist
from typing import Any, NoReturn, TypeGuard

from ...dataclass import dataclass
from ...errors import Diagnostic, UnsupportedError
from ...frontends.signatures import shown_sizes
from ...frontends.witnesses import Sizes
from ...python.grammar import ANYWHERE, ATOM, Place, places
from ...python.modules import Edit, ModuleText
from ...python.names import names_of
from ..expression import Renderer
from .expressions import FEWEST, Doubt, SizeExpression, integer_expression, literal_expression
from .kernel_strings import Language, declaration, kernel_in_common, words_of

Shapes = Mapping[str, Sequence[Sequence[int | None]]]  # by argument of a function: its shape in each text
Row = Sequence[Any]  # one node per tree, all at the same place

_NUMBERS = re.compile(r"\d+")
_PLACE = re.compile(r"  # \S+:\d+$")
SIGNATURE = "SIGNATURE"
_ALL = "-1"  # the argument of ``reshape`` for a flat array
_CHECKS = ("check_sizes", "check_tree_sizes")
_CAST = "cast_"
_BY_ROWS, _IN_TURN = "Tiled", "Summed"


@dataclass(slots=True, eq=False)
class _Function:
    """A function of the text, or a kernel in a string: its local names of the sizes, and the sizes that it needs."""

    name: str
    node: ast.stmt
    taken: set[str]
    shapes: Shapes
    local: dict[str, str] = field(default_factory=dict)
    needed: dict[str, None] = field(default_factory=dict)

    @property
    def is_declared(self) -> bool:
        """Whether this is a kernel, which gets all its sizes from its callers."""
        return isinstance(self.node, ast.Assign)

    def call(self, size: str) -> str:
        if size not in self.local:
            names = (size.lower(), f"{size.lower()}_size", *(f"{size.lower()}_size_{k}" for k in range(2, 9)))
            self.local[size] = next(name for name in names if name not in self.taken)
        return self.local[size]


@dataclass(frozen=True, slots=True)
class Common:
    """The common text of several modules, the number of texts that must confirm it, and its doubts, one per size."""

    text: str
    needed: int = FEWEST
    doubts: tuple[Doubt, ...] = ()


@dataclass(eq=False)
class Unification:
    """The computation of the text that equals each of ``modules`` at its sizes.

    ``sizes`` has a number for each text, ``shapes`` has the shapes of the arguments of each function by name, and
    ``language`` is that of kernels in strings.
    """

    modules: Sequence[ModuleText]
    sizes: Sizes
    shapes: Mapping[str, Shapes]
    renderer: Renderer
    language: Language | None = None
    needed: int = FEWEST  # texts
    doubts: dict[str, Doubt] = field(default_factory=dict)  # size: doubt
    edits: list[Edit] = field(default_factory=list)  # of the first text
    integers: dict[tuple[object, ...], SizeExpression | None] = field(default_factory=dict)
    row: Row = ()  # the last nodes that have line numbers
    top: ast.AST | None = None  # the statement of the first text that contains them
    subtracted: set[ast.AST] = field(default_factory=set)  # subtracted numbers that become summands

    def common(self) -> Common:
        """Return the common text.

        Raises ``UnsupportedError`` (XP424) at the first place that differs in more than numbers, or in numbers that no
        expression has.
        """
        self._unify_each([module.tree.body for module in self.modules])
        for function in self.functions.values():
            self._hand_sizes(function)
        for function in self.functions.values():
            if function.is_declared:
                self._declare(function)
            elif function.needed:
                start = self.first.starts[self._first_row(function)]
                self.edits += ((start, start, f"    {binding}\n") for binding in self._bindings(function))
        lines = self.first.edited(self.edits).split("\n")
        longest = self.renderer.layout.line_length
        text = "\n".join(line if len(line) <= longest else _PLACE.sub("", line) for line in lines)
        return Common(text, self.needed, tuple(self.doubts.values()))

    @property
    def first(self) -> ModuleText:
        return self.modules[0]

    @cached_property
    def functions(self) -> dict[ast.AST, _Function]:
        """The functions of the text, and the kernels in strings, by their statements."""
        found: dict[ast.AST, _Function] = {}
        for node in self.first.tree.body:
            name = assigned(node)
            if isinstance(node, ast.FunctionDef):
                found[node] = _Function(node.name, node, _words(node), self.shapes.get(node.name, {}))
            elif self.language is not None and name in self.shapes:
                found[node] = _Function(name, node, words_of(self.first.of(node)) | self.language.reserved, {})
        return found

    # -- differences between the texts

    def _unify_each(self, rows: Sequence[Sequence[Any]], given: Mapping[ast.AST, Place] | None = None) -> None:
        """Unify the parts at the same index of several lists; ``given`` has the places of the first list's parts."""
        for row in zip(*rows, strict=False):
            self._unify(row, (given or {}).get(row[0], ANYWHERE))
        least = min(map(len, rows))
        if max(map(len, rows)) > least:
            self.row = [(*own[least : least + 1], node)[0] for own, node in zip(rows, self.row, strict=True)]
            self._refuse()

    def _unify(self, row: Row, place: Place = ANYWHERE) -> None:
        first = row[0]
        if not all(isinstance(node, ast.AST) for node in row):
            if len({*row}) > 1:
                self._refuse()
            return
        if hasattr(first, "lineno"):
            self.row = row
        if isinstance(first, ast.stmt) and not first.col_offset:
            self.top = first
        if isinstance(first, ast.stmt | ast.Constant | ast.JoinedStr) and len({*self._texts(row)}) == 1:
            return
        if _are_numbers(row):
            self._number(row, place)
        elif len({*map(type, row)}) > 1 or isinstance(first, ast.JoinedStr):
            self._refuse()
        elif isinstance(first, ast.Constant):
            self._string(row)
        else:
            given, are_signs = dict(places(first)), self._have_signs(row)
            for name in first._fields:
                parts = [getattr(node, name) for node in row]
                if isinstance(parts[0], list):
                    self._unify_each(parts, given)
                elif not (are_signs and name == "op"):
                    self._unify(parts, given.get(parts[0], ANYWHERE))
            if isinstance(first, ast.FunctionDef) and first in self.functions:
                self._unify_comments(row, self.functions[first])

    def _texts(self, row: Row) -> list[str]:
        """Return the texts of nodes; a number that becomes a summand includes its sign."""
        pairs = zip(self.modules, row, strict=True)
        return ["-" * (node in self.subtracted) + module.of(node) for module, node in pairs]

    def _have_signs(self, row: Row) -> bool:
        """Return whether a number is added in some texts and subtracted in others; if so, have all texts add it."""
        if not isinstance(row[0], ast.BinOp) or {type(node.op) for node in row} != {ast.Add, ast.Sub}:
            return False
        numbers = [_first_factor(node.right) for node in row]
        if not all(map(_is_literal, numbers)):
            return False
        self.subtracted.update(
            number for node, number in zip(row, numbers, strict=True) if isinstance(node.op, ast.Sub)
        )
        if numbers[0] in self.subtracted:
            begin = self.first.bytes.rindex(b"-", self.first.extent(row[0].left)[1], self.first.extent(numbers[0])[0])
            self.edits.append((begin, begin + 1, "+"))
        return True

    def _number(self, row: Row, place: Place) -> None:
        """Replace a number that differs, in value or sign, by an expression of the sizes."""
        function = self.functions.get(self.top or self.first.tree)
        if function is None or function.name not in self.shapes:
            self._refuse()
        parent = self.parents[row[0]]
        if isinstance(parent, ast.Call) and name_of(parent.func) == "reshape" and parent.args == [row[0]]:
            text = _ALL
        else:
            local = self._local(function)
            found = literal_expression(self._texts(row), local, partial(self._integer, sizes=local))
            if found is None:
                self._refuse()
            text = found.within(min(place))
            self._need(function, names_of(text).read)
        self.edits.append((*self.first.extent(row[0]), text))

    def _string(self, row: Row) -> None:
        """Unify strings that differ: the module's docstring, the signature, or a kernel."""
        function = self.functions.get(self.top or self.first.tree)
        if isinstance(self.top, ast.Expr):  # the docstring of the module
            text = self._described(self._texts(row), self.sizes)
        elif assigned(self.top) == SIGNATURE:
            text = self._described(self._texts(row), self.sizes, are_names=True)
        elif function is not None and function.is_declared:
            text = self._kernel(self._texts(row), function)
        else:
            self._refuse()
        self.edits.append((*self.first.extent(row[0]), text))

    def _kernel(self, texts: Sequence[str], function: _Function) -> str:
        """Return the unified string of a kernel, line by line."""
        assert self.language is not None
        local, written = self._local(function), []
        for lines in zip_longest(*(text.split("\n") for text in texts), fillvalue=""):
            text = kernel_in_common(lines, local, partial(self._integer, sizes=local), self.language)
            if text is None:
                self._refuse(lines)
            written.append(text)
        found = "\n".join(written)
        self._need(function, words_of(found))
        return found

    def _local(self, function: _Function) -> dict[str, Sequence[int]]:
        """Return the values of each size by its name in a function."""
        return {function.call(size): values for size, values in self.sizes.items()}

    def _need(self, function: _Function, names: Collection[str]) -> None:
        function.needed.update((size, None) for size in self.sizes if function.call(size) in names)

    def _integer(
        self, values: tuple[int, ...], sizes: Sizes, dtype: Callable[[int], object] = int
    ) -> SizeExpression | None:
        """Return the expression of the sizes that has these values as numbers of a ``dtype``, or None; it is cached."""
        key = (values, dtype, *sizes)
        if key not in self.integers:
            self.integers[key] = found = integer_expression(values, sizes, dtype)
            self.needed = max(self.needed, found.texts if found is not None else FEWEST)
            if found is not None and found.doubt is not None:
                name, number = found.doubt
                size = list(self.sizes)[list(sizes).index(name)]
                self.doubts[size] = Doubt(size, number, found.text)
        return self.integers[key]

    def _described(self, texts: Sequence[str], sizes: Sizes, *, are_names: bool = False) -> str:
        """Return a text with expressions of sizes, or names if they ``are_names``, in place of numbers that differ."""
        if len({" ".join(_NUMBERS.sub("#", text).split()) for text in texts}) > 1:  # lines may be broken elsewhere
            self._refuse()
        parts = []
        for values in zip(*(map(int, _NUMBERS.findall(text)) for text in texts), strict=True):
            found = self._integer(values, sizes)
            if found is None:
                self._refuse()
            if are_names and found.level != ATOM:
                message = f"an argument has an axis of size {found.text}, which needs a name of its own"
                raise UnsupportedError(Diagnostic("XP424", message))
            parts.append(found.text)
        said = iter(parts)
        return _NUMBERS.sub(lambda _: next(said), texts[0])

    def _unify_comments(self, row: Row, function: _Function) -> None:
        """Replace numbers by sizes in comments on lines of their own; drop comments for which that is impossible."""
        rows = [module.comments(node) for module, node in zip(self.modules, row, strict=True)]
        for lines in zip(*rows, strict=True) if len({*map(len, rows)}) == 1 else ():
            texts = [module.lines[at] for module, at in zip(self.modules, lines, strict=True)]
            begin, end = self.first.starts[lines[0]], self.first.starts[lines[0] + 1]
            try:
                if len({*texts}) > 1:
                    self.edits.append((begin, end, self._described(texts, self._local(function)) + "\n"))
            except UnsupportedError:
                self.edits.append((begin, end, ""))

    def _refuse(self, lines: Sequence[str] = ()) -> NoReturn:
        """Raise ``UnsupportedError`` for a difference in the ``lines`` of a kernel, or in those of the last nodes."""
        pairs = zip(self.modules, self.row, strict=True)
        own = lines or [module.lines[node.lineno - 1] for module, node in pairs]
        columns = zip(*self.sizes.values(), strict=True)
        by_line = {
            line.strip(): dict(zip(self.sizes, column, strict=True)) for line, column in zip(own, columns, strict=True)
        }
        shown = ", ".join(f"`{line}` at {shown_sizes(sizes)}" for line, sizes in list(by_line.items())[:2])
        raise UnsupportedError(Diagnostic("XP424", f"the text is not the same at all sizes: {shown}"))

    # -- sizes that functions pass on

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each node of the first text."""
        return {part: node for node in ast.walk(self.first.tree) for part in ast.iter_child_nodes(node)}

    def _caller(self, use: ast.AST) -> _Function | None:
        """Return the function or kernel in which a name is read, or None."""
        while not isinstance(self.parents[use], ast.Module):
            use = self.parents[use]
        return self.functions.get(use)

    def _hand_sizes(self, function: _Function) -> None:
        """Have the callers of a function pass the sizes that none of its arguments has.

        A kernel gets all sizes that it needs, before its other arguments. Nothing changes if a use of the function is
        of an unknown kind.
        """
        known = {size for shapes in function.shapes.values() for size in self._named_axes(shapes)}
        missing = [size for size in self._needed(function) if size not in known]
        uses = [node for node in self.parents if _is_read(node, function.name)] if missing else []
        callers = [*map(self._caller, uses)]
        edits: list[Edit] = []
        for caller, use in zip(callers, uses, strict=True):
            names = [caller.call(size) for size in missing] if caller is not None else []
            found = pass_sizes(self.first, self.parents, use, names, is_first=function.is_declared) if names else None
            if found is None:
                return
            edits += found
        for caller in callers:
            assert caller is not None
            caller.needed.update(dict.fromkeys(missing))
        self.edits += edits
        if edits and isinstance(function.node, ast.FunctionDef):
            self.edits.append(add_size_parameters(self.first, function.node, [function.call(size) for size in missing]))
            for size in missing:
                del function.needed[size]

    def _needed(self, function: _Function) -> list[str]:
        """Return the sizes that a function computes with; those of a kernel are in the order of the signature."""
        return [size for size in self.sizes if size in function.needed] if function.is_declared else [*function.needed]

    def _declare(self, kernel: _Function) -> None:
        """Have a kernel declare the sizes that it needs."""
        begin, end = self.first.extent(kernel.node)
        lines = self.first.edited(self.edits, begin, end).split("\n")
        names = [kernel.call(size) for size in self._needed(kernel)]
        self.edits = [edit for edit in self.edits if not begin <= edit[0] < end]
        self.edits.append((begin, end, "\n".join(declaration(lines, names, self.renderer.layout))))

    def _first_row(self, function: _Function) -> int:
        """Return the row of a function's first statement behind docstring and checks, or of the comments before it."""
        assert isinstance(function.node, ast.FunctionDef)
        row = next(node.lineno for node in function.node.body if not _is_before_body(node)) - 1
        while self.first.lines[row - 1].lstrip().startswith("#"):
            row -= 1
        return row

    def _bindings(self, function: _Function) -> Iterator[str]:
        """Yield the lines that read the needed sizes, each from the argument that has the most sizes still missing."""
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
        """Return, for each axis of an argument, the free size that it equals in all texts, or None."""
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


def assigned(node: ast.AST | None) -> str:
    """Return the name that a statement assigns, or an empty string."""
    return name_of(node.targets[0]) if isinstance(node, ast.Assign) else ""


def _words(function: ast.FunctionDef) -> set[str]:
    """Return the names and keywords that a function may not use for sizes."""
    parts = (getattr(part, name, None) for part in ast.walk(function) for name in ("id", "attr", "arg"))
    return {*kwlist, *(part for part in parts if isinstance(part, str))}


def _is_read(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _are_numbers(row: Row) -> bool:
    """Return whether all nodes are numbers, not all of them negative."""
    literals = [node.operand if _is_negative(node) else node for node in row]
    return all(map(_is_literal, literals)) and not all(map(_is_negative, row))


def _is_negative(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, complex)


def _first_factor(node: ast.AST) -> ast.AST:
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        node = node.left
    return node


def _is_before_body(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring or checks an argument."""
    value = getattr(node, "value", None)
    if isinstance(node, ast.Expr) and isinstance(value, ast.Constant):
        return True
    name = name_of(value.func) if isinstance(value, ast.Call) else ""
    return name in _CHECKS if isinstance(node, ast.Expr) else isinstance(node, ast.Assign) and name.startswith(_CAST)


def pass_sizes(
    module: ModuleText, parents: Mapping[ast.AST, ast.AST], use: ast.Name, names: Sequence[str], *, is_first: bool
) -> list[Edit] | None:
    """Return the edits that pass sizes to a function at one of its uses, or None for an unknown kind of use.

    ``use`` is called directly or passed to a function that applies it to blocks of arrays. In a direct call, the sizes
    come before the other arguments if ``is_first``. dask's ``blockwise`` takes an argument that is not an array with
    None as its indices, and ``Tiled`` has a flag per argument: whether it is cut into rows. ``loop_in_chunks`` passes
    whole arguments last.
    """
    call = parents[use]
    if not isinstance(call, ast.Call):
        return None
    if call.func is use and is_first:
        begin = module.extent(use)[1] + 1
        return [(begin, begin, ", ".join([*names, ""] if call.args or call.keywords else names))]
    if call.func is use:
        return [_at_end(module, call, names)]
    word, outer = name_of(call.func), parents[call]
    if word == "blockwise":
        return [_beside_arrays(module, call, names)]
    if word in (_BY_ROWS, _IN_TURN) and isinstance(outer, ast.Call) and name_of(outer.func) == "blockwise":
        own = [_at_end(module, call.args[1], ["None"] * len(names))] if word == _BY_ROWS else []
        return [*own, _beside_arrays(module, outer, names)]
    if word == "loop_in_chunks":
        whole = next((keyword.value for keyword in call.keywords if keyword.arg == "whole"), None)
        texts = names if whole is not None else [f"whole=({', '.join(names)},)"]
        return [_at_end(module, whole or call, texts)]
    return None


def add_size_parameters(module: ModuleText, function: ast.FunctionDef, names: Sequence[str]) -> Edit:
    """Return the edit that adds sizes as parameters behind those of a function."""
    own = function.args
    parts = [*own.posonlyargs, *own.args, own.vararg, *own.kwonlyargs, own.kwarg, *own.defaults, *own.kw_defaults]
    last = max(
        (module.extent(part)[1] for part in parts if part is not None), default=module.starts[function.lineno - 1]
    )
    end = module.bytes.index(b")", last)
    return _before(module, end, [f"{name}: int" if function.returns is not None else name for name in names])


def name_of(node: ast.AST) -> str:
    """Return the name of a function or a method, or an empty string."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _beside_arrays(module: ModuleText, call: ast.Call, names: Sequence[str]) -> Edit:
    """Return the edit that inserts numbers behind the arrays of a ``blockwise`` call, before its keywords."""
    begin = module.extent(call.keywords[0])[0]
    is_starred = any(isinstance(part, ast.Starred) for part in call.args)
    return begin, begin, "".join(f"*({name}, None), " if is_starred else f"{name}, None, " for name in names)


def _at_end(module: ModuleText, node: ast.expr, texts: Sequence[str]) -> Edit:
    """Return the edit that inserts more parts before the closing bracket of a node."""
    return _before(module, module.extent(node)[1] - 1, texts)


def _before(module: ModuleText, end: int, texts: Sequence[str]) -> Edit:
    before = module.bytes[:end].rstrip()[-1:]
    return end, end, {b"(": "", b",": " "}.get(before, ", ") + ", ".join(texts)
