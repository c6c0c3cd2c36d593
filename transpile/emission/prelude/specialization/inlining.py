"""Inlining of prelude functions that have a single call, in another prelude function."""

from __future__ import annotations

import ast
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ....dataclass import dataclass
from ....options import LINE_LENGTH
from ....python.modules import mentioned, statement_of
from ....python.printer import Printer
from ..library import Definition, needed_by
from .dead_code import cleaned
from .lattice import defaults_of, parameters_of
from .layout import laid_out

MOST_LINES = 44  # of a function after inlining
_OWN_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_NOT_TAKEN_IN = (*_OWN_SCOPES, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Match)


def merged(definitions: Mapping[str, Definition], used: Iterable[str]) -> dict[str, Definition]:
    """Return the functions into which others were inlined, by name, for a module that mentions ``used`` names."""
    changed: dict[str, Definition] = {}
    current: Mapping[str, Definition] = ChainMap(changed, definitions)  # type: ignore[arg-type]
    used = set(used)
    refused: set[tuple[str, str]] = set()  # the texts of both
    while True:
        needed = needed_by(current, used)
        for name, caller in _callers(needed).items():
            texts = needed[caller].source, needed[name].source
            if name in used or texts in refused:
                continue
            source = _taken_in(needed[caller], needed[name])
            if source is not None:
                imports = {**needed[name].imports, **needed[caller].imports}
                changed[caller] = replace(needed[caller], source=source, imports=imports)
                break
            refused.add(texts)
        else:
            return changed


def _callers(definitions: Mapping[str, Definition]) -> dict[str, str]:
    """Return the caller of each definition that is mentioned only once."""
    places: dict[str, list[str]] = {}
    for name, definition in definitions.items():
        for word in mentioned(definition.source).elements():
            if word in definitions:
                places.setdefault(word, []).append(name)
    return {name: found[0] for name, found in places.items() if len(found) == 1 and found[0] != name}


@dataclass(frozen=True, slots=True)
class _Place:
    """A call, its statement, and whether nothing of the caller runs after it."""

    call: ast.Call
    statement: ast.stmt
    is_last: bool


@dataclass(frozen=True, slots=True)
class _Taken:
    """The renaming of an inlined function: texts for its ``names``, and assignments of parameters before its body."""

    names: dict[str, str]
    first: list[str]


def _taken_in(caller: Definition, called: Definition) -> str | None:
    """Return the text of a function with another inlined at its only call, or None if that is impossible."""
    outer, inner = _function(caller), _function(called)
    if outer is None or inner is None or inner.decorator_list or inner.args.vararg or inner.args.kwarg:
        return None
    if any(_is_unfit(part) for node in inner.body for part in ast.walk(node)):
        return None
    if any(caller.imports.get(name, text) != text for name, text in called.imports.items()):
        return None
    place = _place_of(outer, called.name)
    if place is None or not _fits(place, _body(inner)):
        return None
    taken = _bound(caller, called, outer, inner, place)
    if taken is None:
        return None
    writer = _Merger(caller.source, outer, place, called.source, inner, taken)
    above = outer.body[0].end_lineno if _body(outer) is not outer.body else outer.body[0].lineno - 1
    head = caller.source.split("\n")[:above]
    decorators = head[: outer.lineno - 1]
    lines = writer.block(_body(outer), 1, above or 0)
    if any(len(line) > LINE_LENGTH for line in lines):  # nested too deeply
        return None
    source = "\n".join([*decorators, laid_out(cleaned("\n".join([*head[outer.lineno - 1 :], *lines])))])
    return source if source.count("\n") < MOST_LINES else None


def _is_unfit(part: ast.AST) -> bool:
    return isinstance(part, _NOT_TAKEN_IN) or (isinstance(part, ast.ExceptHandler) and part.name is not None)


def _function(definition: Definition) -> ast.FunctionDef | None:
    statement = statement_of(definition.source)
    return statement if isinstance(statement, ast.FunctionDef) and definition.source.isascii() else None


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    return function.body if ast.get_docstring(function) is None else function.body[1:]


def _place_of(function: ast.FunctionDef, name: str) -> _Place | None:
    """Return the place of the call of ``name``, or None."""
    waiting: list[tuple[ast.stmt, bool]] = [(node, True) for node in _body(function)]
    while waiting:
        node, may_be_last = waiting.pop()
        if isinstance(node, _OWN_SCOPES):
            continue
        may_be_last = may_be_last and not isinstance(node, ast.Try)
        children = list(ast.iter_child_nodes(node))
        for child in children:
            inner = child.body if isinstance(child, ast.ExceptHandler) else [child]
            waiting += ((statement, may_be_last) for statement in inner if isinstance(statement, ast.stmt))
        for part in (part for child in children if isinstance(child, ast.expr) for part in ast.walk(child)):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name:
                return _Place(part, node, may_be_last and isinstance(node, ast.Return))
    return None


