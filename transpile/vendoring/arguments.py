"""The arrays that a function of a package takes, with their names in files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..dataclass import dataclass
from ..emission.places import main_of
from ..emission.trees.argument_trees import leaf_paths
from ..errors import Diagnostic, UsageError
from ..files import read_bytes
from ..frontends.witnesses import Witnesses
from ..hlo.ir import HloModule
from ..hlo.shapes import ArrayShape, leaves
from .manifest import Project, VendoredModule
from .merge import TextFile, has_conflicts
from .programs import program_of


@dataclass(frozen=True, slots=True)
class ArgumentLeaf:
    """An array among the arguments of a function: the argument, the path in it, its name in files, its type."""

    argument: str
    keys: tuple[Any, ...]
    name: str
    type: str
    shape: tuple[int, ...]
    is_narrow: bool  # NumPy's files cannot name the type

    @property
    def entry(self) -> tuple[str, tuple[Any, ...], str]:
        return self.argument, self.keys, self.name


def argument_leaves(project: Project, module: VendoredModule) -> list[ArgumentLeaf]:
    """Return the arrays that ``main`` of a module takes, in the order of the program's parameters, tuples flattened."""
    return list(_leaves(first_program(project, module), main_of(syntax_of(project, module)).args))


def first_program(project: Project, module: VendoredModule) -> HloModule:
    """Return the program that a module comes from, at the first of several sizes."""
    program = program_of(project, module)
    return program.modules[0] if isinstance(program, Witnesses) else program


def _leaves(program: HloModule, arguments: ast.arguments) -> Iterator[ArgumentLeaf]:
    paths = leaf_paths(program)
    roots = dict.fromkeys(path.root if path is not None else number for number, path in enumerate(paths))
    names = dict(zip(roots, _names(arguments), strict=True))
    for number, (path, parameter) in enumerate(zip(paths, program.entry.parameters, strict=True)):
        argument = names[path.root if path is not None else number]
        for place, shape in leaves(parameter.shape):
            if isinstance(shape, ArrayShape):
                keys = (*(path.keys if path is not None else ()), *place)
                words = (argument.lstrip("*"), *map(_word, keys))
                element_type = shape.element_type
                name, kind = ".".join(words), str(element_type.dtype)
                yield ArgumentLeaf(argument, keys, name, kind, shape.dimensions, element_type.is_extension)


def _names(arguments: ast.arguments) -> list[str]:
    """Return the names of parameters, including the stars of ``*args`` and ``**kwargs``."""
    found = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    found += [f"*{arguments.vararg.arg}"] if arguments.vararg is not None else []
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [each.arg for each, default in pairs if default is None]  # others are functions that main calls back
    return found + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg is not None else [])


def _word(key: Any) -> str:
    return "_".join(key) if isinstance(key, tuple) else str(key).removeprefix(".")


def syntax_of(project: Project, module: VendoredModule) -> ast.Module:
    """Return the syntax tree of a module's file. Raises ``UsageError``: XP401 if it is missing, XP704 if it has
    conflicts, XP703 if it is not Python for another reason.
    """
    path = project.place(module.output)
    text = TextFile.decode(read_bytes(path), path).text
    try:
        return ast.parse(text)
    except SyntaxError as error:
        code = "XP704" if has_conflicts(text) else "XP703"
        message = f"{module.output}, line {error.lineno}: {error.msg}"
        raise UsageError(Diagnostic(code, message, hint="edit it until Python can read it")) from error