def _fits(place: _Place, body: list[ast.stmt]) -> bool:
    """Return whether a function may be inlined at a call: its result must be available where it is read."""
    returns = [part for node in body for part in ast.walk(node) if isinstance(part, ast.Return)]
    last = body[-1]
    if isinstance(last, ast.Return) and len(body) == 1:
        return last.value is not None
    statement = place.statement
    if getattr(statement, "value", None) is not place.call:
        return False
    if isinstance(statement, ast.Return):
        return isinstance(last, ast.Return) and last.value is not None
    if isinstance(statement, ast.Expr):
        return not returns
    has_one_target = isinstance(statement, ast.AnnAssign) or (
        isinstance(statement, ast.Assign) and len(statement.targets) == 1
    )
    return has_one_target and returns == [last] and isinstance(last, ast.Return) and last.value is not None


def _bound(
    caller: Definition, called: Definition, outer: ast.FunctionDef, inner: ast.FunctionDef, place: _Place
) -> _Taken | None:
    """Return the renaming of a function for inlining, or None if its names conflict with the caller's."""
    given = _given(place.call, inner)
    if given is None:
        return None
    body = _body(inner)
    own = _names(body)
    parameters = {part.arg for part in parameters_of(inner)}
    is_expression = len(body) == 1 and isinstance(body[0], ast.Return)
    counts = Counter(part.id for node in body for part in ast.walk(node) if isinstance(part, ast.Name))
    in_arguments = Counter(part for value in given.values() for part in _names_in(value))
    names: dict[str, str] = {}
    first: dict[str, ast.expr] = {}
    kept = _kept_after(outer, place.statement)
    for name, value in given.items():
        text = ast.unparse(value)
        is_given_up = place.is_last or text not in kept
        is_lent = is_given_up and in_arguments[text] == 1 and text not in caller.uses
        is_fixed = name not in own.assigned
        is_light = isinstance(value, ast.Call) if is_expression else _is_of_shape(value)
        is_plain = _is_plain(value) or (counts[name] == 1 and is_light)
        if (is_fixed and is_plain) or ((is_fixed or is_lent) and isinstance(value, ast.Name)):
            names[name] = text
        elif is_expression:
            return None
        else:
            first[name] = value
    new = (own.assigned - names.keys()) | first.keys()
    if isinstance(place.statement, ast.Assign | ast.AnnAssign) and not is_expression:
        result, target = body[-1].value, _target(place.statement)  # type: ignore[attr-defined]
        is_renamed = isinstance(result, ast.Name) and result.id in own.assigned - parameters
        if is_renamed and isinstance(target, ast.Name) and target.id not in names.values():
            names[result.id] = target.id
            new.discard(result.id)
    texts = {part for text in names.values() for part in mentioned(text)}
    theirs = _names([outer])
    read = texts | {part for name, value in first.items() for part in _names_in(value) if part != name}
    taken = new & (read | theirs.assigned if place.is_last else theirs.every)
    annotated = own.annotated | theirs.annotated
    is_in_the_way = taken or (new & annotated & theirs.every) or (new & set(caller.uses)) or (own.within & texts)
    shadows = set(called.uses) & (theirs.assigned | {part.arg for part in parameters_of(outer)})
    renamed = {name for name, text in names.items() if name != text}
    if is_in_the_way or shadows or renamed & own.in_strings:
        return None
    types = {part.arg: f": {ast.unparse(part.annotation)}" for part in parameters_of(inner) if part.annotation}
    held = {name: types.get(name, "") if isinstance(value, ast.Subscript) else "" for name, value in first.items()}
    texts_of_first = [
        f"{name}{held[name]} = {ast.get_source_segment(caller.source, value)}" for name, value in first.items()
    ]
    return _Taken({name: text for name, text in names.items() if name != text}, texts_of_first)


def _names_in(node: ast.AST) -> list[str]:
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]


def _given(call: ast.Call, inner: ast.FunctionDef) -> dict[str, ast.expr] | None:
    """Return the argument of each parameter, or None if the arguments do not correspond to parameters."""
    if any(isinstance(part, ast.Starred) for part in call.args) or any(word.arg is None for word in call.keywords):
        return None
    parts, defaults = [part.arg for part in parameters_of(inner)], defaults_of(inner)
    given = dict(zip(parts, call.args, strict=False)) | {word.arg or "": word.value for word in call.keywords}
    missing = [name for name in parts if name not in given]
    if any(not isinstance(defaults[name], ast.Constant) for name in missing):
        return None
    return given | {name: defaults[name] for name in missing}


def _kept_after(function: ast.FunctionDef, statement: ast.stmt) -> set[str]:
    """Return the names that keep their values across a statement and may be read after it."""
    is_outermost = statement in function.body
    nodes = function.body[function.body.index(statement) + 1 :] if is_outermost else function.body
    read = {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}
    may_fail = any(isinstance(part, ast.Try) for part in ast.walk(function)) and not is_outermost
    target = _target(statement) if isinstance(statement, ast.Assign | ast.AnnAssign) and not may_fail else None
    return read - {target.id} if isinstance(target, ast.Name) else read


def _is_plain(value: ast.expr) -> bool:
    """Return whether a value may be repeated wherever it is read: a number, ``None``, ``np.add``."""
    if isinstance(value, ast.Attribute):
        return isinstance(value.value, ast.Name) and value.value.id in ("np", "cp")
    return isinstance(value, ast.Constant) and not isinstance(value.value, str)


def _is_of_shape(value: ast.expr) -> bool:
    """Return whether a value is the shape of an array or a part of it."""
    inner = value.value if isinstance(value, ast.Subscript) else value
    return isinstance(inner, ast.Attribute) and inner.attr == "shape" and isinstance(inner.value, ast.Name)


def _target(statement: ast.Assign | ast.AnnAssign) -> ast.expr:
    return statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]


@dataclass(frozen=True, slots=True)
class _Names:
    """The names in statements: all, assigned, bound by comprehensions, with annotations, and in f-strings."""

    every: set[str]
    assigned: set[str]
    within: set[str]
    annotated: set[str]
    in_strings: set[str]


def _names(nodes: list[ast.stmt]) -> _Names:
    parts = [part for node in nodes for part in ast.walk(node)]
    names = [part for part in parts if isinstance(part, ast.Name)]
    bound = [part for part in parts if isinstance(part, ast.comprehension)]
    within = {part.id for each in bound for part in ast.walk(each.target) if isinstance(part, ast.Name)}
    of_comprehensions = {id(part) for each in bound for part in ast.walk(each.target)}
    assigned = {part.id for part in names if not isinstance(part.ctx, ast.Load) and id(part) not in of_comprehensions}
    every = {part.id for part in names} | {part.arg for part in parts if isinstance(part, ast.arg)}
    strings = [part for part in parts if isinstance(part, ast.JoinedStr)]
    return _Names(
        every,
        assigned,
        within,
        {part.target.id for part in parts if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)},
        {part.id for each in strings for part in ast.walk(each) if isinstance(part, ast.Name)},
    )


class _Merger(Printer):
    """The writer of a function with another inlined."""

    def __init__(
        self, source: str, function: ast.FunctionDef, place: _Place, called: str, inner: ast.FunctionDef, taken: _Taken
    ) -> None:
        super().__init__(source)
        self.function = function
        self.place, self.called, self.taken = place, inner, taken
        self.body = _body(inner)
        self.writer = _Renamer(called, taken.names)
        self.is_expression = len(self.body) == 1 and isinstance(self.body[0], ast.Return)

    def statement(self, node: ast.stmt, depth: int) -> list[str] | None:
        if node is not self.place.statement or self.is_expression:
            return None
        above = self.called.body[0].end_lineno if self.body is not self.called.body else self.body[0].lineno - 1
        indent = "    " * depth
        lines = [*self._summary_comment(node, indent), *(indent + text for text in self.taken.first)]
        if isinstance(node, ast.Return | ast.Expr):
            return lines + self.writer.block(self.body, depth, above or 0)
        *others, last = self.body
        lines += self.writer.block(others, depth, above or 0)
        result = self.writer.text(last.value)  # type: ignore[attr-defined]
        end = self.offset(self.place.call.lineno, self.place.call.col_offset)
        target = self.source[self.offset(node.lineno, node.col_offset) : end]
        return lines if target == f"{result} = " else [*lines, f"{indent}{target}{result}"]

    def _summary_comment(self, node: ast.stmt, indent: str) -> list[str]:
        """Return the inlined function's summary as a comment above its statements, or nothing."""
        text = (ast.get_docstring(self.called) or "").split(".\n")[0].split(". ")[0].rstrip(".")
        for name, own in self.taken.names.items():
            text = text.replace(f"`{name}`", f"`{own}`")
        text = text.removeprefix("Return ")
        text = text[:1].upper() + text[1:]
        line = f"{indent}# {' '.join(text.replace('`', '').split())}:"
        is_all = self.function.body[-1] is node and len(_body(self.function)) == 1
        is_told = text and self.function.name not in text and len(self.body) > 2 and not is_all
        return [line] if is_told and len(line) <= LINE_LENGTH else []

    def exchanged(self, node: ast.expr) -> str | None:
        is_here = node is self.place.call and self.is_expression
        return self.writer.text(self.body[0].value) if is_here else None  # type: ignore[attr-defined]


class _Renamer(Printer):
    """The writer of statements with other names."""

    def __init__(self, source: str, names: Mapping[str, str]) -> None:
        super().__init__(source)
        self.names = names

    def exchanged(self, node: ast.expr) -> str | None:
        return self.names.get(node.id) if isinstance(node, ast.Name) else None
